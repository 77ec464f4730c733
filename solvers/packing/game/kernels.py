"""Compiled kernels of the game on total VM counts; numba is imported with this module, so import it on first use.

A total count vector n is one number, its key: the sum of n_i x stride_i. Keys of a level are kept sorted, so that moving
all of them by one combination keeps them sorted and everything is done by merging.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...compiled import compiled

Array = np.ndarray[Any, Any]


@compiled
def variances(deviation: Array, first: Array, stride: Array, radix: Array, keys: Array, exponent: float) -> Any:
    """v of total counts: the users' deviations (one after the other in `deviation`, from `first`) added in index order."""
    result = np.empty(len(keys))
    for place in range(len(keys)):
        total = 0.0
        for i in range(len(stride)):
            total += deviation[first[i] + (keys[place] // stride[i]) % radix[i]]
        result[place] = total**exponent
    return result


@compiled
def _allowed(key: int, move: Array, stride: Array, radix: Array) -> bool:
    for i in range(len(stride)):
        if (key // stride[i]) % radix[i] + move[i] >= radix[i]:
            return False
    return True


@compiled
def following_keys(keys: Array, moves: Array, steps: Array, stride: Array, radix: Array, capped: bool) -> Any:
    """The keys that the next player can lead to; where caps leave it nothing to choose, the key itself."""
    number = len(moves)
    place = np.zeros(number + 1, dtype=np.int64)
    result = np.empty(len(keys) * (number + 1 if capped else number), dtype=np.int64)
    found = 0
    stuck = np.zeros(len(keys) if capped else 0, dtype=np.bool_)
    if capped:
        for at in range(len(keys)):
            stuck[at] = True
            for a in range(number):
                if _allowed(keys[at], moves[a], stride, radix):
                    stuck[at] = False
                    break
    while True:
        least = np.int64(9223372036854775807)
        for a in range(number):
            if capped:
                while place[a] < len(keys) and not _allowed(keys[place[a]], moves[a], stride, radix):
                    place[a] += 1
            if place[a] < len(keys):
                least = min(least, keys[place[a]] + steps[a])
        if capped:
            while place[number] < len(keys) and not stuck[place[number]]:
                place[number] += 1
            if place[number] < len(keys):
                least = min(least, keys[place[number]])
        if least == 9223372036854775807:
            return result[:found].copy()
        result[found] = least
        found += 1
        for a in range(number):
            if place[a] < len(keys) and keys[place[a]] + steps[a] == least:
                place[a] += 1
        if capped and place[number] < len(keys) and keys[place[number]] == least:
            place[number] += 1


@compiled
def best_replies(
    keys: Array,
    after: Array,
    value: Array,
    moves: Array,
    steps: Array,
    uneven: Array,
    idle: float,
    stride: Array,
    radix: Array,
    capped: bool,
) -> Any:
    """For every key the move that leaves the player best off, given the v that play from `after` ends with.

    Moves are in lexicographic order and only a strictly better one replaces the one before. Returns (v of the end reached,
    move; -1 where nothing can be chosen).
    """
    number = len(moves)
    end = np.empty(len(keys))
    choice = np.empty(len(keys), dtype=np.int32)
    place = np.zeros(number + 1, dtype=np.int64)
    for at in range(len(keys)):
        best = -np.inf
        chosen = -1
        reached = 0.0
        for a in range(number):
            if capped and not _allowed(keys[at], moves[a], stride, radix):
                continue
            target = keys[at] + steps[a]
            while after[place[a]] < target:
                place[a] += 1
            worth = -value[place[a]] - uneven[a]
            if worth > best:
                best = worth
                chosen = a
                reached = value[place[a]]
        if chosen < 0:
            while after[place[number]] < keys[at]:
                place[number] += 1
            reached = value[place[number]]
        end[at] = reached
        choice[at] = chosen
    return end, choice


@compiled
def least_sums(
    keys: Array,
    cost: Array,
    after: Array,
    moves: Array,
    steps: Array,
    uneven: Array,
    idle: float,
    stride: Array,
    radix: Array,
    capped: bool,
) -> Any:
    """For every key of `after` the least sum of skewness that leads to it, and the move that does; -1: staying empty.

    Staying empty is always possible when requests are capped, never otherwise.
    """
    number = len(moves)
    result = np.full(len(after), np.inf)
    choice = np.full(len(after), -2, dtype=np.int32)
    for a in range(number):
        place = 0
        for at in range(len(keys)):
            if capped and not _allowed(keys[at], moves[a], stride, radix):
                continue
            target = keys[at] + steps[a]
            while after[place] < target:
                place += 1
            if cost[at] + uneven[a] < result[place]:
                result[place] = cost[at] + uneven[a]
                choice[place] = a
    if capped:
        place = 0
        for at in range(len(keys)):
            while after[place] < keys[at]:
                place += 1
            if cost[at] + idle < result[place]:
                result[place] = cost[at] + idle
                choice[place] = -1
    return result, choice
