"""What is common to all problems: base types, errors, file format, table of problems."""

from .base import Instance, Solution
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
from .files import bundled, read, schema, write
from .folders import Gathered, read_all
from .registry import PROBLEM_NAMES, Problem, check, problem_named, scale

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
