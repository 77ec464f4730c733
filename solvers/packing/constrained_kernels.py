"""Compiled kernels of the search under placement rules; numba is imported with this module, so
import it on first use.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compiled import compiled
from .fitting_kernels import can, put
from .rule_arrays import Array, Room, RuleArrays

ENOUGH, PAIRED = 20, 40
"""Ejections of least penalty that are drawn from, and servers on which two VMs are ejected."""

MOST_OUT, MOST_TRIES = 6, 20
"""VMs that leave a server so that one comes home, and servers from which one is tried to come."""

AT_HOME = 4
"""Times the penalty of its type, to eject a VM that is at home."""


@compiled
def place_by_class(
    rules: RuleArrays,
    room: Room,
    used: int,
    target: Array,
    order: Array,
    of: Array,
    share: Array,
    left: Array,
) -> None:
    """Place given numbers of VMs by type and class, each on the server with the largest free share
    of its scarcest resource, so that servers of a class hold similar mixtures.

    target (s, q), order (s,) of the types, of (p,) the class meant by each of the servers', share
    (p, k) weight of a free unit. left (s,) receives
    the VMs that found no server.
    """
    for turn in range(len(order)):
        i = order[turn]
        for c in range(target.shape[1]):
            for _ in range(target[i, c]):
                chosen, slack = -1, np.inf
                for m in range(used):
                    if of[room.kind[m]] != c or not can(rules, room, i, m):
                        continue
                    rest = np.inf
                    for j in range(rules.demand.shape[1]):
                        rest = min(
                            rest, (room.free[m, j] - rules.demand[i, j]) * share[room.kind[m], j]
                        )
                    if -rest < slack:
                        chosen, slack = m, -rest
                if chosen >= 0:
                    put(rules, room, i, chosen, 1)
                else:
                    left[i] += 1


@compiled
def _has_room(rules: RuleArrays, room: Room, i: int, m: int, a: int, b: int) -> bool:
    """Return whether a VM of type i fits on server m without one VM of type a and one of type b
    (-1: none).
    """
    for j in range(rules.demand.shape[1]):
        free = room.free[m, j] + rules.demand[a, j]
        if b >= 0:
            free += rules.demand[b, j]
        if rules.demand[i, j] > free:
            return False
    return True


@compiled
def repair(
    rules: RuleArrays,
    room: Room,
    used: int,
    stack: Array,
    waiting: int,
    penalty: Array,
    share: Array,
    steps: int,
    shuffles: int,
    seed: int,
    home: Array,
) -> Any:
    """Place waiting VMs by ejecting others (guided ejection search, Nagata and Braysy 2009).

    The VM that waits on top of the stack goes to the fullest server that can take it, one on which
    it is at home first. If none can, its type's penalty grows, and it replaces one or two VMs of
    some server whose types have the least penalty together, if that is less than its own; these
    wait in turn. Then so many VMs are moved at random (`shuffles`).

    stack (n,) types, the first `waiting` of them wait; penalty (s,); home (n, s) VMs of each type
    that are at home on a server, or (0, s). Returns how many still wait after so many steps.
    """
    np.random.seed(seed)
    types = len(penalty)
    removable = np.empty(types, dtype=np.int64)
    for _ in range(steps):
        if waiting == 0:
            return 0
        # 1. the fullest server that can take the VM, one on which it is at home first
        i = stack[waiting - 1]
        chosen, slack = -1, np.inf
        for m in range(used):
            if can(rules, room, i, m):
                rest = 0.0
                for j in range(rules.demand.shape[1]):
                    rest += room.free[m, j] * share[room.kind[m], j]
                if m < len(home) and room.vms[m, i] < home[m, i]:
                    rest -= rules.demand.shape[1]  # more than any rest
                if rest < slack:
                    chosen, slack = m, rest
        if chosen >= 0:
            put(rules, room, i, chosen, 1)
            waiting -= 1
            continue
        # 2. if none can: the server and the VM on it of least penalty; if there is none, two VMs
        penalty[i] += 1
        least, where, one, two, ties = penalty[i], -1, -1, -1, 0
        offset = np.random.randint(used)
        for turn in range(used):
            m = (turn + offset) % used
            if rules.most[i, room.kind[m]] == 0:
                continue
            if where >= 0 and least == 1 and ties >= ENOUGH:
                break
            for a in range(types):
                if room.vms[m, a] == 0 or a == i or penalty[a] > least:
                    continue
                if penalty[a] == penalty[i] or not _has_room(rules, room, i, m, a, -1):
                    continue
                weight = penalty[a]
                if m < len(home) and room.vms[m, a] <= home[m, a]:
                    weight = min(AT_HOME * weight, penalty[i] - 1)
                if weight > least:
                    continue
                put(rules, room, a, m, -1)
                if can(rules, room, i, m):
                    ties = ties + 1 if weight == least else 1
                    if np.random.randint(ties) == 0:
                        least, where, one = weight, m, a
                put(rules, room, a, m, 1)
        for turn in range(min(used, PAIRED) if where < 0 else 0):
            m = (turn + offset) % used
            if rules.most[i, room.kind[m]] == 0:
                continue
            number = 0
            for a in range(types):
                if room.vms[m, a] > 0 and a != i and penalty[a] < least:
                    removable[number] = a
                    number += 1
            for first in range(number):
                a = removable[first]
                for second in range(first, number):
                    b = removable[second]
                    if penalty[a] + penalty[b] >= least:
                        continue
                    if not _has_room(rules, room, i, m, a, b):
                        continue
                    put(rules, room, a, m, -1)
                    if room.vms[m, b] > 0:
                        put(rules, room, b, m, -1)
                        if can(rules, room, i, m):
                            least, where, one, two = penalty[a] + penalty[b], m, a, b
                        put(rules, room, b, m, 1)
                    put(rules, room, a, m, 1)
        # 3. they are ejected and wait, and the VM takes their room
        if where >= 0:
            put(rules, room, one, where, -1)
            if two >= 0:
                put(rules, room, two, where, -1)
            put(rules, room, i, where, 1)
            stack[waiting - 1] = one
            if two >= 0:
                stack[waiting] = two
                waiting += 1
        # 4. moves at random
        for _ in range(shuffles):
            m = np.random.randint(used)
            other = np.random.randint(used)
            a = np.random.randint(types)
            found = -1
            for turn in range(types):
                if room.vms[m, (a + turn) % types] > 0:
                    found = (a + turn) % types
                    break
            if found >= 0 and m != other:
                put(rules, room, found, m, -1)
                if can(rules, room, found, other):
                    put(rules, room, found, other, 1)
                else:
                    put(rules, room, found, m, 1)
    return waiting


@compiled
def bring_home(
    rules: RuleArrays, room: Room, used: int, home: Array, m: int, order: Array, seed: int
) -> Any:
    """Move VMs to their own server m as long as more VMs come home than leave it.

    A VM that is away comes back from a server on which more of its type are than are at home there.
    Where server m lacks room, up to `MOST_OUT` VMs that are not at home on it leave for the server
    that the other one came from, or for any.

    home (n, s) VMs of each type at home on a server, order (s,) of the types. Returns how many VMs
    came home.
    """
    np.random.seed(seed)
    types = len(order)
    gained = 0
    out = np.empty(MOST_OUT, dtype=np.int64)
    to = np.empty(MOST_OUT, dtype=np.int64)
    for turn in range(types):
        # 1. a VM that is away, on a server with more of its type than are at home there
        i = order[turn]
        offset = np.random.randint(used)
        tries = 0
        for step in range(used):
            if room.vms[m, i] >= home[m, i] or tries == MOST_TRIES:
                break
            other = (step + offset) % used
            if other == m or room.vms[other, i] <= home[other, i]:
                continue
            tries += 1
            put(rules, room, i, other, -1)
            # 2. foreign VMs leave server m until there is room
            number = 0
            start = np.random.randint(types)
            for index in range(types):
                if number == MOST_OUT or can(rules, room, i, m):
                    break
                a = (start + index) % types
                while (
                    a != i
                    and number < MOST_OUT
                    and room.vms[m, a] > home[m, a]
                    and not can(rules, room, i, m)
                ):
                    put(rules, room, a, m, -1)
                    out[number] = a
                    number += 1
            # 3. and find another server
            placed = 0
            if can(rules, room, i, m):
                put(rules, room, i, m, 1)
                while placed < number:
                    a = out[placed]
                    to[placed] = -1
                    if can(rules, room, a, other):
                        to[placed] = other
                    else:
                        for further in range(used):
                            n = (further + offset) % used
                            if n != m and can(rules, room, a, n):
                                to[placed] = n
                                break
                    if to[placed] < 0:
                        break
                    put(rules, room, a, to[placed], 1)
                    placed += 1
                if placed == number:
                    gained += 1
                    continue
                put(rules, room, i, m, -1)
            # 4. if one finds none, undo it all
            for index in range(placed):
                put(rules, room, out[index], to[index], -1)
            for index in range(number):
                put(rules, room, out[index], m, 1)
            put(rules, room, i, other, 1)
    return gained
