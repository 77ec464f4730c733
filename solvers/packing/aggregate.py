"""Branch and bound over the aggregate program, which counts servers and VMs by class; each leaf is
closed by multipliers checked in exact arithmetic.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from ...instances.packing.instance import Floats, Integers
from ...models.packing.aggregate import Aggregate, Moves, aggregate_program
from ...models.program import LinearProgram
from ..engines import WarmStartedProgram
from ..outcome import Clock, Status, Stop, raise_if_interrupted
from .presolve import Reduced

BITS = 40
"""Multipliers of rows (scaled to coefficients of 1 at most) are whole multiples of 2**-BITS."""


WHOLE = 1e-6
"""Servers nearer to a whole number are that number."""


@dataclass(frozen=True, eq=False)
class Aggregated:
    """Result of the aggregate program: bound, and numbers of servers and VMs by class.

    Attributes
    ----------
    bound : a proved lower bound on the cost of any answer; above the budget when there is none.
    closed : whether the program was solved to its optimum, which `bound` then is.
    leaves : nodes at which the search ended, whose multipliers prove it.
    servers : (q,) servers of each class of `Reduced.pooled`, of the point found last at the
        bound, or None.
    count : (s, q) its VMs of each type by class (not whole numbers), or None.
    """

    bound: int
    closed: bool
    leaves: int
    servers: Integers | None
    count: Floats | None


class ExactProgram:
    """Integer program whose bound is computed exactly from any multipliers of its rows.

    Theorem (weak duality). With multipliers of the rows, each paid at the row bound of its sign,
    and each column at the end of its range where what is left of its cost is least, the sum is at
    most the objective of any point within rows and ranges.
    """

    def __init__(self, program: LinearProgram) -> None:
        self.program = program
        matrix = program.matrix.tocsr()
        largest = np.maximum(abs(matrix).max(axis=1).todense().reshape(-1), 1.0)
        self.shift = np.frexp(largest)[1].astype(int).reshape(-1)
        self.scale = np.ldexp(1.0, -self.shift)
        rows = np.repeat(np.arange(program.rows), np.diff(matrix.indptr))
        self.rows, self.columns = rows, matrix.indices
        self.values = matrix.data.astype(np.int64).astype(object)
        self.cost = program.cost.astype(np.int64).astype(object)
        self.unit = BITS + int(self.shift.max(initial=0))

    def scaled(self, lower: Floats, upper: Floats) -> LinearProgram:
        """Linear program with coefficients scaled to about 1 and the given column bounds."""
        from scipy.sparse import diags_array

        given = self.program
        return replace(
            given,
            matrix=(diags_array(self.scale) @ given.matrix).tocsr(),
            row_lower=given.row_lower * self.scale,
            row_upper=given.row_upper * self.scale,
            lower=lower,
            upper=upper,
            integer=np.zeros_like(given.integer),
        )

    def empty(self, lower: Floats, upper: Floats) -> bool:
        """Return whether some row is infeasible within the column bounds, in exact integers below
        2**53.
        """
        matrix = self.program.matrix
        plus, minus = matrix.maximum(0), matrix.minimum(0)
        least, most = plus @ lower + minus @ upper, plus @ upper + minus @ lower
        return bool(((least > self.program.row_upper) | (most < self.program.row_lower)).any())

    def bound(self, dual: Floats, lower: Floats, upper: Floats) -> Fraction:
        """Lower bound that any multipliers of the scaled rows prove within the column bounds."""
        given = self.program
        usable = np.where(np.isfinite(given.row_lower), np.inf, 0.0)
        tight = np.where(np.isfinite(given.row_upper), -np.inf, 0.0)
        safe = np.clip(np.nan_to_num(dual), tight, usable)
        whole = np.round(np.ldexp(safe, BITS)).tolist()  # of any size
        multiplier = np.array(
            [int(m) << int(self.unit - BITS - s) for m, s in zip(whole, self.shift, strict=True)],
            dtype=object,
        )
        paid = 0
        for m, low, high in zip(
            multiplier, given.row_lower.tolist(), given.row_upper.tolist(), strict=True
        ):
            if m:
                paid += m * int(low if m > 0 else high)
        rest = self.cost * (1 << self.unit)
        np.subtract.at(rest, self.columns, self.values * multiplier[self.rows])
        for left, low, high in zip(rest, lower.tolist(), upper.tolist(), strict=True):
            if left:
                paid += left * int(low if left > 0 else high)
        return Fraction(paid, 1 << self.unit)


class Dive:
    """Linear relaxation that is solved repeatedly with tighter column bounds.

    Attributes
    ----------
    lower, upper : the ranges, to be changed between two calls of `solve`.
    """

    def __init__(self, built: Aggregate | Moves, request: Integers, clock: Clock) -> None:
        self._built, self._request, self._clock = built, request, clock
        self._exact = ExactProgram(built.program)
        self.lower, self.upper = built.program.lower.copy(), built.program.upper.copy()
        self._living = WarmStartedProgram(self._exact.scaled(self.lower, self.upper))

    def solve(self) -> Floats | None:
        """Optimal point within the column bounds; None if infeasible or if some VM is left out."""
        program = self._exact.scaled(self.lower, self.upper)
        answer = self._living.again(program, self._clock.time_slice(4))
        raise_if_interrupted(answer.stop)
        if answer.point is None or answer.status is not Status.OPTIMAL:
            return None
        placed = counted(self._built.count, answer.point).sum(axis=1)
        return None if (placed < self._request - WHOLE).any() else answer.point


def aggregate_bound(
    problem: Reduced,
    clock: Clock,
    *,
    least: int = 0,
    upper: int | None = None,
    seconds: float | None = None,
) -> Aggregated:
    """Solve the aggregate program by best-first branch and bound.

    Parameters
    ----------
    least : look for a point of this cost at least; the bound is then one on such answers.
    upper : stop when the bound reaches it.
    seconds : for it; the bound so far is returned when they are up.
    """
    penalty = problem.budget + 1
    built = aggregate_program(problem.pooled, penalty)
    if not least:  # no range of servers is then too small for what is to be paid
        built.program.row_lower[0] = -np.inf
    exact = ExactProgram(built.program)
    deadline = np.inf if seconds is None else clock.seconds + seconds
    top = problem.budget + 1
    if upper is not None:
        top = min(top, upper)
    root = (built.program.lower.copy(), built.program.upper)
    root[0][built.cost] = least
    living = WarmStartedProgram(exact.scaled(*root))
    best: tuple[Integers, Floats] | None = None
    leaves, closed, made, proved, stuck = 1, False, 0, 0, 2**62
    queue: list[tuple[int, int, Floats, Floats]] = [(0, 0, *root)]
    while queue:
        # 1. the open node of least bound: nothing is better than it
        known, _, lower, ceiling = heapq.heappop(queue)
        proved = max(proved, known)
        if proved >= top:
            closed = True
            break
        if clock.expired or clock.seconds >= deadline:
            break
        # 2. its relaxation
        program = exact.scaled(lower, ceiling)
        answer = living.again(program, clock.time_slice(most=deadline - clock.seconds))
        if answer.status is Status.UNKNOWN and answer.stop is Stop.FINISHED:
            # HiGHS comes to nothing from some bases
            living = WarmStartedProgram(program)
            answer = living.solve(clock.time_slice(most=deadline - clock.seconds))
        raise_if_interrupted(answer.stop)
        if answer.row_dual is None or answer.point is None:
            if exact.empty(lower, ceiling):
                continue
            break
        # 3. what its multipliers prove
        value = exact.bound(answer.row_dual, lower, ceiling)
        node_bound = max(known, -(-value.numerator // value.denominator))
        if answer.stop is Stop.TIME_LIMIT:  # its point says nothing
            proved = max(proved, min([node_bound, *(node[0] for node in queue[:1])]))
            break
        # 4. branch on a fractional number of servers
        column, raised = _fractional(built, answer.point), node_bound > lower[built.cost]
        lower = lower.copy()
        lower[built.cost] = min(max(node_bound, lower[built.cost]), ceiling[built.cost])
        children = [(lower, ceiling)]
        if column is not None or not raised or node_bound > ceiling[built.cost]:
            # else costs are whole: the same node with its cost rounded up
            if column is None and queue and node_bound > queue[0][0]:
                pass  # others come first: this one is solved again when it is its turn
            elif column is None and answer.status is not Status.OPTIMAL:
                # no point, and no more is proved: others may have one
                stuck = min(stuck, node_bound)
                children = []
            elif column is None:
                number = np.round(answer.point[built.servers]).astype(np.int64)
                best = (number, counted(built.count, answer.point))
                proved, closed = min(node_bound, stuck), node_bound <= stuck
                break
            else:
                cut = np.floor(answer.point[column])
                leaves += 1
                children = [(lower, ceiling.copy()), (lower.copy(), ceiling)]
                children[0][1][column], children[1][0][column] = cut, cut + 1
        for lows, highs in children:
            made += 1
            heapq.heappush(queue, (node_bound, -made, lows, highs))
    return Aggregated(max(min(proved, stuck), 1), closed, leaves, *(best or (None, None)))


def spread_room(
    problem: Reduced, cost: int, clock: Clock, least: Integers | None = None
) -> tuple[Integers, Floats] | None:
    """Find servers (q,) of at most the given cost, and VMs by class (s, q), that leave spare
    capacity in every class; None if none were found.

    A dive: of the classes whose servers are not whole, those of the one nearest to a whole number
    may no longer be fewer (or more) than that, or else than the next one, and the program is solved
    again.

    Parameters
    ----------
    least : (q,) servers that are among them: where they suffice, the dive cannot end in vain.
    """
    built = aggregate_program(problem.pooled, 1_000, cost)
    dive = Dive(built, problem.request, clock)
    lower, upper = dive.lower, dive.upper
    if least is not None:
        lower[built.servers] = np.maximum(lower[built.servers], least)
    point = dive.solve()
    while point is not None and not clock.expired:
        number = point[built.servers]
        apart = np.abs(number - np.round(number))
        if apart.max() <= WHOLE:
            break
        place = int(np.argmin(np.where(apart > WHOLE, apart, np.inf)))
        column, value = built.servers[place], float(number[place])
        ends = lower[column], upper[column]
        for whole in sorted((np.floor(value), np.ceil(value)), key=lambda end: abs(value - end)):
            lower[column], upper[column] = ends
            (lower if whole > value else upper)[column] = whole
            point = dive.solve()
            if point is not None:
                break
    if (
        point is None
        or (np.abs(point[built.servers] - np.round(point[built.servers])) > WHOLE).any()
    ):
        return None
    return np.round(point[built.servers]).astype(np.int64), counted(built.count, point)


def _fractional(built: Aggregate, point: Floats) -> int | None:
    """Index of the server column to branch on, the one farthest from an integer, of pooled servers
    before others; None if all are integers.
    """
    for columns in (built.pools, built.servers):
        apart = np.abs(point[columns] - np.round(point[columns]))
        if len(columns) and apart.max() > WHOLE:
            return int(columns[int(np.argmax(apart))])
    return None


def counted(column: Integers, point: Floats) -> Floats:
    """VMs of each type on each class, shape (s, p), at a point of the program; 0 where `column` is
    -1, for no column.
    """
    return np.where(column >= 0, point[np.maximum(column, 0)], 0.0)
