"""A user's own method on the command line; and a method, an instance and a problem added as
CONTRIBUTING.md says.
"""

from __future__ import annotations

import functools
import importlib
import json
import os
import pickle
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.messages import approved, refused
from support.terminal import run

import cotenant
from cotenant.analysis.report.read_runs import distinguish, gather
from cotenant.analysis.run import own_functions
from cotenant.analysis.run.cell import Cell
from cotenant.analysis.run.gaps import Comparison
from cotenant.analysis.run.workers import pickled_cell, run_pickled_cell
from cotenant.instances.packing import Placement
from cotenant.instances.problem import InvalidOption
from cotenant.solvers.outcome import Outcome, Status

TINY = cotenant.read("colocation/tiny")

METHOD = '''
import numpy as np
from cotenant.instances.colocation import Pairing

def neighbors(instance, *, step: int = 1):
    """Agents in order of their types, each beside the one `step` further."""
    order = np.argsort(np.arange(instance.agents) % (instance.agents // 2), kind="stable")
    partner = np.empty(instance.agents, dtype=int)
    partner[order[::2]], partner[order[1::2]] = order[1::2], order[::2]
    return Pairing.from_partners(instance.agent_types(), partner, instance.types)
'''


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A module in the current folder."""
    (tmp_path / "my_own_policy.py").write_text(METHOD)
    (tmp_path / "no_python.py").write_text("def (:\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    yield "my_own_policy:neighbors"
    sys.modules.pop("my_own_policy", None)


@pytest.mark.slow
def test_method_from_user_module_is_solved_and_compared(module: str) -> None:
    done = run("solve", "colocation/tiny", "-m", module, "-o", "step=2", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["result"]["method"] == "neighbors"
    done = run("compare", "colocation/tiny", "-m", module, "-m", "optimal", "--json")
    assert done.returncode == 0, done.stderr
    rows = {row["method"]: row for row in json.loads(done.stdout)}
    assert rows["neighbors"]["metrics"]["penalty"] >= rows["optimal"]["metrics"]["penalty"]
    assert rows["neighbors"].get("error") is None


@pytest.mark.parametrize(
    ("method", "words"),
    [
        ("my_own_policy:neighbours", "has no function 'neighbours'; it has"),
        ("no_such_module:x", "no_such_module cannot be imported (No module named"),
        ("no_python:x", "no_python cannot be imported (invalid syntax"),
        (":x", "nothing cannot be imported"),
    ],
)
def test_invalid_own_function_is_refused_in_one_line(module: str, method: str, words: str) -> None:
    for command in ("solve", "compare"):
        done = run(command, "colocation/tiny", "-m", method)
        assert done.returncode == 2
        (line,) = [line for line in done.stderr.splitlines() if line.startswith("error")]
        assert words in line
    approved(run("solve", "colocation/tiny", "-m", module, "-o", "stride=2").stderr)


POLICY = """
from cotenant.baselines.colocation import {policy}
import own_helper

def edited(instance):
    from own_later import WORDS
    return {policy}(instance)
"""


@pytest.fixture
def folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files_as_before: None
) -> Iterator[Path]:
    """A folder with a method that imports two further files, as if it had been there before this
    process began.
    """
    for name, text in {"own_helper": "LEAST = 0\n", "own_later": "WORDS = 1\n"}.items():
        (tmp_path / f"{name}.py").write_text(text)
    (tmp_path / "own_edited.py").write_text(POLICY.format(policy="greedy"))
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    for name in ("own_edited", "own_helper", "own_later"):
        sys.modules.pop(name, None)


def imported(name: str = "edited") -> Any:
    """A function of the method's file, as a new process would import it."""
    for each in ("own_edited", "own_helper", "own_later"):
        sys.modules.pop(each, None)
    importlib.invalidate_caches()
    return getattr(importlib.import_module("own_edited"), name)


def test_code_fingerprint_covers_file_and_its_imports(folder: Path) -> None:
    first = own_functions.code_of([imported()])
    assert len(first) == 16
    assert first == own_functions.code_of([imported()])
    seen = {first}
    for name, text in [
        ("own_edited", POLICY.format(policy="complementary")),
        ("own_helper", "LEAST = 10\n"),
        ("own_later", "WORDS = 10\n"),
    ]:
        (folder / f"{name}.py").write_text(text)
        seen.add(own_functions.code_of([imported()]))
    assert len(seen) == 4
    (folder / "beside.py").write_text("")
    assert own_functions.code_of([imported()]) in seen, "another file of the folder is none of it"


def test_function_without_file_is_always_rerun(folder: Path) -> None:
    def inside(instance: Any) -> None: ...

    class Policy:
        def method(self, instance: Any) -> None: ...

        __call__ = method

    typed: dict[str, Any] = {"__name__": "own_edited"}
    exec("def edited(instance): return 1", typed)
    given = [
        lambda instance: None, inside, Policy().method, Policy(), functools.partial(imported()),
        typed["edited"], min,
    ]  # fmt: skip
    for function in given:
        first, second = (own_functions.code_of([function]) for _ in range(2))
        assert first.startswith(own_functions.UNKNOWN)
        assert first != second
    function, later = imported(), own_functions.LOADED + 1
    os.utime(folder / "own_edited.py", (later, later))  # its file was edited since
    assert own_functions.code_of([function]).startswith(own_functions.UNKNOWN)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("jobs", [None, 1])
