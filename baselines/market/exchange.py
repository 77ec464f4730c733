"""XChange: users who know that their bids move prices (thesis section 3.4.1; Wang and Martinez,
HPCA 2015).

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

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np

from ...instances.market.instance import Floats, Market, ratio, total_by
from ...instances.market.utility import lowest, rise_of, speedup
from ...instances.problem.option_types import Above, AtLeast, validate_options
from ...solvers.market.proportional import equal_bids
from ...solvers.market.rounding import Rounding, round_until, validate_rounding
from ...solvers.market.scaled_market import ScaledMarket
from ...solvers.outcome import Clock, Outcome, Report, Status, Stop

Halving = Literal["always", "on-failure"]

LEAST_BID = 1e-12
"""Share of the mean budget below which no bid falls: on a server of one's own any bid at all takes
everything.
"""


@validate_options
def exchange(
    instance: Market,
    *,
    rng: np.random.Generator | None = None,
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
    validate_rounding(instance, rounding, time_limit)
    clock = Clock(time_limit, report)
    game = _Game.of(ScaledMarket.of(instance))
    bids = game.first
    size = np.full(instance.users, step)
    stop, done = Stop.ITERATION_LIMIT, 0
    try:
        while done < rounds:
            done += 1
            bids, size = game.climbed(bids, size, halving == "always")
            if (size < 1e-3).all() or clock.expired:
                stop = Stop.TIME_LIMIT if clock.expired else Stop.FINISHED
                break
    except KeyboardInterrupt:
        stop = Stop.INTERRUPTED
    return _outcome(game, bids, done, stop, rounding, clock)


@validate_options
def exchange_modified(
    instance: Market,
    *,
    rng: np.random.Generator | None = None,
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
    validate_rounding(instance, rounding, time_limit)
    clock = Clock(time_limit, report)
    game = _Game.of(ScaledMarket.of(instance))
    bids = game.first
    stop, done = Stop.ITERATION_LIMIT, 0
    try:
        while done < rounds:
            done += 1
            best = game.best_bids(bids)
            if game.regret(bids, best) <= tolerance or clock.expired:
                stop = Stop.TIME_LIMIT if clock.expired else Stop.FINISHED
                break
            bids = (1 - step) * bids + step * best
    except KeyboardInterrupt:
        stop = Stop.INTERRUPTED
    return _outcome(game, bids, done, stop, rounding, clock)


@dataclass(frozen=True, eq=False)
class _Game:
    """The bidding game on the jobs that can use a second core; the others' slivers stand as fixed
    bids.
    """

    scaled_market: ScaledMarket
    first: Floats
    least: float

    @classmethod
    def of(cls, scaled_market: ScaledMarket) -> _Game:
        return cls(scaled_market, equal_bids(scaled_market), LEAST_BID)

    def others(self, bids: Floats) -> Floats:
        """(j,) money of all other bids on each job's server."""
        scaled_market = self.scaled_market
        total = (
            total_by(scaled_market.server, bids, scaled_market.market.servers) + scaled_market.fixed
        )
        return np.maximum(total[scaled_market.server] - bids, 1e-15 * total[scaled_market.server])

    def utilities(self, bids: Floats, others: Floats) -> Floats:
        """(n,) utilities of these bids against others' bids."""
        scaled_market = self.scaled_market
        cores = scaled_market.market.capacity[scaled_market.server] * bids / (bids + others)
        return total_by(
            scaled_market.user,
            scaled_market.work * speedup(cores, scaled_market.fraction),
            scaled_market.market.users,
        )

    def best_bids(self, bids: Floats) -> Floats:
        """(j,) each user's best bids against the others'.

        w C f y / (f y + g b)^2 = 1 / Y^2 gives b = (f y / g) (Y / theta - 1), theta = sqrt(f y / (w
        C)): money above the threshold grows linearly in Y, as in `instances.market.utility`.
        """
        scaled_market = self.scaled_market
        others = self.others(bids)
        cores = scaled_market.market.capacity[scaled_market.server]
        curve = scaled_market.fraction + (1 - scaled_market.fraction) * cores
        floor = scaled_market.fraction * others / curve
        threshold = np.sqrt(scaled_market.fraction * others / (scaled_market.work * cores))
        return np.maximum(
            spend(floor, threshold, scaled_market.user, scaled_market.budget), self.least
        )

    def regret(self, bids: Floats, best: Floats) -> float:
        """The most that a user could gain by its best bids, relative to what it would then have."""
        others = self.others(bids)
        now, then = self.utilities(bids, others), self.utilities(best, others)
        return float(np.max(1 - ratio(now, then, 1.0), initial=0.0))

    def climbed(self, bids: Floats, size: Floats, always: bool) -> tuple[Floats, Floats]:
        """One round of hill climbing: new bids and step sizes."""
        scaled_market = self.scaled_market
        others = self.others(bids)
        cores = scaled_market.market.capacity[scaled_market.server]
        denominator = (
            scaled_market.fraction * others
            + (scaled_market.fraction + (1 - scaled_market.fraction) * cores) * bids
        )
        marginal = scaled_market.work * cores * scaled_market.fraction * others / denominator**2
        richest, poorest = _extremes(scaled_market, marginal, bids > 2 * self.least)
        sender = poorest[scaled_market.user] == np.arange(len(bids))
        taker = richest[scaled_market.user] == np.arange(len(bids))
        moved = (
            np.minimum(
                size[scaled_market.user] * scaled_market.budget[scaled_market.user],
                bids - self.least,
            )
            * sender
        )
        amount = total_by(scaled_market.user, moved, scaled_market.market.users)
        trial = bids - moved + amount[scaled_market.user] * taker
        gained = self.utilities(trial, others) > self.utilities(bids, others) * (1 + 1e-12)
        gained &= richest != poorest
        return np.where(gained[scaled_market.user], trial, bids), np.where(
            gained & (not always), size, size / 2
        )


def spend(floor: Floats, threshold: Floats, group: np.ndarray, budget: Floats) -> Floats:
    """(items,) amounts floor (Y / threshold - 1)+ with one Y per group such that they add up to its
    budget.
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
    """(n,) the job with the most and the one with the least marginal utility that has money to
    give; -1 for none.
    """
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


def _outcome(
    game: _Game, bids: Floats, rounds: int, stop: Stop, rounding: Rounding, clock: Clock
) -> Outcome:
    scaled_market = game.scaled_market
    price = scaled_market.price_of(bids)
    allocation = scaled_market.allocation(bids / price[scaled_market.server], price)
    certificate = {"rounds": rounds, "nash_regret": game.regret(bids, game.best_bids(bids))}
    clock.note(None, None, "bids settled")
    answer, stop = round_until(scaled_market.market, allocation, rounding, clock.left, stop)
    return Outcome(answer, None, Status.FEASIBLE, stop, certificate, tuple(clock.trace))
