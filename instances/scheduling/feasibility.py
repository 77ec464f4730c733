"""Check of schedules, test of greediness, assignment of machines to given start times, and the
answer as a table.
"""

from __future__ import annotations

import heapq

import numpy as np
import numpy.typing as npt

from ..problem.answer_table import MAX_IN_SENTENCE, AnswerTable, join_first, labels
from ..problem.errors import InfeasibleSolution
from ..problem.fields import raise_first_broken, shaped
from ..problem.option_types import validate_options
from .instance import Integers, Schedule, Scheduling
from .utility import durations


@validate_options
def check(instance: Scheduling, schedule: Schedule) -> None:
    """Raise InfeasibleSolution, naming the first broken rule, unless a schedule is
    feasible, and greedy if it says so. O(j log j).

    No job before its release or at the horizon or later, each on as many machines as it takes, no
    two on one machine at once, first in first out inside an organization (paper, section 2), and,
    when it claims to be greedy, what `is_greedy` says.
    """
    if len(schedule.start) != instance.jobs:
        raise InfeasibleSolution(
            f"start has {len(schedule.start)} entries; the instance has {instance.jobs} jobs"
        )
    start, machine, started = schedule.start, schedule.machine, schedule.started
    raise_first_broken((start < -1) | (started != (machine >= 0)) | (machine < -1), lambda j: (
        f"job {j} has start {start[j]} and machine {machine[j]}; both are at least 0, or both "
        "-1 for a job that is not started"
    ))  # fmt: skip
    raise_first_broken(machine >= instance.total_machines, lambda j: (
        f"job {j} runs on machine {machine[j]}; there are {instance.total_machines}, numbered "
        "from 0"
    ))  # fmt: skip
    raise_first_broken(started & (start < instance.release), lambda j: (
        f"job {j} starts at {start[j]}, before its release at {instance.release[j]}"
    ))  # fmt: skip
    raise_first_broken(start >= instance.horizon, lambda j: (
        f"job {j} starts at {start[j]}; the horizon is {instance.horizon}, a job not started "
        "before it has start -1"
    ))  # fmt: skip
    machines = _machines(instance, schedule)
    _check_order(instance, schedule)
    _check_overlap(instance, schedule, *machines)
    if schedule.greedy and (broken := _not_greedy(instance, schedule)) is not None:
        raise InfeasibleSolution(f"the schedule claims to be greedy, but {broken}")


@validate_options
def is_greedy(instance: Scheduling, schedule: Schedule) -> bool:
    """Whether no machine idles before the horizon while a waiting job could use it.

    Sequential jobs: no machine is idle while a released job waits. Parallel ones: while jobs wait,
    the first of some organization does not fit into the idle machines; with backfilling that of
    every organization. Machines of different speeds: besides, when jobs start, none of the machines
    left idle is faster than one of those taken.
    """
    return _not_greedy(instance, schedule) is None


