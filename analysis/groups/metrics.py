"""The metrics of a choice."""

from __future__ import annotations

from ...instances.groups.instance import Choice, Groups
from ..metric import Metric

METRICS: tuple[Metric, ...] = (Metric("value", "value of the items", "max", digits=0),)


def metrics(instance: Groups, solution: Choice) -> dict[str, float]:
    """Every metric of a feasible answer."""
    return {"value": float(instance.value[solution.items].sum())}
