"""Pictures of assignments: speeds, and use of VMs and core types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...instances.admission import (
    Admission,
    Assignment,
    job_speeds,
    speeds_on,
)
from ...instances.admission.instance import answer_table
from ...instances.problem.answer_table import labels
from ...instances.problem.option_types import validate_options
from ..report.picture import BlockChart, Picture, Series, answer_blocks
from ..report.picture_data import (
    Records,
    evenly,
    extremes,
    map_by_method,
    mean,
    means,
    records_by_method,
    rounded,
    shown_of,
    sorted_curves,
)
from ..run.rows import Row

MOST_VALUES = 40
"""Jobs or VMs whose values a record holds one by one; of more, quantiles or evenly spaced ones."""


@validate_options
def record(instance: Admission, assignment: Assignment) -> dict[str, Any]:
    """Numbers of an assignment that `pictures` draws, stored in a row; a few kB.

    `refused` jobs that are not assigned; `speeds` of all jobs in increasing order, 0 for those that
    are not assigned, at `MOST_VALUES` even shares of them when there are more; `alone` the same for
    each job's speed on the VM that would serve it best were it empty; `vm_fill` and `type_fill`,
    cores in use over cores there, -1 where there is none.
    """
    best = speeds_on(instance, instance.cores).max(axis=1)
    used, there = assignment.used_cores(instance.machines), instance.cores
    shown = evenly(instance.machines, MOST_VALUES)
    kinds = np.arange(min(instance.types, MOST_VALUES))
    return {
        "jobs": instance.jobs,
        "refused": int(instance.jobs - assignment.assigned.sum()),
        "speeds": _sorted(job_speeds(instance, assignment)),
        "alone": _sorted(best),
        "machines": instance.machines,
        "vm": shown.tolist(),
        "vm_fill": _fill(used.sum(axis=1)[shown], there.sum(axis=1)[shown]),
        "type_fill": _fill(used.sum(axis=0)[kinds], there.sum(axis=0)[kinds]),
    }


@validate_options
def pictures(rows: Sequence[Row]) -> list[Picture]:
    """Pictures of one instance's runs: speeds, and use of VMs and core types."""
    found = records_by_method(rows, "speeds")
    if not found:
        return []
    return [_speeds(found), _fill_of(found, "vm"), _fill_of(found, "type")]


def _speeds(found: Records) -> Picture:
    first = next(iter(found.values()))[0]
    shares = tuple(np.linspace(0, 1, len(first["speeds"])).round(4).tolist())
    return sorted_curves(
        "admission-speeds", "Speed that each job got, from the slowest to the fastest",
        (f"share of the {first['jobs']} jobs", "speed (work per unit of time)"), shares, found,
        "speeds",
        "Sorted speeds of all jobs, one curve per method, 0 for jobs that are not assigned. Jobs "
        f"not assigned: {extremes(mean(found, 'refused'), '.4g')}.",
        note="The curve of empty VMs is what no assignment can pass at any share of the jobs.",
        style="step", beside=(Series("best on an empty VM", shares, tuple(first["alone"]),
        "step"),),
    )  # fmt: skip


def _fill_of(found: Records, kind: str) -> Picture:
    what = {"vm": ("VM", "vms"), "type": ("core type", "core-types")}[kind]
    first = next(iter(found.values()))[0]
    names = [
        f"{what[0]} {place}"
        for place in (first["vm"] if kind == "vm" else range(len(first["type_fill"])))
    ]
    values = {
        method: [None if value < 0 else value for value in row]
        for method, row in means(found, f"{kind}_fill").items()
    }
    middle = {
        method: float(np.mean([value for value in row if value is not None] or [0.0]))
        for method, row in values.items()
    }
    return map_by_method(
        f"admission-fill-{what[1]}", f"Cores in use on each {what[0]}", what[0], names, values,
        "cores in use over cores there",
        f"Share of the cores in use on each {what[0]}, one row per method. Mean over them: "
        f"{extremes(middle, '.0%')}.",
        shown_of(len(names), first["machines"],
        "VMs are shown, evenly spaced") if kind == "vm" else "", worse="low",
    )  # fmt: skip


def _sorted(values: np.ndarray) -> list[float]:
    """Values in increasing order; of more than `MOST_VALUES`, evenly spaced quantiles that are
    themselves among the values.
    """
    ordered = np.sort(values)
    if len(ordered) > MOST_VALUES:
        ordered = np.quantile(ordered, np.linspace(0, 1, MOST_VALUES), method="lower")
    return rounded(ordered)


def _fill(used: np.ndarray, there: np.ndarray) -> list[float]:
    return rounded(np.where(there > 0, used / np.maximum(there, 1), -1.0), 3)


def answer_picture(instance: Admission, assignment: Assignment) -> BlockChart:
    """Picture of the jobs on each VM by the cores they hold."""
    parts = (
        (machine, job, float(sum(cores)))
        for job, machine, _, *cores in answer_table(instance, assignment).rows
        if machine is not None
    )
    machines = labels("VM", instance.machine_names, instance.machines)
    return answer_blocks("Which jobs run on which VM", "cores", "VM", parts, machines)
