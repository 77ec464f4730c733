"""CONTRIBUTING.md, done: a method, an instance and a problem are added the way the page says."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import types
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import pydantic
import pytest
from support.messages import approved, refused

import cotenant
from cotenant import catalog
from cotenant.analysis.metric import Metric
from cotenant.analysis.registry import Analysis
from cotenant.instances.colocation import Colocation, Pairing
from cotenant.instances.problem import (
    InfeasibleSolution,
    Instance,
    Problem,
    Solution,
    registry,
    write,
)


def neighbors(
    instance: Colocation, *, rng: Any = None, time_limit: float | None = None, shift: int = 0
) -> Pairing:
    """Agents next to each other in index order share a processor."""
    order = np.roll(instance.agent_types(), shift)
    return Pairing(order[::2], order[1::2], np.ones(len(order) // 2), np.zeros(instance.types))


@pytest.fixture
def toy_module(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    module = types.ModuleType("cotenant.baselines.toy")
    module.neighbors = neighbors
    monkeypatch.setitem(sys.modules, "cotenant.baselines.toy", module)
    return module


def test_a_method_is_one_function_and_one_line_of_the_catalogue(
    toy_module: types.ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = catalog.Method(
        "neighbors", "colocation", "baselines.toy:neighbors", "heuristic", "penalty", "this test"
    )
    monkeypatch.setattr(catalog, "METHODS", (*catalog.METHODS, line))
    result = cotenant.solve(cotenant.read("colocation/tiny"), "neighbors", shift=1)
    assert result.metrics["blocking_pairs"] == 1
    assert "neighbors" in {method.name for method in cotenant.methods("colocation")}
    rows = cotenant.compare([cotenant.read("colocation/tiny")], ["optimal", "neighbors"]).table
    assert rows.set_index("method").loc["neighbors", "gap_penalty"] > 0


def test_an_instance_is_a_file_with_its_source(tmp_path: Path) -> None:
    instance = Colocation([[0.1, 0.2], [0.3, 0.4]], [2, 2], name="mine", source="measured by me")
    approved(cotenant.read(write(instance, tmp_path / "mine.json")).source)


@dataclass(frozen=True, eq=False)
class Guess(Instance):
    """A number to be guessed from below."""

    problem: ClassVar[str] = "toy"
    limit: int = 0

    def document(self) -> dict[str, Any]:
        """Its one field."""
        return {"limit": self.limit}


@dataclass(frozen=True, eq=False)
class Number(Solution):
    """The guess."""

    problem: ClassVar[str] = "toy"
    value: int = 0


class GuessDocument(pydantic.BaseModel):
    """The document of a guess."""

    model_config = pydantic.ConfigDict(extra="forbid", strict=True)
    cotenant: Literal[1]
    problem: Literal["toy"]
    name: str = ""
    source: str = ""
    limit: int

    def build(self) -> Guess:
        """The instance."""
        return Guess(self.limit, name=self.name, source=self.source)


def check_guess(instance: Guess, solution: Number) -> None:
    """The guess is not above the limit."""
    if solution.value > instance.limit:
        raise InfeasibleSolution(f"{solution.value} is above {instance.limit}")


def guess_metrics(instance: Guess, solution: Number) -> dict[str, float]:
    """The value."""
    return {"value": float(solution.value)}


def highest(instance: Guess) -> Number:
    """Guess the limit."""
    return Number(instance.limit)


def test_a_problem_is_a_module_and_a_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    module = types.ModuleType("cotenant.instances.toy")
    module.PROBLEM = Problem(
        "toy", "guess", Guess, Number, check_guess, "instances.toy:GuessDocument", {}
    )
    module.GuessDocument = GuessDocument
    monkeypatch.setitem(sys.modules, "cotenant.instances.toy", module)
    measures = types.ModuleType("cotenant.analysis.toy.metrics")
    measures.METRICS, measures.metrics = (Metric("value", "value", "max"),), guess_metrics
    analysis = types.ModuleType("cotenant.analysis.toy")
    analysis.ANALYSIS = Analysis("analysis.toy.metrics:METRICS", "analysis.toy.metrics:metrics")
    monkeypatch.setitem(sys.modules, "cotenant.analysis.toy", analysis)
    monkeypatch.setitem(sys.modules, "cotenant.analysis.toy.metrics", measures)
    for place in (registry, sys.modules["cotenant.instances.problem.files"]):
        monkeypatch.setattr(place, "PROBLEM_NAMES", ("colocation", "toy"))
    instance = cotenant.read(write(Guess(3, name="three"), tmp_path / "three.json"))
    assert cotenant.solve(instance, highest).metrics == {"value": 3.0}
    with refused(InfeasibleSolution):
        cotenant.check(instance, Number(4))


@pytest.mark.slow
def test_a_new_problem_begins_as_files_that_work(tmp_path: Path) -> None:
    root = Path(__file__).parents[1]
    checkout = tmp_path / "cotenant"
    for folder in (
        "analysis", "baselines", "cli", "instances", "models", "running", "solvers", "verify",
    ):  # fmt: skip
        shutil.copytree(
            root / folder, checkout / folder, ignore=shutil.ignore_patterns("__pycache__")
        )
    for name in ("__init__.py", "catalog.py"):
        shutil.copy(root / name, checkout)
    (checkout / "tests").mkdir()

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        entry = "from cotenant.cli import main; main()"
        return subprocess.run(
            [sys.executable, "-P", "-c", entry, *arguments],
            env={**os.environ, "PYTHONPATH": str(tmp_path)},
            capture_output=True, text=True, check=False,
        )  # fmt: skip

    made = run("new", "problem", "groups_of_jobs").stdout.split()
    assert {
        "instances/groups_of_jobs/instance.py",
        "tests/test_groups_of_jobs.py",
        "catalog.py",
    } <= set(made)
    rows = json.loads(run("compare", "groups_of_jobs/tiny", "--json").stdout)
    assert [(row["method"], row["status"], row["objective"]) for row in rows] == [
        ("optimal", "optimal", 8.0), ("greedy", "feasible", 7.0)
    ]  # fmt: skip
    done = subprocess.run(
        [
            sys.executable,
            "-P",
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "--import-mode=importlib",
            "--rootdir",
            str(checkout),
            "--doctest-modules",
            *(
                str(checkout / path)
                for path in made
                if path.endswith(".py") and "groups_of_jobs" in path
            ),
        ],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    for again, words in (
        ("groups_of_jobs", "which is a problem already"),
        ("Groups", "expected lower-case letters"),
    ):
        refused = run("new", "problem", again)
        assert refused.returncode == 2
        assert words in refused.stderr
