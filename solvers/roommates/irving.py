"""Irving's algorithm for the stable roommates problem, on complete or incomplete strict lists, of
agents or of types of equal agents.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...instances.problem.errors import InvalidOption
from ...instances.problem.option_types import validate_options
from .arrays import UNRANKED, Partition, Ranks
from .ranks import lists_of

MOST_BYTES = 10**9
"""Maximum size of the lists of types."""


@dataclass(frozen=True)
class RoommatesTable:
    """Result of Irving's algorithm: the reduced table.

    Attributes
    ----------
    stable : a stable matching exists, and `partner` is one.
    partner : (n,), -1 = without partner. When not stable: only pairs that are each other's one
        remaining entry.
    unsettled : the agents without partner in `partner`, ascending. When stable, these are single in
        every stable matching. When not, they are the agents whose list, just before the rotation
        that would empty a list, is not a single entry: those rejected by everyone, those of the odd
        party, and those who still have two or more entries.
    proposals, rotations : proposals made in the first phase, rotations eliminated in the second.
    """

    stable: bool
    partner: Ranks
    unsettled: NDArray[np.int64]
    proposals: int
    rotations: int


@validate_options
def irving(rank: ArrayLike) -> RoommatesTable:
    """Find a stable matching, or prove that there is none and keep the matched part. O(n²).

    Proposals first, each agent down its list; then rotations are eliminated, until every list is
    one entry, or the next elimination would empty a list: then no stable matching exists. Agents
    rejected by everyone stay single, which on incomplete lists (or with an odd number) is no
    failure.

    Which rotation is next decides what is unsettled when there is no stable matching, so it is
    fixed. A path of agents leads from each to the last in the list of the second in its list. Once
    it comes back to one of its agents, those from there on are a rotation; when that has been
    eliminated, the path goes on from the agent before it, or the last one before that has two
    entries left. Only an empty path begins again, at the lowest-numbered agent with two entries or
    more.

    Parameters
    ----------
    rank : (n, n) integers, position of j in i's strict list, UNRANKED for whom i does not accept.

    Raises
    ------
    InvalidInstance : the matrix is not square, an entry is no position, or a list has a tie.

    References
    ----------
    R. W. Irving, An efficient algorithm for the stable roommates problem, J. Algorithms 6 (1985)
    577-595; incomplete lists cf. D. Gusfield, R. W. Irving, The Stable Marriage Problem: Structure
    and Algorithms (1989), chapter 4.

    Examples
    --------
    >>> from cotenant.solvers.roommates import ranks_from_lists
    >>> irving(ranks_from_lists([[1, 2, 3], [2, 0, 3], [0, 1, 3], [0, 1, 2]])).stable
    False
    >>> irving(ranks_from_lists([[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2]])).partner.tolist()
    [1, 0, 3, 2]
    """
    from . import kernels

    lists = lists_of(rank)
    agents = lists.agents
    partner = np.empty(agents, dtype=np.int32)
    predecessor_rank = np.empty(agents, dtype=np.int32)
    counts = np.zeros(4, dtype=np.int64)
    found = Partition(partner, predecessor_rank)
    kernels.reduce_table(lists, True, found, np.empty((7, agents), dtype=np.int32), counts)
    partner[partner == np.arange(agents)] = -1
    return RoommatesTable(
        stable=bool(counts[0] == 0),
        partner=partner,
        unsettled=np.flatnonzero(partner < 0),
        proposals=int(counts[2]),
        rotations=int(counts[3]),
    )


def irving_by_types(
    count: NDArray[np.int64], cost: Callable[[int], NDArray[np.float64]]
) -> RoommatesTable:
    """Irving's algorithm on the lists of agents of types, as `irving` on the list of each agent.

    Agents are numbered type by type, and each skips itself in its type's list. Ties go to the
    lowest type and, within a type, to the lowest agent. O(n²) at worst; memory O(n + T n).

    Parameters
    ----------
    count : (T,) agents of each type.
    cost : from a type to (T,), what its agents bear beside each type; inf, on both sides, where the
        pair is not acceptable. It is called for each type once, in order.

    Raises
    ------
    InvalidOption
        The lists would take more than `MOST_BYTES`.
    """
    from . import list_kernels

    # 1. (T, n) who stands where in a type's list, -1 behind the end, and (T, T) where the agents of
    # another type begin in it, one after the other
    types, agents = len(count), int(count.sum())
    if 4 * types * (agents + types) > MOST_BYTES:
        raise InvalidOption(
            f"{types} lists over {agents} agents need "
            f"{4 * types * (agents + types) / 1e9:.3g} GB; expected at most "
            f"{MOST_BYTES / 1e9:g}. Group agents into fewer types, or use SMR, SMP or GR, "
            "which need far less"
        )
    start = np.cumsum(count) - count
    order = np.full((types, agents), -1, dtype=np.int32)
    place = np.full((types, types), UNRANKED, dtype=np.int32)
    for a in range(types):
        row = cost(a)
        ranked = np.argsort(row)
        if (
            row[ranked[1:]] == row[ranked[:-1]]
        ).any():  # the quick sort does not keep the order of equals, and few rows have any
            ranked = np.argsort(row, kind="stable")
        ranked = ranked[(row[ranked] < np.inf) & (count[ranked] > 0)]
        number = count[ranked]
        ends = np.cumsum(number)
        place[a, ranked] = ends - number
        if len(ranked):
            order[a, : ends[-1]] = np.repeat(start[ranked] - (ends - number), number) + np.arange(
                ends[-1]
            )
    # 2. the reduction
    kind = np.repeat(np.arange(types), count).astype(np.int32)
    number = (np.arange(agents) - start[kind]).astype(np.int32)
    own = np.minimum(np.diag(place)[kind] + number, UNRANKED).astype(np.int32)
    length = (order >= 0).sum(axis=1) - (np.diag(place) < UNRANKED)
    partner, counts = np.empty(agents, dtype=np.int32), np.zeros(4, dtype=np.int64)
    list_kernels.reduce_types(
        order, place, number, own, kind, count.astype(np.int32), length.astype(np.int32), partner,
        np.empty((8, max(agents, types)), dtype=np.int32), counts,
    )  # fmt: skip
    return RoommatesTable(
        bool(counts[0] == 0), partner, np.flatnonzero(partner < 0), int(counts[2]), int(counts[3])
    )
