"""Child processes: fresh interpreters that call functions and can be killed at a time limit.

A fresh interpreter and not multiprocessing's spawn, which would run the caller's own script again
when that has no main guard, and which is refused inside a daemonic process (a Dask worker).
"""

from __future__ import annotations

import faulthandler
import os
import pickle
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import IO, Any, Literal

from ..cores import sharing
from ..interrupts import SIGNALS, wake_main_thread
from ..memory import said_short_of_memory, short_of_memory
from ..stopwatch import ImportWatch, paused, starting, stopwatch
from .answer import start_thread
from .interpreter import start_python

START_LIMIT = 120.0
"""Seconds an interpreter may take to start; a loaded machine needs several."""

PAUSE_LIMIT = 600.0
"""Seconds a call may take at once to load a library or to compile a kernel, which count in no other
limit.
"""

IDLE_LIMIT = 600.0
"""Seconds after which a child that is asked nothing leaves: whoever started it may have forgotten
it.
"""

ORPHAN_GRACE = 60.0
"""Seconds past its limit after which a child ends itself: its parent is gone, and its own threads
may not get to see that.
"""

_POLL = 0.2
_LEAVE = 2.0

# Requests and answers keep the pipes for themselves: what a method or a library prints goes to the
# file of last words.
_SERVE = """
answers = os.fdopen(os.dup(1), "wb")
os.dup2(2, 1)
from {module} import serve
serve(requests, answers, leads={leads})
"""

Kind = Literal["ready", "paused", "resumed", "done", "raised", "interrupted", "died", "overran"]


@dataclass(frozen=True)
class Reply:
    """Reply of a child process to a call.

    Attributes
    ----------
    kind : "done" (`value` is what the function returned), "raised" (`value` says what),
        "interrupted", "died" (the process ended in the middle; `Child.end` says how), or "overran"
        (its time is up and it must be ended). On the way there: "ready" when it takes calls,
        "paused" and "resumed" around what is not counted (see `stopwatch`).
    value : as above.
    """

    kind: Kind
    value: Any = None


