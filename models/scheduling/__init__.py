"""Clairvoyant schedules as a CP-SAT model, and the bound of fluid work, by the horizon."""

from .bound import fluid_bound
from .intervals import IntervalModel, Nearness, interval_model

__all__ = ["IntervalModel", "Nearness", "fluid_bound", "interval_model"]
