"""Pictures of pairings: who loses how much (Cooper fig. 7 and 8), and who would break away for how little (fig. 10)."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from ...instances.colocation import Colocation, Pairing, blocking_pairs
from ...instances.colocation.objective import agent_penalties, type_penalties
from ...instances.colocation.stability import AlphaMode
from ..report.picture import Chart, HeatMap, Picture, Series
from ..report.records import Record, curves, extremes, joined, over_seeds, records_by_method, rounded, sharing
from ..run.rows import Row
from .metrics import TOLERATED, quantile

ALPHAS = (0.0, 0.005, 0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.08, 0.1)
"""Least gains at which blocking pairs are counted (Cooper fig. 10)."""

FEW_ALPHAS = (0.0, 0.02, 0.05)
"""The same where counting takes long."""

MANY_TYPES = 1500
"""Types beyond which blocking pairs are counted at `FEW_ALPHAS` only."""

MOST_TYPES = 40
"""Types whose mean penalty a record holds; of more, evenly spaced ones in the order of bandwidth."""

SHARES = tuple(round(step / 25, 2) for step in range(26))
"""Shares of the agents whose highest penalty a record holds."""

_READINGS = {
    "penalty-points": "points of penalty",
    "relative-penalty": "share of the penalty",
    "relative-throughput": "share of the throughput",
}


def record(instance: Colocation, pairing: Pairing, *, alpha_mode: AlphaMode = "penalty-points") -> dict[str, Any]:
    """The numbers that `pictures` draws, a few kB.

    `quantiles` of agents' penalties at `SHARES`; `blocking` pairs at `alphas`; and with bandwidths, `names`, `bandwidth`
    [GB/s] and mean `penalty` of at most `MOST_TYPES` types that have agents, in the order of bandwidth; `types` is how
    many there are.
    """
    _, value, number = agent_penalties(instance, pairing)
    alphas = ALPHAS if instance.types <= MANY_TYPES else FEW_ALPHAS
    result: dict[str, Any] = {
        "quantiles": rounded(quantile(value, number, share) for share in SHARES),
        "alphas": list(alphas),
        "alpha_mode": alpha_mode,
        "blocking": [blocking_pairs(instance, pairing, alpha, alpha_mode).count for alpha in alphas],
    }
    if instance.bandwidth is not None:
        present = np.flatnonzero(instance.count > 0)
        present = present[np.argsort(instance.bandwidth[present], kind="stable")]
        chosen = present[np.unique(np.linspace(0, len(present) - 1, MOST_TYPES).round().astype(int))]
        result |= {
            "types": len(present),
            "names": [instance.names[kind][:24] for kind in chosen.tolist()],
            "bandwidth": rounded(instance.bandwidth[chosen]),
            "penalty": rounded(type_penalties(instance, pairing)[chosen]),
        }
    return result


def pictures(rows: Sequence[Row]) -> list[Picture]:
    """The pictures of one instance's runs: penalty by bandwidth and its ranks, blocking pairs by alpha, all agents' penalties."""
    found = records_by_method(rows, "quantiles")
    by_type = records_by_method(rows, "bandwidth")
    drawn: list[Picture] = []
    if by_type and len(next(iter(by_type.values()))[0]["names"]) > 1:
        drawn += [_by_bandwidth(by_type), _ranks(by_type)]
    if found:
        drawn += [_by_alpha(found), _distribution(found)]
    return drawn


def _by_bandwidth(found: dict[str, list[Record]]) -> Picture:
    """Cooper fig. 7."""
    drawn = curves(found, itemgetter("penalty"))
    first = next(iter(found.values()))[0]
    x = tuple(f"{name} {wide:g}" for name, wide in zip(first["names"], first["bandwidth"], strict=True))
    series, correlation = [], {}
    for group, mean, low, high in drawn:
        tips = tuple(f"{group.name}, {kind} GB/s: {value:.4g}" for kind, value in zip(x, mean, strict=True))
        series.append(Series(group.name, x, mean, "line+points", tips=tips, low=low, high=high))
        correlation[group.name] = _correlation(first["bandwidth"], mean)
    shown, total = len(first["names"]), first["types"]
    return Chart(
        "colocation-penalty-by-bandwidth",
        "Mean penalty of each job type against its memory bandwidth",
        "job types by increasing bandwidth [GB/s]",
        "mean penalty (share of throughput lost)",
        tuple(series),
        f"Mean penalty of {shown} job types against their bandwidth, one line per method. Where a line rises, those who press "
        f"harder on memory lose more, which is fair. Rank correlation of penalty with bandwidth: {extremes(correlation, '.2f')}.",
        note=joined(_of_types(shown, total), sharing(group for group, *_ in drawn)),
    )


def _ranks(found: dict[str, list[Record]]) -> Picture:
    """Cooper fig. 8, as how far the rank in penalty is from the rank in bandwidth."""
    names, rows, distance = (), [], {}
    for method, records in found.items():
        mean = over_seeds([record["penalty"] for record in records])[0]
        names = tuple(records[0]["names"])
        rows.append(tuple((_ranking(mean) - _ranking(records[0]["bandwidth"])).tolist()))
        distance[method] = float(np.abs(rows[-1]).mean())
    return HeatMap(
        "colocation-penalty-ranks",
        "Who is ranked above or below what its bandwidth asks for",
        "job types by increasing bandwidth",
        "method",
        names,
        tuple(found),
        tuple(rows),
        "rank in penalty less rank in bandwidth",
        f"For each method and job type, its rank in penalty less its rank in bandwidth; 0 everywhere would be fair "
        f"attribution in ranks. Mean distance from 0: {extremes(distance, '.1f')} ranks.",
        centre=0.0,
        note=_of_types(len(names), next(iter(found.values()))[0]["types"]),
    )


def _by_alpha(found: dict[str, list[Record]]) -> Picture:
    """Cooper fig. 10."""
    drawn = curves(found, itemgetter("blocking"))
    first = next(iter(found.values()))[0]
    series = [
        Series(group.name, tuple(first["alphas"]), mean, "line+points", low=low, high=high) for group, mean, low, high in drawn
    ]
    at_zero = {group.name: mean[0] for group, mean, _, _ in drawn}
    reading = _READINGS[first["alpha_mode"]]
    return Chart(
        "colocation-blocking-by-alpha",
        "Blocking pairs against the least gain for which an agent breaks away",
        f"alpha, the least gain [{reading}]",
        "blocking pairs of agents",
        tuple(series),
        f"Blocking pairs of each method's pairing at rising alpha. At alpha 0: {extremes(at_zero, '.6g')}.",
        y_scale="symlog",
        note=joined(
            "A pair blocks when both of its agents would gain by more than alpha.", sharing(group for group, *_ in drawn)
        ),
    )


def _distribution(found: dict[str, list[Record]]) -> Picture:
    drawn = curves(found, itemgetter("quantiles"))
    series = [Series(group.name, SHARES, mean) for group, mean, _, _ in drawn]
    worst = {group.name: mean[-1] for group, mean, _, _ in drawn}
    series.append(Series(f"tolerated, {100 * TOLERATED:g} %", (0.0, 1.0), (TOLERATED, TOLERATED)))
    return Chart(
        "colocation-penalty-distribution",
        "Penalties of all agents, from the least to the worst",
        "share of the agents",
        "penalty not exceeded by that share",
        tuple(series),
        f"Sorted penalties of all agents, one curve per method. Worst penalty: {extremes(worst, '.3g')}.",
        note=joined("Means over seeds at each share.", sharing(group for group, *_ in drawn)),
    )


def _correlation(bandwidth: Sequence[float], penalty: Sequence[float]) -> float:
    """Spearman's; 0 where one of the two is constant."""
    one, other = _ranking(bandwidth), _ranking(penalty)
    if np.ptp(one) == 0 or np.ptp(other) == 0:
        return 0.0
    return float(np.corrcoef(one, other)[0, 1])


def _ranking(values: Sequence[float]) -> np.ndarray:
    """Ranks from 1 up, ties at their mean."""
    sorted_values = np.sort(values)
    low = np.searchsorted(sorted_values, values, side="left")
    high = np.searchsorted(sorted_values, values, side="right")
    return (low + high + 1) / 2


def _of_types(shown: int, total: int) -> str:
    return "" if shown == total else f"{shown} of {total} types are shown, evenly spaced by bandwidth."
