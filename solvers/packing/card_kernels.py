"""Compiled kernels of `max_gpus`; numba is imported with this module, so import it on first use."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..compiled import compiled

Array = np.ndarray[Any, Any]

LIKELY = 0.5
"""Part of the fillings that are drawn as the program has them; the others are of least waste."""

LOOKED_AT = 5
"""Servers of which the one that misses most is emptied first."""


class CardArrays(NamedTuple):
    """Arrays of servers with GPUs and of VMs, with reduced costs of VMs and fillings of a GPU.

    demand (s, k), whole, share and weight (s,): whole cards, units of one card, and worth of a VM;
    able (s, p), capacity (p, k), cards (p,), units of a card, and most shares on one. alone: types
    that take whole cards; `sharing[start[z]]` to `sharing[start[z + 1]]`: types whose shares the
    fillings count together, the last of them shares that no filling counts; the least share of
    each. fillings (f, z); loss (s, p) of a VM on a class, waste (p, f) of a filling, order (p, f)
    of fillings by waste, likely (p, n) fillings as often as the program has them, price (p, z) of
    a share that is missing.
    How servers are filled: `noise` of a loss, `spread` of drawn positions in an order, `draws` of
    fillings for a card, `tries` for a server, `together` servers refilled at a time.
    """

    demand: Array
    whole: Array
    share: Array
    weight: Array
    able: Array
    capacity: Array
    cards: Array
    units: int
    most_shares: int
    alone: Array
    start: Array
    sharing: Array
    least_share: Array
    fillings: Array
    loss: Array
    waste: Array
    order: Array
    likely: Array
    price: Array
    noise: float
    spread: float
    draws: int
    tries: int
    together: int


@compiled
def _least_loss(
    demand: Array, whole: Array, share: Array, able: Array, loss: Array, c: int, types: Array,
    begin: int, end: int, left: Array, free: Array, cards: int, space: int, noise: float,
) -> Any:  # fmt: skip
    """Among types[begin:end], the type that fits with the least loss for each card, with random
    noise; -1 for none.
    """
    chosen, least = -1, np.inf
    for index in range(begin, end):
        i = types[index]
        if left[i] == 0 or not able[i, c] or whole[i] > cards or share[i] > space:
            continue
        room = True
        for j in range(len(free)):
            room = room and demand[i, j] <= free[j]
        if room:
            lost = loss[i, c] / max(whole[i], 1) + np.random.exponential(noise)
            if lost < least:
                chosen, least = i, lost
    return chosen, least


@compiled
def _filling(given: CardArrays, c: int, left: Array) -> int:
    """Draw some fillings of a card and return the one of least loss, with the remaining shares."""
    fillings, waste, order, likely = given.fillings, given.waste, given.order, given.likely
    start, sharing, price = given.start, given.sharing, given.price
    chosen, least = 0, np.inf
    for _ in range(given.draws):
        if np.random.random() < LIKELY:
            f = likely[c, np.random.randint(likely.shape[1])]
        else:
            position = int(np.random.exponential(given.spread))
            f = order[c, min(position, order.shape[1] - 1)]
        lost = waste[c, f] + np.random.exponential(given.noise)
        for z in range(fillings.shape[1]):
            missing, position = fillings[f, z], start[z]
            while missing > 0 and position < start[z + 1]:
                missing -= min(missing, left[sharing[position]])
                position += 1
            lost += missing * price[c, z]
        if lost < least:
            chosen, least = f, lost
    return chosen


@compiled
def fill_server(given: CardArrays, c: int, left: Array, row: Array) -> int:
    """Fill an empty server of class c GPU by GPU with VMs (s,) of the least reduced cost.

    What it takes is on `row` (s,) and no longer left. Returns what that is worth.
    """
    free, cards, worth = given.capacity[c].copy(), given.cards[c], 0
    # unpacked once: each array taken out of a tuple costs two atomic counts
    demand, whole, share, able, loss = (
        given.demand, given.whole, given.share, given.able, given.loss
    )  # fmt: skip
    alone, start, sharing, fillings = given.alone, given.start, given.sharing, given.fillings
    weight, waste, price, least_share = given.weight, given.waste, given.price, given.least_share
    groups, sizes = len(start) - 1, fillings.shape[1]
    row[:] = 0
    shared = np.empty(given.most_shares, dtype=np.int64)
    while cards > 0:
        # 1. the VM of whole cards with the least loss
        chosen, least = _least_loss(
            demand, whole, share, able, loss, c, alone, 0, len(alone), left, free, cards, 0,
            given.noise,
        )  # fmt: skip
        # 2. the shares of one card: those of a filling, then whatever fits besides
        number, space, lost = 0, given.units, np.inf
        if len(sharing):
            f = _filling(given, c, left)
            lost = waste[c, f]
            for turn in range(2):
                for z in range(groups):
                    wanted = space // least_share[z]
                    if turn == 0:
                        wanted = fillings[f, z] if z < sizes else 0
                    worth_of_one = price[c, z] if z < sizes else 0.0
                    while wanted > 0:
                        i, _ = _least_loss(
                            demand, whole, share, able, loss, c, sharing, start[z], start[z + 1],
                            left, free, 1, space, given.noise,
                        )  # fmt: skip
                        if i < 0:
                            break
                        lost += loss[i, c] - turn * worth_of_one
                        shared[number] = i
                        number += 1
                        wanted -= 1
                        left[i] -= 1
                        space -= share[i]
                        for j in range(len(free)):
                            free[j] -= demand[i, j]
                    if turn == 0:
                        lost += wanted * worth_of_one
            if number == 0 or lost >= least:
                for k in range(number):
                    left[shared[k]] += 1
                    for j in range(len(free)):
                        free[j] += demand[shared[k], j]
                number = 0
        # 3. the better of the two is placed
        if number > 0:
            for k in range(number):
                row[shared[k]] += 1
                worth += weight[shared[k]]
            cards -= 1
        elif chosen >= 0:
            row[chosen] += 1
            left[chosen] -= 1
            worth += weight[chosen]
            cards -= whole[chosen]
            for j in range(len(free)):
                free[j] -= demand[chosen, j]
        else:
            break
    return worth


@compiled
def fill_again(
    given: CardArrays, count: Array, kind: Array, worth: Array, goal: Array, left: Array,
    steps: int, seed: int,
) -> int:  # fmt: skip
    """Repeatedly empty a few servers and fill them again, and keep changes that do not place less.

    The first of them is one that misses much of what a server of its class is worth at the prices,
    goal (p,). count (n, s), worth (n,) and left (s,) are changed. Returns how much more is placed.
    """
    np.random.seed(seed)
    servers, types = count.shape
    chosen = np.empty(given.together, dtype=np.int64)
    before = np.empty((given.together, types), dtype=np.int64)
    row, best = np.empty(types, dtype=np.int64), np.empty(types, dtype=np.int64)
    gained = 0
    for _ in range(steps):
        # 1. empty a few servers, first one that misses much
        m = np.random.randint(servers)
        for _ in range(LOOKED_AT - 1):
            other = np.random.randint(servers)
            if goal[kind[other]] - worth[other] > goal[kind[m]] - worth[m]:
                m = other
        number, change = 0, 0
        for _ in range(1 + np.random.randint(given.together)):
            new = True
            for k in range(number):
                new = new and chosen[k] != m
            if new:
                chosen[number] = m
                change -= worth[m]
                for i in range(types):
                    before[number, i] = count[m, i]
                    left[i] += count[m, i]
                number += 1
            m = np.random.randint(servers)
        # 2. fill each of them, at the best of some tries
        for k in range(number):
            m, most = chosen[k], -1
            for _ in range(given.tries):
                found = fill_server(given, kind[m], left, row)
                for i in range(types):
                    left[i] += row[i]
                if found > most:
                    most = found
                    for i in range(types):
                        best[i] = row[i]
            for i in range(types):
                left[i] -= best[i]
                count[m, i] = best[i]
            worth[m] = most
            change += most
        # 3. keep what does not place less, else undo it
        if change >= 0:
            gained += change
            continue
        for k in range(number):
            m = chosen[k]
            worth[m] = 0
            for i in range(types):
                left[i] += count[m, i] - before[k, i]
                count[m, i] = before[k, i]
                worth[m] += before[k, i] * given.weight[i]
    return gained
