"""What users do in the search for equilibrium prices: bid, reply, and say how far off they are.

The search (`exchange`) knows prices and sums per server only. Users are asked in groups: all of a
small market's, or blocks of a large one's (so many as the processor's cache holds). Whatever a
group is asked, it answers with a `PartialSums`, and the tallies of all groups merge to one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Concatenate, Literal, ParamSpec

import numpy as np

from ...instances.market.equilibrium import Account, account
from ...instances.market.instance import Floats, Market, ratio, total_by
from ...instances.market.utility import least_price
from .demand import Reply, jacobian, reply
from .interior import Inside
from .linear import UserBlocks
from .proportional import Rule, bids_at, equal_bids, random_bids, rebid
from .scaled_market import ScaledMarket

BLOCK = 32768
"""Jobs of a block, about: arrays of so many stay in the processor's cache."""

Source = Literal["bids", "reply", "inside", "given"]
"""Where the cores of a candidate come from: bids over prices, best replies, the interior method, or
another one.
"""


@dataclass(frozen=True, eq=False)
class PartialSums:
    """What a group of users answers.

    Attributes
    ----------
    sums : arrays, a value per server, that add up over groups.
    most : numbers of which the largest over all groups counts.
    """

    sums: tuple[Floats, ...] = ()
    most: tuple[float, ...] = ()

    @classmethod
    def merged(cls, tallies: Iterable[PartialSums]) -> PartialSums:
        """Merge the partial sums of all groups of users into one."""
        sums: list[Floats] = []
        most: list[float] = []
        for tally in tallies:
            if not sums and not most:
                sums, most = [np.array(part) for part in tally.sums], list(tally.most)
                continue
            for whole, part in zip(sums, tally.sums, strict=True):
                whole += part
            most = [max(pair) for pair in zip(most, tally.most, strict=True)]
        return cls(tuple(sums), tuple(most))


Given = ParamSpec("Given")

Question = Callable[Concatenate[Any, Given], PartialSums]
"""What users are asked: a method of `UserGroup`, such as `UserGroup.reply`, which every group
answers.
"""


