"""The last digits of an equilibrium of homogeneous utilities, beyond an engine's tolerance.

Linear utilities end exactly on a forest (`forest`). With CES utilities, elasticity s = 1 / (1 -
rho), and Cobb-Douglas ones, s = 1, a user's bids b are in proportion to w^s p^(1 - s). The
logarithm of the money bid on a server over the worth of its cores has the Jacobian -N / (sum b) in
log prices, N = diag(s sum b) + (1 - s) sum over users of b b' / B. It is positive definite for s <=
1 and an M-matrix for s > 1, at any prices, and Newton's method takes few steps.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...instances.market.families import Family
from ...instances.market.instance import Allocation, Floats, total_by
from .arena import Arena
from .forest import forest_end
from .linear import UserBlocks, solve_blocks

_STEPS, _HALVINGS = 60, 12
_LONGEST = 10.0  # change of a log price in a step
_SETTLED = 1e-14
_NEAR = 1e-6  # beyond which the answer is not worth a look


def sharpened(
    arena: Arena,
    utility: Family,
    rho: float,
    start: Allocation,
    over: Callable[[], bool] = lambda: False,
) -> Allocation | None:
    """The equilibrium next to `start`; None when there is no way to it from there, or when time is
    up.

    Parameters
    ----------
    arena : of the market with f = 1 everywhere.
    """
    assert start.price is not None
    price = start.price / arena.unit
    if not (price[arena.traded] > 0).all() or utility not in ("linear", "ces", "cobb-douglas"):
        return None
    if utility == "linear":
        end = forest_end(arena, price, start.cores[arena.job], over)
        return None if end is None else arena.allocation(end[0], end[1])
    return _newton(arena, 1.0 if utility == "cobb-douglas" else 1 / (1 - rho), price, over)


def _newton(
    arena: Arena, elasticity: float, price: Floats, over: Callable[[], bool]
) -> Allocation | None:
    """Newton steps on log prices, halved while they do not help, until the bids buy exactly what
    there is.
    """
    servers, users = arena.market.servers, arena.market.users
    bids, given, excess = _asked(arena, elasticity, price)
    for _ in range(_STEPS):
        if np.abs(excess).max() <= _SETTLED or over():
            break
        share = bids / np.where(arena.budget > 0, arena.budget, 1.0)[arena.user]
        blocks = UserBlocks(
            elasticity * given, (1 - elasticity) * share, bids, arena.user, arena.server, users
        )
        step = np.clip(solve_blocks(blocks, given * excess, 1e-12), -_LONGEST, _LONGEST)
        for halving in range(_HALVINGS):
            trial = price * np.exp(0.5**halving * step)
            asked = _asked(arena, elasticity, trial)
            if np.linalg.norm(asked[2]) < np.linalg.norm(excess):
                break
        else:
            break
        price, (bids, given, excess) = trial, asked
    if not np.abs(excess).max(initial=0.0) <= _NEAR:
        return None
    settled = total_by(arena.server, bids, servers) / arena.market.capacity
    return arena.allocation(bids / settled[arena.server], settled)


def _asked(arena: Arena, elasticity: float, price: Floats) -> tuple[Floats, Floats, Floats]:
    """Bids (j,), the money on each server (m,), and its logarithm over the worth of the cores (0
    where nobody bids).
    """
    bids = _bids(arena, elasticity, price)
    given = total_by(arena.server, bids, arena.market.servers)
    traded = arena.traded
    worth = np.where(traded, price * arena.market.capacity, 1.0)
    return bids, given, np.log(np.maximum(np.where(traded, given, 1.0), 1e-300) / worth)


def _bids(arena: Arena, elasticity: float, price: Floats) -> Floats:
    """(j,) what users pay for each job, in proportion to w^s p^(1 - s)."""
    wish = elasticity * np.log(arena.work) + (1 - elasticity) * np.log(price[arena.server])
    highest = np.full(arena.market.users, -np.inf)
    np.maximum.at(highest, arena.user, wish)
    wish = np.exp(wish - highest[arena.user])
    total = total_by(arena.user, wish, arena.market.users)
    bids: Floats = wish / total[arena.user] * arena.budget[arena.user]
    return bids
