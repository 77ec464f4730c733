"""Regularized Newton method: follow the central path of the conditions of an equilibrium, or of the
most Nash welfare.

For each job z = p - q w s'(x) is how far its price is above what its user would pay for another
core, q the user's money per unit of utility. An equilibrium is x >= 0, z >= 0, x z = 0, with all
cores given and all budgets spent. Putting x z = mu and letting mu fall gives a smooth system whose
Newton steps, jobs and users eliminated, live on the servers. It does not care which jobs are
active, nor whether f = 1, where best replies are sets and the method on log prices has no
derivative. Markets where all f = 1 are the classic case, in which the path is the one of an
interior-point method for a convex program. For the most Nash welfare a user's condition is another
one, and nothing else: see `welfare_central_path`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...instances.market.instance import Floats, ratio
from .linear import UserBlocks, solve_blocks
from .scaled_market import ScaledMarket

_SHARE = 0.995  # of the way to the boundary that a step may go


@dataclass(frozen=True, eq=False)
class Point:
    """Cores x and slacks z of jobs, money per utility q of users, prices p of servers."""

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

    def longest_step(self, by: Point) -> float:
        """Longest step in the direction `by`, at most 1, after which all entries are above 0."""
        longest = 1.0
        for value, change in (
            (self.cores, by.cores),
            (self.slack, by.slack),
            (self.money, by.money),
            (self.price, by.price),
        ):
            falling = change < 0
            if falling.any():
                longest = min(longest, _SHARE * float(np.min(value[falling] / -change[falling])))
        return longest


class Spending(NamedTuple):
    """Spending of each user, and its partial derivatives by money per utility, cores and prices.

    Attributes
    ----------
    spent : (n,) money.
    by_money : (n,) its derivative in q, with the cores fixed.
    by_cores : (j,) its derivative in each job's cores.
    by_price : (j,) its derivative in the logarithm of each job's price, with the cores fixed.
    """

    spent: Floats
    by_money: Floats
    by_cores: Floats
    by_price: Floats


class CentralPath:
    """Point near the central path, and Newton steps along it.

    Parameters
    ----------
    scaled_market : the market.
    start : cores, slack and prices above 0.
    weights : (j,) each job's share of the barrier.

    Attributes
    ----------
    at : the point.
    barrier : mean x z when `measure` was last called, relative to all money.
    gap : the largest gap of the other conditions then, each relative to its right side.
    """

    def __init__(self, scaled_market: ScaledMarket, start: Point, weights: Floats) -> None:
        self.scaled_market, self.at, self._weights = scaled_market, start, weights
        self.barrier = self.gap = np.inf

    def spending(self, paid: Floats, marginal: Floats) -> Spending:
        """Spending of the users at the current point, given (j,) prices `paid` and marginal worths
        of a core. In an equilibrium it is what their cores cost.
        """
        bids = paid * self.at.cores
        return Spending(self.scaled_market.by_user(bids), np.zeros(1), paid, bids)

    def measure(self) -> None:
        """Compute the residuals of all conditions at the current point, which `step` needs."""
        scaled, at = self.scaled_market, self.at
        self._paid = paid = at.price[scaled.server]
        self._marginal = scaled.marginal(at.cores)
        self._spending = self.spending(paid, self._marginal)
        self._open_slack = paid - at.money[scaled.user] * self._marginal - at.slack
        self._open_budget = np.where(scaled.budget > 0, scaled.budget - self._spending.spent, 0.0)
        given = scaled.by_server(at.cores) + scaled.fixed / at.price
        capacity = scaled.market.capacity
        self._open_cores = np.where(scaled.priced_servers, capacity - given, 0.0)
        self._product = at.cores * at.slack
        self.barrier = float(self._product.sum()) / max(float(scaled.budget.sum()), 1e-300)
        parts = (
            self._open_slack / paid,
            ratio(self._open_budget, scaled.budget),
            self._open_cores / capacity,
        )
        self.gap = max(float(np.abs(part).max(initial=0.0)) for part in parts)

    def step(self) -> bool:
        """Take one Newton step towards equilibrium; return whether one was possible."""
        scaled, at, spending = self.scaled_market, self.at, self._spending
        user, server, money = scaled.user, scaled.server, at.money[scaled.user]
        # 1. with gaps still open mu must not run ahead of them; the closer, the bolder
        mean = self._product / self._weights
        even = mean.min(initial=np.inf) > 1e-2 * mean.sum() / max(len(mean), 1)
        barrier = (0.1 if even else 0.4) * self.barrier
        # 2. eliminate jobs, then users
        curve = scaled.curvature(at.cores, self._marginal)
        resistance = at.slack / at.cores + money * curve
        pull = barrier * self._weights / at.cores - at.slack - self._open_slack
        per_core = spending.by_cores / resistance
        weight = scaled.by_user(per_core * self._marginal) + spending.by_money
        weight = np.where(weight > 0, weight, 1.0)
        own = (self._open_budget - scaled.by_user(per_core * pull)) / weight
        ties = per_core * self._paid - spending.by_price
        # 3. solve for the logarithms of the prices
        response = self._paid / resistance
        blocks = UserBlocks(
            scaled.by_server(self._paid * response) + scaled.fixed,
            -self._marginal * response,
            ties / weight[user],
            user,
            server,
            scaled.market.users,
            scaled.starts,
        )
        pushed = scaled.by_server((pull + self._marginal * own[user]) / resistance)
        right = np.where(scaled.priced_servers, at.price * (pushed - self._open_cores), 0.0)
        log_price = solve_blocks(blocks, right, 1e-12)
        # 4. users and jobs follow
        change = at.price * log_price
        money_change = own + scaled.by_user(ties * log_price[server]) / weight
        pushed = self._marginal * money_change[user]
        cores = (pull - change[server] + pushed) / resistance
        slack = self._open_slack + change[server] - pushed + money * curve * cores
        by = Point(cores, slack, money_change, change)
        length = at.longest_step(by)
        if not length >= 1e-9:
            return False
        self.at = at.moved(by, length)
        return True


def equilibrium_path(scaled_market: ScaledMarket, price: Floats, bids: Floats) -> CentralPath:
    """Path to an equilibrium from prices (m,) above 0 and positive bids (j,)."""
    paid = price[scaled_market.server]
    cores = np.maximum(bids / paid, 1e-8 * scaled_market.market.capacity[scaled_market.server])
    marginal = scaled_market.marginal(cores)
    money = ratio(scaled_market.budget, scaled_market.by_user(marginal * cores), 1.0)
    slack = np.maximum(paid - money[scaled_market.user] * marginal, 0.01 * paid)
    number = np.bincount(scaled_market.user, minlength=scaled_market.market.users)
    # a job's share of the barrier is its user's money over the number of its jobs, so that poor
    # users count too
    weights = (scaled_market.budget / np.maximum(number, 1))[scaled_market.user]
    return CentralPath(scaled_market, Point(cores, slack, money, price), weights)
