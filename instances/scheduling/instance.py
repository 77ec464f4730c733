"""What is given (Scheduling), what an answer is (Schedule), and the checker of an answer."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ..problem.base import Instance, Solution, frozen_array, plain, set_field
from ..problem.errors import InfeasibleSolution, InvalidInstance

Integers = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]

MOST_MACHINES = 10_000_000
"""Machines are numbered one by one; organizations are at most a tenth of that."""

LARGEST = 2**62
"""Twice the utility of all machines busy until the horizon stays below this, so that int64 holds every utility."""


@dataclass(frozen=True, eq=False)
class Scheduling(Instance):
    """Organizations that pool their machines and send sequential jobs to the pool, in whole units of time.

    Time runs from 0 to `horizon`; only work done before the horizon counts. A job runs on any one machine for its
    processing time without interruption. Jobs of one organization start in the order of their release, those of one
    release in the order in which they are listed.

    Parameters
    ----------
    machines : (k,) whole numbers
        Machines each organization brings; 0 is allowed, all 0 is not. They are numbered organization by organization.
    organization : (j,) whole numbers
        Owner of each job. An organization without jobs is allowed: it only lends its machines.
    release : (j,) whole numbers, at least 0
        When the job becomes known and may start. One released at or after the horizon never starts.
    processing : (j,) whole numbers, at least 1
        How long it runs.
    horizon : whole number, at least 1
        The end of time, t_end.
    names : (k,) strings, optional
        Names of the organizations; "0", "1", ... when not given.

    Raises
    ------
    InvalidInstance
        Naming the field, the value seen, and the cure.
    """

    problem: ClassVar[str] = "scheduling"

    machines: Integers
    organization: Integers
    release: Integers
    processing: Integers
    horizon: int
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        machines = frozen_array("machines", self.machines, np.int64, 1)
        set_field(self, "machines", machines)
        if len(machines) == 0:
            raise InvalidInstance("machines", "empty", "one entry per organization, at least one")
        _at_least("machines", machines, 0, "a number of machines")
        if not 0 < float(machines.astype(float).sum()) <= MOST_MACHINES or len(machines) > MOST_MACHINES // 10:
            seen = (
                "all zero" if not machines.any() else f"{machines.astype(float).sum():g} in all, of {len(machines)} organizations"
            )
            raise InvalidInstance(
                "machines", seen, f"at least one machine, at most {MOST_MACHINES}, and a tenth as many organizations",
                "Give some organization a machine" if not machines.any() else "Count in racks, or merge organizations",
            )  # fmt: skip
        jobs = [frozen_array(name, getattr(self, name), np.int64, 1) for name in ("organization", "release", "processing")]
        for name, value in zip(("organization", "release", "processing"), jobs, strict=True):
            set_field(self, name, value)
            if len(value) != len(jobs[0]):
                raise InvalidInstance(name, f"of length {len(value)}", f"{len(jobs[0])} entries, one per job")
        if len(jobs[0]) == 0:
            raise InvalidInstance("job", "empty", "at least one job", "Choose a window in which jobs are submitted")
        outside = (self.organization < 0) | (self.organization >= len(machines))
        if outside.any():
            place = int(np.argmax(outside))
            raise InvalidInstance(f"organization[{place}]", self.organization[place], f"an index from 0 to {len(machines) - 1}")
        _at_least("release", self.release, 0, "a time")
        _at_least("processing", self.processing, 1, "a length of time", "Leave out jobs that did not run")
        set_field(self, "horizon", _whole("horizon", self.horizon))
        if self.horizon < 1:
            raise InvalidInstance("horizon", self.horizon, "the end of time, a whole number of at least 1")
        busy = min(int(machines.sum()), len(jobs[0]))
        if busy * self.horizon * (self.horizon + 1) >= LARGEST or int(self.processing.max()) >= LARGEST // 2:
            raise InvalidInstance(
                "horizon", self.horizon, f"utilities below 2**61 ({busy} machines can be busy until then)",
                "Measure time in a coarser unit",
            )  # fmt: skip
        set_field(self, "names", _valid_names(self.names, len(machines)))

    @property
    def organizations(self) -> int:
        """k, the number of organizations."""
        return len(self.machines)

    @property
    def jobs(self) -> int:
        """Number of jobs."""
        return len(self.release)

    @property
    def size(self) -> int:
        """The number of jobs."""
        return self.jobs

    @property
    def total_machines(self) -> int:
        """Machines of all organizations."""
        return int(self.machines.sum())

    @cached_property
    def owner(self) -> Integers:
        """(machines,) the organization each machine belongs to."""
        return np.repeat(np.arange(self.organizations), self.machines)

    @cached_property
    def order(self) -> Integers:
        """(j,) jobs by organization, then in the order in which they must start: by release, then as listed."""
        return np.lexsort((np.arange(self.jobs), self.release, self.organization))

    @cached_property
    def most_utility(self) -> int:
        """No coalition's total utility at the horizon exceeds this: every job at its release, or every machine busy."""
        ends = np.minimum(self.release + np.minimum(self.processing, self.horizon), self.horizon)
        units = np.maximum(ends - self.release, 0)
        alone = sum((units * (2 * self.horizon - self.release - ends + 1)).tolist()) // 2
        busy = min(self.total_machines, self.jobs) * self.horizon * (self.horizon + 1) // 2
        return int(min(alone, busy))

    def summary(self) -> dict[str, object]:
        """Facts for people: size, load and the split of machines and jobs."""
        work = np.minimum(self.processing, np.maximum(self.horizon - self.release, 0))
        return {
            **super().summary(),
            "organizations": self.organizations,
            "machines": f"{self.total_machines} ({', '.join(map(str, self.machines.tolist()))})",
            "jobs": self.jobs,
            "horizon": self.horizon,
            "jobs of each": ", ".join(map(str, np.bincount(self.organization, minlength=self.organizations).tolist())),
            "load": f"{work.sum() / (self.total_machines * self.horizon):.3f} of the machine time until the horizon",
        }

    def document(self) -> dict[str, Any]:
        """The fields as JSON values."""
        job = {name: plain(getattr(self, name)) for name in ("organization", "release", "processing")}
        return {"machines": plain(self.machines), "job": job, "horizon": self.horizon, "names": list(self.names)}