@validate_options
def schedule_of(
    instance: Scheduling,
    start: npt.ArrayLike,
    *,
    speed: npt.ArrayLike | None = None,
    greedy: bool = False,
) -> Schedule:
    """Build a schedule of given start times, each job on the lowest free machines. O(j log m).

    Any start times with at most as many machines taken at once as there are can be so placed.

    Parameters
    ----------
    speed : (j,) of the machine that each started job takes; needed when machines have speeds.

    Raises
    ------
    InfeasibleSolution
        More machines (of a speed) are taken at once than there are.
    """
    begin = shaped("start", start, instance.jobs).astype(np.int64, copy=False)
    machine = np.full(len(begin), -1, dtype=np.int64)
    speeds = np.zeros(len(begin), np.int64) if speed is None else np.asarray(speed, dtype=np.int64)
    pace = np.zeros(instance.total_machines, np.int64) if speed is None else instance.pace
    length = instance.processing if speed is None else -(-instance.processing // speeds)
    others: dict[int, list[int]] = {}  # by job: further machines
    started = np.flatnonzero(begin >= 0)
    for chosen in np.unique(speeds[started]).tolist():
        jobs = started[speeds[started] == chosen]
        free = np.flatnonzero(pace == chosen).tolist()
        total, running = len(free), list[tuple[int, int]]()  # heap of (end, machine)
        for job in jobs[np.lexsort((jobs, begin[jobs]))].tolist():
            now, need = int(begin[job]), int(instance.width[job])
            while running and running[0][0] <= now:
                heapq.heappush(free, heapq.heappop(running)[1])
            if len(free) < need:
                what = "machines are taken" if instance.processors is not None else "jobs run"
                raise InfeasibleSolution(f"more than {total} {what} at time {now}")
            taken = [heapq.heappop(free) for _ in range(need)]
            machine[job] = taken[0]
            if need > 1:
                others[job] = taken[1:]
            for number in taken:
                heapq.heappush(running, (now + int(length[job]), number))
    return Schedule(
        begin,
        machine,
        greedy,
        np.array([number for job in sorted(others) for number in others[job]], dtype=np.int64),
    )


@validate_options
def assign_machines(instance: Scheduling, start: npt.ArrayLike) -> Integers:
    """Lowest machine (j,) free at each start, -1 for jobs not started; see `schedule_of`."""
    return schedule_of(instance, start).machine


def _machines(instance: Scheduling, schedule: Schedule) -> tuple[Integers, Integers]:
    """Pairs of a job and a machine that it takes; refused unless each job has its number of
    machines.
    """
    jobs = np.flatnonzero(schedule.started)
    more = np.repeat(jobs, instance.width[jobs] - 1)
    others = np.asarray(schedule.others, dtype=np.int64)
    if len(others) != len(more):
        raise InfeasibleSolution(
            f"others has {len(others)} machines; the started jobs take {len(more)} beside their "
            "first ones"
        )
    raise_first_broken((others < 0) | (others >= instance.total_machines), lambda place: (
        f"job {more[place]} runs on machine {others[place]}; there are {instance.total_machines}, "
        "numbered from 0"
    ))  # fmt: skip
    return np.concatenate([jobs, more]), np.concatenate([schedule.machine[jobs], others])


def _check_order(instance: Scheduling, schedule: Schedule) -> None:
    earlier, later = instance.order[:-1], instance.order[1:]
    never = np.iinfo(np.int64).max
    start = np.where(schedule.started, schedule.start, never)
    broken = (instance.organization[earlier] == instance.organization[later]) & (
        start[later] < start[earlier]
    )
    owner = instance.organization[later]
    raise_first_broken(broken, lambda place: (
        f"job {later[place]} of organization {instance.names[owner[place]]!r} starts before job "
        f"{earlier[place]}, which comes first in its organization's order"
    ))  # fmt: skip


def _check_overlap(
    instance: Scheduling, schedule: Schedule, jobs: Integers, machine: Integers
) -> None:
    length = durations(instance, schedule.machine)
    order = np.lexsort((schedule.start[jobs], machine))
    jobs, machine = jobs[order], machine[order]
    first, second = jobs[:-1], jobs[1:]
    overlap = (machine[:-1] == machine[1:]) & (
        schedule.start[second] < schedule.start[first] + length[first]
    )

    def words(place: int) -> str:
        a, b = int(first[place]), int(second[place])
        if a == b:
            return f"job {a} takes machine {machine[place]} twice"
        return (
            f"jobs {a} and {b} overlap on machine {machine[place]}: job {a} runs from "
            f"{schedule.start[a]} to {schedule.start[a] + length[a]}, job {b} starts at "
            f"{schedule.start[b]}"
        )

    raise_first_broken(overlap, words)


def _not_greedy(instance: Scheduling, schedule: Schedule) -> str | None:
    """Message on when and why a schedule is not greedy; None for a greedy one."""
    if instance.processors is not None:
        return _fits_and_waits(instance, schedule)
    if (place := _idle_while_waiting(instance, schedule)) is not None:
        return f"at time {place[0]} a machine is idle while job {place[1]} waits"
    return None if instance.speed is None else _faster_idle(instance, schedule)


def _idle_while_waiting(instance: Scheduling, schedule: Schedule) -> tuple[int, int] | None:
    """The first (time, job) at which a machine idles while the job waits; None if greedy."""
    started = schedule.started
    until = np.where(started, schedule.start, instance.horizon)
    waits = np.flatnonzero(until > instance.release)
    if len(waits) == 0:
        return None
    begin = schedule.start[started]
    end = begin + durations(instance, schedule.machine)[started]
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


def _fits_and_waits(instance: Scheduling, schedule: Schedule) -> str | None:
    """Message on the first time at which parallel jobs wait although they should begin.

    With backfilling they should once the first job of any organization fits, without it once those
    of all organizations fit. None if never. O(events x organizations) at worst.
    """
    begin = np.where(schedule.started, schedule.start, instance.horizon)
    ends = (schedule.start + instance.processing)[schedule.started]
    times = np.unique(np.concatenate([begin, ends, instance.release]))
    taken = np.zeros(len(times), dtype=np.int64)
    np.add.at(taken, np.searchsorted(times, schedule.start[schedule.started]),
              instance.width[schedule.started])  # fmt: skip
    np.add.at(taken, np.searchsorted(times, ends), -instance.width[schedule.started])
    idle = instance.total_machines - np.cumsum(taken)
    # the first waiting job of each organization: its jobs start in order
    queues = [
        instance.order[instance.organization[instance.order] == organization].tolist()
        for organization in range(instance.organizations)
    ]
    heads, release = [0] * len(queues), instance.release
    for event, now in enumerate(times[times < instance.horizon].tolist()):
        first: list[int] = []
        for organization, queue in enumerate(queues):
            while heads[organization] < len(queue) and begin[queue[heads[organization]]] <= now:
                heads[organization] += 1
            if heads[organization] < len(queue) and release[queue[heads[organization]]] <= now:
                first.append(queue[heads[organization]])
        fitting = [job for job in first if instance.width[job] <= idle[event]]
        if fitting and (instance.backfilling or len(fitting) == len(first)):
            return (
                f"at time {now} {idle[event]} machines are idle while job {fitting[0]} waits, "
                f"which takes {instance.width[fitting[0]]}"
            )
    return None


def _faster_idle(instance: Scheduling, schedule: Schedule) -> str | None:
    """First time at which a job takes a slower machine than one that stays idle."""
    jobs = np.flatnonzero(schedule.started)
    if len(jobs) == 0:
        return None
    length = durations(instance, schedule.machine)
    taken = np.zeros(instance.total_machines, dtype=np.int64)  # until when
    jobs = jobs[np.argsort(schedule.start[jobs], kind="stable")]
    moments, first = np.unique(schedule.start[jobs], return_index=True)
    for now, begin in zip(moments.tolist(), np.split(jobs, first[1:]), strict=True):
        machine = schedule.machine[begin]
        taken[machine] = now + length[begin]
        idle = np.flatnonzero(taken <= now)
        slowest = machine[np.argmin(instance.pace[machine])]
        fastest = idle[np.argmax(instance.pace[idle])] if len(idle) else slowest
        if instance.pace[fastest] > instance.pace[slowest]:
            return (
                f"at time {now} a job takes machine {slowest} of speed {instance.pace[slowest]} "
                f"and machine {fastest} of speed {instance.pace[fastest]} stays idle"
            )
    return None


def answer_table(instance: Scheduling, schedule: Schedule, most: int | None = None) -> AnswerTable:
    """Start time and machine of each job in order of time; jobs that do not start come last."""
    length = durations(instance, schedule.machine)
    more = np.where(schedule.started, instance.width - 1, 0)
    first = np.concatenate([[0], np.cumsum(more)])
    names = labels("organization", instance.names, instance.organizations)
    order = np.lexsort((schedule.machine, schedule.start, ~schedule.started))
    rows: list[tuple[object, ...]] = []
    for job in order[: instance.jobs if most is None else max(most, MAX_IN_SENTENCE)].tolist():
        start, machine = int(schedule.start[job]), int(schedule.machine[job])
        begun = start >= 0
        rows.append(
            (
                job,
                names[int(instance.organization[job])],
                machine if begun else None,
                int(instance.release[job]),
                start if begun else None,
                start + int(length[job]) if begun else None,
            )
        )
        if instance.processors is not None:
            others = schedule.others[first[job] : first[job + 1]]
            rows[-1] += (" ".join(map(str, [machine, *others])) if begun else None,)
    parts = [
        f"job {job} of {name} "
        f"{'never' if start is None else f'at {start} on machine{_taken(machine, *all_of)}'}"
        for job, name, machine, _, start, _, *all_of in rows[:MAX_IN_SENTENCE]
    ]
    sentence = (
        f"start {join_first(parts, instance.jobs, 'jobs')}: {int(schedule.started.sum())} of "
        f"{instance.jobs} start before {instance.horizon}"
    )
    columns: tuple[str, ...] = ("job", "organization", "machine", "release", "start", "end")
    if instance.processors is not None:
        columns += ("machines",)
    return AnswerTable(sentence, columns, tuple(rows[:most]), instance.jobs)


def _taken(machine: object, all_of: object = "") -> str:
    """Machines of a job as the text that follows "machine", such as " 3" or "s 3 4"."""
    return f"s {all_of}" if " " in str(all_of) else f" {machine}"
