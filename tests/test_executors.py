"""The cells of a comparison on executors of `concurrent.futures`, good and failing ones."""

from __future__ import annotations

import os
import pickle
import signal
import sys
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

import cotenant
from cotenant.analysis.run.rows import read_rows
from cotenant.analysis.run.workers import run_pickled_cell
from cotenant.instances.problem import EngineError, InvalidOption

TINY = cotenant.read("colocation/tiny")


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
