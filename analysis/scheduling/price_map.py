"""The price of fairness among organizations: the most work, and the most utility, within each distance from REF's schedule."""

from __future__ import annotations

from numbers import Integral
from typing import get_args

from ...instances.problem.errors import InvalidOption
from ...instances.scheduling import Schedule, Scheduling, utilities
from ...models.scheduling import Nearness, fluid_bound
from ...models.scheduling.intervals import Objective
from ...solvers.outcome import Clock, Outcome, Status, Stop
from ...solvers.scheduling import simulate
from ...solvers.scheduling.near import most_near, nearest, quicker_engine
from ...solvers.scheduling.optimum import distance, max_utility, max_utilization, worth_of
from ...solvers.scheduling.plain import Reading
from ...solvers.scheduling.shapley_schedule import affordable, ref, reference
from ..price_map import PriceFrontier, PricePoint

FAIRNESS = "unfairness"
OBJECTIVES: tuple[Objective, ...] = ("utilization", "utility")

MOST_JOBS = 60
"""Up to so many jobs released before the horizon every limit has its program; beyond, only cheap bounds are given."""

_ANY = "any schedule first in, first out inside an organization, told everything beforehand, idle machines allowed"


def price_frontiers(
    instance: Scheduling, *, time_limit: float | None = None, points: int = 8, reading: Reading = "figure"
) -> tuple[PriceFrontier, ...]:
    """Utilization, and total psi_sp, against unfairness: the most of any schedule within each limit, proved.

    Unfairness is the sum over organizations of |psi - psi of REF|, over the work REF does (p_tot). Up to 60 jobs each limit
    is a program of its own (CP-SAT), from 0 to the least unfairness of the most efficient schedules; an answer within a
    limit is within every looser one, and the bound of a looser limit holds for every tighter one. For more jobs: REF's own
    schedule, the better of it and first in, first out, and `fluid_bound`.

    Parameters
    ----------
    time_limit : seconds in all, shared equally among the programs to come. REF is given as much of it as it takes.
    points : limits of each of the two, at least 2; fewer where unfairness has fewer values.
    reading : of REF.

    Returns
    -------
    tuple of PriceFrontier
        For utilization and for utility; none when REF does no work. Where REF itself would take more than seconds, one
        point each, without limit.
    """
    if isinstance(points, bool) or not isinstance(points, Integral) or points < 2:
        raise InvalidOption(f"points is {points!r}; expected a whole number of limits, 2 or more")
    if reading not in get_args(Reading):
        raise InvalidOption(f"reading is {reading!r}; expected {' or '.join(get_args(Reading))}")
    clock = Clock(time_limit)
    fair = ref(instance, reading=reading, time_limit=time_limit) if affordable(instance) else None
    if fair is None or fair.stop is not Stop.FINISHED or not isinstance(fair.solution, Schedule):
        return tuple(_unlimited(instance, objective) for objective in OBJECTIVES)
    units = reference(instance, reading).units
    if units == 0:
        return ()
    if int((instance.release < instance.horizon).sum()) > MOST_JOBS:
        return tuple(_Map(instance, objective, fair.solution, units, clock).cheap() for objective in OBJECTIVES)
    found: list[PriceFrontier] = []
    for place, objective in enumerate(OBJECTIVES):
        left = None if clock.left is None else max(clock.left / (len(OBJECTIVES) - place), 0.01)
        found.append(_Map(instance, objective, fair.solution, units, Clock(left)).frontier(int(points)))
        if found[-1].note.endswith(_INTERRUPTED):
            break
    return tuple(found)


_INTERRUPTED = "interrupted; the points after that are what was known"


