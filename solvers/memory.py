"""One-line messages for lack of memory, which libraries report as failed imports, missing files, or
endless loops.
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
    """Reason not to load the libraries (a memory limit below their needs); "" if there is none.

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
    """Message for an error caused by lack of memory, threads or processes; "" for other errors."""
    for part in _chain(error):
        words = str(getattr(part, "strerror", None) or part)
        if shortage := said_short_of_memory(words):
            return shortage
        if isinstance(part, MemoryError) or getattr(part, "errno", None) in _SYSTEM:
            return sentence(" ".join(words.split()) or "no more is to be had")
    return ""


def said_short_of_memory(words: str) -> str:
    """Message for the text of a library or process that lacks memory; "" for other texts."""
    if words.startswith("memory is short"):
        return words
    return sentence(" ".join(words.split())) if any(sign in words for sign in _SIGNS) else ""


def _chain(error: BaseException) -> Iterator[BaseException]:
    """An error and its causes, the first cause first."""
    above = error.__cause__ or error.__context__
    if above is not None and above is not error:
        yield from _chain(above)
    yield error
