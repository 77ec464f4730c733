"""Handling of SIGINT (Ctrl-C) and SIGTERM: received once, and deferred within blocks that must not
be interrupted.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Self

SIGNALS = (signal.SIGINT, signal.SIGTERM)
"""What ends a command and keeps its best answer."""

Handler = Callable[[int, FrameType | None], Any]

_AGAIN = 0.01  # seconds until an interrupt is sent again
_received: list[int] = []


def note(number: int) -> None:
    """Record a received signal; the first one determines the exit code."""
    _received.append(number)


def exit_code() -> int:
    """Exit code of a command ended by a signal: 130 for SIGINT, 143 for SIGTERM."""
    return 128 + (_received[0] if _received else signal.SIGINT)


def take_over(handler: Handler) -> dict[int, Handler]:
    """Replace the handlers of signals handled in Python; return the old ones for `give_back`.

    A signal that is ignored (as Ctrl-C is under nohup) or ends the process at once (as SIGTERM does
    by default) stays so. Only the main thread can hear signals: in others nothing changes.
    """
    if threading.current_thread() is not threading.main_thread():
        return {}
    before: dict[int, Handler] = {}
    for number in SIGNALS:
        found = signal.getsignal(number)
        if callable(found):
            before[number] = found
            signal.signal(number, handler)
    return before


def give_back(before: dict[int, Handler]) -> None:
    """Restore the handlers that `take_over` returned."""
    for number, handler in before.items():
        signal.signal(number, handler)


class Interrupts:
    """Context in which the first SIGINT or SIGTERM is only recorded (`received`, and `wake` is
    called) and a second one ends the process.

    Outside the main thread, or where a signal is ignored (as under nohup), it changes nothing.
    """

    def __init__(self, wake: Callable[[], object]) -> None:
        self.received = False
        self._wake = wake
        self._before: dict[int, Handler] = {}

    def __enter__(self) -> Self:
        self._before = take_over(self._hear)
        return self

    def __exit__(self, *reason: object) -> None:
        give_back(self._before)

    def _hear(self, number: int, frame: object) -> None:
        note(number)
        if self.received:
            raise KeyboardInterrupt
        self.received = True
        self._wake()


class Deferred:
    """First signal that arrived while signals were deferred."""

    def __init__(self) -> None:
        self._before: dict[int, Handler] = {}
        self._number: int | None = None

    def _put_off(self, number: int, frame: FrameType | None) -> None:
        if self._number is None:
            self._number = number
        else:
            self._before[number](number, frame)

    def deliver(self) -> None:
        """Call the handler of the deferred signal, if there is one."""
        number, self._number = self._number, None
        if number is not None:
            self._before[number](number, None)

    def send_again(self) -> None:
        """Send the signal again shortly, after the surrounding code is finished."""
        number, self._number = self._number, None
        if number is not None:
            _send_again(number)

    @property
    def interrupted(self) -> bool:
        """Whether an interrupting signal was deferred; reading this consumes it."""
        try:
            self.deliver()
        except KeyboardInterrupt:
            return True
        return False


@contextmanager
def deferred() -> Iterator[Deferred]:
    """Context that defers SIGINT and SIGTERM to its end; a second signal is received at once."""
    put_off = Deferred()
    put_off._before.update(take_over(put_off._put_off))
    try:
        yield put_off
    finally:
        give_back(put_off._before)
        put_off.deliver()


class Abandoned(BaseException):
    """Interrupt of work without useful partial results, which methods must not catch."""


@contextmanager
def abandoning() -> Iterator[None]:
    """Context in which SIGINT and SIGTERM raise `Abandoned`, and KeyboardInterrupt at its end."""

    def abandon(number: int, frame: FrameType | None) -> None:
        note(number)
        raise Abandoned

    before = take_over(abandon)
    try:
        yield
    except Abandoned:
        raise KeyboardInterrupt from None
    finally:
        give_back(before)


def _hear(number: int, frame: FrameType | None) -> None:
    note(number)
    raise KeyboardInterrupt


def install_handlers() -> None:
    """Let SIGINT and SIGTERM raise KeyboardInterrupt in the command line, unless ignored.

    Python swallows what is raised while it frees an object and prints it as an exception that was
    ignored: an interrupt that this befalls is sent once more instead.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    _received.clear()
    for number in SIGNALS:
        if signal.getsignal(number) not in (signal.SIG_IGN, None):
            signal.signal(number, _hear)
    if sys.unraisablehook is sys.__unraisablehook__:
        sys.unraisablehook = _not_swallowed


def wake_main_thread() -> None:
    """Make signals delivered to other threads interrupt the main thread.

    Handlers run in the main thread only, and a long sleep or wait there would not notice. For
    processes of our own.
    """
    if not hasattr(signal, "pthread_kill"):
        return
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    signal.signal(signal.SIGURG, lambda *_: None)
    main = threading.get_ident()

    def watch() -> None:
        while number := os.read(reader, 1):
            if number[0] in SIGNALS:
                signal.pthread_kill(main, signal.SIGURG)

    threading.Thread(target=watch, name="cotenant-signals", daemon=True).start()


def exit_with(code: int) -> None:
    """Let a later signal end the finished command at once, with the given exit code."""
    if threading.current_thread() is not threading.main_thread():
        return

    def end(number: int, frame: FrameType | None) -> None:
        os._exit(code)

    take_over(end)
    atexit.register(_ignore)  # later still there is no Python to run a handler


def _ignore() -> None:
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def _not_swallowed(what: Any) -> None:
    if not isinstance(what.exc_value, KeyboardInterrupt):
        sys.__unraisablehook__(what)
        return
    _send_again(_received[-1] if _received else signal.SIGINT)


def _send_again(number: int) -> None:
    again = threading.Timer(_AGAIN, _send, (number,))
    again.daemon = True
    again.start()


def _send(number: int) -> None:
    """Send a signal to the main thread, interrupting its waits."""
    main = threading.main_thread().ident
    if hasattr(signal, "pthread_kill") and main is not None:
        signal.pthread_kill(main, number)
    else:
        signal.raise_signal(number)
