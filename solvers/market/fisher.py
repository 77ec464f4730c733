"""Equilibrium of a Fisher market with Amdahl utilities, by a list of routes judged by the residuals
of their allocations.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Annotated, Any, Literal

import numpy as np

from ...instances.market.equilibrium import Residuals
from ...instances.market.instance import Allocation, Floats, Market
from ...instances.problem.errors import InvalidOption
from ...instances.problem.option_types import AtLeast, validate_options
from ..outcome import Clock, Outcome, Report, Status, Stop
from ..routes import Routed
from .exchange import Exchange
from .interior_point import follow_central_path
from .linear_forest_optimum import forest_end
from .newton import newton
from .rounding import Rounding, round_until, validate_rounding
from .scaled_market import ScaledMarket, Tolerance
from .user_groups import Source, UserGroup

Route = Literal["auto", "newton", "interior", "proportional"]
Bids = Literal["equal", "random"]

# the methods aim below the tolerance by this factor, since the certificate measures other things
# than they do
_GOAL = 0.1
_WARM_STEPS = 8  # of Newton's method from given prices before the ladder is begun at its foot
# a share of each price: first rounds of so many jobs end when none moves by more, Newton goes on
_NEAR, _EARLY_FROM = 0.01, 10_000
_BATCH = 50  # rounds of proportional response between two looks at the certificate


@dataclass(frozen=True)
class FisherLimits(Routed):
    """Which routes of `fisher` follow the first rounds of proportional response."""

    routes: frozenset[str] = frozenset({"forest", "interior", "newton", "polish"})


LIMITS = FisherLimits()


@validate_options
def fisher(
    instance: Market,
    *,
    rng: np.random.Generator | None = None,
    time_limit: float | None = None,
    start: Allocation | None = None,
    report: Report | None = None,
    tolerance: Tolerance = 1e-8,
    route: Route = "auto",
    bids: Bids = "equal",
    warm_rounds: Annotated[int, AtLeast(1)] = 30,
    rounds: Annotated[int, AtLeast(1)] = 5000,
    rounding: Rounding = "none",
    limits: FisherLimits = LIMITS,
) -> Outcome:
    """Find the market equilibrium: prices at which everybody's best use of its budget uses exactly
    all cores.

    The routes of `ROUTES` run in order until the residuals (`instances.market.residuals`) are
    within `tolerance`; the best allocation is kept, and the status is `optimal` only where its
    clearing error, overspending and regret are all within `tolerance`. Proportional response uses
    the rule that the conditions for a best reply give; the thesis prints another
    (`proportional.respond`).

    Parameters
    ----------
    rng : draws the first bids when `bids` is "random".
    time_limit : seconds; the best allocation so far is returned when they are up, with the
        certificate it has.
    start : an allocation with prices to begin from (a market that changed a little).
    tolerance : largest clearing error, overspending and regret that may be called an equilibrium,
        all relative.
    route : the method that follows the first rounds; "auto" tries one after the other until one
        is near enough.
    bids : first bids, "equal" money on each job or "random".
    warm_rounds : most rounds of proportional response before Newton, which begins earlier in a
        large market whose prices hardly move.
    rounds : most rounds of proportional response as last resort.
    rounding : how fractions become whole cores; the answer is then no equilibrium any more, and
        its status says so.
    limits : which rungs there are.

    Returns
    -------
    Outcome
        Its bound is 0, what `equilibrium_error` is at an equilibrium, when the certificate is met;
        else None.

    Notes
    -----
    Jobs with f = 0 get a sliver of a core, jobs of work 0 nothing, a server without useful tenants
    the price 0. O(jobs) per round and per iteration of the linear solver. Prices are unique when
    all f < 1 (see `instances.market.equilibrium`). Source: thesis section 3.3.2.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("market/tiny"), "fisher")
    >>> print(result.status, round(result.objective, 4))
    optimal 0.0
    """
    if start is not None and start.price is None:
        raise InvalidOption(
            "start has no prices; give an allocation of fisher, PRD or another market method"
        )
    validate_rounding(instance, rounding, time_limit)
    clock = Clock(time_limit, report)
    exchange = Exchange(instance)
    users = exchange.users
    ladder = Ladder(exchange, tolerance, clock, limits, route, warm_rounds, rounds)
    try:
        if start is not None and start.price is not None:
            users.give(start.cores)
            ladder.begin = start.price / exchange.unit
            exchange.bid(UserGroup.near, ladder.begin, "given")
        elif bids == "random":
            exchange.bid(UserGroup.random, rng or np.random.default_rng(0))
        else:
            exchange.bid(UserGroup.equal)
        for run in LADDER:
            if not ladder.settled:
                run(ladder)
        stop = Stop.TIME_LIMIT if clock.expired else Stop.ITERATION_LIMIT
        stop = Stop.FINISHED if ladder.met else stop
    except KeyboardInterrupt:
        stop = Stop.INTERRUPTED
    error = ladder.settle()
    trace = tuple(clock.trace)
    answer = Allocation(cores=users.best(), price=ladder.price * exchange.unit)
    certificate = ladder.certificate()
    if rounding != "none":
        whole, stop = round_until(instance, answer, rounding, clock.left, stop)
        certificate["rounded"] = (
            "the certificate is that of the fractional equilibrium before rounding"
        )
        return Outcome(whole, None, Status.FEASIBLE, stop, certificate, trace)
    if error.worst > tolerance:
        return Outcome(answer, None, Status.FEASIBLE, stop, certificate, trace)
    return Outcome(answer, 0.0, Status.OPTIMAL, stop, certificate, trace, tolerance=tolerance)


@dataclass
class Ladder:
    """State of the routes of `fisher`: the incumbent, whose cores the users keep, and the residuals
    that each route reached.

    Parameters
    ----------
    exchange : the users, who have made first bids, and the prices.
    tolerance : largest residual of an equilibrium.
    clock : time limit.
    limits : which routes may run.
    route, warm_rounds, rounds : options of `fisher`.
    begin : (m,) prices of a similar market from which Newton's method is tried first.
    """

    exchange: Exchange
    tolerance: float
    clock: Clock
    limits: FisherLimits
    route: Route
    warm_rounds: int
    rounds: int
    begin: Floats | None = None
    error: Residuals | None = None
    rungs: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.price = np.zeros(len(self.exchange.capacity))
        self.goal = _GOAL * self.tolerance
        newton_asked = self.route in ("auto", "newton") and "newton" in self.limits.routes
        self.by_newton = self.exchange.smooth and newton_asked

    @property
    def met(self) -> bool:
        """Whether the certificate is met."""
        return self.error is not None and self.error.worst <= self.tolerance

    @property
    def settled(self) -> bool:
        """Whether nothing is left to improve: the certificate is met, and best replies too ask for
        what there is.
        """
        return self.met and self.error is not None and self.error.excess_demand <= self.tolerance

    def judge(self, rung: str, steps: int, source: Source, price: Floats) -> bool:
        """Measure the cores of a source at prices and keep them when they are better; returns
        whether they were.
        """
        error = self.exchange.judge(source, price)
        self.rungs.append(
            {
                "rung": rung,
                "steps": steps,
                "error": error.worst,
                "excess_demand": error.excess_demand,
            }
        )
        better = self.error is None or _rank(error, self.tolerance) < _rank(
            self.error, self.tolerance
        )
        if better:
            self.exchange.users.ask(UserGroup.keep)
            self.price, self.error = price, error
            self.clock.note(error.worst, None, rung)
        return better

    def settle(self) -> Residuals:
        """The error of the best candidate: of equal bids when there is none yet."""
        if self.error is None:
            self.exchange.bid(UserGroup.equal)
            self.judge("equal bids", 0, "bids", self.exchange.price)
        assert self.error is not None
        return self.error

    def certificate(self) -> dict[str, Any]:
        """What `Outcome.certificate` holds."""
        return {
            **asdict(self.settle()),
            "tolerance": self.tolerance,
            "prices": "not known to be unique (f = 1)"
            if self.exchange.linear
            else "unique up to the tolerance",
            "rungs": self.rungs,
        }

    def proportional(self, rounds: int, near: float = 0.0) -> None:
        """Make rounds of proportional response until no price changes by more than a share `near`,
        then measure the residuals.
        """
        done = 0
        for _ in range(rounds):
            before = self.exchange.price
            self.exchange.round()
            done += 1
            moved = np.abs(self.exchange.price - before) > near * before
            if self.clock.expired or not moved.any():
                break
        self.judge("proportional", done, "bids", self.exchange.price)

    def newton(self, rung: str, price: Floats, most: int = 40) -> None:
        """Take Newton steps from prices, and measure the best replies at the best of them."""
        run = newton(self.exchange, price, self.goal, most=most, over=lambda: self.clock.expired)
        self.exchange.reply_again(run.best.price)
        self.judge(rung, run.steps, "reply", run.best.price)


def _from_start(ladder: Ladder) -> None:
    """Where prices are given (`start`), try a few Newton steps from these."""
    begin, exchange = ladder.begin, ladder.exchange
    if begin is not None and ladder.by_newton:
        known = exchange.priced_servers & (begin > 0)
        ladder.newton("newton", np.where(known, begin, exchange.price), most=_WARM_STEPS)


def _first_rounds(ladder: Ladder) -> None:
    """Make up to 30 rounds of proportional response."""
    early = ladder.by_newton and ladder.exchange.moving >= _EARLY_FROM
    ladder.proportional(ladder.warm_rounds, _NEAR if early else 0.0)


def _forest(ladder: Ladder) -> None:
    """Where all f = 1, pivot on a spanning forest of bids to the exact equilibrium."""
    exchange = ladder.exchange
    if ladder.route != "auto" or not exchange.straight or "forest" not in ladder.limits.routes:
        return
    market = exchange.users.market
    scaled_market = ScaledMarket.of(market, exchange.unit)
    bids = exchange.users.bids()[scaled_market.job]
    price = exchange.price
    end = forest_end(
        scaled_market, price, bids / price[scaled_market.server], lambda: ladder.clock.expired
    )
    if end is not None:
        cores = np.zeros(market.jobs)
        cores[market.useful & (market.parallel_fraction > 0)] = end[0]
        exchange.users.give(cores)
        ladder.judge("forest", end[2], "given", end[1])


def _newton(ladder: Ladder) -> None:
    """Solve for the logarithms of prices by Newton's method, with matrix-free or sparse linear
    systems.
    """
    if ladder.by_newton:
        ladder.newton("newton", ladder.exchange.price)


def _interior(ladder: Ladder) -> None:
    """Follow the central path of a regularized problem, which also takes f = 1, and polish by
    Newton's method.
    """
    exchange, routes, clock = ladder.exchange, ladder.limits.routes, ladder.clock
    asked = ladder.route == "auto" and not clock.expired and "interior" in routes
    if ladder.route != "interior" and not asked:
        return
    price, steps = follow_central_path(
        exchange, exchange.price, tolerance=0.1 * ladder.goal, over=lambda: clock.expired
    )
    reached = np.where(exchange.priced_servers, price, 0.0)
    if ladder.judge("interior", steps, "inside", reached):
        exchange.bid(UserGroup.near, price, "inside")  # later rounds begin from here
    if exchange.smooth and not ladder.settled and "polish" in routes:
        ladder.newton("polish", reached, most=10)


def _further_rounds(ladder: Ladder) -> None:
    """Make more rounds of proportional response, up to 5,000."""
    if ladder.route in ("auto", "proportional"):
        for _ in range(-(-ladder.rounds // _BATCH)):
            if ladder.met or ladder.clock.expired:
                return
            ladder.proportional(_BATCH)


LADDER = _from_start, _first_rounds, _forest, _newton, _interior, _further_rounds
ROUTES = {"the equilibrium of Amdahl utilities": LADDER}
"""The routes of `fisher`, in the order in which they run until the residuals are within the
tolerance.
"""


def _rank(error: Residuals, tolerance: float) -> tuple[float, float]:
    """First the certificate, as far as the tolerance asks; then what best replies ask for beyond
    what there is.
    """
    return max(error.worst, tolerance), error.excess_demand
