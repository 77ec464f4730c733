"""Sets of deleted pairs that leave few odd parties: the search behind the fewest blocking pairs,
one step at a time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .maximum_matching import matched_partition
from .partition import Goal
from .ranks import Lists, Ranks

Pair = tuple[int, int]


class DeletionSearch:
    """Lists with some pairs deleted, and a depth-first search for a few more that can be paused.

    Why deletions: blocking pairs are never matched pairs, so a matching M is stable once its
    blocking pairs B are mutually unacceptable, and a matching stable after deleting B has its
    blocking pairs inside B. The fewest blocking pairs over perfect matchings is therefore the least
    |B| whose deletion leaves no odd party and no single agent; over any matching, the least |B|
    that leaves no odd party of three or more.

    Why it is fast: deleting pairs that no party of a stable partition contains leaves the partition
    stable. So every B that helps contains a pair of *any one* stable partition, about n/2 of them;
    and one deletion lowers the count by two at most, so only what exceeds the bound branches.
    """

    def __init__(self, lists: Lists, rank: Ranks, goal: Goal) -> None:
        from . import kernels

        agents = lists.agents
        self._kernels = kernels
        self._rank = rank
        self._choice, self._back, self._length = lists.choice, lists.back.copy(), lists.length
        self._kept = np.zeros(lists.choice.shape, dtype=np.int8)
        self._weight = 1 if goal == "perfect" else 0
        self._memory = np.zeros(agents + 1, dtype=np.int64)
        self._turn = np.empty((2, agents), dtype=np.int32)
        self._scratch = np.empty((9, agents), dtype=np.int32)
        self._counts = np.zeros(4, dtype=np.int64)
        self._table_counts = np.zeros(4, dtype=np.int64)
        self._state = np.zeros(5, dtype=np.int64)
        self._natural: NDArray[np.int64] = np.arange(agents)
        self._order = self._natural
        self._make_room(0)
        self.nodes = 0
        self.work = 0
        self.reduce()

    def _make_room(self, limit: int) -> None:
        """Arrays for a search of this depth; row 0, the partition of the lists as they stand, is
        kept.
        """
        agents = self._length.size
        before: Any = (
            getattr(self, "_predecessors", None),
            getattr(self, "_predecessor_ranks", None),
            getattr(self, "_parties", None),
        )
        self._room = limit
        self._predecessors = np.empty((limit + 2, agents), dtype=np.int32)
        self._predecessor_ranks = np.empty((limit + 2, agents), dtype=np.int32)
        self._parties = np.zeros((limit + 1, 2), dtype=np.int64)
        self._candidates = np.empty((limit + 1, agents), dtype=np.int32)
        self._cursor = np.zeros((limit + 1, 3), dtype=np.int64)
        self._deleted = np.zeros((limit + 1, 3), dtype=np.int64)
        if before[0] is not None:
            self._predecessors[0], self._predecessor_ranks[0], self._parties[0] = (
                before[0][0],
                before[1][0],
                before[2][0],
            )

    @property
    def value(self) -> int:
        """Odd parties (and singles, when the goal is a perfect matching) of the lists as they
        stand.
        """
        return int(self._parties[0, 0] + self._weight * self._parties[0, 1])

    def lower_values(self) -> tuple[int, ...]:
        """What one deletion may lower `value` to, the best first. With singles counted it keeps its
        parity.
        """
        lower = (self.value - 2,) if self._weight else (self.value - 2, self.value - 1)
        return tuple(value for value in lower if value >= 0)

    @property
    def predecessor(self) -> Ranks:
        """The stable partition of the lists as they stand."""
        found: Ranks = self._predecessors[0]
        return found

    @property
    def partner(self) -> Ranks:
        """The partition as a matching; singles, and one agent of each odd party, get -1."""
        return matched_partition(self._rank, self._predecessors[0])

    def reduce(self) -> None:
        """Compute the stable partition of the lists as they stand, afresh."""
        self._kernels.reduce_table(
            self._choice,
            self._back,
            self._length,
            False,
            self._predecessors[0],
            self._predecessor_ranks[0],
            self._scratch,
            self._table_counts,
        )
        self._parties[0] = self._table_counts[:2]

    def delete(self, pairs: list[Pair]) -> None:
        """Make pairs unacceptable; call `reduce` afterwards."""
        for i, j in pairs:
            self._back[i, self._rank[i, j]] = self._back[j, self._rank[j, i]] = (
                self._kernels.UNRANKED
            )

    def restore(self, pairs: list[Pair]) -> None:
        """Make deleted pairs acceptable again; call `reduce` afterwards."""
        for i, j in pairs:
            self._back[i, self._rank[i, j]] = self._rank[j, i]
            self._back[j, self._rank[j, i]] = self._rank[i, j]

    @property
    def choice(self) -> Ranks:
        """Who stands at each position of each list."""
        return self._choice

    @property
    def back(self) -> Ranks:
        """The position of an agent in the list of whom it has at each position; UNRANKED where the
        pair is deleted.
        """
        return self._back

    @property
    def partition(self) -> tuple[Ranks, Ranks, NDArray[np.int64]]:
        """Predecessors, their positions and the counts of parties, to be set again when the lists
        are what they were.
        """
        return (
            self._predecessors[0].copy(),
            self._predecessor_ranks[0].copy(),
            self._parties[0].copy(),
        )

    @partition.setter
    def partition(self, partition: tuple[Ranks, Ranks, NDArray[np.int64]]) -> None:
        self._predecessors[0], self._predecessor_ranks[0], self._parties[0] = partition

    def without(self, agent: int) -> tuple[int, Ranks]:
        """What `value` would be were the pair of an agent and its predecessor deleted, and that
        partition's predecessors.
        """
        trial, predecessor_rank = self._predecessors[-1], self._predecessor_ranks[-1]
        trial[:], predecessor_rank[:] = self._predecessors[0], self._predecessor_ranks[0]
        self._counts[:2] = self._parties[0]
        pair = [(agent, int(trial[agent]))]
        self._kernels.forgive(
            self._choice,
            self._back,
            self._length,
            trial,
            predecessor_rank,
            agent,
            self._memory,
            self._turn,
            self._scratch,
            self._counts,
            self._table_counts,
        )
        self.restore(pair)
        return int(self._counts[0] + self._weight * self._counts[1]), trial

    @property
    def trial(self) -> tuple[Ranks, Ranks, NDArray[np.int64]]:
        """What `partition` would be after the deletion that `without` tried last."""
        return (
            self._predecessors[-1].copy(),
            self._predecessor_ranks[-1].copy(),
            self._counts[:2].copy(),
        )

    def reorder(self, agent: int, first: int, others: list[int]) -> None:
        """Put these of the list of an agent, who stand there in another order, at the positions
        from `first` on.

        The arrays given to this search are changed. Call `reduce` afterwards.
        """
        back = [int(self._back[agent, self._rank[agent, other]]) for other in others]
        for position, (other, where) in enumerate(zip(others, back, strict=True), start=first):
            self._choice[agent, position] = other
            self._rank[agent, other] = position
            self._back[agent, position] = where
            if where != self._kernels.UNRANKED:
                self._back[other, where] = position

    def start(
        self, limit: int, target: int, order: NDArray[np.int64] | None = None, least: int = 0
    ) -> None:
        """Begin a search for `least` to `limit` deletions that bring `value` to `target` or below.

        With an order of the agents it tries first what lowers `value`; without, what makes an
        exhaustive search short.
        """
        if limit > self._room:
            self._make_room(limit + limit // 2)
        self._limit, self._target = limit, target
        self._order = self._natural if order is None else order
        self._state[:] = 0, 0, 0, least, order is not None

    def run(self, budget: int) -> int:
        """Search on for about `budget` units of work (some three nanoseconds each): FOUND,
        EXHAUSTED or PAUSED.
        """
        outcome = self._kernels.search(
            self._choice,
            self._back,
            self._length,
            self._kept,
            self._order,
            self._predecessors,
            self._predecessor_ranks,
            self._parties,
            self._candidates,
            self._cursor,
            self._deleted,
            self._state,
            self._limit,
            self._target,
            self._weight,
            budget,
            self._memory,
            self._turn,
            self._scratch,
            self._counts,
            self._table_counts,
        )
        self.work += int(self._counts[2]) + 1
        self.nodes += int(self._state[2])
        self._state[2] = 0
        return int(outcome)

    def accept(self) -> list[Pair]:
        """After FOUND: delete what was found for good, adopt its partition, and say which pairs."""
        depth = int(self._state[0])
        found = [(int(agent), int(self._choice[agent, r])) for agent, r, _ in self._deleted[:depth]]
        partition = (
            self._predecessors[depth].copy(),
            self._predecessor_ranks[depth].copy(),
            self._parties[depth].copy(),
        )
        self.abandon()
        self.delete(found)
        self.partition = partition
        return found

    def abandon(self) -> None:
        """Undo what a search that was found or paused has changed."""
        self._kernels.unwind(
            self._choice,
            self._back,
            self._kept,
            self._predecessor_ranks,
            self._candidates,
            self._cursor,
            self._deleted,
            self._state,
        )
