"""Trees of cases that show a program in whole numbers to have no point, for
`verify.Program.impossible`.

The bounds of every case are tightened by the verifier's own code, so a tree made here is one that
it accepts. A case that is left is given to HiGHS: as a linear program it either is impossible, or
its objective is beyond what is asked for (then its multipliers, in whole numbers, close it), or its
point says at which column to split.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ... import verify
from ...models.program import LinearProgram
from ..engines import EngineAnswer, LivingProgram
from ..outcome import Clock, Status
from . import patience

Floats = npt.NDArray[np.float64]
Terms = list[tuple[int, int]]

GRIDS = (1, 4, 10**3, 10**6, 10**9, 10**12)
"""Parts of one in which multipliers are tried, the shortest first."""

WHOLE = 1e-6
"""What is this near to a whole number is taken for one."""


def tree_step(
    program: verify.Program,
    objective: tuple[Terms, int] | None,
    clock: Clock,
    at: Sequence[int] | None = None,
    nodes: int = 10**9,
) -> dict[str, Any] | None:
    """The tree, its leaves and cuts as fields of a step; None when there is a point, or time is up
    first.

    Parameters
    ----------
    program : the verifier's; rows are added to it.
    objective : terms and the most that they may sum to: the row that the verifier adds last, if it
        adds one.
    at : columns at which cases are split; a point that is whole there is taken for one of the
        program. All columns when not given.
    nodes : cases that are left after bounds are tightened, at most.
    """
    try:
        with patience(0.9):
            return _tree(program, objective, clock, at, nodes)
    except verify.Refused:  # it would take the verifier too long
        return None


def _tree(
    program: verify.Program,
    objective: tuple[Terms, int] | None,
    clock: Clock,
    at: Sequence[int] | None,
    nodes: int,
) -> dict[str, Any] | None:
    if objective is not None:
        program.at_most(*objective)
    search = _Search(program, objective is not None, clock, at)
    program.columns_of_rows()
    if not program.tighten(list(program.low), list(program.high), list(range(len(program.rows)))):
        return {"tree": []}
    cuts = search.root_cuts()
    made: dict[str, Any] = {"tree": []}
    if cuts:
        made["cuts"] = cuts
    program.columns_of_rows()
    cases = [(list(program.low), list(program.high), list(range(len(program.rows))))]
    leaves: list[list[int]] = []
    while cases:
        if clock.over:
            return None
        low, high, rows = cases.pop()
        if not program.tighten(low, high, rows):
            continue
        nodes -= 1
        closed, split = (None, None) if nodes < 0 else search.close(low, high)
        if closed is not None:
            made["tree"].append(-1)
            leaves.append(closed)
            continue
        if split is None:
            return None
        column, value = split
        made["tree"] += [column, value]
        above, below = list(low), list(high)
        above[column], below[column] = value + 1, value
        cases += [(above, high, program.of[column]), (low, below, program.of[column])]
    return {**made, "leaves": leaves} if leaves else made


class _Search:
    """The linear program of a case, and what its multipliers prove."""

    def __init__(
        self,
        program: verify.Program,
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
        self._entries: tuple[int, list[Floats]] = (0, [])
        self._living: dict[tuple[int, ...], LivingProgram] = {}

    def root_cuts(self) -> list[list[int]]:
        """The objective's row less the multipliers of the relaxation: its factors are reduced
        costs, and its room the gap.
        """
        if self.objective is None:
            return []
        low, high = list(self.program.low), list(self.program.high)
        answer = self._relaxed(low, high)
        if answer.status is not Status.OPTIMAL or answer.row_dual is None:
            return []
        hint = self._hint(answer.row_dual, GRIDS[2], self.objective)
        if len(hint) <= 2:
            return []
        total, right = self.program.sum_of(hint)
        self.program.at_most(list(total.items()), right)
        return [[1, *hint]]

    def close(
        self, low: list[int], high: list[int]
    ) -> tuple[list[int] | None, tuple[int, int] | None]:
        """Multipliers that close a case, or the column and the value at which to split it; neither
        when it has a point.
        """
        answer = self._relaxed(low, high)
        if answer.status is Status.INFEASIBLE:
            answer = self._elastic(low, high)
            closed = self._closes(answer.row_dual, None, low, high)
            return closed, None if closed else self._any_split(low, high)
        if answer.row_dual is None or answer.point is None:
            return None, self._any_split(low, high)
        if self.objective is not None:
            closed = self._closes(answer.row_dual, self.objective, low, high)
            if closed:
                return closed, None
        point = answer.point[self.columns]
        part = np.abs(point - np.round(point))
        if part.max(initial=0.0) > WHOLE:
            column = int(self.columns[int(np.argmax(part))])
            return None, (column, int(np.floor(answer.point[column])))
        return None, self._any_split(low, high) if self.at is None else None

    def _any_split(self, low: list[int], high: list[int]) -> tuple[int, int] | None:
        """At the first column that is open; None when all are fixed, and the case is a point."""
        for j, (least, most) in enumerate(zip(low, high, strict=True)):
            if least < most:
                return j, (least + most) // 2
        return None

    def _closes(
        self, dual: Floats | None, objective: int | None, low: list[int], high: list[int]
    ) -> list[int] | None:
        """The hint of a leaf, if these multipliers close the case in whole numbers."""
        if dual is None:
            return None
        for over in GRIDS:
            hint = self._hint(dual, over, objective)
            total, right = self.program.sum_of(hint)
            if sum(a * (low[j] if a > 0 else high[j]) for j, a in total.items()) > right:
                return hint
        return None

    def _hint(self, dual: Floats, over: int, objective: int | None) -> list[int]:
        """Rows and how often each is taken; the program's objective was divided by `unit`."""
        often = np.maximum(0.0, -dual) * (1.0 if objective is None else self.unit)
        times = {int(r): round(float(often[r]) * over) for r in np.flatnonzero(often)}
        if self.objective is not None:
            times.pop(self.objective, None)
        if objective is not None:
            times[objective] = over
        return [number for r, number in times.items() if number for number in (r, number)]

    def _relaxed(self, low: list[int], high: list[int]) -> EngineAnswer:
        cost = np.zeros(len(low))
        for j, a in [] if self.objective is None else self.program.rows[self.objective][0]:
            cost[j] = a / self.unit
        return self._solved(self._linear(low, high, cost, 0))

    def _elastic(self, low: list[int], high: list[int]) -> EngineAnswer:
        """The least sum by which the rows are missed: its multipliers show that it is not 0."""
        rows = self.given
        cost = np.append(np.zeros(len(low)), np.ones(rows))
        return self._solved(self._linear(low, high, cost, rows))

    def _solved(self, program: LinearProgram) -> EngineAnswer:
        """From the basis of the last program of this shape, if there was one."""
        shape = program.matrix.shape
        if shape in self._living:
            return self._living[shape].again(program, self.clock.share())
        self._living[shape] = LivingProgram(program)
        return self._living[shape].solve(self.clock.share())

    def _linear(self, low: list[int], high: list[int], cost: Floats, elastic: int) -> LinearProgram:
        from scipy.sparse import csr_array, eye_array, hstack

        rows = self.program.rows[: self.given]  # the cut follows from them
        if self._entries[0] != len(rows):
            entries = [(r, j, a) for r, (terms, _) in enumerate(rows) for j, a in terms]
            parts = [np.array(part, dtype=float) for part in zip(*entries, strict=True)]
            self._entries = len(rows), parts
        r, j, a = self._entries[1]
        matrix = csr_array(
            (a, (r.astype(np.int64), j.astype(np.int64))), shape=(len(rows), len(low))
        )
        right = np.array([most for _, most in rows], dtype=float)
        if self.objective is not None and not elastic:
            right[self.objective] = np.inf
        if elastic:
            matrix = hstack([matrix, -eye_array(elastic)]).tocsr()
        return LinearProgram(
            matrix,
            np.full(len(rows), -np.inf),
            right,
            cost,
            np.append(np.array(low, dtype=float), np.zeros(elastic)),
            np.append(np.array(high, dtype=float), np.full(elastic, np.inf)),
            np.zeros(len(low) + elastic, dtype=bool),
        )
