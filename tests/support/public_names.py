"""Public callables: names of `cotenant` and of the problems' packages, imports of the pages,
methods of the catalogue, readers and generators.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import is_dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

from cotenant.analysis.registry import analysis_of
from cotenant.analysis.run.question import Question
from cotenant.catalog import METHODS
from cotenant.instances.problem import PROBLEM_NAMES, Instance, Solution, problem_named
from cotenant.instances.problem.registry import resolve
from cotenant.solvers.outcome import Outcome

ROOT = Path(__file__).resolve().parents[2]
_PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


@cache
def public() -> dict[str, Callable[..., Any]]:
    """Public callables by "module:name", with the classes that users construct, but not those that
    only the library constructs.
    """
    found = {}
    made = {*filter(inspect.isclass, _of_pages())}
    for value in _named():
        ours = callable(value) and getattr(value, "__module__", "").startswith("cotenant.")
        kept = (
            not inspect.isclass(value)
            or issubclass(value, Instance | Solution)
            or (
                value in made and is_dataclass(value) and value not in (Outcome, Question)
            )  # for methods
        )
        if ours and kept and ".papers." not in value.__module__:
            found[f"{value.__module__}:{value.__qualname__}"] = value
    return dict(sorted(found.items()))


def _named() -> Iterator[Any]:
    faces = [f"cotenant.instances.{name}" for name in (*PROBLEM_NAMES, "problem")]
    faces += ["cotenant", "cotenant.solvers.roommates", "cotenant.solvers.engines"]
    for face in map(import_module, faces):
        solving = [name for name in vars(face) if name.startswith("solve_")]  # of the engines
        yield from (getattr(face, name) for name in getattr(face, "__all__", solving))
    yield from (method.resolve() for method in METHODS)
    for name in PROBLEM_NAMES:
        problem, analysis = problem_named(name), analysis_of(name)
        paths = (*problem.generators.values(), *problem.formats.values())
        yield from map(resolve, paths)
        yield from (analysis.metrics, analysis.record, analysis.frontiers)
        if find_spec(f"cotenant.models.{name}") is None:  # its bounds need no program of its own
            continue
        models = import_module(f"cotenant.models.{name}")
        for module in (models, *map(import_module, _inside(models))):
            yield from (value for key, value in vars(module).items() if key.endswith("_model"))
            yield from (getattr(module, key) for key in getattr(module, "__all__", ()))
    yield from _of_pages()


def _inside(package: Any) -> list[str]:
    return [f"{package.__name__}.{entry.name}" for entry in iter_modules(package.__path__)]


def _of_pages() -> Iterator[Any]:
    """Objects that Python blocks of the pages import from the package."""
    for page in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")):
        for block in _PYTHON.findall(page.read_text()):
            for node in ast.walk(ast.parse(block)):
                if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("cotenant"):
                    module = import_module(node.module or "")
                    yield from (getattr(module, alias.name) for alias in node.names)
