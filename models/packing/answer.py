"""Conversion of a solved model to a placement."""

from __future__ import annotations

from typing import Any

from ...instances.packing.instance import Packing, Placement
from .assignment import AssignmentModel


def solution_of(instance: Packing, built: Any, values: Any) -> Placement:
    """Placement of an `AssignmentModel` made of the instance's own VM types, in their order."""
    if not isinstance(built, AssignmentModel):
        raise TypeError("not an AssignmentModel")
    return Placement(built.counts(values), built.kind)
