"""Routes of `min_servers` and `min_cost` for instances with placement rules."""

from __future__ import annotations

import math

import numpy as np

from ...models.packing.assignment import assignment_model
from ..engines import solve_cp_sat
from ..outcome import Status, raise_if_interrupted
from .aggregate import aggregate_bound, spread_room
from .constrained_search import Filling
from .fitting import large, trimmed
from .portfolio_state import PortfolioState


def aggregate(search: PortfolioState, effort: float = 0.0) -> None:
    """Bound by the aggregate program, at first for a short time if servers differ in cost, later
    with more effort.
    """
    upper = None if search.best is None else search.value
    seconds = search.slice(0.5, least=2.0)
    if _cost_differs(search):
        share, most = (0.3, 10.0 * effort) if effort else (0.1, 5.0)
        seconds = search.slice(share, least=0.2) or most
    found = aggregate_bound(search.problem, search.clock, upper=upper, seconds=seconds)
    search.raise_bound(found.bound, "aggregate program", {"leaves": found.leaves})
    search.servers = found.servers


def prove(search: PortfolioState) -> None:
    """Alternate between filling the servers of the aggregate program and CP-SAT, with increasing
    time.
    """
    problem, effort = search.problem, 1.0
    kind = _servers(search)
    if len(kind) * problem.types <= search.limits.first_counts:
        _by_cp_sat(search, 3.0)
    while search.open:
        _fillings(search, effort)
        missing = _cost_differs(search) and search.servers is None
        if search.open and missing and "aggregate" in search.limits.routes:
            aggregate(search, effort)
        if search.open:
            _by_cp_sat(search, effort)
        effort *= 2


def _fillings(search: PortfolioState, effort: float) -> None:
    """Fill servers at costs above the bound, by bisection between the last failure and the
    incumbent.
    """
    if large(search.problem) or "fillings" not in search.limits.routes:
        return
    failed, above = -1, math.ceil(search.limits.allowed_above * search.bound)
    grain = max(int(search.problem.price.min()) // 8, 1)  # what is less than a server is no step
    while search.open and failed + grain < search.value - search.bound:
        above = min(above, search.value - search.bound - 1)
        if not _filled(search, search.bound + above, effort):
            failed = above
        above = (failed + search.value - search.bound) // 2


def _filled(search: PortfolioState, cost: int, effort: float) -> bool:
    """Return whether all VMs are placed on servers of the given cost that the aggregate program
    chooses.
    """
    problem, clock = search.problem, search.clock
    spread = spread_room(problem, cost, clock)
    if spread is None and search.servers is not None:
        spread = spread_room(problem, cost, clock, search.servers)
    if spread is None:
        found = aggregate_bound(
            problem, clock, least=cost, upper=search.value,
            seconds=search.slice(0.05 if _cost_differs(search) else 0.2),
        )  # fmt: skip
        if found.servers is None or found.count is None:
            return False
        spread = found.servers, found.count
    servers, count = spread
    filling = Filling(problem, problem.pooled.kinds(servers), count, search.rng)
    filling.place_evenly(count)
    # a step of the search by halves is a server of the cheapest class at least
    steps = ((search.value - search.bound) // int(problem.price.min())).bit_length()
    seconds = max(4.0 * effort, search.slice(0.15) or 0.0) / max(steps, 1)
    if not filling.mend(clock, clock.seconds + seconds):
        return False
    search.offer(filling.counts(), "fillings of the aggregate program's servers")
    return True


def _by_cp_sat(search: PortfolioState, effort: float) -> None:
    """Solve by CP-SAT with all servers that a better answer could use."""
    problem, kind, limits = search.problem, _servers(search), search.limits
    many = len(kind) * problem.types > limits.constrained_counts * effort
    if many or "cp-sat" not in limits.routes:
        return
    built = assignment_model(problem, kind, rules=problem)
    cost = [int(problem.price[c]) for c in kind]
    used = [built.model.get_bool_var_from_proto_index(int(place)) for place in built.used]
    total = sum(c * flag for c, flag in zip(cost, used, strict=True))
    built.model.add(total >= search.bound)
    built.model.add(total <= search.value - 1)
    answer = solve_cp_sat(built.model, time_limit=search.clock.time_slice(most=3.0 * effort))
    raise_if_interrupted(answer.stop)
    if answer.status is Status.INFEASIBLE:
        search.raise_bound(search.value, "CP-SAT")
    if answer.values is not None:
        search.offer(trimmed(built.counts(answer.values), kind, problem.request), "CP-SAT")
    if answer.integer_bound is not None and answer.values is not None:
        search.raise_bound(min(answer.integer_bound, search.value), "CP-SAT")


def _servers(search: PortfolioState) -> np.ndarray:
    """Class of each server that a better answer could use, shape (n,)."""
    problem = search.problem
    most = (search.value - 1) // problem.price
    return np.repeat(np.arange(len(problem.price)), np.minimum(problem.limit, most))


def _cost_differs(search: PortfolioState) -> bool:
    return bool((search.problem.price != search.problem.price[0]).any())
