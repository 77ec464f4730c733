"""The pictures of policies on a blade server: response times, where tasks run, what links draw, and refusals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...instances.numa.answer import CURVE, Flow, Simulation, flow_by_distance
from ...instances.numa.instance import Floats, Numa
from ...instances.numa.technology import THESIS
from ..picture import Chart, Picture, Series
from ..runs import Row
from .metrics import link_power

WIDE, LOWEST = 5.0, 0.05
"""Curves whose ends differ by more than this factor are drawn from this quantile on, over a logarithmic axis."""

Kept = Mapping[str, Sequence[Mapping[str, Any]]]


def record(
    instance: Numa,
    solution: Simulation | Flow,
    *,
    ht_energy: float = THESIS.ht_energy,
    pcie_energy: float = THESIS.pcie_energy,
    pcie_hops: float = THESIS.pcie_hops,
) -> dict[str, Any]:
    """What the pictures of an answer are drawn from, under 1 kB.

    `rate` that arrives and `served` [tasks/s], `shares` of the tasks by distance (0 hops, 1 hop, ..., another blade),
    `power` of the links at the rate served [W]; of a simulation also `stable`, `refusals` per task, and, when stable, the
    quantiles of the response time at `levels`, `curve` [s].

    Parameters
    ----------
    ht_energy, pcie_energy, pcie_hops : see `link_energy`.
    """
    energy = {"ht_energy": ht_energy, "pcie_energy": pcie_energy, "pcie_hops": pcie_hops}
    flow = isinstance(solution, Flow)
    rate = flow_by_distance(instance, solution) if isinstance(solution, Flow) else solution.served / solution.window
    total = float(rate.sum())
    found: dict[str, Any] = {
        "kind": "flow" if flow else "simulation",
        "rate": instance.rate,
        "served": total,
        "shares": _rounded(rate.sum(axis=0) / total) if total > 0 else [],
        "power": float(f"{link_power(instance, solution, **energy):.6g}"),
    }
    if isinstance(solution, Simulation):
        found["stable"] = solution.stable
        found["refusals"] = solution.refused / max(int(solution.served.sum()), 1)
        if solution.stable and len(solution.curve):
            found["levels"], found["curve"] = list(CURVE), _rounded(solution.curve)
    return found


def pictures(rows: Sequence[Row]) -> list[Picture]:
    """Response-time curves, shares by distance, link power against the rate served, refusals; of one instance's runs."""
    kept = _kept(rows)
    drawn: list[Picture] = []
    curves = {method: [r for r in records if "curve" in r] for method, records in kept.items()}
    if any(curves.values()):
        drawn.append(_response_chart(kept, {method: records for method, records in curves.items() if records}))
    placed = {method: [r for r in records if r["shares"]] for method, records in kept.items()}
    placed = {method: records for method, records in placed.items() if records}
    if placed:
        drawn += [_distance_chart(placed), _power_chart(placed)]
    refused = {method: records for method, records in kept.items() if "refusals" in records[0]}
    if refused:
        drawn.append(_refusal_chart(refused))
    return drawn


