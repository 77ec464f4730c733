"""Newton's method on log prices: find the prices at which the users' best replies ask for exactly
what there is.

At log prices pi, let b_k(pi) be the money a best reply spends on job k, a = alpha / sum alpha over
the user's active jobs, beta = f p / (1 - f), and g_k = (b_k - beta_k) / 2 for active jobs. Then

    d b_k = g_k d pi_k - a_k sum over the user's active jobs of g_l d pi_l,

one diagonal and one rank-one block per user, and the excess money m_j = sum b + fixed - p_j C_j has
Jacobian -N with N = diag(p C - sum g) + sum over users of a g'. Jobs enter and leave the active
set, so the method is a semismooth one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...instances.market.instance import Floats, total_by
from ...instances.market.utility import fill
from .arena import Arena
from .linear import UserBlocks, solve_blocks


@dataclass(frozen=True, eq=False)
class Reply:
    """The users' best replies at some prices, in money.

    Attributes
    ----------
    cores, bids : (j,) cores asked for and what they cost.
    excess : (m,) money asked for beyond what all cores of a server cost at its price.
    error : largest |excess| relative to the server's worth.
    """

    price: Floats
    cores: Floats
    level: Floats
    bids: Floats
    excess: Floats
    error: float


def reply(arena: Arena, price: Floats) -> Reply:
    """Evaluate the market at prices (m,), above 0 where somebody would pay."""
    paid = price[arena.server]
    answer = fill(arena.work, arena.fraction, paid, arena.user, arena.budget)
    bids = paid * answer.amount
    worth = price * arena.market.capacity
    excess = total_by(arena.server, bids, arena.market.servers) + arena.fixed - worth
    error = float(np.max(np.abs(excess)[worth > 0] / worth[worth > 0], initial=0.0))
    return Reply(price, answer.amount, answer.level, bids, excess, error)


def jacobian(arena: Arena, at: Reply, damping: float = 0.0) -> UserBlocks:
    """N at these replies (f < 1 everywhere), its diagonal raised by `damping` times itself."""
    paid = at.price[arena.server]
    active = at.bids > 0
    serial_part = np.where(active, 1 - arena.fraction, 1.0)
    floor = np.where(active, arena.fraction * paid / serial_part, 0.0)
    slope = np.where(active, np.sqrt(arena.work * arena.fraction * paid) / serial_part, 0.0)
    total = total_by(arena.user, slope, arena.market.users)
    share = slope / np.where(total > 0, total, 1.0)[arena.user]
    gain = np.where(active, (at.bids - floor) / 2, 0.0)
    diagonal = at.price * arena.market.capacity - total_by(arena.server, gain, arena.market.servers)
    return UserBlocks(
        diagonal * (1 + damping), share, gain, arena.user, arena.server, arena.market.users
    )


@dataclass(frozen=True, eq=False)
class NewtonRun:
    """Where Newton's method ended: its best replies, steps taken, and whether the tolerance was
    met.
    """

    best: Reply
    steps: int
    done: bool


def newton(
    arena: Arena, price: Floats, tolerance: float, *, most: int = 40, over: object = None
) -> NewtonRun:
    """Newton steps on log prices from `price` until the excess demand is within `tolerance`, or no
    step helps.

    A step is cut to a factor e per price, halved while the excess does not fall, and when that
    fails the diagonal is raised (a step towards tatonnement). Each step costs O(jobs) for the
    replies and O(jobs) per iteration of the linear solver.
    """
    at = reply(arena, price)
    traded = arena.traded
    damping = 0.0
    for step in range(most):
        if at.error <= tolerance:
            return NewtonRun(at, step, True)
        if callable(over) and over():
            return NewtonRun(at, step, False)
        rtol = min(1e-2, max(1e-10, 0.1 * tolerance / max(at.error, 1e-300), 0.1 * at.error))
        direction = solve_blocks(
            jacobian(arena, at, damping), np.where(traded, at.excess, 0.0), rtol
        )
        direction = direction * min(1.0, 1.0 / max(float(np.abs(direction).max()), 1e-300))
        found = None
        for halving in range(6):
            trial = reply(arena, at.price * np.exp(0.5**halving * direction))
            if _norm(trial, arena) < (1 - 1e-4 * 0.5**halving) * _norm(at, arena):
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


def _norm(at: Reply, arena: Arena) -> float:
    """The merit that a step must lower: the excess relative to each server's worth, root of the sum
    of squares.
    """
    worth = at.price * arena.market.capacity
    return float(np.linalg.norm(at.excess[worth > 0] / worth[worth > 0]))
