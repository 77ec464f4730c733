"""The price of fairness among organizations: most work and utility by distance from REF."""

from __future__ import annotations

from ...instances.problem.option_types import validate_options
from ...instances.scheduling import Schedule, Scheduling, utilities
from ...models.scheduling import Nearness, fluid_bound
from ...models.scheduling.intervals import Objective
from ...solvers.outcome import Clock, Outcome, Status, Stop
from ...solvers.scheduling import simulate
from ...solvers.scheduling.nearest_efficient import most_near, nearest
from ...solvers.scheduling.optimum import (
    distance,
    max_utility,
    max_utilization,
    quicker_engine,
    worth_of,
)
from ...solvers.scheduling.ref_reference import Reading
from ...solvers.scheduling.shapley_schedule import affordable, ref, reference
from ..frontier import Points, PriceFrontier, PricePoint, Programs, settled

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
    """Utilization, and total psi_sp, against unfairness: the most of any schedule within each
    limit, proved.

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
    for place, objective in enumerate(OBJECTIVES):
        left = Clock(clock.time_slice(len(OBJECTIVES) - place))
        tried = _Map(instance, objective, schedule, units, left)
        found.append(tried.cheap() if cheap else tried.frontier(int(points)))
        if found[-1].stop is Stop.INTERRUPTED:
            break
    return tuple(found)


def _unlimited(instance: Scheduling, objective: Objective, stop: Stop) -> PriceFrontier:
    """One point, where REF takes too long to know what is fair."""
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
    """The units of work in all of the machines' time; utility is counted as it is."""
    return 1 if objective == "utility" else instance.capacity * instance.horizon


class _Map:
    """One frontier: its programs, one after the other. Efficiency is counted in whole units of work
    or utility.

    Parameters
    ----------
    fair, units : REF's schedule, and the work it does.
    """

    def __init__(
        self, instance: Scheduling, objective: Objective, fair: Schedule, units: int, clock: Clock
    ) -> None:
        self.instance, self.objective, self.fair, self.units = instance, objective, fair, units
        self.psi = utilities(instance, fair)
        self.engine = quicker_engine(instance)
        self.programs = Programs(clock)

    def frontier(self, points: int) -> PriceFrontier:
        """All points, the tightest limit first."""
        free = self._most(self.fair, points + 2)
        best = _schedule(free, self.fair)
        options = {"start": best, "engine": self.engine}
        close = self.programs.solve(
            points + 1, nearest, self.instance, self.objective, self.psi, **options
        )
        best = _schedule(close, best)
        far = distance(self.instance, best, self.psi)
        marks: list[PricePoint] = []
        last = self.fair
        # the best of all is as fair as can be; no schedule with REF's utilities has another total
        if far == 0:
            marks.append(
                self._point(
                    0.0, best, float(self.psi.sum()) if self.objective == "utility" else None
                )
            )
        else:
            limits = sorted({far * place // (points - 1) for place in range(points - 1)} - {far})
            for limit, outcome in self.programs.within(limits, self._near, self.fair, after=1):
                last = _schedule(outcome, last)
                marks.append(self._point(limit / self.units, last, outcome.bound))
        best = max(best, last, key=self._worth)
        bounds = [free.bound]
        if free.status is not Status.OPTIMAL:  # once more, with what is left
            again = self._most(best, 1)
            # the first of equals is the less unfair one
            best = max(best, _schedule(again, best), key=self._worth)
            bounds.append(again.bound)
        marks.append(
            self._point(
                None, best, min((each for each in bounds if each is not None), default=None)
            )
        )
        return self._frontier(marks, self._note(close), self.programs.stopped)

    def cheap(self) -> PriceFrontier:
        """What REF's schedule, first in, first out, and the fluid bound say."""
        most = fluid_bound(self.instance, self.objective)
        best = max(self.fair, simulate(self.instance, "FIFO").schedule, key=self._worth)
        # no schedule with REF's utilities has another total
        fair = int(self.psi.sum()) if self.objective == "utility" else most
        marks = [
            self._point(0.0, self.fair, self._scaled(fair)),
            self._point(None, best, self._scaled(most)),
        ]
        note = (
            f"More than {MOST_JOBS} jobs: REF's own schedule, and the better of it and first "
            "in, first out, beside the most that "
            "cutting jobs at will could do. The limits between are not worked out."
        )
        return self._frontier(marks, note, Stop.FINISHED)

    def _most(self, start: Schedule, left: int) -> Outcome:
        method = max_utilization if self.objective == "utilization" else max_utility
        return self.programs.solve(left, method, self.instance, engine=self.engine, start=start)

    def _near(self, limit: int, start: Schedule, *, time_limit: float | None) -> Outcome:
        within = Nearness(self.psi, limit)
        return most_near(
            self.instance,
            self.objective,
            within,
            start=start,
            engine=self.engine,
            time_limit=time_limit,
        )

    def _worth(self, schedule: Schedule) -> int:
        return worth_of(self.instance, schedule, self.objective)

    def _scaled(self, whole: int) -> float:
        """Units of work as a share of the machines' time, or utility as it is."""
        return whole / _unit(self.instance, self.objective)

    def _point(self, limit: float | None, schedule: Schedule, bound: float | None) -> PricePoint:
        """What a schedule says, counted again; its bound in whole units, to be equal or not."""
        proved = None if bound is None else self._scaled(round(bound / self._scaled(1)))
        reached = distance(self.instance, schedule, self.psi) / self.units
        return PricePoint(
            limit, self._scaled(self._worth(schedule)), proved, reached, Status.FEASIBLE
        )

    def _frontier(self, marks: list[PricePoint], note: str, stop: Stop) -> PriceFrontier:
        return PriceFrontier(self.objective, FAIRNESS, settled(marks, "max", 0.0), note, stop)

    def _note(self, close: Outcome) -> str:
        note = (
            "The limit is on unfairness: the distance from REF's utilities, over the work "
            "REF does. The most is of any schedule "
        )
        note += (
            "that keeps first in, first out inside an organization; all jobs are known in "
            "advance, and machines may idle."
        )
        if close.status is Status.OPTIMAL:
            note += " The last point is the least unfair of those that reach its value (proved)."
        return note


def _schedule(outcome: Outcome, other: Schedule) -> Schedule:
    return outcome.solution if isinstance(outcome.solution, Schedule) else other
