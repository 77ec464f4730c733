"""Pictures of groupings: penalties, spread of pressure over machines, and blocking groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...instances.groups.instance import UNIT, Grouping, Groups
from ...instances.groups.penalties import pressures
from ...instances.groups.stability import agent_losses, blocking_groups, type_penalties
from ...instances.problem.answer_table import labels
from ...instances.problem.option_types import validate_options
from ..report.picture import BlockChart, Picture, answer_blocks
from ..report.picture_data import (
    SHARES,
    blocking_by_alpha,
    distribution,
    evenly,
    records_by_method,
    rounded,
    shown_of,
    sorted_curves,
)
from ..run.rows import Row
from ..statistics import quantile, rank_correlation
from .metrics import MOST_KINDS, full_kinds

ALPHAS = (0.0, 0.01, 0.02, 0.03, 0.05, 0.08, 0.12, 0.18, 0.25)
"""Least gains at which blocking groups are counted."""

MOST_COUNTED = MOST_KINDS // 10
"""Kinds of full groups up to which they are counted at each of `ALPHAS`."""

MOST_TYPES = 40
"""Types whose mean penalty a record holds; of more, evenly spaced ones by pressure."""


@validate_options
def record(instance: Groups, grouping: Grouping) -> dict[str, Any]:
    """Numbers of a grouping that `pictures` draws, stored in a row; a few kB.

    `quantiles` of jobs' penalties and `machines`, quantiles over the machines in use of what their
    jobs' pressures add up to, at each of the `SHARES`; blocking groups at `alphas` where they are
    not too many to count; `names`, `pressure` and mean `penalty` of at most `MOST_TYPES` types that
    have jobs, in the order of pressure; `types` is how many there are. Where no pressures are given
    they are what a type does to others, see `penalties.pressures`.
    """
    _, _, lost, number, _ = agent_losses(instance, grouping)
    load = pressures(instance)
    loads = np.where(grouping.members >= 0, load[grouping.members], 0.0).sum(axis=1)
    present = instance.present
    present = present[np.argsort(load[present], kind="stable")]
    chosen = present[evenly(len(present), MOST_TYPES)]
    result: dict[str, Any] = {
        "quantiles": rounded(quantile(lost / UNIT, number, share) for share in SHARES),
        "machines": rounded(quantile(loads, grouping.number, share) for share in SHARES),
        "given": instance.pressure is not None,
        "types": len(present),
        "names": [instance.names[kind][:24] for kind in chosen.tolist()],
        "pressure": rounded(load[chosen]),
        "penalty": rounded(type_penalties(instance, grouping)[chosen]),
    }
    if full_kinds(instance) <= MOST_COUNTED:
        counts = [blocking_groups(instance, grouping, alpha).count for alpha in ALPHAS]
        result |= {"alphas": list(ALPHAS), "blocking": rounded(map(float, counts), 6)}
    return result


@validate_options
def pictures(rows: Sequence[Row]) -> list[Picture]:
    """Pictures of one instance's runs: penalty by pressure, blocking groups by alpha, pressure on
    machines, and all penalties.
    """
    found = records_by_method(rows, "quantiles")
    if not found:
        return []
    # 1. The penalty of each type by its pressure.
    first, drawn = next(iter(found.values()))[0], list[Picture]()
    names, pressure = first["names"], "pressure" if first["given"] else "what a type does to others"
    if len(names) > 1:
        x = [f"{name} {load:g}" for name, load in zip(names, first["pressure"], strict=True)]
        drawn.append(sorted_curves(
            "groups-penalty-by-pressure", "Mean penalty of each job type against its pressure",
            (f"job types by increasing {pressure}", "mean penalty (share of throughput lost)"),
            x, found, "penalty",
            f"Mean penalty of {len(x)} job types against their pressure, one line per method. "
            "Where a line rises, those who press harder lose more, which is fair. Rank correlation "
            "of penalty with pressure",
            ".2f",
            lambda penalty: rank_correlation(first["pressure"], penalty) or 0.0,
            note=shown_of(len(x), first["types"], "types are shown, evenly spaced by pressure"),
            style="line+points",
        ))  # fmt: skip
    # 2. Blocking groups, where they were counted.
    if blocking := records_by_method(rows, "blocking"):
        drawn.append(blocking_by_alpha(
            "groups-blocking-by-alpha",
            "Blocking groups against the least gain for which jobs break away",
            ("alpha, the least gain [points of penalty]", "blocking groups"), blocking,
            "Blocking groups of each method's grouping",
            "A group blocks when all of its jobs would gain by more than alpha on a full machine "
            "of their own.",
        ))  # fmt: skip
    # 3. The pressure on each machine, and the penalty of each job.
    machines = distribution(
        "groups-machine-pressure", "How unlike the machines are: pressure on each",
        ("share of the machines in use", f"{pressure}, summed over a machine's jobs"),
        found, "machines",
        "Sorted sums of pressure on the machines in use, one curve per method. A flat curve mixes "
        "the jobs, a steep one keeps those who press hard among themselves. Heaviest machine",
    )  # fmt: skip
    jobs = distribution(
        "groups-penalty-distribution", "Penalties of all jobs, from the least to the worst",
        ("share of the jobs", "penalty not exceeded by that share"), found, "quantiles",
        "Sorted penalties of all jobs, one curve per method. Worst penalty",
    )  # fmt: skip
    return [*drawn, machines, jobs]


def answer_picture(instance: Groups, grouping: Grouping) -> BlockChart:
    """Picture of the groups, a row for each kind, the most frequent first."""
    names = labels("type", instance.names, instance.types)
    parts = []
    for number, at in enumerate(np.argsort(-grouping.number, kind="stable").tolist(), start=1):
        row = f"{number}: {grouping.number[at]} x"
        members = grouping.members[at]
        parts += [(row, names[kind], 1.0) for kind in members[members >= 0].tolist()]
    return answer_blocks("Who runs together", "seats of a machine", "group", parts)
