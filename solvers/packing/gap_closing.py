"""The part of the portfolio that closes the gap: integer programs over all patterns that count."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...instances.packing.instance import Integers
from ...models.packing.columns import pattern_program
from ...models.program import LinearProgram
from ..engines import solve_in_subprocess, solve_program
from ..engines.answer import EngineAnswer
from ..outcome import Clock, Status, raise_if_interrupted
from ..proofs.filling_tree import Fillings, refuted
from .fitting import trimmed
from .generation import Prices
from .patterns import all_patterns
from .portfolio_state import LIMITS, PortfolioState
from .presolve import UNLIMITED, Counts, Reduced

Solve = Callable[[LinearProgram], EngineAnswer]
"""An engine with its limits."""


def by_enumeration(search: PortfolioState, effort: float) -> None:
    """Every pattern an answer at the bound could use, by reduced cost; the program over them finds
    one or raises the bound.
    """
    assert search.relaxation is not None
    prices, limits = search.relaxation.prices, search.limits
    while search.open and prices.value > 0:
        counts, impossible = answer_at(
            search.problem,
            prices,
            search.bound,
            most=int(limits.listed_patterns * effort),
            nodes=int(limits.listing_nodes * effort),
            solve=pattern_solver(search.clock, 5.0 * effort, limits.master_columns),
            clock=Clock(search.clock.time_slice(most=5.0 * effort)),
        )
        search.offer(counts, "program over all patterns")
        if not impossible:
            return
        search.raise_bound(search.bound + 1, "all patterns by reduced cost")


def answer_at(
    problem: Reduced,
    prices: Prices,
    target: int,
    *,
    most: int,
    nodes: int,
    solve: Solve,
    clock: Clock,
) -> tuple[Counts | None, bool]:
    """An answer that costs at most `target` by the program over all patterns that it could use, and
    whether there is none, by a tree of cases whose leaves are closed in integers; neither is known
    where there are more than `most` of a class, `nodes` do not list them, or the program is not
    solved, or no tree is found in the time of the clock.

    An answer of cost T has sum over its servers of (cost x scale + rent - profit of the pattern) at
    most T x scale + sum rent x servers - sum profit x request, and no term is negative: a pattern
    that is further below is in none.
    """
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
    listed: list[Integers] = []
    for c in range(len(problem.price)):
        least = int(problem.price[c]) * prices.scale + prices.rent[c] - room
        rows = all_patterns(problem, c, prices.profit, least, most=most, nodes=nodes)
        if rows is None:
            return None, False
        listed.append(rows)
    table = np.concatenate(listed)
    kind = np.repeat(np.arange(len(listed)), [len(rows) for rows in listed])
    if not (table > 0).any(axis=0).all():
        return None, True
    counts, infeasible = _made_of(problem, table, kind, target, solve)
    if infeasible:  # to the engine, in floats
        servers = np.where(problem.servers >= UNLIMITED, np.inf, problem.servers)
        given = Fillings(
            table, kind, problem.request, servers, problem.price, problem.classes,
            problem.instance.classes, target,
        )  # fmt: skip
        infeasible = refuted(given, clock) is not None
    return counts, infeasible


def _made_of(
    problem: Reduced, table: Integers, kind: Integers, most: int, solve: Solve
) -> tuple[Counts | None, bool]:
    """An answer made of these patterns that costs at most `most`, and whether the engine says that
    there is none.
    """
    answer = solve(
        pattern_program(
            table, kind, problem.request, problem.servers, problem.price, integer=True, most=most
        )
    )
    raise_if_interrupted(answer.stop)
    if answer.point is None:
        return None, answer.status is Status.INFEASIBLE
    number = np.round(answer.point[: len(table)]).astype(np.int64)
    chosen = np.repeat(np.arange(len(table)), number)
    return trimmed(table[chosen], kind[chosen], problem.request), False


def pattern_solver(clock: Clock, seconds: float, columns: int = LIMITS.master_columns) -> Solve:
    """HiGHS for programs over patterns, in a process of its own where they are more than so many
    columns, since it overruns its time limit on some.
    """
    limit = clock.time_slice(most=seconds)

    def solve(program: LinearProgram) -> EngineAnswer:
        if len(program.cost) > columns:
            return solve_in_subprocess(program, time_limit=limit)
        return solve_program(program, time_limit=limit)

    return solve
