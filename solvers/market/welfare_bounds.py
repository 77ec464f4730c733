"""Upper bounds on the Nash welfare from dual values computed here."""

from __future__ import annotations

import numpy as np

from ...instances.market.instance import Floats, Market
from ...instances.market.utility import nash_welfare as welfare_of
from .utilitarian import weighted_bound


def family_bound(market: Market, price: Floats, best: Floats) -> float:
    """Upper bound on the Nash welfare of the families of `instances.market.families`, from prices
    (m,) and the largest utility (n,) of each user at them.

    For any prices, sum B_i log u_i(x_i) <= sum B_i log v_i - sum B_i + sum p C over all
    allocations, v_i the utility of the best reply to p and B_i (Lagrangian dual of Eisenberg-Gale).
    """
    total = float(market.budget[market.active].sum())
    excess = (float(price @ market.capacity) - total) / total
    return _raised(welfare_of(market, best), excess)


def welfare_bound(market: Market, worth: Floats) -> float:
    """Upper bound on the Nash welfare of any allocation, from the utilities (n,) of one: no solver
    is trusted.
    """
    active = market.active
    total = float(market.budget[active].sum())
    if total == 0 or (worth[active] <= 0).any():
        return np.inf
    weight = np.divide(market.budget, worth, out=np.zeros(market.users), where=active & (worth > 0))
    slack = weighted_bound(market, weight[market.user]) / total - 1
    return _raised(welfare_of(market, worth), max(slack, 0.0))


def _raised(welfare: float, slack: float) -> float:
    """Welfare times exp(slack), or infinity (no bound) on overflow."""
    with np.errstate(over="ignore"):
        return float(welfare * np.exp(slack))
