"""Good prices: the least bound on total speed that prices of cores prove."""

from __future__ import annotations

import numpy as np

from ...instances.admission.instance import Admission, Floats
from ...instances.admission.prices import Stopped, gains_at_prices
from ...instances.admission.rules import speeds_on
from ..outcome import Clock

_PATIENCE = 12  # steps without progress before the step is shortened
_SHORTEST = 1e-5
_PROGRESS = 1e-6


def good_prices(
    instance: Admission, value: float, clock: Clock, *, steps: int = 600
) -> tuple[Floats, float]:
    """Prices (V, C) of cores and the bound on total speed they prove, not far above the linear
    relaxation's.

    Polyak's steps towards the value of an assignment in hand, shortened when they stop helping.

    Parameters
    ----------
    value : total speed of some assignment.
    clock : stops early when its time is up.
    steps : at most so many, each O(J V C log C).
    """
    prices = np.zeros(instance.cores.shape)
    best, least = prices, np.inf
    length, idle = 1.0, 0
    for _ in range(steps):
        try:
            gain, cores = gains_at_prices(instance, prices, lambda: clock.expired)
        except Stopped:
            if np.isinf(least):  # nothing was bounded yet: cores for nothing
                least = float(speeds_on(instance, instance.cores).max(axis=1).sum())
            break
        chosen = gain.argmax(axis=1)
        gained = gain[np.arange(instance.jobs), chosen]
        bound = float((prices * instance.cores).sum() + np.maximum(gained, 0.0).sum())
        idle = 0 if bound < least * (1 - _PROGRESS) else idle + 1
        if bound < least:
            best, least = prices, bound
        if least <= value or clock.expired or length < _SHORTEST:
            break
        if idle > _PATIENCE:
            length, idle, prices = length / 2, 0, best
            continue
        used = np.zeros(instance.cores.shape)
        np.add.at(used, chosen, cores)
        slack = instance.cores - used
        norm = float((slack**2).sum())
        if norm == 0:
            break
        prices = np.maximum(0.0, prices - length * (bound - value) / norm * slack)
    return best, least
