"""Pairing of an epoch's jobs on machines, and their predicted penalties."""

from __future__ import annotations

import numpy as np

from ...analysis.colocation.batches import Policy, pair_oldest
from ...instances.colocation.instance import Colocation, Pairing
from .action_recommender import ActionRecommender, Types
from .waiting_jobs import WaitingQueue


def place(
    instance: Colocation,
    policy: Policy,
    jobs: WaitingQueue,
    free: int,
    rng: np.random.Generator,
    alpha: float,
) -> tuple[list[tuple[int, ...]], ActionRecommender] | None:
    """Take the oldest jobs off the queue, and have the policy pair them on the free machines: the
    jobs on each machine, and the advice to their agents; None when nothing waits.

    Parameters
    ----------
    alpha : the least gain for which an agent moves.
    """
    placed = pair_oldest(instance, policy, jobs.queue, free, rng)
    if placed is None:
        return None
    problem, pairing, batch = placed
    return jobs.take(batch, groups_of(pairing)), ActionRecommender(problem, pairing, alpha)


def losses(instance: Colocation, types: Types) -> list[tuple[float, float, float]]:
    """Predicted penalty of each job of a group with the ends of its interval (equal to the penalty
    if there is none); 0 for a job alone.
    """
    if len(types) == 1:
        return [(0.0, 0.0, 0.0)]
    ends = (instance.penalty, instance.low, instance.high)
    middle, low, high = (instance.penalty if end is None else end for end in ends)
    return [
        (min(1.0, float(middle[pair])), min(1.0, float(low[pair])), min(1.0, float(high[pair])))
        for pair in (types, types[::-1])
    ]


def groups_of(pairing: Pairing) -> list[Types]:
    """Types of jobs on each machine of a pairing, pairs first."""
    pairs = zip(pairing.first.tolist(), pairing.second.tolist(), strict=True)
    groups = [
        types
        for types, times in zip(pairs, pairing.pairs.tolist(), strict=True)
        for _ in range(times)
    ]
    single = enumerate(pairing.single.tolist())
    return [*groups, *((kind,) for kind, times in single for _ in range(times))]
