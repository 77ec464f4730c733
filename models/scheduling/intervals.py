"""Interval model of a schedule for CP-SAT, a start for each job; upper bound by fluid work."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from ...instances.problem.option_types import validate_options
from ...instances.scheduling import Schedule, Scheduling, schedule_of
from ...instances.scheduling.instance import Integers

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

Objective = Literal["utilization", "utility"]

MOST_TIME_ENTRIES = 200_000
"""Jobs times start times times moments up to which each start time has a variable of its own: its
relaxation is tighter, and CP-SAT then proves small instances up to a hundred times faster.
"""


@dataclass(frozen=True, eq=False)
class Nearness:
    """Limit on how far the organizations' utilities in a schedule are from given ones.

    Attributes
    ----------
    psi : (k,) psi_sp of each organization, at the horizon.
    most : the sum over organizations of |psi_sp - psi| may be at most this.
    """

    psi: Integers
    most: int


@dataclass(frozen=True, eq=False)
class IntervalModel:
    """CP-SAT model of a schedule, with the variables that are the starts of jobs.

    Attributes
    ----------
    model : maximizes units of work, or twice the total psi_sp; or minimizes the distance from given
        utilities.
    job, speed : (e,) each job released before the horizon with each speed of a machine that it may
        run on. A job of several entries starts in at most one of them.
    start : index of the variable of each entry's start; the horizon means not started.
    done : index of the variable of the moments in which it runs before the horizon.
    """

    model: cp_model.CpModel
    job: Integers
    speed: Integers
    start: list[int]
    done: list[int]

    def schedule(self, values: npt.NDArray[np.int64], instance: Scheduling) -> Schedule:
        """Schedule of the model's values, on the lowest-numbered free machines."""
        start, speed = np.full((2, instance.jobs), -1, dtype=np.int64)
        begin = values[self.start]
        begun = begin < instance.horizon
        start[self.job[begun]], speed[self.job[begun]] = begin[begun], self.speed[begun]
        return schedule_of(instance, start, speed=None if instance.speed is None else speed)

    def hints(self, schedule: Schedule, instance: Scheduling) -> dict[int, int]:
        """Values of the model's variables that state a given schedule."""
        start, speed = schedule.start[self.job], instance.pace[schedule.machine][self.job]
        begin = np.where((start >= 0) & (speed == self.speed), start, instance.horizon)
        moments = -(-instance.processing[self.job] // self.speed)
        done = np.minimum(moments, instance.horizon - begin)
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
    entries_by_time: int = MOST_TIME_ENTRIES,
) -> IntervalModel:
    """Build the clairvoyant schedule as intervals for CP-SAT: starts s from release to horizon T,
    and never more jobs on machines of a speed than there are.

    A job of p units on a machine of speed c runs l = min(L, T - s) moments before T, L = p / c
    rounded up; its last moment does L c - p units less than the others. So twice its psi_sp is
    c (2 L (T - s - l) + l^2 + l), less 2 (L c - p) (T - s - L + 1) if it ends: with c = 1 this is
    equation 3 for a job that ends before T, and the square alone for one that is cut. Inside an
    organization starts follow the order of its jobs. Schedules need not be greedy.

    Parameters
    ----------
    over : asked before each job whether time is up.
    near : only schedules whose organizations' utilities are near given ones, in all.
    least : with `near`: minimize that distance over the schedules whose objective is at least this.
    entries_by_time : up to this number of nonzeros each start time has a 0-1 variable, so that
        psi_sp is linear, and each time a row of the jobs that run then.

    Raises
    ------
    TimeoutError
        `over` says that time is up.
    """
    from ortools.sat.python import cp_model as library

    model, horizon = library.CpModel(), instance.horizon
    jobs = instance.order[instance.release[instance.order] < horizon]
    speeds, machines = np.unique(instance.pace, return_counts=True)
    # 1. an optional interval for each job and speed
    longest = np.minimum(instance.processing[jobs], horizon - instance.release[jobs])
    nonzeros = len(speeds) * float(longest.astype(float) @ (horizon - instance.release[jobs]))
    by_time = nonzeros <= entries_by_time
    entries: list[_Entry] = []
    first = []  # by job: the variable of its start
    for job in jobs.tolist():
        if over():
            raise TimeoutError
        own = [_Entry.of(model, instance, job, speed, by_time) for speed in speeds.tolist()]
        entries += own
        first.append(own[0].start)
        if len(own) > 1:
            model.add_at_most_one([entry.runs for entry in own])
            first[-1] = model.new_int_var(0, horizon, f"start {job}")
            model.add_min_equality(first[-1], [entry.start for entry in own])
    # 2. machines of each speed, and first in, first out inside an organization
    kinds = len(speeds)
    for kind, number in enumerate(machines.tolist()):
        intervals = [entry.interval for entry in entries[kind::kinds]]
        model.add_cumulative(intervals, instance.width[jobs].tolist(), number)
        if by_time:
            _add_times(model, entries[kind::kinds], instance.width[jobs].tolist(), number, horizon)
    owner = instance.organization[jobs]
    for index in np.flatnonzero(owner[1:] == owner[:-1]).tolist():
        model.add(first[index] <= first[index + 1])
    # 3. the objective, or the distance from the given utilities
    worth = []
    if objective == "utility" or near is not None:
        worth = [entry.psi_twice(model, horizon) for entry in entries]
    total = sum(worth) if objective == "utility" else sum(entry.units for entry in entries)
    apart = None if near is None else _apart(model, near, worth, np.repeat(owner, kinds))
    if apart is not None and least is not None:
        model.add(total >= (2 * least if objective == "utility" else least))
        model.minimize(apart)
    else:
        model.maximize(total)
    return IntervalModel(
        model,
        np.repeat(jobs, kinds),
        np.tile(speeds, len(jobs)),
        [entry.start.index for entry in entries],
        [entry.done.index for entry in entries],
    )


