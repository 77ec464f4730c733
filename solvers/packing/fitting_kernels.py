"""Compiled kernels of the greedy packers and of the search under placement rules; numba is imported
with this module, so import it on first use.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compiled import compiled
from ..heap_kernels import drop_first, push
from .rule_arrays import Array, Room, RuleArrays

BLOCK = 256

FIRST, BEST, RANDOM = 0, 1, 2
"""Which of the servers that can take a VM does."""

ENOUGH, PAIRED = 20, 40
"""Ejections of least penalty that are drawn from, and servers on which two VMs are ejected."""

MOST_OUT, MOST_TRIES = 6, 20
"""VMs that leave a server so that one comes home, and servers from which one is tried to come."""

AT_HOME = 4
"""Times the penalty of its type, to eject a VM that is at home."""


@compiled
def fits(demand: Array, i: int, room: Array, m: int) -> bool:
    """Return whether a VM of type i fits into row m of `room`."""
    for j in range(demand.shape[1]):
        if demand[i, j] > room[m, j]:
            return False
    return True


@compiled
def can(rules: RuleArrays, room: Room, i: int, m: int) -> bool:
    """Return whether server m can take one more VM of type i under capacity and rules."""
    c = room.kind[m]
    if room.vms[m, i] >= rules.most[i, c]:
        return False
    if not fits(rules.demand, i, room.free, m):
        return False
    for index in range(rules.group_start[i], rules.group_start[i + 1]):
        group = rules.group_item[index]
        if room.group_count[m, group] >= rules.group_most[group]:
            return False
    for index in range(rules.apart_start[i], rules.apart_start[i + 1]):
        if room.vms[m, rules.apart_item[index]] > 0:
            return False
    if rules.card_column >= 0 and not on_cards(rules, room, i, m):
        return False
    return in_zone(rules, room, i, rules.zone[c])


@compiled
def on_cards(rules: RuleArrays, room: Room, i: int, m: int) -> bool:
    """Return whether the VMs of server m and one more of type i fit on its cards by first fit
    decreasing; a negative answer may be wrong.
    """
    column, units = rules.card_column, rules.card_units
    if rules.demand[i, column] == 0:
        return True
    cards = rules.capacity[room.kind[m], column] // units
    for t in range(len(rules.demand)):
        cards -= (room.vms[m, t] + (t == i)) * (rules.demand[t, column] // units)
    if cards < 0:
        return False
    left = np.full(cards, units)
    for t in rules.card_order:
        share = rules.demand[t, column] % units
        card = 0
        for _ in range(room.vms[m, t] + (t == i)):
            while card < cards and left[card] < share:
                card += 1
            if card == cards:
                return False
            left[card] -= share
    return True


@compiled
def in_zone(rules: RuleArrays, room: Room, i: int, z: int) -> bool:
    """Return whether zone z can take one more VM of type i."""
    for index in range(rules.row_start[i], rules.row_start[i + 1]):
        row = rules.row_item[index]
        if room.total[row, z] >= rules.row_cap[row, z]:
            return False
        if rules.row_counted[row, z]:
            for other in range(room.total.shape[1]):
                if (
                    rules.row_counted[row, other]
                    and other != z
                    and room.total[row, z] + 1 - room.total[row, other] > rules.row_skew[row]
                ):
                    return False
    return True


@compiled
def put(rules: RuleArrays, room: Room, i: int, m: int, number: int) -> None:
    """Add VMs of type i to the arrays of server m; a negative number removes them."""
    c = room.kind[m]
    room.vms[m, i] += number
    for j in range(rules.demand.shape[1]):
        room.free[m, j] -= number * rules.demand[i, j]
    for index in range(rules.group_start[i], rules.group_start[i + 1]):
        room.group_count[m, rules.group_item[index]] += number
    for index in range(rules.row_start[i], rules.row_start[i + 1]):
        room.total[rules.row_item[index], rules.zone[c]] += number


@compiled
def open_server(rules: RuleArrays, room: Room, m: int, c: int) -> None:
    """Make row m an empty server of class c."""
    room.kind[m] = c
    room.left[c] -= 1
    for j in range(rules.demand.shape[1]):
        room.free[m, j] = rules.capacity[c, j]


@compiled
def _opened(rules: RuleArrays, room: Room, i: int, preference: Array, used: int) -> int:
    """Open a server, as row `used`, of the first class in `preference` that can take a VM of type
    i; -1 if there is none left, or no row for it.
    """
    if used == len(room.kind):
        return -1
    for c in preference:
        if room.left[c] > 0 and rules.most[i, c] > 0 and in_zone(rules, room, i, rules.zone[c]):
            open_server(rules, room, used, c)
            return used
    return -1


@compiled
def place_runs(
    rules: RuleArrays,
    room: Room,
    order: Array,
    number: Array,
    mode: int,
    draw: Array,
    preference: Array,
    share: Array,
    plain: bool,
) -> Any:
    """Place runs of equal VMs one after the other on the first, the fullest or a drawn server that
    can take them, opening servers by preference.

    order, number: (r,) type of each run and how many. draw (n,) in [0, 1) for each VM. share: (p,
    k) weight of a free unit. plain: no rules are looked at, and a run is placed at once: a server
    that is fullest stays so while it takes more of the same run. Else VM by VM, and what nothing
    can take waits until another VM is placed: skew may let it in later. Returns the servers used,
    or -1 if VMs are left.
    """
    # unpacked once: each array taken out of a tuple costs two atomic counts
    demand, kind, free = rules.demand, room.kind, room.free
    used, placed, todo = 0, 0, number.copy()
    able = np.empty(len(kind), dtype=np.int64)  # a heap of servers, by slack, then by number
    slack = np.empty(len(kind))
    while True:
        before = placed
        for run in range(len(order)):
            i = order[run]
            while todo[run] > 0:
                # 1. the servers that can take one, the first or the fullest first; of those that
                # VMs are placed on one by one, the first or the fullest alone
                found, wanted = 0, todo[run] if plain else 1
                for m in range(used):
                    if not fits(demand, i, free, m):
                        continue
                    if not (plain or can(rules, room, i, m)):
                        continue
                    free_share = 0.0
                    if mode == BEST:
                        for j in range(demand.shape[1]):
                            free_share += free[m, j] * share[kind[m], j]
                        if not plain and found > 0:
                            if free_share >= slack[0]:
                                continue
                            found = 0
                    push(slack, able, 0, found, free_share, m)
                    found += 1
                    if mode == FIRST and found >= wanted:
                        break
                if mode == RANDOM and found > 0:
                    able[0] = able[int(draw[placed] * found)]
                # 2. fill them in this order, then new ones
                index, chosen = 0, 0
                while todo[run] > 0 and (plain or index == 0):
                    if index < found:
                        chosen = able[0]
                        drop_first(slack, able, 0, found - index - 1)
                    else:
                        chosen = _opened(rules, room, i, preference, used)
                        if chosen < 0:
                            break
                        used += 1
                    index += 1
                    most = todo[run] if plain else 1
                    for j in range(demand.shape[1]):
                        if demand[i, j] > 0:
                            most = min(most, free[chosen, j] // demand[i, j])
                    put(rules, room, i, chosen, most)
                    todo[run] -= most
                    placed += most
                if chosen < 0:
                    break
        # 3. the VMs that wait
        if todo.sum() == 0:
            return used
        if plain or placed == before:
            return -1


@compiled
def fill_servers(
    rules: RuleArrays,
    room: Room,
    number: Array,
    weight: Array,
    norm: bool,
    preference: Array,
    plain: bool,
) -> Any:
    """Open one server after the other and fill it with the VMs of best score for the free capacity.

    norm False: largest weighted dot product with what is free; True: least weighted square norm of
    what is left. weight (p, k). The next server is of the first class by preference that can take
    some VM. plain: no rules, a VM may go wherever there is room. Returns the servers used,
    or -1 when no server can take what is left.
    """
    demand, kind, free = rules.demand, room.kind, room.free
    todo = number.copy()
    remaining = todo.sum()
    used = 0
    while remaining > 0:
        # 1. open a server that can take some VM
        opened = False
        for index in range(len(preference)):
            c = preference[index]
            if room.left[c] <= 0 or used == len(kind):
                continue
            for i in range(len(todo)):
                if todo[i] > 0 and rules.most[i, c] > 0 and in_zone(rules, room, i, rules.zone[c]):
                    open_server(rules, room, used, c)
                    used += 1
                    opened = True
                    break
            if opened:
                break
        # 2. fill it, or all if there was none, with VMs of the best score
        moved = False
        for m in range(used - 1 if opened else 0, used):
            c = kind[m]
            while True:
                chosen, value = -1, -np.inf
                for i in range(len(todo)):
                    if todo[i] == 0 or not fits(demand, i, free, m):
                        continue
                    if not (plain or can(rules, room, i, m)):
                        continue
                    score = 0.0
                    for j in range(demand.shape[1]):
                        if norm:
                            rest = (free[m, j] - demand[i, j]) * weight[c, j]
                            score -= rest * rest
                        else:
                            score += demand[i, j] * weight[c, j] * free[m, j] * weight[c, j]
                    if score > value:
                        chosen, value = i, score
                if chosen < 0:
                    break
                put(rules, room, chosen, m, 1)
                todo[chosen] -= 1
                remaining -= 1
                moved = True
        if not opened and not moved:
            return -1
    return used


@compiled
def place_at_random(
    rules: RuleArrays, room: Room, order: Array, draw: Array, preference: Array
) -> Any:
    """Place VMs one by one on a random open server where they fit; `draw` (n,) in [0, 1) chooses.

    Returns servers used, or -1 - index when a VM fits nowhere.
    """
    # Unpacked once: each array taken out of a tuple costs two atomic counts.
    used = 0
    demand, count, free = rules.demand, room.vms, room.free
    types, resources = demand.shape
    # in how many of each block of servers one of each type fits, so that the drawn one is found
    # without asking them all
    blocks = len(count) // BLOCK + 1
    able = np.zeros((types, blocks), dtype=np.int64)
    total = np.zeros(types, dtype=np.int64)
    fitted = np.zeros(types, dtype=np.bool_)
    for index in range(len(order)):
        i = order[index]
        # 1. find the server that is drawn, or open one
        if total[i] > 0:
            number = int(draw[index] * total[i])
            block = 0
            while able[i, block] <= number:
                number -= able[i, block]
                block += 1
            chosen = block * BLOCK
            while True:
                if fits(demand, i, free, chosen):
                    if number == 0:
                        break
                    number -= 1
                chosen += 1
            for t in range(types):
                fitted[t] = fits(demand, t, free, chosen)
        else:
            chosen = _opened(rules, room, i, preference, used)
            if chosen < 0:
                return -1 - index
            used += 1
            fitted[:] = False
        # 2. place the VM, and count anew which types fit its server
        count[chosen, i] += 1
        for j in range(resources):
            free[chosen, j] -= demand[i, j]
        for t in range(types):
            still = fits(demand, t, free, chosen)
            if still != fitted[t]:
                change = 1 if still else -1
                able[t, chosen // BLOCK] += change
                total[t] += change
    return used


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
                    scarcest = np.inf
                    for j in range(rules.demand.shape[1]):
                        left_over = room.free[m, j] - rules.demand[i, j]
                        scarcest = min(scarcest, left_over * share[room.kind[m], j])
                    if -scarcest < slack:
                        chosen, slack = m, -scarcest
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
                free_share = 0.0
                for j in range(rules.demand.shape[1]):
                    free_share += room.free[m, j] * share[room.kind[m], j]
                if m < len(home) and room.vms[m, i] < home[m, i]:
                    free_share -= rules.demand.shape[1]  # more than any rest
                if free_share < slack:
                    chosen, slack = m, free_share
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
    """Move VMs that are away to their home, server m, as long as more come than leave.

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
