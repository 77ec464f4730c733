"""Compilation of kernels by numba, with a cache in the user's cache folder.

numba is imported by the first decoration, so a module of kernels must itself be imported on first
use only. numba itself notices an edit of the file a kernel stands in, not of a file whose compiled
function it calls; `_stamp` sees to that.
"""

from __future__ import annotations

import gc
import os
import tempfile
import threading
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar, cast

from .stopwatch import Starting, starting

Function = TypeVar("Function", bound=Callable[..., object])

_TRIAL = bytes(2**18)
"""What is written to see whether a folder has room: more than any kernel takes."""

_decorating = threading.Lock()
_here = threading.local()


def cache_folder() -> Path | None:
    """Folder of compiled kernels of this package version; None if it cannot be written."""
    return _cache()[0]


def why_uncached() -> str:
    """Reason why compiled kernels are not cached; "" if they are."""
    return _cache()[1]


@cache
def _cache() -> tuple[Path | None, str]:
    """Folder of the cache, and the reason if there is none."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        label = version("cotenant")
    except PackageNotFoundError:  # a checkout that was never installed
        label = "source"
    try:
        home = Path(os.environ.get("XDG_CACHE_HOME", ""))
        # not set, or to be ignored: what is kept there is run, and a current folder is anybody's
        if not home.is_absolute():
            home = Path.home() / ".cache"
    except RuntimeError:
        return None, "there is no home folder; set XDG_CACHE_HOME"
    folder = home / "cotenant" / "numba" / label
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as trial:
            trial.write(_TRIAL)
    except OSError as error:
        return (
            None,
            f"{folder} cannot be written: {error.strerror}; XDG_CACHE_HOME may name another place",
        )
    return folder, ""


def compiled(function: Function, **options: bool) -> Function:
    """Compile a function of arrays and numbers with numba, cached between runs where the cache
    folder can be written.

    What other kernels call is compiled apart from what Python calls, under a name of its own: numba
    makes the way from Python's arrays into a function and compiles it anew in every caller, which
    takes as long as many a kernel. An interrupt during a call is raised as such, see
    `kernel.Kernel`.
    """
    from .kernel import Inner, Kernel

    _watch_compiler()
    kernel = _dispatcher(function, **options)
    inner = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__
    )
    inner.__module__, inner.__qualname__ = function.__module__, f"{function.__qualname__}.inner"
    kernel.inner = _dispatcher(inner, no_cpython_wrapper=True, **options)
    kernel.__class__, kernel.inner.__class__ = Kernel, Inner
    return cast("Function", kernel)


def compiled_without_counts(function: Function) -> Function:
    """Compile as `compiled` a function that allocates no array and calls only such kernels.

    Arrays that it takes out of tuples are not reference-counted, which can take most of the time.
    """
    return compiled(function, _nrt=False)


def _dispatcher(function: Callable[..., object], **options: bool) -> Any:
    """Create numba's dispatcher of a function, which caches in the package's own folder.

    A cache inside the package would outlive an uninstall and could not be written in a read-only
    installation, so numba's own setting is pointed elsewhere while it decorates, and put back.
    """
    import numba

    njit: Any = numba.njit
    config: Any = numba.config
    folder = cache_folder()
    if folder is None:
        return njit(no_cfunc_wrapper=True, **options)(function)
    # A cached kernel names the module it came from. A test runner may import this package under its
    # folder's name; what is
    # compiled then must not be found under the right one.
    owner = folder / function.__module__.partition(".")[0]
    with _decorating:
        before = config.CACHE_DIR
        config.CACHE_DIR = str(owner)
        try:
            kernel = njit(cache=True, no_cfunc_wrapper=True, **options)(function)
        finally:
            config.CACHE_DIR = before
    _forgive(kernel)
    _stamp(kernel)
    return kernel


def _forgive(kernel: Any) -> None:
    """Make a kernel recompile when its cache fails.

    A disk may fill up, a folder be taken away, a file be cut short; and of two processes that keep
    two signatures of one kernel at the same moment, one may find the other's code under its own
    name.
    """
    from numba.core import sigutils

    normalize: Any = sigutils.normalize_signature
    store = kernel._cache
    load, save = store.load_overload, store.save_overload

    def loaded(signature: Any, context: Any) -> Any:
        # What arrays do must be known before what dictionaries and texts do, which numba's own code
        # for loading makes known: it asks the first come first, at every a[i] that it compiles.
        kernel.typingctx.refresh()
        try:
            found = load(signature, context)
        except Exception:  # whatever a broken pickle raises; the next run finds a new one
            with suppress(OSError):
                store.flush()
            return None
        expected = normalize(signature)[0]
        return found if found is None or found.signature.args == expected else None

    def saved(signature: Any, code: Any) -> None:
        try:
            save(signature, code)
        except OSError:
            return

    store.load_overload, store.save_overload = loaded, saved


def _stamp(kernel: Any) -> None:
    """Include the files whose compiled functions a kernel calls in its cache key."""
    stored = kernel._cache._cache_file
    others = {
        other._cache._cache_file._source_stamp
        for other in kernel.py_func.__globals__.values()
        if isinstance(other, type(kernel)) and other.__module__ != kernel.__module__
    }
    if others:
        stored._source_stamp = (stored._source_stamp, *sorted(others))


@cache
def _watch_compiler() -> None:
    """Stop all clocks and defer interrupts while numba compiles or loads a kernel."""
    from numba.core import event

    class Compiling(event.Listener):
        """Listener of numba's compilations, which are nested where kernels call kernels."""

        def on_start(self, _: object) -> None:
            stack = _here.__dict__.setdefault("stack", [])
            stack.append(ExitStack())
            if len(stack) == 1:
                stack[0].enter_context(starting())
                if gc.isenabled():  # it would look through all that the compiler keeps, many times
                    gc.disable()
                    stack[0].callback(gc.collect, 0)
                    stack[0].callback(gc.enable)

        def on_end(self, _: object) -> None:
            _here.stack.pop().close()

    class Missing(event.Listener):
        """Listener of cache misses, which lead to a long compilation."""

        def on_start(self, _: object) -> None:
            Starting.announce("compiling kernels")

        def on_end(self, _: object) -> None:
            return

    register: Any = event.register
    register("numba:compiler_lock", Compiling())
    register("numba:compile", Missing())
