"""Compiled listing of the VM combinations one server can hold; numba is imported with this module,
so import it on first use.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compiled import compiled

Array = np.ndarray[Any, Any]


@compiled
def _count_up(demand: Array, cap: Array, count: Array, left: Array, place: int) -> bool:
    """Advance to the next combination in lexicographic order by adding a VM of the type at `place`,
    with carry to the type before it; False after the last one.
    """
    resources = demand.shape[1]
    while place >= 0:
        fits = count[place] < cap[place]
        if fits:
            for j in range(resources):
                if demand[place, j] > left[j]:
                    fits = False
                    break
        if fits:
            count[place] += 1
            for j in range(resources):
                left[j] -= demand[place, j]
            return True
        for j in range(resources):
            left[j] += count[place] * demand[place, j]
        count[place] = 0
        place -= 1
    return False


@compiled
def combinations(demand: Array, cap: Array, free: Array, most: int) -> Any:
    """List all nonempty combinations of VMs that fit on a server, in lexicographic order.

    demand (s, k), cap (s,) most copies, free (k,). Returns (table (n, s), whole): whole False when
    there are more than `most`.
    """
    types = demand.shape[0]
    table = np.zeros((1024, types), dtype=np.int64)
    number = 0
    count = np.zeros(types, dtype=np.int64)
    left = free.copy()
    while True:
        if not _count_up(demand, cap, count, left, types - 1):
            return table[:number], True
        # write it down, in a table that doubles when it is full
        if number == most:
            return table[:number], False
        if number == len(table):
            grown = np.zeros((2 * len(table), types), dtype=np.int64)
            for row in range(number):
                for i in range(types):
                    grown[row, i] = table[row, i]
            table = grown
        for i in range(types):
            table[number, i] = count[i]
        number += 1


@compiled
def maximal_combinations(
    demand: Array, cap: Array, count: Array, left: Array, table: Array, number: int, steps: int
) -> Any:
    """Continue the listing of maximal combinations for a number of steps or until the table is
    full.

    demand (s, k), cap (s,) most copies. State, to begin with zeros and what the server has free:
    count (s,) VMs, the last type's always 0, and left (k,) free beside them; number of rows in the
    table (n, s). Returns (number, whether that was all).
    """
    types, resources = demand.shape
    last = types - 1
    for _ in range(steps):
        if number == len(table):
            return number, False
        # the last type as often as it fits; then no other may fit
        most = cap[last]
        for j in range(resources):
            if demand[last, j] > 0:
                most = min(most, left[j] // demand[last, j])
        maximal = True
        for i in range(last):
            fits = count[i] < cap[i]
            for j in range(resources):
                if demand[i, j] > left[j] - most * demand[last, j]:
                    fits = False
                    break
            if fits:
                maximal = False
                break
        if maximal:
            for i in range(last):
                table[number, i] = count[i]
            table[number, last] = most
            number += 1
        if not _count_up(demand, cap, count, left, last - 1):
            return number, True
    return number, False
