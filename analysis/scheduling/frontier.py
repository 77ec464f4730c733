"""The price of fairness among organizations: most work and utility by distance from REF."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...instances.problem.option_types import validate_options
from ...instances.scheduling import Schedule, Scheduling, utilities
from ...models.scheduling import Nearness, fluid_bound
from ...models.scheduling.intervals import Objective
from ...solvers.outcome import Clock, Outcome, Status, Stop
from ...solvers.scheduling import simulate
from ...solvers.scheduling.optimum import (
    distance,
    max_utility,
    max_utilization,
    most_near,
    nearest,
    worth_of,
)
from ...solvers.scheduling.ref_reference import Reading
from ...solvers.scheduling.shapley_schedule import affordable, ref, reference
from ..frontier import Points, PriceFrontier, PricePoint, Sweep, settled

FAIRNESS = "unfairness"
OBJECTIVES: tuple[Objective, ...] = ("utilization", "utility")

MOST_JOBS = 60
"""Up to so many jobs every limit has its program; beyond, there are only cheap bounds."""


@validate_options
def price_frontiers(
    instance: Scheduling,
    *,
    time_limit: float | None = None,
    points: Points = 8,
    reading: Reading = "figure",
) -> tuple[PriceFrontier, ...]:
    """Frontiers of utilization and of total psi_sp against unfairness: the most of any schedule
    within each limit, proved.

    Unfairness is the sum over organizations of |psi - psi of REF|, over the work REF does (p_tot).
    Up to 60 jobs each limit is a program of its own (CP-SAT), from 0 to the least unfairness of the
    most efficient schedules; an answer within a limit is within every looser one, and the bound of
    a looser limit holds for every tighter one. For more jobs: REF's own schedule, the better of it
    and first in, first out, and `fluid_bound`.

    Parameters
    ----------
    time_limit : seconds in all, shared equally among the programs to come. REF is given as much of
        it as it takes.
    points : limits of each of the two, at least 2; fewer where unfairness has fewer values.
    reading : of REF.

    Returns
    -------
    tuple of PriceFrontier
        For utilization and for utility; none when REF does no work. Where REF itself would take
        more than seconds, one point each, without limit.
    """
    clock = Clock(time_limit)
    fair = ref(instance, reading=reading, time_limit=time_limit) if affordable(instance) else None
    schedule = None if fair is None or fair.stop is not Stop.FINISHED else fair.solution
    if not isinstance(schedule, Schedule):
        stop = Stop.FINISHED if fair is None else fair.stop
        return tuple(_unlimited(instance, objective, stop) for objective in OBJECTIVES)
    units = reference(instance, reading).units
    if units == 0:
        return ()
    cheap = int((instance.release < instance.horizon).sum()) > MOST_JOBS
    found: list[PriceFrontier] = []
    for index, objective in enumerate(OBJECTIVES):
        left = Clock(clock.time_slice(len(OBJECTIVES) - index))
        given = (instance, objective, schedule, units)
        found.append(_cheap(*given) if cheap else _frontier(*given, int(points), left))
        if found[-1].stop is Stop.INTERRUPTED:
            break
    return tuple(found)


def _unlimited(instance: Scheduling, objective: Objective, stop: Stop) -> PriceFrontier:
    """Frontier of one point without a limit, where REF takes too long to compute."""
    schedule = simulate(instance, "FIFO").schedule
    unit = _unit(instance, objective)
    value, bound = worth_of(instance, schedule, objective), fluid_bound(instance, objective)
    mark = PricePoint(None, value / unit, bound / unit, None, Status.FEASIBLE)
    note = (
        "REF was not worked out in the time given, so that no unfairness is known. The "
        "point is first in, first out."
    )
    return PriceFrontier(objective, FAIRNESS, settled([mark], "max", 0.0), note, stop)


def _unit(instance: Scheduling, objective: Objective) -> int:
    """Unit of the frontier's values: all work that the machines can do, or 1 for utility."""
    return 1 if objective == "utility" else instance.capacity * instance.horizon


