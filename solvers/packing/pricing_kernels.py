"""Compiled kernels over patterns (what one server can hold); numba is imported with this module, so
import it on first use.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compiled import compiled
from .fitting_kernels import fits

Array = np.ndarray[Any, Any]


@compiled
def best_patterns(
    profit: Array,
    demand: Array,
    bound: Array,
    capacity: Array,
    weight: Array,
    room: float,
    least: int,
    slack: int,
    most_nodes: int,
    keep: int,
    enumerate_all: bool,
) -> Any:
    """Bounded multi-dimensional knapsack by depth-first search: the pattern of most profit above
    `least`.

    profit (s,) whole numbers; demand (s, k); bound (s,) most copies; capacity (k,). Items come by
    decreasing profit per weight (weight (s,) and room: one surrogate constraint, in floats) and the
    node bound is Dantzig's on it over the items that fit one by one, rounded up safely. A branch is
    left when it cannot beat the best by more than `slack`; the search stops after `most_nodes`
    nodes. `keep` patterns are kept, the latest improvements. With `enumerate_all` every *maximal*
    pattern of profit >= least is kept instead, until `keep` are full (then found = -1).

    Returns (patterns (keep, s), found, best profit (least when none), nodes, whole: whether the
    search was exhaustive; then no pattern is worth more than best + slack).
    """
    types, resources = demand.shape
    patterns = np.zeros((keep, types), dtype=np.int32)
    # no pattern holds more VMs than all that fit one by one
    depth_most = 1
    for i in range(types):
        copies = bound[i]
        for j in range(resources):
            if demand[i, j] > 0:
                copies = min(copies, capacity[j] // demand[i, j])
        depth_most += copies
    # the branch is a stack: room, weight left, profit, the item to try next, the item taken
    free = np.zeros((depth_most + 1, resources), dtype=np.int64)
    left = np.zeros(depth_most + 1)
    value = np.zeros(depth_most + 1, dtype=np.int64)
    following = np.zeros(depth_most + 1, dtype=np.int64)
    chosen = np.zeros(depth_most + 1, dtype=np.int64)
    count = np.zeros(types, dtype=np.int64)
    for j in range(resources):
        free[0, j] = capacity[j]
    left[0] = room
    depth = 0
    best = least
    found = 0
    nodes = 0
    whole = True
    while True:
        t = following[depth]
        # the next item that fits
        while t < types:
            wanted = count[t] < bound[t] and (enumerate_all or profit[t] > 0)
            if wanted and fits(demand, t, free, depth):
                break
            t += 1
        go = t < types
        if go:
            # Dantzig's bound over items from t on that fit
            reach = 0.0
            space = left[depth]
            for i in range(t, types):
                if profit[i] <= 0:
                    continue
                copies = bound[i] - count[i] if i == t else bound[i]
                for j in range(resources):
                    if demand[i, j] > 0:
                        copies = min(copies, free[depth, j] // demand[i, j])
                if copies <= 0:
                    continue
                if copies * weight[i] <= space:
                    space -= copies * weight[i]
                    reach += copies * float(profit[i])
                else:
                    reach += float(profit[i]) * (space / weight[i])
                    break
            reach = float(value[depth]) + reach * (1.0 + 1e-9) + 1e-3
            go = reach >= least if enumerate_all else reach > best + slack
        if go:
            # branch: take one of item t, and let later ones come from t on
            nodes += 1
            if nodes > most_nodes:
                whole = False
                break
            following[depth] = t + 1
            chosen[depth] = t
            count[t] += 1
            value[depth + 1] = value[depth] + profit[t]
            for j in range(resources):
                free[depth + 1, j] = free[depth, j] - demand[t, j]
            left[depth + 1] = left[depth] - weight[t]
            depth += 1
            following[depth] = t
            # an improvement is kept, over the oldest one kept
            if not enumerate_all and value[depth] > best:
                best = value[depth]
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
        # back: the item taken last goes
        if depth == 0:
            break
        depth -= 1
        count[chosen[depth]] -= 1
    return patterns, found, best, nodes, whole
