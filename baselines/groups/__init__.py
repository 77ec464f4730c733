"""Heuristics."""

from __future__ import annotations

import numpy as np

from ...instances.groups.instance import Choice, Groups


def greedy(
    instance: Groups,
    *,
    rng: np.random.Generator | None = None,
    time_limit: float | None = None,
) -> Choice:
    """Items by decreasing value for their weight, each where it still fits.

    Examples
    --------
    >>> import cotenant
    >>> cotenant.solve(cotenant.read("groups/tiny"), "greedy").objective
    7.0
    """
    room, items = instance.capacity, []
    for item in np.argsort(-instance.value / instance.weight, kind="stable").tolist():
        if instance.weight[item] <= room:
            room -= int(instance.weight[item])
            items.append(item)
    return Choice(items)
