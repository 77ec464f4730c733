"""Metrics of a grouping: penalty, blocking groups, and fair attribution. `parts` gives the
requirements that can conflict.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import suppress
from math import comb
from typing import Any

import numpy as np

from ...instances.groups.instance import LEAST, UNIT, Floats, Grouping, Groups
from ...instances.groups.stability import (
    Alpha,
    agent_losses,
    blocking_groups,
    least_alpha_of,
    mean_penalty,
    swap_blocking_pairs,
    type_penalties,
)
from ...instances.problem.errors import InvalidOption
from ...instances.problem.option_types import validate_options
from ..manipulation import Misreport, Reports
from ..metric import Facts, Metric, Stated
from ..statistics import quantile, rank_correlation

MOST_KINDS = 10**6
"""Kinds of full groups up to which those that block are counted: lists of more fill memory."""

METRICS: tuple[Metric, ...] = (
    Metric("penalty", "mean penalty", short="mean penalty"),
    Metric("penalty_p95", "95th percentile of penalty", compared=False),
    Metric("worst_penalty", "worst penalty", short="worst"),
    Metric("machines", "machines in use", digits=0, whole=True, compared=False),
    Metric("blocking_groups", "blocking groups", digits=0, whole=True, short="blocking groups"),
    Metric(
        "least_alpha",
        "least alpha at which no group blocks",
        short="stable from alpha",
    ),
    Metric(
        "swap_blocking_pairs",
        "pairs of jobs that would both gain by exchanging seats",
        digits=0,
        whole=True,
        compared=False,
    ),
    Metric(
        "swap_blocking_share",
        "share of the pairs of jobs on two machines",
        "",
        digits=4,
        compared=False,
    ),
    Metric(
        "attribution",
        "rank correlation of penalty with pressure",
        "max",
        digits=3,
        short="attribution",
    ),
)


@validate_options
def metrics(
    instance: Groups,
    grouping: Grouping,
    *,
    alpha: Alpha = 0.0,
    only: Collection[str] | None = None,
) -> dict[str, float]:
    """Every metric of a feasible grouping.

    `penalty`, `penalty_p95` and `worst_penalty` are taken over jobs (percentiles interpolate
    linearly); `blocking_groups` are the sets of jobs that fill a machine and would all gain more
    than `alpha` on one of their own, `swap_blocking_pairs` the pairs of jobs on two machines that
    would both gain more than `alpha` in each other's seat, `swap_blocking_share` that over all
    pairs of jobs on two machines, and `least_alpha` is the least alpha at
    which no group blocks. Blocking groups and `least_alpha` are left out beyond `MOST_KINDS` kinds
    of full groups, swaps where the answer has very many kinds of groups.

    `attribution` only where pressures are given: Spearman's coefficient, ties at average ranks,
    over the types that have jobs, of mean penalty against pressure; left out when either is
    constant.

    Parameters
    ----------
    only : the metrics that are needed; of the others those that take long are left out.
    """
    _, _, lost, number, _ = agent_losses(instance, grouping)
    value = lost / UNIT
    found = {
        "penalty": mean_penalty(instance, grouping),
        "penalty_p95": quantile(value, number, 0.95),
        "worst_penalty": float(value.max()),
        "machines": float(grouping.machines),
    }
    stability = only is None or {"blocking_groups", "least_alpha"} & set(only)
    if stability and full_kinds(instance) <= MOST_KINDS:
        found["blocking_groups"] = float(blocking_groups(instance, grouping, alpha).count)
        found["least_alpha"] = least_alpha_of(instance, grouping) / UNIT
    swaps = swap_blocking_pairs(instance, grouping, alpha) if only is None else None
    if swaps is not None:
        seated = np.sum(grouping.members >= 0, axis=1)
        beside = int(grouping.number @ (seated * (seated - 1) // 2))
        apart = int(instance.jobs) * (int(instance.jobs) - 1) // 2 - beside
        found |= {"swap_blocking_pairs": float(swaps), "swap_blocking_share": swaps / max(1, apart)}
    if (correlation := attribution(instance, grouping)) is not None:
        found["attribution"] = correlation
    return found


def full_kinds(instance: Groups) -> int:
    """Upper bound on the number of different full groups (types with numbers of jobs) over the
    machine classes in use.
    """
    if instance.members is not None:
        return len(instance.members)
    present = int(np.count_nonzero(instance.count))
    seats = np.unique(instance.seats[instance.limits > 0]).tolist()
    return sum(comb(present + size - 1, size) for size in seats)


def attribution(instance: Groups, grouping: Grouping) -> float | None:
    """Spearman's correlation of the types' mean penalty with pressure; None if undefined."""
    if instance.pressure is None:
        return None
    present = instance.count > 0
    penalty = np.round(type_penalties(instance, grouping)[present], 12)
    return rank_correlation(penalty, instance.pressure[present])


class _Reports(Reports):
    """Reports of job types in groups: their penalties, sensitivities, or losses."""

    unit, fields = "1 - penalty", ("penalty", "sensitivity", "losses")
    best, worst = LEAST, 1.0

    def mine(self, instance: Groups, name: str, agent: int) -> Any:
        table = instance.members
        return super().mine(instance, name, agent) if table is None else table == agent

    def utilities(self, truth: Groups, shown: Misreport, solution: Grouping) -> Floats:
        return 1 - type_penalties(truth, solution)

    def most(self, truth: Groups, agent: int, honest: float, method: str) -> tuple[float, str]:
        name = {"additive": "penalty", "pressure": "sensitivity", "table": "losses"}[truth.model]
        least = getattr(truth, name)[self.mine(truth, name, agent)].min(initial=0.0)
        others = int(truth.seats.max()) - 1 if truth.model == "additive" else 1
        return 1 - others * float(least), "alone, or beside those that cost it least"


REPORTS = _Reports()


def facts(stated: Stated) -> Facts:
    """Expected certificate entries: alpha as given, and a least alpha of at most the answer's."""
    facts, certificate = (
        stated.together("groups_listed", "prices", "price_bound"),
        stated.certificate,
    )
    if stated.method == "core" and "levels" in certificate:
        facts |= stated.echoed("alpha")
    if stated.method == "core" and "empty_at" in certificate and stated.answer is not None:
        facts["least_alpha"] = ...
        with suppress(InvalidOption):  # too many groups to list
            least = least_alpha_of(stated.instance, stated.answer) / UNIT
            if not certificate.get("least_alpha", {"value": 0})["value"] <= least:
                facts["least_alpha"] = {"value": least}
    return facts


