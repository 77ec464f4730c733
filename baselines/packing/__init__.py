"""Packing policies as plain functions.

`first_fit_all`, `first_fit_decreasing`, `best_fit_decreasing`, `dot_product`, `square_norm` and
`random_fit` serve all requests on few servers; `fuga_algorithm_1`, `first_fit`, `best_fit`,
`random_fit`, `drf` and `fair_slots` share fixed servers among elastic ones.
"""

from ...solvers.packing.game.algorithm_1 import fuga_algorithm_1
from .elastic import best_fit, drf, fair_slots, first_fit
from .greedy import (
    best_fit_decreasing,
    dot_product,
    first_fit_all,
    first_fit_decreasing,
    random_fit,
    square_norm,
)

__all__ = [
    "best_fit",
    "best_fit_decreasing",
    "dot_product",
    "drf",
    "fair_slots",
    "first_fit",
    "first_fit_all",
    "first_fit_decreasing",
    "fuga_algorithm_1",
    "random_fit",
    "square_norm",
]