class Child:
    """Python process that calls functions for this one, one at a time.

    Parameters
    ----------
    leads : whether it begins a process group of its own: it is then ended with every process it
        started, the terminal's Ctrl-C does not reach it, and `interrupt` raises KeyboardInterrupt
        in its call, as does a batch system's SIGTERM to every process of a job. Otherwise it
        belongs to the group of this process and ignores both.
    processes : among how many like it the cores of this process are divided.

    Raises
    ------
    OSError
        The machine starts no more processes.
    """

    def __init__(self, *, leads: bool = False, processes: int = 1) -> None:
        self._leads = leads
        self._errors = tempfile.TemporaryFile()
        try:
            self._process = start_python(
                _SERVE.format(module=__name__, leads=leads),
                environment=sharing(processes),
                stdout=subprocess.PIPE,
                stderr=self._errors,
                start_new_session=leads,
            )
        except BaseException:
            self._errors.close()
            raise
        self._requests: SimpleQueue[bytes | None] = SimpleQueue()
        self._replies: SimpleQueue[Reply] = SimpleQueue()
        self._patience: float | None = None
        self._ready = False
        self._asked = False
        self._ended: str | None = None
        self._ending = threading.Lock()
        self._since = time.monotonic()
        # A pipe has no time limit of its own: a thread waits at it, and this one waits for the
        # thread.
        try:
            self._thread = start_thread(self._talk, "cotenant-child")
        except BaseException:
            self._process.kill()
            self._process.wait()
            raise

    @property
    def fresh(self) -> bool:
        """Whether the process can take another call."""
        return self._ended is None and time.monotonic() - self._since < IDLE_LIMIT / 2

    def ask(
        self,
        function: Callable[..., Any],
        *arguments: Any,
        limit: float | None = None,
        **keywords: Any,
    ) -> None:
        """Call a function in the child; function, arguments and answer are pickled. `limit`: as for
        `answer`.
        """
        frame = pickle.dumps((limit, function, arguments, keywords))
        self._asked = True
        self._requests.put(frame)

    def answer(self, limit: float | None = None) -> Reply:
        """Wait for the reply; "overran" after `limit` seconds or the patience of `interrupt`.

        Its start is not counted, nor what it takes to load libraries and to compile kernels; nor
        are they by the clock of the thread that waits.
        """
        left = float("inf") if limit is None else limit
        with ExitStack() as pause:
            if not self._ready:
                pause.enter_context(paused())
            ends = time.monotonic() + (left if self._ready else START_LIMIT)
            while (reply := self._reply(ends)).kind in ("ready", "paused", "resumed"):
                if reply.kind == "paused":
                    left = ends - time.monotonic()
                    ends = time.monotonic() + PAUSE_LIMIT
                    pause.enter_context(paused())
                else:
                    ends = time.monotonic() + left
                    pause.close()
                self._ready = True
        self._asked = (
            reply.kind == "overran"
        )  # it is still at it, and will not leave when nothing more is asked
        self._since = time.monotonic()
        return reply

    def _reply(self, ends: float) -> Reply:
        """Next message of the child; "overran" at the monotonic time `ends` or after the patience
        of `interrupt`.
        """
        while True:
            last = ends if self._patience is None else min(ends, self._patience)
            left = last - time.monotonic()
            if left <= 0:
                return Reply("overran")
            try:
                return self._replies.get(timeout=min(left, _POLL))
            except Empty:
                if self._process.poll() is None or not self._replies.empty():
                    continue
                # A process of its own may still hold its end of the pipe, which then never closes.
                self._thread.join(_POLL)
                return self._replies.get() if not self._replies.empty() else Reply("died")

    @property
    def started(self) -> bool:
        """Whether the child is ready to take calls."""
        return self._ready

    def interrupt(self, patience: float) -> None:
        """Raise KeyboardInterrupt in the child's call, once; it then has `patience` seconds to
        answer. Thread-safe.

        A child that does not take calls yet has nothing to answer.
        """
        self._patience = time.monotonic() + (patience if self._ready else 0.0)
        if self._process.poll() is None:
            with suppress(ProcessLookupError):
                self._process.send_signal(signal.SIGINT)

    def end(self) -> str:
        """Kill the child and its process group, and return how it ended; repeated calls have no
        effect.
        """
        with self._ending:
            if self._ended is None:
                self._ended = self._end()
            return self._ended

    def _end(self) -> str:
        self._requests.put(None)
        if not self._asked:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_LEAVE)
        if self._leads:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()
        code = self._process.wait()
        self._thread.join(_LEAVE)
        return f"{_how(code)}{self._last_words()}"

    def _last_words(self) -> str:
        with self._errors as stream:
            stream.seek(max(0, stream.seek(0, os.SEEK_END) - 4000))
            lines = stream.read().decode(errors="replace").strip().splitlines()
        if not lines:
            return ""
        return f": {said_short_of_memory(lines[-1]) or lines[-1].strip()}"

    def _talk(self) -> None:
        requests, answers = self._process.stdin, self._process.stdout
        assert requests is not None
        assert answers is not None
        try:
            self._replies.put(_understood(_receive(answers)))
            while (frame := self._requests.get()) is not None:
                _send(requests, frame)
                reply = Reply("paused")
                while reply.kind in ("paused", "resumed"):
                    reply = _understood(_receive(answers))
                    self._replies.put(reply)
        except (OSError, EOFError, ValueError):
            self._replies.put(Reply("died"))
        finally:
            for stream in (requests, answers):
                with suppress(OSError):  # closing writes what is left, to a process that is gone
                    stream.close()


