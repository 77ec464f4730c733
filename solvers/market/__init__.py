"""Equilibria and optima of core allocation, each with its certificate."""

from .convex import fisher_convex, nash_welfare
from .fisher import fisher
from .least_envy import least_envy
from .leximin import leximin
from .rounding import round_cores
from .utilitarian import utilitarian

__all__ = [
    "fisher",
    "fisher_convex",
    "least_envy",
    "leximin",
    "nash_welfare",
    "round_cores",
    "utilitarian",
]
