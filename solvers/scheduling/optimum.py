"""Optimal schedules by the horizon, all jobs known in advance: most work, or most total utility.
Also the most among schedules near given utilities, and the efficient schedule nearest to them.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np

from ...instances.problem.base import Solution
from ...instances.problem.errors import InfeasibleSolution, InvalidInstance, InvalidOption
from ...instances.problem.option_types import validate_options
from ...instances.scheduling import (
    Schedule,
    Scheduling,
    check,
    is_greedy,
    utilities,
)
from ...instances.scheduling.instance import Integers
from ...instances.scheduling.utility import job_psi, job_units
from ...models.scheduling import (
    Nearness,
    fluid_bound,
    interval_model,
)
from ...models.scheduling.intervals import Objective
from ..engines import solve_cp_sat
from ..outcome import Clock, Outcome, Report, Status, Stop
from .event_loop import simulate

_STARTS = ("FIFO", "ROUNDROBIN", "FAIRSHARE", "UTFAIRSHARE", "CURRFAIRSHARE")


@validate_options
def max_utilization(
    instance: Scheduling,
    *,
    start: Solution | None = None,
    time_limit: float | None = None,
    report: Report | None = None,
) -> Outcome:
    """Maximize the work done before the horizon: the reference of Theorem 6.2 for greedy schedules.

    Clairvoyant and offline; first in, first out inside an organization; it may leave machines idle
    while jobs wait.

    Parameters
    ----------
    start : a schedule to begin from, beside first in, first out; for parallel jobs and machines of
        different speeds beside several rules.
    time_limit : seconds. The best schedule so far and the proved bound are returned when they are
        up, or at Ctrl-C.

    Notes
    -----
    The bound, a share of the machines' time, is the better of the engine's and of
    `models.scheduling.fluid_bound`.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("scheduling/figure-7"), "max-utilization")
    >>> print(result.status, round(result.objective, 3))
    optimal 1.0
    """
    return optimum(instance, "utilization", start, time_limit, report)


@validate_options
def max_utility(
    instance: Scheduling,
    *,
    start: Solution | None = None,
    time_limit: float | None = None,
    report: Report | None = None,
) -> Outcome:
    """Maximize the total utility psi_sp at the horizon, all jobs known in advance.

    Which loss of it fairness, or being greedy, costs is left open by the paper (end of section 6).

    Parameters
    ----------
    start, time_limit : as for `max_utilization`; so is the bound.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("scheduling/tiny"), "max-utility")
    >>> print(result.status, round(result.objective, 3))
    optimal 1348.0
    """
    return optimum(instance, "utility", start, time_limit, report)


@validate_options
def most_near(
    instance: Scheduling,
    objective: Objective,
    near: Nearness,
    *,
    start: Schedule,
    time_limit: float | None = None,
) -> Outcome:
    """Maximize the work, or total utility psi_sp, over schedules with utilities near given ones.

    Clairvoyant and offline like `max_utilization`; first in, first out inside an organization; need
    not be greedy.

    Parameters
    ----------
    near : the utilities, and how far from them the schedule's may be, in all.
    start : a schedule that near.
    time_limit : seconds. The best schedule so far and the proved bound are returned when they are
        up, or at Ctrl-C.

    Raises
    ------
    InvalidOption
        The start is not feasible, or not near enough.

    Notes
    -----
    The bound is the better of the engine's, of `fluid_bound`, and for psi_sp of the given total
    plus the distance allowed.
    """
    check(instance, start)
    if (far := distance(instance, start, near.psi)) > near.most:
        raise InvalidOption(
            f"start is {far} from the given utilities; expected at most {near.most}"
        )
    return optimum(instance, objective, start, time_limit, None, near)


@validate_options
def nearest(
    instance: Scheduling,
    objective: Objective,
    given: Integers,
    *,
    start: Schedule,
    time_limit: float | None = None,
) -> Outcome:
    """Find a schedule whose utilities are nearest to given ones, among schedules that do as well as
    `start` by an objective (work done, or psi_sp).

    Returns
    -------
    Outcome
        The bound is on the distance, the sum over organizations of |psi_sp - given|.
    """
    check(instance, start)
    clock = Clock(time_limit)
    least, best, stop = worth_of(instance, start, objective), start, Stop.FINISHED
    far = distance(instance, start, given)
    bound: int | None = 0
    if far > 0:
        try:
            found, bound, stop, _ = by_intervals(
                instance, objective, start, clock, None, Nearness(given, far), least
            )
        except KeyboardInterrupt:
            found, bound, stop = None, None, Stop.INTERRUPTED
        if found is not None:
            check(instance, found)
            closer = distance(instance, found, given)
            if closer < far and worth_of(instance, found, objective) >= least:
                best, far = found, closer
    if (
        bound is not None and bound > far
    ):  # one of the two must be wrong, and the distance was counted here
        bound = None
    status = Status.OPTIMAL if bound == far else Status.FEASIBLE
    return Outcome(
        best,
        None if bound is None else float(bound),
        status,
        Stop.FINISHED if status is Status.OPTIMAL else stop,
    )


def optimum(
    instance: Scheduling,
    objective: Objective,
    start: Solution | None,
    time_limit: float | None,
    report: Report | None,
    near: Nearness | None = None,
) -> Outcome:
    """Find a schedule that maximizes an objective. With `near`, only schedules near given utilities
    count, and `start` must be one of them.
    """
    # 1. a bound without a program, and a schedule to begin with; reports are in the unit of the
    # metric, the program in integers
    unit = 1.0 / (instance.capacity * instance.horizon) if objective == "utilization" else 1.0
    scaled = None if report is None else _in_unit(report, unit, 2 if objective == "utility" else 1)
    clock = Clock(time_limit)
    best, broken = _begin(instance, start, objective, near is None)
    limit = fluid = fluid_bound(instance, objective)
    if near is not None and objective == "utility":
        # a total cannot be farther from the given ones' than they are in all
        limit = min(limit, sum(near.psi.tolist()) + near.most)
    certificate: dict[str, Any] = {"engine": "cp-sat", "fluid_bound": fluid * unit}
    if broken is Stop.INTERRUPTED:
        return Outcome(best, limit * unit, Status.FEASIBLE, broken, certificate)
    if worth_of(instance, best, objective) == limit:  # nothing to look for
        return Outcome(
            best,
            limit * unit,
            Status.OPTIMAL,
            certificate=certificate
            | {"proof": f"the start reaches the {'fluid ' if limit == fluid else ''}bound"},
        )
    # 2. the intervals, by CP-SAT
    try:
        found, bound, stop, message = by_intervals(instance, objective, best, clock, scaled, near)
    except KeyboardInterrupt:
        found, bound, stop = None, None, Stop.INTERRUPTED
        message = "interrupted while the model was built"
    certificate["engine_message"] = message
    # 3. its schedule and its bound, measured here before they are used
    bound = limit if bound is None else min(bound, limit)
    if found is not None and worth_of(instance, found, objective) > worth_of(
        instance, best, objective
    ):
        check(instance, found)
        if near is None or distance(instance, found, near.psi) <= near.most:
            best = found
    value = worth_of(instance, best, objective)
    if bound < value:  # one of the two must be wrong, and the value was counted here
        certificate["withdrawn"] = (
            f"the engine's bound, {bound * unit:g}, is below a schedule that reaches "
            f"{value * unit:g}"
        )
        bound = limit
    certificate["greedy"] = is_greedy(instance, best)
    status = Status.OPTIMAL if value == bound else Status.FEASIBLE
    return Outcome(
        best, bound * unit, status, Stop.FINISHED if status is Status.OPTIMAL else stop, certificate
    )


Answer = tuple[Schedule | None, int | None, Stop, str]


def by_intervals(
    instance: Scheduling,
    objective: Objective,
    start: Schedule,
    clock: Clock,
    report: Report | None,
    near: Nearness | None = None,
    least: int | None = None,
) -> Answer:
    """Solve the interval model by CP-SAT: schedule, integer bound, reason for stopping, message."""
    half = clock.time_slice(2)  # CP-SAT takes as long to load the model, and looks at no clock then
    late = np.inf if half is None else clock.seconds + half
    try:
        built = interval_model(
            instance, objective, lambda: clock.seconds >= late, near=near, least=least
        )
    except TimeoutError:
        return None, None, Stop.TIME_LIMIT, "the time was up before the model was built"
    answer = solve_cp_sat(
        built.model,
        time_limit=clock.time_slice(),
        hints=built.hints(start, instance),
        report=report,
    )
    found = None if answer.values is None else built.schedule(answer.values, instance)
    bound = None if answer.bound is None else int(np.floor(answer.bound * (1 + 1e-15) + 0.5))
    if bound is not None and objective == "utility" and least is None:
        bound //= 2
    return found, bound, answer.stop, answer.message


def _begin(
    instance: Scheduling, start: Solution | None, objective: Objective, rules: bool
) -> tuple[Schedule, Stop]:
    """Start schedule: the given one or a better one of `rules`; and whether an interrupt came
    meanwhile.
    """
    if start is not None:
        if not isinstance(start, Schedule):
            raise InvalidOption(f"start is a {type(start).__name__}; expected a Schedule")
        try:
            check(instance, start)
        except InfeasibleSolution as error:
            raise InvalidOption(f"start is not feasible: {error}") from None
    if start is None or rules:
        played = simulate(instance, "FIFO", partial=True)  # first in, first out to the end even so
        best, stop = played.schedule, played.stop
        if not instance.sequential and stop is Stop.FINISHED:  # greedy schedules differ much there
            for passing in (instance, instance.replace(backfilling=True)):
                for rule in _STARTS:
                    with suppress(InvalidInstance):  # numbers too large for its comparisons
                        other = simulate(passing, rule).schedule
                        best = max(best, other, key=lambda one: worth_of(instance, one, objective))
        if start is not None:
            best = max(start, best, key=lambda one: worth_of(instance, one, objective))
        return best, stop
    return start, Stop.FINISHED


def distance(instance: Scheduling, schedule: Schedule, given: Integers) -> int:
    """Distance of a schedule from given utilities: the sum over organizations of |psi_sp - given|,
    at the horizon.
    """
    own = utilities(instance, schedule)
    return sum(abs(mine - other) for mine, other in zip(own.tolist(), given.tolist(), strict=True))


def worth_of(instance: Scheduling, schedule: Schedule, objective: Objective) -> int:
    """Total work in units, or total utility psi_sp, of a schedule by the horizon."""
    value = job_psi if objective == "utility" else job_units
    return int(value(instance, schedule, instance.horizon).sum())


def _in_unit(report: Report, unit: float, divide: int) -> Report:
    """Progress callback that converts the engine's objective to the unit of the method's."""

    def report_in_unit(
        seconds: float, objective: float | None, bound: float | None, text: str
    ) -> None:
        values = [
            None if value is None else abs(value) * unit / divide for value in (objective, bound)
        ]
        report(seconds, values[0], values[1], text)

    return report_in_unit