def serve(requests: IO[bytes], answers: IO[bytes], *, leads: bool) -> None:
    """Main loop of the child: make the requested calls until the parent closes the pipe."""
    state = _State(leads)
    if leads:
        for number in SIGNALS:
            signal.signal(number, state.hear)
        wake_main_thread()
    inbox: SimpleQueue[bytes | None] = SimpleQueue()
    start_thread(lambda: _listen(requests, inbox, state), "cotenant-parent")
    watch = ImportWatch()
    _send(answers, pickle.dumps(Reply("ready")))
    with suppress(Empty), open(os.devnull, "w") as nowhere:
        while (frame := inbox.get(timeout=IDLE_LIMIT)) is not None:
            reply = _called(frame, state, nowhere, answers)
            state.asked = False
            with suppress(BrokenPipeError):
                _send(answers, reply)
    del watch


class _State:
    """State that the child's two threads and its signal handler share."""

    def __init__(self, leads: bool) -> None:
        self.leads = leads
        self.asked = False
        self.calling = False
        self.received = False

    def hear(self, number: int, frame: object) -> None:
        """Signal handler: interrupt the current call, or the next one; signals to parent and child
        count once.
        """
        if not self.received:
            self.received = True
            if self.calling:
                raise KeyboardInterrupt


def _listen(requests: IO[bytes], inbox: SimpleQueue[bytes | None], state: _State) -> None:
    """Queue the parent's requests, in a thread; if it is gone during a call, end the process."""
    try:
        while True:
            frame = _receive(requests)
            state.asked = True
            inbox.put(frame)
    except (OSError, EOFError):
        if state.asked:
            if state.leads:
                os.killpg(os.getpid(), signal.SIGKILL)
            os._exit(1)
        inbox.put(None)


def _called(frame: bytes, state: _State, nowhere: IO[str], answers: IO[bytes]) -> bytes:
    """Make the requested call and return its pickled reply; tell the parent of stopwatch pauses."""

    def watch(stopped: bool) -> None:
        if stopped:
            faulthandler.cancel_dump_traceback_later()
        elif (
            limit is not None
        ):  # compiled code may keep every Python thread from running, this timer it cannot
            faulthandler.dump_traceback_later(limit + ORPHAN_GRACE, exit=True, file=nowhere)
        with suppress(BrokenPipeError):
            _send(answers, pickle.dumps(Reply("paused" if stopped else "resumed")))

    limit: float | None = None
    watch_here = stopwatch()
    try:
        watch_here.watcher = watch
        with starting():  # the modules that the request names
            limit, function, arguments, keywords = pickle.loads(frame)
        state.calling = True
        if state.received:
            raise KeyboardInterrupt
        value = function(*arguments, **keywords)
        state.calling = False
        packed = pickle.dumps(Reply("done", value))
    except KeyboardInterrupt:
        packed = pickle.dumps(Reply("interrupted"))
    except BaseException as error:
        state.calling = False
        packed = pickle.dumps(
            Reply("raised", short_of_memory(error) or f"{type(error).__name__}: {error}")
        )
    finally:
        state.calling = state.received = False
        watch_here.watcher = None
        faulthandler.cancel_dump_traceback_later()
    return packed


def _send(stream: IO[bytes], frame: bytes) -> None:
    stream.write(len(frame).to_bytes(8, "little"))
    stream.write(frame)
    stream.flush()


def _receive(stream: IO[bytes]) -> bytes:
    head = stream.read(8)
    size = int.from_bytes(head, "little")
    body = stream.read(size) if len(head) == 8 else b""
    if len(head) < 8 or len(body) < size:
        raise EOFError
    return body


def _understood(frame: bytes) -> Reply:
    try:
        reply: Reply = pickle.loads(frame)
    except Exception as error:
        return Reply("raised", f"its answer cannot be read: {type(error).__name__}: {error}")
    return reply


def _how(code: int) -> str:
    """Describe how a process ended."""
    if code >= 0:
        return f"ended with code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    return f"was killed by {name}{' (out of memory?)' if name == 'SIGKILL' else ''}"
