"""Jobs that wait, oldest first, and the batch of them that a policy pairs on the machines that are
free: what an epoch of the simulation decides, and one of a real cluster.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from ...instances.colocation.instance import Colocation, Integers, Pairing, check
from ...instances.problem.errors import InvalidInstance, NoSolution
from ...solvers.outcome import Outcome

Policy = Callable[..., Any]
"""`policy(instance, *, rng) -> Pairing`, or an Outcome that holds one."""

Batch = list[tuple[int, Integers]]
"""(age, (T,) jobs), oldest first; an age is the epoch of arrival, or any number that grows."""


class Waiting:
    """The queue: how many jobs of each type wait, by age.

    Parameters
    ----------
    types : T, of the jobs.
    """

    def __init__(self, types: int) -> None:
        self._types = types
        self._queue: deque[tuple[int, Integers]] = deque()
        self.waiting = 0

    def add(self, age: int, jobs: Integers) -> None:
        """Let (T,) jobs wait that are the youngest."""
        self._queue.append((age, jobs))
        self.waiting += int(jobs.sum())

    def put_back(self, batch: Batch) -> None:
        """Let jobs wait again, each at its age."""
        for age, jobs in sorted(batch, key=lambda entry: entry[0], reverse=True):
            self.waiting += int(jobs.sum())
            older = []
            while self._queue and self._queue[0][0] < age:
                older.append(self._queue.popleft())
            if self._queue and self._queue[0][0] == age:
                jobs = jobs + self._queue.popleft()[1]
            self._queue.appendleft((age, jobs))
            self._queue.extendleft(reversed(older))

    def by_type(self) -> Integers:
        """(T,) waiting jobs."""
        return _total(list(self._queue), self._types)

    def oldest(self, room: int, rng: np.random.Generator) -> Batch:
        """Take the oldest jobs off the queue, a random part of the last age's that fits."""
        batch = []
        while self._queue and room > 0:
            age, jobs = self._queue.popleft()
            taken = jobs
            if jobs.sum() > room:
                taken = rng.multivariate_hypergeometric(jobs, room, method="marginals")
                self._queue.appendleft((age, jobs - taken))
            batch.append((age, taken))
            room -= int(taken.sum())
        self.waiting -= sum(int(taken.sum()) for _, taken in batch)
        return batch


def pair_oldest(
    instance: Colocation, policy: Policy, queue: Waiting, free: int, rng: np.random.Generator
) -> tuple[Colocation, Pairing, Batch] | None:
    """Take as many of the oldest jobs as the free machines hold, and have the policy pair them.

    It is given the fewest machines that hold them; all free ones when it finds no pairing on those.
    When there is none either, the youngest jobs go back to the queue, as few as let it find one
    (found by halving: fewer jobs are never harder to place).

    Returns
    -------
    The batch as an instance, its pairing and its jobs; None when nothing waits or no machine is
    free.

    Raises
    ------
    NoSolution
        The policy fails even on a single job.
    """
    batch = queue.oldest(2 * free, rng)
    if not batch:
        return None
    jobs = sum(int(taken.sum()) for _, taken in batch)

    def without(number: int) -> tuple[Colocation, Pairing, Batch] | None:
        """The answer without so many of the youngest jobs."""
        rest = _split(batch, number)[0]
        count = _total(rest, instance.types)
        for machines in dict.fromkeys(((jobs - number + 1) // 2, free)):
            problem = _problem(instance, count, machines)
            pairing = None if problem is None else _answer(policy, problem, rng)
            if problem is not None and pairing is not None:
                check(problem, pairing)
                return problem, pairing, rest
        return None

    too_few, dropped, found = -1, 0, without(0)
    while found is None and dropped < jobs - 1:
        too_few, dropped = dropped, min(max(1, 2 * dropped), jobs - 1)
        found = without(dropped)
    if found is None:
        queue.put_back(batch)
        raise NoSolution(
            "the policy finds no pairing even for a single job on a processor of its own"
        )
    while dropped - too_few > 1:
        middle = (too_few + dropped) // 2
        better = without(middle)
        if better is None:
            too_few = middle
        else:
            dropped, found = middle, better
    queue.put_back(_split(batch, dropped)[1])
    return found


def _problem(instance: Colocation, count: Integers, machines: int) -> Colocation | None:
    """The batch as an instance; None when the forbidden pairs leave a job without any place."""
    try:
        return instance.replace(count=count, machines=float(machines))
    except InvalidInstance:
        return None


def _answer(policy: Policy, problem: Colocation, rng: np.random.Generator) -> Pairing | None:
    try:
        answer = policy(problem, rng=rng)
    except NoSolution:
        return None
    return cast("Pairing | None", answer.solution if isinstance(answer, Outcome) else answer)


def _split(batch: Batch, number: int) -> tuple[Batch, Batch]:
    """A batch without so many of its youngest jobs, of those of one age the highest types, and
    these.
    """
    rest, youngest = list(batch), []
    while number:
        age, taken = rest.pop()
        back = np.zeros_like(taken)
        for kind in np.flatnonzero(taken)[::-1]:
            back[kind] = min(number, taken[kind])
            number -= int(back[kind])
        youngest.append((age, back))
        if (taken - back).sum():
            rest.append((age, taken - back))
    return rest, youngest


def _total(batch: Batch, types: int) -> Integers:
    if not batch:
        return np.zeros(types, dtype=np.int64)
    return cast("Integers", np.sum([jobs for _, jobs in batch], axis=0, dtype=np.int64))
