"""Linear relaxation of a pairing program: a bound from its multipliers, and a pairing near its
point.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...instances.colocation.instance import Colocation, Floats, Pairing
from ...models.colocation import PairingProgram
from ...models.program import LinearProgram
from ..engines import WarmStartedProgram
from ..outcome import Clock, Status, raise_if_interrupted
from .feasible import greedily_filled

WHOLE = 1e-6
"""What is this near to a whole number is one."""


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
    """Lower bound from any multipliers: each column at its cheaper bound."""
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
    whole = np.floor(
        np.maximum(point[: len(program.first) + len(program.alone)], 0.0) + WHOLE
    ).astype(np.int64)
    single = np.zeros(instance.types, dtype=np.int64)
    single[program.alone] = whole[len(program.first) :]
    near = greedily_filled(
        instance, Pairing(program.first, program.second, whole[: len(program.first)], single)
    )
    return near if (near.agents_used() == instance.count).all() else None
