"""Bidding round by round: users who take prices as given (PRD, thesis section 3.3.2), and XChange,
users who anticipate the effect of their bids on prices (section 3.4.1; Wang and Martinez, HPCA
2015).

On a server with C cores, a job that bids b against others' bids y gets x = C b / (b + y), so its
speedup

    s = C b / (f y + g b),   g = f + (1 - f) C,

is again a curve of Amdahl's kind in b, and the best bids under a budget have the closed form of a
best reply at prices.

The thesis leaves open, and here it is so: all users answer at once, each round's bids standing
against the last round's; XC-M moves a share (`step`) of the way to its best reply, since full moves
can swing for ever; XC's hill climbing moves a `step` of the budget from the job of least marginal
utility to the one of most. A user with several jobs on a server bids for each as if the others were
strangers'.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Annotated, Literal

import numpy as np

from ...instances.market.instance import Floats, Market, ratio, total_by
from ...instances.market.utility import lowest, rise_of, speedup
from ...instances.problem.option_types import Above, AtLeast, validate_options
from ...solvers.market.exchange import Exchange
from ...solvers.market.proportional import Rule, equal_bids
from ...solvers.market.rounding import Rounding, round_cores, validate_rounding
from ...solvers.market.scaled_market import ScaledMarket
from ...solvers.outcome import Clock, Outcome, Report, Status, Stop

Halving = Literal["always", "on-failure"]

LEAST_BID = 1e-12
"""Share of the mean budget below which no bid falls: alone, any bid takes the server."""


@validate_options
def proportional_response(
    instance: Market,
    *,
    time_limit: float | None = None,
    report: Report | None = None,
    rule: Rule = "corrected",
    rounds: Annotated[int, AtLeast(1)] = 200,
    movement: Annotated[float, AtLeast(0, "a share of the budget", infinite=True)] = 1e-4,
    rounding: Rounding = "none",
) -> Outcome:
    """PRD: users bid in proportion to the utility that their cores give, and prices follow, until
    bids converge.

    Thesis section 3.3.2. The text does not state the first bids (ours: equal money on each job, all
    positive, since a bid of 0 stays 0) nor when bids count as standing still (ours: `movement`).
    Its rule U_ij = sqrt(f_ij p_j) w_ij s_ij (`rule="printed"`) leads to the equilibrium of the
    market with works w^2; the conditions for a best reply give sqrt(w_ij f_ij p_j) s_ij
    (`corrected`). Jobs with f = 0 bid a sliver (see `solvers.market.scaled_market`).

    Parameters
    ----------
    rule : which bid update.
    rounds : most rounds; the thesis reports fewer than 200.
    movement : a round in which no bid changes by more than this share of its user's budget ends it.
    rounding : how fractions become whole cores; they stay with "none". See `round_cores`.

    Returns
    -------
    Outcome
        Status `feasible`: how near an equilibrium it came stands in the certificate.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("market/tiny"), "PRD")
    >>> print(result.status, round(result.objective, 4))
    feasible 0.0
    """
    validate_rounding(instance, rounding, time_limit)
    clock = Clock(time_limit, report)
    exchange = Exchange(instance)
    scaled = exchange.scaled_market
    exchange.bid(equal_bids(scaled))
    stop, done = Stop.ITERATION_LIMIT, 0
    try:
        while done < rounds:
            done += 1
            before = exchange.bids
            exchange.round(rule)
            change = np.abs(exchange.bids - before) / scaled.budget[scaled.user]
            if change.max(initial=0.0) <= movement:
                stop = Stop.FINISHED
                break
            if clock.expired:
                stop = Stop.TIME_LIMIT
                break
    except KeyboardInterrupt:
        stop = Stop.INTERRUPTED
    allocation, error = exchange.judge(exchange.bought, exchange.price)
    clock.note(error.worst, None, "proportional response")
    certificate = {**asdict(error), "rounds": done, "rule": rule}
    answer, stop = round_cores(instance, allocation, rounding, clock.left, stop)
    return Outcome(answer, None, Status.FEASIBLE, stop, certificate, tuple(clock.trace))


@validate_options
def exchange(
    instance: Market,
    *,
    time_limit: float | None = None,
    report: Report | None = None,
    rounds: Annotated[int, AtLeast(1)] = 50,
    step: Annotated[float, Above(0, "a share", most=1)] = 0.1,
    halving: Halving = "always",
    rounding: Rounding = "none",
) -> Outcome:
    """XC: bids improved by hill climbing, users knowing that they move prices.

    Each round every user moves `step` of its budget (or what is there) from its job of least
    marginal utility of money to that of most, when that gains; steps are halved, and a user whose
    step is below 0.001 is done. The thesis says of the heuristic only that it almost always ends
    without finding the optimum; XChange's first step, its halving and its end are not in the text.
    Halving after every move ends early, as the thesis describes; halving only when a move does not
    gain comes close to the Nash equilibrium.

    Parameters
    ----------
    rounds : most rounds.
    step : first step, a share of the budget.
    halving : "always", after every move, or "on-failure".
    rounding : how fractions become whole cores; they stay with "none". See `round_cores`.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("market/tiny"), "XC", halving="on-failure")
    >>> print(result.status, round(result.objective, 3))
    feasible 15.679
    """
    size = np.full(instance.users, step)

    def climb(game: _Game, bids: Floats) -> tuple[Floats, bool]:
        nonlocal size
        bids, size = game.climbed(bids, size, halving == "always")
        return bids, bool((size < 1e-3).all())

    return _played(instance, climb, rounds, rounding, Clock(time_limit, report))


@validate_options
def exchange_modified(
    instance: Market,
    *,
    time_limit: float | None = None,
    report: Report | None = None,
    rounds: Annotated[int, AtLeast(1)] = 500,
    step: Annotated[float, Above(0, "a share", most=1)] = 0.5,
    tolerance: Annotated[float, AtLeast(0, "a relative gain", infinite=True)] = 1e-6,
    rounding: Rounding = "none",
) -> Outcome:
    """XC-M: in each round every user goes towards its exact best reply to the others' bids.

    The thesis finds the best reply with an interior-point method; it has a closed form (see the
    module's docstring). Ends when no user could gain more than `tolerance` of its utility by
    another bid: then the bids are a Nash equilibrium to that tolerance (`nash_regret` in the
    certificate), which is not a market equilibrium.

    Parameters
    ----------
    rounds : most rounds.
    step : share of the way to the best reply, above 0 and at most 1.
    tolerance : relative gain that a user may still have where the search ends.
    rounding : how fractions become whole cores; they stay with "none". See `round_cores`.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("market/tiny"), "XC-M")
    >>> print(result.status, round(result.objective, 3))
    feasible 15.678
    """

    def reply(game: _Game, bids: Floats) -> tuple[Floats, bool]:
        best = game.best_bids(bids)
        if game.regret(bids, best) <= tolerance:
            return bids, True
        return (1 - step) * bids + step * best, False

    return _played(instance, reply, rounds, rounding, Clock(time_limit, report))


@dataclass(frozen=True, eq=False)
class _Game:
    """Bidding game of the jobs that can use a second core, with the other bids fixed."""

    scaled_market: ScaledMarket
    first: Floats
    least: float

    def others(self, bids: Floats) -> Floats:
        """Money (j,) of all other bids on each job's server."""
        server = self.scaled_market.server
        total = total_by(server, bids, self.scaled_market.market.servers) + self.scaled_market.fixed
        return np.maximum(total[server] - bids, 1e-15 * total[server])

    def utilities(self, bids: Floats, others: Floats) -> Floats:
        """Utility (n,) of each user by its bids, against the others' bids."""
        jobs, market = self.scaled_market, self.scaled_market.market
        cores = market.capacity[jobs.server] * bids / (bids + others)
        return total_by(jobs.user, jobs.work * speedup(cores, jobs.fraction), market.users)

    def best_bids(self, bids: Floats) -> Floats:
        """Best bids (j,) of each user against the others' bids.

        w C f y / (f y + g b)^2 = 1 / Y^2 gives b = (f y / g) (Y / theta - 1), theta = sqrt(f y / (w
        C)): money above the threshold grows linearly in Y, as in `instances.market.utility`.
        """
        jobs, others = self.scaled_market, self.others(bids)
        cores = jobs.market.capacity[jobs.server]
        curve = jobs.fraction + (1 - jobs.fraction) * cores
        floor = jobs.fraction * others / curve
        threshold = np.sqrt(jobs.fraction * others / (jobs.work * cores))
        return np.maximum(spend(floor, threshold, jobs.user, jobs.budget), self.least)

    def regret(self, bids: Floats, best: Floats) -> float:
        """Largest relative gain in utility of a user by its best bids."""
        others = self.others(bids)
        now, then = self.utilities(bids, others), self.utilities(best, others)
        return float(np.max(1 - ratio(now, then, 1.0), initial=0.0))

    def climbed(self, bids: Floats, size: Floats, always: bool) -> tuple[Floats, Floats]:
        """New bids and step sizes after one round of hill climbing."""
        jobs, others = self.scaled_market, self.others(bids)
        user, fraction = jobs.user, jobs.fraction
        cores = jobs.market.capacity[jobs.server]
        denominator = fraction * others + (fraction + (1 - fraction) * cores) * bids
        marginal = jobs.work * cores * fraction * others / denominator**2
        richest, poorest = _extremes(jobs, marginal, bids > 2 * self.least)
        sender = poorest[user] == np.arange(len(bids))
        taker = richest[user] == np.arange(len(bids))
        moved = np.minimum(size[user] * jobs.budget[user], bids - self.least) * sender
        amount = total_by(user, moved, jobs.market.users)
        trial = bids - moved + amount[user] * taker
        gained = self.utilities(trial, others) > self.utilities(bids, others) * (1 + 1e-12)
        gained &= richest != poorest
        return np.where(gained[user], trial, bids), np.where(gained & (not always), size, size / 2)


