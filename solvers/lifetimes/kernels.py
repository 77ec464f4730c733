"""Compiled: whole lives of VMs on servers, over the intervals between comings and goings."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..compiled import compiled

Array = npt.NDArray[np.int64]


@compiled
def place_all(
    vms: Array, size: Array, first: Array, last: Array, length: Array, capacity: Array,
    host: Array, load: Array, on: Array, used: int,
) -> int:  # fmt: skip
    """Put VMs of sizes (n, k) where they add least to the cost of servers, in the order given, for
    their intervals from `first` to before `last`; returns how many servers have ever been in use,
    of which there were `used`; -1 where `load` (h, T, k) and VMs `on` (h, T) are of too few.

    The cost of a server is the time for which it is on, less the mean square of its loads over all
    time: full servers beside nearly empty ones are the cheaper.
    """
    wide = len(capacity)
    square = 1.0 / (np.maximum(capacity, 1).astype(np.float64) ** 2 * wide)
    for i in vms:
        if used == len(on):
            return -1
        # 1. of the servers in use and one more the one whose cost grows least
        best, least = 0, np.inf
        for h in range(used + 1):
            cost = 0.0
            for t in range(first[i], last[i]):
                if on[h, t] == 0:
                    cost += length[t]
                for j in range(wide):
                    new = load[h, t, j] + size[i, j]
                    if new > capacity[j]:
                        cost = np.inf
                    cost -= length[t] * size[i, j] * (new + load[h, t, j]) * square[j]
                if cost == np.inf:
                    break
            if cost < least:
                best, least = h, cost
        # 2. it runs there
        host[i], used = best, max(used, best + 1)
        move(i, 1, size, first, last, host, load, on)
    return used


@compiled
def move(
    i: int, sign: int, size: Array, first: Array, last: Array, host: Array, load: Array, on: Array
) -> None:
    """Add a VM to its server, or take it off where the sign is -1."""
    h = host[i]
    for t in range(first[i], last[i]):
        on[h, t] += sign
        for j in range(size.shape[1]):
            load[h, t, j] += sign * size[i, j]


@compiled
def move_all(
    vms: Array, sign: int, size: Array, first: Array, last: Array, host: Array, load: Array,
    on: Array,
) -> None:  # fmt: skip
    """The same of several."""
    for i in vms:
        move(i, sign, size, first, last, host, load, on)
