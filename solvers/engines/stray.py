"""Keep what HiGHS prints past its own switch off the terminal.

HiGHS 1.12 prints "HighsMipSolverData::transformNewIntegerFeasibleSolution tmpSolver.run();" with
C's printf whenever it solves an integer program again with its whole numbers fixed, whatever
`output_flag` says: about once in a thousand small programs, more often without presolve. It says
nothing to anybody, in a pipe or beside a progress bar.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import NamedTuple

_lock = threading.Lock()
_inside: list[int | None] = []  # the stream to put back, once per run that is going on


class _Streams(NamedTuple):
    out: ctypes.c_void_p
    nowhere: int


@contextmanager
def c_output_nowhere() -> Iterator[None]:
    """Let C's printf write to the null device meanwhile.

    C's own variable `stdout` is pointed elsewhere, not the descriptor: what Python prints, in this
    thread or another, goes where it always went. glibc and macOS allow it; elsewhere nothing is
    done.
    """
    streams = _streams()
    if streams is None:
        yield
        return
    # runs may overlap when Ctrl-C gave one up: the first saves the stream, the last puts it back
    with _lock:
        _inside.append(streams.out.value)
        streams.out.value = streams.nowhere
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
    """C's variable `stdout` and a stream to the null device; None with a C library that may hold
    `stdout` constant.
    """
    try:
        library = ctypes.CDLL(None)
        name = (
            "stdout" if hasattr(library, "gnu_get_libc_version") else "__stdoutp"
        )  # glibc's, macOS's
        out = ctypes.c_void_p.in_dll(library, name)
        library.fopen.restype = ctypes.c_void_p
        nowhere = library.fopen(os.devnull.encode(), b"w")
        return _Streams(out, nowhere) if nowhere else None
    except (OSError, AttributeError, TypeError, ValueError):
        return None
