"""Fewest blocking pairs of strict lists: a bound from Tan's stable partition, an exact search over
deleted pairs, and a large-neighborhood search for better matchings beside the proof.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...instances.problem.option_types import validate_options
from ..outcome import Clock, Report
from .arrays import EXHAUSTED, FOUND, PAUSED, Ranks
from .deletions import DeletionSearch, Pair
from .matching_search import (
    ROOMMATES_LIMITS,
    AlmostStable,
    MatchingSearch,
    RoommatesLimits,
    TimeUp,
)
from .partition import Goal, partition_from
from .ranks import as_ranks

REPORT_SECONDS = 0.2

LEAST_SHARE = 8
"""Work on the proof for every work on better matchings, once these have long brought nothing; one
to one at first.
"""

STEP = 10_000_000
"""Work between two looks at the clock: some fifty milliseconds at most."""

PATIENCE = 1_000_000
"""Work spent on one neighborhood, or one level of a descent, before it is given up; with 20 n²
more, as a node costs that.
"""

LARGEST_GROUP = 3
"""Deletions made at once to lower the number of odd parties, where many are to be replaced."""

ROUND = 20
"""Neighborhoods of one best matching, one after the other."""


@validate_options
def fewest_blocking_pairs(
    rank: ArrayLike,
    goal: Goal = "perfect",
    *,
    time_limit: float | None = None,
    rng: np.random.Generator | None = None,
    start: ArrayLike | None = None,
    report: Report | None = None,
    limits: RoommatesLimits = ROOMMATES_LIMITS,
) -> AlmostStable:
    """Find a matching with the fewest blocking pairs, and prove it.

    Making a pair unacceptable forgives it: the least number of blocking pairs is the least number
    of pairs whose deletion leaves lists with a stable matching of the goal. A stable partition
    bounds this number from below and names, at every step, the pairs one of which must be deleted;
    so numbers k are tried from the bound upwards, and every k that is exhausted is a proof that
    more than k are needed. Exponential in the optimum minus the bound, O(n²) per step at worst.

    Parameters
    ----------
    rank : (n, n) integers, position of j in i's strict list, UNRANKED for whom i does not accept;
        never changed.
    goal : "perfect", everyone gets a partner, or "any", an agent may stay without (and then blocks
        with anyone acceptable who gains). With complete lists and an even number of agents the two
        have the same optimum.
    time_limit : seconds, counted after compilation. The first matching is found whatever the limit.
    rng : for the search of better matchings; np.random.default_rng(0) when None. The proof is
        deterministic.
    start : (n,), a matching of the goal to begin with.
    report : called with (seconds, value, bound, text) when one of them improves, and every 0.2
        seconds or so.
    limits : which routes of the search run.

    Raises
    ------
    InvalidInstance : `rank` is no matrix of strict ranks, or `start` is no matching of the goal.
    InvalidOption : the goal is unknown, or the time limit not above 0.
    KeyboardInterrupt : only before a first matching is known; later it ends the search, and the
        best so far is returned.

    References
    ----------
    The bound and the problem cf. D. J. Abraham, P. Biró, D. F. Manlove, "Almost stable" matchings
    in the roommates problem, WAOA 2005. Partitions: J. J. M. Tan, J. Algorithms 12 (1991) 154-178;
    one agent more or less: J. J. M. Tan, Y.-C. Hsueh, A generalization of the stable matching
    problem, Discrete Applied Mathematics 59 (1995). The branching rule is this project's;
    `DeletionSearch` states and argues it.

    Examples
    --------
    >>> from cotenant.solvers.roommates import ranks_from_lists
    >>> lists = [[1, 2, 3], [2, 0, 3], [0, 1, 3], [0, 1, 2]]
    >>> found = fewest_blocking_pairs(ranks_from_lists(lists))
    >>> found.value, found.bound, found.proved, found.partition.parties
    (1, 1, True, ((0, 1, 2), (3,)))
    """
    generator = np.random.default_rng(0) if rng is None else rng
    run = _Run(as_ranks(rank), goal, generator, Clock(time_limit, report), limits)
    return run.result(start)


class _Run(MatchingSearch):
    """Search over deletions of pairs for a matching of strict lists with few blocking pairs."""

    def __init__(
        self, rank: Ranks, goal: Goal, rng: np.random.Generator, clock: Clock,
        limits: RoommatesLimits,
    ) -> None:  # fmt: skip
        super().__init__(rank, None, goal, rng, clock)
        self.routes = limits.routes
        self.reported = 0.0

    def first(self) -> Ranks:
        self.proof = DeletionSearch(self.lists, self.place, self.goal)
        self.partition = partition_from(self.proof.predecessor)
        self.bound = self.partition.bound(self.goal)
        return self.proof.partner

    def solve(self) -> None:
        """Increase the number of deletions step by step, with a share of the work spent on better
        matchings, until bound and value meet.
        """
        attempts, owed = None, 0  # owed: work on the proof that is due before the next attempt
        proof, limit = self.proof, self.bound
        proof.start(limit, 0)
        while self.value > self.bound:
            self._look_at_the_clock(f"are {limit} enough?")
            before = proof.work
            outcome = proof.run(STEP)
            owed -= proof.work - before
            if outcome == FOUND:
                proof.accept()
                self.offer(proof.partner, "a better matching")
                return
            if outcome == EXHAUSTED:
                self.finished.append(limit)
                limit += 1
                self.raise_bound(limit, "a better bound")
                proof.start(limit, 0)
            if attempts is None and outcome == PAUSED and "neighborhoods" in self.routes:
                improver = Improver(DeletionSearch(self.lists, self.place, self.goal), self)
                attempts = improver.attempts()
            while attempts is not None and owed <= 0 and self.value > self.bound:
                self._look_at_the_clock(f"are {limit} enough?")
                before = improver.search.work
                next(attempts)
                owed += (improver.search.work - before) * min(1 + improver.idle, LEAST_SHARE)

    def report(self, text: str) -> None:
        """Report the progress of the search."""
        self.reported = self.clock.seconds
        super().report(text)

    def _look_at_the_clock(self, text: str) -> None:
        if self.clock.expired:
            raise TimeUp
        if self.clock.seconds - self.reported > REPORT_SECONDS:
            self.report(text)


class Improver:
    """Search for fewer pairs to delete from the lists than the best matching so far needs.

    `attempts` yields after every bounded step: its user decides when to go on. `idle` counts the
    rounds in a row that brought nothing.

    Parameters
    ----------
    search : over deletions, on lists of its own.
    incumbent : the best matching so far, which is offered others.
    """

    def __init__(self, search: DeletionSearch, incumbent: MatchingSearch) -> None:
        self.search, self._incumbent = search, incumbent
        self._rank, self._rng = incumbent.place, incumbent.rng
        self.found = False
        self.idle = 0

    def attempts(self) -> Iterator[None]:
        """Search neighborhoods of the incumbent without end, a bounded step at a time."""
        while True:
            before = self._incumbent.value
            yield from self._neighborhoods()
            self.idle = 0 if self._incumbent.value < before else self.idle + 1
            yield

    def _random_order(self) -> NDArray[np.int64]:
        order: NDArray[np.int64] = self._rng.permutation(len(self._rank)).astype(np.int64)
        return order

    def _odd_first(self) -> NDArray[np.int64]:
        """Random order that begins with the agents of odd parties, whose deletions change the
        counts.
        """
        order = self._random_order()
        previous = self.search.predecessor
        paired = previous[previous[order]] == order
        first: NDArray[np.int64] = np.concatenate([order[~paired], order[paired]])
        return first

    def _find(
        self, limit: int, target: int, order: NDArray[np.int64], least: int = 0
    ) -> Iterator[None]:
        """Run a bounded search for deletions; afterwards `self.found` says whether it succeeded,
        and a failed search is undone.
        """
        self.search.start(limit, target, order, least)
        end = self.search.work + PATIENCE + 20 * len(self._rank) ** 2
        outcome = PAUSED
        while outcome == PAUSED and self.search.work < end:
            outcome = self.search.run(STEP)
            yield
        self.found = outcome == FOUND
        if not self.found:
            self.search.abandon()

    def _descend(self, deleted: list[Pair], most: int) -> Iterator[None]:
        """Delete, again and again, the smallest group of pairs that lowers the number of odd
        parties, while at most `most` deletions may suffice.

        Once no small group does, pairs that do not raise the count are deleted, until one lowers
        it.
        """
        search, order = self.search, self._random_order()
        stuck = False
        while search.value and len(deleted) + (search.value + 1) // 2 <= most:
            self.found = False
            for limit in range(1, 2 if stuck else LARGEST_GROUP + 1):
                for target in search.lower_values():
                    if not self.found:
                        yield from self._find(limit, target, order)
            if not self.found:
                stuck = True
                yield from self._find(1, search.value, self._odd_first(), least=1)
            if not self.found:
                return
            deleted += search.accept()

    def _minimize(self, deleted: list[Pair]) -> Iterator[None]:
        """Restore, in random order, every deleted pair whose restoration leaves no odd party."""
        search = self.search
        for pair in [deleted[int(c)] for c in self._rng.permutation(len(deleted))]:
            search.restore([pair])
            search.reduce()
            if search.value == 0:
                deleted.remove(pair)
            else:
                search.delete([pair])
            yield
        search.reduce()

    def _neighborhoods(self) -> Iterator[None]:
        """Restore some blocking pairs of the incumbent, and search for at most as many other
        deletions.
        """
        search = self.search
        assert self._incumbent.best is not None
        blocking = self._incumbent.blocking(self._incumbent.best)
        current = [(int(i), int(j)) for i, j in blocking]
        search.delete(current)
        for _ in range(ROUND):
            size = int(
                self._rng.integers(2, 9 if self._rng.random() < 0.7 else max(10, len(current)))
            )
            drawn = self._rng.permutation(len(current))[:size]
            free = [current[int(c)] for c in drawn]
            search.restore(free)
            search.reduce()
            instead: list[Pair] = []
            if len(free) < 9:
                yield from self._replace(free, instead)
            else:
                yield from self._descend(instead, len(free) - 1)
            if search.value == 0:
                current = [pair for pair in current if pair not in free] + instead
                yield from self._minimize(current)
                self._incumbent.offer_completed(search.partner)
            else:
                search.restore(instead)
                search.delete(free)
        search.restore(current)
        search.reduce()

    def _replace(self, free: list[Pair], instead: list[Pair]) -> Iterator[None]:
        """Add to `instead` deletions that leave no odd party: fewer than `free`, else as many."""
        for limit in (len(free) - 1, len(free)):
            if self.search.value <= 2 * limit:
                yield from self._find(limit, 0, self._random_order())
                if self.found:
                    instead += self.search.accept()
                    return
