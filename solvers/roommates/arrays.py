"""Arrays of the stable roommates problem: lists, partitions, and work arrays."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[Any]

Ranks = NDArray[np.int32]

UNRANKED = 2**30
"""The rank of whom an agent cannot be matched with: larger than any position in a list."""

FOUND, EXHAUSTED, PAUSED = 1, 2, 3
"""How a step of `kernels.search` ends."""


class Lists(NamedTuple):
    """Mutual part of the preference lists: `choice[i, r]` is at position r of i's list, `back[i,
    r]` is i's rank there.

    A position that holds nobody (any more) has `back` UNRANKED; such holes keep every rank what it
    was in the input.
    """

    choice: Ranks
    back: Ranks
    length: Ranks

    @property
    def agents(self) -> int:
        """Number of agents."""
        return int(self.length.size)

    @property
    def complete(self) -> bool:
        """Whether every two agents accept each other."""
        return int(np.count_nonzero(self.back < UNRANKED)) == self.agents * (self.agents - 1)


class Partition(NamedTuple):
    """Stable partition: predecessors (n,), i itself if single and -1 while i is removed; and their
    positions in i's list, UNRANKED if single and -1 while removed.
    """

    predecessor: Ints
    rank: Ints


class Work(NamedTuple):
    """Work arrays and counters of the compiled functions on lists of agents.

    memory : (n + 1,) the last proposal of each agent, and a counter. turn : (2, n). scratch : (9,
    n). counts : odd parties, singles, work done, reductions from scratch. table_counts : of
    `reduce_table`.
    """

    memory: Ints
    turn: Ints
    scratch: Ints
    counts: Ints
    table_counts: Ints


class Stack(NamedTuple):
    """State of a depth-first search over deletions, by depth.

    kept : (n, longest list) 1 for pairs that may not be deleted in this subtree. order : (n,) in
    which agents are looked at. predecessors, ranks : partitions, the last row for trials. parties :
    odd ones and singles. candidates : an agent for each pair that may be deleted with its
    predecessor. cursor : viable candidates, all candidates, next one. deleted : agent, its
    position, the position in the other's list. state : depth, phase, least depth, eager.
    """

    kept: Ints
    order: Ints
    predecessors: Ints
    ranks: Ints
    parties: Ints
    candidates: Ints
    cursor: Ints
    deleted: Ints
    state: Ints
