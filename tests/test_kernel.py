"""Compiled kernels: an interrupt while one runs, and `cotenant warm`, which compiles them all."""

from __future__ import annotations

import ctypes
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.messages import approved
from support.terminal import run

import cotenant
from cotenant.cli import installing
from cotenant.solvers import compiled as module
from cotenant.solvers.compiled import compiled

raise_signal = ctypes.CDLL(None)["raise"]
raise_signal.argtypes, raise_signal.restype = [ctypes.c_int], ctypes.c_int


@pytest.fixture
def kernels(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """Compiled functions that are interrupted before they end; what calls C's functions numba
    cannot cache.
    """
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null")
    module._cache.cache_clear()

    def pair(number: int) -> Any:
        raise_signal(number)
        return np.arange(number), np.arange(number)

    def array(number: int) -> Any:
        raise_signal(number)
        return np.arange(number)

    def scalar(number: int) -> Any:
        raise_signal(number)
        return number

    made = [compiled(pair), compiled(array), compiled(scalar)]
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    for kernel in made:
        kernel(int(signal.SIGINT))  # compiled now
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield made
    signal.signal(signal.SIGINT, before)
    module._cache.cache_clear()


def test_interrupt_while_a_kernel_runs_raises_keyboard_interrupt(kernels: list[Any]) -> None:
    """Of the pair Python said: SystemError, returned a result with an exception set."""
    for kernel in kernels:
        for _ in range(3):
            with pytest.raises(KeyboardInterrupt):
                kernel(int(signal.SIGINT))


def test_exception_of_signal_handler_leaves_kernel_unchanged(kernels: list[Any]) -> None:
    class OwnError(Exception):
        pass

    def handler(*_: object) -> None:
        raise OwnError

    signal.signal(signal.SIGINT, handler)
    with pytest.raises(OwnError):
        kernels[0](int(signal.SIGINT))


CHILD = """
import random, signal, sys
import numpy as np
from cotenant.instances.packing.generators import caprara_toth
from cotenant.solvers.packing.minimum import min_servers

instance = caprara_toth(number=6, items=60, rng=np.random.default_rng(3))
min_servers(instance, time_limit=2)  # kernels are compiled now
signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
random.seed(0)
for _ in range(80):
    try:
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.2 * random.random())
            word = min_servers(instance, time_limit=10).stop
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:  # before there was anything to keep
        word = "nothing"
    print(word)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no interval timer here")
def test_min_servers_interrupted_at_random_keeps_answer() -> None:
    done = subprocess.run(
        [sys.executable, "-c", CHILD], capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr
    told = done.stdout.split()
    assert len(told) == 80
    assert set(told) <= {"interrupted", "finished", "nothing"}


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """An empty cache of kernels."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    module._cache.cache_clear()
    yield tmp_path
    module._cache.cache_clear()


@pytest.mark.slow
def test_runs_after_warm_compile_no_kernel(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installing, "WARMING", ("colocation/tiny", "colocation preferences"))
    done = run("warm")
    assert done.returncode == 0
    kept = sorted(cache.rglob("*.nbc"))
    assert kept
    folder = cache / "cotenant" / "numba" / cotenant.__version__
    assert done.stdout == f"{len(kept)} compiled kernels are kept in {folder}\n"
    cotenant.compare([cotenant.read("colocation/tiny")], jobs=1, time_limit=60)
    assert sorted(cache.rglob("*.nbc")) == kept


def test_warm_command_refuses_unusable_kernel_folder(cache: Path) -> None:
    (cache / "cotenant").write_text("a file where the folder should be")
    done = run("warm")
    assert done.returncode == 2
    approved(done.stderr)


def test_kernel_is_recompiled_after_edit_of_called_kernel() -> None:
    """The heap that the event loop calls stands in a file of its own."""
    from cotenant.solvers import heap_kernels
    from cotenant.solvers.scheduling import kernels

    def stamp(kernel: Any) -> Any:
        return kernel._cache._cache_file._source_stamp

    assert stamp(heap_kernels.push) in stamp(kernels.run)[1:]
