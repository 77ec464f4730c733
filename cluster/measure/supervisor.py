"""Supervisor process that starts measured commands and kills them when the process that asked for
them ends.

It is a fresh interpreter that imports the standard library only and is handed requests as lines of
JSON; it answers each with a line. When its standard input ends, because the harness left or was
killed, it kills every process below it and leaves. It is the reaper of its descendants
(PR_SET_CHILD_SUBREAPER), so that a job's own child cannot get away by losing its parent, and a job
gets SIGKILL when the supervisor dies (PR_SET_PDEATHSIG).

A visit is one run alone, or two members at the same time. All begin together; a member that ends
first is started again until the other has ended its first run. What then still runs is killed. A
visit of jobs that are not measured but done ("once") runs each of them once, whatever the others
do, and kills what a job leaves behind, which it knows by its seat in the environment.
"""

from __future__ import annotations

import ctypes
import errno
import itertools
import json
import os
import select
import signal
import stat
import sys
import tempfile
import time
from contextlib import suppress
from typing import Any

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_UNHEARD = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
SEAT = "COTENANT_SEAT"
"""Environment variable by which the processes of a job that is run once are known."""

LAST_WORDS = 2000
"""Bytes of what a job wrote to its standard error that the error of a run that failed holds."""

Plain = dict[str, Any]


class _Left(BaseException):
    """Raised in the supervisor when the process that asked for a measurement has ended."""


class _Member:
    """Command that a measurement runs repeatedly on its CPUs, or (the control) an empty loop."""

    def __init__(self, given: Plain) -> None:
        self.given = given
        self.runs: list[Plain] = []
        self.error = ""
        self.pid = 0
        self.begin = 0.0
        self.errors: Any = None
        self.why: Any = None
        self.left = 0
        self.cut: list[float] | None = None  # begin and end of a run that was not complete

    @property
    def control(self) -> bool:
        return self.given["argv"] is None

    @property
    def done(self) -> bool:
        """Whether a measurement no longer waits for this command: it has a complete run or an
        error, or is the control, whose empty loop never ends.
        """
        return self.control or bool(self.runs) or bool(self.error)

    @property
    def deadline(self) -> float:
        waits = self.control or not self.pid
        return float("inf") if waits else self.begin + float(self.given["timeout"])

    def start(self, libc: Any) -> None:
        """Start a run of the command without waiting; an error of the start is reported as one of
        the run.
        """
        self.errors = tempfile.TemporaryFile() if self.given.get("keep_errors") else None
        why, reason = os.pipe()  # closed by exec, or brings the reason why there was none
        self.why = os.fdopen(why, "rb")
        supervisor = os.getpid()
        self.begin = time.monotonic()
        self.pid = os.fork()
        if self.pid == 0:
            self._become(libc, supervisor, reason)
        os.close(reason)

    def _become(self, libc: Any, supervisor: int, reason: int) -> None:
        """In the child process, execute the command or the control's empty loop; never returns."""
        step = "cannot be started"
        try:
            os.setsid()
            libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            if os.getppid() != supervisor:  # it died before this was asked for
                os._exit(1)
            step = f"cannot be pinned to CPUs {self.given['cpus']}"
            os.sched_setaffinity(0, self.given["cpus"])
            signal.set_wakeup_fd(-1)
            for name in (*_UNHEARD, signal.SIGCHLD, signal.SIGPIPE):
                signal.signal(name, signal.SIG_DFL)
            if self.control:
                # The loop of an empty iterator of the interpreter: a few instructions and one
                # object, all of it in registers and the first cache.
                for _ in itertools.repeat(None):
                    pass
            nowhere = os.open(os.devnull, os.O_RDWR)
            errors = nowhere if self.errors is None else self.errors.fileno()
            for number, target in enumerate((nowhere, nowhere, errors)):
                os.dup2(target, number)
            step = "cannot be started"
            os.chdir(self.given["directory"])
            if self.given.get("output"):
                step = f"cannot write to {self.given['output']}"
                file = _output(self.given["output"])
                os.dup2(file, 1)
                os.dup2(file, 2)
                step = "cannot be started"
            os.execvpe(self.given["argv"][0], self.given["argv"], self.given["environment"])
        except BaseException as error:
            why = getattr(error, "strerror", None) or str(error) or type(error).__name__
            os.write(reason, f"{step}: {why}".encode())
        finally:
            os._exit(127)

    def ended(self, status: int, usage: Any, end: float, left_behind: int) -> None:
        """Record the end of a run of a command."""
        code = os.waitstatus_to_exitcode(status)
        self.pid = 0
        with self.why as stream:
            why = stream.read()
        if why:
            self.error = self.error or why.decode(errors="replace")
            return
        run = {"begin": self.begin, "end": end, "cpu": usage.ru_utime + usage.ru_stime}
        words = ""
        if self.errors is not None:
            size = self.errors.seek(0, os.SEEK_END)
            self.errors.seek(max(0, size - LAST_WORDS))
            words = self.errors.read().decode(errors="replace").strip()
            self.errors.close()
        if code and not self.error:
            how = f"signal {-code}" if code < 0 else f"exit {code}"
            last = words.splitlines()[-1:] or [""]
            self.error = f"{how}{last[0] and ': ' + last[0][:200]}"
        elif left_behind and not self.error:
            self.error = f"left {left_behind} processes running; a job has to wait for its own"
        if not self.error:
            self.runs.append(run)


