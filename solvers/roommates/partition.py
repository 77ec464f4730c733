"""Tan's stable partition, which always exists and certifies a lower bound on blocking pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...instances.problem.errors import InvalidOption
from ...instances.problem.fields import shaped
from ...instances.problem.option_types import validate_options
from .arrays import UNRANKED, Lists, Partition, Ranks
from .ranks import as_ranks, lists_of, mutual_ranks

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
    """See `StablePartition.bound`."""
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
    return partition_of(lists_of(rank))


def partition_of(lists: Lists) -> StablePartition:
    """The stable partition of lists already read."""
    from . import kernels

    agents = lists.agents
    found = Partition(*np.empty((2, agents), dtype=np.int32))
    scratch, counts = np.empty((7, agents), dtype=np.int32), np.zeros(4, dtype=np.int64)
    kernels.reduce_table(lists, False, found, scratch, counts)
    return partition_from(found.predecessor)


def partition_from(predecessor: Ranks) -> StablePartition:
    """Partition with the given predecessors."""
    successor = np.empty_like(predecessor)
    successor[predecessor] = np.arange(predecessor.size, dtype=np.int32)
    return StablePartition(successor)


@validate_options
def is_stable_partition(
    rank: ArrayLike,
    successor: ArrayLike,
    better: ArrayLike | None = None,
    unsettled: Sequence[int] = (),
) -> bool:
    """Check the definition of a stable partition, independently of the algorithm. O(n²), plain
    numpy.

    With ties: whether it is stable under every tie-breaking, the lists of the `unsettled` agents
    put aside. They have one list each: the successor right before the predecessor, and this as high
    up as it can be. As a new list for one agent changes the number of odd parties by two at most,
    that number less two for each of them holds under every tie-breaking at all.

    Parameters
    ----------
    rank : (n, n) integers, position of j in i's strict list, UNRANKED for whom i does not accept.
    successor : (n,), the agent after i in its party.
    better : (n, n), with ties: how many agents, the first by rank, i likes better than j for
        certain (see `WeakLists`).
    unsettled : agents whose lists are put aside.

    Examples
    --------
    >>> from cotenant.solvers.roommates import ranks_from_lists
    >>> rank = ranks_from_lists([[1, 2], [2, 0], [0, 1]])
    >>> is_stable_partition(rank, [1, 2, 0]), is_stable_partition(rank, [2, 0, 1])
    (True, False)
    """
    own = mutual_ranks(rank)
    agents = np.arange(len(own))
    following = np.asarray(successor)
    if following.shape != agents.shape or not np.array_equal(np.sort(following), agents):
        return False
    previous = np.argsort(following)
    together, party = following != agents, following != previous
    if (own[agents, following][together] >= UNRANKED).any():
        return False
    certain = own if better is None else shaped("better", as_ranks(better), *own.shape)
    is_unsettled = np.isin(agents, unsettled)

    def better_than(who: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whom each agent certainly prefers to this one, shape (n, n); all acceptable agents if it
        is the agent itself.
        """
        limit = np.where(who != agents, certain[agents, who], UNRANKED)
        return np.asarray(own < limit[:, None])

    def worse_than(who: NDArray[np.int64]) -> NDArray[np.bool_]:
        place = np.where(who != agents, own[agents, who], UNRANKED)
        return np.asarray(place[:, None] < certain)

    above, below = better_than(previous), worse_than(previous)
    in_order = np.where(is_unsettled, ~below[agents, following], above[agents, following])
    if not in_order[party].all():
        return False
    prefers = np.where(
        is_unsettled[:, None], above | better_than(following), (own < UNRANKED) & ~below
    )
    prefers[agents, previous] = False
    return not (prefers & prefers.T).any()
