"""Linear relaxation of a pairing program, with its dual bound and a pairing near its point. Also
local branching for fair attribution: small programs over cheap pairs of types near the point.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...instances.colocation.instance import Booleans, Colocation, Floats, Integers, Pairing
from ...instances.colocation.objective import scale
from ...models.colocation import PairingProgram, fair_program
from ...models.program import LinearProgram
from ..engines import WarmStartedProgram, solve_program
from ..incumbent import Incumbent
from ..outcome import LEAST_SECONDS, Clock, Status, Stop, raise_if_interrupted
from .feasible import greedily_filled
from .neighborhoods import objective

BOXES = ((3, 2), (4, 2), (3, 3), (4, 3), (5, 4), (5, 8))
"""Where a first pairing is looked for, around the relaxation's point: pairs of types for each type
that may grow, and how far in pairs of two types. Small boxes without a pairing are soon known to
have none.
"""

WHOLE = 1e-6
"""What is this near to a whole number is one."""

BOX_SECONDS, PATIENCE = 0.8, 3.0
"""Time for each of `BOXES`; and seconds without a better pairing after which a search ends, longer
where the last one took longer.
"""

BOTH_PER_TYPE, BOTH_SPREAD, BOTH_SECONDS, SHIFT = 3.5, 1.15, 1.0, 0.05
"""Pairs of types for each type that may grow, how many times less or more are drawn, and the time,
for programs of all types that reach from the best pairing to a point near the relaxation's; and
what a pair costs more on average where such a point is drawn, in mean costs of a pair.
"""

MORE, FEWER = 1.05, 1.08
"""By how much the first of these numbers grows with each program that is solved in time, and
shrinks with each that is not: one that ends has found the best there is in it.
"""

PARTS, PER_TYPE, SPREAD = 4, 5.0, 1.5
"""One program in so many is of a part of the types; pairs of types for each type that may grow in
it, those of least price, and how many times less or more are drawn. More make a program slower than
its answer better.
"""

FEWEST, STEP, PART_SECONDS = 8, 0.15, 0.2
"""Types in the first parts; by how much they grow with each that is solved in time; and the time
for one part: where it is not enough, the next are smaller.
"""


@dataclass(frozen=True, eq=False)
class Relaxation:
    """Solved linear relaxation of a pairing program: bound, multipliers, point.

    Attributes
    ----------
    bound : what its multipliers prove of the program.
    point : (columns,) its optimum.
    price : (columns,) what a unit of each column costs beyond its rows' multipliers.
    """

    bound: float
    point: Floats
    price: Floats


def relaxed(program: LinearProgram, clock: Clock, parts: int = 1) -> Relaxation | None:
    """Solve the relaxation of a program with finite column bounds; None without a solution in time.

    None when time is up first, the clock's or one of `parts` equal parts of it, or HiGHS fails.
    Ctrl-C is raised.
    """
    if clock.expired:
        return None
    continuous = replace(program, integer=np.zeros(program.columns, dtype=bool))
    answer = WarmStartedProgram(continuous).solve(clock.time_slice(parts))
    raise_if_interrupted(answer.stop)
    if answer.status is not Status.OPTIMAL or answer.point is None or answer.row_dual is None:
        return None
    price = program.cost - program.matrix.T @ answer.row_dual
    return Relaxation(_bound(program, answer.row_dual), answer.point, price)


def _bound(program: LinearProgram, dual: Floats) -> float:
    """Lower bound of a program from any row multipliers: each column at its cheaper bound."""
    open_end = np.where(dual > 0, np.isinf(program.row_lower), np.isinf(program.row_upper))
    dual = np.where(open_end, 0.0, dual)
    price = program.cost - program.matrix.T @ dual
    rows = np.where(dual > 0, program.row_lower, program.row_upper)
    columns = np.where(price > 0, program.lower, program.upper)
    return float(dual[dual != 0] @ rows[dual != 0] + price @ columns + program.offset)


def rounded(instance: Colocation, program: PairingProgram, point: Floats) -> Pairing | None:
    """Integer part of a point's pairs, with the other agents paired greedily; None if some stay
    unpaired.
    """
    pairs, size = len(program.first), len(program.first) + len(program.alone)
    integers = np.floor(np.maximum(point[:size], 0.0) + WHOLE).astype(np.int64)
    single = np.zeros(instance.types, dtype=np.int64)
    single[program.alone] = integers[pairs:]
    partial = Pairing(program.first, program.second, integers[:pairs], single)
    near = greedily_filled(instance, partial)
    return near if (near.agents_used() == instance.count).all() else None


class LocalBranching(Incumbent[Pairing, float]):
    """Search for the least penalty within a slack by small programs near the relaxation.

    Parameters
    ----------
    instance : with bandwidth.
    begin : a feasible pairing. One of more slack counts for nothing, and stays the best until there
        is another.
    relaxation : of `fair_program` at this slack.
    bound : what is proved of the mean penalty.
    """

    best: Pairing

    def __init__(
        self, instance: Colocation, begin: Pairing, relaxation: Relaxation, clock: Clock, *,
        slack: float, bound: float | None = None,
    ) -> None:  # fmt: skip
        cost = objective(instance, slack)
        super().__init__(instance, clock, cost, scale=scale(instance, "penalty"), bound=bound)
        self.instance, self.relaxation = instance, relaxation
        self.made = fair_program(instance, slack)
        self.size = len(self.made.first) + len(self.made.alone)
        ascending = np.argsort(relaxation.price[: self.size], kind="stable")
        self.order = np.argsort(ascending, kind="stable")
        self.begin(begin)

    @property
    def found(self) -> bool:
        """Whether the incumbent's slack is within the limit."""
        return bool(np.isfinite(self.value))

    def first(self, until: float) -> None:
        """Search boxes around the relaxed point, the smallest first, until a better pairing is
        found or the clock shows `until` seconds.
        """
        point, before = self.relaxation.point[: self.size], self.value
        for per_type, reach in BOXES:
            if self.value < before or self.clock.expired or self.clock.seconds >= until:
                break
            low = np.ceil(np.maximum(point - reach, 0.0))
            high = np.where(self._cheap(per_type), np.floor(point + reach), low)
            self._solve(low, high, min(BOX_SECONDS, until - self.clock.seconds), start=False)

    def improve(self, until: float, rng: np.random.Generator) -> None:
        """Solve small programs around the incumbent until the time is up or none has improved for
        long.
        """
        last, number, types, per_type = self.clock.seconds, 0, float(FEWEST), BOTH_PER_TYPE
        while self.open and self.clock.seconds < min(until, last + max(PATIENCE, last)):
            before, left, number = self.value, until - self.clock.seconds, number + 1
            if number % PARTS:  # all types, towards a point near the relaxation's
                cheap = self._cheap(per_type * BOTH_SPREAD ** rng.uniform(-1, 1))
                ends = self._between(self._moved(rng), cheap)
                stop = self._solve(*ends, min(BOTH_SECONDS, left))
                per_type *= MORE if stop is Stop.FINISHED else 1 / FEWER
            else:
                cheap = self._cheap(PER_TYPE * SPREAD ** rng.uniform(-1, 1))
                number_drawn = min(int(types), len(self.instance.present))
                drawn = rng.choice(self.instance.present, number_drawn, replace=False)
                stop = self._solve(*self._part(drawn, cheap), min(PART_SECONDS, left))
                grown = types + (STEP if stop is Stop.FINISHED else -3 * STEP)
                types = min(max(float(FEWEST), grown), float(len(self.instance.present)))
            last = self.clock.seconds if self.value < before else last

    def _cheap(self, per_type: float) -> Booleans:
        """Mark the columns of least reduced cost, on average `per_type` for each present type."""
        return np.asarray(self.order < per_type * len(self.instance.present))

    def _moved(self, rng: np.random.Generator) -> Floats:
        """Optimum of the relaxation with randomly increased costs."""
        program, point = self.made.program, self.relaxation.point[: self.size]
        cost = program.cost.copy()
        each = SHIFT * abs(float(cost[: self.size] @ point)) / max(float(point.sum()), 1.0)
        cost[: self.size] += each * rng.exponential(1.0, self.size)
        found = relaxed(replace(program, cost=cost), self.clock)
        return point if found is None else found.point[: self.size]

    def _between(self, point: Floats, cheap: Booleans) -> tuple[Floats, Floats]:
        """Column bounds around the incumbent and a point; cheap columns may be one above both."""
        now = self._now[: self.size]
        low = np.maximum(np.minimum(np.floor(point), now) - 1, 0.0)
        most = np.maximum(np.ceil(point), now)
        return low, np.where(cheap, most + 1, most)

    def _part(self, drawn: Integers, cheap: Booleans) -> tuple[Floats, Floats]:
        """Column bounds in which pairs of the drawn types may decrease by one and cheap ones
        increase by one.
        """
        ends = (self.made.first, self.made.second, self.made.alone)
        free = np.concatenate(
            [np.isin(ends[0], drawn) & np.isin(ends[1], drawn), np.isin(ends[2], drawn)]
        )
        now = self._now[: self.size]
        return np.where(free, now - 1, now), np.where(free & cheap, now + 1, now)

    @property
    def _now(self) -> Floats:
        return self.made.point(self.best)

    def _solve(self, low: Floats, high: Floats, seconds: float, start: bool = True) -> Stop:
        """Solve the program with bounds on the numbers of pairs; keep its pairing if better."""
        answer = solve_program(
            _within(self.made.program, low, high), time_limit=max(LEAST_SECONDS, seconds),
            start=self._now if start else None, heuristics=False,
        )  # fmt: skip
        if answer.point is not None:
            self.offer(self.made.pairing(answer.point), "near the relaxation")
        raise_if_interrupted(answer.stop)
        return answer.stop


