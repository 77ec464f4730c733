"""Interrupts that come while a compiled kernel runs are interrupts, whatever the kernel returns."""

from __future__ import annotations

import ctypes
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

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


def test_an_interrupt_while_a_kernel_runs_is_an_interrupt(kernels: list[Any]) -> None:
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


def test_kernels_are_nested_and_pickled() -> None:
    import pickle

    from cotenant.solvers.packing.combination_kernels import combinations

    arguments = (np.array([[1, 2], [2, 1]]), np.array([5, 5]), np.array([4, 4]), 100)
    copy = pickle.loads(pickle.dumps(combinations))
    assert np.array_equal(copy(*arguments)[0], combinations(*arguments)[0])
    assert type(copy) is type(combinations)


CHILD = """
import random, signal, sys
import numpy as np
from cotenant.instances.packing.generators import caprara_toth
from cotenant.solvers.packing.minimum import min_servers

instance = caprara_toth(number=6, items=60, rng=np.random.default_rng(3))
min_servers(instance, time_limit=2)  # kernels are compiled now
signal.signal(signal.SIGALRM, signal.default_int_handler)
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
def test_interrupts_at_random_moments_end_min_servers_with_its_answer() -> None:
    done = subprocess.run(
        [sys.executable, "-c", CHILD], capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr
    told = done.stdout.split()
    assert len(told) == 80
    assert set(told) <= {"interrupted", "finished", "nothing"}
