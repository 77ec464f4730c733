"""The picture of who has which devices."""

from __future__ import annotations

from ...instances.elastic import Configured, Elastic, answer_table
from ..report.picture import BlockChart, answer_blocks


def answer_picture(instance: Elastic, solution: Configured) -> BlockChart:
    """The devices of each kind, and which jobs have them."""
    rows = answer_table(instance, solution).rows
    parts = ((kind, job, float(size * jobs)) for job, kind, size, jobs, _ in rows)
    return answer_blocks("Which jobs have the devices of each kind", "devices", "kind", parts)
