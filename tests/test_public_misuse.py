"""Public functions: only errors of our own for wrong values, and types as mypy sees them."""

from __future__ import annotations

import inspect
import pickle
import random
import typing
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, assert_type

import numpy as np
import pytest
from support.public_names import public

import cotenant
from cotenant.analysis.run.result import Result
from cotenant.catalog import methods
from cotenant.instances.admission import Admission, Assignment
from cotenant.instances.colocation import Colocation, Pairing
from cotenant.instances.market import Allocation
from cotenant.instances.numa import Flow, Simulation
from cotenant.instances.problem import PROBLEM_NAMES, CotenantError, Instance, Solution
from cotenant.instances.problem.option_types import OptionType, option_types_of

_STARTS_PROCESSES = {"jobs", "executor", "workers", "hard_limit"}


@cache
def wrong_values() -> dict[str, Any]:
    """Values of many kinds, by what they are."""
    jobs = cotenant.read("colocation/tiny")
    return {
        "None": None, "a text": "colocation/tiny", "bytes": b"x", "7": 7, "-1": -1, "half": 0.5,
        "NaN": np.nan, "inf": np.inf, "True": True, "an empty list": [], "[1]": [1],
        "texts": ["a", "b"], "ragged": [[1], [1, 2]], "nested": [[["a"]]], "a dict": {"a": 1},
        "an object": object(), "a matrix": np.zeros((2, 2)), "many": np.arange(1000.0),
        "text array": np.array(["x"]), "complex": np.array([1j]), "empty": np.zeros((0, 3)),
        "a path": Path("nowhere"), "a function": lambda *_, **__: None, "a class": dict,
        "colocation": jobs, "market": cotenant.read("market/tiny"),
        "a result": cotenant.solve(jobs, "GR"), "a pairing": cotenant.solve(jobs, "GR").solution,
        "a set": {1, 2}, "an iterator": iter([1, 2]),
        "letters": "\x00\n'", "a generator": np.random.default_rng(0),
    }  # fmt: skip


TINY = {name: cotenant.read(f"{name}/tiny") for name in PROBLEM_NAMES}


@cache
def answers() -> list[Solution]:
    """One of each kind of answer."""
    found = []
    for name, instance in TINY.items():
        quick = [
            entry for entry in methods(name) if entry.kind != "exact" and entry.applies_to(instance)
        ]
        solution = cotenant.solve(instance, quick[0].name).solution
        assert solution is not None
        found.append(solution)
    flow = cotenant.solve(TINY["numa"], "fluid").solution
    assert flow is not None
    return [*found, flow]


@cache
def by_name() -> dict[str, Any]:
    """Values that parameters of these names take."""
    return {
        "rank": [[2**30, 0], [0, 2**30]], "cost": [[0.0, 1.0], [1.0, 0.0]], "partner": [1, 0],
        "lists": [[1], [0]], "successor": [1, 0], "method": "GR", "methods": ["GR"],
        "instances": [TINY["colocation"]], "source": "colocation/tiny", "problem": "colocation",
        "name": "colocation", "old": 0.2, "new": 0.1, "time_limit": 1.0, "user": 0,
        "policy": "Local", "objective": "penalty", "progress": False,
        "result": wrong_values()["a result"], "answer": answers()[0], "path": "nowhere.csv",
        "folder": "nowhere", "seed": 0, "rng": np.random.default_rng(0),
    }  # fmt: skip


def right_value(name: str, rule: OptionType | None, default: Any) -> Any:
    """A value that a parameter takes, as far as its annotation and name tell."""
    kinds = [typing.get_origin(hint) or hint for hint, _ in (rule.branches if rule else ())]
    for value in (*TINY.values(), *answers()):
        if type(value) in kinds:
            return value
    if default is not inspect.Parameter.empty:
        return default
    return by_name().get(name, TINY["colocation"] if Instance in kinds else 1)


def calls(function: Callable[..., Any]) -> Iterator[tuple[str, tuple[Any, ...], dict[str, Any]]]:
    """Calls with one thing wrong in each, and what it is."""
    entries = inspect.signature(function).parameters.values()
    rules = {} if inspect.isclass(function) else option_types_of(function)
    named = [e for e in entries if e.kind in (e.POSITIONAL_OR_KEYWORD, e.KEYWORD_ONLY)]
    functions = {name for name, rule in rules.items() if "a function" in rule.values}
    right = {e.name: right_value(e.name, rules.get(e.name), e.default) for e in named}
    yield "no values", (), {}
    yield "a keyword that is none", (), {**right, "no_such_name": 1}
    yield "too many values", tuple([None] * 40), {}
    for entry in named:
        for what, value in wrong_values().items():
            called = callable(value) and entry.name in functions  # what it does is the caller's
            if entry.name not in _STARTS_PROCESSES and not called:
                yield f"{entry.name} is {what}", (), {**right, entry.name: value}


def faults(place: str, draw: random.Random, most: int) -> list[str]:
    """What came out of calls of a function that was no error of ours."""
    function = public()[place]
    found, all_calls = [], list(calls(function))
    for what, values, named in draw.sample(all_calls, min(most, len(all_calls))):
        try:
            made = function(*values, **named)
            if inspect.isgenerator(made):
                next(made, None)
        except CotenantError:
            continue
        except Exception as error:
            found.append(f"{place}: {what}: {type(error).__name__}: {str(error)[:120]}")
    return found


PARTS = 20


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("part", "most"),
    [(0, 1), *(pytest.param(part, 10**6, marks=pytest.mark.slow) for part in range(PARTS))],
)
def test_public_functions_raise_only_own_errors(
    part: int, most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One call of every function each time; every call among the slow tests, a twentieth in each."""
    monkeypatch.chdir(tmp_path)
    chosen = list(public()) if most == 1 else list(public())[part::PARTS]
    assert len(chosen) > 10
    assert [fault for place in chosen for fault in faults(place, random.Random(place), most)] == []


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