@dataclass(frozen=True, eq=False)
class _Entry:
    """CP-SAT variables of one job on machines of one speed.

    Attributes
    ----------
    moments : in which it runs at most; rate : units of work of each, on all of its machines.
    start : the horizon where it does not run here; runs : whether it does.
    done : moments before the horizon; interval : the machines it takes, also after the horizon.
    missing : units that its last moment does less; ends : 1 if it ends before the horizon.
    at : whether it starts at each time from its release on; empty where that is not modeled.
    """

    moments: int
    rate: int
    start: Any
    runs: Any
    done: Any
    interval: Any
    missing: int
    ends: Any
    at: dict[int, Any]

    @classmethod
    def of(
        cls, model: cp_model.CpModel, instance: Scheduling, job: int, speed: int, by_time: bool
    ) -> _Entry:
        """Make the variables of one job on machines of one speed."""
        horizon, release = instance.horizon, int(instance.release[job])
        whole, width = -(-int(instance.processing[job]) // speed), int(instance.width[job])
        # what is cut in any case need not fit 64 bits
        moments = min(whole, horizon - release)
        start = model.new_int_var(release, horizon, f"start {job} at {speed}")
        runs = model.new_bool_var(f"runs {job} at {speed}")
        model.add(start < horizon).only_enforce_if(runs)
        model.add(start == horizon).only_enforce_if(~runs)
        done = model.new_int_var(0, moments, f"done {job} at {speed}")
        model.add_min_equality(done, [moments, horizon - start])
        interval = model.new_optional_fixed_size_interval_var(start, moments, runs, f"job {job}")
        missing = 0
        ends: Any = 0
        if whole == moments and (missing := whole * speed - int(instance.processing[job])):
            ends = model.new_bool_var(f"ends {job} at {speed}")
            model.add(start <= horizon - moments).only_enforce_if(ends)
            model.add(start > horizon - moments).only_enforce_if(~ends)
        times = range(release, horizon) if by_time else ()
        at = {time: model.new_bool_var(f"job {job} at {speed} from {time}") for time in times}
        if by_time:
            model.add(sum(at.values()) == runs)
            model.add(sum(time * x for time, x in at.items()) + horizon * (1 - runs) == start)
            model.add(sum(min(moments, horizon - time) * x for time, x in at.items()) == done)
        return cls(moments, width * speed, start, runs, done, interval, width * missing, ends, at)

    @property
    def units(self) -> Any:
        """Units of work of the job before the horizon."""
        return self.rate * self.done - self.missing * self.ends

    def psi_twice(self, model: cp_model.CpModel, horizon: int) -> Any:
        """Twice the utility psi_sp of the job at the horizon."""
        if self.at:
            return sum(self._psi_twice_from(time, horizon) * x for time, x in self.at.items())
        left = horizon - self.start - self.done
        square = model.new_int_var(0, self.moments * self.moments, "")
        model.add_multiplication_equality(square, [self.done, self.done])
        return self._twice(left, self.done, square, self.ends)

    def _psi_twice_from(self, start: int, horizon: int) -> int:
        """Twice the utility psi_sp of the job when it starts at a time before the horizon."""
        done = min(self.moments, horizon - start)
        ends = int(done == self.moments)
        twice: int = self._twice(horizon - start - done, done, done * done, ends)
        return twice

    def _twice(self, left: Any, done: Any, square: Any, ends: Any) -> Any:
        """Twice the utility psi_sp of a job that runs for a number of moments before the horizon.

        `left` are the moments after it, `done` those it runs, `square` is done x done, and `ends`
        whether it ends before the horizon.
        """
        twice = self.rate * (2 * self.moments * left + square + done)
        return twice - 2 * self.missing * (left + ends)


def _add_times(
    model: cp_model.CpModel, entries: list[_Entry], width: list[int], machines: int, horizon: int
) -> None:
    """Add a constraint for each time: running jobs take no more machines than there are."""
    running: dict[int, list[Any]] = {}
    for entry, wide in zip(entries, width, strict=True):
        for start, x in entry.at.items():
            for time in range(start, min(start + entry.moments, horizon)):
                running.setdefault(time, []).append(wide * x)
    for row in running.values():
        model.add(sum(row) <= machines)


def _apart(model: cp_model.CpModel, near: Nearness, worth: list[Any], owner: Integers) -> Any:
    """Limit the distance of organizations' utilities from `near.psi` to `near.most`; return it.

    `worth` holds twice the utility psi_sp of each job.
    """
    distances = []
    for u, given in enumerate(near.psi.tolist()):
        own = [worth[index] for index in np.flatnonzero(owner == u).tolist()]
        distance = model.new_int_var(0, near.most, f"distance {u}")
        model.add(2 * distance >= sum(own) - 2 * given)
        model.add(2 * distance >= 2 * given - sum(own))
        distances.append(distance)
    model.add(sum(distances) <= near.most)
    return sum(distances)


@validate_options
def fluid_bound(instance: Scheduling, objective: Objective) -> int:
    """Upper bound on the units done, or on the total psi_sp, before the horizon. O(j log j).

    A job brings at most its work, and what its processors, or the fastest machine, do from its
    release to the horizon. Jobs may be cut anywhere, run on any number of machines at once and out
    of order: then doing work as soon as there is any is best for both objectives at every time, and
    units done and their ages add up in closed form between releases.
    """
    horizon, machines = instance.horizon, instance.capacity
    known = instance.release < horizon
    times = np.unique(instance.release[known])
    work = np.zeros(len(times), dtype=np.int64)
    left = (horizon - instance.release) * instance.width * int(instance.pace.max())
    most = np.minimum(instance.work, left)[known]
    np.add.at(work, np.searchsorted(times, instance.release[known]), most)
    until = np.append(times[1:], horizon)[: len(times)]
    waiting = total = 0
    for begin, end, arrived in zip(times.tolist(), until.tolist(), work.tolist(), strict=True):
        waiting += arrived
        full = min(waiting // machines, end - begin)  # steps with every machine busy
        rest = min(waiting - full * machines, machines) if full < end - begin else 0
        waiting -= full * machines + rest
        if objective == "utilization":
            total += full * machines + rest
        else:
            total += machines * full * (2 * (horizon - begin) - full + 1) // 2 + rest * (
                horizon - begin - full
            )
    return total
