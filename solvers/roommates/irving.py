"""Irving's algorithm for the stable roommates problem, on complete or incomplete strict lists."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...instances.problem.option_types import validate_options
from .arrays import Partition, Ranks
from .ranks import lists_of


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
