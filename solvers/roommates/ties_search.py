"""Fewest blocking pairs of lists with ties: a search over tie-breakings and deletions beside
searches for matchings.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from ...instances.problem.option_types import validate_options
from ..outcome import Clock, Report, Stop, raise_if_interrupted, validate_time_limit
from .almost_stable import fewest_blocking_pairs
from .arrays import Ranks
from .matching_search import ROOMMATES_LIMITS, AlmostStable, MatchingSearch, RoommatesLimits
from .partition import Goal, lower_bound, partition_from
from .ranks import WeakLists
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
    lower_bound(0, 0, goal)  # refuses an unknown goal
    validate_time_limit(time_limit)
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
        return self.search.partner

    def result(self, start: ArrayLike | None) -> AlmostStable:
        """Result of the search, with the tie-breaking of its matching."""
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
        """Search in rounds, each from another tie-breaking, until time is up or the bound met."""
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
        self.partition, self.unsettled = partition_from(search.predecessor), search.unsettled
        if search.bound > self.bound:
            self.bound = search.bound
            self.finished.clear()

    def _search(self, search: TieSearch, work: int) -> None:
        """Exhaust `bound`, `bound + 1`, ... deletions from one tie-breaking, within given work."""
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
                completed = self.completed(search.partner)
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


def _luby(number: int) -> int:
    """Term number `number`, from 1, of the Luby sequence 1 1 2 1 1 2 4 1 1 2 1 1 2 4 8 ... (Luby,
    Sinclair, Zuckerman 1993).
    """
    while (number + 1) & number:
        number -= (1 << (number.bit_length() - 1)) - 1
    return (number + 1) // 2
