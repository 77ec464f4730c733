"""Lock files, so that only one process at a time adds rows to a file."""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ...instances.problem.emitted import command_line
from ...instances.problem.errors import InvalidFile

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]


@contextmanager
def locked(
    out: str | os.PathLike[str] | None,
    option: str = "--out",
    wait: float = 0.0,
    *,
    required: bool = False,
) -> Iterator[None]:
    """Hold the lock of a file while the block runs: OUT.lock beside it, which names the process.

    The operating system takes the lock from a process that dies. Where it keeps none (Windows, some
    network folders) or OUT.lock cannot be made, and for what is no file (a pipe, /dev/null),
    nothing is held, unless a lock is `required`. `option` is what names the file on the command
    line, for the message; `wait` is how many seconds others may hold it.

    Raises
    ------
    InvalidFile
        Another process is writing the file; or a lock is required, and none can be held.
    """
    if out is None or (os.path.exists(out) and not os.path.isfile(out) and not required):
        yield
        return
    lock = f"{os.fspath(out)}.lock"
    until = time.monotonic() + wait
    while (stream := _opened(lock)) is not None and not _taken(stream, lock, required):
        holder = os.read(stream, 1000).decode(errors="replace") or "another process"
        os.close(stream)
        if time.monotonic() >= until:
            raise InvalidFile(
                f"{os.fspath(out)} is being written by {holder}; wait for it, or give another "
                f"{option}"
            )
        time.sleep(0.05)
    if stream is None and required:
        raise InvalidFile(
            f"{lock} cannot be made, without which two commands could write {os.fspath(out)}; give "
            f"{option} a file in a folder that exists and is writable"
        )
    try:
        if stream is not None:
            command = command_line([Path(sys.argv[0] or "python").name, *sys.argv[1:]])[:500]
            holder = f"process {os.getpid()} on {socket.gethostname()} ({command})"
            with suppress(OSError):  # a full disk holds no names; the lock holds all the same
                os.truncate(stream, 0)
                os.write(stream, holder.encode())
        yield
    finally:
        if stream is not None:
            with suppress(OSError):
                os.unlink(lock)
            os.close(stream)


def _opened(lock: str) -> int | None:
    # A link in its place, which somebody else may have put there, would have another file written.
    own = getattr(os, "O_NOFOLLOW", 0)
    with suppress(OSError, ValueError):  # ValueError: a path with a null character
        return os.open(lock, os.O_RDWR | os.O_CREAT | own, 0o666)
    return None


def _taken(stream: int, lock: str, required: bool) -> bool:
    """Whether this process holds the file lock, and the lock file is still there: its last holder
    may have removed it meanwhile. Raises InvalidFile if a lock is required and the system does not
    support it.
    """
    try:
        if fcntl is None:
            raise OSError("no file locks")
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if required:
            os.close(stream)
            raise InvalidFile(
                f"{lock} cannot be locked ({error.strerror or error}); choose a file on a disk of "
                "this computer"
            ) from None
        return fcntl is not None or os.path.exists(lock)
    return os.path.exists(lock) and os.path.samestat(os.fstat(stream), os.stat(lock))
