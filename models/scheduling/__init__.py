"""Clairvoyant scheduling programs: most work, or most utility, by the horizon."""

from .bound import fluid_bound
from .intervals import IntervalModel, Nearness, interval_model, refuse_speeds
from .time_indexed import TimeIndexed, columns_needed, entries_needed, time_indexed

__all__ = [
    "IntervalModel",
    "Nearness",
    "TimeIndexed",
    "columns_needed",
    "entries_needed",
    "fluid_bound",
    "interval_model",
    "refuse_speeds",
    "time_indexed",
]