@dataclass(frozen=True, eq=False)
class Schedule(Solution):
    """When and where each job starts.

    Parameters
    ----------
    start : (j,) start time of each job, -1 when it is not started before the horizon.
    machine : (j,) its machine, -1 when it is not started.
    greedy : whether the schedule claims never to leave a machine idle while a job waits; `check` holds it to that.
    """

    problem: ClassVar[str] = "scheduling"

    start: Integers
    machine: Integers
    greedy: bool = False

    def __post_init__(self) -> None:
        for name in ("start", "machine"):
            set_field(self, name, frozen_array(name, getattr(self, name), np.int64, 1))
        if len(self.start) != len(self.machine):
            raise InvalidInstance("machine", f"of length {len(self.machine)}", f"{len(self.start)} entries, as start has")
        if not isinstance(self.greedy, bool):
            raise InvalidInstance("greedy", repr(self.greedy), "true or false")

    @property
    def started(self) -> Booleans:
        """(j,) whether a job was started."""
        return self.start >= 0


def check(instance: Scheduling, schedule: Schedule) -> None:
    """Decide whether a schedule is feasible, and greedy if it says so. O(j log j).

    No job before its release or at the horizon or later, no two on one machine at once, first in first out inside an
    organization (paper, section 2), and, when it claims to be greedy, no idle machine while a released job waits.

    Raises
    ------
    InfeasibleSolution
        Naming the first rule that is broken, and the jobs.
    """
    if len(schedule.start) != instance.jobs:
        raise InfeasibleSolution(f"start has {len(schedule.start)} entries; the instance has {instance.jobs} jobs")
    start, machine, started = schedule.start, schedule.machine, schedule.started
    _refuse((start < -1) | (started != (machine >= 0)) | (machine < -1), lambda j: (
        f"job {j} has start {start[j]} and machine {machine[j]}; both are at least 0, or both -1 for a job that is not started"
    ))  # fmt: skip
    _refuse(machine >= instance.total_machines, lambda j: (
        f"job {j} runs on machine {machine[j]}; there are {instance.total_machines}, numbered from 0"
    ))  # fmt: skip
    _refuse(started & (start < instance.release), lambda j: (
        f"job {j} starts at {start[j]}, before its release at {instance.release[j]}"
    ))  # fmt: skip
    _refuse(start >= instance.horizon, lambda j: (
        f"job {j} starts at {start[j]}; the horizon is {instance.horizon}, a job not started before it has start -1"
    ))  # fmt: skip
    _check_order(instance, schedule)
    _check_overlap(instance, schedule)
    if schedule.greedy and (place := _idle_while_waiting(instance, schedule)) is not None:
        time, job = place
        raise InfeasibleSolution(f"the schedule claims to be greedy, but at time {time} a machine is idle while job {job} waits")


def is_greedy(instance: Scheduling, schedule: Schedule) -> bool:
    """Whether no machine is ever idle while a released job waits (before the horizon)."""
    return _idle_while_waiting(instance, schedule) is None


