"""Suppression of output that engines print to C's stdout regardless of their options.

HiGHS 1.12 prints "HighsMipSolverData::transformNewIntegerFeasibleSolution tmpSolver.run();" with
C's printf whenever it solves an integer program again with its whole numbers fixed, whatever
`output_flag` says: about once in a thousand small programs, more often without presolve. CP-SAT
9.14 logs "Infeasible LNS solution!" and its settings to C's stderr now and then, whatever
`log_search_progress` says. Neither says anything to anybody, in a pipe or beside a progress bar.
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
_inside: list[list[int | None]] = []  # the streams to put back, once per run that is going on


class _Streams(NamedTuple):
    variables: list[ctypes.c_void_p]
    nowhere: int


@contextmanager
def c_output_nowhere() -> Iterator[None]:
    """Context in which the output streams of C code go to the null device.

    C's own variables `stdout` and `stderr` are pointed elsewhere, not the descriptors: what Python
    prints, in this thread or another, goes where it always went. glibc and macOS allow it;
    elsewhere nothing is done.
    """
    streams = _streams()
    if streams is None:
        yield
        return
    # runs may overlap when Ctrl-C gave one up: the first saves the streams, the last puts them back
    with _lock:
        _inside.append([variable.value for variable in streams.variables])
        for variable in streams.variables:
            variable.value = streams.nowhere
    try:
        yield
    finally:
        with _lock:
            first = _inside[0]
            _inside.pop()
            if not _inside:
                for variable, value in zip(streams.variables, first, strict=True):
                    variable.value = value


@cache
def _streams() -> _Streams | None:
    """C's stdout and stderr variables and a stream to the null device; None if the C library does
    not allow changing them.
    """
    try:
        library = ctypes.CDLL(None)
        glibc = hasattr(library, "gnu_get_libc_version")
        names = ("stdout", "stderr") if glibc else ("__stdoutp", "__stderrp")  # glibc's, macOS's
        variables = [ctypes.c_void_p.in_dll(library, name) for name in names]
        library.fopen.restype = ctypes.c_void_p
        nowhere = library.fopen(os.devnull.encode(), b"w")
        return _Streams(variables, nowhere) if nowhere else None
    except (OSError, AttributeError, TypeError, ValueError):
        return None
