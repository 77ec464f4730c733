"""Tan's stable partition, which always exists and certifies a lower bound on blocking pairs; and
matchings of acceptable pairs regardless of blocking pairs: a first answer, or a proof that there is
none.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...instances.problem.option_types import validate_options
from .arrays import UNRANKED, Lists, Partition, Ranks
from .ranks import lists_of

Goal = Literal["perfect", "any"]


@dataclass(frozen=True)
class StablePartition:
    """Stable partition as a permutation of the agents; its cycles are the parties.

    Attributes
    ----------
    successor : (n,), the agent after i in its party; i itself when it is a party of one.
    """

    successor: Ranks

    @cached_property
    def parties(self) -> tuple[tuple[int, ...], ...]:
        """Cycles of the permutation, each from its lowest agent on, in order of that agent."""
        following = self.successor.tolist()
        seen = [False] * len(following)
        parties = []
        for start in range(len(following)):
            party = []
            agent = start
            while not seen[agent]:
                seen[agent] = True
                party.append(agent)
                agent = following[agent]
            if party:
                parties.append(tuple(party))
        return tuple(parties)

    @property
    def odd_parties(self) -> tuple[tuple[int, ...], ...]:
        """Parties of odd size of at least three agents: the same in every stable partition, none
        iff there is a stable matching (Tan 1991).
        """
        return tuple(party for party in self.parties if len(party) % 2 == 1 and len(party) > 1)

    @property
    def singletons(self) -> tuple[int, ...]:
        """Parties of one agent, unmatched in every stable matching."""
        return tuple(party[0] for party in self.parties if len(party) == 1)

    @validate_options
    def bound(self, goal: Goal = "perfect") -> int:
        """Lower bound on the blocking pairs of a perfect matching, or of any matching.

        Making one more pair unacceptable changes the number of odd parties by two at most (Tan and
        Hsueh 1995: one agent more changes it by one), and a matching is stable once its blocking
        pairs are unacceptable; so ceil(odd / 2) over any matching (cf. Abraham, Biró, Manlove 2005)
        and ceil((odd + single) / 2) over perfect ones.
        """
        single = len(self.singletons) if goal == "perfect" else 0
        return (len(self.odd_parties) + single + 1) // 2


@validate_options
def stable_partition(rank: ArrayLike) -> StablePartition:
    """Find a stable partition of agents with strict preference lists. O(n²).

    A permutation of the agents is stable when (1) each agent of a party of three or more prefers
    its successor to its predecessor, and (2) no two acceptable agents both prefer each other to
    their predecessors, where an agent that is its own predecessor prefers everyone it accepts.

    Parameters
    ----------
    rank : (n, n) integers, position of j in i's strict list, UNRANKED for whom i does not accept.

    Raises
    ------
    InvalidInstance : the matrix is not square, an entry is no position, or a list has a tie.

    References
    ----------
    J. J. M. Tan, A necessary and sufficient condition for the existence of a complete stable
    matching, J. Algorithms 12 (1991) 154-178.

    Examples
    --------
    >>> from cotenant.solvers.roommates import ranks_from_lists
    >>> stable_partition(ranks_from_lists([[1, 2, 3], [2, 0, 3], [0, 1, 3], [0, 1, 2]])).parties
    ((0, 1, 2), (3,))
    """
    from . import kernels

    lists = lists_of(rank)
    found = Partition(*np.empty((2, lists.agents), dtype=np.int32))
    scratch, counts = np.empty((7, lists.agents), dtype=np.int32), np.zeros(4, dtype=np.int64)
    kernels.reduce_table(lists, False, found, scratch, counts)
    return partition_from(found.predecessor)


def partition_from(predecessor: Ranks) -> StablePartition:
    """Stable partition in whose parties the agents have the given predecessors."""
    successor = np.empty_like(predecessor)
    successor[predecessor] = np.arange(predecessor.size, dtype=np.int32)
    return StablePartition(successor)


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


def largest_matching(lists: Lists, start: NDArray[Any], *, perfect: bool = False) -> Ranks:
    """Extend a matching of acceptable pairs to one with the maximum number of pairs, by augmenting
    paths (Edmonds 1965).

    An agent that no path reaches stays without partner in some largest matching, so one try for
    each is enough. One path is O(n²) to O(n³) steps.

    Parameters
    ----------
    lists : of the pairs that may be matched; the ranks themselves do not matter.
    start : (n,) partners, -1 for none.
    perfect : end at the first agent that no path reaches.
    """
    from . import list_kernels

    partner = start.astype(np.int32)
    if perfect and lists.complete and partner.size % 2 == 0:
        free = np.flatnonzero(partner < 0)
        partner[free[::2]], partner[free[1::2]] = free[1::2], free[::2]
    scratch = np.empty((5, partner.size), dtype=np.int32)
    for agent in np.flatnonzero(partner < 0).tolist():
        if partner[agent] < 0:
            matched = list_kernels.augment(
                lists.choice, lists.back, lists.length, partner, agent, scratch
            )
            if perfect and not matched:
                break
    return partner
