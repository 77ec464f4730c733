"""Proportional response dynamics: users bid in proportion to what their cores do for them (thesis
section 3.3.2).
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from ...instances.market.instance import Floats, ratio, total_by
from .arena import Arena

Rule = Literal["corrected", "printed"]

_LEAST_BID = 1e-60
"""A bid of exactly 0 would stay 0 for ever (any fixed point is an equilibrium only from positive
bids).
"""


def equal_bids(arena: Arena) -> Floats:
    """(j,) each user's money spread equally over its jobs."""
    number = np.bincount(arena.user, minlength=arena.market.users)
    return (arena.budget / np.maximum(number, 1))[arena.user]


def random_bids(arena: Arena, rng: np.random.Generator) -> Floats:
    """(j,) each user's money spread at random over its jobs, every bid positive."""
    return _normalized(arena, rng.exponential(size=len(arena.job)) + 1e-6)


def bids_at(arena: Arena, price: Floats, cores: Floats) -> Floats:
    """(j,) positive bids near the money that these cores cost at these prices."""
    return _normalized(arena, price[arena.server] * cores + 1e-9 * equal_bids(arena))


def respond(arena: Arena, bids: Floats, rule: Rule = "corrected") -> tuple[Floats, Floats]:
    """One round: prices from bids, then bids from prices.

    The conditions for a best reply give U_ij = sqrt(w_ij f_ij p_j) s_ij(x_ij): at a fixed point the
    money on a job is proportional to it. The thesis prints sqrt(f_ij p_j) w_ij s_ij, whose fixed
    points are the equilibria of the market with works w^2; the two agree when work does not vary
    within a user.

    Returns
    -------
    The prices (m,) of the bids given, and the new bids (j,).
    """
    price = arena.price_of(bids)
    return price, rebid(arena, price, bids, rule)


def rebid(arena: Arena, price: Floats, bids: Floats, rule: Rule = "corrected") -> Floats:
    """(j,) the bids of a round at these prices, which the bids of all users made: see `respond`."""
    # sqrt(f p) s(b / p), and s(b / p) = b / (f p + (1 - f) b)
    linear = arena.fraction * price[arena.server]
    worth = np.sqrt(linear)
    worth *= arena.root_work if rule == "corrected" else arena.work
    worth *= bids
    worth /= linear + arena.serial_share * bids
    return _normalized(arena, worth)


def _normalized(arena: Arena, worth: Floats) -> Floats:
    total = total_by(arena.user, worth, arena.market.users)
    bids = worth * ratio(arena.budget, total)[arena.user]
    return np.maximum(bids, _LEAST_BID, out=bids)