def assign_machines(instance: Scheduling, start: npt.ArrayLike) -> Integers:
    """(j,) the lowest-numbered machine free at each start, -1 for jobs that are not started. O(j log m).

    Any start times with at most as many jobs running at once as there are machines can be so placed.

    Raises
    ------
    InfeasibleSolution
        More jobs run at once than there are machines.
    """
    begin = np.asarray(start, dtype=np.int64)
    machine = np.full(len(begin), -1, dtype=np.int64)
    free = list(range(instance.total_machines))
    running: list[tuple[int, int]] = []
    chosen = np.flatnonzero(begin >= 0)
    for job in chosen[np.lexsort((chosen, begin[chosen]))].tolist():
        now = int(begin[job])
        while running and running[0][0] <= now:
            heapq.heappush(free, heapq.heappop(running)[1])
        if not free:
            raise InfeasibleSolution(f"more than {instance.total_machines} jobs run at time {now}")
        machine[job] = heapq.heappop(free)
        heapq.heappush(running, (now + int(instance.processing[job]), int(machine[job])))
    return machine


def _check_order(instance: Scheduling, schedule: Schedule) -> None:
    earlier, later = instance.order[:-1], instance.order[1:]
    never = np.iinfo(np.int64).max
    start = np.where(schedule.started, schedule.start, never)
    broken = (instance.organization[earlier] == instance.organization[later]) & (start[later] < start[earlier])
    if broken.any():
        first, second = (int(side[np.argmax(broken)]) for side in (earlier, later))
        raise InfeasibleSolution(
            f"job {second} of organization {instance.names[instance.organization[second]]!r} starts before job {first}, "
            "which comes first in its organization's order"
        )


def _check_overlap(instance: Scheduling, schedule: Schedule) -> None:
    jobs = np.flatnonzero(schedule.started)
    jobs = jobs[np.lexsort((schedule.start[jobs], schedule.machine[jobs]))]
    first, second = jobs[:-1], jobs[1:]
    overlap = (schedule.machine[first] == schedule.machine[second]) & (
        schedule.start[second] < schedule.start[first] + instance.processing[first]
    )
    if overlap.any():
        a, b = int(first[np.argmax(overlap)]), int(second[np.argmax(overlap)])
        raise InfeasibleSolution(
            f"jobs {a} and {b} overlap on machine {schedule.machine[a]}: job {a} runs from {schedule.start[a]} to "
            f"{schedule.start[a] + instance.processing[a]}, job {b} starts at {schedule.start[b]}"
        )


def _idle_while_waiting(instance: Scheduling, schedule: Schedule) -> tuple[int, int] | None:
    """The first (time, job) at which a machine is idle although the job waits; None for a greedy schedule."""
    started = schedule.started
    until = np.where(started, schedule.start, instance.horizon)
    waits = np.flatnonzero(until > instance.release)
    if len(waits) == 0:
        return None
    begin = schedule.start[started]
    end = begin + instance.processing[started]
    times = np.unique(np.concatenate([begin, end, instance.release[waits]]))
    change = np.bincount(np.searchsorted(times, begin), minlength=len(times))
    change = change - np.bincount(np.searchsorted(times, end), minlength=len(times))
    idle = np.cumsum(change) < instance.total_machines  # over [times[i], times[i + 1])
    before = np.concatenate([[0], np.cumsum(idle)])
    low, high = np.searchsorted(times, instance.release[waits]), np.searchsorted(times, until[waits])
    broken = before[high] > before[low]
    if not broken.any():
        return None
    place = int(np.argmax(broken))
    return int(times[low[place] + np.argmax(idle[low[place] :])]), int(waits[place])


def _refuse(broken: Booleans, message: Any) -> None:
    if broken.any():
        raise InfeasibleSolution(message(int(np.argmax(broken))))


def _at_least(field: str, values: Integers, least: int, what: str, cure: str = "") -> None:
    if (values < least).any():
        place = int(np.argmax(values < least))
        raise InvalidInstance(f"{field}[{place}]", values[place], f"{what}, at least {least}", cure)


def _whole(field: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer | float) or value != int(value):
        raise InvalidInstance(field, repr(value), "a whole number")
    return int(value)


def _valid_names(names: Any, organizations: int) -> tuple[str, ...]:
    if len(names) == 0:
        return tuple(str(index) for index in range(organizations))
    values = tuple(names)
    if len(values) != organizations:
        raise InvalidInstance("names", f"of length {len(values)}", f"{organizations} entries, one per organization")
    for place, value in enumerate(values):
        if not isinstance(value, str):
            raise InvalidInstance(f"names[{place}]", repr(value), "a string")
    if len(set(values)) < organizations:
        raise InvalidInstance("names", "repeated", "a name of its own for every organization")
    return values
