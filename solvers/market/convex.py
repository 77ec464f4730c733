"""The convex route: the Eisenberg-Gale program, and the equilibrium by solving it again with
corrected budgets.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Annotated, Any, TypeVar

import numpy as np

from ...instances.market.equilibrium import Residuals, money_spent, residuals
from ...instances.market.families import Family, Homogeneous, family_named, scale
from ...instances.market.instance import LARGEST_WORTH, Allocation, Floats, Market, ratio, total_by
from ...instances.market.utility import nash_welfare as welfare_of
from ...instances.market.utility import user_utilities
from ...instances.problem.errors import InvalidOption
from ...instances.problem.option_types import AtLeast, validate_options
from ...models.market.eisenberg_gale import EisenbergGale, eisenberg_gale
from ..engines import call_in_subprocess, solve_convex
from ..incumbent import conclude
from ..outcome import LEAST_SECONDS, Clock, Outcome, Report, Status, Stop
from ..routes import Routed
from .newton_polish import newton_polish
from .proportional import equal_bids
from .scaled_market import ScaledMarket, Tolerance
from .welfare_bounds import family_bound
from .welfare_central_path import most_welfare

Answer = TypeVar("Answer")

_GRACE = 0.75  # seconds a process of its own may pass its limit; its start is not counted


@dataclass(frozen=True)
class ConvexLimits(Routed):
    """What steers methods that solve programs by CVXPY.

    Attributes
    ----------
    child_jobs : jobs beyond which, when time is limited, programs go to a process of their own:
        CVXPY translates them without a look at a clock (tens of seconds for 30,000 jobs), and only
        a process can be ended.
    most_jobs : jobs beyond which programs are refused: CVXPY and Clarabel then take more than 2 GB,
        and a quarter of a minute each.
    """

    child_jobs: int = 5_000
    most_jobs: int = 30_000
    routes: frozenset[str] = frozenset({"polish"})


CONVEX_LIMITS = ConvexLimits()

_PRECISE: dict[str, Any] = {"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10}


@validate_options
def fisher_convex(
    instance: Market,
    *,
    rng: np.random.Generator | None = None,
    time_limit: float | None = None,
    report: Report | None = None,
    tolerance: Tolerance = 1e-4,
    solves: Annotated[int, AtLeast(1)] = 40,
    limits: ConvexLimits = CONVEX_LIMITS,
) -> Outcome:
    """Find the market equilibrium by convex programs: Eisenberg-Gale with budgets corrected until
    everybody spends its own.

    With weights beta the program's answer has user i spend beta_i (grad u_i . x_i) / u_i at the
    servers' multipliers, and is a best reply to that budget. Solving again with beta_i x B_i /
    spent_i leads to spent_i = B_i: an equilibrium. The thesis gives no convex program; the
    textbooks' Eisenberg-Gale alone is another allocation, see `nash_welfare`. The error falls by a
    factor of two to four a solve.

    Parameters
    ----------
    tolerance : largest clearing error, overspending and regret that may be called an equilibrium.
    solves : most programs solved.
    limits : what steers the method.

    Returns
    -------
    Outcome
        As of `fisher`, whose certificate it is; seconds a solve at a thousand jobs: a second,
        independent route.

    Raises
    ------
    InvalidOption
        An option out of range, or more than `limits.most_jobs` jobs.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("market/tiny"), "fisher-convex")
    >>> print(result.status, round(result.objective, 4))
    optimal 0.0
    """
    _require_few(instance, limits, "fisher-convex", "use fisher")
    clock = Clock(time_limit, report)
    if time_limit is None or instance.jobs <= limits.child_jobs:
        return _corrected(instance, clock, tolerance, solves)
    found, stop = _in_time(_corrected_apart, instance, clock, tolerance, solves)
    certificate = {"solves": 0, "engine": "its process was ended"}
    return found or _equilibrium(
        ScaledMarket.of(instance), None, tolerance, stop, certificate, clock
    )


def _require_few(market: Market, limits: ConvexLimits, what: str, cure: str) -> None:
    """Refuse a market whose program CVXPY could not translate in the time and memory there are,
    before any work.
    """
    if market.jobs > limits.most_jobs:
        raise InvalidOption(
            f"{what} solves programs of {market.jobs} jobs by CVXPY, {limits.most_jobs} at most; "
            f"{cure}"
        )


def _corrected_apart(instance: Market, seconds: float, tolerance: float, solves: int) -> Outcome:
    return _corrected(instance, Clock(seconds), tolerance, solves)


def _corrected(instance: Market, clock: Clock, tolerance: float, solves: int) -> Outcome:
    """Solve with budgets corrected again and again; see `fisher_convex`."""
    scaled_market = ScaledMarket.of(instance)
    best: tuple[Residuals, Allocation] | None = None
    stop, done, word = Stop.ITERATION_LIMIT, 0, "nothing to solve"
    try:
        if len(scaled_market.job):
            # Best replies do not know what jobs of f = 0 are worth: left out, no constant dwarfs
            # what the others gain.
            moving = np.where(instance.parallel_fraction > 0, instance.work, 0.0)
            # In units near 1, which an engine's tolerances are meant for.
            budget = np.maximum(instance.budget / scaled_market.unit, 1 / LARGEST_WORTH)
            program = eisenberg_gale(instance.replace(work=moving, budget=budget))
            correction = _Correction()
            for done in range(1, solves + 1):
                answer = solve_convex(program.problem, time_limit=clock.left, **_PRECISE)
                word = answer.message
                if answer.objective is None:
                    stop = answer.stop if answer.stop is not Stop.FINISHED else Stop.ITERATION_LIMIT
                    break
                allocation = _priced(scaled_market, program, "amdahl", scaled_market.unit)
                error = residuals(instance, allocation)
                assert error is not None
                before, now = (
                    np.inf if best is None else _rank(best[0], tolerance),
                    _rank(error, tolerance),
                )
                if now < before:
                    best = error, allocation
                    clock.note(error.worst, None, f"program {done}")
                # Regret does not see money left over by a user whose jobs of f = 0 are worth far
                # more than the others.
                if error.worst <= tolerance and (error.unspent <= tolerance or now > 0.5 * before):
                    stop = Stop.FINISHED
                    break
                if clock.expired or answer.stop is Stop.INTERRUPTED:
                    stop = Stop.TIME_LIMIT if clock.expired else Stop.INTERRUPTED
                    break
                program.weight.value = correction.next(program, scaled_market, allocation)
    except KeyboardInterrupt:
        stop = Stop.INTERRUPTED
    return _equilibrium(
        scaled_market, best, tolerance, stop, {"solves": done, "engine": word}, clock
    )


@validate_options
def nash_welfare(
    instance: Market,
    *,
    rng: np.random.Generator | None = None,
    time_limit: float | None = None,
    report: Report | None = None,
    utility: Family = "amdahl",
    rho: float = 0.5,
    whole: bool = False,
    limits: ConvexLimits = CONVEX_LIMITS,
) -> Outcome:
    """Maximize the Nash welfare: the Eisenberg-Gale program itself.

    For Amdahl utilities by our own Newton steps (`welfare_central_path`), O(jobs) each, and the
    bound is our own: log u is concave, so log welfare is at most its value here plus (max sum_i
    (B_i / u_i) u_i(x) - sum B) / sum B, and the maximum is a `utilitarian` problem whose dual is a
    closed form. The other families go to CVXPY, and on from there (`newton_polish`).

    Parameters
    ----------
    utility : "amdahl", or "linear", "ces", "cobb-douglas", "leontief" with `work` as weights, for
        which the answer is the market equilibrium at the multipliers: the certificate then says how
        near. The bound is then the Lagrangian dual.
    rho : exponent of "ces", from -20 to below 1 and at least 0.05 from 0.
    whole : whole cores, by a MIP with tangent cuts (small cases; "amdahl" only).
    limits : what steers the method.

    Returns
    -------
    Outcome
        `optimal` when welfare and bound agree (`solvers.outcome.agree`).

    Raises
    ------
    InvalidOption
        An option out of range, or more than `limits.most_jobs` jobs for another family than
        "amdahl".

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("market/tiny"), "nash-welfare")
    >>> print(result.status, round(result.objective, 3))
    optimal 4.448
    """
    family = family_named(utility, rho)
    # what is refused, and whole cores, which are another algorithm
    if family is not None:
        _require_few(
            instance,
            limits,
            f"utility={utility}",
            "use fewer users or jobs, or leave utility at amdahl",
        )
    if whole:
        if family is not None:
            raise InvalidOption("whole=True is for Amdahl utilities; leave utility at amdahl")
        from .integer_cores import whole_nash_welfare

        return whole_nash_welfare(instance, time_limit=time_limit, report=report)
    # without jobs that can move there is one allocation
    clock = Clock(time_limit, report)
    scaled_market = _moving(instance, utility)
    if len(scaled_market.job) == 0:
        empty = scaled_market.allocation(np.zeros(0), scaled_market.price_of(np.zeros(0)))
        value = welfare_of(instance, user_utilities(instance, empty.cores))
        return Outcome(Allocation(empty.cores), value, Status.OPTIMAL)
    certificate: dict[str, Any]
    # Amdahl: Newton steps along the path, with a bound of our own
    if family is None:
        allocation, value, bound, stop, steps = most_welfare(instance, clock)
        certificate = {"steps": steps, **_spending(scaled_market, allocation)}
        allocation = Allocation(allocation.cores)
    else:
        # others: CVXPY, in a process that can be ended where it may take long
        if time_limit is None or instance.jobs <= limits.child_jobs:
            solved, stop, word = _program(instance, clock.left, utility, rho)
        else:
            run, stop = _in_time(_program, instance, clock, utility, rho)
            solved, stop, word = run or (None, stop, "its process was ended")
        allocation = _equal_bids(scaled_market) if solved is None else solved
        value, bound = _between(instance, family, allocation)
        # sharpen what it found beyond its tolerance; kept where the gap shrinks
        if "polish" in limits.routes and stop is Stop.FINISHED and not clock.expired:
            try:
                finer = newton_polish(
                    scaled_market, utility, rho, allocation, lambda: clock.expired
                )
            except KeyboardInterrupt:
                finer, stop = None, Stop.INTERRUPTED
            if (
                finer is not None
                and (near := _between(instance, family, finer))[1] - near[0] < bound - value
            ):
                allocation, (value, bound) = finer, near
        error = family.residuals(instance, allocation)
        assert error is not None
        certificate = {"engine": word, **asdict(error)}
    try:
        clock.note(value, bound, "program")
    except KeyboardInterrupt:
        stop = Stop.INTERRUPTED
    largest = scale(instance, "nash_welfare", utility=utility, rho=rho)
    least = bound if np.isfinite(bound) else None
    return conclude(allocation, value, least, stop, certificate, clock, sense="max", scale=largest)


def _between(market: Market, family: Homogeneous, allocation: Allocation) -> tuple[float, float]:
    """Welfare of an allocation with prices, and the bound that its prices prove."""
    value = welfare_of(market, family.utilities(market, allocation.cores))
    return value, family_bound(market, family, allocation)


def _program(
    market: Market, seconds: float | None, utility: Family, rho: float
) -> tuple[Allocation | None, Stop, str]:
    """The Eisenberg-Gale program's cores and prices, None when the engine gave none; why it
    stopped, and its word.
    """
    # In units near 1, which an engine's tolerances are meant for: only ratios within a user, and of
    # budgets, matter.
    largest = np.zeros(market.users)
    np.maximum.at(largest, market.user, market.work)
    unit = float(market.budget.mean())
    least = 1 / LARGEST_WORTH
    work = np.where(market.useful, np.maximum(ratio(market.work, largest[market.user]), least), 0.0)
    scaled = market.replace(budget=np.maximum(market.budget / unit, least), work=work)
    program = eisenberg_gale(scaled, utility, rho)
    answer = solve_convex(program.problem, time_limit=seconds, **_PRECISE)
    if answer.objective is None:
        return None, answer.stop, answer.message
    found = _priced(_moving(scaled, utility), program, utility)
    assert found.price is not None
    return Allocation(found.cores, found.price * unit), answer.stop, answer.message


def _moving(market: Market, utility: Family) -> ScaledMarket:
    """The jobs that take part; for families of degree one the parallel fractions mean nothing."""
    return ScaledMarket.of(
        market if utility == "amdahl" else market.replace(parallel_fraction=np.ones(market.jobs))
    )


def _in_time(
    function: Callable[..., Answer], market: Market, clock: Clock, *arguments: Any
) -> tuple[Answer | None, Stop]:
    """`function(market, seconds, *arguments)` in a process of its own; None when its time, or
    Ctrl-C, ended it, and which.
    """
    seconds = clock.time_slice() or LEAST_SECONDS
    try:
        found = call_in_subprocess(
            function, market, seconds, *arguments, hard_limit=seconds + _GRACE
        )
    except KeyboardInterrupt:
        return None, Stop.INTERRUPTED
    return found, Stop.TIME_LIMIT


def _priced(
    scaled_market: ScaledMarket, program: EisenbergGale, utility: Family, money: float = 1.0
) -> Allocation:
    """The program's cores and multipliers, in so much money, as an allocation of the market.

    Under Amdahl utilities every core is given: a job of f > 0 has use for all there are, and a
    server whose tenants all have f = 0 is theirs at next to no price. Elsewhere a server that is
    not scarce keeps what the program left: cores nobody asked for are not forced on anyone.
    """
    market = scaled_market.market
    share = np.maximum(np.asarray(program.share.value, dtype=float), 0.0)
    cores = np.zeros(market.jobs)
    cores[program.job] = share * market.capacity[market.server[program.job]]
    cores /= np.maximum(total_by(market.server, cores, market.servers) / market.capacity, 1.0)[
        market.server
    ]
    worth = np.maximum(np.asarray(program.capacity_row.dual_value, dtype=float), 0.0) * money
    price = worth / market.capacity / scaled_market.unit
    price = np.where(
        scaled_market.priced_servers, np.maximum(price, scaled_market.fixed / market.capacity), 0.0
    )
    if utility == "amdahl" or _scarce(scaled_market, price):
        return scaled_market.allocation(cores[scaled_market.job], price)
    return Allocation(cores, price * scaled_market.unit)


def _scarce(scaled_market: ScaledMarket, price: Floats) -> bool:
    priced_servers = scaled_market.priced_servers
    return bool((price[priced_servers] > 1e-7 * price.max(initial=0.0)).all())


def _rank(error: Residuals, tolerance: float) -> float:
    """First the certificate, as far as the tolerance asks; then money left over (at most 1, so
    below any such error).
    """
    return error.unspent if error.worst <= tolerance else 1.0 + error.worst


class _Correction:
    """The next weights: each times its user's budget over what it spent, extrapolated from the last
    few solves.

    On logarithms the plain correction is a fixed-point iteration; Anderson's combination of its
    last steps is what makes it quick when users spend little (small f). Weights are kept within a
    factor e of the plain correction.
    """

    def __init__(self, memory: int = 5) -> None:
        self._memory = memory
        self._points: list[Floats] = []
        self._steps: list[Floats] = []

    def next(
        self, program: EisenbergGale, scaled_market: ScaledMarket, allocation: Allocation
    ) -> Floats:
        assert allocation.price is not None
        spent = money_spent(scaled_market.market, allocation.cores, allocation.price)[program.user]
        wanted = scaled_market.market.budget[program.user]
        least = np.finfo(float).tiny  # at the ends of the ranges a weight may be 0 in floats
        step = np.log(np.maximum(ratio(wanted, spent, 1.0), least))
        point = np.log(np.maximum(np.asarray(program.weight.value, dtype=float), least))
        self._points = [*self._points, point][-self._memory :]
        self._steps = [*self._steps, step][-self._memory :]
        target = point + step
        if len(self._points) > 1:
            steps, points = np.diff(self._steps, axis=0).T, np.diff(self._points, axis=0).T
            mix = np.linalg.lstsq(steps, step, rcond=1e-10)[0]
            target = target + np.clip(-(points + steps) @ mix, -1.0, 1.0)
        result: Floats = np.exp(target)
        return result


def _spending(scaled_market: ScaledMarket, allocation: Allocation) -> dict[str, float]:
    """How much of its budget each user would spend at the multipliers: all of it only if utilities
    were homogeneous.
    """
    assert allocation.price is not None
    active = np.unique(scaled_market.user)
    part = (
        money_spent(scaled_market.market, allocation.cores, allocation.price)
        / scaled_market.market.budget
    )[active]
    return {"least_spent": float(part.min()), "most_spent": float(part.max())}


def _equal_bids(scaled_market: ScaledMarket) -> Allocation:
    """Every user's money spread over its jobs: the answer when there is no other."""
    bids = equal_bids(scaled_market)
    price = scaled_market.price_of(bids)
    return scaled_market.allocation(bids / price[scaled_market.server], price)


def _equilibrium(
    scaled_market: ScaledMarket,
    best: tuple[Residuals, Allocation] | None,
    tolerance: float,
    stop: Stop,
    certificate: dict[str, Any],
    clock: Clock,
) -> Outcome:
    """The best answer with its certificate, equal bids when there is none."""
    if best is None:
        allocation = _equal_bids(scaled_market)
        error = residuals(scaled_market.market, allocation)
        assert error is not None
        best = error, allocation
    error, allocation = best
    certificate = {**asdict(error), "tolerance": tolerance, **certificate}
    trace = tuple(clock.trace)
    if error.worst > tolerance:
        return Outcome(allocation, None, Status.FEASIBLE, stop, certificate, trace)
    stop = stop if stop is Stop.INTERRUPTED else Stop.FINISHED
    return Outcome(allocation, 0.0, Status.OPTIMAL, stop, certificate, trace, tolerance=tolerance)
