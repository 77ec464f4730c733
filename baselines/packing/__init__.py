"""Packing policies as plain functions.

`first_fit_all`, `first_fit_decreasing`, `best_fit_decreasing`, `dot_product`, `square_norm` and
`random_fit` serve all requests on few servers; `fuga_algorithm_1`, `first_fit`, `best_fit`,
`random_fit`, `drf` and `fair_slots` share fixed servers among elastic ones; `random_card`,
`best_fit_cards`, `dot_product_cards`, `card_packing` and `fragmentation_gradient` place VMs as they
arrive on servers with cards.
"""

from ...solvers.packing.game.algorithm_1 import fuga_algorithm_1
from .arrivals import (
    best_fit_cards,
    card_packing,
    dot_product_cards,
    fragmentation_gradient,
    random_card,
)
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
    "best_fit_cards",
    "best_fit_decreasing",
    "card_packing",
    "dot_product",
    "dot_product_cards",
    "drf",
    "fair_slots",
    "first_fit",
    "first_fit_all",
    "first_fit_decreasing",
    "fragmentation_gradient",
    "fuga_algorithm_1",
    "random_card",
    "random_fit",
    "square_norm",
]
