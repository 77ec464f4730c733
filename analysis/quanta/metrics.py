"""Metrics of slices that users get in each quantum, and a picture of an answer."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from ...instances.problem.option_types import validate_options
from ...instances.quanta import Floats, Quanta, Slices, answer_table
from ...solvers.quanta import most_welfare, slice_prices, values
from ..manipulation import Misreport, Reports
from ..metric import Facts, Metric, Stated
from ..report.picture import BlockChart, answer_blocks

METRICS: tuple[Metric, ...] = (
    Metric("nash_welfare", "geometric mean of the users' slices", "max", short="Nash"),
    Metric("least_total", "slices of the user with fewest", "max", short="least"),
    Metric("price_of_no_foresight", "the most Nash welfare over this", "min", short="price"),
    Metric("utilization", "part of the slices that could be of use", "max", short="use"),
    Metric("fairness", "least part of a demand served over the largest", "max", short="fair"),
    Metric("total", "slices of use in all", "max", digits=0, short="total"),
)


@validate_options
def metrics(
    instance: Quanta, solution: Slices, *, only: Collection[str] | None = None
) -> dict[str, float]:
    """Every metric of a feasible answer, over the users who ever want a slice, u_i the slices of i
    in all quanta:

    - `nash_welfare` = geometric mean of u_i; `least_total` = min u_i; `total` = sum of u_i.
    - `utilization` = `total` over the most that anybody could reach: in each quantum all slices, or
      all that are wanted.
    - `fairness` = min over max of u_i / (what i wants in all) (Karma, OSDI 2023).
    - `price_of_no_foresight` = the most Nash welfare with all demands known beforehand, over this
      one; left out where a user has nothing.
    """
    active = instance.active
    total, wanted = solution.slices.sum(axis=1)[active], instance.demand.sum(axis=1)[active]
    served = total / wanted
    found = {name: value for name, (value, _) in values(instance, solution).items()}
    found |= {
        "utilization": found["total"] / instance.most_useful,
        "fairness": float(served.min() / served.max()) if served.any() else 1.0,
    }
    if found["nash_welfare"] and (only is None or "price_of_no_foresight" in only):
        found["price_of_no_foresight"] = most_welfare(instance) / found["nash_welfare"]
    return {metric.name: found[metric.name] for metric in METRICS if metric.name in found}


class _Reports(Reports):
    """Reports of users: the slices they can use in each quantum."""

    unit, fields = "slices", ("demand",)

    def utilities(self, truth: Quanta, shown: Misreport, solution: Slices) -> Floats:
        useful = np.minimum(solution.slices, truth.demand).sum(axis=1)
        return np.where(truth.active, useful, np.nan)

    def most(self, truth: Quanta, agent: int, honest: float, method: str) -> tuple[float, str]:
        if method in ("strict", "max-min"):
            return honest, "each quantum on its own, where nobody gains by asking for more or less"
        alone = np.minimum(truth.demand[agent], truth.capacity).sum()
        return float(alone), "all slices, as if alone"


REPORTS = _Reports()


def facts(stated: Stated) -> Facts:
    """Entries of a quanta certificate that follow from the answer; see `Analysis.facts`."""
    if stated.answer is None or stated.method not in ("horizon", "leximin"):
        return {}
    return {"prices": slice_prices(stated.instance, stated.answer)}


def answer_picture(instance: Quanta, solution: Slices) -> BlockChart:
    """Picture of the users' slices in each quantum."""
    rows = answer_table(instance, solution).rows
    parts = ((str(t), user, slices) for t, user, slices, _ in rows if slices)
    return answer_blocks("Whose slices there are in each quantum", "slices", "quantum", parts)