class UserGroup:
    """A group of users, with what it did last.

    Parameters
    ----------
    market : its users and their jobs, with all servers.
    unit : the mean budget of all users of the whole market, in which money is counted.
    whole : jobs of the whole market.
    """

    def __init__(self, market: Market, unit: float, whole: int) -> None:
        self.market = market
        self.scaled_market = ScaledMarket.of(market, unit, whole)
        self.bids = self.given = self.candidate = self.best = np.zeros(0)
        self._reply: Reply | None = None
        self._blocks: UserBlocks | None = None
        self._inside: Inside | None = None

    def opening(self) -> PartialSums:
        """Money on slivers and number of tenants, per server; largest f, -(least f), and whether a
        job has f = 1.
        """
        scaled_market, market = self.scaled_market, self.market
        tenants = np.bincount(scaled_market.server, minlength=market.servers).astype(float)
        linear = float((market.useful & (market.parallel_fraction == 1)).any())
        ends = (
            float(scaled_market.fraction.max(initial=0.0)),
            -float(scaled_market.fraction.min(initial=1.0)),
        )
        return PartialSums((scaled_market.fixed, tenants), (*ends, linear))

    def equal(self) -> PartialSums:
        """Let every user bid equally on its jobs, and return the money bid per server."""
        return self._bid(equal_bids(self.scaled_market))

    def random(self, rng: np.random.Generator) -> PartialSums:
        """Let every user bid at random, and return the money bid per server."""
        return self._bid(random_bids(self.scaled_market, rng))

    def near(self, price: Floats, source: Source) -> PartialSums:
        """Bid about what the cores given, or best replies, cost at prices; money per server."""
        return self._bid(bids_at(self.scaled_market, price, self._cores(source, price)))

    def rebid(self, price: Floats, rule: Rule = "corrected", watched: bool = False) -> PartialSums:
        """A round of proportional response at prices; money per server, and the largest change of a
        bid as a share of its user's budget, 0 where that is not watched.
        """
        before, scaled_market = self.bids, self.scaled_market
        self.bids, money = rebid(scaled_market, price, before, rule)
        if not watched:
            return PartialSums((money,), (0.0,))
        change = np.abs(self.bids - before) / scaled_market.budget[scaled_market.user]
        return PartialSums((money,), (float(change.max(initial=0.0)),))

    def _bid(self, bids: Floats) -> PartialSums:
        self.bids = bids
        return PartialSums((self.scaled_market.by_server(bids),))

    def reply(self, price: Floats) -> PartialSums:
        """Work out best replies at prices; money per server."""
        self._reply, self._blocks = reply(self.scaled_market, price), None
        return PartialSums((self._reply.money,))

    def jacobian(self) -> PartialSums:
        """The Jacobian of the last best replies (see `demand`): its diagonal's two parts, what the
        replies gain from a price and what users' other jobs take from it.
        """
        assert self._reply is not None
        self._blocks = blocks = jacobian(self.scaled_market, self._reply)
        gain = total_by(blocks.server, blocks.right, self.market.servers)
        return PartialSums((gain, blocks.pairs()))

    def enter(self, price: Floats) -> PartialSums:
        """Begin the interior method (`interior`) from the last bids, at prices above 0."""
        self._inside, self._blocks = Inside(self.scaled_market, price, self.bids), None
        return PartialSums()

    def gaps(self) -> PartialSums:
        """What is missing on the path: cores per server; the sum of x z, the number of jobs and
        these users' money; the largest gap and -(least x z).
        """
        largest, at = self.inside.gaps(), self.inside.at
        products = at.cores * at.slack
        whole = np.array([products.sum(), float(len(products)), self.scaled_market.budget.sum()])
        given = self.scaled_market.by_server(at.cores)
        return PartialSums((given, whole), (largest, -float(products.min(initial=np.inf))))

    def press(self, barrier: float) -> PartialSums:
        """The step towards x z = `barrier`, on the servers: the diagonal's two parts and the right
        side over prices.
        """
        self._blocks, pushed = self.inside.press(barrier)
        return PartialSums((self._blocks.diagonal, self._blocks.pairs(), pushed))

    def turn(self, log_price: Floats) -> PartialSums:
        """Take up the prices' step; -(how far these users may go)."""
        return PartialSums((), (-self.inside.turn(log_price),))

    def advance(self, step: float) -> PartialSums:
        """Go so far."""
        self.inside.advance(step)
        return PartialSums()

    @property
    def inside(self) -> Inside:
        """Where these users are on the path."""
        assert self._inside is not None
        return self._inside

    def product(self, vector: Floats) -> PartialSums:
        """The users' blocks of the last system (Jacobian or interior) times a vector (m,)."""
        return PartialSums((self.blocks.outer(vector),))

    def matrix(self) -> PartialSums:
        """The same blocks added up, (m, m)."""
        return PartialSums((self.blocks.outer_matrix(),))

    @property
    def blocks(self) -> UserBlocks:
        """The last Jacobian."""
        assert self._blocks is not None
        return self._blocks

    def propose(self, source: Source, price: Floats) -> PartialSums:
        """Make a candidate of the cores from a source at prices; cores per server."""
        market, scaled_market = self.market, self.scaled_market
        whole = np.zeros(market.jobs)
        whole[scaled_market.job] = self._cores(source, price)
        whole[scaled_market.serial] = ratio(
            scaled_market.epsilon_budget, price[market.server[scaled_market.serial]]
        )
        self.candidate = whole
        return PartialSums((total_by(market.server, whole, market.servers),))

    def measure(self, price: Floats, scale: Floats) -> PartialSums:
        """Scale the candidate's cores per server and judge it at prices; cores held and asked for
        per server, and the largest overspending, regret and share of a budget left over.
        """
        self.candidate *= scale[self.market.server]
        mine = self._account(price)
        return PartialSums((mine.given, mine.asked), (mine.overspending, mine.regret, mine.unspent))

    def _account(self, price: Floats) -> Account:
        market, scaled_market = self.market, self.scaled_market
        if scaled_market.starts is None or len(scaled_market.job) < market.jobs:
            return account(market, self.candidate, price)
        from . import user_kernels

        return Account(
            *user_kernels.account(
                scaled_market.starts, market.server, market.work, market.parallel_fraction,
                market.budget, price, least_price(price), self.candidate,
            )
        )  # fmt: skip

    def keep(self) -> PartialSums:
        """The candidate is the best so far."""
        self.best = self.candidate
        return PartialSums()

    def _cores(self, source: Source, price: Floats) -> Floats:
        if source == "given":
            return self.given
        if source == "inside":
            return self.inside.at.cores
        if source == "bids":
            return self.bids / price[self.scaled_market.server]
        assert self._reply is not None
        return self._reply.cores


