"""Results, incumbents and the clock: statuses that values, bounds and time limits give."""

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

import numpy as np
import pytest
from support.small_cases import program_of
from support.terminal import run as command

import cotenant
from cotenant.analysis.run.question import Question
from cotenant.analysis.run.solve import run
from cotenant.analysis.run.starts import Starts
from cotenant.analysis.run.verify_result import recheck
from cotenant.instances.colocation import Colocation, Pairing
from cotenant.instances.problem import InfeasibleSolution
from cotenant.instances.problem.base import Instance
from cotenant.solvers import stopwatch as module
from cotenant.solvers.engines import cpsat, highs, solve_program
from cotenant.solvers.incumbent import Incumbent, conclude
from cotenant.solvers.outcome import Clock, Outcome, Status, Stop
from cotenant.solvers.stopwatch import ImportWatch, Starting, paused, stopwatch

TINY = cotenant.read("colocation/tiny")
START = Pairing([0, 1], [2, 3], [1, 1], np.zeros(4))  # type: ignore[arg-type]


def measured_too_late(calls: list[int], **start: Any) -> cotenant.Result[Any]:
    """A run of `optimal`, where Ctrl-C comes while the metrics of an answer are worked out."""

    def interrupted(*_: Any, **__: Any) -> dict[str, float]:
        calls.append(1)
        raise KeyboardInterrupt

    question = Question.of(TINY, "optimal", {})
    question.metrics = interrupted
    return run(question, start.get("start") or Starts(question, seed=0))


def test_answer_interrupted_while_its_metrics_are_computed_is_kept(tmp_path: Path) -> None:
    kept = measured_too_late([], start=START)
    cotenant.check(TINY, kept.solution)
    assert (kept.stop, kept.status, kept.metrics, kept.objective, kept.gap) == (
        Stop.INTERRUPTED,
        Status.FEASIBLE,
        {},
        None,
        None,
    )
    assert kept.bound == pytest.approx(0.0425)  # the method's own, proved before
    path = kept.write(tmp_path / "kept.json")
    again = cotenant.Result.read(path)
    assert recheck(TINY, again).broken == ()
    document = kept.document()
    document["result"]["bound"] = 0.5  # above what the answer is worth
    assert any(
        "contradicts" in claim
        for claim in recheck(TINY, cotenant.Result.from_document(document)).broken
    )


def test_method_is_skipped_if_policies_for_its_starting_answer_are_interrupted() -> None:
    calls: list[int] = []
    with pytest.raises(KeyboardInterrupt):
        measured_too_late(calls)
    assert len(calls) == 1


def test_infeasible_answer_is_refused_after_an_interrupt(interrupt_at: Any) -> None:
    interrupt_at("cotenant.instances.problem.registry.Problem.require")
    with pytest.raises(InfeasibleSolution):
        cotenant.solve(TINY, lambda instance: Pairing([0], [1], [2], np.zeros(4)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("width", "words"), [(80, "exact, optimizes blocking_pairs"), (160, "optimizes")]
)
def test_methods_table_on_narrow_terminal_breaks_no_word(width: int, words: str) -> None:
    text = command("methods", "colocation", COLUMNS=str(width)).stdout
    assert all(len(line) <= width for line in text.splitlines())
    assert words in " ".join(text.split())
    assert "…" not in text


def test_time_slice_of_expired_clock_is_shortest_valid_time_limit() -> None:
    from cotenant.solvers.outcome import LEAST_SECONDS, Clock, validate_time_limit

    over = Clock(1e-9)
    assert over.expired
    assert over.left == over.time_slice() == over.time_slice(7) == LEAST_SECONDS
    validate_time_limit(over.time_slice())
    assert Clock().time_slice(3) is None
    assert Clock().time_slice(3, most=5.0) == Clock(1000.0).time_slice(4, most=5.0) == 5.0
    assert Clock(1000.0).time_slice(most=-1.0) == LEAST_SECONDS
    part = Clock(1000.0).time_slice(4)
    assert part is not None
    assert 200.0 < part <= 250.0


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("given", "method"),
    [
        ("colocation/tiny", "optimal"), ("colocation/tiny", "fair"), ("colocation/tiny", "stable"),
        ("admission/tiny", "optimal"), ("groups/tiny", "least-alpha"), ("market/tiny", "leximin"),
        ("numa/tiny", "fluid"), ("packing/paper-example", "max-min-share"),
        ("scheduling/figure-2", "max-utility"),
    ],
)  # fmt: skip
def test_value_equal_to_bound_is_optimal_though_the_method_says_feasible(
    given: str, method: str
) -> None:
    instance = cotenant.read(given)
    proved = cotenant.solve(instance, method)

    def modest(_: Instance) -> Outcome[Any]:
        metrics = proved.metrics
        levels = [
            level | ({"status": "feasible"} if level["objective"] in metrics else {})
            for level in proved.certificate.get("levels", [])
        ]
        certificate = {**proved.certificate, **({"levels": levels} if levels else {})}
        return Outcome(
            proved.solution, proved.bound, Status.FEASIBLE, proved.stop, certificate,
            tolerance=proved.tolerance,
        )  # fmt: skip

    seen = run(Question(instance, modest, method, proved.objective_name, proved.options))
    assert (seen.status, seen.certificate) == (Status.OPTIMAL, proved.certificate)
    assert recheck(instance, seen).broken == ()


