"""Study of rules on many windows of a trace: distances from the Shapley schedule, with medians,
quartiles and intervals; and rules compared with proved optima.

One mean over windows says little: in most windows machines are not short, every greedy rule gives
the same schedule, and a few windows make the mean (paper, tables 1 and 2, whose standard deviations
exceed their means).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from ...catalog import find
from ...instances.problem.errors import InvalidInstance, InvalidOption
from ...instances.problem.option_types import AtLeast, validate_options
from ...instances.problem.options import accepted
from ...instances.scheduling import Schedule, Scheduling, utilities
from ...instances.scheduling.instance import Integers
from ...instances.scheduling.log import Log, Settings, window
from ...instances.scheduling.utility import job_psi, job_units
from ...solvers.outcome import Outcome, Status, Stop
from ...solvers.scheduling.optimum import max_utility, max_utilization
from ...solvers.scheduling.ref_reference import Reading
from ...solvers.scheduling.shapley_schedule import play_ref, reference_of
from .metrics import unfairness

Floats = npt.NDArray[np.float64]

RAND_AS: dict[str, dict[str, Any]] = {
    "RAND15": {"orderings": 15, "reading": "definition"},
    "RAND75": {"orderings": 75, "reading": "definition"},
    "RAND15-figure": {"orderings": 15, "reading": "figure"},
}
"""RAND's options by the tables' names, which give its N: at t + 1 as figure 6, and at t."""

TABLE_RULES = ("ROUNDROBIN", *RAND_AS, "DIRECTCONTR", "FAIRSHARE", "UTFAIRSHARE", "CURRFAIRSHARE")
RULES = (*TABLE_RULES, "FIFO", "random")
"""The tables' rules and the two floors, of the catalogue or `RAND_AS`; places seed draws."""
COMPARED_RULES = ("REF", *RULES)
"""Every rule of the study, and REF."""


@dataclass(frozen=True, eq=False)
class Study:
    """Results of the rules over a number of random windows of a trace.

    Attributes
    ----------
    begin, jobs : (w,) each window's first second, and its number of jobs.
    contended : (w,) decisions in REF's schedule that made a difference; 0: greedy rules then agree.
    distance : rule -> (w,) unfairness against REF.
    without_work : windows drawn again because no work is done in them.
    """

    begin: Integers
    jobs: Integers
    contended: Integers
    distance: dict[str, Floats]
    without_work: int

    @property
    def windows(self) -> int:
        """Number of windows of the trace in which the rules are compared."""
        return len(self.begin)

    @property
    def contended_windows(self) -> int:
        """Number of windows in which REF's schedule depends on its rule of choice."""
        return int((self.contended > 0).sum())


@dataclass(frozen=True)
class Summary:
    """Summary statistics of a sample; `low` and `high` bound its mean, 95 % bootstrap interval."""

    mean: float
    deviation: float
    median: float
    quartile_1: float
    quartile_3: float
    low: float
    high: float


