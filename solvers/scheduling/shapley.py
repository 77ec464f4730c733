"""The Shapley value of a game on coalitions, as whole numbers: equation 1 multiplied by lcm(1, ..., k).

k binom(k-1, s) divides lcm(1, ..., k) for every s < k, so each weight s! (k-s-1)! / k! of equation 1 becomes whole.
Coalitions are bit masks: bit u stands for organization u.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import comb, lcm

import numpy as np

from ...instances.scheduling.instance import Integers


def scale(players: int) -> int:
    """lcm(1, ..., k), the number every Shapley weight of k players is multiplied by."""
    return lcm(*range(1, players + 1))


def weights(players: int) -> list[int]:
    """Weight of a coalition of s others, s = 0 ... k - 1, times `scale`: equation 1."""
    whole = scale(players)
    return [whole // (players * comb(players - 1, size)) for size in range(players)]


def scaled_shares(values: Sequence[int], players: int) -> list[int]:
    """phi times `scale(players)` from the value of each coalition by mask; exact at any size of number. O(k 2^k)."""
    weight = weights(players)
    shares = []
    for player in range(players):
        bit = 1 << player
        total = 0
        for mask in range(1 << players):
            if not mask & bit:
                total += weight[mask.bit_count()] * (int(values[mask | bit]) - int(values[mask]))
        shares.append(total)
    return shares


def shares(values: Sequence[int], players: int) -> list[Fraction]:
    """phi as exact fractions."""
    whole = scale(players)
    return [Fraction(total, whole) for total in scaled_shares(values, players)]


def kernel_weights(players: int) -> tuple[Integers, Integers, Integers]:
    """Tables over (size of the coalition, size of a subset): what a subset's value counts for members and in common.

    phi of u in C times `scale(|C|)` = sum over S of C with u in S of member[|C|, |S|] v(S), minus the sum over all S of
    common[|C|, |S|] v(S): equation 1 with its two sums drawn apart. Third: `scale` by size of the coalition.
    """
    member = np.zeros((players + 1, players + 1), dtype=np.int64)
    common = np.zeros((players + 1, players + 1), dtype=np.int64)
    scales = np.ones(players + 1, dtype=np.int64)
    for size in range(1, players + 1):
        weight = [*weights(size), 0]
        scales[size] = scale(size)
        for subset in range(size + 1):
            common[size, subset] = weight[subset]
            member[size, subset] = weight[subset] + (weight[subset - 1] if subset else 0)
    return member, common, scales
