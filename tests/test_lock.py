"""One writer at a time for a file of rows: who holds its lock is named, and what a crash left is
taken over.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support import sweep_methods as bad

import cotenant
from cotenant.analysis.run import lock
from cotenant.analysis.run.lock import locked
from cotenant.analysis.run.rows import read_rows
from cotenant.instances.problem import InvalidFile
from cotenant.papers.run import run_tasks

TINY = cotenant.read("colocation/tiny")


@pytest.fixture
def holder(tmp_path: Path) -> Any:
    """A sweep in another process that holds the lock of its rows, until it is killed."""
    note, out = tmp_path / "note", tmp_path / "rows.jsonl"
    with bad.started("[bad.keeps_best]", note, out) as sweep:
        bad.waited_for(note)
        yield sweep, out
        sweep.kill()


def test_a_second_comparison_on_the_same_rows_is_refused_and_says_who_writes_them(
    holder: Any,
) -> None:
    sweep, out = holder
    named = rf"rows.jsonl is being written by process {sweep.pid} on {socket.gethostname()}, since 2\d\d\d-.* \(.*\); wait for it"
    with pytest.raises(InvalidFile, match=named):
        cotenant.compare([TINY], ["GR"], out=out)
    with pytest.raises(InvalidFile, match=f"process {sweep.pid}"):
        run_tasks([], out=out)
    assert read_rows(out) == []


def test_the_lock_of_a_process_that_died_is_taken_over(holder: Any) -> None:
    sweep, out = holder
    sweep.send_signal(signal.SIGKILL)
    sweep.wait()
    left = Path(f"{out}.lock")
    assert json.loads(left.read_text())["process"] == sweep.pid
    assert len(cotenant.compare([TINY], ["GR"], out=out).rows) == 1
    assert not left.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="links of Unix")
def test_what_a_link_in_the_place_of_a_lock_points_to_is_not_written(tmp_path: Path) -> None:
    out, mine = tmp_path / "rows.jsonl", tmp_path / "mine"
    mine.write_text("mine")
    Path(f"{out}.lock").symlink_to(mine)
    out.touch()
    with locked(out):
        pass
    assert mine.read_text() == "mine"


def test_a_lock_is_given_back_whatever_happens(tmp_path: Path) -> None:
    out = tmp_path / "rows.jsonl"
    with pytest.raises(ZeroDivisionError), locked(out):
        divmod(json.loads(Path(f"{out}.lock").read_text())["process"] - os.getpid(), 0)
    assert list(tmp_path.iterdir()) == []
    with locked(out):
        pass


def written(out: Path, **holder: Any) -> Path:
    path = Path(f"{out}.lock")
    path.write_text(
        json.dumps(
            {"process": os.getpid(), "host": socket.gethostname(), "since": "noon", "command": "x"}
            | holder
        )
    )
    return path


def test_a_holder_on_another_host_counts_as_there_and_the_cure_is_told(tmp_path: Path) -> None:
    out = tmp_path / "rows.jsonl"
    path = written(out, host="elsewhere", process=1)
    with (
        pytest.raises(
            InvalidFile, match=f"process 1 on elsewhere, since noon .*if it is gone, delete {path}"
        ),
        locked(out),
    ):
        pass
    path.unlink()
    with locked(out):
        pass


def test_where_the_system_keeps_no_locks_what_is_written_decides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock, "_system_lock", lambda stream: None)
    out = tmp_path / "rows.jsonl"
    with locked(out), pytest.raises(InvalidFile, match=f"process {os.getpid()} "), locked(out):
        pass
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    written(out, process=gone.pid)
    with locked(out):
        pass
    assert list(tmp_path.iterdir()) == []


def test_what_is_not_even_a_holder_is_taken_over(tmp_path: Path) -> None:
    out = tmp_path / "rows.jsonl"
    for text in ("", "no JSON", "[1]", "{}"):
        Path(f"{out}.lock").write_text(text)
        with locked(out):
            pass


def test_where_no_lock_can_be_made_beside_the_rows_they_are_locked_themselves(
    tmp_path: Path,
) -> None:
    out = tmp_path / "rows.jsonl"
    Path(f"{out}.lock").mkdir()
    with locked(out):  # there is nothing to lock yet, and nothing breaks
        pass
    out.write_text("")
    with (
        locked(out),
        pytest.raises(InvalidFile, match="is being written by another process; wait for it"),
        locked(out),
    ):
        pass


def test_what_is_no_file_needs_no_lock(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for out in (None, pipe, os.devnull):
        with locked(out), locked(out):
            pass
    assert list(tmp_path.iterdir()) == [pipe]
