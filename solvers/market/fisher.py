"""The Fisher market equilibrium for Amdahl utilities: a ladder of methods, and one certificate that
decides.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import numpy as np

from ...instances.market.equilibrium import Residuals, residuals
from ...instances.market.instance import Allocation, Floats, Market
from ...instances.problem.errors import InvalidOption
from ...instances.problem.rules import AtLeast, checked
from ..outcome import Clock, Outcome, Report, Status, Stop
from .arena import Arena, Tolerance
from .forest import forest_end
from .interior import follow, starting_point
from .newton import newton
from .proportional import bids_at, equal_bids, random_bids, respond
from .rounding import Rounding, round_until, validate_rounding

Route = Literal["auto", "newton", "interior", "proportional"]
Bids = Literal["equal", "random"]

# the methods aim below the tolerance by this factor, since the certificate measures other things
# than they do
_GOAL = 0.1
_BATCH = 50  # rounds of proportional response between two looks at the certificate


@checked
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
) -> Outcome:
    """Find the market equilibrium: prices at which everybody's best use of its budget uses exactly
    all cores.

    A ladder: `warm_rounds` of proportional response (with the rule that the conditions for a best
    reply give; the thesis prints another, see `proportional.respond`); where all f = 1, the exact
    end by pivots (`forest`); Newton on log prices; if the certificate is not met, the regularized
    Newton method (`interior`) and a polish; then proportional response for `rounds` more. Each
    rung's answer is judged by `instances.market.residuals`, the best is kept, and the status is
    `optimal` only when clearing, overspending and regret are all within `tolerance` for the
    allocation returned.

    Parameters
    ----------
    rng : draws the first bids when `bids` is "random".
    time_limit : seconds; the best allocation so far is returned when they are up, with the
        certificate it has.
    start : an allocation with prices to begin from (a market that changed a little).
    tolerance : largest clearing error, overspending and regret that may be called an equilibrium,
        all relative.
    route : "auto" for the ladder, or one rung after the warm-up.
    bids : first bids, "equal" money on each job or "random".
    warm_rounds : rounds of proportional response before Newton.
    rounds : most rounds of proportional response as last resort.
    rounding : whole cores; the answer is then no equilibrium any more and its status says so.

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
    arena = Arena.of(instance)
    ladder = _Ladder(arena, tolerance, clock)
    stop = Stop.FINISHED
    try:
        first = (
            random_bids(arena, rng or np.random.default_rng(0))
            if bids == "random"
            else equal_bids(arena)
        )
        if start is not None and start.price is not None:
            first = bids_at(arena, start.price / arena.unit, start.cores[arena.job])
        _climb(ladder, first, route, warm_rounds, rounds)
        if not ladder.met and clock.over:
            stop = Stop.TIME_LIMIT
        elif not ladder.met:
            stop = Stop.ITERATION_LIMIT
    except KeyboardInterrupt:
        stop = Stop.INTERRUPTED
    return ladder.outcome(stop, rounding, rng)


@dataclass
class _Ladder:
    """The best allocation so far, and how each rung did."""

    arena: Arena
    tolerance: float
    clock: Clock
    best: Allocation | None = None
    error: Residuals | None = None
    rungs: list[dict[str, Any]] = field(default_factory=list)

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

    def judge(self, rung: str, steps: int, cores: Floats, price: Floats) -> bool:
        """Measure an answer and keep it when it is better; returns whether it was."""
        allocation = self.arena.allocation(cores, price)
        error = residuals(self.arena.market, allocation)
        assert error is not None
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
            self.best, self.error = allocation, error
            self.clock.note(error.worst, None, rung)
        return better

    def outcome(self, stop: Stop, rounding: Rounding, rng: np.random.Generator | None) -> Outcome:
        """The answer with its certificate."""
        if self.best is None or self.error is None:  # interrupted before the first look
            bids = equal_bids(self.arena)
            price = self.arena.price_of(bids)
            self.judge("equal bids", 0, bids / price[self.arena.server], price)
        assert self.best is not None
        assert self.error is not None
        market = self.arena.market
        linear = bool((market.useful & (market.parallel_fraction == 1)).any())
        certificate: dict[str, Any] = {
            **self.error.document(),
            "tolerance": self.tolerance,
            "prices": "unique up to the tolerance"
            if not linear
            else "not known to be unique (f = 1)",
            "rungs": self.rungs,
        }
        trace = tuple(self.clock.trace)
        if rounding != "none":
            whole, stop = round_until(market, self.best, rounding, self.clock.left, stop)
            certificate["rounded"] = (
                "the certificate is that of the fractional equilibrium before rounding"
            )
            return Outcome(whole, None, Status.FEASIBLE, stop, certificate, trace)
        if not self.met:
            return Outcome(self.best, None, Status.FEASIBLE, stop, certificate, trace)
        return Outcome(
            self.best, 0.0, Status.OPTIMAL, stop, certificate, trace, tolerance=self.tolerance
        )


def _climb(ladder: _Ladder, bids: Floats, route: Route, warm_rounds: int, rounds: int) -> None:
    arena, clock, goal = ladder.arena, ladder.clock, _GOAL * ladder.tolerance
    price, bids = _proportional(ladder, bids, warm_rounds)
    if ladder.settled:
        return
    smooth = bool((arena.fraction < 1).all())
    if route == "auto" and (arena.fraction == 1).all():
        end = forest_end(arena, price, bids / price[arena.server], lambda: clock.over)
        if end is not None and ladder.judge("forest", end[2], end[0], end[1]) and ladder.settled:
            return
    if route in ("auto", "newton") and smooth:
        run = newton(arena, price, goal, over=lambda: clock.over)
        ladder.judge("newton", run.steps, run.best.cores, run.best.price)
    if route == "interior" or (route == "auto" and not ladder.settled and not clock.over):
        point, steps = follow(
            arena, starting_point(arena, price, bids), tolerance=0.1 * goal, over=lambda: clock.over
        )
        if ladder.judge("interior", steps, point.cores, np.where(arena.traded, point.price, 0.0)):
            bids = bids_at(arena, point.price, point.cores)  # what is left to do begins from here
        if smooth and not ladder.settled:
            run = newton(
                arena,
                np.where(arena.traded, point.price, 0.0),
                goal,
                most=10,
                over=lambda: clock.over,
            )
            ladder.judge("polish", run.steps, run.best.cores, run.best.price)
    if route == "proportional" or (route == "auto" and not ladder.met):
        for _ in range(-(-rounds // _BATCH)):
            if ladder.met or clock.over:
                return
            _, bids = _proportional(ladder, bids, _BATCH)


def _proportional(ladder: _Ladder, bids: Floats, rounds: int) -> tuple[Floats, Floats]:
    """Rounds of proportional response, then a look at the certificate."""
    arena = ladder.arena
    done = 0
    for _ in range(rounds):
        _, bids = respond(arena, bids)
        done += 1
        if ladder.clock.over:
            break
    price = arena.price_of(bids)
    ladder.judge("proportional", done, bids / price[arena.server], price)
    return price, bids


def _rank(error: Residuals, tolerance: float) -> tuple[float, float]:
    """First the certificate, as far as the tolerance asks; then what best replies ask for beyond
    what there is.
    """
    return max(error.worst, tolerance), error.excess_demand
