"""Compiled kernel of annealing for packing; numba is imported with this module, so import it on
first use.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compiled import compiled

Array = np.ndarray[Any, Any]


@compiled
def anneal(
    size: Array,
    capacity: Array,
    share: Array,
    server: Array,
    load: Array,
    steps: int,
    hottest: float,
    coolest: float,
    moved_alone: float,
    seed: int,
) -> Any:
    """Move VMs between servers that may be overloaded until none is: simulated annealing over the
    overload, the sum over servers and resources of what passes the capacity, as a part of it.

    A step moves one VM to another server, by the chance `moved_alone`, or swaps two; overload may
    grow by about a temperature, which falls by a factor from `hottest` to `coolest`.

    size (n, k) and capacity (m, k), whole numbers in floats, in which loads
    are exact as totals are below 2**53. share (m, k)
    weight of a unit too much. server (n,) of each VM and load (m, k) are changed. Returns how many
    servers are still overloaded.
    """
    np.random.seed(seed)
    vms, resources = size.shape
    servers = len(load)
    # 1. by how much servers are overloaded
    over = np.zeros(servers)
    bad = 0
    for m in range(servers):
        for j in range(resources):
            over[m] += max(0.0, load[m, j] - capacity[m, j]) * share[m, j]
        bad += over[m] > 0
    temperature, factor = hottest, (coolest / hottest) ** (1.0 / steps)
    for _ in range(steps):
        if bad == 0:
            break
        # 2. draw a VM, and a server or a VM of another one
        temperature *= factor
        i = np.random.randint(vms)
        a = server[i]
        alone = np.random.random() < moved_alone
        other = i
        if alone:
            b = np.random.randint(servers)
        else:
            other = np.random.randint(vms)
            b = server[other]
        if a == b:
            continue
        # 3. accept by what both servers are overloaded by afterwards
        most = over[a] + over[b] - temperature * np.log(1.0 - np.random.random())
        after_b = 0.0
        for j in range(resources):
            change = size[i, j] if alone else size[i, j] - size[other, j]
            after_b += max(0.0, load[b, j] + change - capacity[b, j]) * share[b, j]
        if after_b > most:
            continue
        after_a = 0.0
        for j in range(resources):
            change = size[i, j] if alone else size[i, j] - size[other, j]
            after_a += max(0.0, load[a, j] - change - capacity[a, j]) * share[a, j]
        if after_a + after_b > most:
            continue
        for j in range(resources):
            change = size[i, j] if alone else size[i, j] - size[other, j]
            load[a, j] -= change
            load[b, j] += change
        server[other], server[i] = a, b
        bad += (after_a > 0) - (over[a] > 0) + (after_b > 0) - (over[b] > 0)
        over[a], over[b] = after_a, after_b
    return bad
