"""Rows of a comparison: on a full disk, in shards, with proofs, in tables."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.messages import approved, refused
from support.sweep_methods import without_seconds
from support.terminal import run, settings_file

import cotenant
from cotenant.analysis.report.read_runs import gather
from cotenant.analysis.report.tables import comparison_tables, proved
from cotenant.analysis.run import proving
from cotenant.analysis.run.documents import RowDocument
from cotenant.analysis.run.gaps import Comparison
from cotenant.analysis.run.proving import covered_levels, prove_file
from cotenant.analysis.run.result import Result
from cotenant.analysis.run.rows import Row, RowFile, read_rows
from cotenant.analysis.run.shards import Shard, merge
from cotenant.instances.colocation import Colocation, Pairing
from cotenant.instances.problem import InvalidFile, InvalidOption, NoSolution
from cotenant.instances.problem.files import locate
from cotenant.instances.problem.proof import Level, Proof
from cotenant.papers.page import write_page
from cotenant.papers.registry import experiment_named
from cotenant.papers.run import run_tasks, tasks
from cotenant.solvers.outcome import gap
from cotenant.verify import verify
from cotenant.verify.reading import read

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
def test_comparison_on_full_disk_keeps_complete_rows_and_resumes(tmp_path: Path) -> None:
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


def test_row_file_deleted_during_comparison_is_an_error(tmp_path: Path) -> None:
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


@contextmanager
def unreadable_row(file: Path) -> Iterator[None]:
    """Expect the refusal of a row of a file, with the approved field, value and what is expected."""
    with pytest.raises(InvalidFile) as caught:
        yield
    before = f"{file} holds a row that this version cannot read: "
    message = str(caught.value)
    assert (message[: len(before)], message[-14:]) == (before, "; run it again")
    approved(message[len(before) : -14])


@pytest.mark.parametrize(("field", "value"), CHANGES)
def test_row_with_field_of_wrong_type_is_refused_by_report_and_resume(
    field: str, value: Any, tmp_path: Path
) -> None:
    out = tmp_path / "rows.jsonl"
    row = cotenant.compare([TINY], ["GR"], out=out).rows[0] | {field: value}
    out.write_text(json.dumps(row) + "\n")
    for opened in (lambda: gather([out]), lambda: cotenant.compare([TINY], ["GR"], out=out)):
        if field == "error":  # a run that failed is run again, whatever its row says
            continue
        with unreadable_row(out):
            opened()


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
    with unreadable_row(rows):
        write_page(tmp_path / "page.md", rows)
    with unreadable_row(rows):
        next(run_tasks([], out=rows))


GIVEN = [cotenant.read("colocation/tiny"), cotenant.read("scheduling/tiny")]
METHODS = ["GR", "SMR", "threshold", "FIFO", "FAIRSHARE"]


def array(task: int, first: int, last: int, count: int) -> dict[str, str]:
    """What Slurm says to the task of an array."""
    held = {"ID": task, "MIN": first, "MAX": last, "COUNT": count, "STEP": 1}
    return {f"SLURM_ARRAY_TASK_{name}": str(value) for name, value in held.items()}


@pytest.mark.parametrize(
    ("text", "environment", "expected"),
    [
        ("3/40", {}, (3, 40)),
        ("3/40", array(7, 0, 39, 40), (3, 40)),
        ("auto", array(0, 0, 39, 40), (1, 40)),
        ("auto", array(39, 0, 39, 40), (40, 40)),
        ("auto", array(1, 1, 40, 40), (1, 40)),
        ("auto/40", array(40, 1, 40, 40), (40, 40)),
        ("auto/40", {"JOB_COMPLETION_INDEX": "0"}, (1, 40)),
        ("auto/40", {"JOB_COMPLETION_INDEX": "39"}, (40, 40)),
    ],
)
def test_shard_numbers_start_at_one_for_every_task_numbering(
    text: str, environment: dict[str, str], expected: tuple[int, int]
) -> None:
    assert Shard.parse(text, environment) == Shard(*expected)


@pytest.mark.parametrize(
    ("text", "environment"),
    [
        ("0/4", {}),
        ("5/4", {}),
        ("auto/x", {"JOB_COMPLETION_INDEX": "0"}),
        ("auto", {}),
        ("auto/4", {"JOB_COMPLETION_INDEX": "4"}),
        ("auto", {"SLURM_ARRAY_TASK_ID": "3"}),
        ("auto", array(7, 7, 9, 2)),  # of --array=7,9: a part of an array submitted again
        ("auto", array(4, 0, 8, 3)),  # of --array=0-8:4
        ("auto/40", array(1, 1, 2, 2)),
    ],
)
def test_shard_without_number_or_count_is_refused(text: str, environment: dict[str, str]) -> None:
    with refused(InvalidOption):
        Shard.parse(text, environment)


def compared(out: Path | None, **settings: Any) -> Any:
    return cotenant.compare(GIVEN, METHODS, seeds=range(3), out=out, **settings)


@pytest.fixture
def shards(tmp_path: Path) -> list[Path]:
    """The files of three shards."""
    for number in (1, 2, 3):
        compared(tmp_path / "rows.jsonl", shard=(number, 3))
    return [tmp_path / f"rows-{number}-of-3.jsonl" for number in (1, 2, 3)]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("count", [1, 4, 40])
def test_merged_shards_give_the_rows_of_one_run(count: int, tmp_path: Path) -> None:
    out, whole = tmp_path / "rows.jsonl", compared(None)
    sizes = [len(compared(out, shard=(n, count)).rows) for n in range(1, count + 1)]
    assert max(sizes) - min(sizes) <= 1
    files = sorted(tmp_path.glob(f"rows-*-of-{count}.jsonl"))
    assert len(files) == count
    merged = merge([*files, files[0]])
    assert without_seconds(merged) == without_seconds(whole.rows)
    out.write_text("".join(json.dumps(row) + "\n" for row in merged))
    assert compared(out).reused == len(whole.rows)


def changed(file: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the first row of a file."""
    first, *rest = file.read_text().splitlines(keepends=True)
    row = json.loads(first)
    change(row)
    file.write_text(json.dumps(row) + "\n" + "".join(rest))


