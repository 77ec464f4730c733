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
        "scheduling-table-1",
        "scheduling",
        "Skowron and Rzadca table 1",
        "analysis.scheduling.experiments:table_1",
        "unfairness of the rules on windows of 5e4 seconds of a trace",
    ),
    Experiment(
        "scheduling-table-2",
        "scheduling",
        "Skowron and Rzadca table 2",
        "analysis.scheduling.experiments:table_2",
        "unfairness of the rules on windows of 5e5 seconds of a trace",
    ),
    Experiment(
        "scheduling-figure-10",
        "scheduling",
        "Skowron and Rzadca fig. 10",
        "analysis.scheduling.experiments:figure_10",
        "unfairness against the number of organizations",
    ),
    Experiment(
        "scheduling-examples",
        "scheduling",
        "Skowron and Rzadca fig. 2, fig. 7, prop. 5.5, thm. 5.1",
        "analysis.scheduling.claims:examples",
        "the numbers of the examples, and the reduction from SUBSETSUM",
    ),
    Experiment(
        "scheduling-theorem-6.2",
        "scheduling",
        "Skowron and Rzadca thm. 6.2",
        "analysis.scheduling.claims:theorem_6_2",
        "what greedy and fair schedules lose against proved optima",
    ),
    Experiment(
        "scheduling-strategy",
        "scheduling",
        "Skowron and Rzadca section 4",
        "analysis.scheduling.claims:strategy",
        "what splitting, merging, delaying or padding a job gains under each rule",
    ),
)
"""Every experiment, by problem and place."""


def experiment_named(name: str) -> Experiment:
    """The experiment of that name; raises UnknownName with the near ones."""
    for experiment in EXPERIMENTS:
        if experiment.name == name:
            return experiment
    raise UnknownName("experiment", name, [experiment.name for experiment in EXPERIMENTS])
