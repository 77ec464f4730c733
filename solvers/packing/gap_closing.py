"""Route that closes the gap: integer programs over all patterns that a better answer could use."""

from __future__ import annotations

import numpy as np

from ...instances.packing.instance import Integers
from ...models.packing.columns import pattern_program
from ..engines import solve_in_subprocess, solve_program
from ..outcome import Clock, Status, raise_if_interrupted
from ..proofs.filling_tree import Fillings, refuted
from .fitting import trimmed
from .generation import Prices
from .patterns import all_patterns
from .portfolio_state import PortfolioState
from .presolve import UNLIMITED, Counts, Reduced

KEEPS_TIME = 2_000
"""Patterns up to which HiGHS keeps its time limit; beyond, it runs in a process of its own."""


def by_enumeration(search: PortfolioState, effort: float) -> None:
    """Solve integer programs over all patterns that an answer at the bound could use; each finds an
    answer or raises the bound. Each proved target doubles the step to the next, since costs may
    differ by thousands of units.
    """
    assert search.relaxation is not None
    prices, limits, step = search.relaxation.prices, search.limits, 0
    while search.open and prices.value > 0:
        target = min(search.bound + step, search.value - 1)
        counts, impossible = answer_at(
            search.problem, prices, target, search.clock.time_slice(most=5.0 * effort),
            most=int(limits.listed_patterns * effort), nodes=int(limits.listing_nodes * effort),
        )  # fmt: skip
        search.offer(counts, "program over all patterns")
        if impossible:
            search.raise_bound(target + 1, "all patterns by reduced cost")
            step = 2 * step + 1
        elif counts is None:
            if not step:
                return
            step = 0


def answer_at(
    problem: Reduced, prices: Prices, target: int, seconds: float | None, *, most: int, nodes: int
) -> tuple[Counts | None, bool]:
    """Find an answer of cost at most `target` by the program over all useful patterns, or prove by
    a tree of cases with integer leaves that there is none.
    """
    clock = Clock(seconds)
    given = useful_fillings(problem, prices, target, most=most, nodes=nodes)
    if given is None:
        return None, False
    if not (given.table > 0).any(axis=0).all():
        return None, True
    counts, infeasible = _made_of(problem, given.table, given.kind, target, seconds)
    if infeasible:  # to the engine, in floats
        infeasible = refuted(given, clock) is not None
    return counts, infeasible


def useful_fillings(
    problem: Reduced, prices: Prices, target: int | None, *, most: int, nodes: int
) -> Fillings | None:
    """Maximal patterns that an answer of cost at most `target` (None: any) may use; None if those
    of a class are more than `most`, or take more than so many nodes to list.

    An answer of cost T has sum over its servers of (cost x scale + rent - profit of the pattern) at
    most T x scale + sum rent x servers - sum profit x request, and no term is negative: a pattern
    that is further below is in none.
    """
    income = sum(int(y) * int(n) for y, n in zip(prices.profit, problem.request, strict=True))
    rents = sum(r * int(n) for r, n in zip(prices.rent, problem.servers, strict=True) if r)
    room = (target or 0) * prices.scale + rents - income
    listed: list[Integers] = []
    for c, cost in enumerate(problem.price):
        least = int(cost) * prices.scale + prices.rent[c] - room
        rows = all_patterns(problem, c, prices.profit, least, most=most, nodes=nodes)
        if rows is None:
            return None
        listed.append(rows)
    kind = np.repeat(np.arange(len(listed)), [len(rows) for rows in listed])
    servers = np.where(problem.servers >= UNLIMITED, np.inf, problem.servers)
    return Fillings(
        np.concatenate(listed), kind, problem.request, servers, problem.price, problem.classes,
        problem.instance.classes, target,
    )  # fmt: skip


def _made_of(
    problem: Reduced, table: Integers, kind: Integers, most: int, seconds: float | None
) -> tuple[Counts | None, bool]:
    """Find an answer of these patterns that costs at most `most`, and return whether the engine
    claims that there is none.
    """
    program = pattern_program(
        table, kind, problem.request, problem.servers, problem.price, integer=True, most=most
    )
    solve = solve_in_subprocess if len(program.cost) > KEEPS_TIME else solve_program
    answer = solve(program, time_limit=seconds)
    raise_if_interrupted(answer.stop)
    if answer.point is None:
        return None, answer.status is Status.INFEASIBLE
    number = np.round(answer.point[: len(table)]).astype(np.int64)
    chosen = np.repeat(np.arange(len(table)), number)
    return trimmed(table[chosen], kind[chosen], problem.request), False
