"""Search for sets of deleted pairs that leave few odd parties, in steps that can be paused."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .arrays import UNRANKED, Lists, Partition, Ranks, Stack, Work
from .partition import Goal, matched_partition

Pair = tuple[int, int]

Saved = tuple[Ranks, Ranks, NDArray[np.int64]]
"""Predecessors, their positions in the lists, and the counts of parties."""


class DeletionSearch:
    """Preference lists with deleted pairs, and a depth-first search for further deletions that can
    be paused.

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
        self._kernels, self._rank = kernels, rank
        self.lists = lists._replace(back=lists.back.copy())
        self._weight = 1 if goal == "perfect" else 0
        self._work = Work(
            memory=np.zeros(agents + 1, dtype=np.int64),
            turn=np.empty((2, agents), dtype=np.int32),
            scratch=np.empty((9, agents), dtype=np.int32),
            counts=np.zeros(4, dtype=np.int64), table_counts=np.zeros(4, dtype=np.int64),
        )  # fmt: skip
        self._stack = self._stack_of(0)
        self.work = 0
        self.reduce()

    def _stack_of(self, limit: int) -> Stack:
        """Work arrays for a search of the given depth."""
        agents, depths = self.lists.agents, limit + 1
        return Stack(
            kept=np.zeros(self.lists.choice.shape, dtype=np.int8),
            order=np.arange(agents),
            predecessors=np.empty((depths + 1, agents), dtype=np.int32),
            ranks=np.empty((depths + 1, agents), dtype=np.int32),
            parties=np.zeros((depths, 2), dtype=np.int64),
            candidates=np.empty((depths, agents), dtype=np.int32),
            cursor=np.zeros((depths, 3), dtype=np.int64),
            deleted=np.zeros((depths, 3), dtype=np.int64),
            state=np.zeros(4, dtype=np.int64),
        )

    def _at(self, depth: int) -> Partition:
        """Stable partition kept for a depth of the search: 0 is the current lists, -1 trials."""
        return Partition(self._stack.predecessors[depth], self._stack.ranks[depth])

    @property
    def value(self) -> int:
        """Number of odd parties (and singles, if the goal is a perfect matching) of the current
        lists.
        """
        odd, single = self._stack.parties[0].tolist()
        return int(odd + self._weight * single)

    def lower_values(self) -> tuple[int, ...]:
        """Lower counts of odd parties that one deletion may reach, the least first."""
        lower = (self.value - 2,) if self._weight else (self.value - 2, self.value - 1)
        return tuple(value for value in lower if value >= 0)

    @property
    def predecessor(self) -> Ranks:
        """Predecessor of each agent in the stable partition after the deletions."""
        found: Ranks = self._stack.predecessors[0]
        return found

    @property
    def partner(self) -> Ranks:
        """Matching of the stable partition; singles and one agent of each odd party get -1."""
        return matched_partition(self._rank, self.predecessor)

    def reduce(self) -> None:
        """Compute the stable partition of the current lists."""
        work = self._work
        self._kernels.reduce_table(self.lists, False, self._at(0), work.scratch, work.table_counts)
        self._stack.parties[0] = work.table_counts[:2]

    def delete(self, pairs: list[Pair]) -> None:
        """Make pairs unacceptable; call `reduce` afterwards."""
        for i, j in pairs:
            self.lists.back[i, self._rank[i, j]] = self.lists.back[j, self._rank[j, i]] = UNRANKED

    def restore(self, pairs: list[Pair]) -> None:
        """Make deleted pairs acceptable again; call `reduce` afterwards."""
        for i, j in pairs:
            self.lists.back[i, self._rank[i, j]] = self._rank[j, i]
            self.lists.back[j, self._rank[j, i]] = self._rank[i, j]

    def _copied(self, depth: int, parties: NDArray[np.int64]) -> Saved:
        predecessor, rank = self._at(depth)
        return predecessor.copy(), rank.copy(), parties.copy()

    @property
    def partition(self) -> Saved:
        """Copy of the stable partition: predecessors, their positions, and the number of odd
        parties and singles. It may be set again once the lists are as they are now.
        """
        return self._copied(0, self._stack.parties[0])

    @partition.setter
    def partition(self, partition: Saved) -> None:
        stack = self._stack
        stack.predecessors[0], stack.ranks[0], stack.parties[0] = partition

    def without(self, agent: int) -> tuple[int, Ranks]:
        """Odd parties and predecessors once the pair of an agent and its predecessor is deleted."""
        trial, counts = self._at(-1), self._work.counts
        trial.predecessor[:], trial.rank[:] = self._at(0)
        counts[:2] = self._stack.parties[0]
        pair = [(agent, int(trial.predecessor[agent]))]
        self._kernels.forgive(self.lists, trial, agent, self._work)
        self.restore(pair)
        return int(counts[0] + self._weight * counts[1]), trial.predecessor

    @property
    def trial(self) -> Saved:
        """Copy of the stable partition after the deletion that the last call of `without` tried."""
        return self._copied(-1, self._work.counts[:2])

    def reorder(self, agent: int, first: int, others: list[int]) -> None:
        """Put the agents `others` at the positions from `first` on of one agent's list.

        The arrays given to this search are changed. Call `reduce` afterwards.
        """
        back = [int(self.lists.back[agent, self._rank[agent, other]]) for other in others]
        for position, (other, where) in enumerate(zip(others, back, strict=True), start=first):
            self.lists.choice[agent, position] = other
            self._rank[agent, other] = position
            self.lists.back[agent, position] = where
            if where != UNRANKED:
                self.lists.back[other, where] = position

    def start(
        self, limit: int, target: int, order: NDArray[np.int64] | None = None, least: int = 0
    ) -> None:
        """Begin a search for `least` to `limit` deletions that leave at most `target` odd parties.

        With an order of the agents it tries first what lowers `value`; without, what makes an
        exhaustive search short.
        """
        if limit >= len(self._stack.parties):
            partition = self.partition
            self._stack = self._stack_of(limit + limit // 2)
            self.partition = partition
        self._limit, self._target = limit, target
        self._stack.order[:] = np.arange(self.lists.agents) if order is None else order
        self._stack.state[:] = 0, 0, least, order is not None

    def run(self, budget: int) -> int:
        """Continue the search for deletions for about `budget` units of work (three nanoseconds
        each); return FOUND, EXHAUSTED or PAUSED.
        """
        outcome = self._kernels.search(
            self.lists, self._stack, self._limit, self._target, self._weight, budget, self._work
        )
        self.work += int(self._work.counts[2]) + 1
        return int(outcome)

    def accept(self) -> list[Pair]:
        """Delete for good from the lists the pairs that the search found (FOUND), adopt the
        partition that is then stable, and return the pairs.
        """
        depth = int(self._stack.state[0])
        deleted = self._stack.deleted[:depth].tolist()
        found = [(agent, int(self.lists.choice[agent, r])) for agent, r, _ in deleted]
        partition = self._copied(depth, self._stack.parties[depth])
        self.abandon()
        self.delete(found)
        self.partition = partition
        return found

    def abandon(self) -> None:
        """Undo the changes of a search that was found or paused."""
        self._kernels.unwind(self.lists, self._stack)
