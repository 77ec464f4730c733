"""Placement of VMs one by one: by online policies, and offline for whole lifetimes.

Its kernels are compiled when this module is imported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ...instances.lifetimes import Hosts, Integers, Lifetimes
from ..compiled import compiled
from ..outcome import Clock

BY_START = (1.0, 0.9, 0.5, 0.0)
"""Orders in which VMs are placed: by their starts, by their ends from the last on, and between."""

ROUNDS, ROUNDS_SIZE = 5_000, 200_000_000
"""Changes of the best order that are tried, at most; fewer for large traces: so many VMs times
servers in all.
"""

MOVED = 3
"""VMs that a change moves, at most: by all distances in the order, from one place to all."""

AT_ONCE = 5_000
"""VMs that are placed between two looks at the clock."""

MOST_CELLS = 60_000_000
"""Loads that are kept; of longer traces intervals are joined, in which a VM counts throughout."""


def clairvoyant(
    instance: Lifetimes, rng: np.random.Generator, worth: Callable[[Hosts], int],
    clock: Clock,
) -> Iterator[Hosts]:  # fmt: skip
    """Iterate over placements in several orders, then with random changes of the best order, until
    the time is up.
    """
    # 1. orders by starts and ends
    start, end = instance.start - instance.times[0], instance.end - instance.times[0]
    best, order = np.inf, np.arange(len(start))
    for share in BY_START:
        key = share * start - (1 - share) * end
        tried = np.lexsort((start, -end, key) if share < 1 else (-end, start))
        if (answer := placed(instance, tried, clock)) is None:
            return
        yield answer
        if worth(answer) < best:
            best, order = worth(answer), tried
    # 2. some VMs moved in the best order
    for turn in range(min(ROUNDS, ROUNDS_SIZE // instance.size)):
        key = np.arange(len(order), dtype=float)
        moved = rng.integers(len(order), size=rng.integers(1, MOVED + 1))
        key[moved] += rng.normal(scale=len(order) ** rng.random(), size=len(moved))
        answer = placed(instance, tried := order[np.argsort(key)], clock)
        if answer is None:
            return
        if better := (value := worth(answer)) <= best:
            better, best, order = value < best, value, tried
        if better or turn % 10 == 9:
            yield answer


def placed(instance: Lifetimes, order: Integers, clock: Clock) -> Hosts | None:
    """Place VMs in an order, each where server-time grows least; None at the time limit."""
    size, servers = instance.demand[instance.kind], int(instance.volume.max() * 1.2) + 8
    while True:
        step = -(-len(instance.times) * servers * size.shape[1] // MOST_CELLS)
        times = np.append(instance.times[:-1:step], instance.times[-1])
        first = np.searchsorted(times, instance.start, "right") - 1
        last, host = np.searchsorted(times, instance.end), np.zeros(len(order), dtype=np.int64)
        load = np.zeros((servers, len(times) - 1, size.shape[1]), dtype=np.int64)
        used, length = 0, np.diff(times)
        for part in np.array_split(order, -(-len(order) // AT_ONCE)):
            if used >= 0 and clock.expired:
                return None
            used = _place(part, size, first, last, length, instance.capacity, host, load, used)
        if used >= 0:
            return Hosts(host)
        servers = min(2 * servers, len(order) + 1)


@compiled
def _place(
    order: Integers, size: Integers, first: Integers, last: Integers, length: Integers,
    capacity: Integers, host: Integers, load: Integers, used: int,
) -> int:  # fmt: skip
    """Place VMs of sizes (n, k) in the given order, each where the cost of servers grows least, for
    the intervals from `first` to before `last`; return the number of servers.

    The cost of a server is the time for which it is on, less the mean square of its loads over all
    time: full servers beside nearly empty ones are the cheaper.
    """
    square = 1.0 / (np.maximum(capacity, 1).astype(np.float64) ** 2 * len(capacity))
    for i in order:
        if not 0 <= used < len(load):
            return -1
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
    return used


FIRST, BEST, EXTENSION, ALIGNED, CLASSES = range(5)


def placed_as_they_come(
    instance: Lifetimes, policy: int, second: Integers, expected: Integers
) -> Hosts:
    """Place VMs online by a policy in the order of their starts, ties by `second`; `expected` are
    their predicted ends.
    """
    order, leaving = np.lexsort((second, instance.start)), np.argsort(instance.end, kind="stable")
    size, host = instance.demand[instance.kind], np.zeros(len(order), dtype=np.int64)
    times = instance.start, instance.end, expected
    _run_policy(policy, order, leaving, size, instance.capacity, *times, host)
    return Hosts(host)


@compiled
def _run_policy(
    policy: int, order: Integers, leaving: Integers, size: Integers, capacity: Integers,
    start: Integers, end: Integers, expected: Integers, host: Integers,
) -> None:  # fmt: skip
    """Compiled online placement of VMs of sizes (n, k) in the order of arrival; `leaving` lists the
    VMs by their ends.

    A server without VMs is taken where no other has room; of servers that are as good the first.
    """
    n, wide, gone, top = len(order), len(capacity), 0, 0
    free = np.zeros((n, wide), dtype=np.int64)
    # of each server: VMs on it, its last end as far as is known, and its class of lifetimes
    number, until, family = np.zeros((3, n), dtype=np.int64)
    for i in order:
        # 1. VMs that have ended are gone
        while end[leaving[gone]] <= start[i]:
            v = leaving[gone]
            gone += 1
            number[host[v]] -= 1
            free[host[v]] += size[v]
        # 2. the server with the least score of those that are on and have room
        own = int(np.log2(max(expected[i] - start[i], 1)))
        best, least, empty = -1, 0.0, top
        for h in range(top):
            if number[h] == 0:
                empty = min(empty, h)
                continue
            fits, score = policy != CLASSES or family[h] == own, 0.0
            for j in range(wide):
                fits = fits and size[i, j] <= free[h, j]
                score += (free[h, j] - size[i, j]) / max(capacity[j], 1) / (2 * wide)
            if policy == FIRST:
                score = 0.0
            elif policy == EXTENSION:
                score += max(0, expected[i] - max(until[h], start[i]))
            elif policy == ALIGNED:
                score += abs(expected[i] - until[h])
            if fits and (best < 0 or score < least):
                best, least = h, score
        # 3. else one that is off
        if best < 0:
            best, top = empty, max(top, empty + 1)
            free[best], until[best], family[best] = capacity, start[i], own
        host[i] = best
        number[best] += 1
        free[best] -= size[i]
        until[best] = max(until[best], expected[i])