def spend(floor: Floats, threshold: Floats, group: np.ndarray, budget: Floats) -> Floats:
    """Divide each group's budget over its items: the amounts (items,) are floor x (Y / threshold -
    1), at least 0, where one Y per group makes them add up to the budget.
    """
    every = np.ones(len(group), dtype=bool)
    _, gap = lowest(threshold, group, len(budget), every)
    slope = floor / threshold
    rise = rise_of(slope, gap, group, budget, every)
    amount = slope * np.maximum(rise[group] - gap, 0.0)
    scaled: Floats = amount * ratio(budget, total_by(group, amount, len(budget)))[group]
    return scaled


def _extremes(
    scaled_market: ScaledMarket, marginal: Floats, can_give: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Users' jobs (n,) of most marginal utility, and of least that can give money; -1 for none."""
    users = scaled_market.market.users
    number = np.arange(len(marginal))
    order = np.lexsort((number, -marginal, scaled_market.user))
    first = np.full(users, -1)
    first[scaled_market.user[order[::-1]]] = order[::-1]
    giving = number[can_give]
    order = giving[np.lexsort((giving, marginal[giving], scaled_market.user[giving]))]
    last = np.full(users, -1)
    last[scaled_market.user[order[::-1]]] = order[::-1]
    return first, last


def _played(
    instance: Market,
    move: Callable[[_Game, Floats], tuple[Floats, bool]],
    rounds: int,
    rounding: Rounding,
    clock: Clock,
) -> Outcome:
    """Play the bidding game round by round; `move` returns new bids and whether they are final."""
    validate_rounding(instance, rounding, clock.left)
    market = ScaledMarket.of(instance)
    game = _Game(market, equal_bids(market), LEAST_BID)
    bids, stop, done = game.first, Stop.ITERATION_LIMIT, 0
    try:
        while done < rounds and stop is Stop.ITERATION_LIMIT:
            done += 1
            bids, last = move(game, bids)
            if last or clock.expired:
                stop = Stop.TIME_LIMIT if clock.expired else Stop.FINISHED
    except KeyboardInterrupt:
        stop = Stop.INTERRUPTED
    price = market.price_of(bids)
    allocation = market.allocation(bids / price[market.server], price)
    certificate = {"rounds": done, "nash_regret": game.regret(bids, game.best_bids(bids))}
    clock.note(None, None, "bids settled")
    answer, stop = round_cores(instance, allocation, rounding, clock.left, stop)
    return Outcome(answer, None, Status.FEASIBLE, stop, certificate, tuple(clock.trace))
