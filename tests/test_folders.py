"""Many instances at once: folders, what in them counts, and a comparison over several problems."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.messages import approved, refused
from support.terminal import run

import cotenant
from cotenant.instances.problem import InvalidFile, InvalidOption, UnknownName

COLOCATION, MARKET = cotenant.read("colocation/tiny"), cotenant.read("market/tiny")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Two colocation instances and a market, one in a folder below, with a result and hidden files
    beside them.
    """
    folder = tmp_path / "set"
    (folder / "below").mkdir(parents=True)
    (folder / ".cache").mkdir()
    cotenant.write(COLOCATION, folder / "b.json")
    cotenant.write(
        COLOCATION.replace(penalty=COLOCATION.penalty / 2, name="half"),
        folder / "below" / "half.json.gz",
    )
    cotenant.write(MARKET, folder / "a.json")
    cotenant.solve(COLOCATION, "GR").write(folder / "answer.json")
    (folder / "runs.jsonl").write_text("no instance\n")
    (folder / ".cache" / "b.json").write_text("not for us")
    (folder / ".b.json").write_text("nor this")
    return folder


def test_folder_expands_to_sorted_instances(tree: Path) -> None:
    found = cotenant.read_all([tree])
    assert list(found.files) == [
        str(tree / name) for name in ("a.json", "b.json", "below/half.json.gz")
    ]
    assert [instance.name for instance in found.instances] == ["tiny", "tiny", "half"]
    assert found.results == (str(tree / "answer.json"),)
    approved(found.count)


def test_repeated_files_are_read_once(tree: Path) -> None:
    found = cotenant.read_all(
        [tree / "b.json", "numa/tiny", tree, tree / "below", f"{tree}/./b.json"]
    )
    assert list(found.files) == [
        str(tree / "b.json"),
        "numa/tiny",
        str(tree / "a.json"),
        str(tree / "below" / "half.json.gz"),
    ]
    assert found.files["numa/tiny"] == cotenant.read("numa/tiny")


def test_invalid_file_in_folder_is_named(tree: Path) -> None:
    (tree / "below" / "notes.json").write_text('{"any": "thing"}')
    with refused(InvalidFile):
        cotenant.read_all([tree])


def test_folder_without_instances_is_refused(tmp_path: Path) -> None:
    with refused(InvalidFile):
        cotenant.read_all([tmp_path])
    cotenant.solve(COLOCATION, "GR").write(tmp_path / "answer.json")
    with refused(InvalidFile):
        cotenant.read_all([tmp_path])
    with refused(InvalidFile):
        cotenant.read_all([tmp_path / "answer.json"])


def test_method_runs_only_on_its_problem() -> None:
    done = cotenant.compare([COLOCATION, MARKET], ["GR", "fisher"], options={"alpha": 0.01})
    assert [(row["problem"], row["method"]) for row in done.rows] == [
        ("colocation", "GR"),
        ("market", "fisher"),
    ]
    with refused(UnknownName):
        cotenant.compare([COLOCATION, MARKET], ["GR", "fischer"])
    with refused(InvalidOption):
        cotenant.compare([COLOCATION, MARKET], ["fisher"], options={"fill": True})


@pytest.mark.usefixtures("in_this_process")
def test_compare_of_folder_prints_table_by_instance(tree: Path) -> None:
    out = tree / "rows.jsonl"
    done = run(*f"compare {tree} -m GR -m ES -o alpha=0.01 --out {out}".split())
    assert done.returncode == 0
    approved(done.stderr)
    tables = ["market: tiny", "colocation: tiny", "colocation: half"]
    assert [line.strip() for line in done.stdout.splitlines() if line.strip() in tables] == tables
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [row["file"] for row in rows] == [
        str(tree / name) for name in ("a.json", "b.json", "below/half.json.gz")
    ]
    assert [row["options"] for row in rows] == [{}, {"alpha": 0.01}, {"alpha": 0.01}]


@pytest.mark.usefixtures("in_this_process")
def test_instances_without_applicable_method_are_named() -> None:
    done = run("compare", "colocation/tiny", "market/tiny", "-m", "ES")
    assert done.returncode == 0
    approved(done.stderr)
