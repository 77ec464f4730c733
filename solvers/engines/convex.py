"""Interface to CVXPY."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

from ...instances.problem.errors import InvalidOption
from ...instances.problem.option_types import validate_options
from ..outcome import Status, Stop
from .answer import run_interruptibly


@dataclass(frozen=True)
class ConvexAnswer:
    """Status of a CVXPY solve; values are stored in the problem's variables.

    Attributes
    ----------
    status, stop : how good, and why it stopped. `optimal` is to the solver's tolerance: check your
        own residuals.
    objective : the problem's value; None without one.
    message : CVXPY's own word.
    """

    status: Status
    stop: Stop
    objective: float | None
    message: str


@validate_options
def solve_convex(
    problem: Any, *, time_limit: float | None = None, solver: str = "CLARABEL", **options: Any
) -> ConvexAnswer:
    """Solve a `cvxpy.Problem`, whose variables hold the answer; return its status.

    Parameters
    ----------
    problem : made by a function in `models`; its variables hold the answer afterwards.
    time_limit : seconds (Clarabel).
    solver : the name CVXPY knows it by.
    options : handed to the solver.
    """
    import cvxpy

    if not isinstance(problem, cvxpy.Problem):
        raise InvalidOption(f"problem is a {type(problem).__name__}; expected a cvxpy.Problem")
    if time_limit is not None:
        options.setdefault("time_limit", float(time_limit))
    failure: list[str] = []

    def work() -> None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # log(0) at a point it stopped at
                warnings.simplefilter(
                    "ignore", UserWarning
                )  # "may be inaccurate": the status says it too
                problem.solve(solver=solver, verbose=False, **options)  # type: ignore[no-untyped-call]
        except cvxpy.error.SolverError as error:
            failure.append(str(error))

    interrupted = run_interruptibly(work, lambda: None)
    if failure:
        return ConvexAnswer(
            Status.UNKNOWN, Stop.INTERRUPTED if interrupted else Stop.FINISHED, None, failure[0]
        )
    word = str(problem.status)
    status, stop = {
        cvxpy.OPTIMAL: (Status.OPTIMAL, Stop.FINISHED),
        cvxpy.OPTIMAL_INACCURATE: (Status.FEASIBLE, Stop.FINISHED),
        cvxpy.INFEASIBLE: (Status.INFEASIBLE, Stop.FINISHED),
        cvxpy.USER_LIMIT: (Status.UNKNOWN, Stop.TIME_LIMIT),
    }.get(word, (Status.UNKNOWN, Stop.FINISHED))
    value = (
        float(problem.value)
        if status in (Status.OPTIMAL, Status.FEASIBLE) and problem.value is not None
        else None
    )
    return ConvexAnswer(status, Stop.INTERRUPTED if interrupted else stop, value, word)