def _output(path: str) -> int:
    """Open the file to which a job's output is appended; a pipe or socket is refused without
    opening it.
    """

    def require_file(mode: int) -> None:
        if not stat.S_ISREG(mode) and not stat.S_ISCHR(mode):
            raise OSError(errno.EINVAL, "it is no regular file and no device such as /dev/null")

    with suppress(FileNotFoundError):
        require_file(os.stat(path).st_mode)
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOCTTY | os.O_NONBLOCK
    file = os.open(path, flags, 0o666)
    require_file(os.fstat(file).st_mode)  # it may have been replaced in between
    os.set_blocking(file, True)
    return file


class _Supervisor:
    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self._wake, writer = os.pipe()
        os.set_blocking(self._wake, False)
        os.set_blocking(writer, False)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for name in _UNHEARD:
            signal.signal(name, signal.SIG_IGN)

    def visit(self, request: Plain) -> Plain:
        """Run the commands of a request at the same time; return their runs and errors. The
        pressure in the result is for how many seconds some task waited for a processor.
        """
        members = [_Member(given) for given in request["members"]]
        before, begin = _pressure(), time.monotonic()
        try:
            for member in members:
                member.start(self._libc)
            self._watch(members, bool(request.get("once")))
        finally:
            stays = [(member, time.monotonic()) for member in members if member.pid]
            self._kill()
        after, seconds = _pressure(), time.monotonic() - begin
        for member, end in stays:
            member.cut = [member.begin, end]
        return {
            "begin": begin,
            "seconds": seconds,
            "members": [
                {name: getattr(member, name) for name in ("runs", "error", "cut", "left")}
                for member in members
            ],
            "pressure": None if before is None or after is None else after - before,
        }

    def _watch(self, members: list[_Member], once: bool) -> None:
        """Restart commands that end until each has a complete run or one has failed. With `once`,
        wait instead until every command has ended.
        """
        while once or not any(member.error for member in members):
            if all(member.done and not (once and member.pid) for member in members):
                return
            late = min(members, key=lambda member: member.deadline)
            patience = late.deadline - time.monotonic()
            if patience > 0:
                self._wait(patience)
            else:
                late.error = late.error or f"timeout after {late.given['timeout']:g} s"
                if not once:
                    return
                os.kill(late.pid, signal.SIGKILL)
                self._wait(1.0)
            while True:
                try:
                    pid, status, usage = os.wait4(-1, os.WNOHANG)
                except ChildProcessError:
                    break
                if not pid:
                    break
                end = time.monotonic()
                member = next((one for one in members if one.pid == pid), None)
                if member is None:  # a stray that a job left, and that has ended by itself
                    continue
                running = {one.pid for one in members}
                left_behind = [child for child in _children(os.getpid()) if child not in running]
                if once:
                    member.ended(status, usage, end, 0)
                    member.left = self._kill(f"{SEAT}={members.index(member)}")
                    continue
                member.ended(status, usage, end, len(left_behind))
                if member.control and not member.error:
                    member.error = "the control ended"
                if not all(one.done for one in members) and not member.error:
                    member.start(self._libc)

    def _wait(self, patience: float) -> None:
        """Wait for the end of a child; raises `_Left` if the asking process has ended."""
        ready, _, _ = select.select([0, self._wake], [], [], min(patience, 3600.0))
        if self._wake in ready:
            with suppress(BlockingIOError):
                while os.read(self._wake, 4096):
                    pass
        if 0 in ready:  # nothing is asked before the answer is given: this is its end
            raise _Left

    def _kill(self, mark: str = "") -> int:
        """Kill the descendants of this process, in any session, whose environment has a mark (all
        without one); return how many there were.
        """
        killed = set[int]()
        while found := [
            pid
            for pid in _descendants(_children(os.getpid()))
            if not mark or _carries(pid, mark.encode())
        ]:
            killed |= set(found)
            for pid in found:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            for pid in found:
                with suppress(ChildProcessError):
                    os.waitpid(pid, 0)
        return len(killed)


def _children(pid: int) -> list[int]:
    """Process ids of the children of a process, over all its threads."""
    children = []
    with suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with suppress(OSError), open(f"/proc/{pid}/task/{thread}/children") as stream:
                children += [int(word) for word in stream.read().split()]
    return children


def _carries(pid: int, mark: bytes) -> bool:
    """Return whether a process has the entry `mark` in its environment; False if it has ended."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as stream:
            return mark in stream.read().split(b"\0")
    except OSError:
        return False


def _descendants(pids: list[int]) -> list[int]:
    """Process ids of some processes and of all their descendants."""
    below, level = list(pids), list(pids)
    while level:
        level = [child for pid in level for child in _children(pid)]
        below += level
    return below


def _pressure() -> float | None:
    """Seconds in which some task waited for a processor (pressure stall information); None if not
    available.
    """
    with suppress(OSError, ValueError), open("/proc/pressure/cpu") as stream:
        return int(stream.readline().rpartition("total=")[2]) / 1e6
    return None


def main() -> None:
    """Serve the requests to run jobs that the parent process sends, until there are no more."""
    supervisor = _Supervisor()
    with suppress(_Left):
        for line in iter(sys.stdin.buffer.readline, b""):
            answer = supervisor.visit(json.loads(line))
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
