"""Conversion of a solved model to time shares."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...instances.accelerators.feasible import within_limits
from ...instances.accelerators.instance import Accelerators, TimeShares
from ..answer import number
from .arrays import ShareProgram


def solution_of(instance: Accelerators, built: Any, values: Any) -> TimeShares:
    """Time shares of a solved `ShareProgram`, or of a Pyomo model of `readable`."""
    if isinstance(built, ShareProgram):
        return built.answer(instance, values)
    first, second, device, *_ = instance.placements
    share = np.array([number(built.share[key]) for key in built.placements])
    return within_limits(instance, first, second, device, share)
