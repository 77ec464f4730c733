"""Picture of the devices of elastic jobs."""

from __future__ import annotations

from ...instances.elastic import Configured, Elastic, answer_table
from ..report.picture import BlockChart, answer_blocks


def answer_picture(instance: Elastic, solution: Configured) -> BlockChart:
    """Picture of the devices of each kind and the jobs that hold them."""
    rows = answer_table(instance, solution).rows
    parts = ((kind, job, float(size * jobs)) for job, kind, size, jobs, _ in rows)
    return answer_blocks("Which jobs have the devices of each kind", "devices", "kind", parts)
