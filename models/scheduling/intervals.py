"""Interval model of a schedule for CP-SAT: a start for each job, never more jobs than machines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import numpy as np
import numpy.typing as npt

from ...instances.problem.errors import InvalidOption
from ...instances.problem.option_types import validate_options
from ...instances.scheduling import Schedule, Scheduling, schedule_of
from ...instances.scheduling.instance import Integers

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

Objective = Literal["utilization", "utility"]


@dataclass(frozen=True, eq=False)
class Nearness:
    """Allowed distance of schedules from given utilities.

    Attributes
    ----------
    psi : (k,) psi_sp of each organization, at the horizon.
    most : the sum over organizations of |psi_sp - psi| may be at most this.
    """

    psi: Integers
    most: int


@dataclass(frozen=True, eq=False)
class IntervalModel:
    """CP-SAT model with its start variables.

    Attributes
    ----------
    model : maximizes units of work, or twice the total psi_sp; or minimizes the distance from given
        utilities.
    jobs : (n,) the jobs released before the horizon; the others never start.
    start : index of each one's start variable; the horizon means not started.
    done : index of the variable of its units done before the horizon.
    """

    model: cp_model.CpModel
    jobs: Integers
    start: list[int]
    done: list[int]

    def schedule(self, values: npt.NDArray[np.int64], instance: Scheduling) -> Schedule:
        """Schedule of the model's values, on the lowest-numbered free machines."""
        return schedule_of(instance, self.starts(values, instance))

    def starts(self, values: npt.NDArray[np.int64], instance: Scheduling) -> Integers:
        """(j,) start times from the model's values, -1 for jobs that do not start."""
        found = np.full(instance.jobs, -1, dtype=np.int64)
        begin = values[self.start]
        found[self.jobs] = np.where(begin < instance.horizon, begin, -1)
        return found

    def hints(self, start: Integers, instance: Scheduling) -> dict[int, int]:
        """Values of the model's variables for a schedule's starts."""
        begin = np.where(start[self.jobs] >= 0, start[self.jobs], instance.horizon)
        done = np.minimum(instance.processing[self.jobs], instance.horizon - begin)
        values = dict(zip(self.start, begin.tolist(), strict=True))
        return values | dict(zip(self.done, done.tolist(), strict=True))


@validate_options
def interval_model(
    instance: Scheduling,
    objective: Objective,
    over: Callable[[], bool] = lambda: False,
    *,
    near: Nearness | None = None,
    least: int | None = None,
) -> IntervalModel:
    """Starts s_j from release to horizon, units done l_j = min(p_j, horizon - s_j), at most M
    machines taken at once; machines have one speed.

    A job started at s is worth p (T - s - l) + l (l + 1) / 2: if it ends before the horizon T then
    l = p and this is equation 3; if it is cut then T - s - l = 0 and only the square is left.
    Inside an organization starts follow the order of its jobs. Schedules need not be greedy.
    TimeoutError once `over` says so.

    Parameters
    ----------
    near : only schedules whose organizations' utilities are near given ones, in all.
    least : with `near`: minimize that distance over the schedules whose objective is at least this.
    """
    from ortools.sat.python import cp_model as library

    if instance.speed is not None:
        refuse_speeds()
    model = library.CpModel()
    horizon = instance.horizon
    jobs = instance.order[instance.release[instance.order] < horizon]
    starts, units, intervals, worth, work = [], [], [], [], []
    for job in jobs.tolist():
        if over():
            raise TimeoutError
        release = int(instance.release[job])
        # what is cut in any case need not fit 64 bits
        most = length = min(int(instance.processing[job]), horizon - release)
        start = model.new_int_var(release, horizon, f"start {job}")
        done = model.new_int_var(0, most, f"done {job}")
        end = model.new_int_var(release, horizon, f"end {job}")
        model.add_min_equality(done, [length, horizon - start])
        intervals.append(model.new_interval_var(start, done, end, f"job {job}"))
        width = int(instance.width[job])
        starts.append(start)
        units.append(done)
        work.append(width * done)
        if objective == "utility" or near is not None:
            square = model.new_int_var(0, most * most, f"square {job}")
            model.add_multiplication_equality(square, [done, done])
            worth.append(width * (2 * length * (horizon - start - done) + square + done))
    model.add_cumulative(intervals, instance.width[jobs].tolist(), instance.total_machines)
    owner = instance.organization[jobs]
    for place in np.flatnonzero(owner[1:] == owner[:-1]).tolist():
        model.add(starts[place] <= starts[place + 1])
    total = sum(worth) if objective == "utility" else sum(work)
    apart = None if near is None else _apart(model, near, worth, owner)
    if apart is not None and least is not None:
        model.add(total >= (2 * least if objective == "utility" else least))
        model.minimize(apart)
    else:
        model.maximize(total)
    return IntervalModel(
        model, jobs, [variable.index for variable in starts], [variable.index for variable in units]
    )


@validate_options
def refuse_speeds() -> NoReturn:
    """Raise InvalidOption: intervals need machines of one speed."""
    raise InvalidOption(
        "engine is 'cp-sat'; its intervals know machines of one speed only. Take the program by "
        "time, engine='highs'"
    )


def _apart(model: cp_model.CpModel, near: Nearness, worth: list[Any], owner: Integers) -> Any:
    """Distance from the given utilities, limited; `worth` is twice the jobs' psi_sp."""
    distances = []
    for u, given in enumerate(near.psi.tolist()):
        own = [worth[place] for place in np.flatnonzero(owner == u).tolist()]
        distance = model.new_int_var(0, near.most, f"distance {u}")
        model.add(2 * distance >= sum(own) - 2 * given)
        model.add(2 * distance >= 2 * given - sum(own))
        distances.append(distance)
    model.add(sum(distances) <= near.most)
    return sum(distances)
