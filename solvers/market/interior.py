"""The regularized Newton method: follow the central path of the equilibrium conditions.

For each job z = p - q w s'(x) is how far its price is above what its user would pay for another
core, q the user's money per unit of utility. An equilibrium is x >= 0, z >= 0, x z = 0, with all
cores given and all budgets spent. Putting x z = mu and letting mu fall gives a smooth system whose
Newton steps, jobs and users eliminated, live on the servers. It does not care which jobs are
active, nor whether f = 1, where best replies are sets and the method on log prices has no
derivative. Markets where all f = 1 are the classic case, in which the path is the one of an
interior-point method for a convex program.

This is the users' part of a step; `interior_point` is that of the servers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...instances.market.instance import Floats, ratio, total_by
from .linear import UserBlocks
from .scaled_market import ScaledMarket

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


class Inside:
    """Some users' part of the path: their jobs' cores and slack, their money per unit of utility.

    Parameters
    ----------
    scaled_market : of these users.
    price : (m,) above 0.
    bids : (j,) positive, from which it starts.
    """

    def __init__(self, scaled_market: ScaledMarket, price: Floats, bids: Floats) -> None:
        self.scaled_market = scaled_market
        paid = price[scaled_market.server]
        cores = np.maximum(bids / paid, 1e-8 * scaled_market.market.capacity[scaled_market.server])
        marginal = scaled_market.marginal(cores)
        worth = scaled_market.by_user(marginal * cores)
        money = ratio(scaled_market.budget, worth, 1.0)
        slack = np.maximum(paid - money[scaled_market.user] * marginal, 0.01 * paid)
        self.at = Point(cores, slack, money, price)
        number = np.bincount(scaled_market.user, minlength=scaled_market.market.users)
        # each job's share of the barrier: its user's money over its number of jobs, so that poor
        # users count too
        self._weights = (scaled_market.budget / np.maximum(number, 1))[scaled_market.user]

    def gaps(self) -> float:
        """Work out what is missing of the definition of z and of the budgets; the largest of these
        gaps, each relative to its right side.
        """
        scaled_market, at = self.scaled_market, self.at
        self._paid = at.price[scaled_market.server]
        self._marginal = scaled_market.marginal(at.cores)
        spent = scaled_market.by_user(self._paid * at.cores)
        self._slack = self._paid - at.money[scaled_market.user] * self._marginal - at.slack
        self._budget = np.where(scaled_market.budget > 0, scaled_market.budget - spent, 0.0)
        return max(
            float(np.abs(part).max(initial=0.0))
            for part in (self._slack / self._paid, ratio(self._budget, scaled_market.budget))
        )

    def press(self, barrier: float) -> tuple[UserBlocks, Floats]:
        """Eliminate jobs and users from a step towards x z = `barrier`: the system on the servers
        that is left, and (m,) its right side over prices, both without what is the servers' own.
        """
        scaled_market, at = self.scaled_market, self.at
        user, server = scaled_market.user, scaled_market.server
        paid, marginal, money = self._paid, self._marginal, at.money[user]
        self._curve = scaled_market.curvature(at.cores, marginal)
        self._resistance = resistance = at.slack / at.cores + money * self._curve
        self._pull = pull = barrier * self._weights / at.cores - at.slack - self._slack
        weight = scaled_market.by_user(paid * marginal / resistance)
        self._weight = weight = np.where(weight > 0, weight, 1.0)
        self._own = (self._budget - scaled_market.by_user(paid * pull / resistance)) / weight
        response = paid**2 / resistance
        self._ties = response - paid * at.cores
        blocks = UserBlocks(
            diagonal=scaled_market.by_server(response),
            left=-paid * marginal / resistance,
            right=self._ties / weight[user],
            user=user,
            server=server,
            users=scaled_market.market.users,
        )
        pushed = scaled_market.by_server((pull + marginal * self._own[user]) / resistance)
        return blocks, pushed

    def turn(self, log_price: Floats) -> float:
        """Take the step's direction from the prices' (in their logarithms); how far these users may
        go, at most 1.
        """
        scaled_market, at, user = self.scaled_market, self.at, self.scaled_market.user
        change = at.price * log_price
        inner = total_by(
            user, self._ties * log_price[scaled_market.server], scaled_market.market.users
        )
        money = self._own + inner / self._weight
        pushed = self._marginal * money[user]
        cores = (self._pull - change[scaled_market.server] + pushed) / self._resistance
        slack = self._slack + change[scaled_market.server] - pushed
        slack += at.money[user] * self._curve * cores
        self._by = Point(cores, slack, money, change)
        return step_length(at, self._by)

    def advance(self, step: float) -> None:
        """Go so far in that direction."""
        self.at = self.at.moved(self._by, step)


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
