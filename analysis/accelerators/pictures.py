"""Pictures of time shares: devices by job, and throughputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...instances.accelerators.feasible import answer_table
from ...instances.accelerators.instance import Accelerators, TimeShares
from ...instances.accelerators.measures import entitlements, throughputs
from ...instances.problem.answer_table import labels
from ...instances.problem.option_types import validate_options
from ..report.picture import BlockChart, HeatMap, Picture, answer_blocks
from ..report.picture_data import (
    SHARES,
    bars_by_method,
    distribution,
    evenly,
    extremes,
    means,
    records_by_method,
    rounded,
    shown_of,
)
from ..report.table import slug
from ..run.rows import Row
from ..statistics import quantile

MOST_TYPES = 40
"""Types of a picture by type; of more, evenly spaced ones by what devices differ for them."""

MOST_MAPS = 4
"""Methods whose shares are drawn by type and kind of device, the best first."""


@validate_options
def record(instance: Accelerators, solution: TimeShares) -> dict[str, Any]:
    """Numbers of time shares that `pictures` draws, stored in a row; a few kB.

    `names` of at most `MOST_TYPES` types that have jobs, in the order of how much faster the
    fastest kind of device is for them than the average; `devices`, their names; `alone` and
    `beside`, the part of its time that a job of each type spends on each kind; `used`, the part of
    each kind's devices in use; `quantiles` of jobs' normalized throughputs at each of the `SHARES`.
    """
    there = np.flatnonzero(instance.count)
    due = entitlements(instance)
    gain = instance.alone.max(axis=1) / np.maximum(instance.alone.mean(axis=1), 1e-300)
    order = there[np.argsort(-gain[there], kind="stable")]
    chosen = order[evenly(len(order), MOST_TYPES)]
    time = np.zeros((2, *instance.throughput.shape))
    pair = solution.second >= 0
    rows = solution.first, solution.device
    np.add.at(time, (pair.astype(int), *rows), solution.share)
    np.add.at(time[1], (solution.second[pair], solution.device[pair]), solution.share[pair])
    part = time / np.maximum(instance.count, 1)[:, None]
    taken = np.bincount(
        solution.device, instance.workers[solution.first] * solution.share, len(instance.devices)
    )
    ratio = (throughputs(instance, solution) / due)[there]
    number = instance.count[there]
    return {
        "names": [instance.names[kind][:34] for kind in chosen.tolist()],
        "types": len(there),
        "devices": [name[:16] for name in instance.device_names],
        "alone": [rounded(row) for row in part[0, chosen].tolist()],
        "beside": [rounded(row) for row in part[1, chosen].tolist()],
        "used": rounded(taken / np.maximum(instance.devices, 1)),
        "quantiles": rounded(quantile(ratio, number, share) for share in SHARES),
    }


@validate_options
def pictures(rows: Sequence[Row]) -> list[Picture]:
    """Pictures of one instance's runs: throughputs of jobs, use of devices, and time of each type
    on each kind of device.
    """
    found = records_by_method(rows, "quantiles")
    if not found:
        return []
    best = sorted(found, key=lambda name: -found[name][0]["quantiles"][0])[:MOST_MAPS]
    maps = [_time_map(name, found[name][0]) for name in found if name in best]
    throughputs = distribution(
        "accelerators-throughputs",
        "Normalized throughputs of all jobs, from the least to the most",
        ("share of the jobs", "normalized throughput not exceeded by that share"),
        found, "quantiles",
        "Sorted normalized throughputs of all jobs, one curve per method; a flat curve treats all "
        "alike. Best-off job",
    )  # fmt: skip
    used = means(found, "used")
    least = {method: 100 * min(share) for method, share in used.items()}
    use = bars_by_method(
        "accelerators-use", "Devices in use", ("kind of device", "share of the devices"),
        next(iter(found.values()))[0]["devices"], used,
        "Share of each kind of device that is in use, by method. Least, in percent: "
        f"{extremes(least, '.4g')}.",
    )  # fmt: skip
    return [throughputs, use, *maps]


def _time_map(method: str, drawn: Mapping[str, Any]) -> Picture:
    """Map of the time of each type's jobs, alone and paired, on each kind of device."""
    columns = [("alone", name) for name in drawn["devices"]]
    columns += [("beside", name) for name in drawn["devices"]] * any(map(any, drawn["beside"]))
    values = tuple(
        tuple(drawn[way][row][drawn["devices"].index(name)] for way, name in columns)
        for row in range(len(drawn["names"]))
    )
    idle = [max(0.0, 1 - sum(row)) for row in values]
    note = "Types by how much faster the fastest kind is for them than the average."
    more = shown_of(len(drawn["names"]), drawn["types"], "types are shown, evenly spaced")
    return HeatMap(
        f"accelerators-time-{slug(method)}",
        f"{method}: where each type of job spends its time",
        "kind of device, alone or beside another job", "type of job",
        tuple(f"{name} {way}" for way, name in columns), tuple(drawn["names"]), values,
        "part of a job's time",
        f"The part of its time that a job of each type spends on each kind of device under {method}"
        f"; it waits for {100 * float(np.mean(idle)):.3g} % of it on average over types.",
        note=f"{note} {more}".strip(),
    )  # fmt: skip


def answer_picture(instance: Accelerators, shares: TimeShares) -> BlockChart:
    """Picture of the jobs that hold the devices of each kind."""
    parts = (
        (device, job if beside == "alone" else f"{job} + {beside}", float(share))
        for job, beside, device, share in answer_table(instance, shares).rows
    )
    kinds = labels("device", instance.device_names, len(instance.devices))
    label = "jobs or pairs at a time"
    return answer_blocks("Which jobs hold the devices", label, "device", parts, kinds)
