"""Utilities for which the Eisenberg-Gale program is the equilibrium: linear, CES, Cobb-Douglas,
Leontief, quasi-linear.

A market's `work` gives the weights and `parallel_fraction` is not looked at:

    linear         u_i = sum w x
    ces            u_i = (sum w x^rho)^(1/rho)
    cobb-douglas   u_i = product x^(w / sum w)
    leontief       u_i = min x / w
    quasi-linear   u_i = sum w x and the money that is kept; w in money, not homogeneous

rho is from .05 to below 1 (substitutes) or from -20 to -.05 (complements). Jobs of work 0 do not
count. Eisenberg and Gale 1959; Eisenberg 1961; Jain and Vazirani 2010.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ..problem.errors import InvalidOption
from ..problem.option_types import validate_options
from .equilibrium import Residuals, money_spent, residuals_of
from .instance import Allocation, Floats, Market, ratio, total_by
from .sharing import Share, least_ratio
from .utility import nash_welfare, user_utilities

Family = Literal["amdahl", "linear", "ces", "cobb-douglas", "leontief", "quasi-linear"]


@validate_options
def family_named(utility: Family, rho: float = 0.5) -> Homogeneous | None:
    """Utility family of a given name; None for Amdahl utilities."""
    # beyond, powers leave the range of floats
    if utility == "ces" and not (-20 <= rho <= -0.05 or 0.05 <= rho < 1):
        expected = (
            "an exponent from -20 to below 1, at least 0.05 from 0 (1 is linear, 0 is "
            "cobb-douglas, below -20 leontief)"
        )
        raise InvalidOption(f"rho is {rho}; expected {expected}")
    families: dict[str, Homogeneous] = {
        "linear": Linear(),
        "ces": ConstantElasticity(rho),
        "cobb-douglas": CobbDouglas(),
        "leontief": Leontief(),
        "quasi-linear": QuasiLinear(),
    }
    return families.get(utility)


class Homogeneous(ABC):
    """Utilities homogeneous of degree one: twice the cores, twice the utility."""

    @abstractmethod
    def utilities(self, market: Market, cores: Floats) -> Floats:
        """(n,) utility of each user; 0 for a user without useful jobs."""

    def best(self, market: Market, price: Floats, reply: Floats) -> Floats:
        """(n,) largest utility each user can buy at prices above 0, from its best reply (k,)."""
        return self.utilities(market, reply)

    def payoff(self, market: Market, cores: Floats, spent: Floats) -> Floats:
        """(n,) utility of each user from its cores, given the money that it spent."""
        return self.utilities(market, cores)

    @abstractmethod
    def replies(self, market: Market, price: Floats) -> Floats:
        """(k,) cores that each user's best reply buys for its jobs at prices above 0."""

    def residuals(self, market: Market, allocation: Allocation) -> Residuals | None:
        """Residuals of an allocation from equilibrium, by best replies; None without prices."""
        return None if allocation.price is None else self.measure(market, allocation)[0]

    def measure(self, market: Market, allocation: Allocation) -> tuple[Residuals, Floats]:
        """Residuals of an allocation with prices, and (n,) each user's largest utility at them."""
        assert allocation.price is not None
        price = np.maximum(allocation.price, 1e-30 * max(float(allocation.price.max()), 1e-200))
        reply = self.replies(market, price)
        best = self.best(market, price, reply)
        spent = money_spent(market, allocation.cores, allocation.price)
        own = self.payoff(market, allocation.cores, spent)
        regret = np.maximum(0.0, 1 - ratio(own, best, 1.0))
        spending = (spent - market.budget) / market.budget
        used = total_by(market.server, allocation.cores, market.servers)
        asked = total_by(
            market.server, allocation.cores if self.set_valued else reply, market.servers
        )
        priced = allocation.price > self.free * max(float(allocation.price.max()), 1e-200)
        unspent = -spending[market.active]
        largest = (float(of.max(initial=0.0)) for of in (spending, regret, unspent))
        return residuals_of(market.capacity, priced, used, asked, *largest), best

    set_valued = False
    """Whether best replies may be sets, in which case the allocation stands for the demand."""
    free = 0.0
    """A price of at most this, relative to the highest, counts as 0."""


class Linear(Homogeneous):
    """Linear utility u_i = sum w x."""

    set_valued = True

    def utilities(self, market: Market, cores: Floats) -> Floats:
        """(n,) linear utility of each user."""
        return total_by(market.user, market.work * cores, market.users)

    def replies(self, market: Market, price: Floats) -> Floats:
        """Cores (J,) that each user buys at given prices."""
        value = market.work / price[market.server]
        best = np.zeros(market.users)
        np.maximum.at(best, market.user, value)
        chosen = market.useful & (value >= best[market.user] * (1 - 1e-12))
        number = np.bincount(market.user[chosen], minlength=market.users)
        money = (market.budget / np.maximum(number, 1))[market.user]
        return np.where(chosen, money / price[market.server], 0.0)


