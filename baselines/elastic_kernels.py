"""Compiled policies for elastic jobs; numba is imported with this module, so import it on first
use.
"""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np
import numpy.typing as npt

from ..solvers.compiled import compiled

Array = npt.NDArray[Any]


@compiled
def in_order(order: Array, kind: Array, workers: Array, idle: Array, left: Array) -> Array:
    """Assign idle jobs to configurations in an order of entries (type, configuration), each time as
    many jobs as the free devices allow; return the number (n, C) of jobs in each.

    Parameters
    ----------
    kind, workers : (C,) of each configuration.
    idle, left : (n,) jobs of each type and (D,) devices; written.
    """
    number = np.zeros((len(idle), len(kind)), dtype=np.int64)
    for place in order:
        i, c = divmod(place, len(kind))
        jobs = min(idle[i], left[kind[c]] // workers[c])
        number[i, c] += jobs
        idle[i] -= jobs
        left[kind[c]] -= jobs * workers[c]
    return number


@compiled
def by_gain(utility: Array, kind: Array, workers: Array, idle: Array, left: Array) -> Array:
    """Give devices where they add most utility each; return the number (n, C) of jobs.

    The number is of each type in each configuration. For the parameters see `in_order`.
    """
    number = np.zeros(utility.shape, dtype=np.int64)
    heap = [(-np.inf, i, -1) for i in range(len(idle)) if idle[i]]
    # what is left only falls, and with it every gain: the first that is still so good is the best
    while heap:
        # 1. the configuration that gains most per device for a job of the type
        known, i, now = heapq.heappop(heap)
        size = 0 if now < 0 else workers[now]
        have = 0.0 if now < 0 else utility[i, now]
        rate, c = 0.0, -1
        for other in range(len(kind)):
            more = workers[other] - size
            if 0 < more <= left[kind[other]] and (now < 0 or kind[other] == kind[now]):
                gain = (utility[i, other] - have) / more
                if gain > rate:
                    rate, c = gain, other
        if rate <= 0:
            continue
        if rate < -known:
            heapq.heappush(heap, (-rate, i, now))
            continue
        # 2. as many jobs as there are devices for change to it
        more = workers[c] - size
        there = idle[i] if now < 0 else number[i, now]
        jobs = min(there, left[kind[c]] // more)
        left[kind[c]] -= jobs * more
        number[i, c] += jobs
        if now < 0:
            idle[i] -= jobs
        else:
            number[i, now] -= jobs
        # 3. both states of the type, at once again
        if there > jobs:
            heapq.heappush(heap, (-np.inf, i, now))
        heapq.heappush(heap, (-np.inf, i, c))
    return number
