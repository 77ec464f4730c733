"""Ctrl-C and SIGTERM: heard from the first line on, once, and what is known is kept."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from support import sweep_methods as bad
from support.messages import approved

import cotenant
from cotenant.analysis.run.result import Result
from cotenant.analysis.run.rows import read_rows
from cotenant.papers.experiment import Experiment
from cotenant.papers.fuga import PAPER
from cotenant.papers.run import run_tasks, tasks
from cotenant.solvers import interrupts
from cotenant.solvers.interrupts import abandoning, deferred

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")
SIGNALS = pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["ctrl-c", "sigterm"]
)
TINY = cotenant.read("colocation/tiny")


def interrupt(number: int = signal.SIGINT) -> None:
    signal.raise_signal(number)


# One process: what is put off, and until when.


@pytest.mark.parametrize("interrupts", [1, 2])
def test_deferred_interrupt_is_raised_after_block_and_second_at_once(interrupts: int) -> None:
    seen = []
    with pytest.raises(KeyboardInterrupt), deferred():  # noqa: PT012
        for number in range(interrupts):
            interrupt()
            seen.append(number)
    assert seen == [0]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_reading_deferred_interrupt_clears_it() -> None:
    with deferred() as put_off:
        assert not put_off.interrupted
        interrupt()
        assert put_off.interrupted
        assert not put_off.interrupted


def test_only_main_thread_defers_interrupts() -> None:
    done = []

    def work() -> None:
        with deferred():
            done.append(signal.getsignal(signal.SIGINT) is signal.default_int_handler)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == [True]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_interrupt_swallowed_by_python_is_raised_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "unraisablehook", sys.__unraisablehook__)
    interrupts.install_handlers()

    class Freed:
        def __del__(self) -> None:
            interrupt()

    with pytest.raises(KeyboardInterrupt):  # noqa: PT012
        Freed()
        threading.Event().wait(60)


def test_interrupt_after_method_keeps_answer(interrupt_at: Any) -> None:
    start = cotenant.solve(TINY, "GR").solution
    last_step = "cotenant.analysis.run.question.Question.settled"
    interrupt_at(last_step)
    found = cotenant.solve(TINY, "optimal", start=start)
    assert (found.status.value, found.stop.value, found.gap) == ("optimal", "interrupted", 0)
    interrupt_at(last_step)
    assert cotenant.compare([TINY], ["optimal", "GR"]).interrupted


# The command, from its first line to its last. What stands in for a method or a library does the
# same at every speed.

ENTRY = """
import os, signal, sys
sys.path.insert(0, {tests!r})
{prepare}
from cotenant.cli import main
main()
"""
KEEPS = """
from support import sweep_methods as bad; import cotenant.solvers.colocation as methods
methods.optimal = lambda instance: bad.{method}(instance, note={note!r})
"""


def command(prepare: str, *arguments: str) -> subprocess.Popen[str]:
    """The console entry in a process of its own, after some lines that are not ours."""
    script = ENTRY.format(tests=str(Path(__file__).parent), prepare=prepare)
    words = [sys.executable, "-c", script, *arguments]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def ended(child: subprocess.Popen[str], code: int) -> tuple[str, str]:
    """What a command printed that exits with this code, and the last line of its errors."""
    stdout, stderr = child.communicate(timeout=600)
    assert child.returncode == code, stderr
    assert "Traceback" not in stderr
    return stdout, last(stderr)


def last(stderr: str) -> str:
    """The last line that a slow machine does not add to."""
    slow = ("s to start", "(not counted)")
    lines = [line for line in stderr.splitlines() if not any(word in line for word in slow)]
    return (lines or [""])[-1]


@pytest.mark.parametrize(
    ("number", "code", "module"), [(signal.SIGINT, 130, "typer"), (signal.SIGTERM, 143, "numpy")]
)
def test_signal_during_import_prints_one_line(
    number: int, code: int, module: str, tmp_path: Path
) -> None:
    (tmp_path / f"{module}.py").write_text(
        f"import os, signal, time\nos.kill(os.getpid(), {number})\nfor _ in range(1000): "
        f"pass\nfrom {module} import nothing\n"
    )
    done = command(f"sys.path.insert(0, {str(tmp_path)!r})", "solve", "colocation/tiny", "-m", "GR")
    stdout, line = ended(done, code)
    assert stdout == ""
    approved(line)


@pytest.mark.parametrize("module", ["cotenant.solvers.cores", "cotenant.cli.codes"])
def test_interrupt_that_python_makes_a_runtime_error_prints_one_line(
    module: str, tmp_path: Path
) -> None:
    """Python 3.11 makes one of what is raised in `__set_name__`."""
    planted = tmp_path / "planted.py"
    planted.write_text(
        "import os, signal\nclass Name:\n  def __set_name__(self, *_):\n    "
        "os.kill(os.getpid(), signal.SIGINT)\n"
        "    [0 for _ in range(1000)]\nclass Named:\n  name = Name()\n"
    )
    finder = f"""
