"""Equilibrium of a Fisher market with Amdahl utilities, by a list of routes judged by the residuals
of their allocations.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Annotated, Any

import numpy as np

from ...instances.market.equilibrium import Residuals
from ...instances.market.instance import Allocation, Floats, Market
from ...instances.problem.errors import InvalidOption
from ...instances.problem.option_types import AtLeast, validate_options
from ..outcome import Clock, Outcome, Report, Status, Stop
from ..routes import Routed
from .central_path import equilibrium_path
from .exchange import Exchange, newton
from .linear_forest_optimum import forest_end
from .proportional import bids_at, equal_bids
from .rounding import Rounding, round_cores, validate_rounding
from .scaled_market import Tolerance

# the methods aim below the tolerance by this factor, since the certificate measures other things
# than they do
_GOAL = 0.1
_WARM_STEPS = 8  # of Newton's method from given prices before the other routes
_PATH_STEPS = 120  # of the regularized Newton method
# a share of each price: first rounds of so many jobs end when none moves by more, Newton goes on
_NEAR, _EARLY_FROM = 0.01, 10_000
_BATCH = 50  # rounds of proportional response between two looks at the certificate


@dataclass(frozen=True)
class FisherLimits(Routed):
    """Routes of `fisher` after the first rounds of proportional response."""

    routes: frozenset[str] = frozenset({"forest", "interior", "newton", "polish"})


LIMITS = FisherLimits()


@validate_options
def fisher(
    instance: Market,
    *,
    time_limit: float | None = None,
    start: Allocation | None = None,
    report: Report | None = None,
    tolerance: Tolerance = 1e-8,
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
    (`proportional.rebid`).

    Parameters
    ----------
    time_limit : seconds; the best allocation so far is returned when they are up, with the
        certificate it has.
    start : an allocation with prices to begin from (a market that changed a little).
    tolerance : largest clearing error, overspending and regret that may be called an equilibrium,
        all relative.
    warm_rounds : most rounds of proportional response before Newton, which begins earlier in a
        large market whose prices hardly move.
    rounds : most rounds of proportional response as last resort.
    rounding : how fractions become whole cores; the answer is then no equilibrium any more, and
        its status says so.
    limits : which routes there are.

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
    # 1. first bids
    exchange = Exchange(instance)
    scaled = exchange.scaled_market
    search = PriceSearch(
        exchange, Clock(time_limit, report), tolerance, warm_rounds, rounds, limits.routes
    )
    if start is not None and start.price is not None:
        search.begin = start.price / scaled.unit
        exchange.bid(bids_at(scaled, search.begin, start.cores[scaled.job]))
    else:
        exchange.bid(equal_bids(scaled))
    # 2. the routes, until nothing is left to improve
    try:
        for step in LADDER:
            if search.open:
                step(search)
        stop = search.stop
    except KeyboardInterrupt:
        stop = Stop.INTERRUPTED
    # 3. the best answer, in integers where that is wanted
    answer, error = search.settle()
    certificate, trace = search.certificate(), tuple(search.clock.trace)
    if rounding != "none":
        answer, stop = round_cores(instance, answer, rounding, search.clock.left, stop)
        certificate["rounded"] = (
            "the certificate is that of the fractional equilibrium before rounding"
        )
    if rounding != "none" or error.worst > tolerance:
        return Outcome(answer, None, Status.FEASIBLE, stop, certificate, trace)
    return Outcome(answer, 0.0, Status.OPTIMAL, stop, certificate, trace, tolerance=tolerance)


@dataclass
class PriceSearch:
    """Best candidate for an equilibrium so far, and the result of each route.

    Attributes
    ----------
    exchange : whose users have bid.
    tolerance : of the certificate.
    warm_rounds, rounds, routes : as of `fisher` and its limits.
    begin : (m,) prices of a market like this one; None for none.
    best, error : the best allocation and how far it is from an equilibrium.
    rungs : of each candidate the route, steps and errors, for the certificate.
    """

    exchange: Exchange
    clock: Clock
    tolerance: float
    warm_rounds: int
    rounds: int
    routes: frozenset[str]
    begin: Floats | None = None
    best: Allocation | None = None
    error: Residuals | None = None
    rungs: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        # the methods aim lower than the certificate asks, since it measures other things than they
        self.goal = _GOAL * self.tolerance

    @property
    def met(self) -> bool:
        """Whether the best allocation's errors as an equilibrium are within the tolerance."""
        return self.error is not None and self.error.worst <= self.tolerance

    @property
    def settled(self) -> bool:
        """Whether nothing is left to improve: the certificate is within the tolerance, and best
        replies demand exactly the supply.
        """
        return self.met and self.error is not None and self.error.excess_demand <= self.tolerance

    @property
    def open(self) -> bool:
        """Whether to run another route: no allocation yet, or one to improve and time left."""
        return self.error is None or not (self.settled or self.clock.expired)

    @property
    def stop(self) -> Stop:
        """Why the search for prices ended: tolerance met, time limit or iteration limit."""
        if self.met:
            return Stop.FINISHED
        return Stop.TIME_LIMIT if self.clock.expired else Stop.ITERATION_LIMIT

    def over(self) -> bool:
        """Whether time is up."""
        return self.clock.expired

    def judge(self, rung: str, steps: int, cores: Floats, price: Floats) -> bool:
        """Measure the errors of cores (j,) at prices (m,) as an equilibrium, and keep the
        allocation if it is the best so far; return whether it is.
        """
        found, error = self.exchange.judge(cores, price)
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
            self.best, self.error = found, error
            self.clock.note(error.worst, None, rung)
        return better

    def settle(self) -> tuple[Allocation, Residuals]:
        """Best allocation and its error as an equilibrium; at first, those of equal bids."""
        exchange = self.exchange
        if self.error is None:
            exchange.bid(equal_bids(exchange.scaled_market))
            self.judge("equal bids", 0, exchange.bought, exchange.price)
        assert self.best is not None
        assert self.error is not None
        return self.best, self.error

    def certificate(self) -> dict[str, Any]:
        """Certificate of `fisher`: the best allocation's errors, and what each route reached."""
        return {
            **asdict(self.settle()[1]),
            "tolerance": self.tolerance,
            "prices": "not known to be unique (f = 1)"
            if self.exchange.linear
            else "unique up to the tolerance",
            "rungs": self.rungs,
        }

    def respond(self, rounds: int, near: float = 0.0) -> None:
        """Run rounds of proportional response until no price changes by more than the fraction
        `near`, then check the certificate.
        """
        done = 0
        for _ in range(rounds):
            before = self.exchange.price
            self.exchange.round()
            done += 1
            moved = np.abs(self.exchange.price - before) > near * before
            if self.clock.expired or not moved.any():
                break
        self.judge("proportional", done, self.exchange.bought, self.exchange.price)

    def follow_newton(self, rung: str, price: Floats, maximum: int = 40) -> None:
        """Run Newton's method on log prices, then check the certificate."""
        at, steps = newton(
            self.exchange.scaled_market, price, self.goal, self.over, maximum=maximum
        )
        self.judge(rung, steps, at.cores, at.price)


