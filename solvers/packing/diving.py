"""Diving heuristic: fix the patterns with the largest weights in the relaxation, and solve the rest
again until every VM is placed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...instances.packing.instance import Integers
from ..outcome import Clock
from .gap_closing import answer_at
from .generation import ROUNDING, Relaxation, generate
from .patterns import Pool, penalty_of
from .portfolio_state import LIMITS
from .presolve import UNLIMITED, Counts, Reduced
from .restricted_master import RestrictedMaster

FIXED = 16, 64
"""Where so many servers are left, one pattern more is fixed in a step, without draws and with
them.
"""

GROWTH = 1.5
"""Of what is left, to where a dive goes back at least."""

NOISE = 0.1
"""Weights are multiplied by the exponential of so many normal deviates where patterns are drawn."""

WEIGHTLESS = 1e-6
"""Patterns of no more weight are left out."""

RETRIES = 63
"""Times that a dive goes back."""

LISTED_VMS, LISTED, LISTING_NODES, LISTED_SECONDS = 36, 8_000, 2_000_000, 3.0
"""Where so few VMs are left, so many patterns at most are listed, by so many nodes, and the program
over them has so many seconds.
"""


class _Master(RestrictedMaster):
    """Restricted master by the simplex method alone: warm starts after changed requests, and
    vertices with many integer parts.
    """

    most = 0


def dive(
    problem: Reduced,
    relaxation: Relaxation,
    targets: tuple[int, int],
    clock: Clock,
    rng: np.random.Generator | None,
    *,
    seconds: float,
) -> Counts | None:
    """Dive for an answer of cost at most the second target; it aims at the first target and raises
    the aim by one each time it becomes unreachable. None if no answer was found.

    At each step all whole parts of the relaxation's solution are fixed, or else one pattern, and
    of many servers a few: the heaviest, where `rng` blurs the weights if it is given. The rest is
    solved again only until it could still meet the target. Where few VMs are left, the program over
    all patterns that could still meet it decides. With `rng`, a dive that cannot meet the second
    target goes back and on from there by other draws: to where half as many VMs more were left,
    each second time to where that was so twice over, each fourth time three times, and so on
    (`GROWTH`). Patterns found on the way join the relaxation's pool, unless that is large already.
    """
    until = clock.seconds + seconds
    target, highest = targets
    pool = _best(problem, relaxation)
    master = _Master(problem, pool, float(penalty_of(problem)), clock)
    # the states on the way here, the first one at the relaxation's solution
    path = [_State(problem.request, problem.servers, (), (), 0, relaxation)]
    failures, listed = 0, False
    while True:
        # 1. fix patterns: what they serve is done, what they cost is spent
        state = path[-1].fixed(problem, rng)
        if not state.todo.any():
            return state.counts if state.spent <= highest else None
        if state.spent >= highest or clock.expired or clock.seconds > until:
            return None
        # 2. the rest, solved again by column generation from the basis before
        remaining = replace(problem, request=state.todo, servers=state.servers)
        last, aim, known = remaining.vms <= LISTED_VMS, target - state.spent, len(pool)
        solved = generate(
            remaining, pool, Clock(clock.time_slice()), upper=aim + 1, enough=None if last else aim,
            seconds=max(until - clock.seconds, 0.05), nodes=20_000, master=master,
        )  # fmt: skip
        if solved.value is None:
            return None
        if len(relaxation.pool) * problem.types <= LIMITS.pooled_entries:
            for row, c in zip(*pool.arrays(known), strict=True):
                relaxation.pool.add(row, int(c))
        state = replace(state, relaxation=solved)
        # 3. where few VMs are left, all patterns that could meet the target, once on the way down
        failed = solved.value > aim + ROUNDING
        if last and not listed and not failed:
            listed = True
            counts, failed = _listed(remaining, solved, aim, clock)
            if counts is not None:
                rows, kinds = state.counts
                return np.concatenate([rows, counts[0]]), np.concatenate([kinds, counts[1]])
        # 4. where the target is out of reach, go back, or raise it
        if failed and target == highest:
            failures += 1
            left = GROWTH ** (failures & -failures).bit_length() * remaining.vms
            path, listed = [earlier for earlier in path if earlier.todo.sum() >= left], False
            if rng is None or not path or failures > RETRIES:
                return None
            continue
        if failed:
            target = max(target + 1, state.spent + solved.bound)
            if target > highest:
                return None
        path.append(state)


def _listed(
    rest: Reduced, solved: Relaxation, aim: int, clock: Clock
) -> tuple[Counts | None, bool]:
    """Place the VMs that a dive has left at a cost of at most `aim`, by a program over all patterns
    that they allow; return also whether it is proved that they cannot be placed so.
    """
    types = np.flatnonzero(rest.request)
    left = rest.part(types, rest.request[types])
    counts, impossible = answer_at(
        left, replace(solved.prices, profit=solved.prices.profit[types]), aim,
        clock.time_slice(most=LISTED_SECONDS), most=LISTED, nodes=LISTING_NODES,
    )  # fmt: skip
    if counts is None:
        return None, impossible
    rows = np.zeros((len(counts[0]), rest.types), dtype=np.int64)
    rows[:, types] = counts[0]
    return (rows, counts[1]), False


@dataclass(frozen=True, eq=False)
class _State:
    """State of a dive: unserved requests and free servers, fixed patterns with their cost, and the
    relaxation of the rest.
    """

    todo: Integers
    servers: Integers
    rows: tuple[Integers, ...]
    kinds: tuple[int, ...]
    spent: int
    relaxation: Relaxation

    @property
    def counts(self) -> Counts:
        """Servers filled by the patterns fixed so far: VMs (n, s) and classes (n,)."""
        rows = np.array(self.rows, dtype=np.int64).reshape(-1, len(self.todo))
        return rows, np.array(self.kinds, dtype=np.int64)

    def fixed(self, problem: Reduced, rng: np.random.Generator | None) -> _State:
        """Next state of the dive, in which patterns of large weight in the relaxation are fixed."""
        todo, servers, spent = self.todo.copy(), self.servers.copy(), self.spent
        rows, kinds = list(self.rows), list(self.kinds)
        table, kind = self.relaxation.pool.arrays()
        for place, number in _choice(self, rng):
            c = int(kind[place])
            for _ in range(number):
                rows.append(np.minimum(table[place], todo))
                kinds.append(c)
                todo = todo - rows[-1]
            if servers[c] < UNLIMITED:
                servers[c] -= number
            spent += number * int(problem.price[c])
        return replace(
            self, todo=todo, servers=servers, rows=tuple(rows), kinds=tuple(kinds), spent=spent
        )


def _choice(state: _State, rng: np.random.Generator | None) -> list[tuple[int, int]]:
    """Patterns of the pool to fix next and how often: the integer parts of their weights or, if all
    weights are below 1, a few patterns of largest weight.
    """
    # the patterns that have a weight, all if none has
    weight = state.relaxation.weight
    some = np.flatnonzero(weight > WEIGHTLESS)
    some = some if len(some) else np.arange(len(weight))
    weight = weight[some]
    table, kind = (part[some] for part in state.relaxation.pool.arrays())
    integer_part = np.floor(weight + 1e-6).astype(np.int64)
    chosen = []
    left, free = state.todo.copy(), state.servers.copy()
    for pattern in np.flatnonzero(integer_part):
        number = 0
        row, c = table[pattern], kind[pattern]
        while number < integer_part[pattern] and (row <= left).all() and free[c] > 0:
            left -= row
            free[c] -= 1
            number += 1
        if number:
            chosen.append((int(some[pattern]), number))
    if chosen:
        return chosen
    usable = np.where((table > 0).any(axis=1) & (free[kind] > 0), weight, 0.0)
    if usable.max(initial=0.0) <= WEIGHTLESS:  # any pattern that still serves something
        usable = np.where(free[kind] > 0, np.minimum(table, left).sum(axis=1), 0).astype(float)
        if usable.max(initial=0.0) <= 0:
            return []
    if rng is not None:
        usable = usable * np.exp(NOISE * rng.normal(size=len(usable)))
    number = 1 + int(weight.sum()) // FIXED[rng is not None]
    for pattern in np.argsort(-usable, kind="stable")[: 10 * number].tolist():
        fits = (table[pattern] <= left).all() and free[kind[pattern]] > 0 and usable[pattern] > 0
        if len(chosen) < number and (fits or not chosen):
            left = left - table[pattern]
            free[kind[pattern]] -= 1
            chosen.append((int(some[pattern]), 1))
    return chosen


def _best(problem: Reduced, relaxation: Relaxation) -> Pool:
    """Patterns with the largest reduced profit at the relaxation's prices."""
    table, kind = relaxation.pool.arrays()
    price = problem.price[kind] * float(relaxation.prices.scale)
    merit = table @ relaxation.prices.profit.astype(float) / price
    order = np.argsort(-merit, kind="stable")[: max(300, 5 * problem.types)]
    return Pool.of(table[order], kind[order])
