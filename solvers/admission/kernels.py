"""Compiled kernels: how the jobs of one VM share its cores best, and what each change of its jobs is worth.

For fixed jobs this is a transportation problem: jobs with threads, core types with cores, speed per core. It is solved by
adding one job after the other, each along best augmenting paths: the newcomer takes a core of some type; its holder may
move to another type, and so on, until a free core is used or somebody gives one up. The gains of successive paths do not
increase, so stopping at the first without gain is optimal (successive shortest paths in the residual network).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..compiled import compiled

Array = NDArray[Any]

RELATIVE = 1e-11
"""A path must gain more than this times the largest speed."""


@compiled
def insert(speed: Array, threads: Array, held: Array, free: Array, number: int, noise: float) -> float:
    """Add the last of `number` jobs (rows of speed, threads, held) to the others' best sharing; returns the gain.

    held (number, C) and free (C,) are changed in place; the last row of held is 0 on entry.
    """
    types = speed.shape[1]
    new = number - 1
    move = np.empty((types, types))
    mover = np.empty((types, types), np.int64)
    drop = np.empty(types)
    dropper = np.empty(types, np.int64)
    gain = np.empty(types)
    before = np.empty(types, np.int64)
    total = 0.0
    left = threads[new]
    while left > 0:
        for c in range(types):
            drop[c] = -np.inf
            for d in range(types):
                move[c, d] = -np.inf
        for i in range(number):
            for c in range(types):
                if held[i, c] > 0:
                    if i != new and -speed[i, c] > drop[c]:
                        drop[c] = -speed[i, c]
                        dropper[c] = i
                    for d in range(types):
                        if d != c and speed[i, d] - speed[i, c] > move[c, d]:
                            move[c, d] = speed[i, d] - speed[i, c]
                            mover[c, d] = i
        for c in range(types):
            gain[c] = speed[new, c]
            before[c] = -1
        for _ in range(types):
            changed = False
            for c in range(types):
                for d in range(types):
                    if gain[c] + move[c, d] > gain[d] + noise:
                        gain[d] = gain[c] + move[c, d]
                        before[d] = c
                        changed = True
            if not changed:
                break
        best = noise
        end = -1
        dropped = False
        for c in range(types):
            if free[c] > 0 and gain[c] > best:
                best, end, dropped = gain[c], c, False
            if drop[c] > -np.inf and gain[c] + drop[c] > best:
                best, end, dropped = gain[c] + drop[c], c, True
        if end < 0:
            break
        units = min(left, held[dropper[end], end]) if dropped else min(left, free[end])
        d = end
        steps = 0
        while before[d] >= 0 and steps <= types:
            c = before[d]
            units = min(units, held[mover[c, d], c])
            d = c
            steps += 1
        if steps > types:  # noise has closed the path into a ring: stop here, the sharing stays feasible
            break
        if dropped:
            held[dropper[end], end] -= units
        else:
            free[end] -= units
        d = end
        while before[d] >= 0:
            c = before[d]
            held[mover[c, d], c] -= units
            held[mover[c, d], d] += units
            d = c
        held[new, d] += units
        left -= units
        total += units * best
    return total


@compiled
def share(speed: Array, threads: Array, cores: Array, held: Array, free: Array, noise: float) -> float:
    """The best sharing of one VM's cores among all jobs given (rows), into held and free; returns the total speed."""
    free[:] = cores
    held[:] = 0
    total = 0.0
    for i in range(len(threads)):
        total += insert(speed, threads, held, free, i + 1, noise)
    return total


@compiled
def changes(
    speed: Array, threads: Array, cores: Array, machine: Array, v: int, noise: float, add: Array, remove: Array, swap: Array
) -> float:
    """What each change of the jobs on VM v is worth, against its best sharing now; returns the value of that.

    add[j] for every job j elsewhere, remove[i] for every job i on v, swap[i, j] = i leaves and j comes (all of other jobs
    j; no columns when swaps are not wanted). Other entries are left as they are.
    """
    jobs, types = speed.shape
    here = np.flatnonzero(machine == v)
    size = len(here)
    rows = np.empty((size + 1, types))
    width = np.empty(size + 1, np.int64)
    held = np.empty((size + 1, types), np.int64)
    trial = np.empty((size + 1, types), np.int64)
    free = np.empty(types, np.int64)
    rest = np.empty(types, np.int64)
    for i in range(size):
        rows[i] = speed[here[i]]
        width[i] = threads[here[i]]
    value = share(rows[:size], width[:size], cores, held[:size], free, noise)
    for j in range(jobs):
        if machine[j] != v:
            rows[size] = speed[j]
            width[size] = threads[j]
            trial[:size] = held[:size]
            trial[size] = 0
            rest[:] = free
            add[j] = insert(rows, width, trial, rest, size + 1, noise)
    for out in range(size):
        number = 0
        for i in range(size):
            if i != out:
                rows[number] = speed[here[i]]
                width[number] = threads[here[i]]
                number += 1
        without = share(rows[:number], width[:number], cores, held[:number], free, noise)
        remove[here[out]] = without - value
        if swap.shape[1] > 0:
            for j in range(jobs):
                if machine[j] != v:
                    rows[number] = speed[j]
                    width[number] = threads[j]
                    trial[:number] = held[:number]
                    trial[number] = 0
                    rest[:] = free
                    swap[here[out], j] = without - value + insert(rows, width, trial, rest, number + 1, noise)
    return value
