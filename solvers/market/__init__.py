"""Equilibria and optima of core allocation, each with its certificate."""

from .fisher import fisher
from .leximin import leximin
from .nash_welfare import nash_welfare
from .rounding import least_envy, round_cores
from .utilitarian import utilitarian

__all__ = [
    "fisher",
    "least_envy",
    "leximin",
    "nash_welfare",
    "round_cores",
    "utilitarian",
]
