"""Runs in processes and on executors: what ends them, what their death costs; one writer at a time for
a file of rows; and short memory, which is a line that says so.
"""

from __future__ import annotations

import errno
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import (
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
)
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import pytest
from support import sweep_methods as bad
from support.messages import approved, refused
from support.small_cases import program_of
from support.terminal import run

import cotenant
from cotenant.analysis.run import lock
from cotenant.analysis.run.lock import locked
from cotenant.analysis.run.rows import read_rows
from cotenant.analysis.run.workers import run_pickled_cell
from cotenant.instances.problem import EngineError, InvalidFile, InvalidOption
from cotenant.instances.problem.errors import ShortOfMemory
from cotenant.papers.run import run_tasks
from cotenant.solvers import memory
from cotenant.solvers.engines import solve_program
from cotenant.solvers.memory import sentence, short_of_memory

TINY = cotenant.read("colocation/tiny")
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")


def errors(comparison: Any) -> dict[str, str | None]:
    return {row["method"]: row.get("error") for row in comparison.rows}


def place_in(function: Any, line: int) -> str:
    """The place of a line of a function, counted from its own, as a failure says it."""
    code = function.__code__
    return f"{os.path.relpath(code.co_filename)}:{code.co_firstlineno + line}"


@pytest.mark.slow
def test_rows_of_processes_and_of_row_file_equal_rows_of_this_process(tmp_path: Path) -> None:
    methods = ["optimal", "SMR", bad.in_order]
    settings: dict[str, Any] = {"seeds": [0, 3], "options": {"alpha": 0.01}, "predict": 0.5}
    out = tmp_path / "rows.jsonl"
    here = cotenant.compare([TINY], methods, **settings)
    apart = cotenant.compare([TINY], methods, jobs=2, out=out, **settings)
    again = cotenant.compare([TINY], methods, out=out, **settings)
    assert bad.without_seconds(here.rows) == bad.without_seconds(apart.rows)
    assert apart.rows == again.rows, "nothing was run again"
    assert sorted(map(json.dumps, read_rows(out))) == sorted(map(json.dumps, apart.rows))
    assert len(here.rows) == 7


@pytest.mark.slow
def test_run_beyond_its_hard_limit_is_a_failed_row_without_processes(tmp_path: Path) -> None:
    note = tmp_path / "note"
    limits = {"time_limit": 1.0, "hard_limit": 6.0, "options": {"note": str(note)}}
    found = cotenant.compare([TINY], [bad.sleeps, bad.leaves], jobs=1, **limits)
    approved(errors(found).values())
    assert all(map(bad.gone, map(int, note.read_text().split())))


@pytest.mark.slow
def test_killed_worker_process_fails_only_its_cell() -> None:
    found = cotenant.compare(
        [TINY], [bad.leaves, "GR", bad.is_killed, bad.exits, bad.shouts, bad.spoils], jobs=1
    )
    said = errors(found)
    assert said.pop("GR") is said.pop("shouts") is None
    assert said["exits"] == f"SystemExit at {place_in(bad.exits, 2)}: enough"
    assert said["spoils"].startswith(f"ValueError at {place_in(bad.spoils, 2)}: assignment")
    approved(said[name] for name in ("leaves", "is_killed"))


def of_no_module(instance: Any) -> Any:
    return None


of_no_module.__module__ = "no_such_module"


@pytest.mark.parametrize("method", [lambda instance: None, of_no_module])
def test_function_that_processes_cannot_import_is_refused_before_any_run(
    method: Any, tmp_path: Path
) -> None:
    out = tmp_path / "rows.jsonl"
    with refused(InvalidOption):
        cotenant.compare([TINY], ["GR", method], jobs=1, out=out)
    assert not out.exists()


