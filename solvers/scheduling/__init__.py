"""Scheduling: REF through all coalitions, the event loop every rule runs on, and the optima by CP-SAT and HiGHS."""

from __future__ import annotations

from .shapley_schedule import Reference, ref, reference
from .event_loop import RULES, Sampling, Simulation, simulate

__all__ = ["RULES", "Reference", "Sampling", "Simulation", "ref", "reference", "simulate"]
