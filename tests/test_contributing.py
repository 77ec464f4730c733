"""CONTRIBUTING.md, done: a method, an instance and a problem are added the way the page says."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.messages import approved

METHOD = '''
"""Agents by number, two and two."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from ...instances.colocation.instance import Colocation, Pairing
from ...instances.problem.option_types import AtLeast, validate_options


@validate_options
def neighbors(instance: Colocation, *, shift: Annotated[int, AtLeast(0)] = 0) -> Pairing:
    """Pair agents in the order of their numbers.

    Parameters
    ----------
    shift : places that the second half is moved by.
    """
    order = np.roll(instance.agent_types(), shift)
    return Pairing(order[::2], order[1::2], np.ones(len(order) // 2), np.zeros(instance.types))
'''
LINE = """    Method("neighbors", "colocation", "baselines.colocation.neighbors:neighbors",
           "heuristic", "penalty", "this test", quick=0),
"""


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what the command line needs, to which a stranger adds."""
    root = Path(__file__).parents[1]
    copy = tmp_path_factory.mktemp("checkout") / "cotenant"
    for folder in (
        "analysis", "baselines", "cli", "cluster", "instances", "models", "solvers", "verify",
    ):  # fmt: skip
        shutil.copytree(root / folder, copy / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("__init__.py", "catalog.py"):
        shutil.copy(root / name, copy)
    (copy / "tests").mkdir()
    return copy


def python(checkout: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """What Python prints where the checkout is installed."""
    return subprocess.run(
        [sys.executable, "-P", *arguments], env={**os.environ, "PYTHONPATH": str(checkout.parent)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def run(checkout: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """What the command of a checkout prints."""
    return python(checkout, "-c", "from cotenant.cli import main; main()", *arguments)


@pytest.mark.slow
def test_contributed_method_needs_function_and_catalogue_line(checkout: Path) -> None:
    (checkout / "baselines" / "colocation" / "neighbors.py").write_text(METHOD.lstrip())
    catalogue = checkout / "catalog.py"
    before, begin, after = catalogue.read_text().partition("METHODS: tuple[Method, ...] = (\n")
    catalogue.write_text(before + begin + LINE + after)
    listed = json.loads(run(checkout, "methods", "neighbors", "--json").stdout)
    assert [option["name"] for option in listed[0]["options"]] == ["shift"]
    words = ("solve", "colocation/tiny", "-m", "neighbors", "-o")
    found = json.loads(run(checkout, *words, "shift=1", "--json").stdout)
    assert found["result"]["metrics"]["blocking_pairs"] == 1
    wrong = run(checkout, *words, "shift=-1")
    assert wrong.returncode == 2
    approved(wrong.stderr)
    rows = json.loads(
        run(
            checkout, "compare", "colocation/tiny", "-m", "optimal", "-m", "neighbors", "--json"
        ).stdout
    )
    assert rows[1]["metrics"]["penalty"] > rows[0]["metrics"]["penalty"]


@pytest.mark.slow
def test_new_problem_template_files_work(checkout: Path) -> None:
    made = run(checkout, "new", "problem", "groups_of_jobs").stdout.split()
    assert {
        "instances/groups_of_jobs/instance.py", "tests/test_groups_of_jobs.py", "catalog.py",
    } <= set(made)  # fmt: skip
    rows = json.loads(run(checkout, "compare", "groups_of_jobs/tiny", "--json").stdout)
    assert [(row["method"], row["status"], row["objective"]) for row in rows] == [
        ("optimal", "optimal", 8.0), ("greedy", "feasible", 7.0)
    ]  # fmt: skip
    files = [path for path in made if path.endswith(".py") and "groups_of_jobs" in path]
    done = python(
        checkout, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--import-mode=importlib",
        "--rootdir", str(checkout), "--doctest-modules", *(str(checkout / path) for path in files),
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    for name in ("groups_of_jobs", "Groups"):
        again = run(checkout, "new", "problem", name)
        assert again.returncode == 2
        approved(again.stderr)
