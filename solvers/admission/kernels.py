"""Compiled kernels: best sharing of one VM's cores among its jobs, and the value of each change of
them.

For fixed jobs this is a transportation problem: jobs with threads, core types with cores, speed per
core. It is solved by adding one job after the other, each along best augmenting paths: the newcomer
takes a core of some type; its holder may move to another type, and so on, until a free core is used
or somebody gives one up. The gains of successive paths do not increase, so stopping at the first
without gain is optimal (successive shortest paths in the residual network).

`best_sets` finds the jobs one VM would best take when every job has a price. With F(S) the most
total speed of a set S, it branches over sets and bounds in two ways. F is submodular (sources of a
transportation problem are substitutes; Shapley 1962), so what a job adds falls as the set grows:

    F(S + T) - price(S + T)  <=  F(S) - price(S) + sum over j in T of max(0, F(S + j) - F(S) -
    price[j]);

and dual prices of the VM's cores, rents q >= 0, bound it by another sum over the jobs, with m[j]
what job j gains alone at these rents:

    F(S) - price(S)  <=  sum over c of q[c] cores[c] + sum over j in S of (m[j] - price[j]).
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
def insert(
    speed: Array, threads: Array, used_cores: Array, free: Array, number: int, noise: float
) -> float:
    """Add the last of `number` jobs (rows of speed, threads, used_cores) to the others' best
    sharing; returns the gain.

    used_cores (number, C) and free (C,) are changed in place; the last row of used_cores is 0 on
    entry.
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
    # each turn is one augmenting path, for as many of the newcomer's threads as it carries
    while left > 0:
        # 1. residual arcs: who loses least by giving up a core of c, or by moving one from c to d
        for c in range(types):
            drop[c] = -np.inf
            for d in range(types):
                move[c, d] = -np.inf
        for i in range(number):
            for c in range(types):
                if used_cores[i, c] > 0:
                    if i != new and -speed[i, c] > drop[c]:
                        drop[c] = -speed[i, c]
                        dropper[c] = i
                    for d in range(types):
                        if d != c and speed[i, d] - speed[i, c] > move[c, d]:
                            move[c, d] = speed[i, d] - speed[i, c]
                            mover[c, d] = i
        for c in range(types):
            # a path of one step: the newcomer takes a core of c
            gain[c] = speed[new, c]
            before[c] = -1
        # 2. longest paths by Bellman and Ford: at most as many rounds as nodes
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
        # 3. where the best path ends: at a free core, or where a job gives one up
        best = noise
        end = -1
        dropped = False
        for c in range(types):
            if free[c] > 0 and gain[c] > best:
                best, end, dropped = gain[c], c, False
            if drop[c] > -np.inf and gain[c] + drop[c] > best:
                best, end, dropped = gain[c] + drop[c], c, True
        # no path gains: the sharing is optimal
        if end < 0:
            break
        # 4. the units that the path carries, walked back from its end
        units = min(left, used_cores[dropper[end], end]) if dropped else min(left, free[end])
        d = end
        steps = 0
        while before[d] >= 0 and steps <= types:
            c = before[d]
            units = min(units, used_cores[mover[c, d], c])
            d = c
            steps += 1
        # noise has closed the path into a ring: stop here, the sharing stays feasible
        if steps > types:
            break
        # 5. augment along it: the end first, then every move, then the newcomer's own cores
        if dropped:
            used_cores[dropper[end], end] -= units
        else:
            free[end] -= units
        d = end
        while before[d] >= 0:
            c = before[d]
            used_cores[mover[c, d], c] -= units
            used_cores[mover[c, d], d] += units
            d = c
        used_cores[new, d] += units
        left -= units
        total += units * best
    return total


@compiled
def share(
    speed: Array,
    threads: Array,
    cores: Array,
    used_cores: Array,
    free: Array,
    number: int,
    noise: float,
) -> float:
    """Divide one VM's cores among its first `number` jobs (rows) for the largest total speed, which
    is returned. Sets `used_cores` of each job, and `free`.
    """
    for c in range(len(cores)):
        free[c] = cores[c]
    total = 0.0
    for i in range(number):
        for c in range(len(cores)):
            used_cores[i, c] = 0
        total += insert(speed, threads, used_cores, free, i + 1, noise)
    return total


