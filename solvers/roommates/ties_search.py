"""Fewest blocking pairs of lists with ties: a search over tie-breakings and deletions beside
searches for matchings.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from ...instances.problem.option_types import validate_options
from ..outcome import Clock, Report, Stop, raise_if_interrupted
from .almost_stable import fewest_blocking_pairs
from .arrays import Ranks
from .deletions import DeletionSearch, Pair
from .matching_search import ROOMMATES_LIMITS, AlmostStable, MatchingSearch, RoommatesLimits
from .partition import Goal, partition_from
from .ranks import WeakLists, lists_of

FIRST_WORK = 300
"""Partitions that the shortest of the runs looks at."""

LOOK = 100
"""Partitions between two looks at the clock."""

LEAST_SECONDS = 0.05
"""Seconds for a matching under one tie-breaking; as many as the search has taken when that is
more.
"""

Tie = tuple[int, int, int]
"""i, a, b: agent i has b before a now, and could have a before b."""

PAUSE = -1
"""What a node yields between two of its children, so that somebody may look at the clock."""


@validate_options
def fewest_with_ties(
    lists: WeakLists,
    goal: Goal = "perfect",
    *,
    time_limit: float | None = None,
    rng: np.random.Generator | None = None,
    start: ArrayLike | None = None,
    known: int = 0,
    report: Report | None = None,
    limits: RoommatesLimits = ROOMMATES_LIMITS,
) -> AlmostStable:
    """Find a matching with the fewest blocking pairs of lists with ties, and prove it.

    Two agents block when both certainly prefer each other to what they have. Numbers k are tried
    from a bound upwards: `TieSearch` finds a tie-breaking and k pairs whose deletion leaves a
    stable matching, or exhausts them, which is a proof that more than k are needed. It begins again
    and again, from other tie-breakings, mostly short runs and now and then a longer one, since
    where ties abound a good one is found soon or not at all; a run that comes to its end is a proof
    whatever it began from. In between, the best tie-breaking seen is solved as an instance without
    ties. Exponential in the open ties and in the optimum minus the bound.

    Parameters
    ----------
    lists : being without partner is worse than anyone acceptable, for certain.
    goal, rng, start, report, limits : as in `fewest_blocking_pairs`.
    time_limit : seconds, counted after compilation. The first matching is found whatever the limit.
    known : a bound that somebody else has proved.

    Returns
    -------
    AlmostStable
        `blocking` by the lists with ties. `partition` is stable under some tie-breaking, and its
        bound less one for each agent of `unsettled` holds under all; where `known` is more,
        `finished` begins there.

    Raises
    ------
    InvalidInstance, InvalidOption, KeyboardInterrupt : as in `fewest_blocking_pairs`.

    Examples
    --------
    >>> from cotenant.solvers.roommates import weak_lists
    >>> cost = [[0, 1, 2, 3], [2, 0, 1, 3], [1, 1, 0, 3], [1, 2, 3, 0]]
    >>> lists = weak_lists(cost, lambda costs: np.searchsorted(costs, costs))
    >>> found = fewest_with_ties(lists)
    >>> found.value, found.proved
    (0, True)
    """
    generator = np.random.default_rng(0) if rng is None else rng
    return _Run(lists, goal, generator, known, Clock(time_limit, report), limits).result(start)


class _Run(MatchingSearch):
    """Search over tie-breakings and deletions, for lists with ties."""

    def __init__(
        self, lists: WeakLists, goal: Goal, rng: np.random.Generator, known: int, clock: Clock,
        limits: RoommatesLimits,
    ) -> None:  # fmt: skip
        super().__init__(lists.place, lists.better, goal, rng, clock, known)
        self.weak, self.tie_breaking, self.limits = lists, lists.place, limits

    def first(self) -> Ranks:
        self.search = TieSearch(self.weak, self.weak.place, self.goal)
        self._adopt(self.search)
        return self.search.table.partner

    def result(self, start: ArrayLike | None) -> AlmostStable:
        """Best matching found, with the tie-breaking for which it is almost stable."""
        found = super().result(start)
        if not found.feasible:
            return found
        return replace(found, tie_breaking=self.tie_breaking, unsettled=self.unsettled)

    def offer(self, answer: Ranks | None, text: str = "", rank: Ranks | None = None) -> bool:
        """Keep a matching with fewer blocking pairs under the lists with ties, and the ranks under
        which it was found.
        """
        if rank is None:
            every = np.zeros(self.place.shape)
            rank = self.place if self.best is None else self.weak.tie_breaking(every, answer)
        better = super().offer(answer, text)
        if better:
            self.tie_breaking = rank.copy()
        return better

    def solve(self) -> None:
        self._solve(self.search)
        if self.value > self.bound:
            self.stop = Stop.TIME_LIMIT

    def _solve(self, search: TieSearch) -> None:
        """Search rounds of tie-breakings for fewer blocking pairs, until proved or time is up."""
        rounds = 0
        while self.open:
            begun = self.clock.seconds
            self._search(search, FIRST_WORK * _luby(rounds + 1))
            if self.open and "tie-breakings" in self.limits.routes:
                self._without_ties(search.best_rank, max(LEAST_SECONDS, self.clock.seconds - begun))
            if not self.open:
                return
            rounds += 1
            keys = self.rng.random(self.place.shape)
            favored = self.best if rounds % 2 else None
            search = TieSearch(self.weak, self.weak.tie_breaking(keys, favored), self.goal)
            if search.bound > self.bound:
                self._adopt(search)

    def _adopt(self, search: TieSearch) -> None:
        """Adopt the initial partition of a search as the proof, and its bound if that is better."""
        self.partition, self.unsettled = partition_from(search.table.predecessor), search.unsettled
        if search.bound > self.bound:
            self.bound = search.bound
            self.finished.clear()

    def _search(self, search: TieSearch, work: int) -> None:
        """Try k = `bound`, `bound + 1`, ... deletions, until some suffice or `work` is used up."""
        end = search.work + work
        while self.open:
            limit = self.bound
            search.begin(limit)
            ended = False
            while not ended and search.work < end and not self.clock.expired:
                ended = search.run(LOOK)
                self.report(f"are {limit} enough?")
            if not ended:
                return
            if search.found:
                completed = self.completed(search.table.partner)
                self.offer(completed, "a better matching", search.rank)
                return
            self.finished.append(limit)
            self.raise_bound(limit + 1, "a better bound")

    def _without_ties(self, rank: Ranks, seconds: float) -> None:
        """Minimize the blocking pairs under one tie-breaking, and offer the matching."""
        limit = self.clock.time_slice(most=seconds)
        start = self.best if (rank == self.tie_breaking).all() else None
        found = fewest_blocking_pairs(
            rank, self.goal, time_limit=limit, rng=self.rng, start=start, limits=self.limits
        )
        self.offer(found.partner, "a better matching", rank)
        raise_if_interrupted(found.stop)


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
    table : its lists with the pairs deleted now, and their stable partition.
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
        self.table = DeletionSearch(lists_of(self.rank), self.rank, goal)
        self._fixed: dict[int, list[Pair]] = {}
        self._kept: set[Pair] = set()
        self._out = np.empty((256, 3), dtype=np.int32)
        self._limit = 0
        self._stack: list[Iterator[int]] = []
        self.unsettled = _agents(self._open_ties(self.table.predecessor))
        self.bound = max(0, (self.table.value + 1) // 2 - len(self.unsettled))
        self.best, self.best_rank = self.table.value / 2, start

    def begin(self, limit: int) -> None:
        """Begin a search for at most `limit` deletions; the search before must be exhausted."""
        self._limit = limit
        self._stack = [self._node(0)]

    def run(self, work: int) -> bool:
        """Continue the search for about `work` more stable partitions; True if it has ended."""
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
        """Visit one node of the search tree, as a generator over its children. It yields a child's
        number of deletions while the lists are those of the child, and PAUSE in between.
        """
        value = self._reduce()
        if deleted + value / 2 < self.best:
            self.best, self.best_rank = deleted + value / 2, self.rank.copy()
        self.found = value == 0
        partition = self.table.partition
        ties = self._open_ties(partition[0])
        if self.found or deleted + (value + 1) // 2 - len(_agents(ties)) > self._limit:
            return
        settled = []
        yield from self._sort(ties, value)
        for tie in ties:
            if self._is_open(tie, partition[0]):
                i, a, b = tie
                before = self._put_before(tie)
                self._fixed.setdefault(i, []).append((a, b))
                yield deleted
                self._fixed[i].pop()
                self.table.reorder(i, *before)
                self._fixed[i].append((b, a))
                settled.append(i)
        if deleted + (value + 1) // 2 <= self._limit:
            self.table.partition = partition
            yield from self._deletions(deleted, partition[0])
        for i in settled:
            self._fixed[i].pop()

    def _sort(self, ties: list[Tie], value: int) -> Iterator[int]:
        """Move to the front the open tie whose reversal leaves the fewest odd parties."""
        if len(ties) < 2:
            return
        values = []
        for tie in ties:
            before = self._put_before(tie)
            values.append(self._reduce())
            self.table.reorder(tie[0], *before)
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
            value, trial = self.table.without(agent)
            self.work += 1
            fewest = deleted + 1 + (value + 1) // 2
            if fewest > self._limit:
                self.table.delete([pair])
                fewest -= len(_agents(self._open_ties(trial)))
                self.table.restore([pair])
            if fewest > self._limit:
                kept.append(pair)
            else:
                branches.append((-value, *pair))
        self._kept.update(kept)  # in the whole subtree, like those whose branch has been searched
        for _, *pair_ in sorted(branches):
            pair = pair_[0], pair_[1]
            self.table.delete([pair])
            yield deleted + 1
            self.table.restore([pair])
            kept.append(pair)
            self._kept.add(pair)
        self._kept.difference_update(kept)

    def _reduce(self) -> int:
        self.table.reduce()
        self.work += 1
        return self.table.value

    def _open_ties(self, predecessor: Ranks) -> list[Tie]:
        """Ties whose reversal can unsettle the stable partition, with the orders fixed so far."""
        from . import list_kernels

        lists, out = self._lists, self._out
        back = self.table.lists.back
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

    def _put_before(self, tie: Tie) -> tuple[int, list[int]]:
        """Move a before b in i's list, with the agents that must precede a; return what `reorder`
        takes to undo it.
        """
        i, a, b = tie
        first, last = int(self.rank[i, b]), int(self.rank[i, a])
        others = self.table.lists.choice[i, first : last + 1].tolist()
        ahead = [other for other in others if other == a or self._before(i, other, a)]
        self.table.reorder(i, first, ahead + [other for other in others if other not in ahead])
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


def _luby(number: int) -> int:
    """Term number `number`, from 1, of the Luby sequence 1 1 2 1 1 2 4 1 1 2 1 1 2 4 8 ... (Luby,
    Sinclair, Zuckerman 1993).
    """
    while (number + 1) & number:
        number -= (1 << (number.bit_length() - 1)) - 1
    return (number + 1) // 2
