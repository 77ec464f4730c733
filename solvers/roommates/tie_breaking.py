"""Search over tie-breakings and deleted pairs, for the fewest blocking pairs of lists with ties."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .arrays import Ranks
from .deletions import DeletionSearch, Pair
from .partition import Goal
from .ranks import WeakLists, lists_of

Tie = tuple[int, int, int]
"""i, a, b: agent i has b before a now, and could have a before b."""

PAUSE = -1
"""What a node yields between two of its children, so that somebody may look at the clock."""


class TieSearch:
    """Depth-first search, one node at a time, for a tie-breaking and at most `limit` deletions that
    leave no odd party.

    Why tie-breakings: call u a strict list for every agent that keeps every certain preference, and
    I_u the instance with these lists. Who would certainly leave its partner prefers the other under
    every u, so a matching has no more blocking pairs in the lists with ties than in I_u; and as
    many in the u that puts each agent's partner before everyone who is not certainly better, which
    keeps all that is certain. So the fewest blocking pairs is the least over u of the fewest of
    I_u, which is the least number of deletions that leave I_u without odd parties
    (`DeletionSearch`).

    Why few ties matter: take a stable partition P of I_u without the deleted pairs. Its definition
    compares, in each agent's list, others with the agent's predecessor only. So it is stable under
    every other tie-breaking too, and the number of odd parties the same (Tan 1991), unless one of
    its *open ties* is broken the other way: a tie of i's predecessor with somebody who might then
    block with i, or of the two neighbors of i in an odd party. Hence a tie-breaking v and deletions
    D that leave no odd party where P has some either break an open tie of P the other way or delete
    a pair of P. Those are the branches: for each open tie in turn it is broken the other way, and
    in all later branches it stays; then no open tie is left, P is stable under all tie-breakings
    that remain, and each of its pairs in turn is deleted, in all later branches kept.

    What is pruned: taking one agent out changes the number of odd parties by one at most, putting
    it back as well (Tan and Hsueh 1995), so a new list for one agent changes it by two at most, as
    one deletion does. Let some agents be such that P has no open tie left when their lists stay as
    they are. Whatever the others' lists, the number of odd parties is then that of P; so under any
    tie-breaking it is lower by two for each of these agents at most. If d pairs are deleted, P has
    o odd parties, and there are c such agents, then no branch of the node ends with fewer than d +
    ceil(o / 2) - c deletions.

    Parameters
    ----------
    lists : being without partner is worse than anyone acceptable, for certain.
    start : the tie-breaking to begin with, as ranks.
    goal : as in `DeletionSearch`, whose value stands for "odd parties" above.

    Attributes
    ----------
    rank : the tie-breaking as it stands, the found one at the end.
    bound : deletions needed under any tie-breaking, by the stable partition of `start` alone.
    unsettled : the agents whose lists have to stay as they are for that partition to be stable
        whatever the others' are.
    found : whether a tie-breaking and deletions have been found.
    work : partitions looked at.
    best, best_rank : the least deletions and half odd parties seen together, and the tie-breaking
        in which.
    """

    def __init__(self, lists: WeakLists, start: Ranks, goal: Goal) -> None:
        self.rank = start.copy()
        self.work = 0
        self.found = False
        self._lists = lists
        self._table = DeletionSearch(lists_of(self.rank), self.rank, goal)
        self._fixed: dict[int, list[Pair]] = {}
        self._kept: set[Pair] = set()
        self._out = np.empty((256, 3), dtype=np.int32)
        self._limit = 0
        self._stack: list[Iterator[int]] = []
        self.unsettled = _agents(self._open_ties(self._table.predecessor))
        self.bound = max(0, (self._table.value + 1) // 2 - len(self.unsettled))
        self.best, self.best_rank = self._table.value / 2, start

    @property
    def partner(self) -> Ranks:
        """Matching of the current partition, -1 for unmatched agents."""
        return self._table.partner

    @property
    def predecessor(self) -> Ranks:
        """Predecessor of each agent in the current stable partition."""
        return self._table.predecessor

    def begin(self, limit: int) -> None:
        """Begin a search for at most `limit` deletions; the search before must be exhausted."""
        self._limit = limit
        self._stack = [self._node(0)]

    def run(self, work: int) -> bool:
        """Continue the search for about `work` more partitions; return True if it has ended."""
        end = self.work + work
        while self._stack and not self.found:
            if self.work >= end:
                return False
            child = next(self._stack[-1], None)
            if child is None:
                self._stack.pop()
            elif child != PAUSE:
                self._stack.append(self._node(child))
        return True

    def _node(self, deleted: int) -> Iterator[int]:
        """Visit one node; yields the number of deletions of each child when the lists are the
        child's, and PAUSE in between.
        """
        value = self._reduce()
        if deleted + value / 2 < self.best:
            self.best, self.best_rank = deleted + value / 2, self.rank.copy()
        self.found = value == 0
        partition = self._table.partition
        ties = self._open_ties(partition[0])
        if self.found or deleted + (value + 1) // 2 - len(_agents(ties)) > self._limit:
            return
        settled = []
        yield from self._sort(ties, value)
        for tie in ties:
            if self._is_open(tie, partition[0]):
                i, a, b = tie
                before = self._put_before(tie)
                self._fix(i, a, b)
                yield deleted
                self._fixed[i].pop()
                self._table.reorder(i, *before)
                self._fix(i, b, a)
                settled.append(i)
        if deleted + (value + 1) // 2 <= self._limit:
            self._table.partition = partition
            yield from self._deletions(deleted, partition[0])
        for i in settled:
            self._fixed[i].pop()

    def _sort(self, ties: list[Tie], value: int) -> Iterator[int]:
        """Move the tie to the front whose reversal leaves the fewest odd parties."""
        if len(ties) < 2:
            return
        values = []
        for tie in ties:
            before = self._put_before(tie)
            values.append(self._reduce())
            self._table.reorder(tie[0], *before)
            if values[-1] < value:
                break
            yield PAUSE
        ties.insert(0, ties.pop(int(np.argmin(values))))

    def _deletions(self, deleted: int, predecessor: Ranks) -> Iterator[int]:
        """Children of a node without open ties: one pair of the partition deleted in each."""
        branches, kept = [], []
        for agent, other in _pairs(predecessor):
            pair = min(agent, other), max(agent, other)
            if pair in self._kept:
                continue
            value, trial = self._table.without(agent)
            self.work += 1
            fewest = deleted + 1 + (value + 1) // 2
            if fewest > self._limit:
                self._table.delete([pair])
                fewest -= len(_agents(self._open_ties(trial)))
                self._table.restore([pair])
            if fewest > self._limit:
                kept.append(pair)
            else:
                branches.append((-value, *pair))
        self._kept.update(kept)  # in the whole subtree, like those whose branch has been searched
        for _, *pair_ in sorted(branches):
            pair = pair_[0], pair_[1]
            self._table.delete([pair])
            yield deleted + 1
            self._table.restore([pair])
            kept.append(pair)
            self._kept.add(pair)
        self._kept.difference_update(kept)

    def _reduce(self) -> int:
        self._table.reduce()
        self.work += 1
        return self._table.value

    def _open_ties(self, predecessor: Ranks) -> list[Tie]:
        """Ties whose reversal could make a partition unstable, given those fixed."""
        from . import list_kernels

        lists, out = self._lists, self._out
        back = self._table.back
        found = list_kernels.open_ties(
            lists.order, lists.place, lists.better, self.rank, back, predecessor, out
        )
        if found > len(out):
            self._out = np.empty((2 * found, 3), dtype=np.int32)
            return self._open_ties(predecessor)
        rows = [(i, a, b) for i, a, b in out[:found].tolist()]
        return [tie for tie in rows if self._is_open(tie, predecessor)] if self._fixed else rows

    def _is_open(self, tie: Tie, predecessor: Ranks) -> bool:
        """Return whether reversing a tie can still make the stable partition unstable, given the
        orders fixed so far.
        """
        i, a, b = tie
        if self._before(i, b, a):
            return False
        other = int(predecessor[a])  # to block with i, a has to prefer i to it
        return a == predecessor[i] or other == a or not self._before(a, other, i)

    def _before(self, i: int, x: int, y: int) -> bool:
        """Return whether x precedes y in i's list under every remaining tie-breaking."""
        place, better = self._lists.place[i], self._lists.better[i]
        if place[x] < better[y]:
            return True
        reached, waiting = {x}, [x]
        edges = self._fixed.get(i, ())
        while edges and waiting:
            now = waiting.pop()
            for low, high in edges:
                if high not in reached and (now == low or place[now] < better[low]):
                    if high == y or place[high] < better[y]:
                        return True
                    reached.add(high)
                    waiting.append(high)
        return False

    def _fix(self, i: int, a: int, b: int) -> None:
        self._fixed.setdefault(i, []).append((a, b))

    def _put_before(self, tie: Tie) -> tuple[int, list[int]]:
        """Move a before b in i's list, with the agents that must precede a; return what `reorder`
        takes to undo it.
        """
        i, a, b = tie
        first, last = int(self.rank[i, b]), int(self.rank[i, a])
        others = self._table.choice[i, first : last + 1].tolist()
        ahead = [other for other in others if other == a or self._before(i, other, a)]
        self._table.reorder(i, first, ahead + [other for other in others if other not in ahead])
        return first, others


def _agents(ties: list[Tie]) -> tuple[int, ...]:
    """Small set of agents such that no tie is open once their lists are fixed; of a pair with two
    open ties one agent is enough.
    """
    between = {(i, a) for i, a, _ in ties}
    chosen = {i for i, a in between if (a, i) not in between}
    for i, a, _ in ties:
        if i not in chosen and a not in chosen:
            chosen.add(i)
    return tuple(sorted(chosen))


def _pairs(predecessor: Ranks) -> Iterator[Pair]:
    """Pairs of agents and their predecessors, each once."""
    for agent, other in enumerate(predecessor.tolist()):
        if other != agent and (predecessor[other] != agent or agent < other):
            yield agent, other
