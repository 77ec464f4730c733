"""Ctrl-C, and the SIGTERM that batch systems send: received once, and never in the middle of what
cannot be cut in two.
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
    """Remember that a signal was received; the first one decides how the command exits."""
    _received.append(number)


def exit_code() -> int:
    """The exit code that says by which signal a command was ended: 130 for Ctrl-C, 143 for
    SIGTERM.
    """
    return 128 + (_received[0] if _received else signal.SIGINT)


def take_over(handler: Handler) -> dict[int, Handler]:
    """Make `handler` the handler of the signals that Python code handles so far; returns those
    before it, for `give_back`.

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
    """While it is entered, the first Ctrl-C or SIGTERM is only noted (`received`, and `wake` is
    called) and the second ends all.

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
    """The first signal that arrived while signals were put off."""

    def __init__(self) -> None:
        self._before: dict[int, Handler] = {}
        self._number: int | None = None

    def _put_off(self, number: int, frame: FrameType | None) -> None:
        if self._number is None:
            self._number = number
        else:
            self._before[number](number, frame)

    def deliver(self) -> None:
        """Call the handler of the signal that was put off, if there is one."""
        number, self._number = self._number, None
        if number is not None:
            self._before[number](number, None)

    def send_again(self) -> None:
        """Send the signal again in a moment, when the code around the block is done too."""
        number, self._number = self._number, None
        if number is not None:
            _send_again(number)

    @property
    def interrupted(self) -> bool:
        """Whether a signal was put off that interrupts; it is delivered by this."""
        try:
            self.deliver()
        except KeyboardInterrupt:
            return True
        return False


@contextmanager
def deferred() -> Iterator[Deferred]:
    """Put off Ctrl-C and SIGTERM until the end of a block that must not be cut in two; a second one
    is received at once.
    """
    put_off = Deferred()
    put_off._before.update(take_over(put_off._put_off))
    try:
        yield put_off
    finally:
        give_back(put_off._before)
        put_off.deliver()


class Abandoned(BaseException):
    """An interrupt of work whose parts are worth nothing: no method takes it for one that keeps its
    best answer.
    """


@contextmanager
def abandoning() -> Iterator[None]:
    """Have Ctrl-C and SIGTERM raise `Abandoned` in a block, and KeyboardInterrupt come out of
    it.
    """

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
    """Let both signals raise KeyboardInterrupt from here on, for the command line; one that is
    ignored stays ignored.

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
    """Have a signal that the system gives to any other thread, even one of a library, end what the
    main thread waits for.

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
    """The command is done, and what Python does to leave has nothing to keep: a signal now ends it
    with its own exit code.
    """
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
    """Send the main thread a signal that also ends what it may be waiting for."""
    main = threading.main_thread().ident
    if hasattr(signal, "pthread_kill") and main is not None:
        signal.pthread_kill(main, number)
    else:
        signal.raise_signal(number)
