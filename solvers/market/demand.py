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

from ...instances.market.instance import Floats, total_by
from ...instances.market.utility import fill
from .arena import Arena
from .linear import UserBlocks


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


def reply(arena: Arena, price: Floats) -> Reply:
    """Evaluate the market at prices (m,), above 0 where somebody would pay."""
    paid = price[arena.server]
    answer = fill(arena.work, arena.fraction, paid, arena.user, arena.budget)
    bids = paid * answer.amount
    money = total_by(arena.server, bids, arena.market.servers)
    excess = money + arena.fixed - price * arena.market.capacity
    return Reply(price, answer.amount, answer.level, bids, money, excess)


def jacobian(arena: Arena, at: Reply) -> UserBlocks:
    """N at these replies (f < 1 everywhere)."""
    paid = at.price[arena.server]
    active = at.bids > 0
    serial_part = np.where(active, 1 - arena.fraction, 1.0)
    floor = np.where(active, arena.fraction * paid / serial_part, 0.0)
    slope = np.where(active, np.sqrt(arena.work * arena.fraction * paid) / serial_part, 0.0)
    total = total_by(arena.user, slope, arena.market.users)
    share = slope / np.where(total > 0, total, 1.0)[arena.user]
    gain = np.where(active, (at.bids - floor) / 2, 0.0)
    diagonal = at.price * arena.market.capacity - total_by(arena.server, gain, arena.market.servers)
    return UserBlocks(diagonal, share, gain, arena.user, arena.server, arena.market.users)
