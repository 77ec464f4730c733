"""Runs in processes of their own: what ends them, what their death costs, what Ctrl-C keeps."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from support import sweep_methods as bad
from support.messages import approved, refused

import cotenant
from cotenant.analysis.run.rows import read_rows
from cotenant.instances.problem import InvalidOption

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
