"""Interface to HiGHS, CP-SAT and CVXPY; no other module of the package calls them to solve a
program.
"""

from __future__ import annotations

from dataclasses import replace

import numpy.typing as npt

from ...instances.problem.errors import InvalidOption
from ...instances.problem.option_types import validate_options
from ...models.program import LinearProgram
from ..outcome import LEAST_SECONDS, Report, Status, Stop
from .answer import LOCK, EngineAnswer, EngineName, settle
from .child import START_LIMIT, Child
from .convex import ConvexAnswer, solve_convex
from .cpsat import CpSatAnswer, solve_cp_sat, solve_with_cp_sat
from .highs import TOLERANCES, WITHOUT_HEURISTICS, WarmStartedProgram, solve_with_highs
from .iterative_refinement import solve_refined
from .subprocess_solve import call_in_subprocess, solve_in_subprocess

__all__ = [
    "LOCK",
    "START_LIMIT",
    "Child",
    "ConvexAnswer",
    "CpSatAnswer",
    "EngineAnswer",
    "EngineName",
    "WarmStartedProgram",
    "call_in_subprocess",
    "solve_convex",
    "solve_cp_sat",
    "solve_in_subprocess",
    "solve_program",
    "solve_refined",
]

_LARGE = 10**5
"""Nonzeros from which loading and presolving take tenths of a second, in which an engine looks at
no clock.
"""


@validate_options
def solve_program(
    program: LinearProgram,
    *,
    engine: EngineName = "highs",
    time_limit: float | None = None,
    start: npt.ArrayLike | None = None,
    report: Report | None = None,
    heuristics: bool = True,
    tolerance: float | None = None,
    by_cores: bool = False,
) -> EngineAnswer:
    """Minimize a mixed-integer linear program with the named engine.

    Parameters
    ----------
    program : the arrays.
    engine : "highs", or "cp-sat" (columns with finite bounds; numbers become whole ones, see
        `WholeProgram`).
    time_limit : seconds, more than 0.
    start : (columns,) a point to begin with; ignored when it breaks a row. When no time is left
        (`LEAST_SECONDS`, as from `Clock.time_slice`) for a program that an engine takes long to
        load, it is the answer.
    report : progress; may raise KeyboardInterrupt, which like Ctrl-C ends the run with its best
        answer.
    heuristics : False leaves out HiGHS's own searches for good points, which take longer than a
        small program itself.
    tolerance : of HiGHS, instead of its 1e-9: for programs whose coefficients are all near 1, on
        which presolve with the least tolerance is at times mistaken.
    by_cores : of CP-SAT: raise the bound, see `solve_cp_sat`.

    Returns
    -------
    EngineAnswer
        Its point has been rounded and checked, its objective recomputed, and its bound never passes
        the objective.

    Raises
    ------
    InvalidOption
        The engine is not known or the time limit is not above 0.
    EngineError
        The library failed, or the program has numbers it cannot hold.
    """
    if time_limit is not None and time_limit <= LEAST_SECONDS and program.matrix.nnz > _LARGE:
        out_of_time = EngineAnswer(Status.UNKNOWN, Stop.TIME_LIMIT, message="no time was left")
        answer = settle(
            program,
            out_of_time,
            None if start is None or not program.holds(program.rounded(start)) else start,
        )
    elif engine == "cp-sat":
        answer = solve_with_cp_sat(
            program, time_limit=time_limit, start=start, report=report, by_cores=by_cores
        )
    elif len(program.products):
        raise InvalidOption(
            "engine is 'highs'; this program multiplies columns, which needs engine='cp-sat'"
        )
    else:
        options = {} if heuristics else dict(WITHOUT_HEURISTICS)
        if tolerance is not None:
            options |= dict.fromkeys(TOLERANCES, tolerance)
        answer = solve_with_highs(
            program, time_limit=time_limit, start=start, report=report, options=options
        )
    return replace(answer, names=program.names)
