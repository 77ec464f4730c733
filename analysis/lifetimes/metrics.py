"""Metrics of VMs on servers over time."""

from __future__ import annotations

from collections.abc import Collection

from ...instances.lifetimes import Hosts, Lifetimes
from ...instances.problem.option_types import validate_options
from ..metric import Metric

METRICS: tuple[Metric, ...] = (
    Metric("server_time", "time for which servers are on, added up", digits=0, whole=True,
           short="server-time"),
    Metric("peak", "most servers on at once", digits=0, whole=True, short="peak"),
    Metric("mean_servers", "servers on, on average over time", digits=2, short="mean"),
    Metric("mean_empty", "of the servers of the peak, those that are off, on average", "",
           digits=2, short="empty"),
    Metric("fire_ups", "how often a server is switched on", digits=0, whole=True,
           short="fire-ups"),
)  # fmt: skip


@validate_options
def metrics(
    instance: Lifetimes, solution: Hosts, *, only: Collection[str] | None = None
) -> dict[str, float]:
    """Every metric of a feasible answer; a server is on while it has a VM:

    - `server_time` = sum over servers of the time for which each is on, in the instance's unit;
      `mean_servers` = that over the time from the first start to the last end.
    - `peak` = most servers that are on at once; `mean_empty` = `peak` - `mean_servers`.
    - `fire_ups` = how often a server is switched on.
    """
    use = solution.in_use(instance)
    total, span = int(use @ instance.length), int(instance.length.sum())
    return {
        "server_time": float(total),
        "peak": float(use.max()),
        "mean_servers": total / span,
        "mean_empty": float(use.max()) - total / span,
        "fire_ups": float(len(solution.spells(instance)[0])),
    }
