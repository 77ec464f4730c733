"""The user's own functions: metrics and rules that judge answers. Also the code of functions (the
files of their modules and of what these import), which tells whether a function was edited since
rows were written, and the line at which one failed.
"""

from __future__ import annotations

import ast
import inspect
import os
import secrets
import sys
import sysconfig
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import resolve_name
from math import isfinite
from numbers import Real
from pathlib import Path
from traceback import extract_tb
from typing import Any, get_type_hints

from ...instances.problem.base import LOADED, Instance
from ...instances.problem.errors import CotenantError, InvalidOption
from ..registry import analysis_of
from .result import Result
from .rows import Row

UNKNOWN = "unknown-"
"""How the code of a function begins that no file shows."""

_PACKAGE = __package__.partition(".")[0]
_STANDARD = tuple(f"{sysconfig.get_path(name)}{os.sep}" for name in ("stdlib", "platstdlib"))
_INSTALLED = {"site-packages", "dist-packages"}
_PLAIN = (bool, int, float, str, tuple, type(None))


def code_of(functions: Iterable[Callable[..., Any]]) -> str:
    """Sixteen hexadecimal digits of the files of functions: those of their modules and of the
    modules that these import, without Python's own and installed libraries.

    It is `UNKNOWN` and digits that never come again where no file shows what a function does: a
    lambda, a function made inside another one or in a notebook, a bound method, an object; and one
    of whose files has changed since this process began (`LOADED`): it may have read it before.
    """
    digest = sha256()
    for function in functions:
        files = _files(function)
        if files is None or any(_changed(path) for path in files.values()):
            return f"{UNKNOWN}{secrets.token_hex(4)}"
        for name, path in sorted(files.items()):
            content = path.read_bytes()
            digest.update(f"{name} {len(content)} ".encode() + content)
        if inspect.isfunction(plain := inspect.unwrap(function)):
            # numbers of its module that it reads, which others may have changed
            read = sorted(inspect.getclosurevars(plain).globals.items())
            digest.update(repr([item for item in read if isinstance(item[1], _PLAIN)]).encode())
    return digest.hexdigest()[:16]


def why_other_code(functions: Iterable[Callable[..., Any]], code: str) -> str:
    """Message if the user's functions that are loaded differ from the code with the given digest;
    "" when equal, or no file shows it.
    """
    if not code or code.startswith(UNKNOWN) or _loaded_code(tuple(functions)) == code:
        return ""
    return (
        "its module is not the one that the comparison began with: it was edited since, or is "
        "another one there; start the comparison again"
    )


def place_of(error: BaseException, functions: Iterable[Callable[..., Any]]) -> str:
    """File and line of functions where an error was raised, "file:line"; "" where unknown."""
    own = set()
    for function in functions:
        own |= {os.path.realpath(path) for path in (_files(function) or {}).values()}
        own.add(getattr(_code(function), "co_filename", ""))
    frames = extract_tb(error.__traceback__)
    inside = [frame for frame in frames if {frame.filename, os.path.realpath(frame.filename)} & own]
    if not inside and (not frames or isinstance(error, CotenantError)):
        return ""
    frame = (inside or frames)[-1]
    beside = os.path.relpath(frame.filename)
    return f"{frame.filename if beside.startswith(os.pardir) else beside}:{frame.lineno}"


@cache
def _loaded_code(functions: tuple[Callable[..., Any], ...]) -> str:
    """Digits that identify the code of functions as it was at their first run in this process.
    Later edits are not loaded, so that they do not change them.
    """
    return code_of(functions)


def _changed(path: Path) -> bool:
    found = path.stat()
    return max(found.st_mtime, found.st_ctime) >= LOADED


def _code(function: Callable[..., Any]) -> Any:
    """Code object of a function without decorators; None for other objects."""
    return getattr(inspect.unwrap(function), "__code__", None)


def _files(function: Callable[..., Any]) -> dict[str, Path] | None:
    """Files that determine the code of a function, by module name; None where no files do. The
    dictionary is empty for a function of this package, whose version is known.
    """
    module = getattr(function, "__module__", None) or ""
    found: Any = sys.modules.get(module)
    for name in getattr(function, "__qualname__", "<none>").split("."):
        found = getattr(found, name, None)
    code = _code(function)
    if found is not function or not (code is None or os.path.isfile(code.co_filename)):
        return None
    if module.partition(".")[0] == _PACKAGE:
        return {}
    files: dict[str, Path] = {}
    waiting, seen = [module], {module}
    while waiting:
        name = waiting.pop()
        path = _file(name)
        if path is None or not _is_own(path, name, module):
            continue
        files[name] = path
        fresh = set(_imported(path, name)) - seen
        seen |= fresh
        waiting += fresh
    return files if module in files else None


def _is_own(path: Path, name: str, module: str) -> bool:
    """Whether code is the user's: in the same package as the function, or in no library."""
    top, own = name.partition(".")[0], module.partition(".")[0]
    library = _INSTALLED & set(path.parts) or str(path).startswith(_STANDARD)
    return top != _PACKAGE and (top == own or not library)