class _Map:
    """One frontier: its programs, one after the other. Efficiency is counted in whole units of work or utility.

    Parameters
    ----------
    fair, units : REF's schedule, and the work it does.
    """

    def __init__(self, instance: Scheduling, objective: Objective, fair: Schedule, units: int, clock: Clock) -> None:
        self.instance, self.objective, self.fair, self.units, self.clock = instance, objective, fair, units, clock
        self.psi = utilities(instance, fair)
        self.engine = quicker_engine(instance)

    def frontier(self, points: int) -> PriceFrontier:
        """All points, the tightest limit first."""
        free = self._free(self.fair, points + 2)
        best, bound, stop = _schedule(free), self._whole(free), free.stop
        close: Outcome | None = None
        if stop is not Stop.INTERRUPTED:
            close = self._nearest(best, points + 1)
            best, stop = _schedule(close), close.stop
        far = distance(self.instance, best, self.psi)
        limits = sorted({far * place // (points - 1) for place in range(points - 1)} - {far})
        answers: list[tuple[int, Schedule, int | None]] = []
        before = self.fair
        for place, limit in enumerate(limits):
            proved = None
            if stop is not Stop.INTERRUPTED:
                outcome = most_near(
                    self.instance, self.objective, Nearness(self.psi, limit),
                    start=before, engine=self.engine, time_limit=self._part(len(limits) + 1 - place),
                )  # fmt: skip
                before, proved, stop = _schedule(outcome), self._whole(outcome), outcome.stop
            answers.append((limit, before, proved))
        best = max(best, before, key=self._worth)
        if stop is not Stop.INTERRUPTED and self._worth(best) != bound:  # once more, with what is left
            again = self._free(best, 1)
            stop, best = again.stop, _schedule(again)
            bound = min((each for each in (bound, self._whole(again)) if each is not None), default=None)
        if far == 0:  # efficient and fair at once
            answers.append((0, best, bound))
        answers.append((-1, best, bound))
        return PriceFrontier(self.objective, FAIRNESS, self._points(answers), self._note(close, stop))

    def cheap(self) -> PriceFrontier:
        """What REF's schedule, first in, first out, and the fluid bound say."""
        most = fluid_bound(self.instance, self.objective)
        best = max(self.fair, simulate(self.instance, "FIFO").schedule, key=self._worth)
        fair = int(self.psi.sum()) if self.objective == "utility" else most  # no schedule with REF's utilities has another total
        note = (
            f"more than {MOST_JOBS} jobs: REF's own schedule, and the better of it and first in, first out, beside the most that "
            "cutting jobs at will could do; the limits between have no proof here"
        )
        return PriceFrontier(self.objective, FAIRNESS, self._points([(0, self.fair, fair), (-1, best, most)]), note)

    def _free(self, start: Schedule, programs: int) -> Outcome:
        method = max_utilization if self.objective == "utilization" else max_utility
        return method(self.instance, engine=self.engine, start=start, time_limit=self._part(programs))

    def _nearest(self, best: Schedule, programs: int) -> Outcome:
        limit = self._part(programs)
        return nearest(self.instance, self.objective, self.psi, start=best, engine=self.engine, time_limit=limit)

    def _part(self, programs: int) -> float | None:
        """An equal share of the seconds left for each of the programs to come."""
        return None if self.clock.left is None else max(self.clock.left / programs, 0.01)

    def _worth(self, schedule: Schedule) -> int:
        return worth_of(self.instance, schedule.start, self.objective)

    def _whole(self, outcome: Outcome) -> int | None:
        """A bound in whole units."""
        unit = _scaled(self.instance, self.objective, 1)
        return None if outcome.bound is None else round(outcome.bound / unit)

    def _points(self, answers: list[tuple[int, Schedule, int | None]]) -> tuple[PricePoint, ...]:
        """Each with the least bound of its own and the looser limits; limit -1 is none."""
        result: list[PricePoint] = []
        least: int | None = None
        for limit, schedule, bound in reversed(answers):
            least = min((each for each in (least, bound) if each is not None), default=None)
            value = self._worth(schedule)
            point = PricePoint(
                limit=None if limit < 0 else limit / self.units,
                value=_scaled(self.instance, self.objective, value),
                bound=None if least is None else _scaled(self.instance, self.objective, least),
                reached=distance(self.instance, schedule, self.psi) / self.units,
                status=Status.OPTIMAL if value == least else Status.FEASIBLE,
            )
            result.append(point)
        return tuple(result[::-1])

    def _note(self, close: Outcome | None, stop: Stop) -> str:
        note = f"the limit is on unfairness, the distance from REF's utilities over the work it does; {_ANY}"
        if close is not None and close.status is Status.OPTIMAL:
            note += "; the last point is the least unfair of its efficiency"
        return f"{note}; {_INTERRUPTED}" if stop is Stop.INTERRUPTED else note


def _unlimited(instance: Scheduling, objective: Objective) -> PriceFrontier:
    """One point, of first in, first out, where REF takes too long to know what is fair."""
    schedule = simulate(instance, "FIFO").schedule
    value, most = worth_of(instance, schedule.start, objective), fluid_bound(instance, objective)
    note = "REF was not worked out in the time given, so that no schedule's unfairness is known; first in, first out is shown"
    status = Status.OPTIMAL if value == most else Status.FEASIBLE
    point = PricePoint(None, _scaled(instance, objective, value), _scaled(instance, objective, most), None, status)
    return PriceFrontier(objective, FAIRNESS, (point,), note)


def _scaled(instance: Scheduling, objective: Objective, whole: int) -> float:
    """Units of work as a share of the machines' time, or utility as it is."""
    return whole / (instance.total_machines * instance.horizon) if objective == "utilization" else float(whole)


def _schedule(outcome: Outcome) -> Schedule:
    assert isinstance(outcome.solution, Schedule)  # every program here begins with one
    return outcome.solution
