"""Compiled kernels: where their cache lies, and what happens when it cannot be written."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import cotenant.solvers.compiled

USE = """
import numba
before = numba.config.CACHE_DIR
from cotenant.solvers.roommates import irving, ranks_from_lists
assert irving(ranks_from_lists([[1], [0]])).partner.tolist() == [1, 0]
assert numba.config.CACHE_DIR == before
"""


def use_kernels(**environment):
    return subprocess.Popen([sys.executable, "-c", USE], env={**os.environ, **environment})


@pytest.mark.slow
def test_the_cache_lies_in_the_users_cache_folder_and_processes_share_it(tmp_path):
    processes = [use_kernels(XDG_CACHE_HOME=str(tmp_path)) for _ in range(2)]
    assert [process.wait() for process in processes] == [0, 0]
    cached = list(tmp_path.glob("cotenant/numba/*/**/*.nbi"))
    assert cached
    package = Path(cotenant.solvers.compiled.__file__).parent
    assert not list(package.rglob("*.nbi"))
    assert use_kernels(XDG_CACHE_HOME=str(tmp_path)).wait() == 0
    assert list(tmp_path.glob("cotenant/numba/*/**/*.nbi")) == cached


@pytest.mark.slow
def test_without_a_writable_cache_kernels_are_compiled_in_memory(tmp_path):
    blocked = tmp_path / "a file where the folder should be"
    blocked.write_text("")
    assert use_kernels(XDG_CACHE_HOME=str(blocked)).wait() == 0
    assert not list(Path(cotenant.solvers.compiled.__file__).parent.rglob("*.nbi"))


def test_compiled_functions_compute():
    numba = pytest.importorskip("numba")
    add = cotenant.solvers.compiled.compiled(lambda one, other: one + other)
    assert add(1, 2) == 3
    assert isinstance(add, numba.core.dispatcher.Dispatcher)
