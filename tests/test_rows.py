"""The rows of a comparison: kept whole whatever happens to the disk, and what tables make of
failures and missing answers.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.messages import approved, refused

import cotenant
from cotenant.analysis.report.read_runs import gather
from cotenant.analysis.report.tables import comparison_tables
from cotenant.analysis.run.documents import RowDocument
from cotenant.analysis.run.gaps import Comparison
from cotenant.analysis.run.rows import Row, RowFile, read_rows
from cotenant.instances.colocation import Colocation, Pairing
from cotenant.instances.problem import InvalidFile, NoSolution
from cotenant.papers.page import write_page
from cotenant.papers.registry import experiment_named
from cotenant.papers.run import run_tasks, tasks

TINY = cotenant.read("colocation/tiny")
ROW = {"problem": "colocation", "text": "x" * 1000, "key": "k"}


def limited(size: int, out: Path) -> subprocess.CompletedProcess[str]:
    """A sweep that may not write files of more than `size` bytes; -B: nor cut modules compiled."""
    code = f"""
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size}))
sys.argv = ["cotenant", "compare", "colocation/tiny", "-m", "GR", "-m", "SMR", "--seeds", "3", "--out", {str(out)!r}]
from cotenant.cli import main
main()
"""
    return subprocess.run(
        [sys.executable, "-B", "-c", code], capture_output=True, text=True, timeout=600
    )


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="limits of Unix")
def test_comparison_on_full_disk_keeps_complete_rows_and_resumes(
    tmp_path: Path,
) -> None:
    out = tmp_path / "rows.jsonl"
    whole = cotenant.compare([TINY], ["GR", "SMR"], seeds=range(3), out=out)
    size = len(out.read_bytes().splitlines(keepends=True)[0])
    out.unlink()
    done = limited(size * 2 + size // 2, out)
    assert done.returncode == 2, done.stderr
    assert "cannot be written: File too large; its rows so far are whole" in done.stderr
    assert done.stdout == ""
    assert out.read_bytes().endswith(b"}\n")
    assert 1 <= len(read_rows(out)) < len(whole.rows)
    again = cotenant.compare([TINY], ["GR", "SMR"], seeds=range(3), out=out)
    assert [row["metrics"] for row in again.rows] == [row["metrics"] for row in whole.rows]
    assert len(read_rows(out)) == len(whole.rows), "only what was missing was run"


def test_row_file_deleted_during_comparison_is_an_error(
    tmp_path: Path,
) -> None:
    out = tmp_path / "rows.jsonl"
    with refused(InvalidFile):
        cotenant.compare(
            [TINY], ["GR", "SMP", "CO"], out=out, progress=lambda done, total, row: out.unlink()
        )
    assert not out.exists()


def test_interrupted_row_is_truncated_from_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "rows.jsonl"
    file = RowFile(out)
    file.add(ROW)
    write = os.write

    def half(stream: int, data: bytes) -> int:
        if len(data) < 900:
            raise KeyboardInterrupt
        return write(stream, data[:500])

    monkeypatch.setattr(os, "write", half)
    with pytest.raises(KeyboardInterrupt):
        file.add(ROW)
    monkeypatch.undo()
    assert read_rows(out) == [ROW]
    file.add(ROW)
    assert read_rows(out) == [ROW, ROW]


@pytest.mark.parametrize("out", ["no/such/folder/rows.jsonl", "."])
def test_unwritable_row_file_is_refused_before_any_run(out: str, tmp_path: Path) -> None:
    runs: list[int] = []

    def counted(instance: Colocation) -> Pairing:
        runs.append(1)
        return paired(instance)

    with refused(InvalidFile):
        cotenant.compare([TINY], [counted], out=tmp_path / out)
    assert runs == []


def paired(instance: Colocation) -> Pairing:
    return Pairing([0, 2], [1, 3], [1, 1], [0, 0, 0, 0])


MORE, NONE = "and more of it\n", "there is none"


def fails_at_times(instance: Colocation, *, rng: np.random.Generator) -> Pairing:
    """Fails with the second seed, with a long message."""
    if rng.integers(1000) == np.random.default_rng(1).integers(1000):
        raise ValueError("bad luck\n" + MORE * 100)
    return paired(instance)


def finds_none(instance: Colocation) -> Pairing:
    raise NoSolution(NONE)


def table_of(comparison: Comparison) -> Any:
    return next(iter(comparison_tables(comparison).values()))


def test_summary_means_leave_out_failed_runs_named_in_notes() -> None:
    found = cotenant.compare([TINY], ["optimal", fails_at_times, finds_none], seeds=range(3))
    lines = {line["method"]: line for line in found.summary()}
    assert (lines["fails_at_times"]["runs"], lines["fails_at_times"]["failed"]) == (3, 1)
    assert lines["fails_at_times"]["metrics"]["penalty"] == pytest.approx(0.0525)
    assert lines["fails_at_times"]["status"] == "error+feasible"
    assert (lines["finds_none"]["metrics"], lines["finds_none"]["seconds"]) == ({}, None)
    notes = table_of(found).notes[1:]
    approved([note.partition(":")[0] for note in notes])
    assert notes[0].endswith("...")
    assert all("\n" not in note and len(note) < 260 for note in notes)
    whole = next(
        row["error"] for row in found.rows if row.get("error") and row["method"] == "fails_at_times"
    )
    assert whole.count(MORE) == 100, "the row keeps all of it"
    assert {error.partition(": ")[2] for error in found.table["error"].dropna()} == {
        whole.partition(": ")[2],
        NONE,
    }


def test_infeasible_instance_counts_as_unanswered_not_failed() -> None:
    penalty = np.full((4, 4), np.inf)
    penalty[:3, 3] = penalty[3, :3] = 0.0
    found = cotenant.compare([Colocation(penalty, [1, 1, 1, 1], name="star")], ["optimal"])
    line = found.summary()[0]
    assert (line["status"], line["failed"], line["unanswered"], line["errors"]) == (
        "infeasible",
        0,
        1,
        {},
    )
    assert line["seconds"] is not None
    assert table_of(found).notes == ()


CHANGES: list[tuple[str, Any]] = [
    ("kind", {}), ("kind", 7), ("seed", 1.5), ("metrics", {"penalty": [1]}),
    ("metrics", {"penalty": 1e301}), ("metrics", None),
    ("options", [1]), ("versions", {"cotenant": []}), ("levels", [[]]), ("levels", [{"status": 1}]),
    ("status", None),
    ("objective_name", []), ("bound", "0"), ("seconds", {}), ("time_limit", "60"), ("predict", []),
    ("scale", 0), ("error", 1),
    ("file", {}), ("instance", 5), ("method", []), ("fingerprint", None),
    ("frontiers", [{"points": [[]]}]),
    ("frontiers", [5]), ("record", 1), ("answer", 1), ("proof", {"proof_status": "yes"}), ("proof", 1),
]  # fmt: skip


@pytest.mark.parametrize(("field", "value"), CHANGES)
def test_row_with_field_of_wrong_type_is_refused_by_report_and_resume(
    field: str, value: Any, tmp_path: Path
) -> None:
    out = tmp_path / "rows.jsonl"
    row = cotenant.compare([TINY], ["GR"], out=out).rows[0] | {field: value}
    out.write_text(json.dumps(row) + "\n")
    for read in (lambda: gather([out]), lambda: cotenant.compare([TINY], ["GR"], out=out)):
        if field == "error":  # a run that failed is run again, whatever its row says
            continue
        with refused(InvalidFile):
            read()


def test_row_document_fields_equal_those_of_row_type() -> None:
    assert set(RowDocument.model_fields) <= set(Row.__annotations__)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("findings", [[]]),
        ("findings", [{"what": 1}]),
        ("findings", [{"what": "", "paper": "", "ours": "", "verdict": "differs", "more": 1}]),
        ("seconds", "1"),
        ("data", {"a": 1}),
        ("pictures", [1]),
    ],
)
def test_experiment_row_with_field_of_wrong_type_is_refused(
    field: str, value: Any, tmp_path: Path
) -> None:
    rows = tmp_path / "rows.jsonl"
    row = {**next(run_tasks(tasks([experiment_named("numa-table-4.2")])))[0], field: value}
    rows.write_text(json.dumps(row) + "\n")
    with refused(InvalidFile):
        write_page(tmp_path / "page.md", rows)
    with refused(InvalidFile):
        next(run_tasks([], out=rows))
