"""Conversion of a solved program to an allocation."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...instances.market.instance import Allocation, Market, total_by
from ...instances.problem.errors import InvalidOption
from .eisenberg_gale import EisenbergGale


def solution_of(instance: Market, built: Any, values: Any) -> Allocation:
    """Allocation of an `EisenbergGale` program, or of shares given for its jobs; a server filled
    beyond its capacity by the solver's tolerance is scaled back.
    """
    if not isinstance(built, EisenbergGale):
        raise TypeError("not an EisenbergGale program")
    share = built.share.value if values is None else values
    if share is None:
        raise InvalidOption("the program has no shares; solve it first")
    cores = np.zeros(instance.jobs)
    cores[built.job] = np.maximum(share, 0.0) * instance.capacity[instance.server[built.job]]
    filled = total_by(instance.server, cores, instance.servers) / instance.capacity
    if (filled > 1 + 1e-5).any():
        return Allocation(cores)  # more than a solver's tolerance: `check` says where
    return Allocation(cores / np.maximum(filled, 1.0)[instance.server])
