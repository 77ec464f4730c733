"""Batches of a queue: the oldest waiting jobs that a policy pairs on the free machines in one
epoch.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...instances.colocation.instance import Booleans, Colocation, Integers, Pairing, check
from ...instances.problem.errors import InvalidInstance, NoSolution
from ...instances.problem.options import accepted
from ..run.question import outcome_of

Policy = Callable[..., Any]
"""`policy(instance, *, rng) -> Pairing`, or an Outcome that holds one."""


def pair_oldest(
    instance: Colocation,
    policy: Policy,
    kinds: Sequence[int],
    free: int,
    rng: np.random.Generator,
) -> tuple[Colocation, Pairing] | None:
    """Let the policy pair as many of the oldest waiting jobs as fit on the free machines.

    They are given the fewest machines that hold them; all free ones when there is no answer on
    those. When there is none either, the youngest jobs are left out, as few as let one be found (by
    halving: fewer jobs are never harder to place).

    Parameters
    ----------
    kinds : the type of each waiting job, the oldest first.

    Returns
    -------
    The oldest jobs as an instance, with their pairing; None if nothing waits or is free.

    Raises
    ------
    NoSolution
        The policy fails even on a single job.
    """
    oldest = np.array(kinds[: 2 * free], dtype=np.int64)  # 1. The oldest jobs that could fit.
    jobs = len(oldest)
    if not jobs:
        return None
    finite = np.isfinite(instance.penalty)
    beside = finite & finite.T

    def kept(dropped: int) -> Integers:
        """Numbers (T,) of the oldest jobs by type without the `dropped` youngest of them."""
        return np.bincount(oldest[: jobs - dropped], minlength=instance.types)

    def need(count: Integers) -> int:
        """Lower bound on the number of machines that a batch of jobs needs."""
        return int(count.sum()) - most_pairs(count, beside)

    def may_fit(dropped: int) -> bool:
        """Return whether the batch without its `dropped` youngest jobs may fit, by a quick lower
        bound on its machines.
        """
        return need(kept(dropped)) <= free

    def without(dropped: int) -> tuple[Colocation, Pairing] | None:
        """Answer of the policy for the batch without its youngest jobs; None if there is none."""
        count = kept(dropped)
        for machines in dict.fromkeys((-(-(jobs - dropped) // 2), free)):
            problem = _problem(instance, count, machines) if need(count) <= machines else None
            pairing = None if problem is None else answer_of(policy, problem, rng)
            if problem is not None and pairing is not None:
                check(problem, pairing)
                return problem, pairing
        return None

    # 2. Fewest dropped jobs: by quick bounds first, which leave few answers to compute.
    too_few = bisect_left(range(jobs - 1), True, key=may_fit) - 1
    dropped, step = too_few + 1, 1
    found = without(dropped)
    while found is None and dropped < jobs - 1:
        too_few, dropped, step = dropped, min(dropped + step, jobs - 1), 2 * step
        found = without(dropped)
    if found is None:
        raise NoSolution(
            "the policy finds no pairing even for a single job on a processor of its own"
        )
    while dropped - too_few > 1:  # 3. Bisect.
        middle = (too_few + dropped) // 2
        better = without(middle)
        if better is None:
            too_few = middle
        else:
            dropped, found = middle, better
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