import importlib.util
class Planted:
    def find_spec(name, path=None, target=None):
        if name == {module!r}:
            return importlib.util.spec_from_file_location(name, {str(planted)!r})
sys.meta_path.insert(0, Planted)
"""
    stdout, line = ended(command(finder, "solve", "colocation/tiny", "-m", "GR"), 130)
    assert stdout == ""
    approved(line)


SOLVE = ("solve", "colocation/tiny", "-m", "optimal")


@SIGNALS
@pytest.mark.sampled(2)
def test_interrupted_solve_keeps_incumbent(number: int, code: int, tmp_path: Path) -> None:
    note, out = tmp_path / "note", tmp_path / "result.json"
    keeps = KEEPS.format(method="keeps_best", note=str(note))
    solving = command(keeps, *SOLVE, "--out", str(out), "--json")
    bad.waited_for(note)
    solving.send_signal(number)
    stdout, line = ended(solving, code)
    approved(line)
    result = Result.read(out)
    assert (result.stop.value, json.loads(stdout)) == ("interrupted", json.loads(out.read_text()))
    cotenant.check(TINY, result.solution)


@pytest.mark.slow
@SIGNALS
def test_interrupt_without_answer_exits_with_signal_code(
    number: int, code: int, tmp_path: Path
) -> None:
    note = tmp_path / "note"
    no_policy = (
        "import cotenant.analysis.run.starts as starts; starts.Starts.look = lambda *_: None\n"
    )
    solving = command(KEEPS.format(method="keeps_nothing", note=str(note)) + no_policy, *SOLVE)
    bad.waited_for(note)
    solving.send_signal(number)
    stdout, line = ended(solving, code)
    assert stdout == ""
    approved(line)


@pytest.mark.slow
@SIGNALS
def test_interrupted_compare_keeps_rows_and_ends_processes(
    number: int, code: int, tmp_path: Path
) -> None:
    note, out = tmp_path / "note", tmp_path / "rows.jsonl"
    prepare = f"""
from support import sweep_methods as bad
from cotenant.analysis.run import compare as room
compare = room.compare
room.compare = lambda instances, methods, **rest: compare(
    instances, [bad.keeps_best, bad.sleeps], **(rest | {{"options": {{"note": {str(note)!r}}}, "jobs": 2}}))
"""
    comparing = command(prepare, "compare", "colocation/tiny", "-m", "GR", "--out", str(out))
    noted = bad.waited_for(note, whole=lambda text: len(text.split()) == 2).split()
    comparing.send_signal(number)
    _, stderr = comparing.communicate(timeout=600)
    assert comparing.returncode == code, stderr
    assert "stopping: methods hand in the best they have" in stderr
    assert last(stderr).startswith("interrupted: ")
    assert "Traceback" not in stderr
    assert all(bad.gone(int(process)) for process in noted)
    assert {row["stop"] for row in read_rows(out)} <= {"interrupted"}


def test_interrupted_experiment_stops_all_experiments(tmp_path: Path) -> None:
    def stopped() -> list[Any]:
        try:
            interrupt()
        except (KeyboardInterrupt, Exception):
            return []
        finally:
            assert signal.getsignal(signal.SIGINT) is not signal.default_int_handler
        raise AssertionError("nobody was interrupted")

    out = tmp_path / "rows.jsonl"
    two = [Experiment(PAPER, f"stopped-{number}", "fig. 9", stopped, "") for number in range(2)]
    with pytest.raises(KeyboardInterrupt):
        list(run_tasks(tasks(two), out=out))
    assert read_rows(out) == []
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.sampled(2)
@pytest.mark.parametrize("engine", ["highs", "cp-sat"])
def test_engine_is_stopped_before_interrupt_is_raised(engine: str) -> None:
    from test_engines import knapsacks  # type: ignore[import-not-found]

    from cotenant.solvers.engines import answer, solve_program

    threading.Timer(0.5, interrupts._send, (signal.SIGINT,)).start()
    with pytest.raises(KeyboardInterrupt), abandoning():
        solve_program(knapsacks(15, 90), engine=engine, time_limit=60)
    assert not [thread for thread in threading.enumerate() if thread.name == "cotenant-engine"]
    assert answer.LOCK.acquire(blocking=False)
    answer.LOCK.release()
