"""Iterative refinement of linear programs beyond the tolerances of HiGHS.

Iterative refinement (Gleixner, Steffy and Wolter 2016, "Iterative refinement for linear
programming"): what an answer misses, in its rows, bounds and reduced costs, is measured with more
digits, magnified, and solved for as a program of its own from the last basis; a few rounds, each
worth about nine digits.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from ...instances.problem.option_types import validate_options
from ...models.program import LinearProgram
from ..outcome import LEAST_SECONDS, Clock, Status
from .answer import EngineAnswer
from .highs import WarmStartedProgram

ROUNDS = 4

EXACT = 1e-17
"""Misses below this are rounding of the last digit."""

LARGEST = 1e12
"""A miss is magnified at most by this in a round, beyond the round before."""

DEAREST = 1e7
"""A magnified reduced cost above this is cut: the column stays away all the same, and HiGHS fails
on much larger ones.
"""

_Wide = npt.NDArray[np.longdouble]


@validate_options
def solve_refined(program: LinearProgram, *, time_limit: float | None = None) -> EngineAnswer:
    """Solve a continuous linear program with equality rows, with point and multipliers that are
    right beyond 1e-9, by iterative refinement.

    `time_limit` is for all rounds together; what the last round that was finished found is the
    answer.
    """
    # 1. an optimum in ordinary precision
    clock = Clock(time_limit)
    living = WarmStartedProgram(program)
    # HiGHS looks at no clock while it presolves, which takes about as long as to build it did
    spare = None if clock.left is None else max(clock.left - clock.seconds, LEAST_SECONDS)
    answer = living.solve(spare)
    if not _solved(answer):
        return answer
    assert answer.point is not None
    assert answer.row_dual is not None
    point, dual = answer.point.astype(np.longdouble), answer.row_dual.astype(np.longdouble)
    previous = (1.0, 1.0)
    for _ in range(ROUNDS):
        # 2. what rows, bounds and reduced costs miss
        row, low, high, cost = _residuals(program, point, dual)
        primal = max(
            float(np.abs(row).max(initial=0.0)),
            float(low.max(initial=0.0)),
            float((-high).max(initial=0.0)),
        )
        against = np.maximum(np.where(low < 0, cost, 0), np.where(high > 0, -cost, 0))
        misses = (primal, float(against.max(initial=0.0)))
        if max(misses) <= EXACT or clock.expired:
            break
        # 3. the program of these misses, magnified, gives a correction
        times = [
            min(1 / max(miss, EXACT), LARGEST * last)
            for miss, last in zip(misses, previous, strict=True)
        ]
        previous = (times[0], times[1])
        right, lower, upper = ((value * times[0]).astype(float) for value in (row, low, high))
        magnified = np.clip(cost * times[1], -DEAREST, DEAREST).astype(float)
        correction = replace(
            program,
            cost=magnified,
            lower=lower,
            upper=upper,
            row_lower=right,
            row_upper=right,
            offset=0.0,
        )
        further = living.again(correction, clock.time_slice())
        if not _solved(further):
            break
        assert further.point is not None
        assert further.row_dual is not None
        point, dual = point + further.point / times[0], dual + further.row_dual / times[1]
    point = np.clip(point, program.lower, program.upper)
    return replace(
        answer,
        point=point.astype(float),
        objective=program.objective(point),
        row_dual=dual.astype(float),
    )


def _solved(answer: EngineAnswer) -> bool:
    return (
        answer.status is Status.OPTIMAL and answer.point is not None and answer.row_dual is not None
    )


def _residuals(
    program: LinearProgram, point: _Wide, dual: _Wide
) -> tuple[_Wide, _Wide, _Wide, _Wide]:
    """Residuals of rows and of lower (<= 0) and upper bounds (>= 0) of columns; reduced costs."""
    matrix = program.matrix.tocoo()
    row = program.row_upper.astype(np.longdouble)
    np.subtract.at(row, matrix.row, matrix.data.astype(np.longdouble) * point[matrix.col])
    cost = program.cost.astype(np.longdouble)
    np.subtract.at(cost, matrix.col, matrix.data.astype(np.longdouble) * dual[matrix.row])
    return row, program.lower - point, program.upper - point, cost
