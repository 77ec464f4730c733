"""The choice as an integer program."""

from __future__ import annotations

from ...instances.groups.instance import Groups
from ..program import LinearProgram, ProgramBuilder


def choice_program(instance: Groups) -> LinearProgram:
    """Most value (as least cost) within the capacity; a column for each item."""
    builder = ProgramBuilder()
    items = builder.columns(len(instance.value), upper=1.0, cost=-instance.value, integer=True)
    builder.row(items, instance.weight, upper=instance.capacity)
    return builder.build()
