"""Compiled: VMs go on servers as they come, and stay."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ...solvers.compiled import compiled

Array = npt.NDArray[np.int64]

FIRST, BEST, EXTENSION, ALIGNED, CLASSES = range(5)


@compiled
def run_policy(
    policy: int, order: Array, leaving: Array, size: Array, capacity: Array, start: Array,
    end: Array, expected: Array, host: Array,
) -> int:  # fmt: skip
    """Put VMs of a size (n, k) on servers in an order of arrival; `leaving` are the VMs by their
    ends. Returns how many servers were ever in use.

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
    return top
