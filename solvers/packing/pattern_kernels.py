"""Compiled kernels over patterns (what one server can hold), and of annealing; numba is imported
with this module, so import it on first use.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compiled import compiled
from .fitting_kernels import fits
from .rule_arrays import Array


@compiled
def knapsack_bounds(profit: Array, bound: Array, weight: Array, room: int) -> Any:
    """Maximum profit of items from index t on within each weight, shape (r, s + 1, room + 1), for r
    knapsacks with integer weights (r, s).

    Copies of an item are taken in bundles of 1, 2, 4, ..., which together make every number.
    """
    knapsacks, types = weight.shape
    best = np.zeros((knapsacks, types + 1, room + 1), dtype=np.int64)
    for r in range(knapsacks):
        for t in range(types - 1, -1, -1):
            for space in range(room + 1):
                best[r, t, space] = best[r, t + 1, space]
            left, bundle = bound[t], 1
            while left > 0 and profit[t] > 0:
                copies = min(bundle, left)
                heavy, worth = copies * weight[r, t], copies * profit[t]
                for space in range(room, heavy - 1, -1):
                    more = best[r, t, space - heavy] + worth
                    best[r, t, space] = max(best[r, t, space], more)
                left -= copies
                bundle *= 2
                if heavy > room:
                    break
    return best


@compiled
def best_patterns(
    profit: Array,
    demand: Array,
    bound: Array,
    capacity: Array,
    weight: Array,
    reach: Array,
    least: int,
    slack: int,
    most_nodes: int,
    keep: int,
    enumerate_all: bool,
    spread: bool,
) -> Any:
    """Depth-first search for the pattern of most profit above `least`: a bounded multi-dimensional
    knapsack.

    profit (s,) whole numbers; demand (s, k); bound (s,) most copies; capacity (k,). A node's bound
    is the least of what `reach` (r, s + 1, room + 1), made of weight (r, s) by `knapsack_bounds`,
    allows for the items that are left. A branch is left when it cannot beat the best by more than
    `slack`; the search stops after `most_nodes` nodes. `keep` patterns are kept, the latest
    improvements. With `enumerate_all` every *maximal* pattern of profit >= least is kept instead,
    until `keep` are full (then found = -1). With `spread` branches are searched that may come half
    as far above `least` as the best, and the best pattern of each item counts as an improvement.

    Returns (patterns (keep, s), found, best profit (least when none), nodes, whole: whether the
    search was exhaustive; then no pattern is worth more than best + slack, otherwise none is worth
    more than best).
    """
    types, resources = demand.shape
    knapsacks = len(weight)
    patterns = np.zeros((keep, types), dtype=np.int32)
    # 1. arrays: no pattern holds more VMs than all that fit one by one
    depth_most = 1
    for i in range(types):
        copies = bound[i]
        for j in range(resources):
            if demand[i, j] > 0:
                copies = min(copies, capacity[j] // demand[i, j])
        depth_most += copies
    # the branch is a stack: room, weight left, profit, the item to try next, the item taken
    free = np.zeros((depth_most + 1, resources), dtype=np.int64)
    left = np.zeros((depth_most + 1, knapsacks), dtype=np.int64)
    value = np.zeros(depth_most + 1, dtype=np.int64)
    following = np.zeros(depth_most + 1, dtype=np.int64)
    chosen = np.zeros(depth_most + 1, dtype=np.int64)
    count = np.zeros(types, dtype=np.int64)
    top = np.full(types, least)  # of patterns with each item, with `spread`
    for j in range(resources):
        free[0, j] = capacity[j]
    for r in range(knapsacks):
        left[0, r] = reach.shape[2] - 1
    depth = 0
    best = least
    found = 0
    nodes = 0
    exhaustive = True
    while True:
        # 2. the next item that fits, as long as those from it on are worth enough
        t = following[depth]
        level = least + (best - least) // 2 if spread else best
        needed = (least if enumerate_all else level + slack + 1) - value[depth]
        go = False
        while t < types and reach[0, t, left[depth, 0]] >= needed:
            wanted = count[t] < bound[t] and (enumerate_all or profit[t] > 0)
            if wanted and fits(demand, t, free, depth):
                go = True
                for r in range(1, knapsacks):
                    go = go and reach[r, t, left[depth, r]] >= needed
                break
            t += 1
        if go:
            # 3. branch: take one of item t, and let later ones come from t on
            nodes += 1
            if nodes > most_nodes:
                exhaustive = False
                break
            following[depth] = t + 1
            chosen[depth] = t
            count[t] += 1
            value[depth + 1] = value[depth] + profit[t]
            for j in range(resources):
                free[depth + 1, j] = free[depth, j] - demand[t, j]
            for r in range(knapsacks):
                left[depth + 1, r] = left[depth, r] - weight[r, t]
            depth += 1
            following[depth] = t
            # 4. an improvement is kept, over the oldest one kept
            better = value[depth] > best
            if spread and value[depth] > least:
                for d in range(depth):
                    if value[depth] > top[chosen[d]]:
                        top[chosen[d]] = value[depth]
                        better = True
            if better and not enumerate_all:
                best = max(best, value[depth])
                for i in range(types):
                    patterns[found % keep, i] = count[i]
                found += 1
            continue
        if enumerate_all and value[depth] >= least:
            # nothing more is added after this: is the pattern maximal?
            maximal = True
            for i in range(types):
                if count[i] >= bound[i]:
                    continue
                if fits(demand, i, free, depth):
                    maximal = False
                    break
            if maximal:
                if found == keep:
                    return patterns, -1, best, nodes, False
                for i in range(types):
                    patterns[found, i] = count[i]
                found += 1
                best = max(best, value[depth])
        # 5. back: the item taken last goes
        if depth == 0:
            break
        depth -= 1
        count[chosen[depth]] -= 1
    # 6. what was not searched: the items still to be tried at each node of the branch
    for d in range(0 if exhaustive or enumerate_all else depth + 1):
        most = reach[0, following[d], left[d, 0]]
        for r in range(1, knapsacks):
            most = min(most, reach[r, following[d], left[d, r]])
        best = max(best, value[d] + most)
    return patterns, found, best, nodes, exhaustive


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
    """Move VMs between servers, by simulated annealing, until no server is overloaded. The overload
    to reduce is the sum over servers and resources of the load above the capacity, as a part of it.

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
        threshold = over[a] + over[b] - temperature * np.log(1.0 - np.random.random())
        after_b = 0.0
        for j in range(resources):
            change = size[i, j] if alone else size[i, j] - size[other, j]
            after_b += max(0.0, load[b, j] + change - capacity[b, j]) * share[b, j]
        if after_b > threshold:
            continue
        after_a = 0.0
        for j in range(resources):
            change = size[i, j] if alone else size[i, j] - size[other, j]
            after_a += max(0.0, load[a, j] - change - capacity[a, j]) * share[a, j]
        if after_a + after_b > threshold:
            continue
        for j in range(resources):
            change = size[i, j] if alone else size[i, j] - size[other, j]
            load[a, j] -= change
            load[b, j] += change
        server[other], server[i] = a, b
        bad += (after_a > 0) - (over[a] > 0) + (after_b > 0) - (over[b] > 0)
        over[a], over[b] = after_a, after_b
    return bad
