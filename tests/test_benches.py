"""The form of the benches: rows printed as they come, and kept with --json."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import json
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from cotenant import catalog
from cotenant.instances.problem import PROBLEM_NAMES

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"


def test_bench_rows_are_printed_and_stored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = importlib.util.spec_from_file_location("form", BENCHMARKS / "form.py")
    assert spec is not None
    assert spec.loader is not None
    form = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(form)
    file = tmp_path / "rows.json"
    rows = form.Rows(form.parser("").parse_args(["--json", str(file)]).json)
    rows.add("speed", method="one", wall=np.float64(0.25), proved=np.int64(3))
    rows.add("speed", method="two", wall=form.timed(lambda: None, 3).wall, proved=None)
    assert [line.split()[0] for line in capsys.readouterr().out.split("\n") if line] == [
        "speed", "method", "one", "two",
    ]  # fmt: skip
    first, second = json.loads(file.read_text())
    assert first == {"table": "speed", "method": "one", "wall": 0.25, "proved": 3}
    assert second["proved"] is None


@pytest.mark.parametrize("file", sorted(BENCHMARKS.glob("*.py")), ids=lambda path: path.stem)
def test_test_helpers_used_by_benchmarks_exist(file: Path) -> None:
    """Also what it imports only when it runs."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(
            ("support", "test_")
        ):
            module = importlib.import_module(str(node.module))
            for name in node.names:
                if not hasattr(module, name.name):
                    importlib.import_module(f"{node.module}.{name.name}")


def test_release_measures_every_problem_by_methods_of_the_catalog(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    questions = importlib.import_module("release").QUESTIONS
    assert {question.problem for question in questions} == set(PROBLEM_NAMES)
    for question in questions:
        catalog.find(question.problem, question.method)
    stored = json.loads((BENCHMARKS / "release.json").read_text())
    assert [row["question"] for row in stored] == [question.name for question in questions]


def test_every_fault_applies_and_names_existing_tests() -> None:
    faults = importlib.util.spec_from_file_location("faults", BENCHMARKS / "faults.py")
    assert faults is not None
    assert faults.loader is not None
    module = importlib.util.module_from_spec(faults)
    sys.modules["faults"] = module
    faults.loader.exec_module(module)
    home = BENCHMARKS.parent
    for fault in module.faults():
        text = (home / fault.path).read_text()
        assert text.count(fault.old) == 1, (fault.number, fault.path, fault.old)
        for name in fault.tests:
            assert name.rpartition("::")[2] in module.place_of(name, home), (fault.number, name)


@pytest.mark.slow
@pytest.mark.parametrize("problem", ["admission", "scheduling", "colocation"])
def test_optima_do_not_depend_on_units(problem: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    fuzz, cases = map(importlib.import_module, ("fuzz", "unit_cases"))
    counts: Counter[str] = Counter()
    assert fuzz.one_case(problem, 1, counts) is None
    assert counts.total() > 50
    assert not cases.LEFT
