"""The time that counts: it stands still during imports, compilation and the start of processes, and
limits with it.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import time
from importlib import import_module
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import Any

import pytest
from support.small_cases import program_of

import cotenant
from cotenant.solvers import stopwatch as module
from cotenant.solvers.engines import cpsat, highs, solve_program
from cotenant.solvers.outcome import Clock
from cotenant.solvers.stopwatch import ImportWatch, paused, start_seconds, stopwatch


class FakeTime:
    """A clock that only moves when it is told to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr(module.time, "perf_counter", lambda: self.now)
        monkeypatch.setattr(module.time, "sleep", self.sleep)

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeTime:
    return FakeTime(monkeypatch)


def test_clock_is_paused_until_outermost_pause_ends(
    fake: FakeTime,
) -> None:
    clock = Clock(time_limit=10)
    fake.now += 1
    with paused():
        fake.now += 100
        with paused():
            fake.now += 100
        fake.now += 100
        assert (clock.seconds, clock.left, clock.expired) == (1, 9, False)
    fake.now += 2
    assert (clock.seconds, clock.left) == (3, 7)


SLOW = "import os, time\ntime.sleep({seconds})\nhere = os.getpid()\n"


@pytest.mark.slow
def test_import_time_is_excluded_from_running_clock(
    fake: FakeTime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "slow_inner.py").write_text(SLOW.format(seconds=3))
    (tmp_path / "slow_outer.py").write_text(SLOW.format(seconds=2) + "import slow_inner\n")
    (tmp_path / "slow_later.py").write_text(SLOW.format(seconds=4))
    gc.collect()  # clocks of tests before this one
    clock = Clock()
    before = start_seconds()
    outer = import_module("slow_outer")
    assert clock.seconds == 0
    assert start_seconds() - before == 5
    assert isinstance(outer.__loader__, SourceFileLoader)
    assert outer.__spec__ is not None
    assert outer.__loader__ is outer.__spec__.loader, "nothing of ours is left in it"
    del clock
    import_module("slow_later")
    assert start_seconds() - before == 5, "without a clock nobody looks"


def test_ctrl_c_during_an_import_waits_for_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "interrupted_module.py").write_text(
        "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nwhole = True\n"
    )
    watch = ImportWatch()
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012  # it comes in a moment
        import_module("interrupted_module")
        time.sleep(60)
    assert sys.modules["interrupted_module"].whole  # type: ignore[attr-defined]
    del watch


def test_loading_libraries_does_not_reduce_time_limit(
    fake: FakeTime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "slow_library.py").write_text(SLOW.format(seconds=50))

    def method(instance: object, *, time_limit: float) -> object:
        clock = Clock(time_limit)
        import_module("slow_library")
        fake.now += 1
        assert (clock.left, clock.expired) == (9, False)
        return cotenant.solve(tiny, "GR").solution

    tiny = cotenant.read("colocation/tiny")
    assert cotenant.solve(tiny, method, time_limit=10).seconds == 1


@pytest.mark.slow
def test_cold_kernel_cache_does_not_prevent_proof(tmp_path: Path) -> None:
    """`min-servers --time-limit 1` answered "feasible 5" where a second run proved 4."""
    command = [
        sys.executable,
        "-m",
        "cotenant.cli",
        "solve",
        "packing/tiny",
        "-m",
        "min-servers",
        "--time-limit",
        "1",
        "--json",
    ]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        env={**os.environ, "XDG_CACHE_HOME": str(tmp_path)},
        check=False,
    )
    assert '"status": "optimal"' in done.stdout, done.stderr
    assert "anew in every run" not in done.stderr  # they are kept in the folder given
    assert stopwatch().seconds > 0


@pytest.mark.parametrize(
    ("engine", "library", "name"),
    [("highs", highs, "_model"), ("cp-sat", cpsat, "WholeProgram")],
    ids=["highs", "cp-sat"],
)
def test_time_to_pass_program_to_engine_counts_as_engine_time(
    engine: Any, library: Any, name: str, fake: FakeTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = program_of(2, upper=1.0, cost=[-1.0, 2.0], integer=True)
    limits: list[float | None] = []
    hand_over, run = getattr(library, name), library.run_interruptibly

    def slow(*given: Any) -> Any:
        fake.now += 5
        return hand_over(*given)

    def spy(*given: Any, **settings: Any) -> Any:
        limits.append(settings["time_limit"])
        return run(*given, **settings)

    monkeypatch.setattr(library, "run_interruptibly", spy)
    monkeypatch.setattr(library, name, slow)
    assert solve_program(program, engine=engine, time_limit=6).objective == -1
    assert limits == [1]
