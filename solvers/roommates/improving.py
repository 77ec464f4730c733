"""Better matchings while the proof goes on: dives through deletions, and large-neighbourhood search on the blocking pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from .deletions import DeletionSearch, Pair
from .kernels import FOUND, PAUSED
from .ranks import Ranks

STEP = 10_000_000
"""Work between two looks at the clock: some fifty milliseconds at most."""

PATIENCE = 1_000_000
"""Work spent on one neighbourhood, or one level of a dive, before it is given up; with 20 n² more, as a node costs that."""

LARGEST_GROUP = 3
"""Deletions a dive makes at once to lower the number of odd parties."""


class Improver:
    """A stream of attempts to find fewer deletions than the best known.

    `value` returns how many blocking pairs the best matching so far has, `pairs` which; `offer` takes a matching, completes
    it, and keeps it if it is better. `dive` and `attempts` yield after every bounded step: their user decides when to go on.
    """

    def __init__(
        self,
        search: DeletionSearch,
        rank: Ranks,
        value: Callable[[], int],
        pairs: Callable[[], list[Pair]],
        offer: Callable[[Ranks], None],
        rng: np.random.Generator,
    ) -> None:
        self.search = search
        self._rank = rank
        self._value = value
        self._pairs = pairs
        self._offer = offer
        self._rng = rng
        self.found = False

    def attempts(self) -> Iterator[None]:
        """Dives until several in a row bring nothing, then neighbourhoods with a dive now and then; without end."""
        idle = 0
        while True:
            before = self._value()
            if idle < 8 or idle % 25 == 0:
                yield from self.dive(self._random_order())
            else:
                yield from self._neighbourhoods(25)
            idle = 0 if self._value() < before else idle + 1
            yield

    def _random_order(self) -> NDArray[np.int64]:
        order: NDArray[np.int64] = self._rng.permutation(len(self._rank)).astype(np.int64)
        return order

    def _find(self, limit: int, target: int, order: NDArray[np.int64], least: int = 0) -> Iterator[None]:
        """Search a little, in bounded steps; afterwards `self.found` says whether, and if not, the search has been undone."""
        self.search.start(limit, target, order, least)
        end = self.search.work + PATIENCE + 20 * len(self._rank) ** 2
        outcome = PAUSED
        while outcome == PAUSED and self.search.work < end:
            outcome = self.search.run(STEP)
            yield
        self.found = outcome == FOUND
        if not self.found:
            self.search.abandon()

    def dive(self, order: NDArray[np.int64] | None = None) -> Iterator[None]:
        """Delete the smallest group that lowers the count, again and again, unless it cannot beat the best any more."""
        if order is None:
            order = np.arange(len(self._rank))
        search = self.search
        deleted: list[Pair] = []
        stuck = False
        while search.value and len(deleted) + (search.value + 1) // 2 < self._value():
            self.found = False
            for limit in range(1, 2 if stuck else LARGEST_GROUP + 1):
                for target in search.lower_values():
                    if not self.found:
                        yield from self._find(limit, target, order)
            if not self.found:  # from here on: delete pairs that do not raise the count, until one lowers it
                stuck = True
                yield from self._find(1, search.value, self._random_order(), least=1)
            if not self.found:
                break
            deleted += search.accept()
        # stuck or not, the parties paired up along themselves are a beginning for the neighbourhoods
        self._offer(search.partner)
        search.restore(deleted)
        search.reduce()

    def _neighbourhoods(self, number: int) -> Iterator[None]:
        """Take some blocking pairs of the best matching back, and look for fewer deletions in their place, or as many others."""
        search = self.search
        current = self._pairs()
        search.delete(current)
        for _ in range(number):
            size = min(int(self._rng.integers(2, 9)), len(current))
            free = self._related(current, size)
            search.restore(free)
            search.reduce()
            self.found = False
            if (search.value + 1) // 2 < size:
                yield from self._find(size - 1, 0, self._random_order())
            if not self.found:
                yield from self._find(size, 0, self._random_order())
            if self.found:
                kept = set(current) - set(free)
                current = [*kept, *search.accept()]
                self._offer(search.partner)
            else:
                search.delete(free)
        search.restore(current)
        search.reduce()

    def _related(self, pairs: list[Pair], size: int) -> list[Pair]:
        """Some of the pairs, more often those whose agents rank each other high."""
        if size == len(pairs):
            return list(pairs)
        agents = np.array(pairs)
        seed = agents[int(self._rng.integers(len(pairs)))]
        near = np.full(len(pairs), np.inf)
        for one in seed:
            for side in (0, 1):
                apart = self._rank[one, agents[:, side]].astype(float) + self._rank[agents[:, side], one]
                apart[agents[:, side] == one] = 0.0
                near = np.minimum(near, apart)
        noisy = np.argsort(np.argsort(near)) + self._rng.random(len(pairs)) * self._rng.choice([1.0, len(pairs)])
        return [pairs[int(c)] for c in np.argsort(noisy)[:size]]