@compiled
def changes(
    speed: Array, threads: Array, cores: Array, machine: Array, v: int, noise: float, begin: int,
    end: int,
    add: Array, remove: Array, swap: Array,
) -> float:  # fmt: skip
    """Gain of each change of the jobs on VM v over its present best sharing; returns the value of
    the latter.

    add[j] for every job j elsewhere, remove[i] for every job i on v, swap[i, j] = i leaves and j
    comes (all of other jobs j; no columns when swaps are not wanted). Other entries are left as
    they are. Of the jobs on v only those from `begin` to before `end`, counted on v, are made to
    leave; add is written when `begin` is 0.
    """
    jobs, types = speed.shape
    # 1. the jobs on the VM
    here = np.empty(jobs, np.int64)
    size = 0
    for j in range(jobs):
        if machine[j] == v:
            here[size] = j
            size += 1
    rows = np.empty((size + 1, types))
    width = np.empty(size + 1, np.int64)
    used_cores = np.empty((size + 1, types), np.int64)
    trial = np.empty((size + 1, types), np.int64)
    free = np.empty(types, np.int64)
    rest = np.empty(types, np.int64)
    value = 0.0
    for out in range(-1, size):  # first everybody stays, then one after the other leaves
        if out >= 0 and (out < begin or out >= end):
            continue
        # 2. the best sharing of those who stay
        number = 0
        for i in range(size):
            if i != out:
                for c in range(types):
                    rows[number, c] = speed[here[i], c]
                width[number] = threads[here[i]]
                number += 1
        now = share(rows, width, cores, used_cores, free, number, noise)
        if out < 0:
            value = now
            if begin > 0:
                continue
        else:
            remove[here[out]] = now - value
            if swap.shape[1] == 0:
                continue
        # 3. each job elsewhere is inserted into a copy of that sharing
        for j in range(jobs):
            if machine[j] != v:
                for c in range(types):
                    rest[c] = free[c]
                    rows[number, c] = speed[j, c]
                    trial[number, c] = 0
                    for i in range(number):
                        trial[i, c] = used_cores[i, c]
                width[number] = threads[j]
                gain = insert(rows, width, trial, rest, number + 1, noise)
                if out < 0:
                    add[j] = gain
                else:
                    swap[here[out], j] = now - value + gain
    return value


