"""Nash welfare: the geometric mean of users' utilities, weighted by their budgets."""

from __future__ import annotations

import numpy as np

from .instance import Floats, Market


def nash_welfare(market: Market, utility: Floats) -> float:
    """exp(sum B_i log u_i / sum B_i) over users with a useful job; 1 when there is none."""
    active = market.active
    if not active.any():
        return 1.0
    budget, worth = market.budget[active], utility[active]
    if (worth <= 0).any():
        return 0.0
    return float(np.exp((budget * np.log(worth)).sum() / budget.sum()))