def _file(name: str) -> Path | None:
    """File of a module, loaded or not; None where it has none."""
    module = sys.modules.get(name)
    spec = None if module is not None else _spec(name)
    place = getattr(module, "__file__", None) or (spec and spec.origin)
    return Path(place) if place and os.path.isfile(place) else None


def _spec(name: str) -> ModuleSpec | None:
    """Import spec of a module that is not loaded; nothing is imported."""
    parent = name.rpartition(".")[0]
    if not parent:
        return PathFinder.find_spec(name)
    loaded = sys.modules.get(parent)
    above = loaded.__spec__ if loaded is not None else _spec(parent)
    where = None if above is None else above.submodule_search_locations
    return None if where is None else PathFinder.find_spec(name, where)


def _imported(path: Path, name: str) -> Iterator[str]:
    """Modules that a file may import, anywhere in it, and their packages."""
    if path.suffix != ".py":
        return
    try:
        nodes = list(ast.walk(ast.parse(path.read_bytes())))
    except (SyntaxError, ValueError):  # it cannot be imported either
        return
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node in nodes:
        named: list[str] = []
        if isinstance(node, ast.Import):
            named = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and (package or not node.level):
            base = "." * node.level + (node.module or "")
            base = resolve_name(base, package) if node.level else base
            named = [base, *(f"{base}.{alias.name}" for alias in node.names)]
        for each in named:
            parts = each.split(".")
            yield from (".".join(parts[: n + 1]) for n in range(len(parts)))


Functions = Sequence[Callable[..., Any]]


@dataclass(frozen=True)
class Measures:
    """Metrics and rules of the user, which judge answers.

    Attributes
    ----------
    metrics : each f(instance, result) -> number, annotated as `sense_of` reads it.
    rules : each f(instance, answer) -> None, or a text of what the answer breaks. A rule only
        excludes answers, so that a bound on the instance holds with it too.
    """

    metrics: Functions = ()
    rules: Functions = ()

    @property
    def names(self) -> list[str]:
        """Options that name the user's functions: "metric module:function", "rule ..."."""
        several = [("metric", each) for each in self.metrics]
        several += [("rule", each) for each in self.rules]
        return [f"{kind} {each.__module__}:{own_name(each)}" for kind, each in several]

    def document(self) -> Row:
        """Fields about the user's metrics and rules that every row has."""
        senses = {own_name(each): sense_of(each) for each in self.metrics}
        return {"measures": self.names, "own_metrics": senses} if self.names else {}

    def require_good(self, problems: Sequence[str]) -> None:
        """Refuse, before any work, metrics without a direction or with a name in use."""
        known = [metric for name in problems for metric in analysis_of(name).metric_table]
        taken = {name for each in known for name in (each.name, each.label, each.heading)}
        taken |= {*Row.__annotations__}
        for each in (*self.metrics, *self.rules):
            if (name := own_name(each)) in taken:
                raise InvalidOption(f"metrics and rules hold {name!r}, a name in use; rename it")
            taken.add(name)
        for each in self.metrics:
            sense_of(each)

    def judge(self, instance: Instance, result: Result, metrics: Any) -> Row:
        """Metrics of a row with the user's own, and the rules that the answer breaks."""
        if not metrics:
            return {}
        own = {own_name(each): each(instance, result) for each in self.metrics}
        for name, value in own.items():
            if isinstance(value, bool) or not isinstance(value, Real) or not isfinite(value):
                raise InvalidOption(f"metric {name!r} is {value!r:.40}; expected a finite number")
        broken = {"broken": broken_rules(instance, result.solution, self.rules)}
        return {"metrics": {**metrics, **own}, **(broken if self.rules else {})}  # type: ignore[typeddict-item]


NO_MEASURES = Measures()


def sense_of(metric: Callable[..., Any]) -> Any:
    """Direction of the user's metric, "min" or "max", from its return annotation such as
    `Annotated[float, "min"]`; raises InvalidOption if there is none.
    """
    try:
        annotation = get_type_hints(metric, include_extras=True).get("return")
    except Exception:  # a name that is only there for type checkers
        annotation = None
    for each in getattr(annotation, "__metadata__", ()):
        if each in ("min", "max"):
            return each
    raise InvalidOption(
        f"metric {own_name(metric)!r} does not say which way is better; expected "
        '-> Annotated[float, "min"], or "max", as what it returns'
    )


def own_name(function: Callable[..., Any]) -> str:
    """Name of a function of the user's own."""
    return str(getattr(function, "__name__", type(function).__name__))


def broken_rules(instance: Instance, solution: Any, rules: Functions) -> dict[str, str]:
    """Messages of the user's rules that a solution breaks, by name; raises InvalidOption for a rule
    that returns neither None nor a text.
    """
    found = {own_name(rule): rule(instance, solution) for rule in rules}
    for name, text in found.items():
        if text is not None and not (isinstance(text, str) and text.strip()):
            raise InvalidOption(
                f"rule {name!r} returned {text!r:.40}; expected None where the answer obeys it, "
                "or a text of what it breaks"
            )
    return {name: text for name, text in found.items() if text is not None}
