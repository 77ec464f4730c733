"""Equilibria and optima of core allocation, each with its certificate."""

from .fisher import fisher
from .rounding import round_cores
from .utilitarian import utilitarian

__all__ = ["fisher", "round_cores", "utilitarian"]
