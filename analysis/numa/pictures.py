"""Pictures of policies on a blade server: response times, and distances from the data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...instances.numa.feasible import answer_table
from ...instances.numa.instance import CURVE, Flow, Numa, Simulation
from ...instances.problem.option_types import validate_options
from ..report.picture import BlockChart, Chart, Picture, Series, answer_blocks
from ..report.picture_data import (
    Records,
    bars_by_method,
    extremes,
    means,
    records_by_method,
    rounded,
)
from ..run.rows import Row
from .metrics import rates_by_distance

WIDE, LOWEST = 5.0, 0.05
"""Curves whose ends differ by more than this factor have a logarithmic axis from this quantile."""


@validate_options
def record(instance: Numa, solution: Simulation | Flow) -> dict[str, Any]:
    """Small record of a simulation or a flow for the charts of `pictures`; below 1 kB.

    `served` [tasks/s], `shares` of the tasks by distance (0 hops, 1 hop, ..., another blade); of a
    simulation also `stable` and, when stable, the quantiles of the response time at `levels`,
    `curve` [s].
    """
    rate = rates_by_distance(instance, solution)
    total = float(rate.sum())
    found: dict[str, Any] = {
        "served": total,
        "shares": rounded((rate.sum(axis=0) / total).tolist(), 5) if total > 0 else [],
    }
    if isinstance(solution, Simulation):
        found["stable"] = solution.stable
        if solution.stable and len(solution.curve):
            found["levels"], found["curve"] = list(CURVE), rounded(solution.curve.tolist(), 5)
    return found


@validate_options
def pictures(rows: Sequence[Row]) -> list[Picture]:
    """Pictures of one instance's runs: response times, and shares by distance."""
    by_method = records_by_method(rows, "served")
    drawn: list[Picture] = []
    if curves := records_by_method(rows, "curve"):
        drawn.append(_response_chart(by_method, curves))
    placed = {
        method: records
        for method, records in by_method.items()
        if all(each["shares"] for each in records)
    }
    if placed:
        drawn.append(_distance_chart(placed))
    return drawn


def _response_chart(by_method: Records, curves: Records) -> Chart:
    """Chart of the share of tasks answered within each time; logarithmic if policies differ
    much.
    """
    times = {method: np.array(curve) for method, curve in means(curves, "curve").items()}
    ends = [float(curve[-1]) for curve in times.values()]
    wide = max(ends) > WIDE * min(ends)
    series, tails = [], {}
    for method, records in curves.items():
        levels = np.array(records[0]["levels"])
        # the fastest would fill a log axis
        shown = (levels >= LOWEST) & (times[method] > 0) if wide else levels >= 0
        pairs = list(zip(levels[shown].tolist(), times[method][shown].tolist(), strict=True))
        tips = tuple(f"{method}: {100 * level:g} % within {time:.4g} s" for level, time in pairs)
        x, y = tuple(time for _, time in pairs), tuple(level for level, _ in pairs)
        series.append(Series(method, x, y, "line+points", tips=tips))
        tails[method] = float(np.interp(0.95, levels, times[method]))
    unstable = [
        method
        for method, records in by_method.items()
        if any(each.get("stable") is False for each in records)
    ]
    left_out = f" Left out, because the queue grew: {', '.join(unstable)}." if unstable else ""
    return Chart(
        "response-times", "Response times", "response time [s]",
        "share of tasks answered within it", tuple(entry for entry in series if entry.x),
        "Share of tasks answered within each time, one curve for each policy. 95th percentile in "
        f"seconds: {extremes(tails, '.4g')}.{left_out}", x_scale="log" if wide else "linear",
        note=f"Quantiles of the simulated response times{_seeds(curves)}.{left_out}",
    )  # fmt: skip


def _distance_chart(by_method: Records) -> Chart:
    """Chart of tasks by distance from their data."""
    shares = means(by_method, "shares")
    number = len(next(iter(shares.values())))
    hops = ["local", "1 hop", *(f"{hops} hops" for hops in range(2, number - 1))][: number - 1]
    local = {method: 100 * share[0] for method, share in shares.items()}
    return bars_by_method(
        "shares-by-distance", "Where tasks run",
        ("distance from the task's data", "share of the tasks"), [*hops, "another blade"], shares,
        "Share of the tasks at each distance from their data, by method. Local, in percent: "
        f"{extremes(local, '.4g')}.", f"Of the tasks that finished{_seeds(by_method)}.",
    )  # fmt: skip


def _seeds(by_method: Records) -> str:
    several = any(len(records) > 1 for records in by_method.values())
    return "; means over the seeds" if several else ""


def answer_picture(instance: Numa, solution: Simulation | Flow) -> BlockChart:
    """Picture of the distance from their data at which the tasks of each class run."""
    table = answer_table(instance, solution)
    parts = (
        (str(kind), distance, float(share))
        for kind, _, *shares in table.rows
        for distance, share in zip(table.columns[2:], shares, strict=True)
        if share
    )
    title = "How far from their data tasks run"
    return answer_blocks(title, "share of the tasks", "class", parts)
