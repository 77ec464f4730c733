"""Prices of cores with the least bound on total speed that prices can prove."""

from __future__ import annotations

import numpy as np

from ...instances.admission.instance import Admission, Floats
from ...instances.admission.rules import Stopped, gains_at_prices, speeds_on
from ..outcome import Clock
from ..prices import search

_TOLERANCE = 1e-6  # of the bound at the first prices
_ENTRIES, _ROUNDS = 200_000, 200  # numbers of a reply, all of which are kept, and replies at most


def good_prices(instance: Admission, clock: Clock) -> tuple[Floats, float]:
    """Prices (V, C) of cores and the bound on total speed that they prove, near the linear
    relaxation's.

    Cutting planes of `solvers.prices`, in which each job is a part, or some jobs are where all of
    them would take too much memory; a round is O(J V C log C).

    Parameters
    ----------
    clock : stops early when its time is up.
    """
    shape, jobs = instance.cores.shape, np.arange(instance.jobs)
    groups = max(1, min(instance.jobs, _ENTRIES // instance.cores.size))
    group = jobs * groups // instance.jobs
    best, least = np.zeros(shape), float(speeds_on(instance, instance.cores).max(axis=1).sum())

    def replies(price: Floats) -> tuple[Floats, Floats]:
        nonlocal best, least
        prices = price.reshape(shape)
        gain, cores = gains_at_prices(instance, prices, lambda: clock.expired)
        chosen = gain.argmax(axis=1)
        gained = np.maximum(gain[jobs, chosen], 0.0)
        bound = float((prices * instance.cores).sum() + gained.sum())
        if bound < least:
            best, least = prices, bound
        use = np.zeros((groups, *shape))
        np.add.at(use, (group, chosen), cores)
        return np.bincount(group, gained, groups).astype(float), use.reshape(groups, -1)

    capacity = instance.cores.astype(float).ravel()
    most = np.full(capacity.size, float(instance.speed.max()))
    try:
        start = np.full(capacity.size, float(instance.speed.mean()) / 2)
        search(
            replies, capacity, most, start=start, tolerance=_TOLERANCE, rounds=_ROUNDS, clock=clock
        )
    except Stopped:  # the best prices so far, at first cores for nothing
        pass
    return best, least
