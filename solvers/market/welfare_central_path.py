"""Maximum Nash welfare of Amdahl utilities, by Newton steps along a central path.

At the answer all jobs with cores on a server have the same p = q_i w s'(x), q_i = B_i / u_i, and no
other job would pay more. These are the conditions of `central_path`, where a user's rule was to
spend its budget and now is q_i u_i = B_i; a user's jobs of f = 0 stand in u_i as a constant. The
path begins at cores that are all given and multipliers that exceed what any job would pay, so that
little is left to mend; and mu is a job's share of its server where that is less than its share of
its user's money, so that servers worth next to nothing are settled too.
"""

from __future__ import annotations

import numpy as np

from ...instances.market.instance import Allocation, Floats, Market, ratio, total_by
from ...instances.market.utility import nash_welfare as welfare_of
from ...instances.market.utility import speedup, user_utilities
from ..outcome import AGREE, Clock, Stop
from .central_path import CentralPath, Point, Spending
from .proportional import equal_bids, rebid
from .scaled_market import ScaledMarket
from .utilitarian import weighted_optimum

_ATTEMPTS = 3  # paths, each from where the last one ended
_MOST_STEPS = 100  # of a path; about twenty are usual
# mean x z, relative to all money, from which welfare and bound are compared after every step
_LOOK = 1e-6
_ENOUGH = 0.3 * AGREE  # of the welfare: where welfare and bound agree without doubt


def most_welfare(market: Market, clock: Clock) -> tuple[Allocation, float, float, Stop, int]:
    """Maximize the Nash welfare along central paths; return cores with multipliers as prices, their
    welfare, an upper bound, the stop, and the number of steps.
    """
    scaled_market = ScaledMarket.of(market)
    bids = equal_bids(scaled_market)
    price = scaled_market.price_of(bids)
    best = _judged(scaled_market, bids / price[scaled_market.server], price)
    stop, steps = Stop.FINISHED, 0
    path: WelfarePath | None = None
    try:
        for _ in range(5):
            bids, _ = rebid(scaled_market, scaled_market.price_of(bids), bids)
        cores = bids / scaled_market.price_of(bids)[scaled_market.server]
        for attempt in range(_ATTEMPTS):
            path = WelfarePath(scaled_market, cores, least=1e-6 * 0.01**attempt)
            for _ in range(_MOST_STEPS):
                path.measure()
                # below 1e-16 the gaps that remain are the linear solver's
                if clock.expired or path.barrier <= 1e-16 or not path.step():
                    break
                steps += 1
                if path.barrier < _LOOK:
                    best = _better(best, _judged(scaled_market, path.at.cores, path.at.price))
                    if best[2] - best[1] <= _ENOUGH * best[1]:
                        return *best, stop, steps
            best = _better(best, _judged(scaled_market, path.at.cores, path.at.price))
            if clock.expired:
                return *best, Stop.TIME_LIMIT, steps
            cores = path.at.cores
    except KeyboardInterrupt:
        stop = Stop.INTERRUPTED
        if path is not None:
            best = _better(best, _judged(scaled_market, path.at.cores, path.at.price))
    return *best, stop, steps


def _judged(
    scaled_market: ScaledMarket, cores: Floats, price: Floats
) -> tuple[Allocation, float, float]:
    allocation = scaled_market.allocation(cores, np.where(scaled_market.priced_servers, price, 0.0))
    worth = user_utilities(scaled_market.market, allocation.cores)
    return (
        allocation,
        welfare_of(scaled_market.market, worth),
        welfare_bound(scaled_market.market, worth),
    )


def _better(
    one: tuple[Allocation, float, float], other: tuple[Allocation, float, float]
) -> tuple[Allocation, float, float]:
    """Candidate with the smaller gap between welfare and bound, and the lower of the two bounds."""
    found = other if other[2] - other[1] < one[2] - one[1] else one
    return found[0], found[1], float(np.fmin(one[2], other[2]))


def welfare_bound(market: Market, worth: Floats) -> float:
    """Upper bound on the Nash welfare of any allocation, from the utilities (n,) of one: no solver
    is trusted.
    """
    active = market.active
    total = float(market.budget[active].sum())
    if total == 0 or (worth[active] <= 0).any():
        return np.inf
    weight = np.divide(market.budget, worth, out=np.zeros(market.users), where=active & (worth > 0))
    slack = weighted_optimum(market, weight[market.user])[1] / total - 1
    return raised(welfare_of(market, worth), max(slack, 0.0))


def raised(welfare: float, slack: float) -> float:
    """Bound on the Nash welfare: `slack` bounds the gap of its logarithm. Infinity on overflow."""
    with np.errstate(over="ignore"):
        return float(welfare * np.exp(slack))


class WelfarePath(CentralPath):
    """Central path with Newton steps towards the most welfare.

    Parameters
    ----------
    cores : (j,) to begin with; `least` is the share of a server that a job gets at least.
    """

    def __init__(self, scaled_market: ScaledMarket, cores: Floats, least: float = 1e-6) -> None:
        market, budget = scaled_market.market, scaled_market.budget
        largest = np.zeros(market.users)
        np.maximum.at(largest, scaled_market.user, market.work[scaled_market.job])
        self._serial = ratio(
            total_by(
                market.user[scaled_market.serial], market.work[scaled_market.serial], market.users
            ),
            largest,
        )
        cores = np.maximum(cores, least * market.capacity[scaled_market.server])
        cores = cores * ratio(market.capacity, scaled_market.by_server(cores))[scaled_market.server]
        money = np.where(budget > 0, ratio(budget, self._worth(scaled_market, cores), 1.0), 1.0)
        paid = money[scaled_market.user] * scaled_market.marginal(cores)
        price = np.zeros(market.servers)
        np.maximum.at(price, scaled_market.server, paid)
        price = np.where(
            price > 0,
            1.1 * price,
            np.where(scaled_market.fixed > 0, scaled_market.fixed / market.capacity, 1.0),
        )
        start = Point(cores, price[scaled_market.server] - paid, money, price)
        users = np.bincount(scaled_market.user, minlength=market.users)
        servers = np.bincount(scaled_market.server, minlength=market.servers)
        weights = np.minimum(
            (budget / np.maximum(users, 1))[scaled_market.user],
            (price * market.capacity / np.maximum(servers, 1))[scaled_market.server],
        )
        super().__init__(scaled_market, start, weights)

    def _worth(self, scaled_market: ScaledMarket, cores: Floats) -> Floats:
        """(n,) utilities in each user's units of work."""
        gained = scaled_market.work * speedup(cores, scaled_market.fraction)
        return self._serial + scaled_market.by_user(gained)

    def spending(self, paid: Floats, marginal: Floats) -> Spending:
        """Spending at a fixed price of utility, which is the budget at the largest Nash welfare."""
        worth, money = self._worth(self.scaled_market, self.at.cores), self.at.money
        by_cores = money[self.scaled_market.user] * marginal
        return Spending(money * worth, worth, by_cores, np.zeros(1))
