"""Fewest or cheapest servers, by a list of routes that always ends with an answer and a bound."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ...instances.packing.instance import Packing, Placement, check
from ...instances.problem.option_types import validate_options
from ..incumbent import Incumbent
from ..outcome import Clock, Outcome, Report, Status, Stop, raise_if_interrupted
from . import constrained_search, services
from .annealing import anneal_steps
from .bounds import best_bound
from .diving import dive
from .fitting import decreasing, fill, fit, large, trimmed
from .gap_closing import by_enumeration
from .generation import generate
from .portfolio_state import LIMITS, PortfolioLimits, PortfolioState
from .presolve import UNLIMITED, Counts, presolve, rules_as_resources

MANY, FEW_TYPES, DEEP = 100, 256, 100
"""Where VMs fill so many servers a type in the mean, of so many types at most, and are no more on a
server, columns come first, and no policy goes VM by VM before.
"""

FEW = 10
"""VMs are left by whole parts if they are one in so many, or fewer."""

UNFIXED = 0, 1, 3, 7
"""Servers of each pattern that are left to the rest, in turn."""


@validate_options
def min_servers(
    instance: Packing,
    *,
    rng: np.random.Generator | None = None,
    time_limit: float | None = None,
    start: Placement | None = None,
    report: Report | None = None,
    limits: PortfolioLimits = LIMITS,
) -> Outcome:
    """Find the fewest servers that hold all requests, with a proof.

    A portfolio, each part of which runs only while bound and value differ: greedy packings (FF,
    FFD, BFD, dot, L2); bounds by volume, large items and exclusion; annealing on
    fewer servers, some of them overloaded until none is; column generation over patterns; diving
    into its solution; all patterns that an answer at the bound could use, listed by their reduced
    cost, and the program over them (which proves the bound, or raises it). Where VMs of few types
    fill very many servers, columns come first, then the whole parts of their weights, and this
    portfolio for the VMs that are left: no part goes VM by VM. Rules that concern one server at a
    time become resources then (`rules_as_resources`).

    With rules on where VMs may run: greedy packings that keep them; the bound of the aggregate
    program (VMs by class of server, servers whole), closed by branch and bound whose multipliers
    are checked in whole numbers; fillings of its servers, in which guided ejections place what
    does not fit; CP-SAT where servers times types are few.

    Parameters
    ----------
    rng : draws annealing and dives; `default_rng(0)` when not given.
    time_limit : seconds; the best answer and bound so far are returned when they are up.
    start : an answer to begin from.
    report : progress; may raise KeyboardInterrupt, which like Ctrl-C keeps the best answer.
    limits : the numbers that steer the search.

    Returns
    -------
    Outcome
        `bound` in servers. `certificate`: what found the answer (`found_by`), what proved the bound
        (`bound_by`), and for column generation the prices that prove it: no pattern of a class is
        worth more than cost x scale + rent.

    Raises
    ------
    InvalidInstance
        A request is elastic or may be served in part.

    Notes
    -----
    Server classes of limited number are held to it; when all of them are too few the status is
    `infeasible`.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("packing/tiny"), "min-servers")
    >>> print(result.status, round(result.objective, 3))
    optimal 4.0
    """
    return _minimum(instance, rng, time_limit, start, report, limits, costs=False)


@validate_options
def min_cost(
    instance: Packing,
    *,
    rng: np.random.Generator | None = None,
    time_limit: float | None = None,
    start: Placement | None = None,
    report: Report | None = None,
    limits: PortfolioLimits = LIMITS,
) -> Outcome:
    """Find the cheapest servers that hold all requests, with a proof: `min_servers` with the costs
    of classes.

    Where costs differ `cotenant.solve` begins it with what `min_servers` and `fewest_moves` find,
    each in a quarter of the time that is left, 5 s at most: it ends no dearer.

    Parameters
    ----------
    limits : the numbers that steer the search.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("packing/tiny"), "min-cost")
    >>> print(result.status, round(result.objective, 3))
    optimal 5.0
    """
    return _minimum(instance, rng, time_limit, start, report, limits, costs=True)


def cheap_starts(instance: Packing) -> tuple[str, ...]:
    """Methods whose answers `min_cost` starts from; none where all servers cost the same."""
    return ("min-servers", "fewest-moves") if len(np.unique(instance.server_cost)) > 1 else ()


def _minimum(
    instance: Packing,
    rng: np.random.Generator | None,
    time_limit: float | None,
    start: Placement | None,
    report: Report | None,
    limits: PortfolioLimits,
    *,
    costs: bool,
) -> Outcome:
    clock = Clock(time_limit, report)
    if start is not None:
        check(instance, start)
    if instance.services:
        return services.serve(instance, clock, start, limits, costs=costs)
    if start is None and instance.has_constraints and many_vms(instance):
        plain = rules_as_resources(instance)
        assert plain is not None
        found = _minimum(plain.instance, rng, time_limit, None, report, limits, costs=costs)
        facts = {name: found.certificate.get(name, "") for name in ("found_by", "bound_by")}
        if isinstance(answer := found.solution, Placement):
            answer = answer.replace(server_class=plain.origin[answer.server_class])
        return replace(found, solution=answer, certificate=facts)
    problem = presolve(instance, costs=costs)
    search = PortfolioState(problem, clock, rng or np.random.default_rng(0), limits)
    routes = _MANY if many_vms(instance) else _PLAIN
    with search.keeping_best():
        _run(search, _RULED if instance.has_constraints else routes, start)
    if search.stop is Stop.INTERRUPTED and start is not None:
        search.offer(search.problem.counts(start), "the start")
    return _outcome(search)


def many_vms(instance: Packing) -> bool:
    """Return whether the number of VMs is so large that run time must not grow with it."""
    if instance.services or instance.unbounded.any():
        return False
    if instance.has_constraints:
        if (plain := rules_as_resources(instance)) is None:
            return False
        instance = plain.instance
    share = instance.demand / np.maximum(instance.capacity.max(axis=0), 1)
    servers = float((instance.requested @ share).max())
    few = instance.types <= FEW_TYPES and instance.requested.sum() <= DEEP * servers
    return few and servers >= MANY * instance.types


def _run(
    search: PortfolioState, routes: tuple[Callable[..., None], ...],
    start: Placement | None = None,
) -> None:  # fmt: skip
    """Run one method of the portfolio after another until the incumbent is proved best."""
    for route in routes:
        if route is _greedy:
            # first fit decreasing is always tried: a limit however short still gives servers
            if search.open or search.best is None:
                _greedy(search)
                if start is not None:
                    search.offer(search.problem.counts(start), "the start")
        elif search.open and _NAMES.get(route, "") in {"", *search.limits.routes}:
            route(search)


def _outcome(search: PortfolioState) -> Outcome:
    """Outcome of the search for the fewest or cheapest servers."""
    certificate = {"found_by": search.found_by, "bound_by": search.bound_by, **search.proof}
    if search.relaxation is not None:
        certificate |= {"patterns": len(search.pool), "relaxation": search.relaxation.value}
    impossible = search.best is None and search.bound > search.problem.budget
    if not (search.closed or impossible) and search.stop is Stop.FINISHED:
        search.stop = Stop.TIME_LIMIT
    if search.best is not None:
        found = search.finish(certificate)
        return replace(found, solution=search.problem.placement(*search.best))
    certificate["servers_there_are"] = int(search.problem.limit.sum())
    status = Status.INFEASIBLE if impossible else Status.UNKNOWN
    return Outcome(None, None, status, search.stop, certificate, tuple(search.clock.trace))


def _simple_bounds(search: PortfolioState) -> None:
    """Raise the bound by volume, by large VMs, and by VMs that exclude each other."""
    search.raise_bound(*best_bound(search.problem))


def _greedy(search: PortfolioState) -> None:
    """Greedy packings: first and best fit decreasing, dot product, square norm."""
    problem, limits = search.problem, search.limits
    if problem.ruled:
        search.offer(problem.now(), "what runs now")
        if large(problem):
            return
    order = decreasing(problem)
    parts: list[tuple[str, Callable[[], Counts | None]]] = [
        ("FFD", lambda: fit(problem, order)),
        ("BFD", lambda: fit(problem, order, rule="best")),
    ]
    if problem.ruled:
        able = np.minimum(problem.most, 1) * problem.limit
        choice = np.argsort(able.sum(axis=1), kind="stable")
        parts.append(("best fit, least choice first", lambda: fit(problem, choice, rule="best")))
    # these two go VM by VM and cannot be stopped on the way
    if problem.ruled or problem.vms * problem.types <= limits.greedy_steps:
        parts += [("dot", lambda: fill(problem, "dot")), ("L2", lambda: fill(problem, "L2"))]
    for name, pack in parts:
        if not search.open and name != "FFD":
            return
        search.offer(pack(), name)


def _anneal(search: PortfolioState) -> None:
    """Anneal for a quarter of the time if VM types are so many that columns take longer."""
    if search.problem.types <= search.limits.few_types:
        return
    until = search.clock.seconds + (search.slice(0.25) or np.inf)
    for effort in (1.0, 3.0, 9.0):
        if search.open and (effort == 1.0 or search.problem.vms > search.limits.annealed_longer):
            anneal_steps(search, effort, until - search.clock.seconds)


def _columns(search: PortfolioState) -> None:
    """Run column generation, which gives the bound and the patterns that all later routes use."""
    upper = None if search.best is None else search.value
    search.relaxation = generate(
        search.problem, search.pool, search.clock, upper=upper, seconds=search.slice(0.6)
    )
    prices, problem = search.relaxation.prices, search.problem
    of_type = [0] * problem.instance.types  # in the order of the instance, not of the reduction
    for profit, members in zip(prices.profit.tolist(), problem.members, strict=True):
        for member in members:
            of_type[member] = profit
    rent = [0] * problem.instance.classes
    for c, premium in zip(problem.classes.tolist(), prices.rent, strict=True):
        rent[c] = int(premium)
    proof = {"prices": of_type, "scale": prices.scale, "rent": rent}
    search.raise_bound(search.relaxation.bound, "column generation", proof)


def _whole_parts(search: PortfolioState) -> None:
    """Take each pattern on as many servers as the integer part of its weight in the relaxation, or
    a few less. The VMs that remain are placed by a search of their own.
    """
    assert search.relaxation is not None
    problem, weight = search.problem, search.relaxation.weight
    table, kind = (part[: len(weight)] for part in search.relaxation.pool.arrays())
    for unfixed in UNFIXED:
        # 1. fix servers, of limited classes no more than there are
        number = np.maximum(np.floor(weight + 1e-6).astype(np.int64) - unfixed, 0)
        used = np.bincount(kind, number, len(problem.price)).astype(np.int64)
        left = np.where(problem.servers >= UNLIMITED, UNLIMITED, problem.servers - used)
        todo = np.maximum(problem.request - number @ table, 0)
        if not search.open or left.min() < 0 or todo.sum() * FEW > problem.vms:
            continue
        # 2. the VMs that they leave, down to what the bound of all means for these
        types, spent = np.flatnonzero(todo), int(used @ problem.price)
        remaining = replace(problem.part(types, todo[types]), servers=left)
        rows, kinds = np.zeros((0, problem.types), dtype=np.int64), np.zeros(0, dtype=np.int64)
        stop = Stop.FINISHED
        if len(types):
            clock = Clock(search.clock.time_slice(8, most=1.0 + unfixed))
            inner = PortfolioState(remaining, clock, search.rng, search.limits)
            inner.raise_bound(search.bound - spent)
            with inner.keeping_best():
                _run(inner, _PLAIN)
            stop = inner.stop
            if inner.best is None:
                raise_if_interrupted(stop)
                continue
            rows, kinds = np.zeros((len(inner.best[1]), problem.types), np.int64), inner.best[1]
            rows[:, types] = inner.best[0]
        # 3. both together: the patterns join the pool before they are repeated
        search.pooled((rows, kinds))
        counts = np.vstack([np.repeat(table, number, axis=0), rows])
        kinds = np.concatenate([np.repeat(kind, number), kinds])
        if (counts.sum(axis=0) > problem.request).any():
            counts, kinds = trimmed(counts, kinds, problem.request)
        Incumbent.offer(search, (counts, kinds), "whole parts of columns")
        raise_if_interrupted(stop)


def _dives(search: PortfolioState) -> None:
    """Run a deterministic dive and then drawn ones, which aim in turn just below the incumbent, at
    the bound, and halfway, for two thirds of the time left or a limited number.
    """
    assert search.relaxation is not None
    share = search.slice(2 / 3)
    until = np.inf if share is None else search.clock.seconds + share
    few = search.problem.types <= search.limits.few_types  # all patterns may be quicker
    for attempt in range(4 if few else search.limits.dives * (1 if share is None else 100)):
        if not search.open or search.clock.seconds >= until:
            return
        rng = None if attempt == 0 else search.rng
        seconds = min(until - search.clock.seconds, 60.0)
        most = search.value - 1
        targets = (most, search.bound, (search.bound + most) // 2)[attempt % 3], most
        search.offer(
            dive(search.problem, search.relaxation, targets, search.clock, rng, seconds=seconds),
            "diving",
        )


def _prove(search: PortfolioState) -> None:
    """Repeat programs over patterns of low reduced cost, dives and annealing, ever longer."""
    effort = 1.0
    while search.open:
        for name, part in (
            ("enumeration", by_enumeration),
            ("dives", _more_dives),
            ("annealing", _more_annealing),
        ):
            if search.open and name in search.limits.routes:
                part(search, effort)
        effort *= 3


def _more_dives(search: PortfolioState, effort: float) -> None:
    assert search.relaxation is not None
    until = search.clock.seconds + max(3 * effort, search.slice(0.25) or 0.0)
    while search.open and search.clock.seconds < until:
        counts = dive(
            search.problem, search.relaxation, (search.bound, search.value - 1), search.clock,
            search.rng, seconds=until - search.clock.seconds,
        )  # fmt: skip
        search.offer(counts, "diving")


def _more_annealing(search: PortfolioState, effort: float) -> None:
    anneal_steps(search, 9 * effort, search.slice(0.25), tries=4)


_PLAIN = _simple_bounds, _greedy, _anneal, _columns, _dives, _prove
_MANY = _simple_bounds, _columns, _whole_parts, _greedy, _dives, _prove
_RULED = _simple_bounds, constrained_search.aggregate, _greedy, constrained_search.prove

ROUTES: dict[str, tuple[Callable[..., None], ...]] = {
    "requests without rules": _PLAIN,
    "very many VMs of few types": _MANY,
    "rules on where VMs may run": _RULED,
}
"""The routes of `min_servers` and `min_cost`, in the order in which they run."""

_NAMES: dict[Callable[..., None], str] = {
    _simple_bounds: "bounds", constrained_search.aggregate: "aggregate", _anneal: "annealing",
    _dives: "dives", _whole_parts: "whole parts",
}  # fmt: skip
"""Of those that can be left out."""
