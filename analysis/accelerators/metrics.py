"""Metrics of time shares of accelerators. `parts` gives the requirements that can conflict."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import numpy as np

from ...instances.accelerators.instance import Accelerators, Floats, TimeShares
from ...instances.accelerators.measures import (
    cost,
    entitlements,
    envy,
    fastest_throughputs,
    finish_time_ratios,
    hierarchical_weights,
    mean_throughput,
    throughputs,
)
from ...instances.problem.option_types import validate_options
from ..manipulation import Misreport, Reports
from ..metric import Facts, Metric, Stated
from .rounds import Rounds, whole_rounds

MOST_ENVIED = 10**7
"""Types times shares up to which envy is measured."""

METRICS: tuple[Metric, ...] = (
    Metric("worst_throughput", "worst normalized throughput", "max", short="worst"),
    Metric("mean_throughput", "mean normalized throughput", "max", short="mean"),
    Metric("worst_entity_throughput", "worst by entity weights", "max", short="entities"),
    Metric("makespan", "time until all jobs end", "min", "s", 1),
    Metric("finish_time_ratio", "worst finish-time ratio", "min", short="finish"),
    Metric("starved", "jobs without any progress", "min", digits=0, whole=True, short="starved"),
    Metric("envy", "largest envy", "min", short="envy"),
    Metric("rounds_loss", "largest loss in whole rounds", "min", compared=False),
    Metric("cost", "cost of the devices in use", "min", "an hour", 2),
)


@validate_options
def metrics(
    instance: Accelerators,
    solution: TimeShares,
    *,
    rounds: Rounds | None = None,
    only: Collection[str] | None = None,
) -> dict[str, float]:
    """Every metric of time shares, which must be feasible.

    Normalized throughputs are by the proportional time and the weight. The makespan and the
    finish-time ratio are given where the instance has steps and every job progresses, the worst by
    entity weights where it has entities. `starved` counts jobs of throughput 0, `envy` is of
    `instances.accelerators.measures`, left out where types and shares are very many.

    Parameters
    ----------
    rounds : whole rounds that the shares are made into; `rounds_loss` is the largest part of its
        throughput that a job loses by that.
    only : the metrics that are needed; of the others those that take long are left out.
    """
    there = instance.count > 0
    throughput = throughputs(instance, solution)[there]
    due = entitlements(instance)[there]
    ratio = throughput / due
    found = {
        "worst_throughput": float(ratio.min()),
        "mean_throughput": mean_throughput(instance, solution),
        "cost": cost(instance, solution),
        "starved": float(instance.count[there][throughput == 0].sum()),
    }
    few = instance.types * len(solution.share) <= MOST_ENVIED
    if few and (only is None or "envy" in only):
        found["envy"] = envy(instance, solution)
    if rounds is not None:
        loss = whole_rounds(instance, solution, rounds=rounds).loss
        found["rounds_loss"] = max(0.0, float(loss.max()))
    if instance.entity is not None:
        shares = instance.weight / hierarchical_weights(instance)
        found["worst_entity_throughput"] = float((ratio * shares[there]).min())
    if instance.steps is not None and (throughput > 0).all():
        found["makespan"] = float((instance.steps[there] / throughput).max())
        ratios = finish_time_ratios(instance, throughputs(instance, solution))
        found["finish_time_ratio"] = float(np.max(ratios[there]))
    return found


class _Reports(Reports):
    """Reports of accelerator jobs by type: their throughputs alone, on the devices where they can
    run.
    """

    unit, fields = "steps a second", ("throughput",)

    def mine(self, instance: Accelerators, name: str, agent: int) -> Any:
        return super().mine(instance, name, agent) & (instance.alone > 0)

    def utilities(self, truth: Accelerators, shown: Misreport, solution: TimeShares) -> Floats:
        return np.where(truth.count > 0, throughputs(truth, solution), np.nan)

    def most(
        self, truth: Accelerators, agent: int, honest: float, method: str
    ) -> tuple[float, str]:
        return float(fastest_throughputs(truth)[agent]), "always on its fastest device"


REPORTS = _Reports()


def facts(stated: Stated) -> Facts:
    """Entries of an accelerators certificate that follow from the answer: the value of each leximin
    level, recomputed from the types that reached it.
    """
    instance, shares = stated.instance, stated.answer
    if stated.method not in ("leximin", "hierarchical") or shares is None:
        return {}
    unit = entitlements(instance)
    if stated.method == "hierarchical":
        unit = unit / instance.weight * hierarchical_weights(instance)
    ratio = (throughputs(instance, shares) / unit).tolist()
    left, own = dict(zip(instance.names, ratio, strict=True)), []
    for level in stated.certificate["levels"]:  # each type is of one level
        own.append({"value": min(left.pop(name) for name in level["types"])})
    return {"levels": own}


def parts(instance: Accelerators) -> tuple[list[str], Callable[[list[int]], Accelerators]]:
    """Texts of the jobs' deadlines, and a function that makes the instance with some of them."""
    deadline = np.full(instance.types, np.inf) if instance.deadline is None else instance.deadline
    bound = np.flatnonzero(np.isfinite(deadline) & (instance.count > 0))
    labels = [f"{instance.names[kind]} within {deadline[kind]:g} s" for kind in bound.tolist()]

    def keep(kept: list[int]) -> Accelerators:
        left = np.full(instance.types, np.inf)
        left[bound[kept]] = deadline[bound[kept]]
        return instance.replace(deadline=left)

    return labels, keep
