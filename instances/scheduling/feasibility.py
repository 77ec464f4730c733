"""The checker of a schedule, whether it is greedy, and machines for given start times."""

from __future__ import annotations

import heapq
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from ..problem.errors import InfeasibleSolution
from .instance import Booleans, Integers, Schedule, Scheduling


def check(instance: Scheduling, schedule: Schedule) -> None:
    """Decide whether a schedule is feasible, and greedy if it says so. O(j log j).

    No job before its release or at the horizon or later, no two on one machine at once, first in
    first out inside an organization (paper, section 2), and, when it claims to be greedy, no idle
    machine while a released job waits.

    Raises
    ------
    InfeasibleSolution
        Naming the first rule that is broken, and the jobs.
    """
    if len(schedule.start) != instance.jobs:
        raise InfeasibleSolution(
            f"start has {len(schedule.start)} entries; the instance has {instance.jobs} jobs"
        )
    start, machine, started = schedule.start, schedule.machine, schedule.started
    _refuse((start < -1) | (started != (machine >= 0)) | (machine < -1), lambda j: (
        f"job {j} has start {start[j]} and machine {machine[j]}; both are at least 0, or both "
        "-1 for a job that is not started"
    ))  # fmt: skip
    _refuse(machine >= instance.total_machines, lambda j: (
        f"job {j} runs on machine {machine[j]}; there are {instance.total_machines}, numbered "
        "from 0"
    ))  # fmt: skip
    _refuse(started & (start < instance.release), lambda j: (
        f"job {j} starts at {start[j]}, before its release at {instance.release[j]}"
    ))  # fmt: skip
    _refuse(start >= instance.horizon, lambda j: (
        f"job {j} starts at {start[j]}; the horizon is {instance.horizon}, a job not started "
        "before it has start -1"
    ))  # fmt: skip
    _check_order(instance, schedule)
    _check_overlap(instance, schedule)
    if schedule.greedy and (place := _idle_while_waiting(instance, schedule)) is not None:
        time, job = place
        raise InfeasibleSolution(
            f"the schedule claims to be greedy, but at time {time} a machine is idle while "
            f"job {job} waits"
        )


def is_greedy(instance: Scheduling, schedule: Schedule) -> bool:
    """Whether no machine is ever idle while a released job waits (before the horizon)."""
    return _idle_while_waiting(instance, schedule) is None


def assign_machines(instance: Scheduling, start: npt.ArrayLike) -> Integers:
    """(j,) the lowest-numbered machine free at each start, -1 for jobs that are not started. O(j
    log m).

    Any start times with at most as many jobs running at once as there are machines can be so
    placed.

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
    broken = (instance.organization[earlier] == instance.organization[later]) & (
        start[later] < start[earlier]
    )
    if broken.any():
        first, second = (int(side[np.argmax(broken)]) for side in (earlier, later))
        raise InfeasibleSolution(
            f"job {second} of organization {instance.names[instance.organization[second]]!r} "
            f"starts before job {first}, "
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
            f"jobs {a} and {b} overlap on machine {schedule.machine[a]}: job {a} runs from "
            f"{schedule.start[a]} to "
            f"{schedule.start[a] + instance.processing[a]}, job {b} starts at {schedule.start[b]}"
        )


def _idle_while_waiting(instance: Scheduling, schedule: Schedule) -> tuple[int, int] | None:
    """The first (time, job) at which a machine is idle although the job waits; None for a greedy
    schedule.
    """
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
    low = np.searchsorted(times, instance.release[waits])
    high = np.searchsorted(times, until[waits])
    broken = before[high] > before[low]
    if not broken.any():
        return None
    place = int(np.argmax(broken))
    return int(times[low[place] + np.argmax(idle[low[place] :])]), int(waits[place])


def _refuse(broken: Booleans, message: Callable[[int], str]) -> None:
    if broken.any():
        raise InfeasibleSolution(message(int(np.argmax(broken))))
