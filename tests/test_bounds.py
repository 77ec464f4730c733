"""The table of bounds: nothing comes in by word, nothing is lost, and what was changed is seen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import cotenant
from cotenant.analysis.run.bounds import add, check, is_closed, read_table
from cotenant.analysis.run.proving import prove_file
from cotenant.instances.problem.files import locate

TINY = cotenant.read("packing/tiny")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return tmp_path / "table"


def answered(folder: Path, method: str, **options: Any) -> Path:
    """The file of a method's result on the tiny packing."""
    path = folder / f"{method}.json"
    return cotenant.solve(TINY, method, **options).write(path)


def proved(
    folder: Path, method: str = "min-servers", name: str = "packing/tiny", **options: Any
) -> Path:
    """The file of a proof, of what a method finds on a bundled instance."""
    instance = cotenant.read(name)
    result = cotenant.solve(instance, method, time_limit=20, **options)
    out = folder / f"{instance.problem}-{method}.proof.json.gz"
    assert prove_file(instance, locate(name), result, out, 20).file
    return out


def test_a_row_becomes_better_file_by_file(tmp_path: Path, table: Path) -> None:
    row, before = add(table, "packing/tiny", set_name="small")
    assert before is None
    assert (row["objective"], row["value"], row["bound"]) == (
        "servers",
        None,
        None,
    )
    assert row["size"] == {"classes": 2, "resources": 2, "types": 4}
    worst, _ = add(table, "packing/tiny", [answered(tmp_path, "FFD")])
    assert (worst["value"], worst["bound"], is_closed(worst), worst["set"]) == (
        5,
        None,
        False,
        "small",
    )
    best, was = add(table, "packing/tiny", [proved(tmp_path)], command="by hand")
    assert was == worst
    assert (best["value"], best["bound"], best["command"]) == (4, 4, "by hand")
    assert is_closed(best)
    assert read_table(table) == [best]
    kept = {str(path.relative_to(table)) for path in table.rglob("*.json.gz")}
    assert kept == {best["instance"], best["answer"], best["proof"]}, "the worse answer is gone"
    assert [why for _, why in check(table)] == [""]
