"""Conversion of a solved model to a pairing."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...instances.colocation.instance import Colocation, Pairing
from ..answer import whole
from .assignment import PairingProgram


def solution_of(instance: Colocation, built: Any, values: Any) -> Pairing:
    """Pairing of a solved `PairingProgram`, or of a Pyomo model of `readable`."""
    if isinstance(built, PairingProgram):
        return built.pairing(values)
    pairs = np.zeros((instance.types, instance.types), dtype=np.int64)
    single = np.zeros(instance.types, dtype=np.int64)
    for a, b in built.pairs:
        pairs[a, b] = whole(built.x[a, b])
    for a in built.types:
        single[a] = whole(built.single[a])
    return Pairing.from_matrix(pairs, single)
