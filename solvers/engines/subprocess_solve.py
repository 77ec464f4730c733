"""Solver calls in a child process that is killed at a hard time limit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy.typing as npt

from ...instances.problem.errors import EngineError
from ...instances.problem.option_types import validate_options
from ...models.program import LinearProgram
from ..outcome import Status, Stop, validate_time_limit
from .answer import EngineAnswer
from .child import Child
from .highs import solve_with_highs

Answer = TypeVar("Answer")

KILL_GRACE = 1.0
"""Seconds a process may pass its time limit before it is ended."""


@validate_options
def solve_in_subprocess(
    program: LinearProgram,
    *,
    time_limit: float | None = None,
    start: npt.ArrayLike | None = None,
) -> EngineAnswer:
    """Minimize a program with HiGHS in a child process; see `solve_program`.

    HiGHS looks at its clock too rarely on some large programs. What a process that had to be ended
    knew is lost: the answer is then unknown. Ctrl-C ends it too.
    """
    validate_time_limit(time_limit)
    hard = None if time_limit is None else time_limit + KILL_GRACE
    try:
        answer = call_in_subprocess(
            solve_with_highs, program, time_limit=time_limit, start=start, hard_limit=hard
        )
    except KeyboardInterrupt:
        return EngineAnswer(
            Status.UNKNOWN, Stop.INTERRUPTED, message="interrupted in a process of its own"
        )
    if answer is None:
        return EngineAnswer(
            Status.UNKNOWN, Stop.TIME_LIMIT, message=f"ended {KILL_GRACE:g} s after its time limit"
        )
    return answer


@validate_options
def call_in_subprocess(
    function: Callable[..., Answer],
    *arguments: Any,
    hard_limit: float | None = None,
    **keywords: Any,
) -> Answer | None:
    """Call a function of this package in a fresh interpreter; None after `hard_limit` seconds.

    Function, arguments and answer are pickled. The process ignores Ctrl-C and is ended by this one,
    which receives it.

    Raises
    ------
    EngineError
        The process died, or its function raised; with the last line it wrote.
    """
    child = Child()
    try:
        child.ask(function, *arguments, limit=hard_limit, **keywords)
        reply = child.answer(hard_limit)
    finally:
        end = child.end()
    if reply.kind == "done":
        answer: Answer = reply.value
        return answer
    if reply.kind == "overran":
        return None
    raise EngineError(
        f"the solver's process {end if reply.kind == 'died' else f'raised {reply.value}'}"
    )
