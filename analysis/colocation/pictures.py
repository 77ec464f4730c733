"""Pictures of pairings: penalties (Cooper figures 7 and 8), and agents that would break away
(figure 10).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...instances.colocation import Colocation, Pairing, blocking_pairs
from ...instances.colocation.instance import answer_table
from ...instances.colocation.objective import agent_penalties, type_penalties
from ...instances.colocation.stability import AlphaMode
from ...instances.problem.option_types import validate_options
from ..report.picture import BlockChart, Picture, Series, answer_blocks
from ..report.picture_data import (
    SHARES,
    Records,
    blocking_by_alpha,
    distribution,
    evenly,
    extremes,
    map_by_method,
    means,
    records_by_method,
    rounded,
    shown_of,
    sorted_curves,
)
from ..run.rows import Row
from ..statistics import quantile, rank_correlation
from .metrics import TOLERATED

ALPHAS = (0.0, 0.005, 0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.08, 0.1)
"""Least gains at which blocking pairs are counted (Cooper fig. 10)."""

FEW_ALPHAS = (0.0, 0.02, 0.05)
"""The same where counting takes long."""

MANY_TYPES = 1500
"""Types beyond which blocking pairs are counted at `FEW_ALPHAS` only."""

MOST_TYPES = 40
"""Types whose mean penalty a record holds; of more, evenly spaced ones by bandwidth."""

_READINGS = {
    "penalty-points": "points of penalty",
    "relative-penalty": "share of the penalty",
    "relative-throughput": "share of the throughput",
}
_SPACED = "types are shown, evenly spaced by bandwidth"


@validate_options
def record(
    instance: Colocation, pairing: Pairing, *, alpha_mode: AlphaMode = "penalty-points"
) -> dict[str, Any]:
    """Numbers of a pairing that `pictures` draws, stored in a row; a few kB.

    `quantiles` of agents' penalties, the highest of each of the `SHARES`; `blocking` pairs at
    `alphas`; and with bandwidths, `names`, `bandwidth` [GB/s] and mean `penalty` of at most
    `MOST_TYPES` types that have agents, in the order of bandwidth; `types` is how many there are.
    """
    _, value, number = agent_penalties(instance, pairing)
    alphas = ALPHAS if instance.types <= MANY_TYPES else FEW_ALPHAS
    result: dict[str, Any] = {
        "quantiles": rounded(quantile(value, number, share) for share in SHARES),
        "alphas": list(alphas),
        "alpha_mode": alpha_mode,
        "blocking": [
            blocking_pairs(instance, pairing, alpha, alpha_mode).count for alpha in alphas
        ],
    }
    if instance.bandwidth is not None:
        present = instance.present
        present = present[np.argsort(instance.bandwidth[present], kind="stable")]
        chosen = present[evenly(len(present), MOST_TYPES)]
        result |= {
            "types": len(present),
            "names": [instance.names[kind][:24] for kind in chosen.tolist()],
            "bandwidth": rounded(instance.bandwidth[chosen]),
            "penalty": rounded(type_penalties(instance, pairing)[chosen]),
        }
    return result


@validate_options
def pictures(rows: Sequence[Row]) -> list[Picture]:
    """Pictures of one instance's runs: penalty by bandwidth, blocking pairs by alpha, penalties."""
    found = records_by_method(rows, "quantiles")
    by_type = records_by_method(rows, "bandwidth")
    drawn: list[Picture] = []
    if by_type and len(next(iter(by_type.values()))[0]["names"]) > 1:
        drawn += [_by_bandwidth(by_type), _ranks(by_type)]
    if not found:
        return drawn
    mode = next(iter(found.values()))[0]["alpha_mode"]
    tolerated = Series(f"tolerated, {100 * TOLERATED:g} %", (0.0, 1.0), (TOLERATED, TOLERATED))
    by_alpha = blocking_by_alpha(  # Cooper figure 10
        "colocation-blocking-by-alpha",
        "Blocking pairs against the least gain for which an agent breaks away",
        (f"alpha, the least gain [{_READINGS[mode]}]", "blocking pairs of agents"), found,
        "Blocking pairs of each method's pairing",
        "A pair blocks when both of its agents would gain by more than alpha.",
    )  # fmt: skip
    penalties = distribution(
        "colocation-penalty-distribution", "Penalties of all agents, from the least to the worst",
        ("share of the agents", "penalty not exceeded by that share"), found, "quantiles",
        "Sorted penalties of all agents, one curve per method. Worst penalty", (tolerated,),
    )  # fmt: skip
    return [*drawn, by_alpha, penalties]


def _by_bandwidth(found: Records) -> Picture:
    """Chart of penalty by bandwidth (Cooper figure 7)."""
    first = next(iter(found.values()))[0]
    x = [f"{name} {wide:g}" for name, wide in zip(first["names"], first["bandwidth"], strict=True)]
    chart = sorted_curves(
        "colocation-penalty-by-bandwidth",
        "Mean penalty of each job type against its memory bandwidth",
        ("job types by increasing bandwidth [GB/s]", "mean penalty (share of throughput lost)"), x,
        found, "penalty",
        f"Mean penalty of {len(x)} job types against their bandwidth, one line per method. "
        "Where a line rises, those who press "
        "harder on memory lose more, which is fair. Rank correlation of penalty with bandwidth",
        ".2f",
        lambda penalty: rank_correlation(first["bandwidth"], penalty) or 0.0,
        note=shown_of(len(x), first["types"], _SPACED), style="line+points",
    )  # fmt: skip
    tips = [
        tuple(f"{line.name}, {kind} GB/s: {y:.4g}" for kind, y in zip(x, line.y, strict=True))
        for line in chart.series
    ]
    lines = (replace(line, tips=own) for line, own in zip(chart.series, tips, strict=True))
    return replace(chart, series=tuple(lines))


def _ranks(found: Records) -> Picture:
    """Chart of the difference between the ranks in penalty and in bandwidth (Cooper figure 8)."""
    from scipy.stats import rankdata

    first = next(iter(found.values()))[0]
    rows = {
        method: rankdata(row) - rankdata(first["bandwidth"])
        for method, row in means(found, "penalty").items()
    }
    distance = {method: float(np.abs(row).mean()) for method, row in rows.items()}
    return map_by_method(
        "colocation-penalty-ranks", "Who is ranked above or below what its bandwidth asks for",
        "job types by increasing bandwidth", first["names"],
        {method: row.tolist() for method, row in rows.items()},
        "rank in penalty less rank in bandwidth",
        "For each method and job type, its rank in penalty less its rank in bandwidth; 0 "
        "everywhere would be fair "
        f"attribution in ranks. Mean distance from 0: {extremes(distance, '.1f')} ranks.",
        shown_of(len(first["names"]), first["types"], _SPACED), center=0.0,
    )  # fmt: skip


def answer_picture(instance: Colocation, pairing: Pairing) -> BlockChart:
    """Picture of the pairs, a row for each kind, the most frequent first."""
    table = answer_table(instance, pairing)
    parts = []
    for number, (job, beside, machines, *_) in enumerate(table.rows, start=1):
        row = f"{number}: {machines} x"
        parts += [(row, str(name), 1.0) for name in (job, beside) if name is not None]
    return answer_blocks("Who runs beside whom", "seats of a processor", "pair", parts)
