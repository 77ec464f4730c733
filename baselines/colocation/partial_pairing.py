"""Partial pairings, and the completion that every policy applies to the remaining agents."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...instances.colocation.instance import (
    Booleans,
    Colocation,
    Floats,
    Integers,
    Pairing,
)
from ...instances.colocation.missing import computed_penalty


class Draft:
    """Partial pairing over types: the pairs made so far, and the remaining agents.

    Attributes
    ----------
    remaining : (T,) agents of each type without a partner yet.
    """

    def __init__(self, instance: Colocation) -> None:
        self.instance = instance
        self.remaining: Integers = instance.count.copy()
        self._pairs: list[tuple[int, int, int]] = []

    def pair(self, a: int, b: int, number: int) -> None:
        """Add `number` pairs of an agent of type a with one of type b (of type a if a = b)."""
        self.remaining[a] -= number
        self.remaining[b] -= number
        self._pairs.append((a, b, number))

    def pairing(self) -> Pairing:
        """Pairing made of the pairs added so far, with every other agent alone."""
        first, second, number = np.array(self._pairs, dtype=np.int64).reshape(-1, 3).T
        return Pairing(first, second, number, self.remaining)

    def in_turn(self, order: Iterator[tuple[int, int]], cost: Floats | None = None) -> None:
        """Pair each remaining agent in turn with the partner of least cost, ties to the lowest
        type.

        `order` yields (type, how many in a row); `cost` is (T, T), its rows the agent whose turn it
        is; the added penalty of the pair when not given. An agent taken as partner is the next of
        its type in the order. O(T) per run and pair of types.
        """
        # partners whose own turn is still to come
        taken = np.zeros(self.instance.types, dtype=np.int64)
        for a, run in order:
            skipped = min(run, int(taken[a]))
            taken[a] -= skipped
            left = run - skipped
            while left > 0:
                free = np.flatnonzero(self._open(a))
                if len(free) == 0:
                    break  # whoever is left of this run finds nobody
                price = added_penalty(self.instance, a, free) if cost is None else cost[a, free]
                b = int(free[np.argmin(price)])
                number = min(left, int(self.remaining[b]))
                if a == b:
                    number = min(left // 2, int(self.remaining[a]) // 2) if left >= 2 else 1
                    taken[a] += max(0, 2 * number - left)
                    left -= 2 * number
                else:
                    taken[b] += number
                    left -= number
                self.pair(a, b, number)

    def least_first(self, leave: float = 0) -> None:
        """Pair the remaining agents, the pair of least added penalty first, until no more than
        `leave` remain.

        Ties go to the lowest first type, then the lowest second. O(R² log R) for R types that
        remain.
        """
        types = np.flatnonzero(self.remaining)
        block = np.ix_(types, types)
        price = computed_penalty(self.instance.penalty[block] + self.instance.penalty[block].T)
        first, second = np.nonzero(np.triu(self.instance.allowed[block]))
        for k in np.argsort(price[first, second], kind="stable").tolist():
            excess = self.remaining.sum() - leave
            if excess <= 0:
                return
            a, b = int(types[first[k]]), int(types[second[k]])
            free = (
                int(self.remaining[a]) // 2
                if a == b
                else int(min(self.remaining[a], self.remaining[b]))
            )
            number = int(min(free, -(-excess // 2)))
            if number > 0:
                self.pair(a, b, number)

    def finished(self) -> Pairing:
        """Complete the partial pairing: remaining agents alone, paired with each other, or after
        repair; raises NoSolution when there is none.
        """
        if self.instance.unpaired is not None:
            self.least_first()
            return self.pairing()
        alone = self.instance.singles_allowed
        self.least_first(leave=alone)
        if self.remaining.sum() <= alone:
            return self.pairing()
        from ...solvers.colocation.feasible import complete

        partial = self.pairing()
        # who is left has no place yet
        return complete(self.instance, partial.replace(single=np.zeros_like(partial.single)))

    def _open(self, a: int) -> Booleans:
        """Whether each type (T,) has an agent left that may share with an agent of type a."""
        free: Booleans = self.instance.allowed[a] & (self.remaining > 0)
        free[a] &= self.remaining[a] >= 2
        return free


def added_penalty(instance: Colocation, a: int, others: Integers) -> Floats:
    """Summed penalties, to 12 decimals, of type a paired with each other type; inf if forbidden."""
    both = computed_penalty(instance.penalty[a, others] + instance.penalty[others, a])
    return np.where(instance.allowed[a, others], both, np.inf)
