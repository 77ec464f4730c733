"""Proportional response dynamics: users bid in proportion to the utility that their cores gave them
(thesis section 3.3.2).
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from ...instances.market.instance import Floats, ratio
from .scaled_market import ScaledMarket

Rule = Literal["corrected", "printed"]

_LEAST_BID = 1e-60
"""A bid of exactly 0 would stay 0 for ever (any fixed point is an equilibrium only from positive
bids).
"""


def equal_bids(scaled_market: ScaledMarket) -> Floats:
    """(j,) each user's money spread equally over its jobs."""
    number = np.bincount(scaled_market.user, minlength=scaled_market.market.users)
    return (scaled_market.budget / np.maximum(number, 1))[scaled_market.user]


def bids_at(scaled_market: ScaledMarket, price: Floats, cores: Floats) -> Floats:
    """(j,) what given cores cost at given prices, made positive and scaled to the budgets."""
    return _normalized(
        scaled_market, price[scaled_market.server] * cores + 1e-9 * equal_bids(scaled_market)
    )


def rebid(
    scaled_market: ScaledMarket, price: Floats, bids: Floats, rule: Rule = "corrected"
) -> tuple[Floats, Floats]:
    """(j,) the users' next bids after bids that make these prices, and (m,) money on each server.

    The conditions for a best reply give U_ij = sqrt(w_ij f_ij p_j) s_ij(x_ij): at a fixed point the
    money on a job is proportional to it. The thesis prints sqrt(f_ij p_j) w_ij s_ij, whose fixed
    points are the equilibria of the market with works w^2; the two agree when work does not vary
    within a user.
    """
    factor = scaled_market.root_work if rule == "corrected" else scaled_market.work
    if scaled_market.starts is not None:
        from .user_kernels import respond

        return respond(
            scaled_market.starts, scaled_market.server, scaled_market.fraction, factor,
            scaled_market.budget, price, bids, _LEAST_BID,
        )  # fmt: skip
    # sqrt(f p) s(b / p), and s(b / p) = b / (f p + (1 - f) b)
    linear = scaled_market.fraction * price[scaled_market.server]
    worth = np.sqrt(linear)
    worth *= factor
    worth *= bids
    worth /= linear + scaled_market.serial_share * bids
    after = _normalized(scaled_market, worth)
    return after, scaled_market.by_server(after)


def _normalized(scaled_market: ScaledMarket, worth: Floats) -> Floats:
    total = scaled_market.by_user(worth)
    bids = worth * ratio(scaled_market.budget, total)[scaled_market.user]
    return np.maximum(bids, _LEAST_BID, out=bids)
