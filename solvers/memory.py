"""Short memory, said in a line: what a library makes of it is a broken import, a missing file, or a
loop without end.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator

from .cores import cores

try:
    import resource
except ImportError:  # not on Windows
    resource = None  # type: ignore[assignment]

LIBRARIES = 300 * 2**20
"""Bytes of address space that Python, numpy and scipy take without their threads."""

A_THREAD = 2 * 40 * 2**20
"""Bytes of address space that numpy's and scipy's OpenBLAS take for a thread: a buffer and a stack
each.
"""

_SIGNS = (
    "failed to map segment",
    "annot allocate memory",
    "can't start new thread",
    "nable to allocate",
    "bad_alloc",
)
_SYSTEM = (errno.ENOMEM, errno.EAGAIN)


def sentence(what: str) -> str:
    """Word the one-line message for a run that is short of memory."""
    return (
        f"memory is short: {what}; raise the limit (`ulimit -v`, the job's or the "
        "container's) or ask for less"
    )


def shortage() -> str:
    """Why the libraries should not be loaded at all: a limit that they do not fit in; "" when there
    is none.

    OpenBLAS asks for its buffers again and again, for ever, when it gets none: no error comes of
    it, and no signal is received.
    """
    if resource is None:
        return ""
    for name, word in (("RLIMIT_AS", "address space"), ("RLIMIT_DATA", "data")):
        limit = resource.getrlimit(getattr(resource, name))[0]
        if limit != resource.RLIM_INFINITY and limit < (need := LIBRARIES + _threads() * A_THREAD):
            return sentence(
                f"{limit / 1e6:.0f} MB of {word} are allowed, and the libraries alone take "
                f"{need / 1e6:.0f} MB"
            )
    return ""


def _threads() -> int:
    asked = os.environ.get("OPENBLAS_NUM_THREADS") or os.environ.get("OMP_NUM_THREADS") or ""
    return int(asked) if asked.isdecimal() else cores()


def short_of_memory(error: BaseException) -> str:
    """The line for an error that is, or came of, memory, threads or processes that are not to be
    had; "" for any other.
    """
    for part in _chain(error):
        words = str(getattr(part, "strerror", None) or part)
        if shortage := said_short_of_memory(words):
            return shortage
        if isinstance(part, MemoryError) or getattr(part, "errno", None) in _SYSTEM:
            return sentence(" ".join(words.split()) or "no more is to be had")
    return ""


def said_short_of_memory(words: str) -> str:
    """The line for what a library or another process says when it is short of memory; "" for
    anything else.
    """
    if words.startswith("memory is short"):
        return words
    return sentence(" ".join(words.split())) if any(sign in words for sign in _SIGNS) else ""


def _chain(error: BaseException) -> Iterator[BaseException]:
    """An error and those it came of, the first cause first."""
    above = error.__cause__ or error.__context__
    if above is not None and above is not error:
        yield from _chain(above)
    yield error
