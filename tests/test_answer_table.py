"""Answers with names: who runs where, in a sentence, in rows, in files, in notebooks; and instances
from labeled pandas.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas
import pytest
from support.messages import approved, refused
from support.terminal import run

import cotenant
from cotenant.analysis.run.result import fingerprint
from cotenant.analysis.run.verify_result import recheck
from cotenant.instances.admission import Admission
from cotenant.instances.colocation import Colocation, Pairing
from cotenant.instances.market import Market
from cotenant.instances.packing import Packing, Placement
from cotenant.instances.problem import InfeasibleSolution, InvalidInstance
from cotenant.instances.problem.answer_table import answer_table
from cotenant.instances.problem.documents import to_json_value
from cotenant.instances.scheduling import Schedule, Scheduling

METHODS = {
    "admission": "SM",
    "colocation": "GR",
    "market": "PRD",
    "numa": "fluid",
    "packing": "FF",
    "scheduling": "FIFO",
}


@pytest.mark.parametrize(("problem", "method"), METHODS.items())
def test_answer_has_rows_and_a_sentence_in_tables_terminal_and_notebook(
    problem: str, method: str
) -> None:
    instance = cotenant.read(f"{problem}/tiny")
    result = cotenant.solve(instance, method)
    found = answer_table(instance, result.solution)
    assert found.total == len(found.rows) > 0
    assert all(len(row) == len(found.columns) for row in found.rows)
    assert found.sentence
    assert answer_table(instance, result.solution, 1) == replace(found, rows=found.rows[:1])
    frame = result.solution.to_frame(instance)
    assert list(frame.columns) == list(found.columns)
    assert len(frame) == found.total
    document = to_json_value(found)
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    done = run("solve", f"{problem}/tiny", "-m", method, COLUMNS="80")
    assert done.returncode == 0
    assert max(map(len, done.stdout.splitlines())) <= 80
    printed = done.stdout.partition("the answer")[2]
    assert " ".join(found.sentence.split()) in " ".join(printed.split())
    names = [text for row in found.rows[:12] for text in row if isinstance(text, str)]
    assert all(name in printed for name in names)
    hostile = cotenant.solve(instance.replace(name="<b>x</b>"), method)
    for shown in (instance.replace(name="<b>x</b>"), hostile.solution, hostile):
        assert len(repr(shown)) < 400
        assert shown._repr_html_().startswith("<table>")
        assert "<b>" not in shown._repr_html_()
    assert repr(hostile).startswith(f"Result({method} on <b>x</b>, ")


def test_pairing_table_names_partners_and_single_jobs() -> None:
    instance = Colocation(
        penalty=[[0.5, 0.1, 0.2], [0.3, 0.5, 0.4], [0.2, 0.1, 0.5]],  # type: ignore[arg-type]
        count=[4, 3, 2],  # type: ignore[arg-type]
        names=("web", "batch", "db"),
        machines=6.0,
    )
    pairing = Pairing([0, 1, 0], [1, 2, 2], [2, 1, 1], [1, 0, 0])  # type: ignore[arg-type]
    found = answer_table(instance, pairing)
    assert found.rows == (
        ("web", "batch", 2, 0.1, 0.3),
        ("web", "db", 1, 0.2, 0.2),
        ("batch", "db", 1, 0.4, 0.1),
        ("web", None, 1, 0.0, None),
    )
    sentence = "put web beside batch (2x); web beside db (1x); batch beside db (1x); and 1 more"
    assert found.sentence == sentence
    assert answer_table(instance, pairing, 3).rows == found.rows[:3]
    with pytest.raises(InfeasibleSolution):
        answer_table(instance.replace(count=[2, 3, 2]), pairing)


def test_allocation_table_sums_cores_by_user_and_server() -> None:
    jobs = pandas.DataFrame({"user": ["ann", "bob", "ann"], "server": ["s1", "s2", "s1"]}).assign(
        parallel_fraction=0.9, work=1.0
    )
    instance = Market.from_frame(jobs, capacity=pandas.Series({"s2": 8.0, "s1": 4.0}))
    result = cotenant.solve(instance, "ES")
    frame = result.solution.to_frame(instance).set_index(["user", "server"])
    assert frame["cores"].to_dict() == pytest.approx({("ann", "s1"): 4.0, ("bob", "s2"): 8.0})
    assert frame["jobs"].to_dict() == {("ann", "s1"): 2, ("bob", "s2"): 1}
    assert repr(result).startswith("Result(ES on market, feasible,")
    approved(repr(result).partition(" s, ")[2])


def test_placement_table_names_vms_of_every_server() -> None:
    demand = pandas.DataFrame({"cpu": [2, 1], "mem": [1, 2]}, index=["web", "db"])
    capacity = pandas.DataFrame({"mem": [4], "cpu": [4]}, index=["big"])
    instance = Packing.from_frame(demand, capacity=capacity, request={"db": 1, "web": 2})
    assert instance.capacity.tolist() == [[4, 4]]
    assert instance.request is not None
    assert instance.request.tolist() == [2.0, 1.0]
    found = answer_table(instance, Placement([[1, 1], [1, 0]], [0, 0]))  # type: ignore[arg-type]
    assert found.rows == ((0, "big", "web", 1), (0, "big", "db", 1), (1, "big", "web", 1))
    approved(found.sentence)


def test_assignment_and_schedule_tables_name_unserved_jobs() -> None:
    speed = pandas.DataFrame({"fast": [3.0, 2.0], "slow": [1.0, 1.0]}, index=["etl", "ml"])
    cores = pandas.DataFrame({"slow": [1], "fast": [1]}, index=["vm-a"])
    instance = Admission.from_frame(speed, cores=cores, threads=2)
    assert instance.cores.tolist() == [[1, 1]]
    frame = cotenant.solve(instance, "SM").solution.to_frame(instance)
    assert frame["job"].tolist() == ["etl", "ml"]
    assert frame["VM"].tolist()[0] == "vm-a"
    assert pandas.isna(frame["VM"].tolist()[1])
    jobs = pandas.DataFrame({"organization": ["b", "a"], "release": [0, 1], "processing": [3, 9]})
    two = Scheduling.from_frame(jobs, machines=pandas.Series({"a": 1, "b": 0}), horizon=3)
    assert two.names == ("a", "b")
    assert two.organization.tolist() == [1, 0]
    found = answer_table(two, Schedule([0, -1], [0, -1]))  # type: ignore[arg-type]
    assert found.rows == ((0, "b", 0, 0, 0, 3), (1, "a", None, 1, None, None))
    approved(found.sentence)
    starts = Schedule([0, -1], [0, -1]).to_frame(two)["start"]  # type: ignore[arg-type]
    assert str(starts.dtype) == "Int64", "whole numbers stay whole beside what is missing"


def test_from_frame_uses_labels_and_not_their_order() -> None:
    penalty = pandas.DataFrame([[0.2, 0.1], [0.4, 0.3]], index=["web", "db"], columns=["db", "web"])
    instance = Colocation.from_frame(
        penalty, count=pandas.Series({"db": 4, "web": 2}), bandwidth={"web": 1.0, "db": 2.0}
    )
    assert instance.penalty.tolist() == [[0.1, 0.2], [0.3, 0.4]]
    assert instance.count.tolist() == [2, 4]
    assert instance.bandwidth is not None
    assert instance.bandwidth.tolist() == [1.0, 2.0]
    assert instance.names == ("web", "db")


@pytest.mark.parametrize(
    "changed",
    [
        {"penalty": pandas.DataFrame([[0.1]], index=["a"], columns=["b"])}, {"penalty": [[0.1]]},
        {"count": {"a": 2}}, {"count": {"a": 2, "b": 2, "c": 1}}, {"count": [1, 2, 3]},
        {"count": pandas.Series([1, 2], index=["a", "a"])},
    ],
)  # fmt: skip
def test_missing_or_unknown_label_is_named_in_error(changed: dict[str, Any]) -> None:
    penalty = pandas.DataFrame([[0.1, 0.2], [0.3, 0.4]], index=["a", "b"], columns=["a", "b"])
    given = {"penalty": penalty, "count": {"a": 2, "b": 2}} | changed
    with refused(InvalidInstance):
        Colocation.from_frame(**given)
    jobs = pandas.DataFrame({"organization": ["x"], "release": [0], "processing": [1]})
    with refused(InvalidInstance):
        Scheduling.from_frame(jobs, machines=pandas.Series({"a": 1}), horizon=3)
    with refused(InvalidInstance):
        Scheduling.from_frame(
            jobs.drop(columns="release"), machines=pandas.Series({"x": 1}), horizon=3
        )


def test_default_names_are_not_part_of_the_fingerprint() -> None:
    market = cotenant.read("market/tiny")
    assert fingerprint(market) == "fadee66967f91174", "no names, the same content"
    assert "names" not in market.document()
    jobs = cotenant.read("admission/tiny")
    named = jobs.replace(names=tuple("abcd"), machine_names=("v", "w"))
    assert isinstance(named, Admission)
    assert named.only([2, 0]).names == ("c", "a")
    with refused(InvalidInstance):
        market.replace(server_names=("s1",))


def test_result_file_names_are_checked_against_solution(tmp_path: Path) -> None:
    file = tmp_path / "result.json"
    done = run("solve", "colocation/tiny", "-m", "optimal", "--out", str(file))
    assert done.returncode == 0
    approved(line for line in done.stdout.splitlines() if line.startswith("put "))
    content = json.loads(file.read_text())
    assert content["named"]["rows"][0][:3] == ["x264", "regression", 1]
    tiny = cotenant.read("colocation/tiny")
    stored = cotenant.Result.read(file)
    assert stored.described() == cotenant.solve(tiny, "optimal").described()
    assert recheck(tiny, stored).broken == ()
    content["named"]["rows"][0][1] = "decisiontree"
    (found,) = recheck(tiny, cotenant.Result.from_document(content)).broken
    approved(found)
    del content["named"]
    old = cotenant.Result.from_document(content)
    assert old.described() is None
    approved(recheck(tiny, old).broken)


def test_notebook_html_of_comparison_is_short() -> None:
    proved = cotenant.solve(cotenant.read("colocation/tiny"), "optimal")
    assert "<th>gap</th><td>0</td>" in proved._repr_html_(), "its name is in the other cell"
    assert ", gap 0, " in repr(proved)
    done = cotenant.compare([cotenant.read("colocation/tiny")], ["optimal", "GR"])
    approved(repr(done))
    assert "<table" in done._repr_html_()
    large = cotenant.read("colocation/cooper-1000")
    assert len(repr(large)) < 400
    assert len(repr(cotenant.solve(large, "CO").solution)) < 200
