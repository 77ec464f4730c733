"""Whole slices handed out one by one, each to whoever is lowest."""

from __future__ import annotations

import numpy as np

from ...instances.quanta.instance import Integers


def raised(start: Integers, room: Integers, amount: int) -> Integers:
    """(n,) how much each level rises where `amount` units go to the lowest level one by one.

    Parameters
    ----------
    start : (n,) levels before; of equal ones the first is served first.
    room : (n,) units that each can take at most.
    """
    if amount >= room.sum():
        return room
    # 1. the highest level to which all that lie below it can be raised
    low, high = int(start.min()), int((start + room).max())
    while high - low > 1:
        middle = (low + high) // 2
        enough = np.clip(middle - start, 0, room).sum() <= amount
        low, high = (middle, high) if enough else (low, middle)
    taken = np.clip(low - start, 0, room)
    # 2. what is left goes to the first of those that stand there and can take more
    able = np.flatnonzero((start + taken == low) & (taken < room))
    taken[able[: amount - int(taken.sum())]] += 1
    return taken


def max_min_slices(demand: Integers, room: Integers) -> Integers:
    """(n, T) max-min fair whole slices of the (T,) `room` of each quantum, on its own."""
    nothing = np.zeros(len(demand), dtype=np.int64)
    columns = zip(demand.T, room.tolist(), strict=True)
    return np.stack([raised(nothing, wanted, slices) for wanted, slices in columns], axis=1)
