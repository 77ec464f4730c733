"""Batches of a queue: the oldest waiting jobs that a policy pairs on the free machines in one
epoch.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from ...instances.colocation.instance import Booleans, Colocation, Integers, Pairing, check
from ...instances.problem.errors import InvalidInstance, NoSolution
from ...instances.problem.options import accepted
from ..run.question import outcome_of

Policy = Callable[..., Any]
"""`policy(instance, *, rng) -> Pairing`, or an Outcome that holds one."""

Batch = list[tuple[int, Integers]]
"""(age, (T,) jobs), oldest first; an age is the epoch of arrival, or any number that grows."""


class Waiting:
    """Queue of waiting jobs: their number by type and age.

    Parameters
    ----------
    types : T, of the jobs.
    """

    def __init__(self, types: int) -> None:
        self._types = types
        self._queue: deque[tuple[int, Integers]] = deque()
        self.waiting = 0

    def add(self, age: int, jobs: Integers) -> None:
        """Add (T,) jobs as the youngest."""
        self._queue.append((age, jobs))
        self.waiting += int(jobs.sum())

    def put_back(self, batch: Batch) -> None:
        """Return a batch to the queue at the jobs' original ages."""
        for age, jobs in sorted(batch, key=lambda entry: entry[0], reverse=True):
            self.waiting += int(jobs.sum())
            older = []
            while self._queue and self._queue[0][0] < age:
                older.append(self._queue.popleft())
            if self._queue and self._queue[0][0] == age:
                jobs = jobs + self._queue.popleft()[1]
            self._queue.appendleft((age, jobs))
            self._queue.extendleft(reversed(older))

    def oldest(self, room: int, rng: np.random.Generator) -> Batch:
        """Remove the oldest jobs from the queue, with a random part of the last age that fits."""
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
    """Remove as many of the oldest jobs as fit on the free machines, and let the policy pair them.

    They are given the fewest machines that hold them; all free ones when there is no answer on
    those. When there is none either, the youngest jobs go back to the queue, as few as let one be
    found (by halving: fewer jobs are never harder to place).

    Returns
    -------
    The batch as an instance, its pairing and its jobs; None if nothing waits or is free.

    Raises
    ------
    NoSolution
        The policy fails even on a single job.
    """
    batch = queue.oldest(2 * free, rng)
    if not batch:
        return None
    jobs = sum(int(taken.sum()) for _, taken in batch)
    finite = np.isfinite(instance.penalty)
    beside = finite & finite.T

    def need(count: Integers) -> int:
        """Lower bound on the number of machines that a batch of jobs needs."""
        return int(count.sum()) - most_pairs(count, beside)

    def may_fit(number: int) -> bool:
        """Return whether no quick bound excludes the batch without its youngest jobs."""
        return need(_total(_split(batch, number)[0], instance.types)) <= free

    def without(number: int) -> tuple[Colocation, Pairing, Batch] | None:
        """Answer of the policy for the batch without its youngest jobs; None if there is none."""
        rest = _split(batch, number)[0]
        count = _total(rest, instance.types)
        for machines in dict.fromkeys((-(-(jobs - number) // 2), free)):
            problem = _problem(instance, count, machines) if need(count) <= machines else None
            pairing = None if problem is None else answer_of(policy, problem, rng)
            if problem is not None and pairing is not None:
                check(problem, pairing)
                return problem, pairing, rest
        return None

    # what is quick to see comes first: it leaves few answers to ask for
    too_few = bisect_left(range(jobs - 1), True, key=may_fit) - 1
    dropped, step = too_few + 1, 1
    found = without(dropped)
    while found is None and dropped < jobs - 1:
        too_few, dropped, step = dropped, min(dropped + step, jobs - 1), 2 * step
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


def most_pairs(count: Integers, beside: Booleans) -> int:
    """Upper bound on the number of pairs that jobs (T,) by type can form.

    Parameters
    ----------
    beside : (T, T) which types may share a machine.

    Notes
    -----
    The size of the largest fractional matching, by a flow through two copies of each type.
    """
    present = np.flatnonzero(count)
    allowed = beside[np.ix_(present, present)]
    if allowed.all():
        return int(count.sum()) // 2
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_flow

    number = len(present)
    size = count[present]
    room = np.zeros((2 * number + 2,) * 2, dtype=np.int32)
    room[-2, :number] = room[number:-2, -1] = size
    pairs = np.minimum(size[:, None], size[None, :])
    room[:number, number:-2] = np.where(allowed, pairs, 0)
    flow = maximum_flow(csr_array(room), 2 * number, 2 * number + 1).flow_value
    return int(flow) // 2


def _problem(instance: Colocation, count: Integers, machines: int) -> Colocation | None:
    """Instance of a batch; None if forbidden pairs leave a job without a place."""
    try:
        return instance.replace(count=count, machines=float(machines))
    except InvalidInstance:
        return None


def answer_of(policy: Policy, problem: Any, rng: np.random.Generator) -> Any:
    """Answer of a policy to a batch; None if there is none, or at its time limit."""
    try:
        answer = policy(problem, **accepted(policy, {"rng": rng}))
    except NoSolution:
        return None
    return outcome_of(answer, (Pairing,), getattr(policy, "__name__", "policy")).solution


def _split(batch: Batch, number: int) -> tuple[Batch, Batch]:
    """Split off the youngest jobs of a batch (of one age, the highest types)."""
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
