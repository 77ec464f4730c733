"""Mistakes of the first hours, and what the errors say of them: what was given, and the cure."""

# mypy: disable-error-code="call-arg"

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas
import pytest

import cotenant
from cotenant.instances.admission import Admission
from cotenant.instances.colocation import Colocation
from cotenant.instances.market import Market
from cotenant.instances.packing import Packing
from cotenant.instances.problem import CotenantError, InvalidOption
from cotenant.solvers.roommates import irving, ranks_from_lists

TINY = cotenant.read("colocation/tiny", "colocation")
GREEDY = cotenant.solve(TINY, "GR")


def frame(text: str, **options: Any) -> pandas.DataFrame:
    return pandas.read_csv(io.StringIO(text), **options)


def pairs(text: str) -> Colocation:
    return Colocation.from_frame(frame(text, index_col=0))


HOST = frame("host,cpu\nh,8\n", index_col=0)

IN_PYTHON: list[tuple[Callable[[], object], str]] = [
    (lambda: cotenant.solve(TINY, "stable", timelimit=3), "did you mean time_limit?"),
    (lambda: cotenant.solve(TINY), "solve needs 'method': a name of the catalogue, or a function"),
    (lambda: cotenant.solve("colocation/tiny", "GR"), "expected an Instance; cotenant.read returns one"),
    (lambda: cotenant.solve(TINY, "stable", 3), "takes 2 by place; name the others: seed=..., time_limit="),
    (lambda: cotenant.compare([TINY], ["GR"], seed=1), "did you mean seeds?"),
    (lambda: cotenant.compare(TINY, ["GR"]), "expected a list, each entry an Instance"),
    (lambda: Colocation(penalty=[[0, 1], [1, 0]], counts=[1, 1]), "did you mean count?"),
    (lambda: Colocation(penalty=[[0, 1], [1, 0]]), "Colocation needs 'count': .* Agents of each type"),
    (lambda: Colocation.from_frame(frame("job,a,b\na,0,.1\nb,.2,0\n")), "penalty.index is 0 to 1; .*index_col=0"),
    (lambda: Packing.from_frame(frame("vm,cpu\nweb,2\n"), capacity=HOST), "demand.index is 0 to 0; .*set_index\\('vm'\\)"),
    (lambda: Packing.from_frame(frame("vm,cpu\nweb,500m\n", index_col=0), capacity=HOST), r"demand\['web', 'cpu'\] is '500m'"),
    (lambda: Packing.from_frame(HOST), "Packing.from_frame needs 'capacity': classes of servers"),
    (lambda: pairs("job,a,b\na,0,10 %\nb,.2,0\n"), r"penalty\['a', 'b'\] is '10 %'; .* without unit: 0.1"),
    (lambda: pairs("job,a,b\na,0,25\nb,.2,0\n"), r"penalty\['a', 'b'\] is 25; .* divide percentages by 100"),
    (lambda: pairs("job,a,b\na,0,\nb,.2,0\n"), r"penalty\['a', 'b'\] is nan"),
    (lambda: pairs("job,a,b\na,0,.1\n,.2,0\n"), r"penalty.index\[1\] is empty"),
    (lambda: pairs("job,a,bb\na,0,.1\nb,.2,0\n"), "penalty.columns is without 'b'; .* It has bb"),
    (lambda: Colocation.from_frame(pandas.DataFrame([[0.0]], ["a"], ["a"]), count={"a": "two"}), r"count\['a'\] is 'two'"),
    (lambda: Market.from_frame(frame("user,server,parallel_fraction,work\nann,s,90%,1\n"), capacity=pandas.Series({"s": 4})), r"parallel_fraction\[0\] is '90%'; .*: 0.9"),
    (lambda: Market.from_frame(frame("user,server,parallel_fraction,work\nann,s,.9,1\n"), capacity=4), "a Series or a dict"),
    (lambda: Admission.from_frame(frame("job,fast\nj,2 GHz\n", index_col=0), cores=frame("vm,fast\nv,2\n", index_col=0), threads=1), r"speed\['j', 'fast'\] is '2 GHz'; .*without unit: 2"),
    (lambda: cotenant.write(GREEDY, "f.json"), r"a result has its answer, `.solution`, and `.write\(path\)`"),
    (lambda: cotenant.check(TINY, GREEDY), "a Pairing answers .*got Result; a result has its answer"),
    (lambda: cotenant.plot(GREEDY, TINY), "instance is Result"),
    (lambda: cotenant.read("colocation/tiny", "colcation"), "did you mean colocation?"),
    (lambda: cotenant.read("pen.csv"), "looks like a table; `cotenant convert pen.csv --from .*from_frame"),
    (lambda: cotenant.read("rows.jsonl"), "several JSON values .*a row of .*`cotenant report`"),
    (lambda: cotenant.read("pods.json"), "several JSON values .*List"),
    (lambda: cotenant.read_all("colocation/tiny"), "expected a list, each entry a text or a path"),
    (lambda: ranks_from_lists({"ann": [["bob", "cat"]], "bob": [], "cat": []}), r"lists\['ann'\]\[0\] is \['bob', 'cat'\], a tie; .*weak_lists"),
    (lambda: ranks_from_lists({"ann": ["bbo"], "bob": ["ann"]}), "'bbo'; expected another agent of 'ann', 'bob'"),
    (lambda: ranks_from_lists([["bob"], ["ann"]]), "lists is .*each entry a whole number, or a dict"),
    (lambda: irving([[1], [1, 2]]), "an array of numbers, its rows of one length"),
]  # fmt: skip


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Files of other kinds than those that are asked for, in the current folder."""
    monkeypatch.chdir(tmp_path)
    Path("pen.csv").write_text("job,a,b\na,0,.1\nb,.2,0\n")
    row = json.dumps({"key": "k", "method": "GR", "metrics": {}}) + "\n"
    Path("rows.jsonl").write_text(row * 2)
    Path("pods.json").write_text('{"kind": "Pod", "apiVersion": "v1"}\n' * 2)
    return tmp_path


@pytest.mark.parametrize(("call", "words"), IN_PYTHON, ids=range(len(IN_PYTHON)))
def test_a_mistake_in_python_is_answered_by_name_and_cure(
    call: Callable[[], object], words: str, files: Path
) -> None:
    with pytest.raises(CotenantError, match=f"(?s){words}") as refused:
        call()
    assert len(str(refused.value)) < 400


def test_lists_of_names_are_ranked_in_the_order_of_the_names() -> None:
    lists = {"ann": ["bob", "cat"], "bob": ["cat", "ann"], "cat": ["ann", "bob"]}
    assert (ranks_from_lists(lists) == ranks_from_lists([[1, 2], [2, 0], [0, 1]])).all()


def test_a_picture_is_saved_into_the_file_that_is_named(tmp_path: Path) -> None:
    shown = cotenant.plot(TINY, GREEDY)
    for name, start in (("x.png", b"\x89PNG"), ("x.pdf", b"%PDF"), ("x.svg", b"<?xml")):
        (file,) = shown.save(tmp_path / name)
        assert (file, file.read_bytes()[: len(start)]) == (tmp_path / name, start)
    assert [path.suffix for path in shown.save(tmp_path / "folder")] == [".pdf", ".png"]
    with pytest.raises(InvalidOption, match="format is 'jpg'; expected one of pdf, png, svg"):
        shown.save(tmp_path / "x.jpg")
    assert not (tmp_path / "x.jpg").exists()
