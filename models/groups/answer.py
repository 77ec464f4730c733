"""Conversion of a solved model to a grouping."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...instances.groups.instance import Grouping, Groups
from ..answer import whole
from .columns import columns_of


def solution_of(instance: Groups, built: Any, values: Any) -> Grouping:
    """Grouping of a solved array program, by its first columns, or of a Pyomo model."""
    columns = columns_of(instance)
    if values is None:
        values = [whole(built.x[group]) for group in built.groups]
    return columns.grouping(instance, np.rint(values[: len(columns)]).astype(np.int64))
