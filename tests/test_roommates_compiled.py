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
def test_compiled_kernel_cache_in_user_folder_is_shared_by_processes(tmp_path):
    processes = [use_kernels(XDG_CACHE_HOME=str(tmp_path)) for _ in range(2)]
    assert [process.wait() for process in processes] == [0, 0]
    cached = list(tmp_path.glob("cotenant/numba/*/**/*.nbi"))
    assert cached
    package = Path(cotenant.solvers.compiled.__file__).parent
    assert not list(package.rglob("*.nbi"))
    assert use_kernels(XDG_CACHE_HOME=str(tmp_path)).wait() == 0
    assert list(tmp_path.glob("cotenant/numba/*/**/*.nbi")) == cached


@pytest.mark.slow
def test_kernels_without_writable_cache_are_compiled_in_memory(tmp_path):
    blocked = tmp_path / "a file where the folder should be"
    blocked.write_text("")
    assert use_kernels(XDG_CACHE_HOME=str(blocked)).wait() == 0
    assert not list(Path(cotenant.solvers.compiled.__file__).parent.rglob("*.nbi"))


def kernel_of(monkeypatch, folder, function=None):
    """A fresh kernel with its cache in a folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    cotenant.solvers.compiled._cache.cache_clear()
    return cotenant.solvers.compiled.compiled(function or (lambda one: one + 1))


@pytest.fixture(autouse=True)
def _folder_is_looked_for_again():
    yield
    cotenant.solvers.compiled._cache.cache_clear()


def test_kernel_runs_without_cache_on_full_disk(monkeypatch, tmp_path):
    """The run ended with numba's OSError."""
    from numba.core import caching

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(caching.IndexDataCacheFile, "save", full)
    kernel = kernel_of(monkeypatch, tmp_path)
    assert kernel(1) == 2
    assert kernel.stats.cache_misses


def test_unreadable_kernel_cache_is_compiled_again(monkeypatch, tmp_path):
    def add(one):
        return one + 3

    assert kernel_of(monkeypatch, tmp_path, add)(1) == 4
    kept = list(tmp_path.rglob("*.nbc")) + list(tmp_path.rglob("*.nbi"))
    assert len(kept) == 2
    for path in kept:
        path.write_bytes(path.read_bytes()[:40])
        for misses in (1, 0):
            again = kernel_of(monkeypatch, tmp_path, add)
            assert again(1) == 4
            assert sum(again.stats.cache_misses.values()) == misses


def test_cached_code_of_another_signature_is_not_loaded(monkeypatch, tmp_path):
    """Two processes that keep two signatures of one kernel at the same moment may give both the
    same file.
    """

    def add(one):
        return one + 5

    whole, real = kernel_of(monkeypatch, tmp_path, add), kernel_of(monkeypatch, tmp_path, add)
    assert (whole(1), real(1.5)) == (6, 6.5)
    first, second = sorted(tmp_path.rglob("*.nbc"))
    first.write_bytes(second.read_bytes())
    again = kernel_of(monkeypatch, tmp_path, add)
    assert (again(1), again(1.5)) == (6, 6.5)
    assert sum(again.stats.cache_misses.values()) == 1
