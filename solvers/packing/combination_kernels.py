"""Compiled listing of the VM combinations one server can hold; numba is imported with this module,
so import it on first use.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compiled import compiled

Array = np.ndarray[Any, Any]


@compiled
def combinations(demand: Array, cap: Array, free: Array, most: int, maximal: bool) -> Any:
    """Every combination of VMs that fits, except the empty one, in lexicographic order; maximal
    ones only if so wished.

    demand (s, k), cap (s,) most copies, free (k,). Returns (table (n, s), whole): whole False when
    there are more than `most`.
    """
    types, resources = demand.shape
    table = np.zeros((1024, types), dtype=np.int64)
    number = 0
    count = np.zeros(types, dtype=np.int64)
    left = free.copy()
    while True:
        # count one up, the last type first, like an odometer; a type that does not fit once more
        # goes back to 0
        place = types - 1
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
                break
            for j in range(resources):
                left[j] += count[place] * demand[place, j]
            count[place] = 0
            place -= 1
        if place < 0:
            return table[:number], True
        # not maximal: some VM still fits beside it
        if maximal:
            more = False
            for i in range(types):
                if count[i] >= cap[i]:
                    continue
                fits = True
                for j in range(resources):
                    if demand[i, j] > left[j]:
                        fits = False
                        break
                if fits:
                    more = True
                    break
            if more:
                continue
        # write it down, in a table that doubles when it is full
        if number == most:
            return table[:number], False
        if number == len(table):
            grown = np.zeros((2 * len(table), types), dtype=np.int64)
            grown[:number] = table
            table = grown
        for i in range(types):
            table[number, i] = count[i]
        number += 1
