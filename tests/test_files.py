"""Files and folders of instances: exact inverses, and one clear error for each invalid file."""

from __future__ import annotations

import itertools
import json
import os
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.messages import approved, refused
from support.strategies import DRAWN, instances
from support.terminal import run

import cotenant
from cotenant.analysis.report.console import require_writable
from cotenant.instances.packing import Packing
from cotenant.instances.problem import (
    PROBLEM_NAMES,
    InvalidFile,
    InvalidInstance,
    InvalidOption,
    UnknownName,
    bundled,
    write,
)
from cotenant.instances.problem.files import write_text

TINY: dict[str, Any] = {
    "cotenant": 1,
    "problem": "colocation",
    "penalty": [[0.1, 0.2], [0.3, 0.4]],
    "count": [2, 2],
}


def put(folder: Path, content: Any, name: str = "instance.json") -> Path:
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content, indent=1))
    return path


@pytest.mark.parametrize("name", bundled())
def test_bundled_instances_round_trip_exactly(name: str, tmp_path: Path) -> None:
    instance = cotenant.read(name)
    assert instance.source
    assert instance.summary()
    for suffix in (".json", ".json.gz"):
        assert cotenant.read(write(instance, tmp_path / f"copy{suffix}")) == instance


@pytest.mark.sampled(3)
@pytest.mark.parametrize("problem", DRAWN)
@settings(max_examples=30)
@given(data=st.data())
def test_drawn_instances_round_trip_exactly(problem: str, data: st.DataObject) -> None:
    instance = data.draw(instances(problem))
    with tempfile.TemporaryDirectory() as folder:
        assert cotenant.read(write(instance, Path(folder) / "one.json")) == instance


def test_packing_with_requests_served_in_part_is_read_as_written(tmp_path: Path) -> None:
    instance = Packing(capacity=[[9]], demand=[[2]], request=[5.0], servers=[1.0], partial=True)
    assert cotenant.read(write(instance, tmp_path / "one.json")) == instance


EMPTY: list[Any] = [[], *map(np.zeros, (0, (0, 0), (0, 2), (0, 3), (0, 0, 0)))]


@pytest.mark.parametrize("name", ["packing/cluster-12-40", *(f"{p}/tiny" for p in PROBLEM_NAMES)])
def test_empty_field_is_refused_or_round_trips(name: str, tmp_path: Path) -> None:
    given, survived = cotenant.read(name), 0
    texts = {field for field in vars(given) if isinstance(getattr(given, field), str)}
    for field, empty in itertools.product({*vars(given)} - texts, EMPTY):
        if isinstance(empty, np.ndarray) and isinstance(getattr(given, field), tuple):
            continue
        try:
            instance = given.replace(**{field: empty})
        except InvalidInstance:
            continue
        again = cotenant.read(write(instance, tmp_path / "one.json"))
        assert again == instance, field
        assert hash(again) == hash(instance), field
        survived += 1
    if name == "packing/cluster-12-40":  # placed, apart, and all names
        assert survived >= 15


def test_unknown_field_of_inner_object_is_refused(tmp_path: Path) -> None:
    market = cotenant.read("market/tiny")
    content = {"cotenant": 1, "problem": "market", **market.document()}
    with refused(InvalidInstance):
        cotenant.read(put(tmp_path, content | {"job": content["job"] | {"color": [1]}}))


FILES: list[tuple[str, str]] = [
    ("truncated JSON", '{"cotenant": 1, "problem": "coloc'),
    ("NaN", '{"cotenant": 1, "problem": "colocation", "penalty": [[NaN]], "count": [2]}'),
    ("a list", "[1, 2]"),
    ("no version", '{"problem": "colocation"}'),
    ("another version", '{"cotenant": 2, "problem": "colocation"}'),
    ("the version true", '{"cotenant": true, "problem": "colocation"}'),
    ("the version 1.0", '{"cotenant": 1.0, "problem": "colocation"}'),
    ("a problem nobody knows", '{"cotenant": 1, "problem": "colocatoin"}'),
]


@pytest.mark.parametrize("text", dict(FILES).values(), ids=dict(FILES))
def test_file_without_instance_is_refused(text: str, tmp_path: Path) -> None:
    with refused(InvalidFile):
        cotenant.read(put(tmp_path, text))


def test_missing_folder_unknown_and_other_problem_inputs_are_refused(tmp_path: Path) -> None:
    with refused(InvalidFile):
        cotenant.read(tmp_path / "none.json")
    with refused(InvalidFile):
        cotenant.read(tmp_path)
    with refused(UnknownName):
        cotenant.read("colocation/tinny")
    with refused(InvalidFile):
        cotenant.read(put(tmp_path, TINY), problem=cotenant.Market)


def test_failed_output_leaves_no_file(tmp_path: Path) -> None:
    (tmp_path / "folder.json").mkdir()
    for out in ("none/x.json", "x.txt", "folder.json"):
        with refused(InvalidFile):
            write(cotenant.read("colocation/tiny"), tmp_path / out)
    assert [path.name for path in tmp_path.iterdir()] == ["folder.json"]


@pytest.mark.skipif(sys.platform == "win32", reason="pipes and links of Unix")
def test_output_to_pipe_or_link_replaces_neither(tmp_path: Path) -> None:
    """Renaming a new file into place would put it where a device or a link was: as root, even where
    /dev/null was.
    """
    instance = cotenant.read("colocation/tiny")
    pipe, link, far = tmp_path / "pipe.json", tmp_path / "link.json", tmp_path / "far.json"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write(instance, pipe)
        assert json.loads(os.read(reader, 1 << 16))["problem"] == "colocation"
    finally:
        os.close(reader)
    assert pipe.is_fifo()
    link.symlink_to(far)
    for _ in range(2):
        write(instance, link)
        assert link.is_symlink()
        assert cotenant.read(far) == instance


@pytest.mark.skipif(sys.platform == "win32", reason="links of Unix")
def test_cyclic_link_as_output_is_refused(tmp_path: Path) -> None:
    loop, other = tmp_path / "loop.json", tmp_path / "other.json"
    loop.symlink_to(other)
    other.symlink_to(loop)
    for refuses in (partial(write, cotenant.read("colocation/tiny")), require_writable):
        with refused(InvalidFile):
            refuses(loop)
    assert loop.is_symlink()
    assert other.is_symlink()


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="there is no /dev/full")
def test_output_to_full_device_is_an_error(tmp_path: Path) -> None:
    full = tmp_path / "full"
    full.symlink_to("/dev/full")
    with refused(InvalidFile):
        write_text(full, "words")


def test_instance_is_frozen_compared_by_content_and_validated_by_replace() -> None:
    instance = cotenant.read("colocation/tiny")
    assert instance == instance.replace()
    assert hash(instance) == hash(instance.replace())
    assert instance != instance.replace(name="other")
    with pytest.raises(ValueError, match="read-only"):
        instance.penalty[0, 0] = 1  # type: ignore[attr-defined]
    with refused(InvalidInstance):
        instance.replace(machines=1)


@pytest.mark.parametrize("problem", PROBLEM_NAMES)
def test_integral_floats_in_json_are_read_as_integers(tmp_path: Path, problem: str) -> None:
    expected = cotenant.read(f"{problem}/tiny")
    path = write(expected, tmp_path / "a.json")
    document = json.loads(path.read_text(), parse_int=float)
    path.write_text(json.dumps({**document, "cotenant": 1}))
    assert cotenant.read(path).document() == expected.document()


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
