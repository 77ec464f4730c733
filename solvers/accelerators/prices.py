"""Prices of devices, steps and job time, and the bounds on time shares that they prove.

Let a step a second of a type be worth s[a], a device y[d] and the time of a job u[a], all 0 or
more, so that no placement is worth more than what it uses: s[a] t <= w y[d] + u[a] for a job alone,
s[a] t + s[b] t' <= w y[d] + u[a] + u[b] for a pair. Then all jobs together have throughputs worth
at most N y + n u, since no more devices and jobs can be used than there are.
"""

from __future__ import annotations

import math

import numpy as np

from ...instances.accelerators.instance import Accelerators, Floats
from ...models.accelerators import Prices
from ..prices import ROUNDING


def covering(instance: Accelerators, prices: Prices, rent: Floats | float = 0.0) -> Prices:
    """Raise job prices by the least amount such that no placement is worth more than the devices
    and jobs it uses, if a device in use also costs the `rent` (D,) of its kind.
    """
    first, second, device, first_rate, second_rate, workers = instance.placements
    pair = second >= 0
    step, job = prices.step, prices.job.copy()
    worth = step[first] * first_rate + np.where(pair, step[second] * second_rate, 0.0)
    used = workers * (prices.device + rent)[device]
    used = used + job[first] + np.where(pair, job[second], 0.0)
    short = worth - used + ROUNDING * (worth + used)
    same = first == second
    np.maximum.at(job, first, np.where(short > 0, (short / (1 + same) + job[first]), 0.0))
    return prices._replace(job=job)


def most_worth(instance: Accelerators, prices: Prices) -> float:
    """Upper bound on the total worth of all jobs' throughputs at `covering` prices, rounded up."""
    total = math.fsum(prices.device * instance.devices) + math.fsum(prices.job * instance.count)
    return total * (1 + ROUNDING)