def parts(instance: Groups) -> tuple[list[str], Callable[[list[int]], Groups]]:
    """Texts of the groups requirements (forbidden neighbors, numbers of machines), and a function
    that makes the instance with a subset of them.
    """
    machines_of = np.array(instance.machines, dtype=float)
    present, classes = instance.count > 0, np.flatnonzero(np.isfinite(machines_of))
    never = np.zeros((instance.types, instance.types), dtype=bool)
    if instance.penalty is not None:
        anywhere = np.isinf(instance.penalty).reshape(-1, *never.shape).all(axis=0)
        never = (anywhere | anywhere.T) & present & present[:, None]
    ruled = np.flatnonzero(never.any(axis=1))
    labels = []
    for kind in ruled.tolist():
        others = [instance.names[each] for each in np.flatnonzero(never[kind])]
        labels.append(f"{instance.names[kind]} never beside {', '.join(others)}")
    for one in classes.tolist():
        name = f" of {instance.classes[one]}" if len(instance.seats) > 1 else ""
        number, seats = int(machines_of[one]), int(instance.seats[one])
        labels.append(f"{number} machine{'s' * (number != 1)}{name} of {seats} seats")

    def keep(kept: list[int]) -> Groups:
        bound = np.isin(np.arange(instance.types), ruled[[k for k in kept if k < len(ruled)]])
        machines = machines_of.copy()
        machines[classes[[k for k in range(len(classes)) if k + len(ruled) not in kept]]] = np.inf
        changed = {"machines": machines}
        if instance.penalty is not None:
            free = never & ~(bound[:, None] | bound)
            changed["penalty"] = np.where(free, 0.0, instance.penalty)
        return instance.replace(**changed)

    return labels, keep
