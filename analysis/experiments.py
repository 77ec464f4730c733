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
        "packing-figure-2",
        "packing",
        "Xu and Yu (2014) fig. 2 and 3, section 4.3",
        "analysis.packing.experiments:figure_2",
        "the worked example: fair share, combinations, utilities, equilibrium",
    ),
    Experiment(
        "packing-figure-5",
        "packing",
        "Xu and Yu (2014) fig. 5",
        "analysis.packing.experiments:figure_5",
        "dominant shares on the 8-node cluster: FUGA against the Hadoop fair scheduler",
    ),
    Experiment(
        "packing-figure-6",
        "packing",
        "Xu and Yu (2014) fig. 6",
        "analysis.packing.experiments:figure_6",
        "allocated CPU and memory on 50 to 700 servers: FUGA against first fit",
    ),
    Experiment(
        "packing-figure-7",
        "packing",
        "Xu and Yu (2014) fig. 7",
        "analysis.packing.experiments:figure_7",
        "utilization over time slots of a trace (Azure or Alibaba list; the Google trace is not at hand)",
    ),
    Experiment(
        "packing-theorems-8-10",
        "packing",
        "Xu and Yu (2014) Theorems 7 to 10",
        "analysis.packing.experiments:theorems",
        "random games: sharing incentive, envy, Pareto efficiency, Algorithm 1 against the equilibrium",
    ),
)
"""Every experiment, by problem and place."""


def experiment_named(name: str) -> Experiment:
    """The experiment of that name; raises UnknownName with the near ones."""
    for experiment in EXPERIMENTS:
        if experiment.name == name:
            return experiment
    raise UnknownName("experiment", name, [experiment.name for experiment in EXPERIMENTS])
