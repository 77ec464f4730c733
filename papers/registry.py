"""All papers and experiments, in the order in which they are listed."""

from __future__ import annotations

from collections.abc import Sequence

from ..instances.problem.errors import UnknownName
from . import cooper, fair_scheduling, fgd, fuga, gavel, matching, parvagpu, vm_lifetimes
from . import thesis_market as market
from . import thesis_numa as numa
from .experiment import Experiment, Paper

PAPERS: tuple[Paper, ...] = (
    cooper.PAPER, market.PAPER, numa.PAPER, fair_scheduling.PAPER, matching.PAPER, fuga.PAPER,
    parvagpu.PAPER, gavel.POP, gavel.GAVEL, fgd.PAPER, vm_lifetimes.PAPER,
)  # fmt: skip
"""Parts of a paper that are of different problems have one name and title."""


EXPERIMENTS: tuple[Experiment, ...] = tuple(one for paper in PAPERS for one in paper.experiments)

NOT_DETERMINED = tuple(entry for paper in PAPERS for entry in paper.not_determined)
"""(figure or table, why its paper's text does not determine it)."""

TITLES = {paper.name: paper.title for paper in PAPERS}
"""The short name of a paper, which its page has too -> its title in full."""


def experiment_named(name: str) -> Experiment:
    """Experiment by name; raises UnknownName with the most similar names."""
    return experiments_named([name])[0]


def experiments_named(names: Sequence[str]) -> list[Experiment]:
    """Experiments by name, each once; raises UnknownName with the most similar names.

    Parameters
    ----------
    names : of experiments, or of papers, or "all".
    """
    chosen: list[Experiment] = []
    for name in names:
        those = [one for one in EXPERIMENTS if name in ("all", one.name, one.paper.name)]
        if not those:
            known = [*(one.name for one in EXPERIMENTS), *TITLES]
            raise UnknownName("experiment", name, known, "cotenant reproduce --list")
        chosen += those
    return list(dict.fromkeys(chosen))
