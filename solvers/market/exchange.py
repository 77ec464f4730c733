"""State of a search for equilibrium prices: users' bids and best replies, the excess demand and its
derivative in the logarithms of prices, Newton's method on these, and the error of a candidate.

At log prices pi, let b_k(pi) be the money a best reply spends on job k, a = alpha / sum alpha over
the user's active jobs, beta = f p / (1 - f), and g_k = (b_k - beta_k) / 2 for active jobs. Then

    d b_k = g_k d pi_k - a_k sum over the user's active jobs of g_l d pi_l,

one diagonal and one rank-one block per user, and the excess money m_j = sum b + fixed - p_j C_j has
Jacobian -N with N = diag(p C - sum g) + sum over users of a g'. Jobs enter and leave the active
set, so a Newton method on it is a semismooth one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...instances.market.equilibrium import Residuals, account, residuals_of
from ...instances.market.instance import Allocation, Floats, Market
from ...instances.market.utility import fill, least_price
from .linear import UserBlocks, length, solve_blocks
from .proportional import Rule, rebid
from .scaled_market import ScaledMarket


@dataclass(frozen=True, eq=False)
class Demand:
    """Best replies of all users at given prices, and the excess demand that they add up to.

    Attributes
    ----------
    price : (m,).
    cores, bids : (j,) cores asked for and what they cost; level : (n,) as of `utility.fill`.
    excess : (m,) money asked for beyond what all cores of a server cost at its price.
    error : largest |excess| relative to the server's worth.
    """

    price: Floats
    cores: Floats
    level: Floats
    bids: Floats
    excess: Floats
    error: float


class Exchange:
    """Market with the last bids of its users, and the prices that follow from these bids.

    Attributes
    ----------
    scaled_market : the part that moves prices; money is counted in its unit.
    priced_servers : (m,) servers that somebody would pay for.
    smooth : whether all f < 1 among the jobs that move prices; straight : whether all are 1.
    linear : whether any useful job has f = 1.
    bids : (j,) of the last round; money : (m,) what they come to on each server.
    """

    def __init__(self, market: Market) -> None:
        self.scaled_market = scaled = ScaledMarket.of(market)
        self.priced_servers = scaled.priced_servers
        self.smooth = float(scaled.fraction.max(initial=0.0)) < 1
        self.straight = float(scaled.fraction.min(initial=1.0)) == 1
        self.linear = bool((market.useful & (market.parallel_fraction == 1)).any())
        self.bids, self.money = np.zeros(len(scaled.job)), np.zeros(market.servers)

    @property
    def price(self) -> Floats:
        """(m,) prices implied by the last bids (thesis section 3.3.2)."""
        price: Floats = (self.money + self.scaled_market.fixed) / self.scaled_market.market.capacity
        return price

    @property
    def bought(self) -> Floats:
        """(j,) cores bought by the last bids."""
        return self.bids / self.price[self.scaled_market.server]

    def bid(self, bids: Floats) -> None:
        """Set the users' bids (j,)."""
        self.bids, self.money = bids, self.scaled_market.by_server(bids)

    def round(self, rule: Rule = "corrected") -> None:
        """Update bids by a round of proportional response."""
        self.bids, self.money = rebid(self.scaled_market, self.price, self.bids, rule)

    def judge(self, cores: Floats, price: Floats) -> tuple[Allocation, Residuals]:
        """Allocation of the whole market from cores (j,) at prices (m,), every priced server giving
        exactly its capacity, and its error as an equilibrium.
        """
        scaled, market = self.scaled_market, self.scaled_market.market
        found = scaled.allocation(cores, price)
        paid = price * scaled.unit
        if scaled.starts is None or len(scaled.job) < market.jobs:
            measured = account(market, found.cores, paid)
        else:
            from . import user_kernels

            measured = user_kernels.account(
                scaled.starts, market.server, market.work, market.parallel_fraction,
                market.budget, paid, least_price(paid), found.cores,
            )  # fmt: skip
        return found, residuals_of(market.capacity, paid > 0, *measured)


def reply(scaled_market: ScaledMarket, price: Floats) -> Demand:
    """Best replies at prices (m,), above 0 for servers that some user would pay for."""
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
    worth = price * scaled_market.market.capacity
    excess = money + scaled_market.fixed - worth
    error = float(np.max(np.abs(excess)[worth > 0] / worth[worth > 0], initial=0.0))
    return Demand(price, cores, level, bids, excess, error)


def jacobian(scaled_market: ScaledMarket, at: Demand, damping: float = 0.0) -> UserBlocks:
    """Matrix N of the derivative of excess demand at best replies, if all parallel fractions are
    below 1, with `damping` times its diagonal added.
    """
    share, gain = _entries(scaled_market, at)
    diagonal = at.price * scaled_market.market.capacity - scaled_market.by_server(gain)
    return UserBlocks(
        diagonal * (1 + damping), share, gain, scaled_market.user, scaled_market.server,
        scaled_market.market.users, scaled_market.starts,
    )  # fmt: skip


def _entries(scaled_market: ScaledMarket, at: Demand) -> tuple[Floats, Floats]:
    """Entries (j,) of two vectors of each user, whose product is its part of the `jacobian`."""
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


def newton(
    scaled_market: ScaledMarket,
    price: Floats,
    tolerance: float,
    over: Callable[[], bool],
    *,
    maximum: int = 40,
) -> tuple[Demand, int]:
    """Take Newton steps on log prices from `price` until the excess demand is within `tolerance`,
    no step helps, or time is up; returns the demand there and the number of steps.

    A step is cut to a factor e per price, halved while the excess does not fall, and when that
    fails the diagonal is raised (a step towards tatonnement). Each step costs O(jobs) for the
    replies and O(jobs) per iteration of the linear solver.
    """
    at = reply(scaled_market, price)
    priced_servers, capacity = scaled_market.priced_servers, scaled_market.market.capacity
    damping = 0.0
    for step in range(maximum):
        if at.error <= tolerance or over():
            return at, step
        rtol = min(1e-2, max(1e-10, 0.1 * tolerance / max(at.error, 1e-300), 0.1 * at.error))
        direction = solve_blocks(
            jacobian(scaled_market, at, damping), np.where(priced_servers, at.excess, 0.0), rtol
        )
        direction = direction * min(1.0, 1.0 / max(float(np.abs(direction).max()), 1e-300))
        found = None
        for halving in range(6):
            trial = reply(scaled_market, at.price * np.exp(0.5**halving * direction))
            if _norm(trial, capacity) < (1 - 1e-4 * 0.5**halving) * _norm(at, capacity):
                found = trial
                break
        if found is None:
            if damping >= 10 or at.error < 1e-13:
                return at, step
            damping = max(10 * damping, 0.1)
            continue
        damping = 0.0 if halving == 0 else damping / 10
        at = found
    return at, maximum


def _norm(at: Demand, capacity: Floats) -> float:
    """Number that each Newton step must lower: the Euclidean norm of the excess demand, each
    server's relative to its worth.
    """
    worth = at.price * capacity
    return length(at.excess[worth > 0] / worth[worth > 0])
