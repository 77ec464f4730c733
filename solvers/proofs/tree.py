"""Trees of cases which prove that an integer program is infeasible, for
`verify.Program.impossible`.

The bounds of every case are tightened by the verifier's own code, so a tree made here is one that
it accepts. A case that is left is given to HiGHS: as a linear program it either is impossible, or
its objective is beyond what is asked for (then its multipliers, in whole numbers, close it), or its
point says at which column to split.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import numpy.typing as npt

from ...models.program import Floats, Integers, LinearProgram
from ...verify.program import Program
from ...verify.reading import MOST_WORK, Refused, charge
from ..engines import EngineAnswer, WarmStartedProgram
from ..engines.cpsat import nearest_integer, solve_with_cp_sat
from ..outcome import Clock, Status, raise_if_interrupted
from . import patience

Bounds = npt.NDArray[Any]
"""Of columns: whole numbers of 64 bits, or Python's where these are too short."""

Terms = list[tuple[int, int]]

GRIDS = (1, 4, 10**3, 10**6, 10**9, 10**12)
"""Parts of one in which multipliers are tried, the shortest first."""

WHOLE = 1e-6
"""What is this near to a whole number is taken for one."""

RELATIVE = 1e-9
"""How far off the value of a relaxation may be."""

PASSES = 20
"""Times that all columns are tried at the root while that fixes more of them."""

PROBING = 0.4
"""Share of the verifier's patience that may go into cases of which one side has nothing left."""

AT_ONCE = 20_000_000
"""Terms that are looked at between two looks at the clock."""

FEW = 100
"""Cases of a tree after which CP-SAT is asked instead."""

MOST_TRIED = 50
"""Columns that are compared where a case is split."""


def whole_program(given: LinearProgram) -> Program:
    """Convert a linear program of integers, with columns from 0, to the verifier's form."""
    program = Program()
    for high in given.upper.tolist():
        program.column(int(high))
    matrix = given.matrix.tocsr()
    for r, (low, high) in enumerate(
        zip(given.row_lower.tolist(), given.row_upper.tolist(), strict=True)
    ):
        part = slice(matrix.indptr[r], matrix.indptr[r + 1])
        row = zip(matrix.indices[part].tolist(), matrix.data[part].tolist(), strict=True)
        terms = [(j, int(a)) for j, a in row]
        if high < math.inf:
            program.at_most(terms, math.floor(high))
        if low > -math.inf:
            program.at_most([(j, -a) for j, a in terms], -math.ceil(low))
    return program


def tree_step(
    program: Program,
    objective: tuple[Terms, int] | None,
    clock: Clock,
    at: Sequence[int] | None = None,
    nodes: int = 10**9,
) -> dict[str, Any] | None:
    """Proof step (tree of cases, leaves and cuts) that an integer program has no point; None if it
    has one, or at the time, node or work limit.

    Parameters
    ----------
    program : the verifier's; rows are added to it.
    objective : terms and the most that they may sum to: the row that the verifier adds last, if it
        adds one.
    at : columns at which cases are split; a point that is whole there is taken for one of the
        program. All columns when not given.
    nodes : cases that are left after bounds are tightened, at most.
    """
    with suppress(Refused), patience(0.9):  # refused: it would take the verifier too long
        # 1. The root: bounds tightened, and cuts from the relaxation.
        if objective is not None:
            program.at_most(*objective)
        search = _Search(program, objective is not None, clock, at)
        low, high = search.bounds()
        if not search.tighten(low, high):
            return {"tree": []}
        step: dict[str, Any] = {"tree": []}
        cuts = search.root_cuts()
        if cuts:
            step["cuts"] = cuts
            low, high = search.bounds()
        # 2. Case by case: probed, closed by multipliers, or split at a column.
        tree, leaves = step["tree"], list[list[int]]()
        cases: list[tuple[Bounds, Bounds, int | None]] = []  # open: bounds, column just split
        if search.tighten(low, high):
            cases.append((low, high, None))
        passes = PASSES
        while cases:
            if clock.expired:
                return None
            low, high, column = cases.pop()
            if column is not None and not search.tighten(low, high, column):
                continue
            nodes -= 1
            if passes and not search.fix(low, high, search.columns, passes, tree):
                continue
            passes = 0
            closed, open_columns = (None, None) if nodes < 0 else search.close(low, high)
            if closed is not None:
                tree.append(-1)
                leaves.append(closed)
                continue
            if open_columns is None:
                return None
            length = len(tree)
            if not search.fix(low, high, open_columns, 1, tree):
                continue
            if len(tree) > length:  # the relaxation of what is left may say more
                cases.append((low, high, None))
                continue
            column, value = search.split(low, high, open_columns)
            tree += [column, value]
            above, below = low.copy(), high.copy()
            above[column], below[column] = value + 1, value
            cases += [(above, high, column), (low, below, column)]
        return {**step, "leaves": leaves} if leaves else step
    return None


