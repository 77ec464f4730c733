"""What to measure again: the pairs of agents that block for some matrix within the intervals, and
not for all.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .instance import Colocation, Pairing
from .stability import AlphaMode, compared, gains

MOST_TOLD = 20
"""Entries of the list, those of most pairs of agents first."""


def undecided_pairs(
    instance: Colocation,
    pairing: Pairing,
    alpha: float = 0.0,
    alpha_mode: AlphaMode = "penalty-points",
) -> list[dict[str, Any]]:
    """Groups of agents that possibly block and do not certainly, with the four intervals that
    decide it: each side's penalty now, and beside the other.

    Narrower intervals of these settle whether they block; a pair that certainly blocks does so
    however it is measured. O(P^2) for P pairs of types.

    Returns
    -------
    JSON values, at most `MOST_TOLD`, most pairs of agents first: `types` [a, c] and whom they are
    `beside` (None for nobody), by name; how many `pairs` of agents they make; `now` the two
    intervals of what they have, `then` of what they would have.
    """
    leaves, offered = compared(instance, "possible")
    lowest, highest = offered, leaves
    a, b = pairing.first, pairing.second
    apart = a != b  # both ends of a pair of one type are in one group
    kind, beside = np.concatenate([a, b[apart]]), np.concatenate([b, a[apart]])
    number = np.concatenate([pairing.pairs * (2 - apart), pairing.pairs[apart]])
    now = np.stack([lowest[kind, beside], highest[kind, beside]], axis=1)
    if instance.unpaired is not None:
        alone = np.flatnonzero(pairing.single)
        kind, beside = np.append(kind, alone), np.append(beside, np.full(len(alone), -1))
        number = np.append(number, pairing.single[alone])
        now = np.concatenate([now, np.full((len(alone), 2), instance.unpaired)])
    read = (alpha, alpha_mode)
    possibly = gains(now[:, 1, None], lowest[kind], *read) & instance.allowed[kind]
    possibly &= beside[:, None] != np.arange(instance.types)
    certainly = gains(now[:, 0, None], highest[kind], *read)
    found: list[tuple[int, int, int]] = []
    for one in range(len(kind)):
        rest = slice(one, None)
        open_ones = possibly[one, kind[rest]] & possibly[rest, kind[one]]
        open_ones &= ~(certainly[one, kind[rest]] & certainly[rest, kind[one]])
        pairs = number[one] * number[rest] * open_ones
        pairs[0] = open_ones[0] * number[one] * (number[one] - 1) // 2
        first = np.argsort(-pairs, kind="stable")[:MOST_TOLD]
        found += [(int(pairs[other]), one, one + other) for other in first.tolist() if pairs[other]]
    found.sort(key=lambda entry: (-entry[0], entry[1:]))
    names = instance.names

    def ends(x: int, y: int) -> list[float]:
        return [float(lowest[x, y]), float(highest[x, y])]

    return [
        {
            "types": [names[kind[one]], names[kind[other]]],
            "beside": [None if beside[g] < 0 else names[beside[g]] for g in (one, other)],
            "pairs": pairs,
            "now": now[[one, other]].tolist(),
            "then": [ends(kind[one], kind[other]), ends(kind[other], kind[one])],
        }
        for pairs, one, other in found[:MOST_TOLD]
    ]
