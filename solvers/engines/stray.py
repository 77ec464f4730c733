"""Keep what HiGHS prints past its own switch off standard output.

HiGHS 1.12 prints "HighsMipSolverData::transformNewIntegerFeasibleSolution tmpSolver.run();" with C's printf whenever it
solves an integer program again with its whole numbers fixed, whatever `output_flag` says: about once in a thousand small
programs, more often without presolve. In a program that writes its own output there the line is dirt.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import NamedTuple

_lock = threading.Lock()
_inside: list[int | None] = []  # the stream to put back, once per run that is going on


class _Streams(NamedTuple):
    out: ctypes.c_void_p
    error: ctypes.c_void_p


@contextmanager
def c_output_on_stderr() -> Iterator[None]:
    """Let C's printf write to stderr meanwhile.

    C's own variable `stdout` is pointed elsewhere, not the descriptor: what Python prints, in this thread or another, goes
    where it always went. Only glibc is known to allow it; elsewhere nothing is done.
    """
    streams = _streams()
    if streams is None:
        yield
        return
    with _lock:  # runs may overlap when Ctrl-C gave one up: the first saves the stream, the last puts it back
        _inside.append(streams.out.value)
        streams.out.value = streams.error.value
    try:
        yield
    finally:
        with _lock:
            first = _inside[0]
            _inside.pop()
            if not _inside:
                streams.out.value = first


@cache
def _streams() -> _Streams | None:
    """glibc's variables `stdout` and `stderr`; None with another C library, where they may be constants."""
    try:
        library = ctypes.CDLL(None)
        library.gnu_get_libc_version  # noqa: B018  # only glibc has it
        return _Streams(ctypes.c_void_p.in_dll(library, "stdout"), ctypes.c_void_p.in_dll(library, "stderr"))
    except (OSError, AttributeError, TypeError, ValueError):
        return None
