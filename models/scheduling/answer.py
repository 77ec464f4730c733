"""Conversion of a solved model to a schedule."""

from __future__ import annotations

from typing import Any

from ...instances.scheduling import Schedule, Scheduling
from .intervals import IntervalModel
from .time_indexed import TimeIndexed


def solution_of(instance: Scheduling, built: Any, values: Any) -> Schedule:
    """Schedule of a solved `IntervalModel` or `TimeIndexed` program, on lowest free machines."""
    if not isinstance(built, IntervalModel | TimeIndexed):
        raise TypeError("neither an IntervalModel nor a TimeIndexed program")
    return built.schedule(values, instance)
