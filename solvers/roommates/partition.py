"""Tan's stable partition, which always exists and certifies a lower bound on blocking pairs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from ...instances.problem.errors import InvalidOption
from ...instances.problem.option_types import validate_options
from .arrays import Partition, Ranks
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
        """Parties of odd size of at least three agents: the same in every stable partition (Tan
        1991).
        """
        return tuple(party for party in self.parties if len(party) % 2 == 1 and len(party) > 1)

    @property
    def singletons(self) -> tuple[int, ...]:
        """Parties of one agent, unmatched in every stable matching."""
        return tuple(party[0] for party in self.parties if len(party) == 1)

    @property
    def odd(self) -> int:
        """Number of odd parties of at least three agents: a stable matching exists iff it is 0 (Tan
        1991).
        """
        return len(self.odd_parties)

    @property
    def single(self) -> int:
        """Number of parties of one agent."""
        return len(self.singletons)

    def bound(self, goal: Goal = "perfect") -> int:
        """Lower bound on blocking pairs over perfect matchings, or over all matchings.

        Making one more pair unacceptable changes the number of odd parties by two at most (Tan and
        Hsueh 1995: one agent more changes it by one), and a matching is stable once its blocking
        pairs are unacceptable; so ceil(odd / 2) over any matching (cf. Abraham, Biró, Manlove 2005)
        and ceil((odd + single) / 2) over perfect ones.
        """
        return lower_bound(self.odd, self.single, goal)


def lower_bound(odd: int, single: int, goal: Goal) -> int:
    """Lower bound on blocking pairs that a stable partition proves; see `StablePartition.bound`."""
    if goal not in ("perfect", "any"):
        raise InvalidOption(f"goal is {goal!r}; expected 'perfect' or 'any'")
    return (odd + (single if goal == "perfect" else 0) + 1) // 2


@validate_options
def stable_partition(rank: ArrayLike) -> StablePartition:
    """Find a stable partition. O(n²).

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
    """Partition with the given predecessors."""
    successor = np.empty_like(predecessor)
    successor[predecessor] = np.arange(predecessor.size, dtype=np.int32)
    return StablePartition(successor)
