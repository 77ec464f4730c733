"""Certificate of a market equilibrium: residuals of prices and an allocation, computed without a
solver.

Prices p >= 0 and an allocation x are an equilibrium (thesis section 3.3.2) when every server with a
price gives all its cores, nobody spends more than its budget, and nobody could do better with its
budget at these prices. The last is judged by the exact best reply, a closed form, so three numbers
say how far (p, x) is from an equilibrium:

    clearing      largest |capacity - cores given| / capacity over servers with a price above 0
    overspending  largest (money spent - budget) / budget over users, or 0
    regret        largest 1 - u_i(x_i) / u_i(best reply at p) over users, or 0

Two more are given and not judged. `excess_demand` is what the best replies of all users together
ask for beyond (or below) a server's capacity; where a best reply is not unique (a user with a job
of f = 1), or costs as little as one likes (a job of f = 0), the cores allocated stand for it.
`unspent` is money left over, which is no fault of a user whose jobs have no use for it.

For f < 1 the equilibrium prices are unique: -x s''(x) / s'(x) = 2 (1 - f) x / (f + (1 - f) x) < 2 <
4, so each user's demand obeys the law of demand (Mitjushin and Polterovich), which survives adding
users up. Gross substitutes does not hold.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isnan

import numpy as np

from ..problem.option_types import validate_options
from .instance import Allocation, Booleans, Floats, Market, ratio, total_by
from .utility import best_reply, reply_utilities, user_utilities


@dataclass(frozen=True)
class Residuals:
    """Distance of prices and an allocation from a market equilibrium, in several measures."""

    clearing: float
    overspending: float
    regret: float
    excess_demand: float
    unspent: float

    @property
    def worst(self) -> float:
        """Largest of clearing error, overspending and regret: 0 at equilibrium; inf for NaN."""
        judged = (self.clearing, self.overspending, self.regret)
        return inf if any(map(isnan, judged)) else max(judged)


def account(
    market: Market, cores: Floats, price: Floats
) -> tuple[Floats, Floats, float, float, float]:
    """Cores (m,) held, and asked for by best replies, on each server; and three users' errors.

    The errors are the largest overspending, regret and unspent part of a user's budget. O(jobs).
    """
    reply = best_reply(market, price)
    spent = money_spent(market, cores, price)
    spending = (spent - market.budget) / market.budget
    useless = total_by(market.user, market.work * market.parallel_fraction, market.users) == 0
    worth = ratio(user_utilities(market, cores), reply_utilities(market, reply), 1.0)
    demand = _demand(market, cores, reply.amount)
    given, asked = (total_by(market.server, of, market.servers) for of in (cores, demand))
    return given, asked, _largest(spending), _largest(1 - worth), _largest(-spending[~useless])


def residuals_of(
    capacity: Floats, priced: Booleans, given: Floats, asked: Floats, overspending: float,
    regret: float, unspent: float,
) -> Residuals:  # fmt: skip
    """Residuals from equilibrium, given the sums and maxima over users that `account` returns."""
    clearing, excess = (_largest(np.abs(cores / capacity - 1)[priced]) for cores in (given, asked))
    return Residuals(clearing, overspending, regret, excess, unspent)


@validate_options
def residuals(market: Market, allocation: Allocation) -> Residuals | None:
    """Distance of an allocation from equilibrium at its own prices; None without prices.
    O(jobs).
    """
    price = allocation.price
    if price is None:
        return None
    return residuals_of(market.capacity, price > 0, *account(market, allocation.cores, price))


def money_spent(market: Market, cores: Floats, price: Floats) -> Floats:
    """Cost (n,) of the cores that each user holds, at given prices."""
    return total_by(market.user, price[market.server] * cores, market.users)


def _demand(market: Market, cores: Floats, reply: Floats) -> Floats:
    linear = market.useful & (market.parallel_fraction == 1)
    several = np.bincount(market.user[linear], minlength=market.users) > 0
    return np.where(several[market.user] | (market.parallel_fraction == 0), cores, reply)


def _largest(values: Floats) -> float:
    return float(values.max(initial=0.0))
