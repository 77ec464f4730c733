"""The papers' tables and figures, each from one command: what the paper says beside what comes out here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ..instances.problem.errors import UnknownName
from ..instances.problem.registry import resolve

Verdict = Literal["reproduced", "differs", "not in the paper"]


@dataclass(frozen=True)
class Finding:
    """One row of an experiment.

    Attributes
    ----------
    what : the quantity or claim.
    paper : what the paper prints or says, "" when it says nothing.
    ours : what came out.
    verdict : "reproduced", "differs", or "not in the paper".
    note : why it differs, or how it was measured.
    """

    what: str
    paper: str
    ours: str
    verdict: Verdict
    note: str = ""


@dataclass(frozen=True)
class Experiment:
    """One table or figure of a paper.

    Attributes
    ----------
    name : what `cotenant reproduce` calls it, such as "market-figure-3.12".
    problem : which problem it belongs to.
    source : paper and place.
    function : "module:function" inside the package, `function(*, seed=0, **options) -> list[Finding]`.
    what : one line for people.
    """

    name: str
    problem: str
    source: str
    function: str
    what: str

    def resolve(self) -> Callable[..., Sequence[Finding]]:
        """The function itself."""
        function: Callable[..., Sequence[Finding]] = resolve(self.function)
        return function

    def run(self, **options: Any) -> list[Finding]:
        """Run it."""
        return list(self.resolve()(**options))


EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment(
        "colocation-figure-5",
        "colocation",
        "Cooper fig. 5",
        "analysis.colocation.experiments:figure_5",
        "stable marriage of three memory- and three compute-intensive jobs, round by round",
    ),
    Experiment(
        "colocation-figure-14",
        "colocation",
        "Cooper fig. 14",
        "analysis.colocation.experiments:figure_14",
        "Shapley shares of three users' interference",
    ),
    Experiment(
        "market-section-3.1.2",
        "market",
        "thesis section 3.1.2",
        "analysis.market.experiments:section_3_1_2",
        "Alice and Bob under a work-conserving policy",
    ),
    Experiment(
        "market-figure-3.11",
        "market",
        "thesis fig. 3.11",
        "analysis.market.experiments:figure_3_11",
        "total utility of seven mechanisms, by number of users",
    ),
    Experiment(
        "market-figure-3.12",
        "market",
        "thesis fig. 3.12",
        "analysis.market.experiments:figure_3_12",
        "envy among 100 users in 10 groups",
    ),
    Experiment(
        "market-figure-3.13",
        "market",
        "thesis fig. 3.13",
        "analysis.market.experiments:figure_3_13",
        "sharing index of seven mechanisms, by number of users",
    ),
)
"""Every experiment, by problem and place."""


def experiment_named(name: str) -> Experiment:
    """The experiment of that name; raises UnknownName with the near ones."""
    for experiment in EXPERIMENTS:
        if experiment.name == name:
            return experiment
    raise UnknownName("experiment", name, [experiment.name for experiment in EXPERIMENTS])
