"""The parts of the portfolio for the fewest servers that keep rules on where VMs may run."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ...models.packing.assignment import assignment_model
from ..engines import solve_cp_sat
from ..outcome import Status, Stop
from .aggregate import Aggregated, aggregate_bound
from .fitting import Counts, decreasing, trimmed
from .ruled import Ruled
from .ruled_fitting import MOST_VMS, fill_ruled, fit_ruled, runs
from .ruled_search import Filling
from .search import Search

MOST_COUNTS = 30_000
"""Larger models (servers x types) are not given to CP-SAT."""

FEW_COUNTS = 2_000
"""Smaller ones are, before fillings are searched for."""

ALLOWED_ABOVE = 0.02
"""Fillings are first searched for with this part of servers more than the bound."""


def greedy(search: Search, random_starts: int) -> None:
    """Greedy packings that keep the rules, and first fits in random order."""
    problem, rng = _ruled(search), search.rng
    if problem.vms > MOST_VMS:
        return
    order = decreasing(problem)
    search.offer(problem.now(), "what runs now")
    choice = (np.minimum(problem.most, 1) * problem.limit).sum(axis=1)
    parts: list[tuple[str, Callable[[], Counts | None]]] = [
        ("FFD", lambda: fit_ruled(problem, runs(problem, order))),
        ("BFD", lambda: fit_ruled(problem, runs(problem, order), "best")),
        (
            "best fit, least choice first",
            lambda: fit_ruled(problem, runs(problem, np.argsort(choice, kind="stable")), "best"),
        ),
        ("dot", lambda: fill_ruled(problem, "dot")),
        ("L2", lambda: fill_ruled(problem, "L2")),
    ]
    for name, pack in parts:
        if not search.open and name != "FFD":
            return
        search.offer(pack(), name)
    for _ in range(random_starts if problem.vms <= 20_000 else 0):
        if not search.open:
            return
        mixed = runs(problem, rng.permutation(problem.types))
        search.offer(fit_ruled(problem, mixed, "best"), "best fit in random order")
        search.offer(fit_ruled(problem, rng.permutation(mixed), "random", rng), "random fit")


def aggregate(search: Search) -> None:
    """The bound of the aggregate program."""
    upper = None if search.best is None else search.upper
    found = aggregate_bound(
        _ruled(search), search.clock, upper=upper, seconds=search.slice(0.5, least=2.0)
    )
    search.raise_bound(found.bound, "aggregate program", {"leaves": found.leaves})


def prove(search: Search) -> None:
    """In turns, more time each: fillings at the aggregate program's servers, and CP-SAT."""
    problem, effort = _ruled(search), 1.0
    kind = _servers(search)
    if len(kind) * problem.types <= FEW_COUNTS:
        _by_cp_sat(search, 10.0)
    while search.open:
        before = (search.upper, search.lower)
        _fillings(search, effort)
        ended = _by_cp_sat(search, effort) if search.open else True
        if not ended and before == (search.upper, search.lower) and effort > 1e6:
            return
        effort *= 2


def _fillings(search: Search, effort: float) -> None:
    """Fillings with ever fewer servers, from a few above the bound down to it."""
    problem = _ruled(search)
    if problem.vms > MOST_VMS:
        return
    above = min(math.ceil(ALLOWED_ABOVE * search.lower), max(search.upper - 1 - search.lower, 0))
    while search.open:
        cost = min(search.lower + above, search.upper - 1)
        found: Aggregated = aggregate_bound(
            problem, search.clock, least=cost, upper=search.upper, seconds=search.slice(0.2)
        )
        if found.servers is not None and found.count is not None:
            kind = np.repeat(np.arange(len(found.servers)), found.servers)
            filling = Filling(problem, kind, found.count, search.rng)
            filling.place_evenly(found.count)
            if filling.mend(search.clock, search.clock.seconds + 4 * effort):
                search.offer(filling.counts(), "fillings of the aggregate program's servers")
        if above == 0:
            return
        above = min(above // 2, max(search.upper - 1 - search.lower, 0))


def _by_cp_sat(search: Search, effort: float) -> bool:
    """CP-SAT on all servers that an answer better than the best could use; whether it ended."""
    problem = _ruled(search)
    kind = _servers(search)
    if len(kind) * problem.types > MOST_COUNTS:
        return False
    built = assignment_model(
        problem.demand, problem.request, problem.capacity, kind, problem.price, rules=problem
    )
    cost = [int(problem.price[c]) for c in kind]
    used = [built.model.get_bool_var_from_proto_index(int(place)) for place in built.used]
    total = sum(c * flag for c, flag in zip(cost, used, strict=True))
    built.model.add(total >= search.lower)
    built.model.add(total <= search.upper - 1)
    answer = solve_cp_sat(built.model, time_limit=search.clock.share(most=3.0 * effort))
    if answer.stop is Stop.INTERRUPTED:
        raise KeyboardInterrupt
    if answer.status is Status.INFEASIBLE:
        search.raise_bound(search.upper, "CP-SAT")
        return True
    if answer.values is not None:
        search.offer(trimmed(built.counts(answer.values), kind, problem.request), "CP-SAT")
    if answer.bound is not None and answer.values is not None:
        search.raise_bound(min(math.ceil(answer.bound - 1e-6), search.upper), "CP-SAT")
    return answer.status is Status.OPTIMAL


def _servers(search: Search) -> np.ndarray:
    """(n,) classes of the servers that an answer better than the best could use."""
    problem = _ruled(search)
    most = (search.upper - 1) // problem.price
    return np.repeat(np.arange(len(problem.price)), np.minimum(problem.limit, most))


def _ruled(search: Search) -> Ruled:
    assert isinstance(search.problem, Ruled)
    return search.problem
