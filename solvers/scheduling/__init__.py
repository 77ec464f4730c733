"""Scheduling: REF through all coalitions, the event loop every rule runs on, and the optima by CP-SAT and HiGHS."""

from __future__ import annotations

from .ref import Reference, ref, reference
from .simulate import RULES, Sampling, Simulation, simulate

__all__ = ["RULES", "Reference", "Sampling", "Simulation", "ref", "reference", "simulate"]
