"""Feasible and infeasible answers, tables of answers, and answers of other solvers and of models that
a reader has extended.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import cvxpy
import numpy as np
import pandas
import pyomo.environ as pyo
import pytest
from support.messages import approved, refused
from support.terminal import run
from typer.testing import CliRunner

import cotenant
from cotenant.analysis.run.result import fingerprint
from cotenant.analysis.run.verify_result import read_answer, recheck
from cotenant.cli.commands import app
from cotenant.instances.accelerators import TimeShares
from cotenant.instances.admission import Admission, Assignment
from cotenant.instances.colocation import Colocation, Pairing
from cotenant.instances.elastic import Configured
from cotenant.instances.lifetimes import Hosts
from cotenant.instances.market import Allocation, Market
from cotenant.instances.numa import Flow, Numa, Simulation
from cotenant.instances.packing import Packing, Placement
from cotenant.instances.packing.services import Service
from cotenant.instances.problem import (
    InfeasibleSolution,
    Instance,
    InvalidFile,
    InvalidInstance,
    InvalidOption,
    Solution,
)
from cotenant.instances.problem.answer_table import answer_table
from cotenant.instances.problem.documents import to_json_value
from cotenant.instances.quanta import Quanta, Slices
from cotenant.instances.scheduling import Schedule, Scheduling
from cotenant.models.admission.arrays import assignment_program
from cotenant.models.admission.readable import readable
from cotenant.models.answer import instance_answer
from cotenant.models.colocation import penalty_program
from cotenant.models.colocation.readable import predictor
from cotenant.models.market.eisenberg_gale import eisenberg_gale
from cotenant.models.numa.arrays import throughput_program
from cotenant.models.numa.readable import throughput_model
from cotenant.models.packing.assignment import assignment_model
from cotenant.models.program import from_pyomo
from cotenant.models.scheduling import interval_model
from cotenant.solvers.engines import solve_convex, solve_cp_sat, solve_program

ADMISSION = Admission([[2, 1], [0, 3]], [2, 4], [[5.0, 1.0], [2.0, 3.0]])
FOUR_VMS = Admission([[1] * 8], [4] * 4, [[1.0] * 8] * 4)
JOBS = Colocation(
    [[0, 0.1, 0.2, np.inf], [0.1, 0, 0.3, 0.2], [0.2, 0.3, 0, 0.1], [np.inf, 0.2, 0.1, 0]], [1] * 4
)
MARKET = Market([10], [1, 1], [0, 1], [0, 0], [0.5, 0.9], [1, 1])
VMS = Packing([[4, 8], [6, 6]], [[1, 2], [3, 1]], [2.0, 1.0], [np.inf, 2.0])
BLADES = Numa(
    blades=2, rows=1, columns=2, cores=2, location_share=[0.4, 0.3, 0.2, 0.1],
    class_share=[0.5, 0.5], service_mean=[0.04, 0.02], ht1=[1.2, 1.0], pcie=[1.7, 1.1],
    bandwidth=[283.0, 28.0], rate=100.0,
)  # fmt: skip
CARDS = Packing(
    [[16, 64], [32, 128]], [[4, 8], [2, 4], [1, 1], [3, 3]], request=[3, 6, 4, 2], servers=[2, 1],
    partial=True, cards=[2, 4], card_units=100, card_demand=[2, 1, 0, 0], card_share=[0, 0, 60, 40],
)  # fmt: skip
SERVICES = Packing(
    [[7, 8]], [[1, 1], [3, 4], [4, 4]],
    services=[Service((0, 1), (10, 35), 101, "web"), Service((2,), (9,), 20, "search")],
)  # fmt: skip
QUANTA = cotenant.read("quanta/tiny", Quanta)
LOG = Scheduling([1, 1], organization=[0, 0, 1], release=[0, 0, 1], processing=[3, 2, 4], horizon=8)

SIMULATION = Simulation(
    policy="IB", window=10.0, arrived=[6, 4], served=[[3, 1, 0], [2, 0, 2]], waiting=[0, 1],
    running=[1, 2], refused=3, busy=[5.0, 4.0, 3.0, 0.0, 9.0, 1.0, 1.0, 2.0], stable=True,
    growth=0.0, response=[0.1, 0.2, 0.3], response_error=[0.01] * 3, mean_response=0.12,
    mean_response_error=0.01, mean_wait=0.05, mean_wait_error=0.01,
)  # fmt: skip
LOCAL = 100 * BLADES.class_share[:, None, None] * BLADES.location_share[:, None] * np.eye(4)
"""Flows of tasks at 100/s that all run where their data is."""

FEASIBLE: list[tuple[Instance[Any], Solution]] = [
    (JOBS.replace(machines=3.0), Pairing([0], [1], [1], [0, 0, 1, 1])),
    (MARKET, Allocation([5.0, 5.0], [0.2])),
    (VMS, Placement([[2, 0], [0, 1]], [0, 1])),
    (VMS.replace(partial=True), Placement([[1, 0]], [0])),
    (BLADES, SIMULATION),
    (BLADES, Flow(100.0, LOCAL)),
    (LOG, Schedule([0, 5, 1], [0, 0, 1])),
    (LOG, Schedule([0, 0, 2], [0, 1, 1], greedy=True)),
]

INFEASIBLE: list[tuple[Instance[Any], list[Solution]]] = [
    (ADMISSION, [Assignment(*answer) for answer in (
        ([0], [[1, 0], [0, 0]]), ([2, -1], [[1, 0], [0, 0]]), ([-2, -1], [[0, 0], [0, 0]]),
        ([0, -1], [[1, -1], [0, 0]]), ([-1, -1], [[0, 0], [0, 1]]), ([0, 1], [[1, 0], [0, 0]]),
        ([0, -1], [[2, 1], [0, 0]]), ([0, 0], [[1, 1], [1, 1]]),
    )]),
    # each row, and each column, adds up to 1 or 0 in 64 bits
    (FOUR_VMS, [Assignment(
        [0] * 4, [[2**62] * 4 + [int(j == c) for c in range(4)] for j in range(4)],
    )]),
    (JOBS, [Pairing(*answer) for answer in (
        ([0, 0], [1, 2], [1, 1], np.zeros(4)), ([0], [1], [1], np.zeros(4)),
        ([0, 1], [3, 2], [1, 1], np.zeros(4)), ([0], [1], [1], [0, 0, 1, 1]),
        ([0], [4], [1], np.zeros(4)), ([0], [1], [1], np.zeros(3)),
    )]),
    (JOBS.replace(machines=3.0), [Pairing([], [], [], np.ones(4))]),
    (MARKET, [Allocation(cores, price) for cores, price in (
        ([1.0], None), ([-1.0, 1.0], None), ([np.nan, 1.0], None), ([6.0, 5.0], None),
        ([5.0, 5.0], [1.0, 1.0]), ([5.0, 5.0], [-1.0]),
    )]),
    (VMS, [Placement(*answer) for answer in (
        ([[2, 1], [0, 0]], [0, 0]), ([[2, 0]], [0]), ([[1, 0], [1, 0], [0, 1]], [1, 1, 1]),
        ([[2, 0], [0, 1]], [0, 7]), ([[2, -1], [0, 2]], [0, 1]), ([[2]], [0]),
    )]),
    (VMS.replace(partial=True), [Placement([[3, 0]], [0])]),
    (BLADES, [SIMULATION.replace(**changes) for changes in (
        {"waiting": [0, 0]}, {"arrived": [6, 5]}, {"busy": [11.0, 4, 3, 0, 9, 1, 1, 2]},
        {"busy": [1.0]}, {"running": [1, 9], "arrived": [13, 4]}, {"refused": 801},
        {"response": [0.3, 0.2, 0.3]}, {"mean_wait": 0.5}, {"policy": "IP-9"}, {"window": 0.0},
    )]),
    (BLADES.replace(refusal_limit=np.inf), [SIMULATION.replace(policy="IP-2")]),
    (BLADES, [
        Flow(100.0, LOCAL * np.array([1.0, 1.1])[:, None, None]), Flow(1000.0, 10 * LOCAL),
        Flow(100.0, -LOCAL), Flow(100.0, LOCAL[:1]),
    ]),
    (LOG, [Schedule(*answer) for answer in (
        ([0, 3], [0, 0]), ([0, 3, 1], [0, -1, 1]), ([0, -2, 1], [0, -1, 1]),
        ([0, 3, 1], [0, 2, 1]), ([0, 3, 0], [0, 0, 1]), ([0, 3, 8], [0, 0, 1]),
        ([4, 0, 1], [0, 0, 1]), ([-1, 0, 1], [-1, 0, 1]), ([0, 2, 1], [0, 0, 1]),
    )]),
    (LOG, [
        Schedule([0, 5, 1], [0, 0, 1], greedy=True), Schedule([0, 0, -1], [0, 1, -1], greedy=True),
    ]),
    (cotenant.read("accelerators/tiny"), [TimeShares(*zip(*rows, strict=True)) for rows in (
        [(0, -1, 0, 1.5)], [(0, 0, 1, 0.5)], [(0, -1, 0, np.nextafter(1, 2))],
        [(0, -1, 0, 1), (0, -1, 1, 1), (0, 1, 0, 1e-15)], [(0, 0, 0, 1), (0, -1, 1, 0.5)],
        [(0, 2, 0, 0.5)], [(0, 1, 2, 0.5)], [(1, 1, 0, 0.1)],
    )]),
    (cotenant.read("elastic/tiny"), [Configured(*rows) for rows in (
        ([4], [0], [1]), ([0], [5], [1]), ([0], [0], [0]), ([0, 0], [0, 0], [1, 1]),
        ([0, 0], [0, 1], [1, 1]), ([0, 1], [2, 2], [1, 1]),
    )]),
    (cotenant.read("lifetimes/tiny"), [Hosts([0] * 7), Hosts([0] * 8), Hosts([-1] + [0] * 7)]),
    (QUANTA, [Slices(np.zeros((3, 4))), Slices(np.full((3, 5), 7.0)), Slices(1.0 * QUANTA.demand)]),
    # the second service, and in the first its rate
    (SERVICES, [Placement([[0, 1, 1], [0, 1, 1], [0, 0, 1]], [0, 0, 0])]),
    # three cards of two; three of .6 on two; .6, .4 and .4 on one; more units than cards have
    (CARDS, [Placement([count], [0]) for count in (
        [1, 1, 0, 0], [0, 0, 3, 0], [0, 1, 1, 2], [0, 0, 4, 2],
    )]),
]  # fmt: skip


@pytest.mark.parametrize(("instance", "answer"), FEASIBLE)
def test_check_accepts_feasible_answer(instance: Instance[Any], answer: Solution) -> None:
    cotenant.check(instance, answer)


@pytest.mark.parametrize(
    ("instance", "answer"),
    [(instance, answer) for instance, answers in INFEASIBLE for answer in answers],
)
def test_check_names_the_broken_rule_of_an_infeasible_answer(
    instance: Instance[Any], answer: Solution
) -> None:
    with refused(InfeasibleSolution):
        cotenant.check(instance, answer)


PAIRS = "job,beside\nx264,regression\nregression,x264\nfluidanimate,decisiontree\n"


@pytest.mark.parametrize(
    ("name", "method"), [("colocation", "optimal"), ("packing", "min-servers")]
)
def test_answer_table_and_solution_document_are_read_as_the_same_answer(
    tmp_path, name, method
) -> None:
    instance = cotenant.read(f"{name}/tiny")
    result = cotenant.solve(instance, method)
    found = cotenant.instances.problem.answer_table.answer_table(instance, result.solution)
    rows = [found.columns, *found.rows]
    table = tmp_path / "a.csv"
    table.write_text("\n".join(",".join("" if c is None else str(c) for c in row) for row in rows))
    assert read_answer(instance, str(table)) == result.solution
    bare = tmp_path / "a.json"
    bare.write_text(json.dumps({"solution": result.solution.document()}))
    assert read_answer(instance, str(bare)) == result.solution


def test_answer_table_of_pairs_and_single_jobs_is_read_as_pairing(tmp_path: Path) -> None:
    instance = Colocation(np.full((2, 2), 0.1), [5, 2], names=("a", "b"), machines=5)
    table = tmp_path / "a.csv"
    table.write_text("job,beside,machines\na,b,1\nb,a,1\na,a,1\na,,1\n")
    found = read_answer(instance, str(table))
    assert (found.first.tolist(), found.second.tolist()) == ([0, 0], [0, 1])
    assert (found.pairs.tolist(), found.single.tolist()) == ([1, 2], [1, 0])


@pytest.mark.parametrize(
    ("text", "code"),
    [(PAIRS, 0), ("job,beside\nx264,regression\n", 1), ('{"solution": {"first": [0]}}', None)],
)
def test_check_gives_verdict_on_every_kind_of_external_answer(tmp_path, text, code) -> None:
    path = tmp_path / "a.csv"
    path.write_text(text)
    done = CliRunner().invoke(app, ["check", "colocation/tiny", str(path), "--json"])
    if code is None:
        assert isinstance(done.exception, InvalidFile)
    else:
        said = json.loads(done.stdout)
        assert (done.exit_code, said["ok"], said["bound"]) == (code, not code, "none")
        assert ("penalty 0.0425" in said["said"]) == said["ok"]


def test_check_of_infeasible_answer_skips_own_rules(tmp_path: Path) -> None:
    lists = {"a": ["b", "c", "d"], "b": ["a"], "c": ["a"], "d": ["a"]}
    instance = cotenant.from_lists(lists, perfect=True)
    cotenant.write(instance, tmp_path / "i.json")
    cotenant.solve(instance, "stable").write(tmp_path / "r.json")
    arguments = ["check", str(tmp_path / "i.json"), str(tmp_path / "r.json"), "--json"]
    done = CliRunner().invoke(app, [*arguments, "--rule", "builtins:id"])
    assert json.loads(done.stdout)["said"].startswith("claims infeasible: ")


def test_check_of_proof_file_verifies_it(tmp_path: Path) -> None:
    proof = tmp_path / "p.json"
    arguments = ["prove", "colocation/tiny", "-m", "stable", "--out", str(proof)]
    assert CliRunner().invoke(app, arguments).exit_code == 0
    done = CliRunner().invoke(app, ["check", "colocation/tiny", str(proof)])
    assert (done.exit_code, done.stdout.startswith("accepted")) == (0, True)


@pytest.mark.parametrize(
    "text",
    [
        "", "job,beside\n", "job,beside\nx264,nobody\n", "a,b\nc,d\n", "{}", "[]", "null", "3",
        '{"solution": null}', '{"solution": [1]}', '{"solution": {"first": "a", "second": null, '
        '"pairs": {}, "single": 3}}', '{"solution": {}, "answer": 5}',
        '{"cotenant": 1, "problem": "colocation"}',
    ],
)  # fmt: skip
def test_check_names_files_that_are_not_answers(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.txt"
    path.write_text(text)
    with refused(cotenant.CotenantError):
        read_answer(cotenant.read("colocation/tiny"), str(path))


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


def metric(instance: Any, solution: Any, name: str) -> float:
    """A metric of an answer, as a comparison has it."""

    def theirs(instance: Any) -> Any:
        return solution

    (row,) = cotenant.compare([instance], [theirs]).rows
    assert row.get("error") is None
    return float(row["metrics"][name] or 0)


def test_extended_pyomo_model_converts_to_pairing() -> None:
    tiny = cotenant.read("colocation/tiny")
    best = cotenant.solve(tiny, "optimal")
    a, b = int(best.solution.first[0]), int(best.solution.second[0])
    model = predictor(tiny)
    model.apart = pyo.Constraint(expr=model.x[a, b] == 0)
    answer = solve_program(from_pyomo(model))
    answer.load(model)
    pairing = instance_answer(tiny, model)
    assert not ((pairing.first == a) & (pairing.second == b)).any()  # type: ignore[attr-defined]
    value = metric(tiny, pairing, "penalty")
    assert value == pytest.approx(answer.objective)
    assert value > best.objective + 1e-6


def test_array_programs_convert_to_answers() -> None:
    tiny = cotenant.read("colocation/tiny")
    built = penalty_program(tiny)
    pairing = instance_answer(tiny, built, solve_program(built.program))
    assert metric(tiny, pairing, "penalty") == pytest.approx(
        cotenant.solve(tiny, "optimal").objective
    )
    jobs = cotenant.read("admission/tiny")
    program = assignment_program(jobs)
    assignment = instance_answer(jobs, program, solve_program(program.program).point)
    best = cotenant.solve(jobs, "optimal").objective
    assert metric(jobs, assignment, "total_speed") == pytest.approx(best)
    model = readable(jobs)
    solve_program(from_pyomo(model)).load(model)
    assert metric(jobs, instance_answer(jobs, model), "total_speed") == pytest.approx(best)


@pytest.mark.slow
def test_cp_sat_models_convert_to_answers() -> None:
    vms = cotenant.read("packing/tiny")
    parts = assignment_model(vms)
    placement = instance_answer(vms, parts, solve_cp_sat(parts.model, time_limit=30))
    assert metric(vms, placement, "cost") == cotenant.solve(vms, "min-cost").objective
    work = cotenant.read("scheduling/figure-2")
    best = cotenant.solve(work, "max-utility").objective
    intervals = interval_model(work, "utility", lambda: False)
    schedule = instance_answer(work, intervals, solve_cp_sat(intervals.model, time_limit=30))
    assert metric(work, schedule, "utility") == best


def test_flow_and_market_models_convert_to_answers() -> None:
    numa = cotenant.read("numa/tiny")
    best = cotenant.solve(numa, "fluid").objective
    model = throughput_model(numa)
    solve_program(from_pyomo(model)).load(model)
    assert instance_answer(numa, model).throughput == pytest.approx(best)  # type: ignore[attr-defined]
    built = throughput_program(numa)
    flow = instance_answer(numa, built, solve_program(built.program))
    assert flow.throughput == pytest.approx(best)  # type: ignore[attr-defined]
    market = cotenant.read("market/tiny")
    program = eisenberg_gale(market)
    floored = cvxpy.Problem(
        program.problem.objective, [*program.problem.constraints, program.share >= 0.2]
    )
    with refused(InvalidOption):
        instance_answer(market, program)
    solve_convex(floored)
    allocation = instance_answer(market, program)
    share = allocation.cores / market.capacity[market.server]  # type: ignore[attr-defined]
    assert share[program.job].min() >= 0.2 - 1e-6
    assert metric(market, allocation, "nash_welfare") <= cotenant.solve(
        market, "nash-welfare"
    ).objective * (1 + 1e-9)


def test_unsolved_model_is_refused() -> None:
    tiny = cotenant.read("colocation/tiny")
    model = predictor(tiny)
    with refused(InvalidOption):
        instance_answer(tiny, model)
    with refused(InvalidOption):
        instance_answer(tiny, object())
    other = readable(cotenant.read("admission/tiny"))
    answer = solve_program(from_pyomo(model))
    with refused(InvalidOption):
        answer.load(other)
    model.never = pyo.Constraint(expr=model.single[0] >= tiny.agents)
    with refused(InvalidOption):
        solve_program(from_pyomo(model)).load(model)
    built = penalty_program(tiny)
    with refused(InfeasibleSolution):
        instance_answer(tiny, built, np.zeros(built.program.columns))
    with refused(InvalidOption):
        instance_answer(tiny, built, solve_program(from_pyomo(model)))
