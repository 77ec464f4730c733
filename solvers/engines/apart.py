"""A solver in a process of its own, ended when it overruns its time: the only limit that always holds."""

from __future__ import annotations

import pickle
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from ...instances.problem.errors import EngineError
from ...models.program import LinearProgram
from ..outcome import Status, Stop, validate_time_limit
from .answer import EngineAnswer
from .highs import solve_with_highs

Answer = TypeVar("Answer")

GRACE = 5.0
"""Seconds a process may pass its time limit (and its start-up) before it is ended."""

_POLL = 0.05

# A fresh interpreter and not multiprocessing's spawn: that would run the caller's own script again when it has no main guard.
_CHILD = """
import pickle, signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
sys.path[:] = pickle.load(sys.stdin.buffer)
function, arguments, keywords, target = pickle.load(sys.stdin.buffer)
answer = function(*arguments, **keywords)
with open(target, "wb") as stream:
    pickle.dump(answer, stream)
"""


def solve_apart(program: LinearProgram, *, time_limit: float | None = None, grace: float = GRACE) -> EngineAnswer:
    """Minimise a program with HiGHS in a process of its own; see `solve_program`.

    HiGHS looks at its clock too rarely on some large programs. What a process that had to be ended knew is lost: the
    answer is then unknown. Ctrl-C ends it too.
    """
    validate_time_limit(time_limit)
    hard = None if time_limit is None else time_limit + grace
    try:
        answer = call_apart(solve_with_highs, program, time_limit=time_limit, hard_limit=hard)
    except KeyboardInterrupt:
        return EngineAnswer(Status.UNKNOWN, Stop.INTERRUPTED, message="interrupted in a process of its own")
    if answer is None:
        return EngineAnswer(Status.UNKNOWN, Stop.TIME_LIMIT, message=f"ended {grace:g} s after its time limit")
    return answer


def call_apart(
    function: Callable[..., Answer], *arguments: Any, hard_limit: float | None = None, **keywords: Any
) -> Answer | None:
    """Call a function of this package in a fresh interpreter; None when `hard_limit` seconds pass first.

    Function, arguments and answer are pickled. The process ignores Ctrl-C and is ended by this one, which hears it.

    Raises
    ------
    EngineError
        The process died, or its function raised; with the last line it wrote.
    """
    with tempfile.TemporaryDirectory(prefix="cotenant-") as folder:
        target = Path(folder) / "answer"
        errors = Path(folder) / "errors"
        with errors.open("wb") as stream:
            child = subprocess.Popen(
                [sys.executable, "-c", _CHILD], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=stream
            )
        try:
            _send(child, (function, arguments, keywords, str(target)))
            if not _finished(child, hard_limit):
                return None
        finally:
            if child.poll() is None:
                child.kill()
            child.wait()
        if child.returncode != 0 or not target.exists():
            lines = errors.read_text(errors="replace").strip().splitlines()
            raise EngineError(f"the solver's process ended with code {child.returncode}: {lines[-1] if lines else 'no word'}")
        answer: Answer = pickle.loads(target.read_bytes())
        return answer


def _send(child: subprocess.Popen[bytes], call: tuple[Any, ...]) -> None:
    assert child.stdin is not None
    try:
        child.stdin.write(pickle.dumps([entry for entry in sys.path if isinstance(entry, str)]))
        child.stdin.write(pickle.dumps(call))
    except BrokenPipeError:  # it died at once; its last words are read by the caller
        pass
    finally:
        try:
            child.stdin.close()
        except BrokenPipeError:
            pass


def _finished(child: subprocess.Popen[bytes], hard_limit: float | None) -> bool:
    end = None if hard_limit is None else time.perf_counter() + hard_limit
    while child.poll() is None:
        if end is not None and time.perf_counter() > end:
            return False
        time.sleep(_POLL)
    return True
