"""All stable matchings of strict lists: enumeration, counting, and minimum regret.

A *stable table* keeps a part of each list, from its first to its last entry, such that every agent
is the last entry of the first one in its list. Where some agent has two entries or more, either it
is matched with the first one, and its list ends there, or that one strikes it out (eliminates the
rotation that the agent is in); what follows for everybody else is worked out by proposals. The two
tables share no matching and miss none, so that they are the two sides of a search tree. Where a
stable matching exists every stable table contains one (Gusfield and Irving 1989, section 4.2), so
that no side is explored in vain: the time between two matchings is polynomial.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...instances.problem.option_types import validate_options
from ..outcome import Clock
from .arrays import Lists, Ranks
from .irving import irving
from .ranks import lists_of

Floats = NDArray[np.float64]


class StableTable:
    """What is left of every preference list, and the stable matchings within it.

    Parameters
    ----------
    lists : strict lists.
    first, last : (n,) positions in them; an agent with `last` -1 is single in all stable matchings.
    """

    def __init__(self, lists: Lists, first: Ranks, last: Ranks) -> None:
        self.lists, self.first, self.last = lists, first, last

    @classmethod
    def of(cls, lists: Lists) -> StableTable:
        """Table after the first phase of Irving's algorithm."""
        whole = cls(lists, np.zeros(lists.agents, dtype=np.int32), lists.length - np.int32(1))
        table = whole._after(whole.last.copy(), np.arange(lists.agents), singles=True)
        assert isinstance(table, StableTable)
        return table

    @property
    def open(self) -> NDArray[np.int64]:
        """Agents whose list in the table has two or more entries."""
        return np.flatnonzero(self.first < self.last)

    @property
    def first_partner(self) -> Ranks:
        """Best partner of each agent in a matching of the table, shape (n,); -1 for none."""
        return self._named(self.first)

    @property
    def last_partner(self) -> Ranks:
        """Worst partner of each agent in a matching of the table, shape (n,); -1 for none."""
        return self._named(self.last)

    def split(self, agent: int) -> Iterator[StableTable]:
        """Tables of the matchings in which an agent has its first entry as partner, and of the
        others; without a table in which a list becomes empty.
        """
        here, receiver = int(self.first[agent]), int(self.first_partner[agent])
        for whose, end in ((agent, here), (receiver, int(self.lists.back[agent, here]) - 1)):
            last = self.last.copy()
            last[whose] = end
            cut = self.lists.choice[whose, end + 1 : self.last[whose] + 1]
            table = self._after(last, np.append(cut, whose))
            if table is not None:
                yield table

    def within(self, cost: Floats, most: float) -> StableTable | None:
        """Table of the matchings in which no cost exceeds `most`; None if there is none. `cost` (n,
        n) ascends along every list.
        """
        borne = cost[np.arange(len(self.last))[:, None], self.lists.choice] <= most
        inside = (np.arange(borne.shape[1]) <= self.last[:, None]) & borne
        single = self.last < 0
        last = np.where(single, -1, inside.sum(axis=1) - 1).astype(np.int32)
        inside_all: StableTable | None = self._after(last, np.flatnonzero(~single))
        return inside_all

    def matchings(self) -> Iterator[Ranks]:
        """Stable matchings of the table as partner arrays, each once."""
        tables = [self]
        while tables:
            table = tables.pop()
            if len(undecided := table.open):
                tables.extend(table.split(int(undecided[0])))
            else:
                yield table.last_partner

    def components(self) -> list[NDArray[np.int64]]:
        """Groups of undecided agents; each group's choices do not affect the other groups."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        place = np.arange(self.lists.choice.shape[1])
        ends = self.last[self.lists.choice]
        left = (place >= self.first[:, None]) & (place <= self.last[:, None])
        agent, position = np.nonzero(left & (self.lists.back <= ends))
        other = self.lists.choice[agent, position]
        size = len(self.last)
        graph = coo_array((np.ones(len(agent)), (agent, other)), shape=(size, size))
        label = connected_components(graph, directed=False)[1][undecided := self.open]
        return [undecided[label == group] for group in np.unique(label)]

    def _named(self, position: Ranks) -> Ranks:
        paired, partner = np.flatnonzero(self.last >= 0), np.full(len(position), -1, dtype=np.int32)
        partner[paired] = self.lists.choice[paired, position[paired]]
        return partner

    def _after(self, last: Ranks, touched: NDArray[np.int64], singles: bool = False) -> Any:
        """Stable table after lists are cut at `last`; None if a list becomes empty."""
        from . import list_kernels

        first, changed = self.first.copy(), np.zeros(len(last), dtype=np.int8)
        changed[touched] = 1
        changed[self.last < 0] = singles
        stack = np.empty(len(last) + 1, dtype=np.int32)
        lists = self.lists
        whole = list_kernels.narrow(lists.choice, lists.back, first, last, changed, singles, stack)
        return StableTable(lists, first, last) if whole else None


def stable_table(rank: ArrayLike) -> StableTable | None:
    """Table that contains all stable matchings; None if there is none (Irving 1985)."""
    lists = lists_of(rank)
    return StableTable.of(lists) if irving(rank).stable else None


@validate_options
def stable_matchings(rank: ArrayLike) -> Iterator[Ranks]:
    """Iterate over all stable matchings, each once.

    Parameters
    ----------
    rank : (n, n) integers, position of j in i's strict list, UNRANKED for whom i does not accept.

    Yields
    ------
    (n,) partners, -1 for an agent without one. The same agents are without in all of them.

    Raises
    ------
    InvalidInstance : the matrix is not square, an entry is no position, or a list has a tie.

    References
    ----------
    D. Gusfield, R. W. Irving, The Stable Marriage Problem: Structure and Algorithms, MIT Press
    1989, sections 4.2 and 4.4.

    Examples
    --------
    >>> from cotenant.solvers.roommates import ranks_from_lists
    >>> lists = {"a": "bcd", "b": "cad", "c": "dba", "d": "abc"}
    >>> ranks = ranks_from_lists({who: list(liked) for who, liked in lists.items()})
    >>> sorted(matching.tolist() for matching in stable_matchings(ranks))
    [[1, 0, 3, 2], [3, 2, 1, 0]]
    """
    table = stable_table(rank)
    return iter(()) if table is None else table.matchings()


@dataclass(frozen=True)
class StableCount:
    """Number of stable matchings, or a lower bound on it.

    Attributes
    ----------
    number : there are at least so many.
    exact : and not more.
    """

    number: int
    exact: bool


@validate_options
def count_stable_matchings(rank: ArrayLike, *, time_limit: float | None = None) -> StableCount:
    """Count the stable matchings without enumerating all of them.

    Groups of agents that have nothing to do with each other are counted apart, and a table is
    counted once. To count is #P-hard all the same (Irving and Leather 1986): when time is up, every
    table that is left counts as one, which it contains.

    Parameters
    ----------
    rank : as in `stable_matchings`.
    time_limit : seconds.

    Examples
    --------
    >>> from cotenant.solvers.roommates import ranks_from_lists
    >>> block = [[1, 2, 3], [2, 0, 3], [3, 1, 0], [0, 1, 2]]
    >>> apart = [[4 * k + j for j in row] for k in range(20) for row in block]
    >>> count_stable_matchings(ranks_from_lists(apart)).number == 2**20
    True
    """
    clock, table = Clock(time_limit), stable_table(rank)
    known: dict[bytes, int] = {}
    exact = True

    def count(table: StableTable, group: NDArray[np.int64]) -> int:
        nonlocal exact
        key = group.tobytes() + table.first[group].tobytes() + table.last[group].tobytes()
        if key not in known:
            if clock.expired:
                exact = False
                return 1
            known[key] = sum(count_all(part, group) for part in table.split(int(group[0])))
        return known[key]

    def count_all(table: StableTable, among: NDArray[np.int64]) -> int:
        number = 1
        for group in table.components():
            number *= count(table, group) if np.isin(group[0], among) else 1
        return number

    if table is None:
        return StableCount(0, True)
    return StableCount(count_all(table, table.open), exact)


def minimum_regret(table: StableTable, cost: Floats) -> Ranks:
    """Stable matching whose largest cost is minimal, by bisection. O(n² log n).

    Parameters
    ----------
    cost : (n, n) what each bears beside each; ascends along every list.

    Source: D. Gusfield, Three fast algorithms for four problems in stable marriage, SIAM J. Comput.
    16 (1987); for roommates Gusfield and Irving (1989), section 4.4.
    """
    best = next(table.matchings())
    paired = np.flatnonzero(best >= 0)
    if not len(paired):
        return best
    low = float(cost[paired, table.first_partner[paired]].max())
    high = float(cost[paired, best[paired]].max())
    values = np.unique(cost[np.isfinite(cost)])
    values = values[(values >= low) & (values < high)]
    while len(values):
        middle = len(values) // 2
        inside = table.within(cost, float(values[middle]))
        found = None if inside is None else next(inside.matchings(), None)
        if found is None:
            values = values[middle + 1 :]
        else:
            best, values = found, values[:middle]
    return best