SHARD_CHANGES: dict[str, Callable[[dict[str, Any]], object]] = {
    "another version": lambda row: row["versions"].update(numpy="0.1"),
    "a version more": lambda row: row["versions"].update(other="1"),
    "another comparison": lambda row: row["shard"].update(of="0" * 16),
    "another number of shards": lambda row: row["shard"].update(count=4),
    "no shard": lambda row: row.pop("shard"),
    "a shard that is none": lambda row: row.update(shard={"number": 1}),
    "another run": lambda row: row.update(key=row["key"].replace("SMR", "SMP")),
    "an interrupted run": lambda row: row.update(stop="interrupted"),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("what", SHARD_CHANGES)
def test_merge_of_changed_rows_is_refused(
    what: str, shards: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for file in shards if what == "another run" else shards[1:2]:
        changed(file, SHARD_CHANGES[what])
    with refused(InvalidFile):
        merge([file.name for file in shards])


def test_merge_names_missing_shards_and_passes_after_their_run(
    shards: list[Path], tmp_path: Path
) -> None:
    whole = merge(shards)
    shards[0].unlink()
    half = shards[2].read_bytes()
    shards[2].write_bytes(half[: len(half) // 2])
    left = len(whole) - len(read_rows(shards[1])) - len(read_rows(shards[2]))
    with refused(InvalidFile):
        merge(shards[1:])
    again = [compared(tmp_path / "rows.jsonl", shard=(number, 3)) for number in (1, 3)]
    assert sum(len(each.rows) - each.reused for each in again) == left
    assert without_seconds(merge(shards)) == without_seconds(whole)


def test_merge_prefers_later_row_to_failed_one(shards: list[Path]) -> None:
    whole = merge(shards)
    first = shards[0].read_text()
    changed(shards[0], lambda row: row.update(status="error", error="Node 3 is down"))
    assert "Node 3 is down" in [row.get("error") for row in merge(shards)]
    shards[0].write_text(shards[0].read_text() + first)
    assert merge(shards) == whole


@pytest.mark.usefixtures("in_this_process")
def test_compare_and_merge_commands_join_shards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ("compare", "colocation/tiny", "-m", "GR", "-m", "SMP", "--out", "rows.jsonl")
    for task in range(3):  # the last has no run
        for name, value in array(task, 0, 2, 3).items():
            monkeypatch.setenv(name, value)
        assert run(*words, *settings_file(tmp_path, shard="auto")).returncode == 0
    merged = run("merge", *(f"rows-{n}-of-3.jsonl" for n in (3, 1, 2)), "--out", "rows.jsonl")
    assert merged.returncode == 0
    assert merged.stderr.startswith("rows.jsonl: 2 runs of 3 files\n")
    assert "2 runs taken from" in run(*words).stderr
    assert run("merge", "rows-1-of-3.jsonl", "--out", "rows-1-of-3.jsonl").returncode == 2


def test_compare_prove_marks_certified_rows_and_writes_complete_folder(tmp_path: Path) -> None:
    instance = cotenant.read("colocation/tiny")
    folder = tmp_path / "proofs"
    comparison = cotenant.compare([instance], ["optimal", "fair", "GR"], prove=folder)
    rows = {row["method"]: row for row in comparison.rows}
    proof = rows["optimal"]["proof"]
    assert proof["proof_status"] == "certified"
    assert proved(rows["optimal"]) == "optimal, certified"
    [copy] = [path for path in folder.iterdir() if "proof" not in path.name]
    says = verify(read(str(copy)), read(proof["file"]))
    assert proof["says"] == f"accepted: {says}"
    assert rows["GR"]["proof"]["proof_status"] == "claimed"
    assert "certified" not in proved(rows["GR"])
    assert {line["method"]: line["proof"]["proof_status"] for line in comparison.summary()}[
        "GR"
    ] == "claimed"


@pytest.mark.parametrize(
    ("levels", "covered"),
    [
        ([("1/10", "1/10"), ("1/5", "1/5")], True),
        ([("1/10", "1/10")], False),  # the second level is missing
        ([("1/10", "1/20"), ("1/5", "1/5")], False),  # the first is claimed to be optimal
        ([("1/10", "1/10"), ("1/5", "1/8")], False),  # a weaker bound than is claimed
        ([("1/10", "1/10"), ("1/5", "3/20")], True),  # as strong a bound as is claimed
        ([("1/10", "1/10"), ("1/5", None)], False),
    ],
)
def test_proof_covers_a_result_only_with_every_level_and_as_strong_bounds(
    levels: Any, covered: bool
) -> None:
    instance = cotenant.read("colocation/tiny")
    result = cotenant.solve(instance, "fair")
    content = result.document()
    content["result"].update(status="optimal", bound=0.1, objective=0.1, gap=0.0)
    content["certificate"]["levels"] = [
        {"objective": "slack", "value": 0.1, "bound": 0.1, "status": "optimal"},
        {"objective": "penalty", "value": 0.2, "bound": 0.15, "status": "feasible"},
    ]
    proof = tuple(
        Level(name, "min", Fraction(value), None if bound is None else Fraction(bound))
        for name, (value, bound) in zip(("slack", "penalty"), levels, strict=False)
    )
    claims = Result.from_document(content)
    assert all(covered_levels(Proof("colocation", "fair", proof), claims)) == covered


def test_contradicted_or_missing_claims_are_not_certified() -> None:
    instance = cotenant.read("packing/tiny")
    content = cotenant.solve(instance, "min-servers").document()
    least = Fraction(content["result"]["objective"])
    proof = Proof("packing", "min-servers", (Level("servers", "min", least, least),))
    assert all(covered_levels(proof, Result.from_document(content)))
    bound = float(least) + 1
    content["result"].update(status="feasible", bound=bound, gap=gap(float(least), bound))
    assert not all(covered_levels(proof, Result.from_document(content)))
    content["result"].update(status="infeasible", objective=None, bound=None, gap=None, metrics={})
    content.update(answer=None, solution=None)
    nobody = Result.from_document(content)
    partial = Proof("packing", "min-servers", (Level("servers", "min", None, least),))
    assert not all(covered_levels(partial, nobody))
    none = Proof("packing", "min-servers", (Level("servers", "min", None, None, infeasible=True),))
    assert all(covered_levels(none, nobody))


def test_refused_proof_is_deleted_and_row_is_not_certified(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    instance, out = cotenant.read("colocation/tiny"), tmp_path / "proof.json"
    result = cotenant.solve(instance, "optimal")
    honest = proving.resolve

    def lying(path: str) -> Any:
        def producer(task: Any) -> Proof:
            proof = honest(path)(task)
            [level] = proof.levels
            better = Level(level.objective, "min", level.value, level.value + 1, level.steps)
            return Proof(proof.problem, proof.method, (better,), proof.options, proof.witness)

        return producer

    monkeypatch.setattr(proving, "resolve", lying)
    status = prove_file(instance, locate("colocation/tiny"), result, out)
    assert (status.proof_status, status.refused) == ("claimed", True)
    assert "refused" in status.says
    assert not out.exists()


def test_false_claim_of_result_has_no_proof_and_no_file_error(tmp_path: Path) -> None:
    instance, path = cotenant.read("colocation/tiny"), locate("colocation/tiny")
    result = cotenant.solve(instance, "minimum-regret")
    unstable = replace(result, solution=cotenant.solve(instance, "GR").solution, stored=None)
    status = prove_file(instance, path, unstable, tmp_path / "proof.json")
    assert (status.proof_status, status.refused) == ("claimed", False)
