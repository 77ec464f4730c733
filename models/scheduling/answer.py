"""Conversion of a solved model to a schedule."""

from __future__ import annotations

from typing import Any

from ...instances.scheduling import Schedule, Scheduling
from .intervals import IntervalModel


def solution_of(instance: Scheduling, built: Any, values: Any) -> Schedule:
    """Schedule of a solved `IntervalModel`, on lowest free machines."""
    if not isinstance(built, IntervalModel):
        raise TypeError("not an IntervalModel")
    return built.schedule(values, instance)
