"""One way to compile a kernel: numba, with its cache in the user's own cache folder.

numba is imported by the first decoration, so a module of kernels must itself be imported on first use only. numba notices
an edit of the file a kernel stands in, not of a file whose compiled function it calls: a kernel and its helpers share a file.
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

NOTICE_SECONDS = 2.0
"""Compilation that has taken longer than this is said on stderr, once a process."""

Function = TypeVar("Function", bound=Callable[..., object])

_decorating = threading.Lock()


@cache
def cache_folder() -> Path | None:
    """The folder of compiled kernels, one per version of this package; None when it cannot be written."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        label = version("cotenant")
    except PackageNotFoundError:  # a checkout that was never installed
        label = "source"
    try:
        home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        folder = home / "cotenant" / "numba" / label
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except (OSError, RuntimeError):  # Path.home() raises RuntimeError without a home
        return None


def compiled(function: Function) -> Function:
    """Compile a function of arrays and numbers with numba, cached between runs where the cache folder can be written.

    A cache inside the package would outlive an uninstall and could not be written in a read-only installation, so numba's
    own setting is pointed elsewhere while it decorates, and put back.
    """
    import numba

    _announce()
    njit: Any = numba.njit
    config: Any = numba.config
    folder = cache_folder()
    kernel: Function
    if folder is None:
        kernel = njit(function)
        return kernel
    # A cached kernel names the module it came from. A test runner may import this package under its folder's name; what is
    # compiled then must not be found under the right one.
    owner = folder / function.__module__.partition(".")[0]
    with _decorating:
        before = config.CACHE_DIR
        config.CACHE_DIR = str(owner)
        try:
            kernel = njit(cache=True)(function)
        finally:
            config.CACHE_DIR = before
    return kernel


@cache
def _announce() -> None:
    """Have numba's compilations (not what it loads from its cache) timed, and said when they take long."""
    from numba.core import event

    register: Any = event.register

    class Notice(event.Listener):
        """Adds up the seconds spent compiling; a timer speaks even while one function is being compiled."""

        def __init__(self) -> None:
            self.spent, self.begin, self.depth = 0.0, 0.0, 0
            self.timer: threading.Timer | None = None
            self.said = False

        def on_start(self, _: object) -> None:
            self.depth += 1
            if self.depth == 1 and not self.said:
                self.begin = time.perf_counter()
                self.timer = threading.Timer(max(0.0, NOTICE_SECONDS - self.spent), self.say)
                self.timer.daemon = True
                self.timer.start()

        def on_end(self, _: object) -> None:
            self.depth -= 1
            if self.depth == 0 and self.timer is not None:
                self.timer.cancel()
                self.spent += time.perf_counter() - self.begin

        def say(self) -> None:
            self.said = True
            print("compiling kernels (kept for the next run) ...", file=sys.stderr)

    register("numba:compile", Notice())
