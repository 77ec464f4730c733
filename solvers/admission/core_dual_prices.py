"""Compiled kernels: rents of one VM's cores, which bound what any set of jobs on it is worth beyond
the jobs' prices.

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
def core_prices(
    speed: Array, threads: Array, cores: Array, price: Array, target: float, steps: int, rent: Array
) -> float:
    """Lower the bound that rents of one VM's cores prove on what its jobs are worth less their
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
    left = np.empty(types, np.int64)
    take = np.empty(types)
    best = np.inf
    length = 1.0
    idle = 0
    # each step values the bound at the rents of now
    for _ in range(steps):
        bound = 0.0
        for c in range(types):
            bound += now[c] * cores[c]
            used[c] = 0.0
        for j in range(jobs):
            # what job j gains alone: its threads on the types of most margin first
            alone = -price[j]
            rest = threads[j]
            for c in range(types):
                margin[c] = speed[j, c] - now[c]
                left[c] = cores[c]
                take[c] = 0.0
            while rest > 0:
                top = -1
                for c in range(types):
                    if left[c] > 0 and margin[c] > 0.0 and (top < 0 or margin[c] > margin[top]):
                        top = c
                if top < 0:
                    break
                units = min(rest, left[top])
                take[top] = units
                left[top] = 0
                rest -= units
                alone += units * margin[top]
            if alone > 0.0:
                bound += alone
                for c in range(types):
                    used[c] += take[c]
        # keep the best rents; stop at the target, or where steps have become tiny
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
        # five steps without progress: half as far, from the best rents
        if idle > 4:
            length *= 0.5
            idle = 0
            for c in range(types):
                now[c] = rent[c]
            continue
        # a subgradient is cores less those used; Polyak's step length towards the target
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
    """margin[j] = what job j gains alone on the VM at these rents, less its price; returns the rent
    of all cores.
    """
    jobs, types = speed.shape
    left = np.empty(types, np.int64)
    for j in range(jobs):
        margin[j] = -price[j]
        rest = threads[j]
        for c in range(types):
            left[c] = cores[c]
        # its threads on the types of most margin first, as far as a core is worth its rent
        while rest > 0:
            top = -1
            for c in range(types):
                if (
                    left[c] > 0
                    and speed[j, c] > rent[c]
                    and (top < 0 or speed[j, c] - rent[c] > speed[j, top] - rent[top])
                ):
                    top = c
            if top < 0:
                break
            units = min(rest, left[top])
            left[top] = 0
            rest -= units
            margin[j] += units * (speed[j, top] - rent[top])
    # the rent of all cores
    total = 0.0
    for c in range(types):
        total += rent[c] * cores[c]
    return total
