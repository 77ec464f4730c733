"""The last digits of an equilibrium of homogeneous utilities, beyond an engine's tolerance.

Linear utilities end exactly on a forest (`linear_forest_optimum`). With CES utilities, elasticity s
= 1 / (1 - rho), and Cobb-Douglas ones, s = 1, a user's bids b are in proportion to w^s p^(1 - s).
The logarithm of the money bid on a server over the worth of its cores has the Jacobian -N / (sum b)
in log prices, N = diag(s sum b) + (1 - s) sum over users of b b' / B. It is positive definite for s
<= 1 and an M-matrix for s > 1, at any prices, and Newton's method takes few steps.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...instances.market.families import Family
from ...instances.market.instance import Allocation, Floats
from .linear import UserBlocks, solve_blocks
from .linear_forest_optimum import forest_end
from .scaled_market import ScaledMarket

_STEPS, _HALVINGS = 60, 12
_LONGEST = 10.0  # change of a log price in a step
_SETTLED = 1e-14
_NEAR = 1e-6  # beyond which the answer is not worth a look


def newton_polish(
    scaled_market: ScaledMarket,
    utility: Family,
    rho: float,
    start: Allocation,
    over: Callable[[], bool] = lambda: False,
) -> Allocation | None:
    """The equilibrium next to `start`; None when there is no way to it from there, or when time is
    up.

    Parameters
    ----------
    scaled_market : of the market with f = 1 everywhere.
    """
    assert start.price is not None
    price = start.price / scaled_market.unit
    if not (price[scaled_market.priced_servers] > 0).all() or utility not in (
        "linear",
        "ces",
        "cobb-douglas",
    ):
        return None
    if utility == "linear":
        end = forest_end(scaled_market, price, start.cores[scaled_market.job], over)
        return None if end is None else scaled_market.allocation(end[0], end[1])
    return _newton(scaled_market, 1.0 if utility == "cobb-douglas" else 1 / (1 - rho), price, over)


def _newton(
    scaled_market: ScaledMarket, elasticity: float, price: Floats, over: Callable[[], bool]
) -> Allocation | None:
    """Newton steps on log prices, halved while they do not help, until the bids buy exactly what
    there is.
    """
    bids, given, excess = _asked(scaled_market, elasticity, price)
    for _ in range(_STEPS):
        if np.abs(excess).max() <= _SETTLED or over():
            break
        share = (
            bids / np.where(scaled_market.budget > 0, scaled_market.budget, 1.0)[scaled_market.user]
        )
        blocks = UserBlocks(
            elasticity * given,
            (1 - elasticity) * share,
            bids,
            scaled_market.user,
            scaled_market.server,
            scaled_market.market.users,
        )
        step = np.clip(solve_blocks(blocks, given * excess, 1e-12), -_LONGEST, _LONGEST)
        for halving in range(_HALVINGS):
            trial = price * np.exp(0.5**halving * step)
            asked = _asked(scaled_market, elasticity, trial)
            if np.linalg.norm(asked[2]) < np.linalg.norm(excess):
                break
        else:
            break
        price, (bids, given, excess) = trial, asked
    if not np.abs(excess).max(initial=0.0) <= _NEAR:
        return None
    settled = scaled_market.by_server(bids) / scaled_market.market.capacity
    return scaled_market.allocation(bids / settled[scaled_market.server], settled)


def _asked(
    scaled_market: ScaledMarket, elasticity: float, price: Floats
) -> tuple[Floats, Floats, Floats]:
    """Bids (j,), the money on each server (m,), and its logarithm over the worth of the cores (0
    where nobody bids).
    """
    bids = _bids(scaled_market, elasticity, price)
    given = scaled_market.by_server(bids)
    priced_servers = scaled_market.priced_servers
    worth = np.where(priced_servers, price * scaled_market.market.capacity, 1.0)
    return bids, given, np.log(np.maximum(np.where(priced_servers, given, 1.0), 1e-300) / worth)


def _bids(scaled_market: ScaledMarket, elasticity: float, price: Floats) -> Floats:
    """(j,) what users pay for each job, in proportion to w^s p^(1 - s)."""
    wish = elasticity * np.log(scaled_market.work) + (1 - elasticity) * np.log(
        price[scaled_market.server]
    )
    highest = np.full(scaled_market.market.users, -np.inf)
    np.maximum.at(highest, scaled_market.user, wish)
    wish = np.exp(wish - highest[scaled_market.user])
    total = scaled_market.by_user(wish)
    bids: Floats = wish / total[scaled_market.user] * scaled_market.budget[scaled_market.user]
    return bids
