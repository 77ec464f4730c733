"""The parts of the portfolio that close the gap: integer programs over patterns, arc-flow, and
fixed servers in CP-SAT.
"""

from __future__ import annotations

import numpy as np

from ...instances.packing.instance import Integers
from ...models.packing.assignment import assignment_model
from ...models.packing.columns import pattern_program
from ..engines import solve_cp_sat, solve_in_subprocess, solve_program
from ..outcome import Status, raise_if_interrupted
from .arc_flow import GraphTooLarge, flow_graph, solve_graph
from .fitting import trimmed
from .patterns import all_patterns
from .portfolio_state import PortfolioState
from .presolve import Counts


def by_master(search: PortfolioState, effort: float) -> None:
    """The best answer made of the patterns met so far."""
    table, kind = search.pool.arrays()
    counts, _ = _integer_program(search, table, kind, search.value - 1, 5.0 * effort)
    search.offer(counts, "program over patterns")


def by_enumeration(search: PortfolioState, effort: float) -> None:
    """Every pattern an answer at the bound could use, by reduced cost; the program over them finds
    one or raises the bound.

    An answer of cost T has sum over its servers of (cost x scale + rent - profit of the pattern) at
    most T x scale + sum rent x servers - sum profit x request, and no term is negative: a pattern
    that is further below is in none.
    """
    relaxation, problem = search.relaxation, search.problem
    assert relaxation is not None
    prices = relaxation.prices
    while search.open and prices.value > 0:
        target = search.bound
        income = sum(
            int(price) * int(number)
            for price, number in zip(prices.profit, problem.request, strict=True)
        )
        class_prices = sum(
            rent * int(number)
            for rent, number in zip(prices.rent, problem.servers, strict=True)
            if rent
        )
        room = target * prices.scale + class_prices - income
        found: list[tuple[Integers, int]] = []
        for c in range(len(problem.price)):
            least = int(problem.price[c]) * prices.scale + prices.rent[c] - room
            listed = all_patterns(
                problem,
                c,
                prices.profit,
                least,
                most=int(search.limits.listed_patterns * effort),
                nodes=int(search.limits.listing_nodes * effort),
            )
            if listed is None:
                return
            found.append((listed, c))
        table = np.concatenate([rows for rows, _ in found])
        kind = np.concatenate([np.full(len(rows), c, dtype=np.int64) for rows, c in found])
        covered = (table > 0).any(axis=0).all() if len(table) else False
        counts, impossible = (
            _integer_program(search, table, kind, target, 5.0 * effort) if covered else (None, True)
        )
        if counts is not None:
            search.offer(counts, "program over all patterns")
            return
        if not impossible:
            return
        search.raise_bound(target + 1, "all patterns by reduced cost")


def by_arc_flow(search: PortfolioState, effort: float) -> None:
    """Arc-flow on HiGHS, in a process of its own, when types are few."""
    problem = search.problem
    if problem.types > search.limits.flow_types:
        return
    try:
        graph = flow_graph(problem, most=int(search.limits.flow_loads * effort))
    except GraphTooLarge:
        return
    counts, bound = solve_graph(
        problem, graph, time_limit=search.clock.time_slice(most=10.0 * effort)
    )
    search.offer(counts, "arc-flow")
    if bound is not None:
        search.raise_bound(min(bound, search.problem.budget + 1), "arc-flow")


def by_assignment(search: PortfolioState, effort: float) -> None:
    """CP-SAT with the servers fixed to a count at the bound (one class), or any that cost less
    (several).
    """
    problem = search.problem
    single = len(problem.price) == 1
    number = search.bound // int(problem.price[0]) if single else 0
    if (
        not single
        or number * int(problem.price[0]) != search.bound
        or number * problem.types > search.limits.assigned_counts * effort
    ):
        return
    model = assignment_model(
        problem.demand,
        problem.request,
        problem.capacity,
        np.zeros(number, dtype=np.int64),
        problem.price,
        fixed=True,
    )
    answer = solve_cp_sat(model.model, time_limit=search.clock.time_slice(most=5.0 * effort))
    if answer.values is not None:
        search.offer(
            (model.counts(answer.values), np.zeros(number, dtype=np.int64)),
            "CP-SAT with the servers fixed",
        )
    elif answer.status is Status.INFEASIBLE:
        search.raise_bound(search.bound + int(problem.price[0]), "CP-SAT with the servers fixed")
    raise_if_interrupted(answer.stop)


def _integer_program(
    search: PortfolioState, table: Integers, kind: Integers, most: int, seconds: float
) -> tuple[Counts | None, bool]:
    """An answer made of these patterns that costs at most `most`, and whether there is none."""
    problem = search.problem
    program = pattern_program(
        table, kind, problem.request, problem.servers, problem.price, integer=True, most=most
    )
    limit = search.clock.time_slice(most=seconds)
    if search.master == "highs" and len(table) > search.limits.master_columns:
        answer = solve_in_subprocess(program, time_limit=limit)
    else:
        answer = solve_program(program, engine=search.master, time_limit=limit)
    raise_if_interrupted(answer.stop)
    if answer.point is None:
        return None, answer.status is Status.INFEASIBLE
    number = np.round(answer.point[: len(table)]).astype(np.int64)
    chosen = np.repeat(np.arange(len(table)), number)
    return trimmed(table[chosen], kind[chosen], problem.request), False
