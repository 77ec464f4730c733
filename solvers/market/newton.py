"""Newton's method on log prices: find the prices at which the users' best replies ask for exactly
what there is. Their derivative is that of `demand`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...instances.market.instance import Floats
from .exchange import Demand, Exchange
from .linear import length, solve_blocks


@dataclass(frozen=True, eq=False)
class NewtonRun:
    """Where Newton's method ended: the demand there, steps taken, and whether the tolerance was
    met.
    """

    best: Demand
    steps: int
    done: bool


def newton(
    exchange: Exchange, price: Floats, tolerance: float, *, most: int = 40, over: object = None
) -> NewtonRun:
    """Newton steps on log prices from `price` until the excess demand is within `tolerance`, or no
    step helps.

    A step is cut to a factor e per price, halved while the excess does not fall, and when that
    fails the diagonal is raised (a step towards tatonnement). Each step costs O(jobs) for the
    replies and O(jobs) per iteration of the linear solver.
    """
    at = exchange.reply(price)
    priced_servers = exchange.priced_servers
    damping = 0.0
    for step in range(most):
        if at.error <= tolerance:
            return NewtonRun(at, step, True)
        if callable(over) and over():
            return NewtonRun(at, step, False)
        rtol = min(1e-2, max(1e-10, 0.1 * tolerance / max(at.error, 1e-300), 0.1 * at.error))
        direction = solve_blocks(
            exchange.jacobian(at, damping), np.where(priced_servers, at.excess, 0.0), rtol
        )
        direction = direction * min(1.0, 1.0 / max(float(np.abs(direction).max()), 1e-300))
        found = None
        for halving in range(6):
            trial = exchange.reply(at.price * np.exp(0.5**halving * direction))
            if _norm(trial, exchange) < (1 - 1e-4 * 0.5**halving) * _norm(at, exchange):
                found = trial
                break
        if found is None:
            if damping >= 10 or at.error < 1e-13:
                return NewtonRun(at, step, False)
            damping = max(10 * damping, 0.1)
            continue
        damping = 0.0 if halving == 0 else damping / 10
        at = found
    return NewtonRun(at, most, at.error <= tolerance)


def _norm(at: Demand, exchange: Exchange) -> float:
    """The merit that a step must lower: the excess relative to each server's worth, root of the sum
    of squares.
    """
    worth = at.price * exchange.capacity
    return length(at.excess[worth > 0] / worth[worth > 0])