@validate_options
def study(
    log: Log,
    settings: Settings,
    *,
    windows: Annotated[int, AtLeast(1)] = 100,
    rules: Sequence[str] = TABLE_RULES,
    reading: Reading = "figure",
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Study:
    """Run rules and REF on random windows of a trace, with users assigned to organizations anew in
    each.

    Parameters
    ----------
    settings : how a window becomes an instance; its `begin` is drawn, its `length` kept.
    windows : how many; one without work is drawn again and counted.
    rules : names of `RULES`.
    seed : of the windows and deals, window i depending on (seed, i) alone, and of the rules that
        draw, each by itself: studies that differ in rules or initial state see the same windows,
        and a rule the same draws in all of them.
    progress : called with (done, windows).
    """
    if unknown := [name for name in rules if name not in RULES]:
        raise InvalidOption(f"rules names {unknown[0]!r}; expected some of {', '.join(RULES)}")
    if settings.length is None or settings.length > log.end - log.begin:
        raise InvalidOption(
            f"length is {settings.length}; expected seconds, shorter than the log's "
            f"{log.end - log.begin}"
        )
    rows: list[tuple[int, int, int, list[float]]] = []  # begin, jobs, contended, distances
    skipped = 0  # windows without work, drawn again
    for index in range(windows):
        rng = np.random.default_rng([seed, index])
        while True:
            begin = int(rng.integers(log.begin, log.end - settings.length + 1))
            try:
                instance = window(log, replace(settings, begin=begin), rng).instance
            except InvalidInstance:
                skipped += 1
                continue
            found = reference_of(play_ref(instance, reading=reading))
            if found.units:
                break
            skipped += 1
        distances = []
        for name in rules:
            own = np.random.default_rng([seed, index, RULES.index(name)])
            distances.append(
                unfairness(found, utilities(instance, rule_schedule(instance, name, own))) or 0.0
            )
        rows.append((begin, instance.jobs, found.contended, distances))
        if progress is not None:
            progress(index + 1, windows)
    table = np.array([row[3] for row in rows])
    return Study(
        begin=np.array([row[0] for row in rows]),
        jobs=np.array([row[1] for row in rows]),
        contended=np.array([row[2] for row in rows]),
        distance={name: table[:, place] for place, name in enumerate(rules)},
        without_work=skipped,
    )


def rule_schedule(instance: Scheduling, name: str, rng: np.random.Generator) -> Schedule:
    """Schedule of a rule of the catalogue or of `RAND_AS`, which may draw from `rng`."""
    rule = find("scheduling", "RAND" if name in RAND_AS else name).resolve()
    return whole_schedule(rule(instance, **RAND_AS.get(name, {}), **accepted(rule, {"rng": rng})))


def whole_schedule(answer: Schedule | Outcome) -> Schedule:
    """Schedule of a rule; an interrupted rule raises, since half a schedule is useless."""
    if isinstance(answer, Outcome):
        if answer.stop is Stop.INTERRUPTED:
            raise KeyboardInterrupt
        answer = answer.solution  # type: ignore[assignment]
    assert isinstance(answer, Schedule)
    return answer


def summarize(sample: npt.ArrayLike, seed: int = 0, resamples: int = 2000) -> Summary:
    """Mean, deviation, median, quartiles, and a percentile bootstrap interval of the mean."""
    values = np.asarray(sample, dtype=float)
    rng = np.random.default_rng(seed)
    means = values[rng.integers(0, len(values), (resamples, len(values)))].mean(axis=1)
    quartiles = np.percentile(values, [25, 50, 75])
    low, high = np.percentile(means, [2.5, 97.5])
    deviation = float(values.std(ddof=1)) if len(values) > 1 else 0.0
    return Summary(
        float(values.mean()),
        deviation,
        *(float(q) for q in (quartiles[1], quartiles[0], quartiles[2], low, high)),
    )


@dataclass(frozen=True)
class Price:
    """A rule's share of the optimum, on one instance.

    Attributes
    ----------
    rule : name.
    work, utility : its units of work, and total psi_sp, over the optimum's; 1 where both are 0.
    """

    rule: str
    work: float
    utility: float


def prices(
    instance: Scheduling,
    rules: Sequence[str] = COMPARED_RULES,
    *,
    time_limit: float | None = None,
    seed: int = 0,
) -> list[Price] | None:
    """Work and utility of each rule over the proved optima; None if one is not proved."""
    optima = [method(instance, time_limit=time_limit) for method in (max_utilization, max_utility)]
    if any(outcome.status is not Status.OPTIMAL for outcome in optima):
        for outcome in optima:
            whole_schedule(outcome)
        return None
    most = [_measure(instance, whole_schedule(outcome)) for outcome in optima]
    found = []
    for name in rules:
        work, utility = _measure(
            instance, rule_schedule(instance, name, np.random.default_rng(seed))
        )
        found.append(
            Price(
                name,
                work / most[0][0] if most[0][0] else 1.0,
                utility / most[1][1] if most[1][1] else 1.0,
            )
        )
    return found


def _measure(instance: Scheduling, schedule: Schedule) -> tuple[int, int]:
    units, worth = (
        int(measure(instance, schedule, instance.horizon).sum()) for measure in (job_units, job_psi)
    )
    return units, worth
