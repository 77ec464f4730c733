"""The Fisher market equilibrium for Amdahl utilities: a ladder of methods, and one certificate that
decides.
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
    """Which rungs of `fisher` follow the first rounds of proportional response."""

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

    A ladder: with a `start`, Newton steps from its prices; `warm_rounds` of proportional response
    (with the rule that the conditions for a best reply give; the thesis prints another, see
    `proportional.respond`); where all f = 1, the exact end by pivots (`linear_forest_optimum`);
    Newton on log prices; if the certificate is not met, the regularized Newton method (`interior`)
    and a polish; then proportional response for `rounds` more. Each rung's answer is judged by
    `instances.market.residuals`, the best is kept, and the status is `optimal` only when clearing,
    overspending and regret are all within `tolerance` for the
    allocation returned.

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
    users, ladder = exchange.users, Ladder(exchange, tolerance, clock, limits)
    begin = None
    try:
        if start is not None and start.price is not None:
            users.give(start.cores)
            begin = start.price / exchange.unit
            exchange.bid(UserGroup.near, begin, "given")
        elif bids == "random":
            exchange.bid(UserGroup.random, rng or np.random.default_rng(0))
        else:
            exchange.bid(UserGroup.equal)
        stop = ladder.climb(route, warm_rounds, rounds, begin)
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
    """The rungs, how each did, and the best candidate so far, whose cores the users keep.

    Parameters
    ----------
    exchange : whose users have bid.
    tolerance : of the certificate.
    clock : how long it may take.
    limits : which rungs there are.
    """

    exchange: Exchange
    tolerance: float
    clock: Clock
    limits: FisherLimits = LIMITS
    error: Residuals | None = None
    rungs: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.price = np.zeros(len(self.exchange.capacity))

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

    def climb(
        self, route: Route, warm_rounds: int, rounds: int, begin: Floats | None = None
    ) -> Stop:
        """From the bids that stand, rung by rung; why it stopped.

        Parameters
        ----------
        begin : (m,) prices of a market like this one, from which Newton's method is tried first.
        """
        self._climb(route, warm_rounds, rounds, begin)
        if self.met:
            return Stop.FINISHED
        return Stop.TIME_LIMIT if self.clock.expired else Stop.ITERATION_LIMIT

    def _climb(self, route: Route, warm_rounds: int, rounds: int, begin: Floats | None) -> None:
        exchange, clock, goal = self.exchange, self.clock, _GOAL * self.tolerance
        routes = self.limits.routes
        by_newton = exchange.smooth and route in ("auto", "newton") and "newton" in routes
        if begin is not None and by_newton:
            known = exchange.priced_servers & (begin > 0)
            self._newton("newton", np.where(known, begin, exchange.price), goal, most=_WARM_STEPS)
            if self.settled or clock.expired:
                return
        early = by_newton and exchange.moving >= _EARLY_FROM
        self._proportional(warm_rounds, _NEAR if early else 0.0)
        if self.settled:
            return
        price = exchange.price
        if route == "auto" and exchange.straight and "forest" in routes:
            scaled_market, bids = self._seen()
            end = forest_end(
                scaled_market, price, bids / price[scaled_market.server], lambda: clock.expired
            )
            if end is not None and self._shown("forest", end[2], end[0], end[1]) and self.settled:
                return
        if by_newton:
            self._newton("newton", price, goal)
        open_still = route == "auto" and not self.settled and not clock.expired
        if route == "interior" or (open_still and "interior" in routes):
            self._interior(price, goal)
        if route == "proportional" or (route == "auto" and not self.met):
            for _ in range(-(-rounds // _BATCH)):
                if self.met or clock.expired:
                    return
                self._proportional(_BATCH)

    def _proportional(self, rounds: int, near: float = 0.0) -> None:
        """Rounds of proportional response, until no price moves by more than a share `near` of it,
        then a look at the certificate.
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

    def _newton(self, rung: str, price: Floats, goal: float, most: int = 40) -> None:
        run = newton(self.exchange, price, goal, most=most, over=lambda: self.clock.expired)
        self.exchange.reply_again(run.best.price)
        self.judge(rung, run.steps, "reply", run.best.price)

    def _interior(self, price: Floats, goal: float) -> None:
        """The regularized Newton method, and a polish."""
        price, steps = follow_central_path(
            self.exchange, price, tolerance=0.1 * goal, over=lambda: self.clock.expired
        )
        reached = np.where(self.exchange.priced_servers, price, 0.0)
        if self.judge("interior", steps, "inside", reached):
            # what is left to do begins from here
            self.exchange.bid(UserGroup.near, price, "inside")
        if self.exchange.smooth and not self.settled and "polish" in self.limits.routes:
            self._newton("polish", reached, goal, most=10)

    def _seen(self) -> tuple[ScaledMarket, Floats]:
        """The scaled market, and the bids in it."""
        users = self.exchange.users
        scaled_market = ScaledMarket.of(users.market, self.exchange.unit)
        return scaled_market, users.bids()[scaled_market.job]

    def _shown(self, rung: str, steps: int, cores: Floats, price: Floats) -> bool:
        """As `judge`, for cores (j,) of the scaled market."""
        market = self.exchange.users.market
        every = np.zeros(market.jobs)
        every[market.useful & (market.parallel_fraction > 0)] = cores
        self.exchange.users.give(every)
        return self.judge(rung, steps, "given", price)


def _rank(error: Residuals, tolerance: float) -> tuple[float, float]:
    """First the certificate, as far as the tolerance asks; then what best replies ask for beyond
    what there is.
    """
    return max(error.worst, tolerance), error.excess_demand
