"""Compiled kernels of the greedy packers; numba is imported with this module, so import it on first
use.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compiled import compiled

Array = np.ndarray[Any, Any]

BLOCK = 256
FULL = -(2**62)
"""The arrays for the answer have no room for another server."""


@compiled
def _fits(demand: Array, i: int, room: Array, m: int) -> bool:
    """Whether a VM of type i fits what row m of `room` has."""
    for j in range(demand.shape[1]):
        if demand[i, j] > room[m, j]:
            return False
    return True


@compiled
def _opened(
    demand: Array,
    i: int,
    capacity: Array,
    preference: Array,
    left: Array,
    kind: Array,
    free: Array,
    used: int,
) -> int:
    """Open a server, as row `used`, of the first class in the order of preference that a VM of type
    i fits; -1 when there is none left, FULL when there is no row for it.
    """
    for place in range(len(preference)):
        c = preference[place]
        if left[c] > 0 and _fits(demand, i, capacity, c):
            if used == len(kind):
                return FULL
            kind[used] = c
            left[c] -= 1
            for j in range(demand.shape[1]):
                free[used, j] = capacity[c, j]
            return used
    return -1


@compiled
def _sort(room: Array, slack: Array, found: int) -> None:
    """Sort the first `found` entries of both arrays by `slack`, those that are equal as they stand.

    A stable merge sort, runs of 1, 2, 4... joined in turn: numba takes longer to compile its own
    `argsort` than all else here.
    """
    servers, values = np.empty_like(room), np.empty_like(slack)
    width = 1
    while width < found:
        for begin in range(0, found, 2 * width):
            a, middle = begin, min(begin + width, found)
            b, end = middle, min(begin + 2 * width, found)
            for k in range(begin, end):
                if b == end or (a < middle and slack[a] <= slack[b]):
                    servers[k], values[k] = room[a], slack[a]
                    a += 1
                else:
                    servers[k], values[k] = room[b], slack[b]
                    b += 1
        for k in range(found):
            room[k], slack[k] = servers[k], values[k]
        width *= 2


@compiled
def place_runs(
    order: Array,
    number: Array,
    demand: Array,
    capacity: Array,
    servers: Array,
    preference: Array,
    share: Array,
    best: bool,
    count: Array,
    kind: Array,
    free: Array,
) -> Any:
    """Place runs of equal VMs one after the other on the first (or fullest) server where one fits,
    opening servers by preference.

    order, number: (r,) type of each run and how many. share: (p, k) weight of a free unit. best:
    fullest instead of first. count (n, s), kind (n,), free (n, k): room for the answer. Returns
    servers used, or -1 - run when a VM fits nowhere. A server that is fullest stays so while it
    takes more of the same run, so a whole run may be placed at once.
    """
    used = 0
    left = servers.copy()
    resources = demand.shape[1]
    room = np.empty(len(kind), dtype=np.int64)
    slack = np.empty(len(kind))
    for run in range(len(order)):
        i = order[run]
        todo = number[run]
        # the servers where one fits, the first or the fullest first: none fits again once it has
        # taken what it can of the run
        found = 0
        for m in range(used):
            if not _fits(demand, i, free, m):
                continue
            rest = 0.0
            if best:
                for j in range(resources):
                    rest += free[m, j] * share[kind[m], j]
            room[found] = m
            slack[found] = rest
            found += 1
            if not best and found >= todo:
                break
        if best:
            _sort(room, slack, found)
        place = 0
        while todo > 0:
            if place < found:
                chosen = room[place]
                place += 1
            else:  # none: open one
                chosen = _opened(demand, i, capacity, preference, left, kind, free, used)
                if chosen < 0:
                    return FULL if chosen == FULL else -1 - run
                used += 1
            most = todo
            for j in range(resources):
                if demand[i, j] > 0:
                    most = min(most, free[chosen, j] // demand[i, j])
            count[chosen, i] += most
            todo -= most
            for j in range(resources):
                free[chosen, j] -= most * demand[i, j]
    return used


@compiled
def fill_servers(
    number: Array,
    demand: Array,
    capacity: Array,
    servers: Array,
    preference: Array,
    weight: Array,
    norm: bool,
    count: Array,
    kind: Array,
) -> Any:
    """Open one server after the other and fill it, each time with the VM that suits what is left
    best.

    norm False: largest weighted dot product of the VM with what is free. True: least weighted
    square norm of what would be left. weight (p, k) turns units into weighted shares; ties to the
    lowest type. Servers are opened by preference, the first class that holds some VM still to be
    placed. Returns servers used, or -1 when a VM fits nowhere.
    """
    todo = number.copy()
    left = servers.copy()
    remaining = todo.sum()
    types, resources = demand.shape
    free = np.zeros((1, resources), dtype=np.int64)
    used = 0
    while remaining > 0:
        # the first class by preference that holds some VM still to be placed
        c = -1
        for place in range(len(preference)):
            candidate = preference[place]
            if left[candidate] <= 0:
                continue
            for i in range(types):
                if todo[i] == 0:
                    continue
                if _fits(demand, i, capacity, candidate):
                    c = candidate
                    break
            if c >= 0:
                break
        if c < 0:
            return -1
        if used == len(kind):
            return FULL
        # open a server of it
        left[c] -= 1
        kind[used] = c
        for j in range(resources):
            free[0, j] = capacity[c, j]
        while True:
            # fill it: the VM that suits best what is free, until none fits
            chosen = -1
            value = -np.inf
            for i in range(types):
                if todo[i] == 0:
                    continue
                if not _fits(demand, i, free, 0):
                    continue
                score = 0.0
                for j in range(resources):
                    if norm:
                        rest = (free[0, j] - demand[i, j]) * weight[c, j]
                        score -= rest * rest
                    else:
                        score += demand[i, j] * weight[c, j] * free[0, j] * weight[c, j]
                if score > value:
                    value = score
                    chosen = i
            if chosen < 0:
                break
            count[used, chosen] += 1
            todo[chosen] -= 1
            remaining -= 1
            for j in range(resources):
                free[0, j] -= demand[chosen, j]
        used += 1
    return used


@compiled
def place_at_random(
    order: Array,
    draw: Array,
    demand: Array,
    capacity: Array,
    servers: Array,
    preference: Array,
    count: Array,
    kind: Array,
    free: Array,
) -> Any:
    """Place VMs one by one on a server drawn among the open ones where they fit; `draw` (n,) in [0,
    1) chooses.

    Returns servers used, or -1 - place when a VM fits nowhere.
    """
    used = 0
    left = servers.copy()
    types, resources = demand.shape
    # in how many of each block of servers one of each type fits, so that the drawn one is found
    # without asking them all
    blocks = len(kind) // BLOCK + 1
    room = np.zeros((types, blocks), dtype=np.int64)
    total = np.zeros(types, dtype=np.int64)
    fitted = np.zeros(types, dtype=np.bool_)
    for place in range(len(order)):
        i = order[place]
        if total[i] > 0:
            number = int(draw[place] * total[i])
            block = 0
            while room[i, block] <= number:
                number -= room[i, block]
                block += 1
            chosen = block * BLOCK
            while True:
                if _fits(demand, i, free, chosen):
                    if number == 0:
                        break
                    number -= 1
                chosen += 1
            for t in range(types):
                fitted[t] = _fits(demand, t, free, chosen)
        else:
            chosen = _opened(demand, i, capacity, preference, left, kind, free, used)
            if chosen < 0:
                return FULL if chosen == FULL else -1 - place
            used += 1
            fitted[:] = False
        count[chosen, i] += 1
        for j in range(resources):
            free[chosen, j] -= demand[i, j]
        for t in range(types):
            fits = _fits(demand, t, free, chosen)
            if fits != fitted[t]:
                change = 1 if fits else -1
                room[t, chosen // BLOCK] += change
                total[t] += change
    return used