def _kept(rows: Sequence[Row]) -> dict[str, list[Mapping[str, Any]]]:
    """The records of each method, one for each seed."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        kept = row.get("record")
        if kept and "error" not in kept:
            found.setdefault(row["method"], []).append(kept)
    return found


def _mean(records: Sequence[Mapping[str, Any]], name: str) -> Floats:
    """Mean of an entry over the seeds."""
    return np.mean(np.array([entry[name] for entry in records], dtype=float), axis=0)


def _response_chart(kept: Kept, curves: Kept) -> Chart:
    """The share of tasks answered within each time; on a logarithmic axis where policies differ much."""
    series, tails = [], {}
    ends = [float(_mean(records, "curve")[-1]) for records in curves.values()]
    wide = max(ends) > WIDE * min(ends) and min(ends) > 0
    for method, records in curves.items():
        shown = np.array(records[0]["levels"]) >= (LOWEST if wide else 0.0)  # the very fastest would fill a logarithmic axis
        levels, times = np.array(records[0]["levels"])[shown].tolist(), _mean(records, "curve")[shown]
        tips = tuple(f"{method}: {100 * level:g} % within {time:.4g} s" for level, time in zip(levels, times, strict=True))
        series.append(Series(method, tuple(times.tolist()), tuple(levels), "line+points", tips=tips))
        tails[method] = float(np.interp(0.95, levels, times))
    positive = wide and all(x > 0 for entry in series for x in entry.x)
    unstable = [method for method, records in kept.items() if any(r.get("stable") is False for r in records)]
    left_out = f" Left out, because the queue grew: {', '.join(unstable)}." if unstable else ""
    return Chart(
        "response-times",
        "Response times",
        "response time [s]",
        "share of tasks answered within it",
        tuple(series),
        f"Share of tasks answered within each time, one curve for each policy. 95 % are answered within {_extremes(tails, ' s')}."
        f"{left_out}",
        x_scale="log" if positive else "linear",
        note=f"Quantiles of the simulated response times{_seeds(curves)}.{left_out}",
    )


def _distance_chart(kept: Kept) -> Chart:
    """Where tasks run, by distance from their data."""
    names = _distances(len(next(iter(kept.values()))[0]["shares"]))
    series = [Series(method, names, tuple(_mean(records, "shares").tolist()), "bars") for method, records in kept.items()]
    local = {method: 100 * float(_mean(records, "shares")[0]) for method, records in kept.items()}
    return Chart(
        "shares-by-distance",
        "Where tasks run",
        "distance from the task's data",
        "share of the tasks",
        tuple(series),
        f"Share of the tasks at each distance from their data, by method. Local are {_extremes(local, ' %', most_first=True)}.",
        note=f"Of the tasks that finished{_seeds(kept)}.",
    )


def _power_chart(kept: Kept) -> Chart:
    """What the links draw at the rate that each method serves."""
    series = []
    for method, records in kept.items():
        served, power = _mean(records, "served"), _mean(records, "power")
        tip = f"{method}: {served:.6g} tasks/s, {power:.4g} W"
        series.append(Series(method, (float(served),), (float(power),), "points", tips=(tip,)))
    power = {method: float(_mean(records, "power")) for method, records in kept.items()}
    every = "; ".join(entry.tips[0] for entry in series)
    arriving = next(iter(kept.values()))[0]["rate"]
    return Chart(
        "link-power",
        "Link power against the rate served",
        "served [tasks/s]",
        "link power [W]",
        tuple(series),
        f"Link power of each method at the rate it serves; {arriving:g} tasks/s arrive. It is {_extremes(power, ' W')}. {every}.",
        note=f"{arriving:g} tasks/s arrive; flows are of the rate that their program asks for, which may be more{_seeds(kept)}.",
    )


def _refusal_chart(kept: Kept) -> Chart:
    """How often a task declines a core."""
    refused = {method: float(_mean(records, "refusals")) for method, records in kept.items()}
    return Chart(
        "refusals",
        "Refusals",
        "policy",
        "refusals per task",
        (Series("refusals per task", tuple(refused), tuple(refused.values()), "bars"),),
        f"Mean number of cores that a task declines before it runs, by policy: {_extremes(refused, '', most_first=True)}.",
        note=f"Of the tasks that finished in the window{_seeds(kept)}.",
    )


def _distances(number: int) -> tuple[str, ...]:
    hops = ["local", "1 hop", *(f"{hops} hops" for hops in range(2, number - 1))]
    return (*hops[: number - 1], "another blade")


def _extremes(values: Mapping[str, float], unit: str, *, most_first: bool = False) -> str:
    """The least and the most with their methods, in words."""
    order = sorted(values, key=lambda method: values[method], reverse=most_first)
    first, last = order[0], order[-1]
    if len(order) == 1 or values[first] == values[last]:
        return f"{values[first]:.4g}{unit} ({', '.join(order[:3])}{' and others' if len(order) > 3 else ''})"
    return f"{values[first]:.4g}{unit} ({first}) to {values[last]:.4g}{unit} ({last})"


def _seeds(kept: Kept) -> str:
    return ", means over the seeds" if any(len(records) > 1 for records in kept.values()) else ""


def _rounded(values: Floats) -> list[float]:
    return [float(f"{value:.5g}") for value in np.asarray(values).tolist()]
