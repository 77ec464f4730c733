"""Answers for who knows all lives: VMs placed one by one, each for its whole life.

Its kernel is compiled when this module is imported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ...instances.lifetimes import Hosts, Integers, Lifetimes
from ..compiled import compiled

BY_START = (1.0, 0.9, 0.5, 0.0)
"""Orders in which VMs are placed: by their starts, by their ends from the last on, and between."""

ROUNDS, ROUNDS_SIZE = 5_000, 200_000_000
"""Changes of the best order that are tried, at most; fewer for large traces: so many VMs times
servers in all.
"""

MOVED = 3
"""VMs that a change moves, at most: by all distances in the order, from one place to all."""

MOST_CELLS = 60_000_000
"""Loads that are kept; of longer traces intervals are joined, in which a VM counts throughout."""


def clairvoyant(
    instance: Lifetimes, rng: np.random.Generator, worth: Callable[[Hosts], int]
) -> Iterator[Hosts]:
    """Answers of VMs placed in several orders; then with the best order changed at random, where
    that is not worse, as long as it is asked for.
    """
    # 1. orders by starts and ends
    start, end = instance.start - instance.times[0], instance.end - instance.times[0]
    best, order = np.inf, np.arange(len(start))
    for share in BY_START:
        key = share * start - (1 - share) * end
        tried = np.lexsort((start, -end, key) if share < 1 else (-end, start))
        yield (answer := placed(instance, tried))
        if worth(answer) < best:
            best, order = worth(answer), tried
    # 2. some VMs moved in the best order
    for turn in range(min(ROUNDS, ROUNDS_SIZE // instance.size)):
        key = np.arange(len(order), dtype=float)
        moved = rng.integers(len(order), size=rng.integers(1, MOVED + 1))
        key[moved] += rng.normal(scale=len(order) ** rng.random(), size=len(moved))
        answer = placed(instance, tried := order[np.argsort(key)])
        if better := (value := worth(answer)) <= best:
            better, best, order = value < best, value, tried
        if better or turn % 10 == 9:
            yield answer


def placed(instance: Lifetimes, order: Integers) -> Hosts:
    """VMs in an order, each where server-time grows least."""
    size, servers = instance.demand[instance.kind], int(instance.volume.max() * 1.2) + 8
    while True:
        step = -(-len(instance.times) * servers * size.shape[1] // MOST_CELLS)
        times = np.append(instance.times[:-1:step], instance.times[-1])
        first = np.searchsorted(times, instance.start, "right") - 1
        last, host = np.searchsorted(times, instance.end), np.zeros(len(order), dtype=np.int64)
        load = np.zeros((servers, len(times) - 1, size.shape[1]), dtype=np.int64)
        if _place_all(order, size, first, last, np.diff(times), instance.capacity, host, load):
            return Hosts(host)
        servers = min(2 * servers, len(order) + 1)


@compiled
def _place_all(
    order: Integers, size: Integers, first: Integers, last: Integers, length: Integers,
    capacity: Integers, host: Integers, load: Integers,
) -> bool:  # fmt: skip
    """Put VMs of sizes (n, k) where they add least to the cost of servers, in the order given, for
    their intervals from `first` to before `last`; returns whether `load` (h, T, k) has enough
    servers.

    The cost of a server is the time for which it is on, less the mean square of its loads over all
    time: full servers beside nearly empty ones are the cheaper.
    """
    used, square = 0, 1.0 / (np.maximum(capacity, 1).astype(np.float64) ** 2 * len(capacity))
    for i in order:
        if used == len(load):
            return False
        # 1. of the servers in use and one more the one whose cost grows least
        best, least = 0, np.inf
        for h in range(used + 1):
            cost = 0.0
            for t in range(first[i], last[i]):
                off = True
                for j in range(len(capacity)):
                    new = load[h, t, j] + size[i, j]
                    if new > capacity[j]:
                        cost = np.inf
                    off = off and load[h, t, j] == 0
                    cost -= length[t] * size[i, j] * (new + load[h, t, j]) * square[j]
                if off:
                    cost += length[t]
                if cost == np.inf:
                    break
            if cost < least:
                best, least = h, cost
        # 2. it runs there
        host[i], used = best, max(used, best + 1)
        for t in range(first[i], last[i]):
            for j in range(len(capacity)):
                load[best, t, j] += size[i, j]
    return True
