"""The compiled scores of the default scheduler; numba is imported with this module, so import it on
first use.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...solvers.compiled import compiled

Array = np.ndarray[Any, Any]


@compiled
def score_node(
    place: int, room: Array, free: Array, counted: Array, asked: Array, suits: Array, packs: bool,
    scores: Array,
) -> None:  # fmt: skip
    """Score one node for pods of every kind; -1 where it does not suit them or has too little left.

    room, free (n, 2 + r), counted (k, 2) by scores, asked (k, r), suits (k, n); `packs`: whether
    what is allocated counts, not what is left. Writes scores (k, n), 0 to 100.
    """
    wide, there = counted.shape[1], 0
    for j in range(wide):
        there += room[place, j] > 0
    for kind in range(len(counted)):
        fits, total = suits[kind, place], 0
        for j in range(asked.shape[1]):
            fits &= asked[kind, j] <= max(free[place, wide + j], 0)
        for j in range(wide):
            if room[place, j] > 0:
                left = free[place, j] - counted[kind, j]
                if left >= 0:
                    share = room[place, j] - left if packs else left
                    total += share * 100 // room[place, j]
        scores[kind, place] = total // max(there, 1) if fits else -1
