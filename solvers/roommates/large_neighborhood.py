"""Large-neighborhood search on blocking pairs, for better matchings beside the proof."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from .deletions import DeletionSearch, Pair
from .kernels import FOUND, PAUSED
from .matching_search import MatchingSearch

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


class Improver:
    """Search for fewer deletions than the incumbent's.

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
        """Delete the smallest group of pairs that lowers the count, repeatedly, while at most
        `most` deletions may suffice.

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
        """Add to `instead` fewer deletions than `free` with the same effect, or as many."""
        for limit in (len(free) - 1, len(free)):
            if self.search.value <= 2 * limit:
                yield from self._find(limit, 0, self._random_order())
                if self.found:
                    instead += self.search.accept()
                    return
