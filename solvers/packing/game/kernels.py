"""Compiled kernels of the game on total VM counts; numba is imported with this module, so import it
on first use.

A total count vector n is one number, its key: the sum of n_i x stride_i. Lists of the keys of a
level are kept sorted, so that moving all of them by one combination keeps them sorted and
everything is done by merging. A box is an array of one value for each of its points, the last
coordinate running fastest.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...compiled import compiled

Array = np.ndarray[Any, Any]


@compiled
def _allowed(key: int, move: Array, stride: Array, radix: Array) -> bool:
    for i in range(len(stride)):
        if (key // stride[i]) % radix[i] + move[i] >= radix[i]:
            return False
    return True


@compiled
def following_keys(
    keys: Array,
    moves: Array,
    steps: Array,
    stride: Array,
    radix: Array,
    capped: bool,
    most: int,
) -> Any:
    """Sorted keys of the total counts that the next player's moves lead to (a key itself if caps
    leave no move), up to the first beyond `most` keys.
    """
    number = len(moves)
    position = np.zeros(number + 1, dtype=np.int64)
    result = np.empty(min(most + 1, len(keys) * (number + 1 if capped else number)), dtype=np.int64)
    found = 0
    stuck = np.zeros(len(keys) if capped else 0, dtype=np.bool_)
    # 1. keys from which caps leave the player nothing
    if capped:
        for row in range(len(keys)):
            stuck[row] = True
            for a in range(number):
                if _allowed(keys[row], moves[a], stride, radix):
                    stuck[row] = False
                    break
    # 2. merge the shifted copies of the keys, one for each move: the least head goes first
    while True:
        least = np.int64(9223372036854775807)
        for a in range(number):
            if capped:
                while position[a] < len(keys) and not _allowed(
                    keys[position[a]], moves[a], stride, radix
                ):
                    position[a] += 1
            if position[a] < len(keys):
                least = min(least, keys[position[a]] + steps[a])
        # and the keys that stay as they are
        if capped:
            while position[number] < len(keys) and not stuck[position[number]]:
                position[number] += 1
            if position[number] < len(keys):
                least = min(least, keys[position[number]])
        # all copies are used up, or the limit is passed
        if least == 9223372036854775807 or found > most:
            return result[:found].copy()
        result[found] = least
        found += 1
        # every copy that has this key at its head goes on, so it is written once
        for a in range(number):
            if position[a] < len(keys) and keys[position[a]] + steps[a] == least:
                position[a] += 1
        if capped and position[number] < len(keys) and keys[position[number]] == least:
            position[number] += 1


@compiled
def order(one: int, two: int, digits: Array, first: Array, stride: Array, radix: Array) -> int:
    """Compare the unfairness of two total counts of VMs, given by keys, in integers of base 2**32.
    Returns -1, 0 or 1, or 2 where the tables have no digits to compare.

    From the highest digit down: with at most 62 users what is left below is less than 64 of the
    current digit's units.
    """
    if one == two:
        return 0
    if len(digits) == 0:
        return 2
    above = np.int64(0)
    for index in range(len(digits) - 1, -1, -1):
        above *= 4294967296
        for i in range(len(stride)):
            above += np.int64(digits[index, first[i] + (one // stride[i]) % radix[i]])
            above -= np.int64(digits[index, first[i] + (two // stride[i]) % radix[i]])
        if above > 128:
            return 1
        if above < -128:
            return -1
    if above > 0:
        return 1
    return -1 if above < 0 else 0


@compiled
def best_replies(
    keys: Array,
    after: Array,
    value: Array,
    end: Array,
    moves: Array,
    steps: Array,
    uneven: Array,
    rank: Array,
    stride: Array,
    radix: Array,
    capped: bool,
    digits: Array,
    first: Array,
    slack: float,
    floor: float,
) -> Any:
    """Best move of a player of the game at each total count (`keys`). Known are the variance and
    the final total count to which play leads from each total count after the move.

    Moves are in lexicographic order and the first of equals is taken; `rank` orders their skewness
    exactly. Returns (v, end, move; -1 where nothing can be chosen, the places where moves whose v
    and skewness differ in opposite ways are too near for floats, or for which there are no digits:
    what stands there is only nearly best).
    """
    number = len(moves)
    ended = np.empty(len(keys))
    reached = np.empty(len(keys), dtype=np.int64)
    choice = np.empty(len(keys), dtype=np.int32)
    doubtful = np.empty(len(keys), dtype=np.int64)
    doubts = 0
    position = np.zeros(number + 1, dtype=np.int64)
    possible = np.zeros(number, dtype=np.bool_)
    for row in range(len(keys)):
        # 1. the least disutility of all moves, in floats
        least = np.inf
        for a in range(number):
            possible[a] = not capped or _allowed(keys[row], moves[a], stride, radix)
            if not possible[a]:
                continue
            target = keys[row] + steps[a]
            while after[position[a]] < target:
                position[a] += 1
            least = min(least, value[position[a]] + uneven[a])
        if least == np.inf:
            while after[position[number]] < keys[row]:
                position[number] += 1
            stay = position[number]
            ended[row], reached[row], choice[row] = value[stay], end[stay], -1
            continue
        # 2. of those that floats do not set apart, the first best by whole numbers
        limit = least + slack * least + floor
        best = -1
        doubt = False
        for a in range(number):
            if not possible[a] or value[position[a]] + uneven[a] > limit:
                continue
            if best < 0:
                best = a
                continue
            in_variance = order(end[position[a]], end[position[best]], digits, first, stride, radix)
            in_skewness = rank[a] - rank[best]
            if (
                in_variance == 2
                or (in_variance < 0 < in_skewness)
                or (in_skewness < 0 < in_variance)
            ):
                doubt = True
            elif in_variance < 0 or in_skewness < 0:
                best = a
        ended[row], reached[row], choice[row] = value[position[best]], end[position[best]], best
        if doubt:
            doubtful[doubts] = row
            doubts += 1
    return ended, reached, choice, doubtful[:doubts].copy()


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
    for rank in range(1, len(points)):
        point, position = points[rank], rank
        own_key = _key(point, size, steps, key)
        while position > 0 and value[point] <= value[points[position - 1]] * (1 + slack):
            other_key = _key(points[position - 1], size, steps, key)
            if order(other_key, own_key, digits, first, stride, radix) <= 0:
                break
            points[position] = points[position - 1]
            position -= 1
        points[position] = point
    given, exact = -np.inf, -1.0
    for rank in range(len(points)):
        float_before, given = given, value[points[rank]]
        before, exact = exact, max(given, np.nextafter(exact, np.inf))
        if given <= float_before * (1 + slack):
            own_key = _key(points[rank], size, steps, key)
            other_key = _key(points[rank - 1], size, steps, key)
            if order(other_key, own_key, digits, first, stride, radix) == 0:
                exact = before
        if abs(exact - given) > given * 2.0**-42:
            return False
        value[points[rank]] = exact
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
    """Step of backward induction on a box of points: the final variance at each point before a move
    becomes that of the best point after it. Works in place, line by line from `begin` on.

    Moves are added to the coordinates and are not negative; those of one skewness stand together,
    and `is_last` says where they end. No coordinate may pass `room`. A player without a move
    `stays`. Ends after a line in which floats do not decide between two skewnesses, which is not
    written: returns (line or their number, v, places in the line that are in doubt).
    """  # fmt: skip
    last = len(size) - 1
    length = size[last]
    worth, second = np.empty(length), np.empty(length)
    least, chosen = np.empty(length), np.empty(length)
    coordinate = np.zeros(len(size), dtype=np.int64)
    lines = np.prod(size[:last])
    for line in range(begin, lines):
        # 1. where the line is
        rest, base = line, 0
        for j in range(last - 1, -1, -1):
            coordinate[j] = rest % size[j]
            base += coordinate[j] * stride[j]
            rest //= size[j]
        # 2. the best and the second best move at each of its places
        for z in range(length):
            worth[z] = second[z] = least[z] = np.inf
            chosen[z] = value[base + z] if stays else np.inf
        for a in range(len(moves)):
            offset, until = base + moves[a, last], min(length, room[last] - moves[a, last] + 1)
            for j in range(last):
                offset += moves[a, j] * stride[j]
                if coordinate[j] + moves[a, j] > room[j]:
                    until = 0
            source = value[offset : offset + max(until, 0)]
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
