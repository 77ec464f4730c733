"""Refusal scheduling on NUMA blade servers (thesis chapter 4)."""

from __future__ import annotations

from ..problem.registry import Problem
from .answer import POLICIES, Flow, Simulation, check
from .instance import Numa
from .technology import THESIS, Technology

PROBLEM = Problem(
    name="numa",
    title="refusal scheduling on NUMA blade servers",
    instance=Numa,
    solution=(Simulation, Flow),
    check=check,
    document="instances.numa.document:NumaDocument",
    described="instances.numa.described:described",
    generators={"blade-server": "instances.numa.generators:blade_server"},
    scale="instances.numa.bounds:scale",
)

__all__ = ["POLICIES", "PROBLEM", "THESIS", "Flow", "Numa", "Simulation", "Technology", "check"]
