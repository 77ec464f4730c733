"""Compiled kernels of dual prices of one VM's cores ("rents"), which bound the worth of any set of
jobs on it beyond the jobs' prices.

For rents q >= 0 and any set S of jobs on the VM, with m[j] what job j gains alone at these rents,

    F(S) - price(S)  <=  sum over c of q[c] cores[c] + sum over j in S of (m[j] - price[j]).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..compiled import compiled

Array = NDArray[Any]


@compiled
def _alone(
    speed: Array, threads: Array, cores: Array, rent: Array, j: int, total: float, gain: Array,
    take: Array,
) -> float:  # fmt: skip
    """Gain of job j alone, added to a total: its threads on the types of most gain (C,) first, as
    long as a core is worth its rent; take (C,) receives the cores.
    """
    types = len(rent)
    for c in range(types):
        gain[c] = speed[j, c] - rent[c]
        take[c] = 0
    rest = threads[j]
    while rest > 0:
        top = -1
        for c in range(types):
            free = take[c] == 0 and cores[c] > 0
            if free and gain[c] > 0.0 and (top < 0 or gain[c] > gain[top]):
                top = c
        if top < 0:
            break
        take[top] = min(rest, cores[top])
        rest -= take[top]
        total += take[top] * gain[top]
    return total


@compiled
def core_prices(
    speed: Array, threads: Array, cores: Array, price: Array, target: float, steps: int, rent: Array
) -> float:
    """Lower the bound that rents of one VM's cores prove on the worth of its jobs minus their
    prices.

    For rents (C,) the bound is sum of rent[c] cores[c] + sum over jobs of max(0, what job j gains
    alone at these rents - price[j]). Subgradient steps towards `target`, from `rent`, which the
    best one replaces; returns its bound.
    """
    jobs, types = speed.shape
    now = np.empty(types)
    for c in range(types):
        now[c] = rent[c]
    used = np.empty(types)
    margin = np.empty(types)
    take = np.empty(types, np.int64)
    best = np.inf
    length = 1.0
    idle = 0
    for _ in range(steps):
        # 1. the bound at the rents of now
        bound = 0.0
        for c in range(types):
            bound += now[c] * cores[c]
            used[c] = 0.0
        for j in range(jobs):
            alone = _alone(speed, threads, cores, now, j, -price[j], margin, take)
            if alone > 0.0:
                bound += alone
                for c in range(types):
                    used[c] += take[c]
        # 2. keep the best rents; stop at the target, or where steps have become tiny
        if bound < best * (1 - 1e-7):
            idle = 0
        else:
            idle += 1
        if bound < best:
            best = bound
            for c in range(types):
                rent[c] = now[c]
        if best <= target or length < 1e-3:
            break
        # 3. after five steps without progress: half as far, from the best rents
        if idle > 4:
            length *= 0.5
            idle = 0
            for c in range(types):
                now[c] = rent[c]
            continue
        # 4. a subgradient is cores less those used; Polyak's step length towards the target
        norm = 0.0
        for c in range(types):
            norm += (cores[c] - used[c]) ** 2
        if norm == 0.0:
            break
        for c in range(types):
            now[c] = max(0.0, now[c] - length * (bound - target) / norm * (cores[c] - used[c]))
    return best


@compiled
def margins(
    speed: Array, threads: Array, cores: Array, price: Array, rent: Array, margin: Array
) -> float:
    """Compute margin[j], the gain of job j alone on the VM at these rents minus its price; returns
    the rent of all cores.
    """
    jobs, types = speed.shape
    gain = np.empty(types)
    take = np.empty(types, np.int64)
    for j in range(jobs):
        margin[j] = _alone(speed, threads, cores, rent, j, -price[j], gain, take)
    # the rent of all cores
    total = 0.0
    for c in range(types):
        total += rent[c] * cores[c]
    return total
