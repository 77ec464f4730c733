"""Newton's method on log prices for market clearing: the users' best replies demand exactly the
supply. The derivative is that of `exchange`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...instances.market.instance import Floats
from .exchange import Demand, jacobian, reply
from .linear import length, solve_blocks
from .scaled_market import ScaledMarket


def newton(
    scaled_market: ScaledMarket,
    price: Floats,
    tolerance: float,
    over: Callable[[], bool],
    *,
    maximum: int = 40,
) -> tuple[Demand, int]:
    """Take Newton steps on log prices from `price` until the excess demand is within `tolerance`,
    no step helps, or time is up; returns the demand there and the number of steps.

    A step is cut to a factor e per price, halved while the excess does not fall, and when that
    fails the diagonal is raised (a step towards tatonnement). Each step costs O(jobs) for the
    replies and O(jobs) per iteration of the linear solver.
    """
    at = reply(scaled_market, price)
    priced_servers, capacity = scaled_market.priced_servers, scaled_market.market.capacity
    damping = 0.0
    for step in range(maximum):
        if at.error <= tolerance or over():
            return at, step
        rtol = min(1e-2, max(1e-10, 0.1 * tolerance / max(at.error, 1e-300), 0.1 * at.error))
        direction = solve_blocks(
            jacobian(scaled_market, at, damping), np.where(priced_servers, at.excess, 0.0), rtol
        )
        direction = direction * min(1.0, 1.0 / max(float(np.abs(direction).max()), 1e-300))
        found = None
        for halving in range(6):
            trial = reply(scaled_market, at.price * np.exp(0.5**halving * direction))
            if _norm(trial, capacity) < (1 - 1e-4 * 0.5**halving) * _norm(at, capacity):
                found = trial
                break
        if found is None:
            if damping >= 10 or at.error < 1e-13:
                return at, step
            damping = max(10 * damping, 0.1)
            continue
        damping = 0.0 if halving == 0 else damping / 10
        at = found
    return at, maximum


def _norm(at: Demand, capacity: Floats) -> float:
    """Merit that a step must lower: Euclidean norm of the excess relative to each server's
    worth.
    """
    worth = at.price * capacity
    return length(at.excess[worth > 0] / worth[worth > 0])
