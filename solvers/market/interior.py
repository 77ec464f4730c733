"""The regularized Newton method: follow the central path of the equilibrium conditions.

For each job z = p - q w s'(x) is how far its price is above what its user would pay for another
core, q the user's money per unit of utility. An equilibrium is x >= 0, z >= 0, x z = 0, with all
cores given and all budgets spent. Putting x z = mu and letting mu fall gives a smooth system whose
Newton steps, jobs and users eliminated, live on the servers. It does not care which jobs are
active, nor whether f = 1, where best replies are sets and the method on log prices has no
derivative. Markets where all f = 1 are the classic case, in which the path is the one of an
interior-point method for a convex program.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...instances.market.instance import Floats, ratio, total_by
from ...instances.market.utility import marginal_speedup
from .arena import Arena
from .linear import UserBlocks, solve_blocks

_SHARE = 0.995  # of the way to the boundary that a step may go


@dataclass(frozen=True, eq=False)
class Point:
    """Cores x, slack z (jobs), money per utility q (users), prices p (servers)."""

    cores: Floats
    slack: Floats
    money: Floats
    price: Floats

    def moved(self, by: Point, step: float) -> Point:
        """This point plus `step` times a direction."""
        return Point(
            self.cores + step * by.cores,
            self.slack + step * by.slack,
            self.money + step * by.money,
            self.price + step * by.price,
        )


@dataclass(frozen=True, eq=False)
class Gaps:
    """What is missing at a point: per job the definition of z, per user its budget, per server its
    cores; and mean x z.
    """

    slack: Floats
    budget: Floats
    cores: Floats
    barrier: float

    def size(self, arena: Arena, at: Point) -> float:
        """The largest of the gaps, each relative to its own right side."""
        budget = ratio(self.budget, arena.budget)
        slack = self.slack / at.price[arena.server]
        cores = self.cores / arena.market.capacity
        return max(float(np.abs(part).max(initial=0.0)) for part in (budget, slack, cores))


def starting_point(arena: Arena, price: Floats, bids: Floats) -> Point:
    """An interior point from positive prices and bids."""
    price = np.where(arena.traded, price, 1.0)
    paid = price[arena.server]
    cores = np.maximum(bids / paid, 1e-8 * arena.market.capacity[arena.server])
    marginal = arena.work * marginal_speedup(cores, arena.fraction)
    users = arena.market.users
    worth = total_by(arena.user, marginal * cores, users)
    money = ratio(arena.budget, worth, 1.0)
    slack = np.maximum(paid - money[arena.user] * marginal, 0.01 * paid)
    return Point(cores, slack, money, price)


def follow(
    arena: Arena,
    start: Point,
    *,
    tolerance: float,
    most: int = 120,
    over: Callable[[], bool] | None = None,
) -> tuple[Point, int]:
    """Newton steps towards mu = 0; returns the last point and how many steps it took.

    Ends when the gaps and every job's x z are within `tolerance`, when steps become too short, or
    when time is up.
    """
    at = start
    for step in range(most):
        gaps = _gaps(arena, at)
        if gaps.size(arena, at) <= tolerance and gaps.barrier <= tolerance * 1e-1:
            return at, step
        if over is not None and over():
            return at, step
        if gaps.barrier <= 1e-4 * tolerance:
            return (
                at,
                step,
            )  # what gaps remain are the linear solver's, and further steps do not close them
        # With gaps still open mu must not run ahead of them; the closer, the bolder.
        products = at.cores * at.slack
        centering = 0.1 if products.min() > 1e-2 * products.mean() else 0.4
        direction = _direction(arena, at, gaps, centering * gaps.barrier * _weights(arena))
        length = step_length(at, direction)
        if length < 1e-9:
            return at, step
        at = at.moved(direction, length)
    return at, most


def _weights(arena: Arena) -> Floats:
    """(j,) each job's share of the barrier: its user's money over its number of jobs, so that poor
    users count too.
    """
    number = np.bincount(arena.user, minlength=arena.market.users)
    return (arena.budget / np.maximum(number, 1))[arena.user]


def _gaps(arena: Arena, at: Point) -> Gaps:
    market = arena.market
    paid = at.price[arena.server]
    marginal = arena.work * marginal_speedup(at.cores, arena.fraction)
    spent = total_by(arena.user, paid * at.cores, market.users)
    given = total_by(arena.server, at.cores, market.servers) + arena.fixed / at.price
    return Gaps(
        slack=paid - at.money[arena.user] * marginal - at.slack,
        budget=np.where(arena.budget > 0, arena.budget - spent, 0.0),
        cores=np.where(arena.traded, market.capacity - given, 0.0),
        barrier=float((at.cores * at.slack).sum() / max(arena.budget.sum(), 1e-300)),
    )


def _direction(arena: Arena, at: Point, gaps: Gaps, barrier: Floats) -> Point:
    """The Newton direction: jobs and users eliminated, a system on the servers solved, and back."""
    market, user, server = arena.market, arena.user, arena.server
    paid, money = at.price[server], at.money[user]
    marginal = arena.work * marginal_speedup(at.cores, arena.fraction)
    curve = (
        2 * (1 - arena.fraction) / (arena.fraction + (1 - arena.fraction) * at.cores) * marginal
    )  # -w s''
    resistance = at.slack / at.cores + money * curve
    pull = barrier / at.cores - at.slack - gaps.slack
    users, servers = market.users, market.servers
    weight = total_by(user, paid * marginal / resistance, users)
    weight = np.where(weight > 0, weight, 1.0)
    own = (gaps.budget - total_by(user, paid * pull / resistance, users)) / weight
    response = paid**2 / resistance
    blocks = UserBlocks(
        diagonal=total_by(server, response, servers) + arena.fixed,
        left=-paid * marginal / resistance,
        right=(response - paid * at.cores) / weight[user],
        user=user,
        server=server,
        users=users,
    )
    pushed = total_by(server, (pull + marginal * own[user]) / resistance, servers) - gaps.cores
    log_price = solve_blocks(blocks, np.where(arena.traded, at.price * pushed, 0.0), 1e-12)
    price = at.price * log_price
    inner = total_by(user, (response - paid * at.cores) * log_price[server], users)
    money_step = own + inner / weight
    cores = (pull - price[server] + marginal * money_step[user]) / resistance
    slack = gaps.slack + price[server] - marginal * money_step[user] + money * curve * cores
    return Point(cores, slack, money_step, price)


def step_length(at: Point, by: Point) -> float:
    """How far one may go and stay inside."""
    longest = 1.0
    for value, change in (
        (at.cores, by.cores),
        (at.slack, by.slack),
        (at.money, by.money),
        (at.price, by.price),
    ):
        falling = change < 0
        if falling.any():
            longest = min(longest, _SHARE * float(np.min(value[falling] / -change[falling])))
    return longest