def propagation_steps(
    program: Program,
    objective: tuple[Terms, int] | None,
    clock: Clock,
    at: Sequence[int] | None = None,
    nodes: int = 10**9,
    **fields: Any,
) -> list[dict[str, Any]]:
    """Proof steps with the tree of `tree_step` and further fields; none without a tree."""
    tree = tree_step(program, objective, clock, at, nodes)
    return [] if tree is None else [{"kind": "propagation", **fields, **tree}]


def integer_bound(
    program: LinearProgram, hint: EngineAnswer, clock: Clock, most: float | None = None,
    above: float = -math.inf,
) -> float | None:  # fmt: skip
    """Lower bound of an integer program proved in integers, by a tree of cases or by CP-SAT;
    infinite if infeasible, None if nothing above `above` is proved.

    Parameters
    ----------
    program : columns, coefficients and costs are integers.
    hint : what an engine in floats says, which says only what is tried.
    most : seconds, besides those of the clock.
    """
    bound = -math.inf if hint.bound is None else math.ceil(hint.bound - WHOLE)
    bound = math.inf if hint.status is Status.INFEASIBLE else bound
    if bound <= above:
        return None
    clock = Clock(clock.time_slice(most=most))
    if nothing_below(program, bound, clock):
        return bound
    answer = solve_with_cp_sat(program, time_limit=clock.time_slice(), start=hint.point)
    raise_if_interrupted(answer.stop)
    if answer.status is Status.INFEASIBLE:
        return math.inf
    exact = None if answer.bound is None else nearest_integer(answer.bound)
    return None if exact is None or exact <= above else float(exact)


def nothing_below(program: LinearProgram, bound: float, clock: Clock) -> bool:
    """Return whether a small tree proves that no point of an integer program is below a bound (with
    inf: that it is infeasible).
    """
    cost = [(j, int(c)) for j, c in enumerate(program.cost.tolist()) if c]
    objective = (cost, int(bound) - 1) if bound < math.inf else None
    return tree_step(whole_program(program), objective, clock, nodes=FEW) is not None


def relaxed_bound(program: Program, cost: Terms, clock: Clock) -> int | None:
    """Bound of an integer program by its relaxation after probing; None if there is none."""
    program.at_most(cost, sum(max(0, a) * program.high[j] for j, a in cost))
    with suppress(Refused), patience(0.9):  # refused: it would take the verifier too long
        search = _Search(program, True, clock, None)
        low, high = search.bounds()
        if search.tighten(low, high) and search.fix(low, high, search.columns, PASSES, []):
            _, point, _ = search.relaxed(low, high)
            if point is not None and not clock.expired:
                value = float(search.cost @ point) * search.unit
                return math.ceil(value - RELATIVE * max(1.0, abs(value)))
    return None


