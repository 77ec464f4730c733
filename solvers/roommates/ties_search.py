"""The fewest blocking pairs of lists with ties: a search over tie-breakings and deletions beside
searches for matchings.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...instances.problem.option_types import validate_options
from ..outcome import Clock, Report, Stop, validate_time_limit
from .almost_stable import AlmostStable, fewest_blocking_pairs
from .blocking import blocking_pairs, valid_partner
from .maximum_matching import perfect_matching
from .partition import Goal, lower_bound, partition_from
from .ranks import Ranks, WeakLists, lists_of
from .tie_breaking import TieSearch

FIRST_WORK = 300
"""Partitions that the shortest of the runs looks at."""

LOOK = 100
"""Partitions between two looks at the clock."""

LEAST_SECONDS = 0.05
"""Seconds for a matching under one tie-breaking; as many as the search has taken when that is
more.
"""


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
    goal, rng, start, report : as in `fewest_blocking_pairs`.
    time_limit : seconds, counted after compilation. The first matching is found whatever the limit.
    known : a bound that somebody else has proved.

    Returns
    -------
    AlmostStable
        `blocking` by the lists with ties. `partition` is stable under some tie-breaking, and its
        bound less one for each agent of `unsettled` holds under all (`is_stable_partition` checks
        both); where `known` is more, `finished` begins there.

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
    lower_bound(0, 0, goal)  # refuses an unknown goal
    validate_time_limit(time_limit)
    generator = np.random.default_rng(0) if rng is None else rng
    return _Run(lists, goal, generator, known, Clock(time_limit, report)).result(start)


class _Run:
    """One call: the best matching, the bound, and the clock."""

    def __init__(
        self, lists: WeakLists, goal: Goal, rng: np.random.Generator, known: int, clock: Clock
    ) -> None:
        self.lists, self.goal, self.rng, self.clock = lists, goal, rng, clock
        self.partner: Ranks | None = None
        self.blocking: NDArray[np.int64] = np.empty((0, 2), dtype=np.int64)
        self.tie_breaking = lists.place
        self.bound = known
        self.finished: list[int] = []
        self.nodes = 0

    @property
    def value(self) -> int:
        """Blocking pairs of the best matching."""
        return len(self.blocking)

    @property
    def done(self) -> bool:
        """Whether the best matching is proved to be one, or the time is up."""
        return self.value <= self.bound or self.clock.expired

    def result(self, start: ArrayLike | None) -> AlmostStable:
        """Solve, and put together what was found by the time it ended."""
        given = None if start is None else valid_partner(self.lists.place, start)
        search = TieSearch(self.lists, self.lists.place, self.goal)
        self._adopt(search)
        first = self._completed(search.partner)
        if first is None:
            return AlmostStable(
                None, self.blocking, None, self.bound, False, True, Stop.FINISHED, self.partition
            )
        stop = Stop.FINISHED
        try:
            self._offer(first, self.lists.place)
            if given is not None:
                self._offer(given, self._favoring(given))
            self._solve(search)
            stop = Stop.FINISHED if self.value <= self.bound else Stop.TIME_LIMIT
        except KeyboardInterrupt:
            stop = Stop.INTERRUPTED
        assert self.partner is not None
        if self.value < self.bound:
            raise RuntimeError(
                f"the search over ties contradicts itself: {self.value} blocking pairs, bound "
                f"{self.bound}"
            )
        return AlmostStable(
            partner=self.partner,
            blocking=self.blocking,
            value=self.value,
            bound=self.bound,
            feasible=True,
            proved=self.value == self.bound,
            stop=stop,
            partition=self.partition,
            finished=tuple(self.finished),
            nodes=self.nodes,
            trace=tuple(
                (now, int(value or 0), int(bound or 0)) for now, value, bound in self.clock.trace
            ),
            tie_breaking=self.tie_breaking,
            unsettled=self.unsettled,
        )

    def _solve(self, search: TieSearch) -> None:
        """Rounds, each from another tie-breaking."""
        rounds = 0
        while not self.done:
            begun = self.clock.seconds
            self._search(search, FIRST_WORK * _luby(rounds + 1))
            if not self.done:
                self._without_ties(search.best_rank, max(LEAST_SECONDS, self.clock.seconds - begun))
            if self.done:
                return
            rounds += 1
            keys = self.rng.random(self.lists.place.shape)
            favored = self.partner if rounds % 2 else None
            search = TieSearch(self.lists, self.lists.tie_breaking(keys, favored), self.goal)
            if search.bound > self.bound:
                self._adopt(search)

    def _adopt(self, search: TieSearch) -> None:
        """Keep the partition that a search begins with; when it proves more than all before, it is
        the proof.
        """
        self.partition, self.unsettled = partition_from(search.predecessor), search.unsettled
        if search.bound > self.bound:
            self.bound = search.bound
            self.finished.clear()

    def _search(self, search: TieSearch, work: int) -> None:
        """Exhaust number after number of deletions from one tie-breaking, as far as the work
        goes.
        """
        end = search.work + work
        while not self.done:
            limit = self.bound
            search.begin(limit)
            nodes, ended = search.nodes, False
            while not ended and search.work < end and not self.clock.expired:
                ended = search.run(LOOK)
                self.clock.note(self.value, self.bound, f"are {limit} enough?")
            self.nodes += search.nodes - nodes
            if not ended:
                return
            if search.found:
                self._offer_completed(search.partner, search.rank)
                return
            self.finished.append(limit)
            self.bound = limit + 1
            self.clock.note(self.value, self.bound, "a better bound")

    def _without_ties(self, rank: Ranks, seconds: float) -> None:
        """The fewest blocking pairs under one tie-breaking."""
        limit = self.clock.time_slice(most=seconds)
        start = self.partner if (rank == self.tie_breaking).all() else None
        found = fewest_blocking_pairs(rank, self.goal, time_limit=limit, rng=self.rng, start=start)
        assert found.partner is not None
        self._offer(found.partner, rank)
        if found.stop is Stop.INTERRUPTED:
            raise KeyboardInterrupt

    def _favoring(self, partner: Ranks) -> Ranks:
        return self.lists.tie_breaking(np.zeros(self.lists.place.shape), partner)

    def _completed(self, partner: Ranks) -> Ranks | None:
        """A matching of the goal from one that leaves agents over; None if there is none."""
        whole = self.goal == "any" or bool((partner >= 0).all())
        return partner if whole else perfect_matching(lists_of(self.lists.place), partner)

    def _offer_completed(self, partner: Ranks, rank: Ranks) -> None:
        completed = self._completed(partner)
        assert completed is not None  # there is one: the first answer was found the same way
        self._offer(completed, rank)

    def _offer(self, partner: Ranks, rank: Ranks) -> None:
        """Keep a matching if it has fewer blocking pairs by the lists with ties."""
        blocking = blocking_pairs(self.lists.place, partner, self.lists.better)
        if self.partner is None or len(blocking) < self.value:
            self.partner, self.blocking, self.tie_breaking = partner, blocking, rank.copy()
            self.clock.note(self.value, self.bound, "a better matching")


def _luby(number: int) -> int:
    """The number-th term, from 1, of 1 1 2 1 1 2 4 1 1 2 1 1 2 4 8 ... (Luby, Sinclair, Zuckerman
    1993).
    """
    while (number + 1) & number:
        number -= (1 << (number.bit_length() - 1)) - 1
    return (number + 1) // 2
