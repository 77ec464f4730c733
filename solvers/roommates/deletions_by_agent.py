"""Few blocking agents, or few blocking pairs of each agent: the search over deletions with another
measure of what is deleted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from ..outcome import Clock
from .deletions import DeletionSearch, Pair
from .partition import Goal
from .ranks import Ranks, lists_of

Measure = Callable[[Iterable[Pair]], int]
"""Of a set of pairs a number that never falls when a pair is added."""


def agents_in(pairs: Iterable[Pair]) -> int:
    """How many agents are in a pair."""
    return len({agent for pair in pairs for agent in pair})


def most_of_one(pairs: Iterable[Pair]) -> int:
    """How many pairs the agent is in that is in most."""
    return max(Counter(agent for pair in pairs for agent in pair).values(), default=0)


class OutOfTime(Exception):
    """The clock is over."""


class DeletionsByAgent:
    """Sets of deleted pairs whose measure stays within a limit, tried by ever more pairs.

    A matching with the blocking pairs B is stable once B is deleted, and of every stable partition
    before that B contains a pair (see `DeletionSearch`). So all sets are found that leave a stable
    matching of the goal and whose measure is at most the limit, by adding such pairs one at a time,
    those that were tried before being left out. What exceeds the limit is passed over, as it never
    falls again; so a search that no number of pairs cut short proves that the limit is too low.
    """

    def __init__(self, rank: Ranks, goal: Goal, measure: Measure, clock: Clock) -> None:
        self.rank, self.measure, self.clock = rank, measure, clock
        self.search = DeletionSearch(lists_of(rank), rank.copy(), goal)
        self.nodes = 0

    def within(self, limit: int) -> Ranks | None:
        """A matching whose blocking pairs measure at most this; None where there is none.

        Raises
        ------
        OutOfTime : it is not known yet.
        """
        self.limit, self.most, self.cut = limit, (self.search.value + 1) // 2, True
        while self.cut:
            self.cut = False
            found = self._among([], set())
            if found is not None:
                return found
            self.most += 1
        return None

    def _among(self, deleted: list[Pair], outside: set[Pair]) -> Ranks | None:
        """The same with these pairs deleted, and others not to be."""
        if self.clock.expired:
            raise OutOfTime
        search = self.search
        self.nodes += 1
        if search.value == 0:
            return search.partner.copy()
        here = search.partition
        before = here[0].tolist()
        ahead: list[tuple[int, int, Pair]] = []
        outside = set(outside)
        for agent, previous in enumerate(before):
            pair = (min(agent, previous), max(agent, previous))
            if (
                agent == previous
                or pair in outside
                or (before[previous] == agent and agent < previous)
                or self.measure([*deleted, pair]) > self.limit
            ):
                continue
            value, _ = search.without(agent)
            if len(deleted) + 1 + (value + 1) // 2 > self.most:
                self.cut = True
                continue
            ahead.append((value, agent, pair))
        for _, agent, pair in sorted(ahead):
            search.without(agent)
            following = search.trial
            search.delete([pair])
            search.partition = following
            found = self._among([*deleted, pair], outside)
            search.restore([pair])
            search.partition = here
            if found is not None:
                return found
            outside.add(pair)
        return None


def least_measure_of(pairs: int, agents: int, measure: Measure) -> int:
    """The least measure of so many pairs of so many agents: all pairs of few agents, or as many for
    each agent.
    """
    if measure is most_of_one:
        return -(-2 * pairs // agents) if agents else 0
    few = 0
    while few * (few - 1) // 2 < pairs:
        few += 1
    return few