class _Search:
    """State of the search for a tree of cases: rows as arrays, and linear programs of cases."""

    def __init__(
        self,
        program: Program,
        has_objective: bool,
        clock: Clock,
        at: Sequence[int] | None,
    ) -> None:
        self.program, self.at = program, at
        self.columns = np.arange(len(program.low)) if at is None else np.array(at, dtype=int)
        self.clock, self.given = clock, len(program.rows)
        self.objective = len(program.rows) - 1 if has_objective else None
        factors = [] if self.objective is None else program.rows[self.objective][0]
        self.unit = max((abs(a) for _, a in factors), default=1)
        self.cost = np.zeros(len(program.low))
        for j, a in factors:
            self.cost[j] = a / self.unit
        self.point: Floats | None = None
        self._living: dict[tuple[int, ...], WarmStartedProgram] = {}
        self._probing = PROBING * MOST_WORK
        self._load()

    def _load(self) -> None:
        """Load the rows as arrays, of 64-bit integers if no sum of a row can overflow."""
        program = self.program
        program.columns_of_rows()
        top = [
            max(abs(least), abs(extent))
            for least, extent in zip(program.low, program.high, strict=True)
        ]
        largest = max(
            (abs(right) + sum(abs(a) * top[j] for j, a in terms) for terms, right in program.rows),
            default=0,
        )
        self.small = largest < 2**61
        length = [len(terms) for terms, _ in program.rows]
        self.row = np.repeat(np.arange(len(length)), length)
        self.column = np.array([j for terms, _ in program.rows for j, _ in terms], dtype=np.int64)
        factor = [a for terms, _ in program.rows for _, a in terms]
        self.factor = np.array(factor, dtype=float)
        self.right = np.array([right for _, right in program.rows], dtype=float)
        if self.small:
            first = np.bincount(self.column, minlength=len(program.low))
            self._rows = (
                np.append(0, np.cumsum(length)),
                self.column,
                np.array(factor, dtype=np.int64),
                np.array([right for _, right in program.rows], dtype=np.int64),
                np.append(0, np.cumsum(first)),
                self.row[np.argsort(self.column, kind="stable")],
            )
            self._room = np.zeros(len(length), dtype=np.int64), np.zeros(len(length), dtype=bool)

    def bounds(self) -> tuple[Bounds, Bounds]:
        """Column bounds of the program."""
        kind = np.int64 if self.small else object
        return np.array(self.program.low, dtype=kind), np.array(self.program.high, dtype=kind)

    def tighten(self, low: Bounds, high: Bounds, column: int | None = None) -> bool:
        """Propagate bounds by all rows, or from those of a column; return False if infeasible."""
        rows = range(len(self.program.rows)) if column is None else self.program.of[column]
        charge(2 * len(low))
        if not self.small:
            return self.program.tighten(low, high, list(rows))  # type: ignore[arg-type]
        from .propagation_kernels import tighten

        self._room[1][list(rows)] = True
        left, work = tighten(self._rows, low, high, *self._room)
        charge(work)
        return left

    def fix(
        self, low: Bounds, high: Bounds, columns: Integers, passes: int, tree: list[int]
    ) -> bool:
        """Probe columns while one side of a split is infeasible; return False if both are. Sets the
        `score` of each column: the number of columns that a split fixes.
        """
        self.score = np.zeros(len(columns))
        if not self.small or self._probing <= 0:
            return True
        from .propagation_kernels import probe

        for _ in range(passes):
            done, length = 0, len(tree)
            while done < len(columns) and not self.clock.expired:
                some, hints = columns[done:], np.zeros((2, 2 * len(columns)), dtype=np.int64)
                left, splits, work, tried = probe(
                    self._rows, low, high, *self._room, some, self.score[done:], hints, AT_ONCE
                )
                self._probing -= work
                charge(work)
                tree += hints[:, :splits].T.ravel().tolist()
                if not left:
                    return False
                done += tried
            if len(tree) == length or self._probing <= 0:
                break
        return True

    def root_cuts(self) -> list[list[int]]:
        """Cut from the relaxation's multipliers, for programs beyond 64-bit integers, or none."""
        if self.objective is None or self.small:
            return []
        status, _, dual = self.relaxed(*self.bounds())
        if status is not Status.OPTIMAL or dual is None:
            return []
        hint = self._hint(dual, GRIDS[2], self.objective)
        if len(hint) <= 2:
            return []
        total, right = self.program.sum_of(hint)
        self.program.at_most(list(total.items()), right)
        self._load()
        return [[1, *hint]]

    def close(self, low: Bounds, high: Bounds) -> tuple[list[int] | None, Integers | None]:
        """Multipliers that close a case, or the columns at which to split it, best first; neither
        if it is feasible.
        """
        anywhere = np.flatnonzero(low < high)[:1]  # none when all are fixed: the case is a point
        status, self.point, dual = self.relaxed(low, high)
        if status is Status.INFEASIBLE:
            _, _, dual = self.relaxed(low, high, elastic=True)
            closed = self._closes(dual, None, low, high)
        else:
            closed = (
                None if self.objective is None else self._closes(dual, self.objective, low, high)
            )
        if closed is not None:
            return closed, None
        if self.point is not None:
            point = self.point[self.columns]
            part = np.abs(point - np.round(point))
            order = np.argsort(-part, kind="stable")[: int((part > WHOLE).sum())]
            if len(order):
                return None, self.columns[order[:MOST_TRIED]]
            anywhere = anywhere if self.at is None else anywhere[:0]
        return None, anywhere if len(anywhere) else None

    def split(self, low: Bounds, high: Bounds, columns: Integers) -> tuple[int, int]:
        """Column of largest score to split, and the value at which to split it."""
        column = int(columns[int(np.argmax(self.score))])
        least, most = int(low[column]), int(high[column])
        if self.point is not None and least <= (value := math.floor(self.point[column])) < most:
            return column, value
        return column, (least + most) // 2

    def _closes(
        self, dual: Floats | None, objective: int | None, low: Bounds, high: Bounds
    ) -> list[int] | None:
        """Leaf whose row multipliers prove in integers that the case is impossible, else None."""
        if dual is None:
            return None
        least, most = low.tolist(), high.tolist()  # whole numbers of any size
        for over in GRIDS:
            hint = self._hint(dual, over, objective)
            total, right = self.program.sum_of(hint)
            if sum(a * (least[j] if a > 0 else most[j]) for j, a in total.items()) > right:
                return hint
        return None

    def _hint(self, dual: Floats, over: int, objective: int | None) -> list[int]:
        """Hint of a leaf for the verifier: a list of row, integer multiplier, row, and so on."""
        often = np.maximum(0.0, -dual) * (1.0 if objective is None else self.unit)
        times = {int(r): round(float(often[r]) * over) for r in np.flatnonzero(often)}
        if self.objective is not None:
            times.pop(self.objective, None)
        if objective is not None:
            times[objective] = over
        return [number for r, number in times.items() if number for number in (r, number)]

    def relaxed(
        self, low: Bounds, high: Bounds, elastic: bool = False
    ) -> tuple[Status, Floats | None, Floats | None]:
        """Linear program of a case, or (elastic) the least total violation of its rows: status,
        point, and multipliers.

        If most columns are fixed it is about the others, and about the rows that they can break;
        otherwise it starts from the basis of the last one.
        """
        from scipy.sparse import csr_array, eye_array, hstack

        # 1. The columns that are not fixed, and the rows that they can break.
        least, most = low.astype(float), high.astype(float)
        fixed = low == high
        few = 2 * int(fixed.sum()) > len(low)
        columns = np.flatnonzero(~fixed) if few else np.arange(len(low))
        if not len(columns):
            return Status.OPTIMAL, least, None
        ends = self.factor * np.where(self.factor > 0, most[self.column], least[self.column])
        shut = self.factor * np.where(fixed & few, least, 0.0)[self.column]
        needed = (
            np.bincount(self.row, ends, len(self.right)) > self.right
            if few
            else self.right < np.inf
        )
        needed[self.given :] = False  # the cut follows from the other rows
        if self.objective is not None and not elastic:
            needed[self.objective] = False
        rows = np.flatnonzero(needed)
        done = np.bincount(self.row, shut, len(self.right)).astype(float)
        room = (self.right - done)[rows]
        # 2. The program, with a violation of each row if it is elastic.
        shape = len(self.right), len(low)
        matrix = csr_array((self.factor, (self.row, self.column)), shape=shape)[rows][:, columns]
        cost, least, most = self.cost[columns], least[columns], most[columns]
        if elastic:
            cost, least = (np.append(part, np.zeros(len(rows))) for part in (0.0 * cost, least))
            cost[len(columns) :], most = 1.0, np.append(most, np.full(len(rows), np.inf))
            matrix = hstack([matrix, -eye_array(len(rows))]).tocsr()
        lower, whole = np.full(len(rows), -np.inf), np.zeros(len(cost), dtype=bool)
        linear = LinearProgram(matrix, lower, room, cost, least, most, whole)
        if not few and matrix.shape in self._living:
            answer = self._living[matrix.shape].again(linear, self.clock.time_slice())
        else:
            living = WarmStartedProgram(linear)
            if not few:
                self._living[matrix.shape] = living
            answer = living.solve(self.clock.time_slice())
        # 3. Multipliers and point of all rows and columns.
        dual = point = None
        if answer.row_dual is not None:
            dual = np.zeros(self.given)
            dual[rows] = answer.row_dual
        if answer.point is not None:
            point = low.astype(float)
            point[columns] = answer.point[: len(columns)]
        return answer.status, point, dual
