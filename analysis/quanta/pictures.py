"""Block chart of the slices that each user holds in each quantum."""

from __future__ import annotations

from ...instances.quanta import Quanta, Slices, answer_table
from ..report.picture import BlockChart, answer_blocks


def answer_picture(instance: Quanta, solution: Slices) -> BlockChart:
    """Picture of the users' slices in each quantum."""
    rows = answer_table(instance, solution).rows
    parts = ((str(t), user, slices) for t, user, slices, _ in rows if slices)
    return answer_blocks("Whose slices there are in each quantum", "slices", "quantum", parts)
