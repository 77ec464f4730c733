"""The market from a user's side: what to buy, and what old prices cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...instances.market.instance import Allocation, Floats, Market, total_by
from ...instances.market.utility import best_reply, speedup, user_utilities
from ...instances.problem.errors import InvalidOption
from ...instances.problem.option_types import validate_options
from ...instances.problem.registry import check


@dataclass(frozen=True, eq=False)
class ClientView:
    """A user at given prices.

    Attributes
    ----------
    jobs : (j,) numbers of its jobs.
    cores : (j,) what it has; reply : (j,) what it would best buy for its budget.
    bids : (j,) money that the reply puts on each.
    utility, best : of the two.
    """

    jobs: Any
    cores: Floats
    reply: Floats
    bids: Floats
    utility: float
    best: float

    @property
    def regret(self) -> float:
        """1 - utility / best, at least 0."""
        return max(0.0, 1 - self.utility / self.best) if self.best > 0 else 0.0


@validate_options
def client_view(market: Market, allocation: Allocation, user: int) -> ClientView:
    """A user's best reply to the prices of an allocation beside what it has there. Raises
    InvalidOption when there is no such user, or no prices.
    """
    _require_user(market, user)
    if allocation.price is None:
        raise InvalidOption("the allocation has no prices; give one of fisher, PRD or another such")
    jobs = np.flatnonzero(market.user == user)
    reply = best_reply(market, allocation.price).amount[jobs]
    fraction, work = market.parallel_fraction[jobs], market.work[jobs]
    cores = allocation.cores[jobs]
    # a job of f = 0 wants a sliver, which costs as little as one likes
    best = np.where(fraction == 0, work, work * speedup(reply, fraction))
    return ClientView(
        jobs,
        cores,
        reply,
        allocation.price[market.server[jobs]] * reply,
        float((work * speedup(cores, fraction)).sum()),
        float(best.sum()),
    )


@dataclass(frozen=True)
class Stale:
    """What it costs to stay with old prices when the jobs have changed.

    Attributes
    ----------
    excess_demand : largest share of a server's cores that best replies ask for beyond or below it.
    lost : share of the total utility of the new equilibrium that is lost.
    worst : the same of the user that loses most.
    """

    excess_demand: float
    lost: float
    worst: float


@validate_options
def stale(market: Market, price: Floats, equilibrium: Allocation) -> Stale:
    """Users reply to old prices; where they ask for more than a server has, each gets its part.

    Parameters
    ----------
    market : as it is now.
    price : (m,) the old prices.
    equilibrium : of the market as it is now.
    """
    check(market, equilibrium)
    asked = best_reply(market, price).amount
    filled = total_by(market.server, asked, market.servers) / market.capacity
    cores = asked / np.maximum(filled, 1.0)[market.server]
    # jobs of f = 0 run at full speed on a sliver in both
    serial = market.parallel_fraction == 0
    cores = np.where(serial, equilibrium.cores, cores)
    now, then = user_utilities(market, cores), user_utilities(market, equilibrium.cores)
    some = then > 0
    return Stale(
        float(np.abs(filled - 1)[price > 0].max(initial=0.0)),
        float(1 - now.sum() / then.sum()),
        float((1 - now[some] / then[some]).max(initial=0.0)),
    )


def _require_user(market: Market, user: int) -> None:
    if not 0 <= user < market.users:
        raise InvalidOption(f"user is {user}; expected 0 to {market.users - 1}")
