"""One writer at a time for a file of rows: its lock names who holds it, and a crash leaves none."""

from __future__ import annotations

import errno
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from support import sweep_methods as bad
from support.messages import refused

import cotenant
from cotenant.analysis.run import lock
from cotenant.analysis.run.lock import locked
from cotenant.analysis.run.rows import read_rows
from cotenant.instances.problem import InvalidFile
from cotenant.papers.run import run_tasks

TINY = cotenant.read("colocation/tiny")
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="locks of Unix")


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
