"""Diving: fix the patterns the relaxation likes best, solve the rest again, until every VM is
placed.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...instances.packing.instance import Floats, Integers
from ..outcome import Clock
from .generation import Relaxation, generate
from .patterns import Pool
from .presolve import UNLIMITED, Counts, Reduced

FIXED = 16
"""Where so many servers are left, one pattern more is fixed in a step."""


def dive(
    problem: Reduced,
    relaxation: Relaxation,
    target: int,
    clock: Clock,
    rng: np.random.Generator | None,
    *,
    seconds: float,
) -> Counts | None:
    """An answer of cost at most `target`, or None when this dive finds none.

    At each step all whole parts of the relaxation's solution are fixed, or else one pattern, and
    of many servers a few: the heaviest, or with `rng` drawn with chances by the square of their
    weights. The rest is solved
    again only until it could still meet the target; the dive ends when its bound says it cannot.
    Patterns found on the way stay in the relaxation's pool.
    """
    until = clock.seconds + seconds
    todo = problem.request.copy()
    servers = problem.servers.copy()
    rows: list[Integers] = []
    kinds: list[int] = []
    spent = 0
    # begin at the relaxation's solution
    table, kind = relaxation.pool.arrays()
    weight = relaxation.weight
    table, kind = table[: len(weight)], kind[: len(weight)]
    while True:
        # fix patterns: what they serve is done, what they cost is spent
        for place, number in _choice(table, kind, weight, todo, servers, rng):
            for _ in range(number):
                row = np.minimum(table[place], todo)
                rows.append(row)
                kinds.append(int(kind[place]))
                todo = todo - row
            if servers[kind[place]] < UNLIMITED:
                servers[kind[place]] -= number
            spent += number * int(problem.price[kind[place]])
        # all placed, or the dive has failed
        if not todo.any():
            break
        if spent >= target or clock.expired or clock.seconds > until:
            return None
        # the rest, solved again by column generation over what its patterns may still hold
        here = np.flatnonzero(todo)
        rest = replace(problem, demand=problem.demand[here], request=todo[here], servers=servers)
        pool = _restricted(problem, relaxation, here, todo[here])
        left = clock.seconds
        solved = generate(
            rest,
            pool,
            _silent(clock),
            upper=target - spent + 1,
            enough=target - spent,
            seconds=max(until - left, 0.05),
            nodes=20_000,
        )
        if solved.bound > target - spent or solved.value is None:
            return None
        # its patterns join the relaxation's pool, its weights make the next choice
        part, kind = pool.arrays()
        table = np.zeros((len(part), problem.types), dtype=np.int64)
        table[:, here] = part
        for row, c in zip(table, kind, strict=True):
            relaxation.pool.add(row, int(c))
        weight = solved.weight
        table, kind = table[: len(weight)], kind[: len(weight)]
    if spent > target:
        return None
    return np.array(rows), np.array(kinds, dtype=np.int64)


def _choice(
    table: Integers,
    kind: Integers,
    weight: Floats,
    todo: Integers,
    servers: Integers,
    rng: np.random.Generator | None,
) -> list[tuple[int, int]]:
    """Which patterns to fix, and how often: the whole parts, or some more when there are none."""
    whole = np.floor(weight + 1e-6).astype(np.int64)
    chosen = []
    left, free = todo.copy(), servers.copy()
    for place in np.flatnonzero(whole):
        number = 0
        while number < whole[place] and (table[place] <= left).all() and free[kind[place]] > 0:
            left -= table[place]
            free[kind[place]] -= 1
            number += 1
        if number:
            chosen.append((int(place), number))
    if chosen:
        return chosen
    usable = np.where((table > 0).any(axis=1) & (servers[kind] > 0), weight, 0.0)
    if usable.max(initial=0.0) <= 1e-9:  # nothing to go by: any pattern that still serves something
        usable = np.where(servers[kind] > 0, np.minimum(table, todo).sum(axis=1), 0).astype(float)
        if usable.max(initial=0.0) <= 0:
            return []
    number = 1 + int(weight.sum()) // FIXED
    if rng is None:
        order = np.argsort(-usable, kind="stable")
    else:  # the order of draws without putting back, by exponential times
        order = np.argsort(rng.exponential(size=len(usable)) / np.maximum(usable, 1e-12) ** 2)
    for place in order[: 10 * number].tolist():
        fits = (table[place] <= left).all() and free[kind[place]] > 0 and usable[place] > 0
        if len(chosen) < number and (fits or not chosen):
            left = left - table[place]
            free[kind[place]] -= 1
            chosen.append((place, 1))
    return chosen


def _restricted(problem: Reduced, relaxation: Relaxation, here: Integers, todo: Integers) -> Pool:
    """The patterns that the relaxation's prices like best, cut to what is left to place."""
    table, kind = relaxation.pool.arrays()
    part = np.minimum(table[:, here], todo)
    price = problem.price[kind] * float(relaxation.prices.scale)
    merit = part @ relaxation.prices.profit[here].astype(float) / price
    order = np.argsort(-merit, kind="stable")[: max(300, 5 * len(here))]
    return Pool.of(part[order], kind[order])


def _silent(clock: Clock) -> Clock:
    """The same deadline without a trace."""
    return Clock(clock.time_slice())
