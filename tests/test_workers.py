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
from cotenant.analysis.run.workers import hard_limit
from cotenant.instances.problem import InvalidOption

TINY = cotenant.read("colocation/tiny")
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")


def without_seconds(comparison: Any) -> list[dict[str, Any]]:
    return [
        {name: value for name, value in row.items() if name != "seconds"} for row in comparison.rows
    ]


def errors(comparison: Any) -> dict[str, str | None]:
    return {row["method"]: row.get("error") for row in comparison.rows}


def place_in(function: Any, line: int) -> str:
    """The place of a line of a function, counted from its own, as a failure says it."""
    code = function.__code__
    return f"{os.path.relpath(code.co_filename)}:{code.co_firstlineno + line}"


@pytest.mark.slow
def test_rows_are_the_same_from_processes_this_process_and_a_file(tmp_path: Path) -> None:
    methods = ["optimal", "SMR", bad.in_order]
    settings: dict[str, Any] = {"seeds": [0, 3], "options": {"alpha": 0.01}, "predict": 0.5}
    out = tmp_path / "rows.jsonl"
    here = cotenant.compare([TINY], methods, **settings)
    apart = cotenant.compare([TINY], methods, jobs=2, out=out, **settings)
    again = cotenant.compare([TINY], methods, out=out, **settings)
    assert without_seconds(here) == without_seconds(apart) == without_seconds(again)
    assert apart.rows == again.rows, "nothing was run again"
    assert sorted(map(json.dumps, read_rows(out))) == sorted(map(json.dumps, apart.rows))
    assert len(here.rows) == 7


@pytest.mark.slow
def test_a_run_that_passes_its_hard_limit_is_a_failed_row_and_all_its_processes_are_ended(
    tmp_path: Path,
) -> None:
    note = tmp_path / "note"
    limits = {
        "time_limit": 1.0,
        "hard_limit": 6.0,
    }  # what comes next answers before it loads what takes longer than that
    found = cotenant.compare(
        [TINY], [bad.sleeps, bad.leaves], jobs=1, options={"note": str(note)}, **limits
    )
    approved(errors(found).values())
    assert all(map(bad.gone, map(int, note.read_text().split())))


def test_the_rule_of_the_hard_limit() -> None:
    assert hard_limit(10.0) == 40.0
    assert hard_limit(None) is None


@pytest.mark.slow
def test_a_process_that_dies_takes_only_its_cell() -> None:
    found = cotenant.compare(
        [TINY], [bad.leaves, "GR", bad.is_killed, bad.exits, bad.shouts, bad.spoils], jobs=1
    )
    said = errors(found)
    assert said.pop("GR") is said.pop("shouts") is None
    assert said["exits"] == f"SystemExit at {place_in(bad.exits, 2)}: enough"
    assert said["spoils"].startswith(f"ValueError at {place_in(bad.spoils, 2)}: assignment")
    approved(said[name] for name in ("leaves", "is_killed"))


def test_a_method_that_leaves_by_sys_exit_does_not_end_a_comparison_in_this_process_either() -> (
    None
):
    assert errors(cotenant.compare([TINY], [bad.exits, "GR"])) == {
        "exits": f"SystemExit at {place_in(bad.exits, 2)}: enough",
        "GR": None,
    }


def of_no_module(instance: Any) -> Any:
    return None


of_no_module.__module__ = "no_such_module"


@pytest.mark.parametrize(
    "method",
    [
        lambda instance: None,
        of_no_module,
    ],
)
def test_a_function_that_another_process_cannot_import_is_refused_before_any_work(
    method: Any, tmp_path: Path
) -> None:
    out = tmp_path / "rows.jsonl"
    with refused(InvalidOption):
        cotenant.compare([TINY], ["GR", method], jobs=1, out=out)
    assert not out.exists()


@pytest.mark.slow
def test_a_function_of_the_script_that_is_running_is_refused_too_and_the_script_is_not_run_again() -> (
    None
):
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
    [
        {"jobs": 0},
        {"jobs": 1.5},
        {"jobs": True},
        {"executor": 5},
        {"hard_limit": 5.0},
        {"hard_limit": 0, "jobs": 1},
        {"hard_limit": float("inf"), "jobs": 1},
    ],
)
def test_settings_of_where_to_run_that_contradict_are_refused(settings: dict[str, Any]) -> None:
    with refused(InvalidOption):
        cotenant.compare([TINY], ["GR"], **settings)


def started(methods: str, note: Path, out: Path) -> subprocess.Popen[str]:
    settings = 'jobs=2, time_limit=100.0, stopping=lambda: print("stopping")'
    return bad.started(methods, note, out, settings)


@pytest.mark.slow
def test_ctrl_c_keeps_what_is_done_and_what_interrupted_methods_hand_in(tmp_path: Path) -> None:
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
    assert (
        stdout
        == f"stopping\n{[name for name in ('GR', 'keeps_best', 'SMP', 'SMR') if name in kept]} True\n"
    )


@pytest.mark.slow
def test_a_second_ctrl_c_ends_at_once(tmp_path: Path) -> None:
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
@pytest.mark.parametrize(
    "how", [pytest.param(signal.SIGTERM, marks=pytest.mark.slow), signal.SIGKILL]
)
def test_a_sweep_that_is_killed_leaves_no_process_computing(
    how: signal.Signals, tmp_path: Path
) -> None:
    note, out = tmp_path / "note", tmp_path / "rows.jsonl"
    sweep = started("[bad.sleeps]", note, out)
    processes = [int(number) for number in bad.waited_for(note).split()]
    os.kill(sweep.pid, how)
    sweep.communicate(timeout=600)
    assert all(map(bad.gone, processes))
    assert read_rows(out) == []


@pytest.mark.slow
def test_every_problem_gives_the_same_rows_in_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COTENANT_CORES", "1")  # engines with several threads may find another best
    names = [
        "colocation/tiny",
        "market/tiny",
        "packing/tiny",
        "admission/tiny",
        "scheduling/tiny",
        "numa/tiny",
    ]
    given = cotenant.read_all(names).instances
    settings: dict[str, Any] = {"seeds": range(2), "time_limit": 60.0}
    here, apart = cotenant.compare(given, **settings), cotenant.compare(given, jobs=2, **settings)
    assert without_seconds(here) == without_seconds(apart)
    assert len({row["problem"] for row in here.rows}) == 6
