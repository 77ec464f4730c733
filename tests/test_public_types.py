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
from cotenant.instances.problem import Instance, Solution


def test_read_with_class_has_type_of_that_class() -> None:
    by_class = assert_type(cotenant.read("colocation/tiny", Colocation), Colocation)
    assert by_class == assert_type(cotenant.read("colocation/tiny"), Instance)


def test_result_type_has_solution_type_of_its_instance(tmp_path: Path) -> None:
    jobs = cotenant.read("colocation/tiny", cotenant.Colocation)
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
    assert_type(
        cotenant.solve(cotenant.read("x", cotenant.Admission), "SM").solution, Assignment | None
    )
    assert_type(
        cotenant.solve(cotenant.read("x", cotenant.Market), "PS").solution, Allocation | None
    )
    assert_type(
        cotenant.solve(cotenant.read("x", cotenant.Numa), "fluid").solution,
        Simulation | Flow | None,
    )
    assert_type(cotenant.read("x", Admission), Admission)