def from_given_prices(search: PriceSearch) -> None:
    """If prices are given (`start`), take a few Newton steps from them."""
    exchange = search.exchange
    if search.begin is not None and exchange.smooth and "newton" in search.routes:
        known = exchange.priced_servers & (search.begin > 0)
        price = np.where(known, search.begin, exchange.price)
        search.follow_newton("newton", price, _WARM_STEPS)


def respond_first(search: PriceSearch) -> None:
    """Make up to 30 rounds of proportional response."""
    early = search.exchange.smooth and "newton" in search.routes
    early = early and len(search.exchange.scaled_market.job) >= _EARLY_FROM
    search.respond(search.warm_rounds, _NEAR if early else 0.0)


def end_by_forest(search: PriceSearch) -> None:
    """Pivot spanning forests of bids to the exact equilibrium, if all parallel fractions are 1."""
    exchange = search.exchange
    if exchange.straight and "forest" in search.routes:
        price = exchange.price
        end = forest_end(exchange.scaled_market, price, exchange.bought, search.over)
        if end is not None:
            search.judge("forest", end[2], end[0], end[1])


def solve_newton(search: PriceSearch) -> None:
    """Solve for the logarithms of prices by Newton's method, if all parallel fractions are below 1.
    Its linear systems are matrix-free or sparse.
    """
    if search.exchange.smooth and "newton" in search.routes:
        search.follow_newton("newton", search.exchange.price)


def solve_interior(search: PriceSearch) -> None:
    """Follow the central path of a regularized problem, also with parallel fractions of 1, and
    polish by Newton's method.
    """
    exchange, goal = search.exchange, search.goal
    if "interior" not in search.routes:
        return
    start = np.where(exchange.priced_servers, exchange.price, 1.0)
    path = equilibrium_path(exchange.scaled_market, start, exchange.bids)
    steps = 0
    while steps < _PATH_STEPS:
        path.measure()
        if path.gap <= 0.1 * goal and path.barrier <= 0.01 * goal:
            break
        # so near the end the gaps that remain are the linear solver's
        if search.over() or path.barrier <= 1e-5 * goal or not path.step():
            break
        steps += 1
    reached = np.where(exchange.priced_servers, path.at.price, 0.0)
    if search.judge("interior", steps, path.at.cores, reached):
        # what is left to do begins from here
        exchange.bid(bids_at(exchange.scaled_market, path.at.price, path.at.cores))
    if exchange.smooth and not search.settled and "polish" in search.routes:
        search.follow_newton("polish", reached, 10)


def respond_last(search: PriceSearch) -> None:
    """Make more rounds of proportional response, up to 5,000."""
    for _ in range(-(-search.rounds // _BATCH)):
        if search.met or search.clock.expired:
            return
        search.respond(_BATCH)


LADDER = (
    from_given_prices, respond_first, end_by_forest, solve_newton, solve_interior, respond_last,
)  # fmt: skip
ROUTES = {"the equilibrium of Amdahl utilities": LADDER}
"""The routes of `fisher`, in the order in which they run until the residuals are within the
tolerance.
"""


def _rank(error: Residuals, tolerance: float) -> tuple[float, float]:
    """Sort key of an iterate: error, equal below the tolerance, then excess demand."""
    return max(error.worst, tolerance), error.excess_demand
