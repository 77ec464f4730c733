"""Bounds on the total speed from any nonnegative prices of cores.

Let every core of type c on VM v cost p[v, c]. A job that may take any cores of one VM at these
prices, however many others want them, gains at most

    m[j, v] = max { sum over c of (speed[j, c] - p[v, c]) y[c] : 0 <= y[c] <= cores[v, c], sum of y
    <= threads[j] },

found by taking cores in order of speed less price. Whatever the assignment, its total speed is at
most

    sum over v, c of p[v, c] cores[v, c]  +  sum over j of max(0, max over v of m[j, v]):

the speed of the cores held is what the jobs gain plus what they pay, and nobody pays for a core
twice. The least such bound over all prices is that of the linear relaxation of `models.admission`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..problem.fields import shaped
from ..problem.option_types import validate_options
from .instance import Admission, Floats, Integers

_BLOCK = 2_000_000  # entries of the J x V x C arrays that are looked at at once


class Stopped(Exception):
    """Exception that stops a price search at its time limit."""


def gains_at_prices(
    instance: Admission, prices: Floats, over: Callable[[], bool] = lambda: False
) -> tuple[Floats, Integers]:
    """Gain of each job on each VM at prices of cores, and the cores it takes on its best VM.

    Parameters
    ----------
    prices : (V, C) price of one core, 0 or more.
    over : asked again and again; when it says so, `Stopped` is raised.

    Returns
    -------
    (J, V) m[j, v]; (J, C) cores taken on the VM of the largest gain (the lowest such VM).
    """
    gain = np.empty((instance.jobs, instance.machines))
    cores = np.zeros((instance.jobs, instance.types), dtype=np.int64)
    step = max(1, _BLOCK // (instance.machines * instance.types))
    for first in range(0, instance.jobs, step):
        if over():
            raise Stopped
        rows = slice(first, first + step)
        margin = instance.speed[rows, None, :] - prices[None]
        order = np.argsort(-margin, axis=2)
        margin = np.take_along_axis(margin, order, axis=2)
        there = np.take_along_axis(np.broadcast_to(instance.cores, margin.shape), order, axis=2)
        before = np.cumsum(there, axis=2) - there
        take = np.clip(instance.threads[rows, None, None] - before, 0, there) * (margin > 0)
        gain[rows] = (take * margin).sum(axis=2)
        best = gain[rows].argmax(axis=1)
        number = np.arange(len(best))
        block = np.zeros((len(best), instance.types), dtype=np.int64)
        np.put_along_axis(block, order[number, best], take[number, best], axis=1)
        cores[rows] = block
    return gain, cores


@validate_options
def price_bound(instance: Admission, prices: Floats) -> float:
    """Upper bound on the total speed of any assignment from prices (V, C) of cores."""
    prices = shaped("prices", prices, *instance.cores.shape)
    gain, _ = gains_at_prices(instance, prices)
    return float((prices * instance.cores).sum() + np.maximum(gain.max(axis=1), 0.0).sum())


def pair_bounds(instance: Admission, prices: Floats) -> Floats:
    """Upper bound on the total speed with job j on VM v, shape (J, V), from prices as in
    `price_bound`.
    """
    gain, _ = gains_at_prices(instance, prices)
    best = np.maximum(gain.max(axis=1), 0.0)
    bounds: Floats = (prices * instance.cores).sum() + best.sum() - best[:, None] + gain
    return bounds
