"""Quanta: users with changing demands share equal slices of a resource, quantum after quantum."""

from ..problem.registry import Problem
from .instance import Quanta, Slices, check

PROBLEM = Problem(
    name="quanta",
    title="slices of a resource to users whose demands change with time",
    instance=Quanta,
    solution=Slices,
    check=check,
    generators={"bursty": "instances.quanta.formats:bursty"},
    formats={"quanta-csv": "instances.quanta.formats:quanta_csv"},
    scale="instances.quanta.instance:scale",
)

__all__ = ["PROBLEM", "Quanta", "Slices", "check"]
