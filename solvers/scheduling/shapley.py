"""Shapley value of a coalition game in integers: equation 1 multiplied by lcm(1, ..., k).

k binom(k-1, s) divides lcm(1, ..., k) for every s < k, so each weight s! (k-s-1)! / k! of equation
1 becomes whole. Coalitions are bit masks: bit u stands for organization u.
"""

from __future__ import annotations

from fractions import Fraction
from math import comb, lcm
from typing import Any

import numpy as np
import numpy.typing as npt

from ...instances.scheduling.instance import Integers


def scale(players: int) -> int:
    """Common denominator lcm(1, ..., k) of the Shapley weights of k players."""
    return lcm(*range(1, players + 1))


def weights(players: int) -> list[int]:
    """Shapley weight (times `scale`) of a coalition of s other players, for s from 0 to k - 1, by
    equation 1.
    """
    whole = scale(players)
    return [whole // (players * comb(players - 1, size)) for size in range(players)]


def scaled_shares(values: npt.ArrayLike, players: int) -> list[Any]:
    """Shapley value phi of each player times `scale(players)`, from the values of the coalitions by
    mask, (2^k,) or (2^k, q) of several games; exact at any size of number. O(k 2^k) a game.
    """
    table = np.frompyfunc(int, 1, 1)(np.asarray(values, dtype=object))
    weight, masks = np.array(weights(players), dtype=object), np.arange(1 << players)
    shares = []
    for player in range(players):
        others = masks[masks >> player & 1 == 0]
        gain = table[others | 1 << player] - table[others]
        shares.append((weight[np.bitwise_count(others)] * gain.T).sum(axis=-1))
    return shares


def shares(values: npt.ArrayLike, players: int) -> list[Fraction]:
    """Shapley value phi of each player as exact fractions, from the values (2^k,) by mask."""
    whole = scale(players)
    return [Fraction(total, whole) for total in scaled_shares(values, players)]


def kernel_weights(players: int) -> tuple[Integers, Integers]:
    """Weights of the values of subsets in the Shapley values of the members of a coalition of each
    size s, at index 2^s + subset, and the scale of each size.

    scale(s) phi of u in C = sum over the subsets of C that hold u of weight x value, minus a sum
    over all subsets that is the same for every u: equation 1 with its two sums drawn apart. A
    subset is numbered by the places of its members among C's.
    """
    bits = np.array([number.bit_count() for number in range(1 << players)], dtype=np.int64)
    table = np.zeros(2 << players, dtype=np.int64)
    scales = np.ones(players + 1, dtype=np.int64)
    for size in range(1, players + 1):
        weight = [*weights(size), 0]
        counts = [
            weight[smaller] + (weight[smaller - 1] if smaller else 0) for smaller in range(size + 1)
        ]
        table[1 << size : 2 << size] = np.array(counts, dtype=np.int64)[bits[: 1 << size]]
        scales[size] = scale(size)
    return table, scales
