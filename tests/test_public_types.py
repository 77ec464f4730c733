"""What an editor and a type checker see of the names of `cotenant`; `mypy tests` judges these."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import TYPE_CHECKING, assert_type

import cotenant
from cotenant.analysis.run.result import Result
from cotenant.instances.admission import Admission, Assignment
from cotenant.instances.colocation import Colocation, Pairing
from cotenant.instances.market import Allocation
from cotenant.instances.numa import Flow, Simulation
from cotenant.instances.problem import PROBLEM_NAMES, Instance, Solution, problem_named


def test_read_with_problem_name_has_type_of_instance_class(tmp_path: Path) -> None:
    by_name = assert_type(cotenant.read("colocation/tiny", "colocation"), Colocation)
    by_class = assert_type(cotenant.read("colocation/tiny", Colocation), Colocation)
    assert by_name == by_class == assert_type(cotenant.read("colocation/tiny"), Instance)


def test_result_type_has_solution_type_of_its_instance(tmp_path: Path) -> None:
    jobs = cotenant.read("colocation/tiny", "colocation")
    result = assert_type(cotenant.solve(jobs, "GR"), Result[Pairing])
    assert_type(result.solution, Pairing | None)
    assert_type(result.solution, Pairing | None)
    assert result.solution is not None
    assert isinstance(result.solution, Pairing)
    cotenant.check(jobs, result.solution)
    again = Result.read(result.write(tmp_path / "r.json"))
    assert assert_type(again.solution, Solution | None) == result.solution
    assert pickle.loads(pickle.dumps(result)).solution == result.solution
    assert pickle.loads(pickle.dumps(jobs)) == jobs


if TYPE_CHECKING:
    assert_type(cotenant.solve(cotenant.read("x", "admission"), "SM").solution, Assignment | None)
    assert_type(cotenant.solve(cotenant.read("x", "market"), "PS").solution, Allocation | None)
    assert_type(
        cotenant.solve(cotenant.read("x", "numa"), "fluid").solution, Simulation | Flow | None
    )
    assert_type(cotenant.read("x", Admission), Admission)


def test_every_problem_has_an_overload_of_read() -> None:
    source = Path(cotenant.instances.problem.files.__file__).read_text()
    for name in PROBLEM_NAMES:
        kind = problem_named(name).instance.__name__
        assert f'problem: Literal["{name}"]) -> {kind}: ...' in source
