"""Metrics of elastic jobs, and a picture of an answer."""

from __future__ import annotations

from collections.abc import Collection

from ...instances.elastic import MEASURES, Configured, Elastic, answer_table
from ...instances.problem.option_types import validate_options
from ..metric import Metric
from ..report.picture import BlockChart, answer_blocks

METRICS: tuple[Metric, ...] = (
    Metric("total_utility", "utility of all jobs", "max", short="total"),
    Metric("least_utility", "utility of the worst-off job", "max", short="least"),
    Metric("idle_jobs", "jobs without devices", "min", digits=0, short="idle", whole=True),
    Metric("devices_used", "part of the devices in use", "max", short="used"),
)


@validate_options
def metrics(
    instance: Elastic, solution: Configured, *, only: Collection[str] | None = None
) -> dict[str, float]:
    """Every metric of a feasible answer; a job without devices has utility 0."""
    return {metric.name: MEASURES[metric.name](instance, solution) for metric in METRICS}


def answer_picture(instance: Elastic, solution: Configured) -> BlockChart:
    """Picture of the devices of each kind and the jobs that hold them."""
    rows = answer_table(instance, solution).rows
    parts = ((kind, job, float(size * jobs)) for job, kind, size, jobs, _ in rows)
    return answer_blocks("Which jobs have the devices of each kind", "devices", "kind", parts)