@pytest.mark.parametrize(("sense", "sign"), [("min", 1), ("max", -1)])
def test_incumbent_keeps_better_values_bounds_and_second_levels(sense, sign) -> None:
    search: Incumbent[str, float] = Incumbent(
        None, Clock(), lambda number: sign * len(number), sense=sense
    )
    assert search.open
    assert search.best is None
    assert not search.proved
    assert search.offer("abc")
    assert not search.offer("abcd")
    assert not search.offer(None)
    assert search.raise_bound(sign * 1, "one", "by hand")
    assert not search.raise_bound(sign * 1)
    assert (search.best, search.value, search.bound) == ("abc", sign * 3, sign * 1)
    assert search.finish().status is Status.FEASIBLE
    assert search.offer("x")
    assert search.proved
    found = search.finish({"also": 1})
    assert (found.status, found.bound, found.stop) == (Status.OPTIMAL, sign, Stop.FINISHED)
    assert found.certificate == {"proof": "by hand", "also": 1}
    search = Incumbent(None, Clock(), len, then=lambda text: float(text.count("a")), bound=0)
    assert [search.offer(text) for text in ("aab", "aaa", "abb")] == [True, False, True]
    assert [line[1:] for line in found.trace] == [
        (sign * 3.0, None), (sign * 3.0, sign * 1.0), (sign * 1.0, sign * 1.0)
    ]  # fmt: skip


def test_incumbent_with_contradicting_bound_claims_nothing() -> None:
    for sense, bound in (("min", 3.1), ("max", 2.9)):
        search = Incumbent(None, Clock(), float, sense=sense)
        search.offer(3.0)
        search.raise_bound(bound)
        assert search.closed
        assert not search.proved
        found = search.finish()
        assert (found.status, found.bound, found.trace[-1][2]) == (Status.UNKNOWN, None, None)
        assert "contradiction" in found.certificate
        near = conclude("x", 3.0, 3.0 + 1e-12, Stop.TIME_LIMIT, {}, Clock(), sense=sense)
        assert (near.status, near.stop) == (Status.OPTIMAL, Stop.FINISHED)


def test_incumbent_refuses_infeasible_answers() -> None:
    pairs = Colocation([[0.1, 0.3], [0.2, 0.9]], [2, 2])
    search: Incumbent[Pairing, float] = Incumbent(
        pairs, Clock(), lambda _: 0.0, shown=lambda value: value / 2
    )
    given = Outcome(Pairing([0], [0], [1], [0, 2]), 0.0, Status.OPTIMAL, Stop.ITERATION_LIMIT)
    search.accept_outcome(given, "too few")
    assert search.best is None
    assert search.finish().status is Status.UNKNOWN
    assert search.stop is Stop.ITERATION_LIMIT
    with search.keeping_best():
        given = Outcome(
            Pairing([0, 1], [0, 1], [1, 1], [0, 0]), None, Status.FEASIBLE, Stop.INTERRUPTED
        )
        search.accept_outcome(given, "all")
        raise AssertionError("the interrupt goes on")
    assert search.best is not None
    assert search.finish().stop is Stop.INTERRUPTED


def test_incumbent_without_answer_accepts_bounds_and_closes_at_optimum() -> None:
    def last(*news: object) -> None:
        raise KeyboardInterrupt

    search = Incumbent(None, Clock(), len, bound=0)
    search.value = 4
    assert search.raise_bound(3)
    assert search.open
    assert search.raise_bound(4)
    assert search.closed
    assert search.clock.trace[-1][1] is None
    kept = conclude("abcd", 4.0, 4.0, Stop.FINISHED, {}, Clock(report=last))
    assert (kept.solution, kept.status, kept.stop) == ("abcd", Status.OPTIMAL, Stop.INTERRUPTED)


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


def test_clock_is_paused_until_outermost_pause_ends(fake: FakeTime) -> None:
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
    before = Starting.spent
    outer = import_module("slow_outer")
    assert clock.seconds == 0
    assert Starting.spent - before == 5
    assert isinstance(outer.__loader__, SourceFileLoader)
    assert outer.__spec__ is not None
    assert outer.__loader__ is outer.__spec__.loader, "nothing of ours is left in it"
    del clock
    import_module("slow_later")
    assert Starting.spent - before == 5, "without a clock nobody looks"


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
