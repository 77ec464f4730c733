"""Answers of other solvers: `check` of solutions in JSON, of CSV tables, and what is none."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from support.messages import refused
from typer.testing import CliRunner

import cotenant
from cotenant.analysis.run.verify_result import read_answer
from cotenant.cli.commands import app
from cotenant.instances.colocation import Colocation
from cotenant.instances.problem import InvalidFile

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
