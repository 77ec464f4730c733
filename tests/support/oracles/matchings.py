"""All matchings of a few agents, as an oracle for algorithms."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np

from cotenant.solvers.roommates import UNRANKED


@cache
def every_matching(agents: int) -> np.ndarray:
    """All matchings of the complete graph, one row of partners each; -1 is no partner."""

    def extend(partner: list[int], free: list[int]) -> Iterator[list[int]]:
        if not free:
            yield partner
            return
        yield from extend(partner, free[1:])
        for other in free[1:]:
            together = list(partner)
            together[free[0]], together[other] = other, free[0]
            yield from extend(together, [agent for agent in free[1:] if agent != other])

    return np.array(list(extend([-1] * agents, list(range(agents)))), dtype=np.int32).reshape(
        -1, agents
    )


def counted_matchings(rank: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The feasible matchings of lists of ranks, and how many pairs block each."""
    agents = np.arange(len(rank))
    mutual = np.where((rank < UNRANKED) & (UNRANKED > rank.T), rank, UNRANKED)
    matchings = every_matching(len(rank))
    has = np.where(matchings >= 0, mutual[agents, matchings], UNRANKED)
    feasible = ~((matchings >= 0) & (has >= UNRANKED)).any(axis=1)
    prefers = mutual < has[feasible, :, None]
    return matchings[feasible], (prefers & prefers.transpose(0, 2, 1)).sum(axis=(1, 2)) // 2


def is_stable_partition(rank, successor, better=None, unsettled=()) -> bool:
    """Whether a permutation is a stable partition by Tan's definition.

    Each agent of a party of three or more prefers its successor to its predecessor, and no two
    acceptable agents both prefer each other to their predecessors. With ties (`better`, of
    `WeakLists`): whether it is stable under every tie-breaking, the lists of the `unsettled` agents
    put aside: these have one list each, the successor right before the predecessor, and this as
    high up as it can be.
    """
    rank, following = np.asarray(rank), np.asarray(successor)
    agents = np.arange(len(rank))
    mutual = (rank < UNRANKED) & (rank.T < UNRANKED) & (agents[:, None] != agents)
    own = np.where(mutual, rank, UNRANKED)
    if following.shape != agents.shape or not np.array_equal(np.sort(following), agents):
        return False
    previous = np.argsort(following)
    together, party = following != agents, following != previous
    if (own[agents, following][together] >= UNRANKED).any():
        return False
    certain = own if better is None else better
    is_unsettled = np.isin(agents, unsettled)

    def better_than(who):
        """Matrix of the agents that each agent prefers for certain to `who`, (n, n); all acceptable
        ones where it is alone.
        """
        limit = np.where(who != agents, certain[agents, who], UNRANKED)
        return own < limit[:, None]

    above = better_than(previous)
    below = np.where(previous != agents, own[agents, previous], UNRANKED)[:, None] < certain
    in_order = np.where(is_unsettled, ~below[agents, following], above[agents, following])
    prefers = np.where(
        is_unsettled[:, None], above | better_than(following), (own < UNRANKED) & ~below
    )
    prefers[agents, previous] = False
    return bool(in_order[party].all() and not (prefers & prefers.T).any())
