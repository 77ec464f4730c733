"""Users' best replies in money, and how they change with the logarithms of prices.

At log prices pi, let b_k(pi) be the money a best reply spends on job k, a = alpha / sum alpha over
the user's active jobs, beta = f p / (1 - f), and g_k = (b_k - beta_k) / 2 for active jobs. Then

    d b_k = g_k d pi_k - a_k sum over the user's active jobs of g_l d pi_l,

one diagonal and one rank-one block per user, and the excess money m_j = sum b + fixed - p_j C_j has
Jacobian -N with N = diag(p C - sum g) + sum over users of a g'. Jobs enter and leave the active
set, so a Newton method on it is a semismooth one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...instances.market.instance import Floats
from ...instances.market.utility import fill
from .linear import UserBlocks
from .scaled_market import ScaledMarket


@dataclass(frozen=True, eq=False)
class Reply:
    """The users' best replies at some prices, in money.

    Attributes
    ----------
    cores, bids : (j,) cores asked for and what they cost.
    money : (m,) what is spent on each server.
    excess : (m,) money asked for beyond what all cores of a server cost at its price.
    """

    price: Floats
    cores: Floats
    level: Floats
    bids: Floats
    money: Floats
    excess: Floats


def reply(scaled_market: ScaledMarket, price: Floats) -> Reply:
    """Evaluate the market at prices (m,), above 0 where somebody would pay."""
    work, fraction, budget = scaled_market.work, scaled_market.fraction, scaled_market.budget
    if scaled_market.starts is not None:
        from . import user_kernels

        cores, level, bids, money = user_kernels.reply(
            scaled_market.starts, scaled_market.server, work, fraction, budget, price
        )
    else:
        paid = price[scaled_market.server]
        answer = fill(work, fraction, paid, scaled_market.user, budget)
        cores, level, bids = answer.amount, answer.level, paid * answer.amount
        money = scaled_market.by_server(bids)
    excess = money + scaled_market.fixed - price * scaled_market.market.capacity
    return Reply(price, cores, level, bids, money, excess)


def jacobian(scaled_market: ScaledMarket, at: Reply) -> UserBlocks:
    """N at these replies (f < 1 everywhere)."""
    share, gain = _entries(scaled_market, at)
    diagonal = at.price * scaled_market.market.capacity - scaled_market.by_server(gain)
    return UserBlocks(
        diagonal, share, gain, scaled_market.user, scaled_market.server,
        scaled_market.market.users, scaled_market.starts,
    )  # fmt: skip


def _entries(scaled_market: ScaledMarket, at: Reply) -> tuple[Floats, Floats]:
    """(j,) both vectors of the users' blocks."""
    work, fraction = scaled_market.work, scaled_market.fraction
    if scaled_market.starts is not None:
        from . import user_kernels

        return user_kernels.jacobian(
            scaled_market.starts, scaled_market.server, work, fraction, at.price, at.bids
        )
    paid = at.price[scaled_market.server]
    active = at.bids > 0
    serial_part = np.where(active, 1 - fraction, 1.0)
    floor = np.where(active, fraction * paid / serial_part, 0.0)
    slope = np.where(active, np.sqrt(work * fraction * paid) / serial_part, 0.0)
    total = scaled_market.by_user(slope)
    share = slope / np.where(total > 0, total, 1.0)[scaled_market.user]
    return share, np.where(active, (at.bids - floor) / 2, 0.0)