class InBlocks:
    """All users of a market, in blocks of whole users.

    Parameters
    ----------
    market : the market.
    unit : the mean budget, in which money is counted.
    """

    def __init__(self, market: Market, unit: float) -> None:
        self.market = market
        # a sum per server must cost little beside what is summed
        most = max(BLOCK, 4 * market.servers)
        self._places: list[Any] = [slice(None)]
        if market.jobs <= 2 * most:
            self.groups = [UserGroup(market, unit, market.jobs)]
            return
        order = None
        user = market.user
        if (user[1:] < user[:-1]).any():
            order = np.argsort(user, kind="stable")
            user = user[order]
        self.groups = []
        self._places = []
        for first, last in user_ranges(np.bincount(user, minlength=market.users), most):
            start, end = np.searchsorted(user, [first, last])
            place = slice(start, end) if order is None else order[start:end]
            self._places.append(place)
            some = Market(
                capacity=market.capacity,
                budget=market.budget[first:last],
                user=user[start:end] - first,
                server=market.server[place],
                parallel_fraction=market.parallel_fraction[place],
                work=market.work[place],
            )
            self.groups.append(UserGroup(some, unit, market.jobs))

    def ask(
        self, question: Question[Given], *arguments: Given.args, **options: Given.kwargs
    ) -> PartialSums:
        """The merged answer of every group."""
        return PartialSums.merged(question(group, *arguments, **options) for group in self.groups)

    def joined(self, diagonal: Floats) -> UserBlocks:
        """The Jacobian with every user's entries."""
        each = [group.blocks for group in self.groups]
        offset = np.cumsum([0, *(blocks.users for blocks in each)])
        return UserBlocks(
            diagonal,
            np.concatenate([blocks.left for blocks in each]),
            np.concatenate([blocks.right for blocks in each]),
            np.concatenate([b.user + first for b, first in zip(each, offset[:-1], strict=True)]),
            np.concatenate([blocks.server for blocks in each]),
            int(offset[-1]),
        )

    def best(self) -> Floats:
        """(k,) cores of the best candidate."""
        return self._gathered(lambda group: group.best)

    def bids(self) -> Floats:
        """(k,) money on each job, 0 on those that move no price."""

        def spread(group: UserGroup) -> Floats:
            whole = np.zeros(group.market.jobs)
            whole[group.scaled_market.job] = group.bids
            return whole

        return self._gathered(spread)

    def give(self, cores: Floats) -> None:
        """Hand cores (k,) to the groups, as the source "given"."""
        for group, place in zip(self.groups, self._places, strict=True):
            group.given = cores[place][group.scaled_market.job]

    def _gathered(self, of: Callable[[UserGroup], Floats]) -> Floats:
        whole = np.zeros(self.market.jobs)
        for group, place in zip(self.groups, self._places, strict=True):
            whole[place] = of(group)
        return whole


def user_ranges(jobs: Any, most: int) -> list[tuple[int, int]]:
    """Ranges of users [first, last) with at least one job and, but for the last user of each, fewer
    than `most`.

    Parameters
    ----------
    jobs : (n,) number of jobs of each user.
    """
    until = np.cumsum(jobs)
    ranges: list[tuple[int, int]] = []
    first = 0
    while first < len(until):
        done = int(until[first - 1]) if first else 0
        last = min(int(np.searchsorted(until, done + most)) + 1, len(until))
        if until[-1] == until[last - 1]:  # users without jobs at the end go along
            last = len(until)
        ranges.append((first, last))
        first = last
    return ranges