class QuasiLinear(Linear):
    """Quasi-linear utility v_i = sum w x - (money spent), with at most the budget spent.

    The equilibrium maximizes sum B_i log u_i with u_i = max(v, B exp(v / B - 1)), v = sum w x:
    money that a user keeps, where v < B, is worth itself. Cole and others 2017, section 4.
    """

    def utilities(self, market: Market, cores: Floats) -> Floats:
        """(n,) linear utility u_i of each user, without the money it keeps."""
        worth, budget = super().utilities(market, cores), market.budget
        keeping = budget * np.exp(np.minimum(worth / budget, 1.0) - 1)
        return np.where(market.active, np.maximum(worth, keeping), 0.0)

    def best(self, market: Market, price: Floats, reply: Floats | None = None) -> Floats:
        """(n,) utility of each user's best reply, with unspent money counted at its value."""
        value = np.ones(market.users)
        np.maximum.at(value, market.user, market.work / price[market.server])
        return np.where(market.active, market.budget * value, 0.0)

    def payoff(self, market: Market, cores: Floats, spent: Floats) -> Floats:
        """(n,) utility of each user: the worth of its cores plus its unspent money."""
        kept = np.where(market.active, market.budget - spent, 0.0)
        return Linear().utilities(market, cores) + kept

    def replies(self, market: Market, price: Floats) -> Floats:
        """Cores (J,) that each user buys at given prices; 0 where money is worth more."""
        dear = self.best(market, price) <= market.budget
        return np.where(dear[market.user], 0.0, super().replies(market, price))


@dataclass(frozen=True)
class ConstantElasticity(Homogeneous):
    """Utility with constant elasticity of substitution, u_i = (sum w x^rho)^(1/rho)."""

    rho: float

    def utilities(self, market: Market, cores: Floats) -> Floats:
        """(n,) constant-elasticity utility of each user."""
        useful = market.useful
        with np.errstate(divide="ignore"):
            powers = np.where(useful, market.work * np.where(useful, cores, 1.0) ** self.rho, 0.0)
            total = total_by(market.user, powers, market.users)
            return np.where(
                market.active, np.where(market.active, total, 1.0) ** (1 / self.rho), 0.0
            )

    def replies(self, market: Market, price: Floats) -> Floats:
        """Cores (J,) that each user buys at given prices."""
        elasticity = 1 / (1 - self.rho)
        paid = price[market.server]
        work = np.where(market.useful, market.work, 1.0)
        wish = elasticity * np.log(work) + (1 - elasticity) * np.log(paid)
        most = np.full(market.users, -np.inf)
        np.maximum.at(most, market.user[market.useful], wish[market.useful])
        largest = np.where(market.active, most, 0.0)[market.user]
        return _spread(market, np.exp(np.where(market.useful, wish - largest, -np.inf))) / paid


class CobbDouglas(Homogeneous):
    """Cobb-Douglas utility u_i = product x^(w / sum w)."""

    def utilities(self, market: Market, cores: Floats) -> Floats:
        """(n,) Cobb-Douglas utility of each user."""
        with np.errstate(divide="ignore"):
            logs = np.where(
                market.useful, market.work * np.log(np.where(market.useful, cores, 1.0)), 0.0
            )
        total = total_by(market.user, market.work, market.users)
        mean = total_by(market.user, logs, market.users) / np.where(total > 0, total, 1.0)
        return np.where(market.active, np.exp(mean), 0.0)

    def replies(self, market: Market, price: Floats) -> Floats:
        """Cores (J,) that each user buys at given prices."""
        return _spread(market, market.work) / price[market.server]


class Leontief(Homogeneous):
    """Leontief utility u_i = min x / w."""

    free = 1e-7  # a solver's dual of a server that is not scarce

    def utilities(self, market: Market, cores: Floats) -> Floats:
        """(n,) Leontief utility of each user."""
        useful = market.useful
        least = np.full(market.users, np.inf)
        np.minimum.at(least, market.user[useful], cores[useful] / market.work[useful])
        return np.where(market.active, least, 0.0)

    def replies(self, market: Market, price: Floats) -> Floats:
        """Cores (J,) that each user buys at given prices."""
        return _spread(market, market.work * price[market.server]) / price[market.server]


def _spread(market: Market, wish: Floats) -> Floats:
    """Divide each user's budget over its jobs in proportion to `wish`, shape (k,)."""
    total = total_by(market.user, wish, market.users)
    share = ratio(market.budget, total)
    return wish * share[market.user]


_SHARES: dict[str, Share] = {
    "sharing_index": "endowment",
    "sharing_index_tenants": "tenants",
    "sharing_index_jobs": "jobs",
}


def scale(
    market: Market, objective: str, *, utility: Family = "amdahl", rho: float = 0.5, **options: Any
) -> float:
    """Value of a utility objective if every job had its server alone; 1 for the other objectives.

    Parameters
    ----------
    utility, rho : as of `nash-welfare`.
    """
    if objective not in ("total_utility", "nash_welfare", *_SHARES) or not market.active.any():
        return 1.0
    family = family_named(utility, rho)
    alone = market.capacity[market.server]
    worth = user_utilities(market, alone) if family is None else family.utilities(market, alone)
    if objective == "total_utility":
        return float(worth.sum())
    if objective == "nash_welfare":
        return nash_welfare(market, worth)
    return least_ratio(market, worth, _SHARES[objective])