def test_comparison_reruns_edited_method_and_counts_reused_rows(
    folder: Path, jobs: int | None
) -> None:
    out = folder / "rows.jsonl"

    def compared() -> Comparison:
        return cotenant.compare([TINY], [imported(), "optimal"], out=out, jobs=jobs, progress=False)

    first = compared()
    again = compared()
    (folder / "own_edited.py").write_text(POLICY.format(policy="complementary"))
    edited = compared()
    assert [each.reused for each in (first, again, edited)] == [0, 2, 1]
    values = [each.rows[0]["metrics"]["penalty"] for each in (first, again, edited)]
    assert values[0] == values[1] != values[2]
    assert "reused" not in repr(first)
    assert "reused 1" in repr(edited)
    assert [row["method"] for row in distinguish(gather([out]))] == ["optimal", "edited"], (
        "the page shows the last code only"
    )


def test_worker_with_other_code_refuses_cell(folder: Path) -> None:
    cell = Cell(TINY, imported(), 0, 1.0, {}, code="0" * 16)
    row = run_pickled_cell(pickled_cell(cell), pickle.dumps(TINY))
    approved(row["error"])


FAILING = """
from own_helper import broken

def nothing(instance, *, rounds: int = 3):
    pass

def boom(instance):
    return broken()

def fine(instance):
    from cotenant.baselines.colocation import greedy
    return greedy(instance)
"""


@pytest.mark.parametrize(
    "answer",
    [
        None, 3, np.zeros(4), Placement([[1]], [0]), Outcome(None, None, Status.FEASIBLE),
        Outcome(3, None, Status.UNKNOWN), Outcome(None, None, "optimal"),  # type: ignore[arg-type]
        Outcome(None, float("nan"), Status.UNKNOWN), Outcome(None, True, Status.UNKNOWN),
    ],
)  # fmt: skip
def test_own_function_with_invalid_answer_is_refused(answer: Any) -> None:
    def forgetful(instance: Any) -> Any:
        return answer

    with refused(InvalidOption) as found:
        cotenant.solve(TINY, forgetful)
    (row,) = cotenant.compare([TINY], [forgetful], progress=False).rows
    assert row["status"] == "error"
    assert str(found.value) in (row["error"] or "")


@pytest.mark.slow
def test_failing_own_method_exits_with_its_file_and_line(folder: Path) -> None:
    (folder / "own_edited.py").write_text(FAILING)
    (folder / "own_helper.py").write_text("def broken():\n    return {}['key']\n")
    done = run("solve", "colocation/tiny", "-m", "own_edited:boom")
    assert done.returncode == 1
    approved(done.stderr)
    done = run("solve", "colocation/tiny", "-m", "own_edited:nothing")
    assert done.returncode == 2
    approved(done.stderr)
    command = ("compare", "colocation/tiny", "-m", "own_edited:fine")
    assert run(*command).returncode == 0
    done = run(*command, "-m", "own_edited:boom", "--format", "wide")
    assert done.returncode == 1
    approved(done.stdout[done.stdout.index("boom failed") :])


NEIGHBORS = '''
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


def command_of(checkout: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """What the command of a checkout prints."""
    return python(checkout, "-c", "from cotenant.cli import main; main()", *arguments)


@pytest.mark.slow
def test_contributed_method_needs_function_and_catalogue_line(checkout: Path) -> None:
    (checkout / "baselines" / "colocation" / "neighbors.py").write_text(NEIGHBORS.lstrip())
    catalogue = checkout / "catalog.py"
    before, begin, after = catalogue.read_text().partition("METHODS: tuple[Method, ...] = (\n")
    catalogue.write_text(before + begin + LINE + after)
    listed = json.loads(command_of(checkout, "methods", "neighbors", "--json").stdout)
    assert [option["name"] for option in listed[0]["options"]] == ["shift"]
    words = ("solve", "colocation/tiny", "-m", "neighbors", "-o")
    found = json.loads(command_of(checkout, *words, "shift=1", "--json").stdout)
    assert found["result"]["metrics"]["blocking_pairs"] == 1
    wrong = command_of(checkout, *words, "shift=-1")
    assert wrong.returncode == 2
    approved(wrong.stderr)
    rows = json.loads(
        command_of(
            checkout, "compare", "colocation/tiny", "-m", "optimal", "-m", "neighbors", "--json"
        ).stdout
    )
    assert rows[1]["metrics"]["penalty"] > rows[0]["metrics"]["penalty"]


@pytest.mark.slow
def test_new_problem_template_files_work(checkout: Path) -> None:
    made = command_of(checkout, "new", "problem", "groups_of_jobs").stdout.split()
    assert {
        "instances/groups_of_jobs/instance.py", "tests/test_groups_of_jobs.py", "catalog.py",
    } <= set(made)  # fmt: skip
    rows = json.loads(command_of(checkout, "compare", "groups_of_jobs/tiny", "--json").stdout)
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
        again = command_of(checkout, "new", "problem", name)
        assert again.returncode == 2
        approved(again.stderr)
