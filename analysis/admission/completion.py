"""The best completion time, by complete enumeration of small cases."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ...instances.admission import Admission, Assignment, check
from ...instances.problem.errors import InvalidOption, NoSolution
from ...instances.problem.option_types import validate_options
from .rounds import Rounds, timed

Goal = Literal["computation", "completion", "completion-together", "makespan"]

MOST_JOBS = 7
MOST_SHARINGS = 200_000
"""Ways to share one VM's cores among one set of jobs that are gone through at most."""

Choice = tuple[tuple[int, int, tuple[int, ...]], ...]
"""(job, VM, cores) of every job of a set."""
Point = tuple[float, float, Choice]
"""Sum of computation times, longest of them, and how they come about."""


@dataclass(frozen=True, eq=False)
class BestCompletion:
    """The best value of a goal, and rounds that reach it.

    Attributes
    ----------
    value : the least possible.
    rounds : what runs when.
    """

    value: float
    rounds: Rounds


@validate_options
def best_completion(instance: Admission, *, goal: Goal = "computation") -> BestCompletion:
    """The least completion time of any assignment, or of any sequence of rounds.

    Cores may be shared in any way inside a VM. For every set of jobs and every VM all sharings are
    gone through and those kept that no other beats both in the sum and in the longest of the
    computation times; sets are then put together over VMs, and rounds over sets.

    Parameters
    ----------
    instance : with `length`; at most `MOST_JOBS` jobs, and few cores.
    goal : "computation": sum of length / speed when everybody runs in one round (the claim of
        section III.B.4); "completion", "completion-together", "makespan": over all sequences of
        rounds, as in `Rounds.facts`.

    Raises
    ------
    InvalidOption
        The jobs have no lengths, the goal is not known, or the case is too large to enumerate.
    NoSolution
        There are fewer cores than a single round needs ("computation"), or none at all.
    """
    if instance.length is None:
        raise InvalidOption("the jobs have no lengths; give the instance a length for each job")
    if instance.jobs > MOST_JOBS:
        raise InvalidOption(
            f"there are {instance.jobs} jobs; complete enumeration takes at most {MOST_JOBS}"
        )
    _few_sharings(instance)
    fronts = _fronts(instance)
    everybody = (1 << instance.jobs) - 1
    if goal == "computation":
        if not fronts[everybody]:
            raise NoSolution(
                f"{instance.jobs} jobs do not fit on {int(instance.cores.sum())} cores in one round"
            )
        best = min(fronts[everybody])
        return _answer(instance, best[0], [best[2]])
    plan = _rounds(fronts, everybody, goal)
    if plan is None:
        raise NoSolution("there is no core on any VM: no job can ever run")
    return _answer(instance, plan[0], plan[1])


def _few_sharings(instance: Admission) -> None:
    for v, cores in enumerate(instance.cores.tolist()):
        ways = math.prod(math.comb(number + instance.jobs, instance.jobs) for number in cores)
        if ways > MOST_SHARINGS:
            raise InvalidOption(
                f"VM {v} has about {ways} ways to share its cores; complete enumeration takes "
                f"{MOST_SHARINGS}"
            )


def _fronts(instance: Admission) -> dict[int, list[Point]]:
    """For every set of jobs (as bits), the undominated ways to run all of them in one round."""
    sets = range(1 << instance.jobs)
    fronts: dict[int, list[Point]] = {jobs: [(0.0, 0.0, ())] if jobs == 0 else [] for jobs in sets}
    for v in range(instance.machines):
        alone = {jobs: _undominated(_sharings(instance, v, jobs)) for jobs in sets}
        joined: dict[int, list[Point]] = {}
        for jobs in sets:
            points = []
            for here in _subsets(jobs):
                for total, longest, choice in alone[here]:
                    points += [
                        (total + t, max(longest, m), choice + c) for t, m, c in fronts[jobs & ~here]
                    ]
            joined[jobs] = _undominated(points)
        fronts = joined
    return fronts


def _sharings(instance: Admission, v: int, jobs: int) -> list[Point]:
    """Every way to run a set of jobs together on VM v."""
    assert instance.length is not None
    members = [j for j in range(instance.jobs) if jobs >> j & 1]
    found: list[Point] = []

    def choose(
        place: int, free: tuple[int, ...], total: float, longest: float, choice: Choice
    ) -> None:
        if place == len(members):
            found.append((total, longest, choice))
            return
        j = members[place]
        for cores in _vectors(free, int(instance.threads[j])):
            if any(cores):
                speed = sum(s * n for s, n in zip(instance.speed[j].tolist(), cores, strict=True))
                time = float(instance.length[j]) / speed  # type: ignore[index]
                left = tuple(f - n for f, n in zip(free, cores, strict=True))
                choose(place + 1, left, total + time, max(longest, time), (*choice, (j, v, cores)))

    choose(0, tuple(instance.cores[v].tolist()), 0.0, 0.0, ())
    return found


def _vectors(free: tuple[int, ...], threads: int) -> Iterator[tuple[int, ...]]:
    """Every number of cores of each type, at most the free ones and at most `threads` in all."""
    if not free:
        yield ()
        return
    for number in range(min(free[0], threads) + 1):
        for rest in _vectors(free[1:], threads - number):
            yield (number, *rest)


def _undominated(points: list[Point]) -> list[Point]:
    """Those that no other beats in both sum and longest."""
    kept: list[Point] = []
    for point in sorted(points, key=lambda one: one[:2]):
        if not kept or point[1] < kept[-1][1]:
            kept.append(point)
    return kept


def _subsets(jobs: int) -> Iterator[int]:
    here = jobs
    while True:
        yield here
        if here == 0:
            return
        here = (here - 1) & jobs


def _rounds(
    fronts: dict[int, list[Point]], everybody: int, goal: str
) -> tuple[float, list[Choice]] | None:
    """The best sequence of rounds for all jobs; sets of jobs still waiting, smallest first."""
    best: dict[int, tuple[float, list[Choice]]] = {0: (0.0, [])}
    for waiting in range(1, everybody + 1):
        options = []
        for now in _subsets(waiting):
            later = best.get(waiting & ~now)
            if now == 0 or later is None:
                continue
            behind = (waiting & ~now).bit_count()
            for total, longest, choice in fronts[now]:
                weight = {"completion": total + longest * behind, "makespan": longest}
                cost = weight.get(goal, longest * (behind + now.bit_count()))
                options.append((cost + later[0], [choice, *later[1]]))
        if options:
            best[waiting] = min(options, key=lambda option: option[0])
    return best.get(everybody)


def _answer(instance: Admission, value: float, choices: list[Choice]) -> BestCompletion:
    assignments = []
    when = np.full(instance.jobs, -1)
    for number, choice in enumerate(choices):
        machine = np.full(instance.jobs, -1)
        cores = np.zeros((instance.jobs, instance.types), dtype=np.int64)
        for j, v, used in choice:
            machine[j], cores[j], when[j] = v, used, number
        assignments.append(Assignment(machine, cores))
        check(instance, assignments[-1])
    return BestCompletion(value, timed(instance, tuple(assignments), when))
