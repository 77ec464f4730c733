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
