"""Compiled annealing over pairings of types, in which several equal pairs exchange partners at
once.

The arrays of every kernel: `number[a, b]` the a-agents beside b (twice the pairs where a = b), with
nobody as the last type; `willing[a, u]` how many a-agents gain by u; `place[a, b]` where b stands
in the order in which a leaves its partners, the one it leaves soonest first; `size[a, u]` how many
of that order it leaves for u, 0 where the two cannot block; `own[a, u]` whether u is among these,
which a does not leave for itself.
"""

from __future__ import annotations

import numpy as np

from ...instances.colocation.instance import Booleans, Integers
from ..compiled import compiled


@compiled
def _move(
    a: int, old: int, new: int, m: int,
    willing: Integers, place: Integers, size: Integers, own: Booleans,
) -> int:  # fmt: skip
    """Move m agents of type a from partners of type `old` to partners of type `new`, and update
    `willing`. Returns the change of the number of blocking pairs.
    """
    before, after = place[a, old], place[a, new]
    change = 0
    for u in range(len(size)):
        gain = int(after < size[a, u]) - int(before < size[a, u])
        if own[a, u]:
            gain -= int(u == new) - int(u == old)
        if gain != 0:
            here = willing[a, u]
            if u == a:
                there = here + m * gain
                change += (there * (there - 1) - here * (here - 1)) // 2
            else:
                change += m * gain * willing[u, a]
            willing[a, u] = here + m * gain
    return change


@compiled
def _exchange(
    a: int, b: int, c: int, d: int, m: int,
    willing: Integers, place: Integers, size: Integers, own: Booleans,
) -> int:  # fmt: skip
    """Replace m pairs a-b and m pairs c-d by a-c and b-d; return the change of blocking pairs."""
    return (
        _move(a, b, c, m, willing, place, size, own)
        + _move(b, a, d, m, willing, place, size, own)
        + _move(c, d, a, m, willing, place, size, own)
        + _move(d, c, b, m, willing, place, size, own)
    )


@compiled
def _list(a: int, b: int, number: Integers, cell: Integers, at: Integers, cells: int) -> int:
    """Insert a matrix cell into the list of nonempty cells, or remove it; return the length of the
    list.
    """
    types = len(number)
    if number[a, b] > 0 and at[a, b] < 0:
        at[a, b], cell[cells] = cells, a * types + b
        return cells + 1
    if number[a, b] == 0 and at[a, b] >= 0:
        last = cell[cells - 1]
        cell[at[a, b]], at[last // types, last % types] = last, at[a, b]
        at[a, b] = -1
        return cells - 1
    return cells


@compiled
def _add(a: int, b: int, m: int, number: Integers, cell: Integers, at: Integers, cells: int) -> int:
    """Add m pairs of types a and b (m may be negative); return the number of nonempty cells."""
    number[a, b] += m
    number[b, a] += m
    cells = _list(a, b, number, cell, at, cells)
    return _list(b, a, number, cell, at, cells)


@compiled
def _rival(a: int, b: int, number: Integers, willing: Integers, place: Integers, size: Integers,
    own: Booleans) -> tuple[int, int]:  # fmt: skip
    """Draw a pair of types c-d at random such that an agent of type a beside b and one of type c
    beside d block. Returns -1 twice if none is drawn.
    """
    types, before = len(number), place[a, b]
    rivals, c = 0, -1
    for u in range(types):
        if before < size[a, u] and willing[u, a] > 0 and not (own[a, u] and u == b):
            rivals += 1
            if np.random.randint(rivals) == 0:
                c = u
    if c < 0:
        return -1, -1
    draw, d = np.random.randint(willing[c, a]), -1
    for t in range(types):
        if number[c, t] > 0 and place[c, t] < size[c, a] and not (own[c, a] and t == a):
            draw -= number[c, t]
            d = t
            if draw < 0:
                break
    return c, d


@compiled
def anneal(
    number: Integers, willing: Integers, best: Integers, value: int, least: int,
    place: Integers, size: Integers, own: Booleans, allowed: Booleans,
    steps: int, hot: float, cold: float, enough: int, seed: int,
) -> tuple[int, int]:  # fmt: skip
    """Simulated annealing of a pairing for the fewest blocking pairs, with temperatures from `hot`
    to `cold`. It changes `number` and `willing` in place.

    `best` takes the pairing of fewest blocking pairs met, where they are fewer than `least`; the
    search ends when they are `enough`. Returns the blocking pairs of `number`, and of `best`.
    """
    # 1. list the pairs of types in use
    np.random.seed(seed)
    types = len(number)
    at = np.full((types, types), -1)
    cell = np.zeros(types * types, np.int64)
    cells = 0
    for a in range(types):
        for b in range(types):
            cells = _list(a, b, number, cell, at, cells)
    # 2. draw two pairs; in half of the steps the second is one that the first blocks with
    cooling = (cold / hot) ** (1.0 / steps)
    heat = hot
    for _ in range(steps):
        heat *= cooling
        pair, other = cell[np.random.randint(cells)], cell[np.random.randint(cells)]
        a, b, c, d = pair // types, pair % types, other // types, other % types
        if np.random.random() < 0.5:
            c, d = _rival(a, b, number, willing, place, size, own)
            if c < 0:
                continue
        if not (allowed[a, c] and allowed[b, d]) or a == d or b == c:
            continue
        # 3. draw how many of them exchange partners
        most = number[a, b] // 2 if a == b else number[a, b]
        if (a == c and b == d) or (a == d and b == c):
            most //= 2
        else:
            most = min(most, number[c, d] // 2 if c == d else number[c, d])
        if most == 0:
            continue
        draw = np.random.random()
        m = 1 if draw < 0.5 else most if draw < 0.7 else 1 + np.random.randint(most)
        # 4. apply the exchange; take it back if it adds too many blocking pairs at this temperature
        change = _exchange(a, b, c, d, m, willing, place, size, own)
        if change > 0 and np.random.random() >= np.exp(-change / heat):
            _exchange(a, c, b, d, m, willing, place, size, own)
            continue
        value += change
        cells = _add(a, b, -m, number, cell, at, cells)
        cells = _add(c, d, -m, number, cell, at, cells)
        cells = _add(a, c, m, number, cell, at, cells)
        cells = _add(b, d, m, number, cell, at, cells)
        # 5. keep the best
        if value < least:
            least = value
            best[:] = number
            if least <= enough:
                break
    return value, least
