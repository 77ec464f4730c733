"""Metrics of an assignment: speed, jobs served, use of VMs, and stability.

The paper describes its metrics in words without formulas (section IV); each formula below names the
sentence it follows.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from ...instances.admission import (
    Admission,
    Assignment,
    blocking_pairs,
    job_speeds,
    speeds_at_home,
    total_speed,
)
from ...instances.admission.instance import SMALLEST, Floats
from ...instances.admission.rules import speeds_on
from ...instances.problem.option_types import validate_options
from ..manipulation import Misreport, Reports
from ..metric import BLOCKING_SHARE, Facts, Metric, Stated

METRICS: tuple[Metric, ...] = (
    Metric("total_speed", "total speed", "max", digits=1, short="speed"),
    Metric("speed_score", "mean speed of assigned jobs", "max", digits=1, short="mean speed"),
    Metric("assigned", "share of jobs assigned", "max", short="assigned"),
    Metric("threads_used", "threads used by assigned jobs", "max", short="threads"),
    Metric("cores_used", "cores used per VM", "max", short="cores"),
    Metric("resource_score", "speed against the empty VM", "max", short="resources"),
    Metric("blocking_pairs", "blocking pairs", digits=0, whole=True, short="blocking"),
    BLOCKING_SHARE,
    Metric("computation_time", "sum of computation times", digits=2, compared=False),
)


@validate_options
def metrics(
    instance: Admission, assignment: Assignment, *, only: Collection[str] | None = None
) -> dict[str, float]:
    """Every metric of a feasible assignment. With s_j the speed of job j on the cores it holds, A
    the jobs assigned:

    - `total_speed` = sum of s_j.
    - `speed_score` = mean of s_j over A ("based on the speed ratios for each job depending on the
      core type").
    - `assigned` = |A| / J ("the number of jobs successfully assigned to a VM before the available
      cores were depleted").
    - `threads_used` = mean over A of cores held / threads ("average percent of available threads
      utilized for a job").
    - `cores_used` = mean over the VMs that have cores of cores in use / cores ("how effectively the
      VM resources are used ... also whether a VM is matched to any jobs at all").
    - `resource_score` = mean over A of s_j / the speed of j on its VM when that is empty ("how
      frequently each job is executed the best it could be on a given VM").
    - `blocking_pairs` = number of pairs that block, see `instances.admission.blocking_pairs`;
      `blocking_share` = that over the pairs of a job and a VM that it is not on.
    - `computation_time` = sum of length_j / s_j ("the sum of total computation times for each job",
      section III.B.4).

    Means over A are left out when nobody is assigned, `cores_used` when there are no cores, and
    `computation_time` when jobs have no length or some job is not assigned.

    Parameters
    ----------
    only : the metrics that are needed; of the others those that take long are left out.
    """
    speeds, chosen = job_speeds(instance, assignment), np.flatnonzero(assignment.assigned)
    result = {"total_speed": total_speed(instance, assignment)}
    if len(chosen):
        empty = speeds_at_home(instance, chosen, assignment.machine[chosen])
        result["speed_score"] = float(speeds[chosen].mean())
        result["threads_used"] = float(
            (assignment.cores[chosen].sum(axis=1) / instance.threads[chosen]).mean()
        )
        result["resource_score"] = float((speeds[chosen] / empty).mean())
    result["assigned"] = len(chosen) / instance.jobs
    there = instance.cores.sum(axis=1)
    if there.any():
        used = assignment.used_cores(instance.machines).sum(axis=1)
        result["cores_used"] = float((used[there > 0] / there[there > 0]).mean())
    if only is None or "blocking_pairs" in only:
        count = blocking_pairs(instance, assignment).count
        could = instance.jobs * instance.machines - len(chosen)  # a job and a VM that it is not on
        result |= {"blocking_pairs": float(count), "blocking_share": count / max(1, could)}
    if instance.length is not None and len(chosen) == instance.jobs:
        result["computation_time"] = float((instance.length / speeds).sum())
    return {metric.name: result[metric.name] for metric in METRICS if metric.name in result}


class _Reports(Reports):
    """Reports of jobs of an admission instance: their speeds on the types of cores."""

    unit, fields, worst = "speed", ("speed",), SMALLEST

    def utilities(self, truth: Admission, shown: Misreport, solution: Assignment) -> Floats:
        return job_speeds(truth, solution)

    def most(self, truth: Admission, agent: int, honest: float, method: str) -> tuple[float, str]:
        if method == "proposed":  # jobs before it are placed whatever it reports
            return honest, "serial dictatorship: in its turn a job takes its fastest cores"
        alone = speeds_on(truth, truth.cores, np.array([agent]))
        return float(alone.max()), "alone on the fastest VM"


REPORTS = _Reports()


def facts(stated: Stated) -> Facts:
    """Entries of an admission certificate that follow from the answer; see `Analysis.facts`."""
    return stated.together("prices", "price_bound")
