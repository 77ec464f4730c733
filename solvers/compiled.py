"""One way to compile a kernel: numba, with its cache in the user's own cache folder.

numba is imported by the first decoration, so a module of kernels must itself be imported on first use only. numba notices
an edit of the file a kernel stands in, not of a file whose compiled function it calls: a kernel and its helpers share a file.
"""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

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
