"""Comparisons in parts: which part a task is, and one file made of theirs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.messages import refused
from support.sweep_methods import without_seconds
from support.terminal import run, settings_file

import cotenant
from cotenant.analysis.run.rows import read_rows
from cotenant.analysis.run.shards import Shard, merge
from cotenant.instances.problem import InvalidFile, InvalidOption

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


CHANGES: dict[str, Callable[[dict[str, Any]], object]] = {
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
@pytest.mark.parametrize("what", CHANGES)
def test_merge_of_changed_rows_is_refused(
    what: str, shards: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for file in shards if what == "another run" else shards[1:2]:
        changed(file, CHANGES[what])
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
