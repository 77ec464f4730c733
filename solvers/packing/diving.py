"""Diving: fix the patterns the relaxation likes best, solve the rest again, until every VM is
placed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...instances.packing.instance import Floats, Integers
from ..outcome import Clock
from .generation import ROUNDING, Relaxation, generate
from .patterns import Pool
from .presolve import UNLIMITED, Counts, Reduced
from .restricted_master import RestrictedMaster

FIXED = 16
"""Where so many servers are left, one pattern more is fixed in a step."""

RETRIES = 10
"""Steps that a dive takes back."""


class _Master(RestrictedMaster):
    """The simplex up to more types: its own vertices have more whole parts, which dives fix."""

    fewest = 200


def dive(
    problem: Reduced,
    relaxation: Relaxation,
    targets: tuple[int, int],
    clock: Clock,
    rng: np.random.Generator | None,
    *,
    seconds: float,
) -> Counts | None:
    """An answer of cost at most the second target, or None when this dive finds none; it aims at
    the first one, and at one more each time that this cannot be met any longer.

    At each step all whole parts of the relaxation's solution are fixed, or else one pattern, and
    of many servers a few: the heaviest, or with `rng` drawn with chances by the square of their
    weights. The rest is solved again only until it could still meet the target. Where it cannot,
    the last step is taken back a few times, and fewer patterns are fixed.
    Patterns found on the way stay in the relaxation's pool.
    """
    until = clock.seconds + seconds
    target, most = targets
    # begin at the relaxation's solution
    table, kind = relaxation.pool.arrays()
    weight = relaxation.weight
    state = _Fixed(
        problem.request, problem.servers, (), (), 0,
        table[: len(weight)], kind[: len(weight)], weight,
    )  # fmt: skip
    retries, fewer = RETRIES, False
    while True:
        # 1. fix patterns: what they serve is done, what they cost is spent
        following = state.fixed(problem, rng, fewer)
        if not following.todo.any():
            if following.spent > most:
                return None
            return np.array(following.rows), np.array(following.kinds, dtype=np.int64)
        if following.spent >= most or clock.expired or clock.seconds > until:
            return None
        # 2. the rest, solved again by column generation over what its patterns may still hold
        here = np.flatnonzero(following.todo)
        rest = replace(
            problem, demand=problem.demand[here], request=following.todo[here],
            servers=following.servers,
        )  # fmt: skip
        pool = _restricted(problem, relaxation, here, following.todo[here])
        aim = target - following.spent
        solved = generate(
            rest, pool, _silent(clock), upper=aim + 1, enough=aim,
            seconds=max(until - clock.seconds, 0.05), nodes=20_000, master=_Master,
        )  # fmt: skip
        # 3. where the target is out of reach, fewer patterns are fixed, or the target is raised
        if solved.value is None:
            return None
        if solved.value > aim + ROUNDING:
            fewer = retries > 0 and not fewer
            retries -= fewer
            if fewer:
                continue
            target = max(target + 1, following.spent + solved.bound)
            if target > most:
                return None
        fewer = False
        # 4. its patterns join the relaxation's pool, its weights make the next choice
        part, kind = pool.arrays()
        table = np.zeros((len(part), problem.types), dtype=np.int64)
        table[:, here] = part
        for row, c in zip(table, kind, strict=True):
            relaxation.pool.add(row, int(c))
        weight = solved.weight
        state = replace(
            following, table=table[: len(weight)], kind=kind[: len(weight)], weight=weight
        )


@dataclass(frozen=True, eq=False)
class _Fixed:
    """Where a dive stands: what is still to be served by which servers, the patterns that are
    fixed and their cost, and the relaxation of the rest.
    """

    todo: Integers
    servers: Integers
    rows: tuple[Integers, ...]
    kinds: tuple[int, ...]
    spent: int
    table: Integers
    kind: Integers
    weight: Floats

    def fixed(self, problem: Reduced, rng: np.random.Generator | None, fewer: bool) -> _Fixed:
        """The same after patterns that the relaxation likes are fixed, one alone with `fewer`."""
        todo, servers, spent = self.todo.copy(), self.servers.copy(), self.spent
        rows, kinds = list(self.rows), list(self.kinds)
        chosen = _choice(self.table, self.kind, self.weight, todo, servers, rng, fewer)
        for place, number in chosen:
            c = int(self.kind[place])
            for _ in range(number):
                rows.append(np.minimum(self.table[place], todo))
                kinds.append(c)
                todo = todo - rows[-1]
            if servers[c] < UNLIMITED:
                servers[c] -= number
            spent += number * int(problem.price[c])
        return replace(
            self, todo=todo, servers=servers, rows=tuple(rows), kinds=tuple(kinds), spent=spent
        )


def _choice(
    table: Integers,
    kind: Integers,
    weight: Floats,
    todo: Integers,
    servers: Integers,
    rng: np.random.Generator | None,
    fewer: bool = False,
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
    if chosen and not fewer:
        return chosen
    chosen, left, free = [], todo.copy(), servers.copy()
    usable = np.where((table > 0).any(axis=1) & (servers[kind] > 0), weight, 0.0)
    if usable.max(initial=0.0) <= 1e-9:  # nothing to go by: any pattern that still serves something
        usable = np.where(servers[kind] > 0, np.minimum(table, todo).sum(axis=1), 0).astype(float)
        if usable.max(initial=0.0) <= 0:
            return []
    number = 1 if fewer else 1 + int(weight.sum()) // FIXED
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
