"""Base types, errors, file format and the table of problems, shared by all problems."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .errors import (
    CotenantError,
    EngineError,
    InfeasibleSolution,
    InvalidFile,
    InvalidInstance,
    InvalidOption,
    NoSolution,
    UnknownName,
)
from .lookup import PROBLEM_NAMES

if TYPE_CHECKING:
    from .base import Instance, Solution
    from .files import Gathered, bundled, read, read_all, schema, write
    from .registry import Problem, check, problem_named, scale

__all__ = [
    "PROBLEM_NAMES",
    "CotenantError",
    "EngineError",
    "Gathered",
    "InfeasibleSolution",
    "Instance",
    "InvalidFile",
    "InvalidInstance",
    "InvalidOption",
    "NoSolution",
    "Problem",
    "Solution",
    "UnknownName",
    "bundled",
    "check",
    "problem_named",
    "read",
    "read_all",
    "scale",
    "schema",
    "write",
]


def __getattr__(name: str) -> Any:
    """Import a name that needs numpy when it is first used, so that `--help` loads no numpy."""
    for module in ("base", "files", "registry"):
        if name in __all__ and hasattr(found := import_module(f".{module}", __name__), name):
            return globals().setdefault(name, getattr(found, name))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
