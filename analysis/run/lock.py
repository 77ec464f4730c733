"""One writer at a time for a file of rows: two comparisons would do the work twice."""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ...instances.problem.emitted import command_line
from ...instances.problem.errors import InvalidFile

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

_MOST = 10_000  # bytes that a holder takes to write down


@contextmanager
def locked(
    out: str | os.PathLike[str] | None, option: str = "--out", wait: float = 0.0
) -> Iterator[None]:
    """Hold the lock of a file of rows meanwhile: OUT.lock beside it, which says who holds it.

    The operating system takes the lock from a process that dies, so what a crash left is taken
    over. Where it keeps no locks (some network folders), or the file names another host, what is
    written in it decides. In a folder where no file can be made, the file of rows is locked itself,
    and nobody is named. What is no file (a pipe, /dev/null) needs no lock. `option` is what names
    the file on the command line, for the message; `wait` is how many seconds others may hold it.

    Raises
    ------
    InvalidFile
        Another process is adding rows to `out`.
    """
    if out is None or (os.path.exists(out) and not os.path.isfile(out)):
        yield
        return
    lock = Path(f"{os.fspath(out)}.lock")
    until = time.monotonic() + wait
    while True:
        try:
            stream, path = _taken(lock, Path(out), option)
            break
        except InvalidFile:
            if time.monotonic() >= until:
                raise
            time.sleep(0.05)
    try:
        yield
    finally:
        if stream is not None:
            if path == lock:
                with suppress(OSError):
                    lock.unlink()
            os.close(stream)


def _taken(lock: Path, out: Path, option: str) -> tuple[int | None, Path]:
    """The locked stream and its file; None when nothing can be opened: writing will say why."""
    while True:
        stream, path = _opened(lock, out)
        if stream is None:
            return None, path
        try:
            kept = _system_lock(stream)
            holder = _read(stream) if path == lock else {}
            if kept is False or not _free(holder, system=kept is True):
                raise InvalidFile(_refusal(out, lock, holder, option))
            if os.path.exists(path) and os.path.samestat(os.fstat(stream), os.stat(path)):
                if path == lock:
                    _write(stream)
                return stream, path
        except BaseException:
            os.close(stream)
            raise
        os.close(stream)  # its holder let go, and took the file away, just as it was opened


def _opened(lock: Path, out: Path) -> tuple[int | None, Path]:
    """A stream to lock: of the lock's file, even if not ours to write, else of the rows' file."""
    # A link in its place, which somebody else may have put there, would have another file written.
    own = getattr(os, "O_NOFOLLOW", 0)
    ways = ((lock, os.O_RDWR | os.O_CREAT | own), (lock, os.O_RDONLY | own), (out, os.O_RDWR))
    for path, how in ways:
        with suppress(OSError, ValueError):  # ValueError: a path with a null character
            return os.open(path, how, 0o666), path
    return None, out


def _system_lock(stream: int) -> bool | None:
    """Whether the operating system gives the lock; None where it keeps none."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _free(holder: dict[str, Any], *, system: bool) -> bool:
    """Whether a holder that is written down is gone, so far as can be known from here."""
    if not holder:
        return True
    if holder.get("host") != socket.gethostname():
        return False
    return system or _dead(holder.get("process"))


def _dead(process: Any) -> bool:
    if not isinstance(process, int) or os.name != "posix":
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False


def _read(stream: int) -> dict[str, Any]:
    """The holder that the file names; {} when it names none, as right after it was made."""
    with suppress(OSError, ValueError):
        os.lseek(stream, 0, os.SEEK_SET)
        found = json.loads(os.read(stream, _MOST))
        if isinstance(found, dict):
            return found
    return {}


def _write(stream: int) -> None:
    holder = {
        "process": os.getpid(),
        "host": socket.gethostname(),
        "since": time.strftime("%Y-%m-%d %H:%M:%S %z"),
        "command": command_line([Path(sys.argv[0] or "python").name, *sys.argv[1:]])[: _MOST // 2],
    }
    with suppress(OSError):  # a disk that is full holds no names; the lock holds all the same
        os.ftruncate(stream, 0)
        os.lseek(stream, 0, os.SEEK_SET)
        os.write(stream, (json.dumps(holder) + "\n").encode())


def _refusal(out: Path, lock: Path, holder: dict[str, Any], option: str) -> str:
    who = "another process"
    if holder:
        who = (
            f"process {holder.get('process')} on {holder.get('host')}, since "
            f"{holder.get('since')} ({holder.get('command')})"
        )
    cure = f"wait for it, or give another {option}"
    if holder and holder.get("host") != socket.gethostname():
        cure += f"; if it is gone, delete {lock}"
    return f"{out} is being written by {who}; {cure}"
