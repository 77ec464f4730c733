"""How many cores a solver may use, and how processes share them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.messages import refused

import cotenant
from cotenant.instances.problem import InvalidOption
from cotenant.solvers import cores as module
from cotenant.solvers.cores import THREADS, VARIABLE, cores, sharing


@pytest.fixture
def sixteen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine of 16 cores that may all be used."""
    monkeypatch.setattr(module, "available", lambda: 16.0)
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
    membership = tmp_path / "cgroup"
    membership.write_text("0::/jobs/mine\n")
    inner, outer = tmp_path / "jobs" / "mine", tmp_path / "jobs"
    inner.mkdir(parents=True)
    assert module._quota(tmp_path, membership) == float("inf")
    (inner / "cpu.max").write_text("max 100000\n")
    assert module._quota(tmp_path, membership) == float("inf")
    (outer / "cpu.max").write_text("250000 100000\n")
    assert module._quota(tmp_path, membership) == 3, (
        "the group above limits it too, and half a core is one"
    )
    membership.write_text("7:memory:/x\n4:cpu,cpuacct:/jobs\nbroken\n")
    first = tmp_path / "cpu,cpuacct" / "jobs"
    first.mkdir(parents=True)
    (first / "cpu.cfs_quota_us").write_text("-1")
    (first / "cpu.cfs_period_us").write_text("100000")
    assert module._quota(tmp_path, membership) == float("inf")
    (first / "cpu.cfs_quota_us").write_text("400000")
    assert module._quota(tmp_path, membership) == 4
    assert module._quota(tmp_path, tmp_path / "none") == float("inf")


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