@pytest.mark.slow
def test_function_of_running_script_is_refused_without_running_it_again() -> None:
    script = """
import cotenant
def serve(instance): pass  # a name that the other process has too
print("once")
try: cotenant.compare([cotenant.read("colocation/tiny")], [serve], jobs=1)
except cotenant.CotenantError as error: print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=600
    )
    assert done.stdout.startswith(
        "once\nmethod 'serve' or its options cannot be used in another process (it is defined "
        "in the script"
    )
    assert done.stdout.count("once") == 1


@pytest.mark.parametrize(
    "settings",
    [{"jobs": 0}, {"executor": 5}, {"hard_limit": 5.0}, {"hard_limit": float("inf"), "jobs": 1}],
)
def test_contradicting_settings_of_processes_are_refused(settings: dict[str, Any]) -> None:
    with refused(InvalidOption):
        cotenant.compare([TINY], ["GR"], **settings)


def started(methods: str, note: Path, out: Path) -> subprocess.Popen[str]:
    settings = 'jobs=2, time_limit=100.0, stopping=lambda: print("stopping")'
    return bad.started(methods, note, out, settings)


@pytest.mark.slow
def test_ctrl_c_keeps_finished_rows_and_incumbents(tmp_path: Path) -> None:
    note, out = tmp_path / "note", tmp_path / "rows.jsonl"
    sweep = started('["GR", bad.keeps_best, "SMP", bad.sleeps, "SMR"]', note, out)
    bad.waited_for(Path(f"{note}.keeps"))  # the other may still start while `sleeps` is there
    while len(out.read_bytes().splitlines()) < 2:  # GR and SMP
        assert sweep.poll() is None
    sweep.send_signal(signal.SIGINT)  # to this process alone, as `kill -INT` does
    stdout, stderr = sweep.communicate(timeout=600)
    assert stderr == ""
    kept = {row["method"]: row["stop"] for row in read_rows(out)}
    assert kept["GR"] == kept["SMP"] == "finished"
    assert kept["keeps_best"] == "interrupted"
    assert "sleeps" not in kept
    order = [name for name in ("GR", "keeps_best", "SMP", "SMR") if name in kept]
    assert stdout == f"stopping\n{order} True\n"


@pytest.mark.slow
def test_second_ctrl_c_ends_at_once(tmp_path: Path) -> None:
    note, out = tmp_path / "note", tmp_path / "rows.jsonl"
    sweep = started('["GR", bad.stubborn]', note, out)
    process = int(bad.waited_for(note))
    while len(out.read_bytes().splitlines()) < 1:
        assert sweep.poll() is None
    sweep.send_signal(signal.SIGINT)
    timer = threading.Timer(0.5, sweep.send_signal, [signal.SIGINT])
    timer.start()
    stdout, _ = sweep.communicate(timeout=600)
    timer.join()
    assert stdout == "stopping\n['GR'] True\n"
    assert bad.gone(process)


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_killed_comparison_leaves_no_process(how: signal.Signals, tmp_path: Path) -> None:
    note, out = tmp_path / "note", tmp_path / "rows.jsonl"
    sweep = started("[bad.sleeps]", note, out)
    processes = [int(number) for number in bad.waited_for(note).split()]
    os.kill(sweep.pid, how)
    sweep.communicate(timeout=600)
    assert all(map(bad.gone, processes))
    assert read_rows(out) == []


class Calling(Executor):
    """Makes a future of what `answer` makes of a call, at once."""

    def __init__(self, answer: Callable[..., Any]) -> None:
        self.answer = answer

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **_: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(self.answer(function, *arguments))
        except CancelledError:
            future.cancel()
        except Exception as error:
            future.set_exception(error)
        return future


@pytest.mark.slow
@pytest.mark.parametrize("pool", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_executor_pools_give_same_rows_and_survive_a_death(pool: Any) -> None:
    methods = ["GR", "SMR", bad.in_order]
    here = cotenant.compare([TINY], methods, seeds=range(2))
    with pool(2) as executor:
        settings: dict[str, Any] = {"seeds": range(2), "executor": executor, "jobs": 2}
        there = cotenant.compare([TINY], [*methods, bad.leaves], **settings)
        assert executor.submit(int).result() == 0, "the executor is not shut down"
    assert bad.without_seconds(there.rows[:-1]) == bad.without_seconds(here.rows)
    approved(there.rows[-1]["error"])


FAILURES: dict[str, tuple[Any, type[Exception] | None]] = {
    "a worker with another version": (
        lambda run, call, *rest: run(pickle.dumps(("0.0.1", *pickle.loads(call)[1:])), *rest),
        InvalidOption,
    ),
    "a worker that lacks the module": (
        lambda *_: ("unopened", run_pickled_cell(b"cno_such_module\nmethod\n.", b"")),
        InvalidOption,
    ),
    "runs that are canceled": (CancelledError(), EngineError),
    "a pool that breaks": (BrokenProcessPool("a process ended\nabruptly"), EngineError),
    "an error of ours": (EngineError("a process for the runs does not start"), EngineError),
    "an error of its own": (OSError("Node 3 is down. See its log"), None),
    "an answer that is none": (lambda *_: 5, None),
}


@pytest.mark.slow
@pytest.mark.parametrize("why", FAILURES)
def test_executor_failure_is_an_error_or_a_failed_row_and_rows_are_kept(
    why: str, tmp_path: Path
) -> None:
    failure, kind = FAILURES[why]
    out = tmp_path / "rows.jsonl"
    begun: list[int] = []

    def answer(function: Any, *arguments: Any) -> Any:
        begun.append(1)
        if len(begun) == 1:
            return function(*arguments)
        if isinstance(failure, Exception):
            raise failure
        return failure(function, *arguments)

    def compared() -> Any:
        return cotenant.compare([TINY], ["GR", "SMP"], executor=Calling(answer), out=out)

    if kind is None:
        approved(compared().rows[1]["error"])
    else:
        with refused(kind):
            compared()
    assert read_rows(out)[0]["metrics"]


def test_executor_that_was_shut_down_is_an_error() -> None:
    executor = ThreadPoolExecutor(1)
    executor.shutdown()
    with refused(EngineError):
        cotenant.compare([TINY], ["GR"], executor=executor)


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_ctrl_c_on_process_pool_keeps_incumbents(tmp_path: Path) -> None:
    note, out = tmp_path / "note", tmp_path / "rows.jsonl"
    pool = 'executor=__import__("concurrent.futures").futures.ProcessPoolExecutor(1)'
    sweep = bad.started('["GR", bad.keeps_best, "SMP"]', note, out, pool)
    child = bad.waited_for(note)
    parent = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[1]
    for process in (sweep.pid, int(parent)):
        os.kill(process, signal.SIGINT)
    stdout, stderr = sweep.communicate(timeout=600)
    assert (stdout, stderr) == ("['GR', 'keeps_best'] True\n", "")
    assert [row["stop"] for row in read_rows(out)] == ["finished", "interrupted"]


@pytest.fixture
def holder(tmp_path: Path) -> Any:
    """A sweep in another process that holds the lock of its rows, until it is killed."""
    note, out = tmp_path / "note", tmp_path / "rows.jsonl"
    with bad.started("[bad.keeps_best]", note, out) as sweep:
        bad.waited_for(note)
        yield sweep, out
        sweep.kill()


@pytest.mark.slow
def test_second_comparison_on_locked_rows_is_refused_with_process(holder: Any) -> None:
    sweep, out = holder
    with pytest.raises(InvalidFile, match=f"is being written by process {sweep.pid} on "):
        cotenant.compare([TINY], ["GR"], out=out)
    with pytest.raises(InvalidFile, match=f"process {sweep.pid}"):
        list(run_tasks([], out=out))
    assert read_rows(out) == []
    sweep.send_signal(signal.SIGKILL)
    sweep.wait()
    assert Path(f"{out}.lock").exists()
    assert len(cotenant.compare([TINY], ["GR"], out=out).rows) == 1
    assert not Path(f"{out}.lock").exists()


def test_symbolic_link_as_lock_file_is_not_followed(tmp_path: Path) -> None:
    out, mine = tmp_path / "rows.jsonl", tmp_path / "mine"
    mine.write_text("mine")
    Path(f"{out}.lock").symlink_to(mine)
    with locked(out):
        pass
    assert mine.read_text() == "mine"


def test_lock_is_released_after_errors(tmp_path: Path) -> None:
    out = tmp_path / "rows.jsonl"
    with pytest.raises(ZeroDivisionError), locked(out):
        divmod(Path(f"{out}.lock").stat().st_size, 0)
    assert list(tmp_path.iterdir()) == []
    with locked(out), pytest.raises(InvalidFile, match=f"process {os.getpid()} "), locked(out):
        pass


def test_lock_with_removed_file_is_retaken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "rows.jsonl"
    opened = lock._opened
    gone: list[Path] = []

    def late(path: str) -> int | None:
        stream = opened(path)
        if not gone:
            gone.append(Path(path))
            Path(path).unlink()
        return stream

    monkeypatch.setattr(lock, "_opened", late)
    with locked(out, wait=60.0):
        assert gone[0].exists()
    assert list(tmp_path.iterdir()) == []


def test_required_lock_that_cannot_be_held_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    (tmp_path / "link.lock").symlink_to(tmp_path / "mine")
    for out in ("missing/rows", "link"):
        with refused(InvalidFile), locked(tmp_path / out, "--store", required=True):
            pytest.fail("begun without a lock")
    monkeypatch.setattr(lock.fcntl, "flock", refuses)
    with locked(tmp_path / "rows"):
        pass
    with refused(InvalidFile), locked(tmp_path / "rows", "--store", required=True):
        pytest.fail("begun without a lock")
    assert not (tmp_path / "mine").exists()


def test_non_regular_file_needs_no_lock(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for out in (None, pipe, os.devnull, "nul\0l"):
        with locked(out), locked(out):
            pass
    assert list(tmp_path.iterdir()) == [pipe]


resource = pytest.importorskip("resource", reason="limits of Unix")


def limited(megabytes: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Python under a limit of address space, as `ulimit -v` sets it."""
    size = megabytes * 10**6
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (size, size)),
    )


