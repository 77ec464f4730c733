"""Compiled kernels (interrupts, `cotenant warm`, where their cache lies), and how many cores a solver may
use.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.files import text_file
from support.messages import approved, refused
from support.terminal import run

import cotenant
import cotenant.solvers.compiled
from cotenant.cli import installing
from cotenant.instances.problem import InvalidOption
from cotenant.solvers import compiled as module
from cotenant.solvers import cores as available_cores
from cotenant.solvers.compiled import compiled
from cotenant.solvers.cores import THREADS, VARIABLE, cores, sharing

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
def test_warm_command_compiles_every_kernel(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
    blocked = text_file(tmp_path, "", "a file where the folder should be")
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


@pytest.fixture
def sixteen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine of 16 cores that may all be used."""
    monkeypatch.setattr(available_cores, "available", lambda: 16.0)
    monkeypatch.delenv(VARIABLE, raising=False)
    for name in THREADS:
        monkeypatch.delenv(name, raising=False)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="elsewhere there is no affinity")
def test_number_of_cores_respects_affinity(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    allowed = os.sched_getaffinity(0)
    assert cores() <= len(allowed)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        assert cores() == 1
    finally:
        os.sched_setaffinity(0, allowed)


@pytest.mark.usefixtures("sixteen")
def test_number_of_cores_respects_environment_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    assert cores() == 16
    monkeypatch.setenv(VARIABLE, "3")
    assert cores() == 3
    monkeypatch.setenv(VARIABLE, "64")
    assert cores() == 16
    for text in ("0", "-1", "two", "1.5"):
        monkeypatch.setenv(VARIABLE, text)
        with refused(InvalidOption, shown=text):
            cores()


def test_number_of_cores_respects_cgroup_quota(tmp_path: Path) -> None:
    membership = text_file(tmp_path, "0::/jobs/mine\n", "cgroup")
    inner, outer = tmp_path / "jobs" / "mine", tmp_path / "jobs"
    inner.mkdir(parents=True)
    assert available_cores._quota(tmp_path, membership) == float("inf")
    (inner / "cpu.max").write_text("max 100000\n")
    assert available_cores._quota(tmp_path, membership) == float("inf")
    (outer / "cpu.max").write_text("250000 100000\n")
    assert available_cores._quota(tmp_path, membership) == 3, (
        "the group above limits it too, and half a core is one"
    )
    membership.write_text("7:memory:/x\n4:cpu,cpuacct:/jobs\nbroken\n")
    first = tmp_path / "cpu,cpuacct" / "jobs"
    first.mkdir(parents=True)
    (first / "cpu.cfs_quota_us").write_text("-1")
    (first / "cpu.cfs_period_us").write_text("100000")
    assert available_cores._quota(tmp_path, membership) == float("inf")
    (first / "cpu.cfs_quota_us").write_text("400000")
    assert available_cores._quota(tmp_path, membership) == 4
    assert available_cores._quota(tmp_path, tmp_path / "none") == float("inf")


@pytest.mark.usefixtures("sixteen")
def test_parallel_processes_divide_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    assert {sharing(1)[name] for name in (VARIABLE, *THREADS)} == {"16"}
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    monkeypatch.setenv("NUMBA_NUM_THREADS", "9")
    found = sharing(3)
    assert (found[VARIABLE], found["OMP_NUM_THREADS"], found["NUMBA_NUM_THREADS"]) == (
        "5",
        "2",
        "5",
    )
    assert sharing(40)[VARIABLE] == "1"
    assert found["PATH"] == os.environ["PATH"]


@pytest.mark.slow
@pytest.mark.usefixtures("sixteen")
def test_comparison_children_share_cores_by_number_of_runs() -> None:
    from support import sweep_methods as bad

    tiny = cotenant.read("colocation/tiny")
    for jobs, seeds, share in ((2, 4, 8), (8, 2, 8)):
        found = cotenant.compare([tiny], [bad.tells_its_cores], jobs=jobs, seeds=range(seeds))
        assert {row["error"].partition(": ")[2] for row in found.rows} == {f"{share} cores"}


@pytest.mark.usefixtures("sixteen")
def test_cp_sat_takes_no_more_workers_than_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    from ortools.sat.python import cp_model

    from cotenant.solvers.engines import solve_cp_sat

    seen = []
    solve = cp_model.CpSolver.solve

    def spy(solver: cp_model.CpSolver, *given: object) -> object:
        seen.append(solver.parameters.num_workers)
        return solve(solver, *given)

    monkeypatch.setattr(cp_model.CpSolver, "solve", spy)
    for allowed in ("1", "3", "12"):
        monkeypatch.setenv(VARIABLE, allowed)
        model = cp_model.CpModel()
        model.maximize(model.new_int_var(0, 9, "x"))
        assert solve_cp_sat(model).objective == 9
    assert seen == [1, 3, 8]
