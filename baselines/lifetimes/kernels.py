"""Compiled: VMs go on servers as they come, and stay."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ...solvers.compiled import compiled

Array = npt.NDArray[np.int64]

FIRST, BEST, DOT, RANDOM, EXTENSION, ALIGNED, CLASSES = range(7)


@compiled
def score_of(
    policy: int, size: Array, free: Array, capacity: Array, until: int, end: int, now: int
) -> float:
    """What a policy looks at of a server on which a VM fits, the less the better."""
    left, product, wide = 0.0, 0.0, len(capacity)
    for j in range(wide):
        if capacity[j] > 0:
            left += (free[j] - size[j]) / capacity[j] / (2 * wide)
            product += size[j] / capacity[j] * (free[j] / capacity[j])
    if policy == FIRST or policy == RANDOM:
        return 0.0
    if policy == DOT:
        return -product
    if policy == EXTENSION:
        return max(0, end - max(until, now)) + left
    if policy == ALIGNED:
        return abs(end - until) + left
    return left


@compiled
def run_policy(
    policy: int, order: Array, leaving: Array, demand: Array, capacity: Array, kind: Array,
    start: Array, end: Array, expected: Array, draw: npt.NDArray[np.float64], host: Array,
) -> int:  # fmt: skip
    """Put VMs on servers in an order of arrival; `leaving` are the VMs by their ends, `draw` a
    number of each. Returns how many servers were ever in use.

    A server without VMs is taken where no other has room. Of servers that are as good the first.
    """
    n, wide = len(order), len(capacity)
    free = np.zeros((n, wide), dtype=np.int64)
    number, until = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    family = np.zeros(n, dtype=np.int64)
    gone, top = 0, 0
    for i in order:
        now, size = start[i], demand[kind[i]]
        while end[leaving[gone]] <= now:
            v = leaving[gone]
            gone += 1
            number[host[v]] -= 1
            free[host[v]] += demand[kind[v]]
        own = int(np.log2(max(expected[i] - now, 1)))
        best, least, empty, able = -1, 0.0, top, 0
        for h in range(top):
            if number[h] == 0:
                empty = min(empty, h)
                continue
            fits = policy != CLASSES or family[h] == own
            for j in range(wide):
                fits = fits and size[j] <= free[h, j]
            if not fits:
                continue
            able += 1
            value = score_of(policy, size, free[h], capacity, until[h], expected[i], now)
            if best < 0 or value < least:
                best, least = h, value
        if policy == RANDOM and able > 0:  # the one so far down the list of those with room
            left = int(draw[i] * able)
            for h in range(top):
                fits = number[h] > 0
                for j in range(wide):
                    fits = fits and size[j] <= free[h, j]
                if fits:
                    best = h
                    left -= 1
                    if left < 0:
                        break
        if best < 0:
            best = empty
            top = max(top, best + 1)
            free[best] = capacity
            until[best] = now
            family[best] = own
        host[i] = best
        number[best] += 1
        free[best] -= size
        until[best] = max(until[best], expected[i])
    return top
