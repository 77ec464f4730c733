"""Compiled kernels of the first phase of Irving's algorithm over types."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..compiled import compiled

Ints = NDArray[Any]

LOW, HIGH, ROOM, NEXT = range(4)
"""Rows of the state of each type a: the first place that is left in its list, worst first; the
place at which so many agents as it has find room from there on, so that one of them is there or
before; how many find room there; and how many other types, those for whom most partners are left
first, have refused those whom they like less than a.
"""


@compiled
def usable(
    order: Ints, place: Ints, room: Ints, size: Ints, ask: Ints, count: Ints, most: int,
    steps: int, left: Ints, states: Ints, queue: Ints, waiting: Ints, trail: Ints,
) -> bool:  # fmt: skip
    """Mark in `left` (T, T + 1) the ranks that pairings with at most `most` (0 or 1) blocking pairs
    can use; return False if there is no such pairing.

    order : (T, T + 1) the partners of each type, worst first; -1 for none, and behind all.
    place : (T, T) where a partner stands in `order`.
    room : (T, T + 1) how many agents of a type can be beside the partner there; 0 behind all.
    size : (T, T) how many of the first partners a type leaves for another one.
    ask : (T, T) the others of a type, by falling `size`.
    count : (T,) its agents. steps : about how many steps trials of single pairs may take.
    states (2, 4, T), queue (T,), waiting (T,) of zeros, trail (T (T + 1) + 1, 3) : for work.
    """
    types = count.size
    begin, state = states[0], states[1]
    trail[0, 0] = 0  # how many places it has
    _begin(begin, queue, waiting)
    some = _narrow(order, place, room, size, ask, count, begin, queue, waiting, trail, -1, -1)
    if some and most == 0:
        some = _try_each(
            order, place, room, size, ask, count, begin, state, queue, waiting, trail, steps
        )
    if some:
        left |= room > 0
    if most == 0:
        return some
    _take_back(room, trail)
    for p in range(types):
        for q in range(p, types):
            if size[p, q] == 0 or size[q, p] == 0:
                continue
            _begin(begin, queue, waiting)
            if _narrow(order, place, room, size, ask, count, begin, queue, waiting, trail, p, q):
                if p == q or _at_most_one(room, size, count, p, q):
                    some = True
                    left |= room > 0
            _take_back(room, trail)
    return some


@compiled
def _begin(state: Ints, queue: Ints, waiting: Ints) -> None:
    """Reset the state of the first phase over types, with every type in the queue."""
    queue[:] = np.arange(queue.size)
    waiting[:] = True
    state[:] = 0
    state[HIGH] = queue.size + 1


@compiled
def _at_most_one(room: Ints, size: Ints, count: Ints, p: int, q: int) -> bool:
    """Return whether at most one agent of type p must prefer q to its partner, and vice versa."""
    here, there = 0, 0
    for k in range(room.shape[1]):
        if k >= size[p, q]:
            here += room[p, k]
        if k >= size[q, p]:
            there += room[q, k]
    return bool(here >= count[p] - 1 and there >= count[q] - 1)


@compiled
def _narrow(
    order: Ints, place: Ints, room: Ints, size: Ints, ask: Ints, count: Ints, state: Ints,
    queue: Ints, waiting: Ints, trail: Ints, p: int, q: int,
) -> bool:  # fmt: skip
    """Strike out ranks of partners until no further one can be excluded, each recorded in `trail`;
    return False if a type has too little room.

    Where the agents of a do not all find room behind those whom it leaves for c, one of them would
    leave for c, and c can have nobody whom it leaves for a; but p and q may block. The types that
    are `waiting` stand at the front of `queue`.
    """
    types = count.size
    head, many = 0, waiting.sum()
    while many:
        a = queue[head]
        head = (head + 1) % types
        many -= 1
        waiting[a] = False
        while state[ROOM, a] < count[a]:
            if state[HIGH, a] <= state[LOW, a]:
                waiting[:] = False
                return False
            state[HIGH, a] -= 1
            state[ROOM, a] += room[a, state[HIGH, a]]
        while state[NEXT, a] < types:
            c = ask[a, state[NEXT, a]]
            if size[a, c] <= state[HIGH, a]:
                break
            state[NEXT, a] += 1
            if c == a or (a == p and c == q) or (a == q and c == p):
                continue
            while state[LOW, c] < size[c, a]:
                k = state[LOW, c]
                state[LOW, c] += 1
                if room[c, k] == 0:
                    continue
                b = order[c, k]
                _take_out(room, trail, state, c, k)
                if b >= 0 and b != c:
                    _take_out(room, trail, state, b, place[b, c])
                    if not waiting[b]:
                        queue[(head + many) % types] = b
                        many += 1
                        waiting[b] = True
                if not waiting[c]:
                    queue[(head + many) % types] = c
                    many += 1
                    waiting[c] = True
    return True


@compiled
def _take_out(room: Ints, trail: Ints, state: Ints, a: int, k: int) -> None:
    """Exclude the partner at rank k of type a: set `room[a, k]` to 0, with a note in `trail`."""
    trail[0, 0] += 1
    at = trail[0, 0]
    trail[at, 0] = a
    trail[at, 1] = k
    trail[at, 2] = room[a, k]
    if state[HIGH, a] <= k:
        state[ROOM, a] -= room[a, k]
    room[a, k] = 0


@compiled
def _at_most(room: Ints, state: Ints, queue: Ints, waiting: Ints, at: int, a: int, k: int) -> None:
    """Note that an agent of type a gets the partner at place k or a worse; put a at `queue[at]`."""
    while state[HIGH, a] > k:
        state[HIGH, a] -= 1
        state[ROOM, a] += room[a, state[HIGH, a]]
    queue[at] = a
    waiting[a] = True


@compiled
def _take_back(room: Ints, trail: Ints) -> None:
    """Undo the changes of `room` that are recorded in `trail`."""
    for at in range(trail[0, 0], 0, -1):
        room[trail[at, 0], trail[at, 1]] = trail[at, 2]
    trail[0, 0] = 0


@compiled
def _try_each(
    order: Ints, place: Ints, room: Ints, size: Ints, ask: Ints, count: Ints, state: Ints,
    trial: Ints, queue: Ints, waiting: Ints, trail: Ints, steps: int,
) -> bool:  # fmt: skip
    """Exclude every pair of types whose use would leave a type too little room, for about `steps`
    steps; return False if there is no pairing.
    """
    types, width = order.shape
    trail[0, 0] = 0
    changed = True
    while changed:
        changed = False
        for a in range(types):
            for k in range(width):
                b = order[a, k]
                if room[a, k] == 0 or (0 <= b < a):
                    continue
                if steps < 0:
                    return True
                # 1. an agent of a is at place k, and one of b at its place, or before
                trial[:] = state
                far = k if b < 0 else place[b, a]
                other = a if b < 0 else b
                _at_most(room, trial, queue, waiting, 0, a, k)
                _at_most(room, trial, queue, waiting, 1, other, far)
                possible = _narrow(
                    order, place, room, size, ask, count, trial, queue, waiting, trail, -1, -1
                )
                steps -= types + trail[0, 0]
                _take_back(room, trail)
                if possible:
                    continue
                # 2. that cannot be: what follows without the pair
                changed = True
                _take_out(room, trail, state, a, k)
                if other != a:
                    _take_out(room, trail, state, other, far)
                _at_most(room, state, queue, waiting, 0, a, width)
                _at_most(room, state, queue, waiting, 1, other, width)
                if not _narrow(
                    order, place, room, size, ask, count, state, queue, waiting, trail, -1, -1
                ):
                    return False
                trail[0, 0] = 0
    return True
