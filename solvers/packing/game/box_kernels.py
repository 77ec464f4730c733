"""Compiled kernels of the game on boxes of total VM counts; numba is imported with this module, so
import it on first use.

A box is an array of one value for each of its points, the last coordinate running fastest.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...compiled import compiled
from .kernels import order

Array = np.ndarray[Any, Any]


@compiled
def box_variances(
    deviation: Array,
    first: Array,
    radix: Array,
    origin: Array,
    axes: Array,
    size: Array,
    exponent: float,
) -> Any:
    """Fairness variances of all points of a box of total counts; infinite where a point is not
    reachable.
    """  # fmt: skip
    last = len(size) - 1
    result = np.empty(np.prod(size))
    count = np.empty(len(origin), dtype=np.int64)
    for line in range(len(result) // size[last]):
        for i in range(len(count)):
            count[i] = origin[i]
        rest = line
        for j in range(last - 1, -1, -1):
            for i in range(len(count)):
                count[i] += rest % size[j] * axes[j, i]
            rest //= size[j]
        for z in range(size[last]):
            total = 0.0
            for i in range(len(count)):
                number = count[i] + z * axes[last, i]
                if 0 <= number < radix[i]:
                    total += deviation[first[i] + number]
                else:
                    total = np.inf
            result[line * size[last] + z] = total**exponent
    return result


@compiled
def _key(point: int, size: Array, steps: Array, key: int) -> int:
    for j in range(len(size) - 1, -1, -1):
        key += point % size[j] * steps[j]
        point //= size[j]
    return key


@compiled
def make_exact(
    value: Array,
    points: Array,
    size: Array,
    steps: Array,
    key: int,
    digits: Array,
    first: Array,
    stride: Array,
    radix: Array,
    slack: float,
) -> bool:
    """Adjust the last bits of float variances such that their order and ties are those of the exact
    values; return whether fewer than 2**-42 of each sufficed.

    `points` are those of finite v, by increasing floats, and are put in the order of S; the key of
    a point y is `key` + the sum of y_j x steps_j.
    """  # fmt: skip
    # floats are nearly in the order of S, so that each point moves few places
    for at in range(1, len(points)):
        own, place = points[at], at
        here = _key(own, size, steps, key)
        while place > 0 and value[own] <= value[points[place - 1]] * (1 + slack):
            there = _key(points[place - 1], size, steps, key)
            if order(there, here, digits, first, stride, radix) <= 0:
                break
            points[place] = points[place - 1]
            place -= 1
        points[place] = own
    given, exact = -np.inf, -1.0
    for at in range(len(points)):
        float_before, given = given, value[points[at]]
        before, exact = exact, max(given, np.nextafter(exact, np.inf))
        if given <= float_before * (1 + slack):
            here = _key(points[at], size, steps, key)
            there = _key(points[at - 1], size, steps, key)
            if order(there, here, digits, first, stride, radix) == 0:
                exact = before
        if abs(exact - given) > given * 2.0**-42:
            return False
        value[points[at]] = exact
    return True


@compiled
def best_values(
    value: Array,
    stride: Array,
    size: Array,
    room: Array,
    moves: Array,
    is_last: Array,
    uneven: Array,
    stays: bool,
    slack: float,
    begin: int,
) -> Any:
    """Replace the variances at the points of the next level by those at a level's points after the
    best move, line by line from `begin` on.

    Moves are added to the coordinates and are not negative; those of one skewness stand together,
    and `is_last` says where they end. No coordinate may pass `room`. A player without a move
    `stays`. Ends after a line in which floats do not decide between two skewnesses, which is not
    written: returns (line or their number, v, places in the line that are in doubt).
    """  # fmt: skip
    last = len(size) - 1
    length = size[last]
    worth, second = np.empty(length), np.empty(length)
    least, chosen = np.empty(length), np.empty(length)
    at = np.zeros(len(size), dtype=np.int64)
    lines = np.prod(size[:last])
    for line in range(begin, lines):
        # 1. where the line is
        rest, base = line, 0
        for j in range(last - 1, -1, -1):
            at[j] = rest % size[j]
            base += at[j] * stride[j]
            rest //= size[j]
        # 2. the best and the second best move at each of its places
        for z in range(length):
            worth[z] = second[z] = least[z] = np.inf
            chosen[z] = value[base + z] if stays else np.inf
        for a in range(len(moves)):
            place, until = base + moves[a, last], min(length, room[last] - moves[a, last] + 1)
            for j in range(last):
                place += moves[a, j] * stride[j]
                if at[j] + moves[a, j] > room[j]:
                    until = 0
            source = value[place : place + max(until, 0)]
            for z in range(len(source)):
                least[z] = min(least[z], source[z])
            # of one skewness the least v is best, exactly; now against the other skewnesses
            if is_last[a]:
                for z in range(length):
                    own, best = least[z] + uneven[a], worth[z]
                    second[z] = min(second[z], max(own, best))
                    chosen[z] = least[z] if own < best else chosen[z]
                    worth[z] = min(own, best)
                    least[z] = np.inf
        # 3. stop where floats leave the best move in doubt
        number = 0
        for z in range(length):
            number += second[z] <= worth[z] * (1 + slack) and worth[z] < np.inf
        if number:
            near = (second <= worth * (1 + slack)) & (worth < np.inf)
            return line, chosen, np.flatnonzero(near)
        for z in range(length):
            value[base + z] = chosen[z]
    return lines, chosen, np.zeros(0, dtype=np.int64)