LINUX = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere address space is not limited")


@LINUX
@pytest.mark.parametrize(
    "arguments",
    [["solve", "colocation/tiny", "-m", "stable"], ["compare", "colocation/tiny", "-m", "GR"]],
)
def test_memory_limit_below_libraries_is_refused_first(arguments: list[str]) -> None:
    """Under `ulimit -v 400000` a library asked for its buffers for ever, and nothing but SIGKILL
    ended it.
    """
    done = limited(280, "-m", "cotenant.cli", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(
        "error: memory is short: 280 MB of address space are allowed, and the libraries alone take "
    )
    assert len(done.stderr.splitlines()) == 1


@LINUX
def test_library_memory_estimate_grows_with_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    ask = "from cotenant.solvers import memory; print(memory.shortage())"
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    assert limited(500, "-c", ask).stdout == "\n"
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "64")
    approved(limited(500, "-c", ask).stdout)
    assert memory.shortage() == ""  # of this process, without a limit


def llvmlite() -> OSError:
    """The error that hid a lack of memory behind a file that is not found."""
    error = OSError("Could not find/load shared object file 'libllvmlite.so'")
    error.__context__ = OSError("/x/libllvmlite.so: failed to map segment from shared object")
    return error


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (MemoryError(), "no more is to be had"),
        (
            MemoryError("Unable to allocate 74.5 GiB for an array"),
            "Unable to allocate 74.5 GiB for an array",
        ),
        (RuntimeError("can't start new thread"), "can't start new thread"),
        (
            ImportError("lib.so: failed to map segment from shared object"),
            "lib.so: failed to map segment from shared object",
        ),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), "Cannot allocate memory"),
        (
            BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable"),
            "Resource temporarily unavailable",
        ),
        (llvmlite(), "/x/libllvmlite.so: failed to map segment from shared object"),
        (ShortOfMemory(sentence("why")), "why"),
        (ImportError("no module named x"), ""),
        (OSError(errno.ENOENT, "no such file"), ""),
        (EngineError("no"), ""),
    ],
)
def test_memory_errors_are_recognized(error: BaseException, words: str) -> None:
    assert short_of_memory(error) == (words and sentence(words))


def test_failed_thread_start_is_a_memory_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)
    with refused(ShortOfMemory):
        solve_program(program_of(1, upper=1.0, cost=1.0, integer=True))
    with refused(ShortOfMemory):
        cotenant.compare([TINY], ["GR"], jobs=1)
    done = run("solve", "packing/tiny", "-m", "cp-sat")
    assert done.returncode == 2
    approved(done.stderr.splitlines()[-1])


@pytest.mark.slow
def test_memory_error_of_child_process_is_in_its_row() -> None:
    found = cotenant.compare([TINY], [bad.takes_all_memory], jobs=1)
    assert found.rows[0]["error"].startswith("memory is short: Unable to allocate")
