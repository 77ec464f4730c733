"""Equilibria of linear, CES, Cobb-Douglas, Leontief and quasi-linear utilities: Newton's method on
log prices.

With CES utilities, elasticity s = 1 / (1 - rho), a user's bids b at prices p are in proportion to
w^s p^(1 - s). Cobb-Douglas utilities have s = 1; Leontief's have s = 0 and bids w p; linear ones
are the limit of large s. Equilibrium prices minimize the dual of the Eisenberg-Gale program,

    D(p) = sum_j p_j C_j - sum_i B_i log(sum over jobs k of i of w_k^s p^(1 - s)) / (1 - s),

which is convex. Scaled by the prices, its gradient is p C - sum b and its Hessian N = diag(s sum b)
+ (1 - s) sum over users of b b' / B, positive semidefinite for every s. Only Leontief utilities
leave servers that are not scarce: their slack has a variable of its own, on a primal-dual path. For
linear utilities s grows by stages, jobs far from their user's best are dropped, and the equilibrium
of the forest of bids that are left is exact. Money that quasi-linear users keep is worth itself:
one more server of price 1, which has as many cores as they keep.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...instances.market.families import Family
from ...instances.market.instance import (
    LARGEST_WORTH,
    Allocation,
    Booleans,
    Floats,
    Integers,
    Market,
    ratio,
    total_by,
)
from ..outcome import Stop
from .linear import UserBlocks, solve_blocks
from .linear_forest_optimum import forest_end
from .scaled_market import ScaledMarket

DENSE = 1_500
"""Servers up to which N is a matrix."""

_STEPS = 200  # of Newton's method for one elasticity
_LONGEST = 5.0  # change of a log price in a step
_SETTLED, _LOOSE = 1e-14, 0.5  # error of a search that ends, and of a stage times its elasticity
_FIRST, _GROWTH, _STRAIGHT = 4.0, 4.0, 4.0**9  # elasticities of the stages
_ROUNDING = 1e-10  # error below which a step that does not halve it is the last
_MOVED = 30.0  # logarithm by which weights change before they are scaled anew
_DROPPED = 80.0  # logarithm of a bid over its user's largest below which its job is dropped
_SAMPLE, _SAMPLED = 4_000, 5  # users of a first search, from so many times as many
_NONE_KEPT = 1e-12  # money, over the mean budget, that is none
_SECANTS = 12
_FREE = 1e-3  # share of its worth that a server without a price has as slack, at the end


@dataclass(frozen=True, eq=False)
class Bidders:
    """Users whose bids are functions of prices.

    Attributes
    ----------
    job, user, server : (k,) its index in the market and whose it is, ordered by user; every user
        has one.
    taste : (k,) logarithm of its work.
    budget : (n,) money in units of the mean; capacity : (m,) cores, each server with a job.
    kept : logarithm of what a unit of money is worth itself; -inf where it is worth nothing.
    """

    job: Integers
    user: Integers
    server: Integers
    taste: Floats
    budget: Floats
    capacity: Floats
    kept: float = -np.inf

    def by_server(self, money: Floats) -> Floats:
        """(m,) sums of money (k,) of the jobs."""
        return total_by(self.server, money, len(self.capacity))

    def split(self) -> Floats:
        """(k,) users' budgets divided in proportion to work."""
        start = np.searchsorted(self.user, np.arange(len(self.budget)))
        work = np.exp(self.taste - np.maximum.reduceat(self.taste, start)[self.user])
        money: Floats = work * (self.budget / np.add.reduceat(work, start))[self.user]
        return money

    def only(self, job: Any) -> Bidders:
        """Bidders with the same users and only some of their jobs."""
        parts = {name: getattr(self, name)[job] for name in ("job", "user", "server", "taste")}
        return replace(self, **parts)

    def sample(self) -> Bidders | None:
        """Every n-th user with the money of all; None with few users or a server without user."""
        step = len(self.budget) // _SAMPLE
        if step < _SAMPLED:
            return None
        job = self.user % step == 0
        if len(np.unique(self.server[job])) < len(self.capacity):
            return None
        budget = self.budget[::step] * (self.budget.sum() / self.budget[::step].sum())
        return replace(self.only(job), user=self.user[job] // step, budget=budget)


class Weights:
    """Weights to which users' bids are proportional, as a function of log prices near `origin`: a
    matrix of users and servers in which each user's largest entry is 1 at `origin`.
    """

    def __init__(self, bidders: Bidders, elasticity: float, origin: Floats) -> None:
        from scipy.sparse import csr_array

        users, servers = len(bidders.budget), len(bidders.capacity)
        self.bidders, self.origin, self.power = bidders, origin, 1 - elasticity
        start = np.searchsorted(bidders.user, np.arange(users + 1))
        weight = bidders.taste * (elasticity or 1.0)
        weight += self.power * origin[bidders.server]
        kept = bidders.kept * (elasticity or 1.0)
        top = np.maximum(np.maximum.reduceat(weight, start[:-1]), kept)
        weight -= top[bidders.user]
        self.weight, self.kept = np.exp(weight, out=weight), np.exp(kept - top)
        self.matrix: Any = csr_array((weight, bidders.server, start), shape=(users, servers))
        if servers <= DENSE and users * servers <= 3 * len(weight):
            self.matrix = self.matrix.toarray()

    def at(self, price: Floats) -> Point:
        """Bids of users at log prices."""
        bidders, power = self.bidders, self.power
        change = np.exp(power * (price - self.origin))
        total = self.matrix @ change + self.kept
        paid = np.maximum(change * (self.matrix.T @ (bidders.budget / total)), 1e-300)
        worth = np.exp(price) * bidders.capacity
        dual = float(worth.sum() - bidders.budget @ np.log(total) / power)
        return Point(price, change, total, paid, worth, dual)

    def bids(self, at: Point) -> Floats:
        """(k,) money of each job."""
        per = self.bidders.budget / at.total
        bids: Floats = self.weight * at.change[self.bidders.server] * per[self.bidders.user]
        return bids

    def solve(self, at: Point, right: Floats, slack: Floats) -> Floats:
        """Solution of the linear system (N + diag(slack)) x = right of a Newton step."""
        bidders, power = self.bidders, self.power
        size = np.sqrt(at.paid + slack)
        if len(size) > DENSE:
            bids = self.bids(at)
            share, own = power * bids / bidders.budget[bidders.user], (1 - power) * at.paid + slack
            users = len(bidders.budget)
            blocks = UserBlocks(own, share, bids, bidders.user, bidders.server, users)
            return solve_blocks(blocks, right, 1e-12)
        rows, across = np.sqrt(bidders.budget) / at.total, power * (at.change / size)
        scaled = (
            self.matrix * rows[:, None]
            if isinstance(self.matrix, np.ndarray)
            else (self.matrix.multiply(rows[:, None]).tocsr())
        )
        product = scaled.T @ scaled
        matrix = product if isinstance(product, np.ndarray) else product.toarray()
        matrix = matrix * across[:, None] * (at.change / size)
        matrix[np.diag_indices(len(size))] += ((1 - power) * at.paid + slack) / size**2
        try:
            step: Floats = np.linalg.solve(matrix, right / size) / size
        except np.linalg.LinAlgError:
            step = right / size**2
        return step


@dataclass(frozen=True, eq=False)
class Point:
    """Dual function at the log prices of servers (m,), evaluated. Fields: change of the weights
    since scaled, sums of weights by user (n,), money bid and worth of all cores by server (m,).
    """

    price: Floats
    change: Floats
    total: Floats
    paid: Floats
    worth: Floats
    dual: float


@dataclass
class Search:
    """Search for market-clearing prices by Newton's method, and its number of steps so far."""

    bidders: Bidders
    over: Callable[[], bool]
    steps: int = 0

    def __post_init__(self) -> None:
        bidders = self.bidders
        few = bidders.sample() or bidders
        self.price = np.log(few.by_server(few.split()) / few.capacity)

    @property
    def bids(self) -> Floats:
        """Money (k,) that users bid on each job at the present prices."""
        return self.weights.bids(self.at)

    @property
    def kept(self) -> Floats:
        """Money (n,) that each user keeps."""
        kept: Floats = self.weights.kept / self.at.total * self.bidders.budget
        return kept

    def run(self, elasticity: float) -> None:
        """Run Newton's method, in stages where bids react strongly to prices; jobs without bids are
        dropped on the way.
        """
        users = len(self.bidders.budget)
        stage = min(elasticity, _FIRST)
        if (some := self.bidders.sample()) is not None:
            first = Search(some, self.over)
            first.run(stage := min(elasticity, _FIRST * _GROWTH**2))
            self.price, self.steps = first.price, first.steps
        while stage < elasticity:
            self.settle(stage, _LOOSE / stage)
            if self.over():
                return
            value = self.bidders.taste - self.price[self.bidders.server]
            starts = np.searchsorted(self.bidders.user, np.arange(users))
            best = np.maximum.reduceat(value, starts)[self.bidders.user]
            alive = value >= best - _DROPPED / stage
            if alive.mean() < 0.7:
                self.bidders = self.bidders.only(alive)
            stage = min(stage * _GROWTH, elasticity)
        self.settle(elasticity, _SETTLED)

    def settle(self, elasticity: float, enough: float) -> None:
        """Take Newton steps for one elasticity until money bid and worth of cores differ by
        `enough` in logarithm.
        """
        weights = Weights(self.bidders, elasticity, self.price)
        at = weights.at(self.price)
        slack = 0.1 * at.worth if elasticity == 0 else np.zeros(len(at.worth))
        self.weights, self.at, self.slack = weights, at, slack
        before, least = np.inf, float(self.bidders.budget.min())
        for _ in range(_STEPS):
            barrier = 0.1 * float(slack.mean())
            missing = at.worth - at.paid - slack
            error = np.abs(missing / at.worth).max()
            stalled = before < _ROUNDING and error > 0.5 * before
            if (error <= enough and slack.sum() <= enough * least) or stalled:
                break
            if self.over():
                break
            self.steps += 1
            fall = barrier + at.paid - at.worth
            step = np.nan_to_num(weights.solve(at, fall, slack))
            longest = min(_LONGEST, _MOVED / abs(weights.power))
            step *= min(1.0, longest / max(float(np.abs(step).max()), longest))
            found = None
            for halving in range(20):
                length = 0.5**halving
                trial = weights.at(at.price + length * step)
                rise = trial.dual - at.dual - barrier * length * step.sum()
                if rise <= -1e-4 * length * (fall @ step) + 4e-16 * at.worth.sum():
                    found = trial
                    break
            if found is None:
                break
            if slack.any():
                turn = barrier / slack - 1 - step
                slack = slack * np.maximum(1 + length * turn, 0.05) * found.worth / at.worth
            at, before = found, error
            if np.abs(weights.power * (at.price - weights.origin)).max() > _MOVED:
                weights = Weights(self.bidders, elasticity, at.price)
                at = weights.at(at.price)
            self.weights, self.at, self.slack, self.price = weights, at, slack, at.price


def equilibrium(
    market: Market, utility: Family, rho: float, over: Callable[[], bool]
) -> tuple[Allocation, int, Stop]:
    """Cores and prices of the equilibrium, the number of Newton steps, and why they ended.

    Parameters
    ----------
    market : with a job of work above 0.
    over : whether time is up: the answer is then what the prices so far make of it.
    """
    # 1. the jobs that count, ordered by user
    job = np.arange(market.jobs) if market.useful.all() else np.flatnonzero(market.useful)
    in_order = bool((market.user[1:] >= market.user[:-1]).all())
    if not in_order:
        job = job[np.argsort(market.user[job], kind="stable")]
    chosen: Any = slice(None) if len(job) == market.jobs and in_order else job
    active, tenants = (
        market.active,
        np.bincount(market.server[chosen], minlength=market.servers) > 0,
    )
    unit = float(market.budget[active].mean())
    bidders = Bidders(
        job, _renumbered(market.user[chosen], active), _renumbered(market.server[chosen], tenants),
        np.log(market.work[chosen]), market.budget[active] / unit, market.capacity[tenants],
        np.log(unit) if utility == "quasi-linear" else -np.inf,
    )  # fmt: skip
    # 2. prices by Newton's method, from those that budgets split by work would make
    elasticity = {"ces": 1 / (1 - rho), "leontief": 0.0}.get(utility, _STRAIGHT)
    search, stop = Search(bidders, over), Stop.FINISHED
    if utility == "cobb-douglas":
        bids = bidders.split()
        price = bidders.by_server(bids) / bidders.capacity
    else:
        try:
            search.run(elasticity)
        except KeyboardInterrupt:
            stop = Stop.INTERRUPTED
        bidders, bids = search.bidders, search.bids
        price = (
            np.exp(search.price)
            if utility == "leontief"
            else (bidders.by_server(bids) / bidders.capacity)
        )
    if over():
        stop = Stop.TIME_LIMIT
    # 3. linear utilities: the forest of the bids that are left
    bought = ratio(bids, price[bidders.server])
    if elasticity == _STRAIGHT and stop is Stop.FINISHED and utility != "cobb-douglas":
        bought, price = exact_end(bidders, price, bought, search.kept, unit, over) or (
            bought,
            price,
        )
    # 4. every server with a price gives all that it has; none gives more
    cores = np.zeros(market.jobs)
    cores[bidders.job] = bought
    full = total_by(market.server, cores, market.servers) / market.capacity
    prices = np.zeros(market.servers)
    prices[tenants] = price * unit
    if utility == "leontief":
        prices[tenants] = np.where(search.slack > _FREE * search.at.worth, 0.0, price * unit)
    full = np.where(prices > 0, full, np.maximum(full, 1.0))
    return Allocation(ratio(cores, full[market.server]), prices), search.steps, stop


def _renumbered(index: Integers, kept: Booleans) -> Integers:
    """New indices of entries after others were left out; every entry given must be kept."""
    return index if kept.all() else (np.cumsum(kept) - 1)[index]


def exact_end(
    bidders: Bidders,
    price: Floats,
    cores: Floats,
    kept: Floats,
    unit: float,
    over: Callable[[], bool],
) -> tuple[Floats, Floats] | None:
    """Cores and prices of the equilibrium of linear utilities on the forest of bids; None if pivots
    do not end.

    Money that users keep is a server of price 1. The inverse of its price is increasing and
    piecewise linear in its cores, so that the secant method ends exactly.
    """
    # 1. money that is kept is a server; users with one job are joined to one user for each server:
    # `several` are the jobs of users with more than one, `alone` the others, `of` the new users
    keeping = np.flatnonzero(kept > 0) if kept.sum() > _NONE_KEPT else np.zeros(0, dtype=np.int64)
    users, servers, jobs = len(bidders.budget), len(bidders.capacity), len(bidders.user)
    user = np.concatenate([bidders.user, keeping])
    server = np.concatenate([bidders.server, np.full(len(keeping), servers)])
    taste = np.concatenate([bidders.taste, np.full(len(keeping), bidders.kept)])
    cores = np.concatenate([cores, kept[keeping]])
    tied = np.bincount(user, minlength=users) > 1
    several, alone = np.flatnonzero(tied[user]), np.flatnonzero(~tied[user])
    busy, place = np.unique(server[alone], return_inverse=True)
    money = total_by(place, bidders.budget[user[alone]], len(busy))
    most = np.full(users, -np.inf)
    np.maximum.at(most, user, taste)
    work = np.maximum(np.exp(taste - most[user])[several], 1 / LARGEST_WORTH)
    of = np.concatenate([(np.cumsum(tied) - 1)[user[several]], tied.sum() + np.arange(len(busy))])
    budget = np.concatenate([bidders.budget[tied], money]) * unit
    market = Market(
        np.append(bidders.capacity, 1.0)[: servers + bool(len(keeping))],
        np.clip(budget, 1 / LARGEST_WORTH, LARGEST_WORTH), of,
        np.concatenate([server[several], busy]), np.ones(len(of)),
        np.concatenate([work, np.ones(len(busy))]),
    )  # fmt: skip
    bought = np.concatenate([cores[several], total_by(place, cores[alone], len(busy))])
    # 2. forests, until money has the price 1
    amount, before, start = (
        float(kept.sum()),
        (0.0, 0.0),
        np.append(np.maximum(price, 1e-300), 1.0)[: market.servers],
    )
    for _ in range(_SECANTS):
        if len(keeping):
            market = market.replace(capacity=np.append(bidders.capacity, amount))
        end = forest_end(ScaledMarket.of(market, unit), start, bought, over)
        if end is None:
            return None
        bought, start, _ = end
        off = 1 / start[-1] - 1 if len(keeping) else 0.0
        if abs(off) <= _SETTLED:
            cores[several] = bought[: len(several)]
            share = bidders.budget[user[alone]] / money[place]
            cores[alone] = bought[len(several) :][place] * share
            return cores[:jobs], start[:servers]
        slope = (off - before[1]) / (amount - before[0]) if before[0] else 1 / (amount * start[-1])
        before, amount = (amount, off), max(amount - off / slope, 0.5 * amount)
    return None
