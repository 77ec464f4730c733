"""Perfect matchings of acceptable pairs regardless of blocking pairs: a first answer, or a proof
that there is none.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .arrays import UNRANKED, Lists, Ranks
from .partition import partition_from
from .ranks import lists_of


def matched_partition(rank: Ranks, predecessor: Ranks) -> Ranks:
    """Matching of consecutive agents along the parties of a stable partition.

    Of each odd party one agent stays without partner: the one that the fewest agents prefer to
    their predecessors, since those are the pairs it may block.
    """
    agents = np.arange(predecessor.size, dtype=np.int32)
    partner = np.where(predecessor == agents, -1, predecessor).astype(np.int32)
    parties = [party for party in partition_from(predecessor).parties if len(party) > 2]
    if parties:
        predecessor_rank = np.where(predecessor == agents, UNRANKED, rank[agents, predecessor])
        wanted = (rank < predecessor_rank[:, None]).sum(axis=0)
    for party in parties:
        left_over = min(party, key=lambda agent: int(wanted[agent]))
        place = party.index(left_over)
        line = party[place + 1 :] + party[:place] if len(party) % 2 else party
        partner[left_over] = -1
        for one, other in zip(line[0::2], line[1::2], strict=True):
            partner[one], partner[other] = other, one
    return partner


def largest_matching(rank: Ranks, start: NDArray[Any]) -> Ranks:
    """Extend a matching of acceptable pairs to one of most pairs, by augmenting paths (Edmonds
    1965).

    An agent that no path reaches stays without partner in some largest matching, so one try for
    each is enough. One path is O(n²) to O(n³) steps.

    Parameters
    ----------
    rank : (n, n), UNRANKED for pairs that may not be matched; the ranks themselves do not matter.
    start : (n,) partners, -1 for none.
    """
    from . import list_kernels

    lists = lists_of(rank)
    partner = start.astype(np.int32)
    scratch = np.empty((5, partner.size), dtype=np.int32)
    for agent in range(partner.size):
        if partner[agent] < 0:
            list_kernels.augment(lists.choice, lists.back, lists.length, partner, agent, scratch)
    return partner


def perfect_matching(lists: Lists, start: Ranks) -> Ranks | None:
    """Extend a matching of acceptable pairs to a perfect one by augmenting paths (Edmonds 1965);
    None if there is none.

    One path is O(n²) to O(n³) steps; there is one for every two agents that `start` leaves without
    partner.
    """
    from . import list_kernels

    partner = start.copy()
    if partner.size % 2 == 1:
        return None
    if lists.complete:
        rest = np.flatnonzero(partner < 0)
        partner[rest[::2]], partner[rest[1::2]] = rest[1::2], rest[::2]
        return partner
    scratch = np.empty((5, partner.size), dtype=np.int32)
    for agent in range(partner.size):
        # a path that does not exist now never will: the agent misses some largest matching
        if partner[agent] < 0 and not list_kernels.augment(
            lists.choice, lists.back, lists.length, partner, agent, scratch
        ):
            return None
    return partner
