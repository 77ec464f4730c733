"""The side of the servers in the search for equilibrium prices: it sets prices, and sees of users
only what they add up to per server.

What it gets from a group of users (`user_groups`) in each kind of question:

    opening    money on jobs of f = 0 and the number of tenants, per server; the extremes of f
    rounds     money per server; the largest change of a bid
    reply      money per server at prices: the group's demand curve at that point
    jacobian   two sums per server; then products of its part of the Jacobian with vectors, or that
               part itself (m x m) where few servers make it worth it
    measure    cores held and asked for per server; the largest overspending, regret and money left
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...instances.market.equilibrium import Account, Residuals, residuals_of
from ...instances.market.instance import Floats, Market, ratio
from .proportional import Rule
from .user_groups import Given, InBlocks, Question, Source, UserGroup


@dataclass(frozen=True, eq=False)
class Demand:
    """What best replies at some prices ask for.

    Attributes
    ----------
    price : (m,).
    excess : (m,) money asked for beyond what all cores of a server cost at its price.
    error : largest |excess| relative to the server's worth.
    """

    price: Floats
    excess: Floats
    error: float


@dataclass(frozen=True, eq=False)
class SummedBlocks:
    """The Jacobian N (see `demand`) whose blocks stay with the users; as `linear.UserBlocks`."""

    users: InBlocks
    diagonal: Floats
    pairs: Floats

    def apply(self, vector: Floats) -> Floats:
        """N @ vector."""
        return self.diagonal * vector + self.users.ask(UserGroup.product, vector).sums[0]

    def own(self) -> Floats:
        """(m,) the diagonal of N."""
        return self.diagonal + self.pairs

    def dense(self) -> Floats:
        """N as a matrix."""
        return self.users.ask(UserGroup.matrix).sums[0] + np.diag(self.diagonal)

    def stiff(self) -> Callable[[Floats], Floats]:
        """See `UserBlocks.stiff`."""
        return self.users.joined(self.diagonal).stiff()


class Exchange:
    """The servers of a market.

    Parameters
    ----------
    market : the market.

    Attributes
    ----------
    unit : the mean budget of all users, in which money is counted here.
    users : all of them.
    traded : (m,) servers that somebody would pay for; moving : how many jobs move prices.
    smooth : whether all f < 1 among the jobs that move prices; straight : whether all are 1.
    linear : whether any useful job has f = 1.
    money : (m,) on each server in the last round.
    """

    def __init__(self, market: Market) -> None:
        self.capacity, self.unit = market.capacity, float(market.budget.mean())
        self.users = InBlocks(market, self.unit)
        answers = self.users.ask(UserGroup.opening)
        self.fixed, tenants = answers.sums
        most, least, linear = answers.most
        self.priced_servers = (tenants > 0) | (self.fixed > 0)
        self.moving = int(tenants.sum())
        self.smooth, self.straight, self.linear = most < 1, -least == 1, linear > 0
        self.money = np.zeros(market.servers)
        self._replied: Floats | None = None

    @property
    def price(self) -> Floats:
        """(m,) the prices that the last bids make (thesis section 3.3.2)."""
        price: Floats = (self.money + self.fixed) / self.capacity
        return price

    def bid(self, how: Question[Given], *arguments: Given.args, **options: Given.kwargs) -> None:
        """Have all users bid as a method of `UserGroup` says."""
        self.money = self.users.ask(how, *arguments, **options).sums[0]

    def round(self, rule: Rule = "corrected", watched: bool = False) -> float:
        """A round of proportional response; the largest change of a bid, as a share of a budget, 0
        where that is not watched.
        """
        answers = self.users.ask(UserGroup.rebid, self.price, rule, watched)
        self.money = answers.sums[0]
        return answers.most[0]

    def reply(self, price: Floats) -> Demand:
        """Best replies at prices (m,), above 0 where somebody would pay."""
        money = self.users.ask(UserGroup.reply, price).sums[0]
        self._replied = price
        worth = price * self.capacity
        excess = money + self.fixed - worth
        error = float(np.max(np.abs(excess)[worth > 0] / worth[worth > 0], initial=0.0))
        return Demand(price, excess, error)

    def jacobian(self, at: Demand, damping: float = 0.0) -> SummedBlocks:
        """N at these replies, its diagonal raised by `damping` times itself."""
        self.reply_again(at.price)
        gain, pairs = self.users.ask(UserGroup.jacobian).sums
        diagonal = (at.price * self.capacity - gain) * (1 + damping)
        return SummedBlocks(self.users, diagonal, pairs)

    def reply_again(self, price: Floats) -> None:
        """Have the users' last best replies be those at these prices."""
        if self._replied is not price:
            self.reply(price)

    def judge(self, source: Source, price: Floats) -> Residuals:
        """Make a candidate of the cores from a source, every traded server giving exactly all it
        has, and measure it.
        """
        given = self.users.ask(UserGroup.propose, source, price).sums[0]
        asked = price * self.unit
        answers = self.users.ask(UserGroup.measure, asked, ratio(self.capacity, given))
        allocated, wanted = answers.sums
        overspending, regret, unspent = answers.most
        whole = Account(allocated, wanted, overspending, regret, unspent)
        return residuals_of(self.capacity, asked, whole)