@compiled
def best_sets(
    speed: Array,
    threads: Array,
    cores: Array,
    price: Array,
    margin: Array,
    core_rent: float,
    cutoff: float,
    collect: bool,
    work: int,
    noise: float,
    start: Array,
    member: Array,
    worth: Array,
    most: int,
) -> tuple[int, float, bool]:
    """Sets of jobs for one VM whose total speed less their prices exceeds `cutoff`; margin and
    rents as in `margins`.

    With `collect` all of them; else only sets each better than the ones before, the last being the
    best. Written to start (one more than sets), member and worth = F(S); returns how many, a bound
    on the best (the cutoff when nothing is above it), and whether the search was complete: not
    after `work` trials of a job, or when the arrays are full. Sets of more than `most` jobs are not
    looked at one by one; the bound covers them.
    """
    jobs, types = speed.shape
    largest = min(jobs, cores.sum())
    deepest = min(largest, most)
    # 1. a stack: at depth d the set S of the d jobs chosen, its sharing and its values
    chosen = np.empty(deepest + 1, np.int64)
    rows = np.empty((deepest + 1, types))
    width = np.empty(deepest + 1, np.int64)
    # by depth, job of the set and core type
    used_cores = np.zeros((deepest + 1, deepest + 1, types), np.int64)
    free = np.empty((deepest + 1, types), np.int64)
    value = np.zeros(deepest + 1)  # F(S)
    net = np.zeros(deepest + 1)  # F(S) - price(S)
    lend = np.zeros(deepest + 1)  # rents + margins of S
    # the jobs that may still follow at each depth, and what each adds, largest first
    queue = np.empty((deepest + 1, jobs), np.int64)
    adds = np.empty((deepest + 1, jobs))
    size = np.zeros(deepest + 1, np.int64)
    place = np.zeros(deepest + 1, np.int64)
    trial = np.empty((deepest + 1, types), np.int64)
    rest = np.empty(types, np.int64)
    gain = np.empty(jobs)
    # 2. sets above the line are wanted, which rises with each unless all are collected
    found = 0
    start[0] = 0
    line = cutoff
    bound = cutoff
    complete = True
    visited = 0
    depth = 0
    for c in range(types):
        free[0, c] = cores[c]
    lend[0] = core_rent
    # 3. the root: no job chosen, every job may come
    pool = np.empty(jobs, np.int64)
    for j in range(jobs):
        pool[j] = j
    count = jobs
    fresh = True
    while depth >= 0:
        # 4. a node just opened: what each job of the pool would add, and which still can matter
        if fresh:
            fresh = False
            rented = lend[depth]
            for k in range(count):
                rented += max(0.0, margin[pool[k]])
            number = 0
            if depth < deepest:
                for k in range(count):  # the second bound first: it costs nothing
                    if rented + min(0.0, margin[pool[k]]) > line:
                        pool[number] = pool[k]
                        number += 1
            elif depth < largest and count > 0:
                complete = False
                bound = max(bound, rented)
            count = number
            visited += 1 + count
            # what each of the pool adds to the set: one insertion into a copy of its sharing
            positive = 0.0
            for k in range(count):
                j = pool[k]
                for c in range(types):
                    rest[c] = free[depth, c]
                    rows[depth, c] = speed[j, c]
                    trial[depth, c] = 0
                    for i in range(depth):
                        trial[i, c] = used_cores[depth, i, c]
                width[depth] = threads[j]
                gain[k] = insert(rows, width, trial, rest, depth + 1, noise) - price[j]
                positive += max(0.0, gain[k])
            # the first bound, by submodularity: with all others that add something, above the line
            number = 0
            for k in range(count):
                others = positive - max(0.0, gain[k])
                if net[depth] + gain[k] + others > line and (collect or gain[k] > 0.0):
                    spot = number  # sorted by what they add
                    while spot > 0 and adds[depth, spot - 1] < gain[k]:
                        adds[depth, spot] = adds[depth, spot - 1]
                        queue[depth, spot] = queue[depth, spot - 1]
                        spot -= 1
                    adds[depth, spot] = gain[k]
                    queue[depth, spot] = pool[k]
                    number += 1
            size[depth] = number
            place[depth] = 0
        # 5. both bounds on what the jobs not yet tried at this node can still reach
        at = place[depth]
        reach = net[depth]
        rented = lend[depth]
        for k in range(at, size[depth]):
            reach += max(0.0, adds[depth, k])
            rented += max(0.0, margin[queue[depth, k]])
        reach = min(reach, rented)
        # out of work: the node is left, and its bound joins the answer's
        if at < size[depth] and reach > line and (visited >= work or not complete):
            complete = False
            bound = max(bound, reach)
            at = size[depth]
        # nothing that is left adds anything, and what it takes away is too much
        if at < size[depth] and adds[depth, at] <= 0.0 and net[depth] + adds[depth, at] <= line:
            at = size[depth]
        # nothing left here: back to the node above, and on to its next job
        if at >= size[depth] or reach <= line:
            depth -= 1
            if depth >= 0:
                place[depth] += 1
            continue
        # 6. branch: take the next job, and let those behind it in the queue be the pool
        j = queue[depth, at]
        chosen[depth] = j
        for c in range(types):
            rows[depth, c] = speed[j, c]
            free[depth + 1, c] = free[depth, c]
            used_cores[depth + 1, depth, c] = 0
            for i in range(depth):
                used_cores[depth + 1, i, c] = used_cores[depth, i, c]
        width[depth] = threads[j]
        value[depth + 1] = value[depth] + insert(
            rows, width, used_cores[depth + 1], free[depth + 1], depth + 1, noise
        )
        net[depth + 1] = net[depth] + adds[depth, at]
        lend[depth + 1] = lend[depth] + margin[j]
        count = size[depth] - at - 1
        for k in range(count):
            pool[k] = queue[depth, at + 1 + k]
        depth += 1
        fresh = True
        # 7. a set above the line is stored
        if net[depth] > line:
            if found + 1 >= len(start) or start[found] + depth > len(member):
                complete = False
                bound = max(bound, net[depth])
                continue
            for i in range(depth):
                member[start[found] + i] = chosen[i]
            start[found + 1] = start[found] + depth
            worth[found] = value[depth]
            found += 1
            bound = max(bound, net[depth])
            if not collect:
                line = net[depth]
    return found, bound, complete


@compiled
def _alone(
    speed: Array, threads: Array, cores: Array, rent: Array, j: int, total: float, gain: Array,
    take: Array,
) -> float:  # fmt: skip
    """Add to `total` the gain of job j alone on a VM: its threads take the types of most gain (C,)
    first, as long as a core is worth its rent; `take` (C,) receives the cores.
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
    """Find rents of one VM's cores that bound the worth of its jobs less their prices from above.

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
    """Write into `margin` each job's gain alone on a VM at given rents, less its price; return the
    rent of all the VM's cores.
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