def search_near(
    instance: Colocation,
    begin: Pairing,
    relaxation: Relaxation,
    clock: Clock,
    seconds: float,
    rng: np.random.Generator,
    *,
    slack: float,
    bound: float | None = None,
) -> LocalBranching:
    """Search for less mean penalty within the given slack near the relaxation; return the finished
    search.

    Begins with the program in boxes around the relaxation's point. Then, again and again, a point
    is drawn near the relaxation's, and the program solved between it and the best pairing. Unlike
    parts of agents (`improve`), this moves agents between many types at once, which exact fairness
    asks for. One program in four is of some types that are drawn: their pairs with each other may
    become one more or fewer, those of small price at least.

    Parameters
    ----------
    instance : with bandwidth.
    begin : a feasible pairing with no more than `slack`.
    relaxation : of `fair_program` at this slack.
    seconds : time for it, besides the clock's.
    bound : what is proved of the mean penalty; the search ends there.
    """
    near = LocalBranching(instance, begin, relaxation, clock, slack=slack, bound=bound)
    until = clock.seconds + seconds
    with near.keeping_best():
        near.first(until)
        near.improve(until, rng)
    return near


def _within(program: LinearProgram, low: Floats, high: Floats) -> LinearProgram:
    """Copy of a program with tighter bounds of its first columns."""
    lower, upper = program.lower.copy(), program.upper.copy()
    lower[: len(low)] = np.clip(low, lower[: len(low)], upper[: len(low)])
    upper[: len(low)] = np.clip(high, lower[: len(low)], upper[: len(low)])
    return replace(program, lower=lower, upper=upper)
