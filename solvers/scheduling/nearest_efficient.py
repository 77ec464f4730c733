"""Price of fairness: the most efficient schedule near given utilities, and the nearest of the
efficient schedules.
"""

from __future__ import annotations

from ...instances.problem.errors import InvalidOption
from ...instances.problem.option_types import validate_options
from ...instances.scheduling import Schedule, Scheduling, check
from ...instances.scheduling.instance import Integers
from ...models.scheduling import Nearness
from ...models.scheduling.intervals import Objective
from ..outcome import Clock, Outcome, Status, Stop
from .optimum import by_intervals, distance, optimum, worth_of


@validate_options
def most_near(
    instance: Scheduling,
    objective: Objective,
    near: Nearness,
    *,
    start: Schedule,
    time_limit: float | None = None,
) -> Outcome:
    """Maximize the work, or total psi_sp, over schedules whose utilities are near given ones.

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
    """Minimize the distance to given utilities over schedules with as much work, or psi_sp, as
    `start`.

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
