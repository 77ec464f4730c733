"""Feasible and infeasible answers, and answers of other solvers, before `check`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.messages import refused
from typer.testing import CliRunner

import cotenant
from cotenant.analysis.run.verify_result import read_answer
from cotenant.cli.commands import app
from cotenant.instances.admission import Admission, Assignment
from cotenant.instances.colocation import Colocation, Pairing
from cotenant.instances.market import Allocation, Market
from cotenant.instances.numa import Flow, Numa, Simulation
from cotenant.instances.packing import Packing, Placement
from cotenant.instances.problem import InfeasibleSolution, Instance, InvalidFile, Solution
from cotenant.instances.scheduling import Schedule, Scheduling

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


def test_answer_table_of_pairs_completes_single_jobs(tmp_path: Path) -> None:
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
