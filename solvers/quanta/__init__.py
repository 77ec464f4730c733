"""The exact optimum over all quanta, and the rule of equal levels that policies share with it."""

from .horizon import horizon, leximin
from .levels import max_min_slices, raised

__all__ = ["horizon", "leximin", "max_min_slices", "raised"]
