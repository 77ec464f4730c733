"""Compiled: whole lives of VMs on servers, over the intervals between comings and goings."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..compiled import compiled

Array = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@compiled
def best_host(
    load: Array, busy: Array, size: Array, share: Floats, first: int, last: int, length: Array,
    capacity: Array, used: int,
) -> int:  # fmt: skip
    """The server on which a VM adds least to server-time, of these the one with the largest growth
    of the squares of its loads; the first of those without VMs only where no other is as good.
    """
    best, least, most = -1, 0, 0.0
    for h in range(used + 1):
        fits, more, square = True, 0, 0.0
        for t in range(first, last):
            if busy[h, t] == 0:
                more += length[t]
                if best >= 0 and more > least:
                    fits = False
                    break
                continue
            for j in range(len(size)):
                if load[h, t, j] + size[j] > capacity[j]:
                    fits = False
                square += share[j] * load[h, t, j] * length[t] / capacity[j]
            if not fits:
                break
        if fits and (best < 0 or more < least or (more == least and square > most)):
            best, least, most = h, more, square
    return best


@compiled
def place_all(
    order: Array, demand: Array, share: Floats, kind: Array, first: Array, last: Array,
    length: Array, capacity: Array, host: Array, load: Array, busy: Array, used: int,
) -> int:  # fmt: skip
    """Put VMs where they add least, in an order, on servers of which the first `used` are in use;
    returns how many are in use then, or -1 where there are too few.
    """
    for i in order:
        size = demand[kind[i]]
        if used == len(busy):
            return -1
        h = best_host(
            load, busy, size, share[kind[i]], first[i], last[i], length, capacity, used
        )  # fmt: skip
        host[i] = h
        used = max(used, h + 1)
        for t in range(first[i], last[i]):
            busy[h, t] += 1
            for j in range(len(size)):
                load[h, t, j] += size[j]
    return used
