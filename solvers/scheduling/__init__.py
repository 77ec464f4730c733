"""Solvers of fair scheduling: REF through all coalitions, the event loop of all rules, and the
optima by CP-SAT and HiGHS.
"""

from __future__ import annotations

from .event_loop import RULES, Sampling, Simulation, simulate
from .shapley_schedule import Reference, ref, reference

__all__ = ["RULES", "Reference", "Sampling", "Simulation", "ref", "reference", "simulate"]
