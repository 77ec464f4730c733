"""Mistakes of the first hours, and what the errors say of them: what was given, and the cure."""

# mypy: disable-error-code="call-arg"

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from support.messages import refused
from typer.testing import CliRunner

import cotenant
from cotenant.cli.commands import app
from cotenant.instances.admission import Admission
from cotenant.instances.colocation import Colocation
from cotenant.instances.colocation.formats import penalty_csv
from cotenant.instances.market import Market
from cotenant.instances.packing import Packing
from cotenant.instances.problem import CotenantError, InvalidFile, InvalidInstance, InvalidOption
from cotenant.solvers.roommates import irving, ranks_from_lists

TINY = cotenant.read("colocation/tiny", cotenant.Colocation)
GREEDY = cotenant.solve(TINY, "GR")


def frame(text: str, **options: Any) -> pandas.DataFrame:
    return pandas.read_csv(io.StringIO(text), **options)


def pairs(text: str) -> Colocation:
    return Colocation.from_frame(frame(text, index_col=0))


HOST = frame("host,cpu\nh,8\n", index_col=0)

IN_PYTHON: list[Callable[[], object]] = [
    lambda: cotenant.solve(TINY, "stable", timelimit=3),
    lambda: cotenant.solve(TINY),
    lambda: cotenant.solve(7, "GR"),
    lambda: cotenant.solve(TINY, "stable", 3),
    lambda: cotenant.compare([TINY], ["GR"], seed=1),
    lambda: Colocation(penalty=[[0, 1], [1, 0]], counts=[1, 1]),
    lambda: Colocation.from_frame(frame("job,a,b\na,0,.1\nb,.2,0\n")),
    lambda: Packing.from_frame(frame("vm,cpu\nweb,2\n"), capacity=HOST),
    lambda: Packing.from_frame(frame("vm,cpu\nweb,500m\n", index_col=0), capacity=HOST),
    lambda: pairs("job,a,b\na,0,10 %\nb,.2,0\n"),
    lambda: pairs("job,a,b\na,0,25\nb,.2,0\n"),
    lambda: pairs("job,a,b\na,0,.1\n,.2,0\n"),
    lambda: pairs("job,a,bb\na,0,.1\nb,.2,0\n"),
    lambda: Colocation.from_frame(pandas.DataFrame([[0.0]], ["a"], ["a"]), count={"a": "two"}),
    lambda: Market.from_frame(frame("user,server,parallel_fraction,work\nann,s,90%,1\n"), capacity=pandas.Series({"s": 4})),
    lambda: Market.from_frame(frame("user,server,parallel_fraction,work\nann,s,.9,1\n"), capacity=4),
    lambda: Admission.from_frame(frame("job,fast\nj,2 GHz\n", index_col=0), cores=frame("vm,fast\nv,2\n", index_col=0), threads=1),
    lambda: cotenant.write(GREEDY, "f.json"),
    lambda: cotenant.check(TINY, GREEDY),
    lambda: cotenant.plot(GREEDY, TINY),
    lambda: cotenant.read("colocation/tiny", "colocation"),  # type: ignore[call-overload]
    lambda: cotenant.read("pen.csv"),
    lambda: cotenant.read("rows.jsonl"),
    lambda: cotenant.read("pods.json"),
    lambda: cotenant.read_all("colocation/tiny"),
    lambda: ranks_from_lists({"ann": [["bob", "cat"]], "bob": [], "cat": []}),
    lambda: ranks_from_lists([["bob"], ["ann"]]),
    lambda: irving([[1], [1, 2]]),
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


@pytest.mark.parametrize("call", IN_PYTHON, ids=range(len(IN_PYTHON)))
def test_errors_of_wrong_calls_name_argument_and_cure(
    call: Callable[[], object], files: Path
) -> None:
    with refused(CotenantError) as caught:
        call()
    assert len(str(caught.value)) < 400


def test_plot_is_saved_in_the_format_of_the_file_name(tmp_path: Path) -> None:
    shown = cotenant.plot(TINY, GREEDY)
    for name, start in (("x.png", b"\x89PNG"), ("x.pdf", b"%PDF"), ("x.svg", b"<?xml")):
        (file,) = shown.save(tmp_path / name)
        assert (file, file.read_bytes()[: len(start)]) == (tmp_path / name, start)
    assert [path.suffix for path in shown.save(tmp_path / "folder")] == [".pdf", ".png"]
    with refused(InvalidOption):
        shown.save(tmp_path / "x.jpg")
    assert not (tmp_path / "x.jpg").exists()


def test_colocation_from_frame_reads_slowdowns_and_refuses_missing_pairs() -> None:
    frame = pandas.DataFrame([[2.0, 1.25], [np.nan, 4.0]], index=["a", "b"], columns=["a", "b"])
    found = Colocation.from_frame(frame, count=2, slowdown=True, missing="forbid")
    assert found.penalty.tolist() == [[0.5, 0.2], [np.inf, 0.75]]
    negative = frame.replace(4.0, -4.0)
    for given, slowdown in ((frame, False), (frame, True), (negative, True)):
        with refused(InvalidInstance):
            Colocation.from_frame(given, count=2, slowdown=slowdown)


@pytest.mark.parametrize("slowdown", [1.1, 0.98])
def test_error_for_slowdowns_given_as_penalties_names_right_reader(
    slowdown: float, tmp_path: Path
) -> None:
    path = tmp_path / "s.csv"
    path.write_text(f"job,a,b\na,1.5,1.25\nb,{slowdown},1.5\n")
    arguments = ["convert", str(path), "--from", "penalty-csv", "--out", str(tmp_path / "x.json")]
    typed = str(CliRunner().invoke(app, arguments).exception)
    with refused(InvalidFile) as caught:
        penalty_csv(path)
    assert ("--from slowdown-csv" in typed, "slowdown_csv" in typed) == (True, False)
    assert ("slowdown_csv" in str(caught.value), "slowdown-csv" in str(caught.value)) == (
        True,
        False,
    )
