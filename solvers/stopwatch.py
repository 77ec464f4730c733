"""Stopwatches that stand still while libraries are loaded, kernels compiled and processes started.

The time that a fresh installation or an empty cache costs counts neither in a method's seconds nor
against its time limit.
"""

from __future__ import annotations

import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

from .interrupts import deferred

NOTICE_SECONDS = 2.0
"""Loading and compiling that take longer than this are announced on stderr."""

_here = threading.local()


class Stopwatch:
    """Seconds of one thread, without those in which it loaded, compiled or started something.
    Pauses may be nested.

    Attributes
    ----------
    watcher : called with True when it stops and False when it goes on; nothing is then said on
    stderr.
    """

    def __init__(self) -> None:
        self.watcher: Callable[[bool], None] | None = None
        self._lost = 0.0
        self._since = 0.0
        self._depth = 0

    @property
    def seconds(self) -> float:
        """Seconds since some fixed moment, without those in which the stopwatch was paused."""
        return (self._since if self._depth else time.perf_counter()) - self._lost

    def pause(self) -> None:
        """Pause the stopwatch until `resume`."""
        self._depth += 1
        if self._depth == 1:
            self._since = time.perf_counter()
            Starting.begin()
            if self.watcher is not None:
                self.watcher(True)

    def resume(self) -> None:
        """Continue the stopwatch when this ends the outermost pause."""
        self._depth -= 1
        if self._depth == 0:
            self._lost += time.perf_counter() - self._since
            Starting.end()
            if self.watcher is not None:
                self.watcher(False)


def stopwatch() -> Stopwatch:
    """Stopwatch of the current thread."""
    if not hasattr(_here, "stopwatch"):
        _here.stopwatch = Stopwatch()
    found: Stopwatch = _here.stopwatch
    return found


@contextmanager
def paused() -> Iterator[None]:
    """Context in which the stopwatch of this thread is paused."""
    watch = stopwatch()
    watch.pause()
    try:
        yield
    finally:
        watch.resume()


@contextmanager
def starting() -> Iterator[None]:
    """Context in which the stopwatch of this thread is paused and interrupts are deferred, since
    what is half loaded or half compiled is of no use.
    """
    with deferred(), paused():
        yield


class Starting:
    """Time that the process spends on loading, compiling and starting, in any thread.

    Attributes
    ----------
    spent : seconds so far in which some thread did so.
    """

    spent = 0.0
    _what = ""
    _said = False
    _since = 0.0
    _threads = 0
    _timer: threading.Timer | None = None
    _lock = threading.RLock()

    @classmethod
    def begin(cls) -> None:
        """Note that a thread starts something."""
        with cls._lock:
            cls._threads += 1
            if cls._threads == 1:
                cls._since = time.perf_counter()
                cls._arm()

    @classmethod
    def end(cls) -> None:
        """Note that a thread has started it."""
        with cls._lock:
            cls._threads -= 1
            if cls._threads == 0:
                cls.spent += time.perf_counter() - cls._since
                cls._disarm()

    @classmethod
    def announce(cls, what: str) -> None:
        """Request a notice on stderr, once, when loading and compiling take longer than
        `NOTICE_SECONDS`, even in the middle of it.
        """
        with cls._lock:
            if not cls._what:
                cls._what = what
                cls._arm()

    @classmethod
    def _arm(cls) -> None:
        """Start the timer that prints, even in the middle of a long call, that libraries are
        loading. Not in a child process, whose output is not shown.
        """
        if cls._said or not cls._what or not cls._threads or stopwatch().watcher is not None:
            return
        cls._disarm()
        cls._timer = threading.Timer(max(0.0, NOTICE_SECONDS - cls.spent), cls._say)
        cls._timer.daemon = True
        with suppress(RuntimeError):  # the machine starts no more threads: then nothing is said
            cls._timer.start()

    @classmethod
    def _disarm(cls) -> None:
        if cls._timer is not None:
            cls._timer.cancel()
            cls._timer = None

    @classmethod
    def _say(cls) -> None:
        if not cls._said:
            cls._said = True
            print(f"{cls._what} (not counted) ...", file=sys.stderr)


class ImportWatch:
    """Context in which the stopwatch is paused during imports, and interrupts wait for the end of
    an import.

    A half imported module is unusable, and libraries turn an interrupt within it into other errors.
    """

    def __init__(self) -> None:
        _WATCHES.add(self)
        if _FINDER not in sys.meta_path:
            sys.meta_path.insert(0, _FINDER)


_WATCHES: weakref.WeakSet[ImportWatch] = weakref.WeakSet()


class _Finder(MetaPathFinder):
    """Import finder that takes what the later finders find and has it loaded by a `_Pausing`
    loader.
    """

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Spec of a module; None inside an import that is watched already, and while no watch is
        active.
        """
        if getattr(_here, "importing", False) or not _WATCHES:
            return None
        for finder in sys.meta_path[sys.meta_path.index(self) + 1 :]:
            find = getattr(finder, "find_spec", None)
            if find is not None and (spec := find(name, path, target)) is not None:
                if hasattr(spec.loader, "exec_module"):
                    spec.loader = _Pausing(spec.loader)
                found: ModuleSpec = spec
                return found
        return None


class _Pausing(Loader):
    """Import loader that loads what another loader loads, with the stopwatch paused and interrupts
    deferred.
    """

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Create the module by the wrapped loader, which runs the code of a compiled module already
        here. The module then knows the other as its loader.
        """
        spec.loader = self._loader
        try:
            with _importing():
                return self._loader.create_module(spec)
        finally:
            spec.loader = self

    def exec_module(self, module: ModuleType) -> None:
        """Execute the module by the wrapped loader."""
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        with _importing():
            self._loader.exec_module(module)


@contextmanager
def _importing() -> Iterator[None]:
    with deferred() as put_off, paused():
        _here.importing = True
        try:
            yield
        except BaseException:
            put_off.deliver()
            raise
        finally:
            _here.importing = False
        put_off.send_again()  # raised here it would undo the import


_FINDER = _Finder()