def _frontier(
    instance: Scheduling, objective: Objective, fair: Schedule, units: int, points: int,
    clock: Clock,
) -> PriceFrontier:  # fmt: skip
    """Frontier of utilization or utility against unfairness; `units` is the work done by REF."""
    psi = utilities(instance, fair)
    unit = _unit(instance, objective)

    def measured(schedule: Schedule) -> tuple[float, float]:
        worth = worth_of(instance, schedule, objective) / unit
        return worth, distance(instance, schedule, psi) / units

    def exact(outcome: Outcome) -> Outcome:
        """Outcome of a program whose bound is an integer number of units, for exact comparison with
        values.
        """
        bound = outcome.bound
        return outcome if bound is None else replace(outcome, bound=round(bound * unit) / unit)

    def most(*, start: Schedule, time_limit: float | None) -> Outcome:
        method = max_utilization if objective == "utilization" else max_utility
        return exact(method(instance, start=start, time_limit=time_limit))

    def near(limit: float, start: Schedule, *, time_limit: float | None) -> Outcome:
        within = Nearness(psi, round(limit * units))
        options: Any = {"start": start, "time_limit": time_limit}
        return exact(most_near(instance, objective, within, **options))

    # 1. The most efficient of all schedules, and the least unfair of those.
    sweep = Sweep(clock, measured, "max", "min", [fair])
    free = again = sweep.solve(points + 2, most, start=fair)
    close = sweep.solve(points + 1, nearest, instance, objective, psi, start=sweep.best())
    # 2. A program for each limit below what that one reaches.
    far = distance(instance, sweep.best(), psi)
    if far == 0:  # no schedule with REF's utilities has another total
        total = float(psi.sum()) if objective == "utility" else None
        marks = [PricePoint.of(0.0, Outcome(sweep.best(), total, Status.FEASIBLE), measured)]
    else:
        steps = sorted({far * index // (points - 1) for index in range(points - 1)} - {far})
        marks = sweep.points([step / units for step in steps], near, after=1)
    # 3. Without a limit once more, with what is left.
    if free.status is not Status.OPTIMAL:
        again = sweep.solve(1, most, start=sweep.best())
    marks.append(sweep.unlimited(free, again))
    note = (
        "The limit is on unfairness: the distance from REF's utilities, over the work REF does. "
        "The most is of any schedule that keeps first in, first out inside an organization; all "
        "jobs are known in advance, and machines may idle."
    )
    if close.status is Status.OPTIMAL:
        note += " The last point is the least unfair of those that reach its value (proved)."
    return PriceFrontier(objective, FAIRNESS, settled(marks, "max", 0.0), note, sweep.stopped)


def _cheap(instance: Scheduling, objective: Objective, fair: Schedule, units: int) -> PriceFrontier:
    """Frontier from REF's schedule, first in, first out, and the fluid bound, without search."""
    psi, unit = utilities(instance, fair), _unit(instance, objective)
    fluid = fluid_bound(instance, objective)
    # no schedule with REF's utilities has another total
    total = int(psi.sum()) if objective == "utility" else fluid
    both = [fair, simulate(instance, "FIFO").schedule]
    best = max(both, key=lambda schedule: worth_of(instance, schedule, objective))
    marks = [
        PricePoint(
            limit, worth_of(instance, schedule, objective) / unit, round(bound) / unit,
            distance(instance, schedule, psi) / units,
        )
        for limit, schedule, bound in ((0.0, fair, total), (None, best, fluid))
    ]  # fmt: skip
    note = (
        f"More than {MOST_JOBS} jobs: REF's own schedule, and the better of it and first in, first "
        "out, beside the most that cutting jobs at will could do. The limits between are not "
        "worked out."
    )
    return PriceFrontier(objective, FAIRNESS, settled(marks, "max", 0.0), note)
