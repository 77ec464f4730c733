"""Clairvoyant schedules as a CP-SAT model, and an upper bound by work that can be cut anywhere."""

from .intervals import IntervalModel, Nearness, fluid_bound, interval_model

__all__ = ["IntervalModel", "Nearness", "fluid_bound", "interval_model"]
