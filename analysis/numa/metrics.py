"""Metrics of a simulated policy or fluid flows. `parts` has the requirements that can conflict."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...instances.numa.bounds import Hops, Picojoules, Throughput, link_energy
from ...instances.numa.feasible import flow_by_distance
from ...instances.numa.instance import Floats, Flow, Numa, Simulation
from ...instances.numa.technology import THESIS
from ...instances.problem.option_types import validate_options
from ..metric import Facts, Metric, Stated

METRICS: tuple[Metric, ...] = (
    Metric("mean_response", "mean response", unit="s", short="mean"),
    Metric("p50", "median response", unit="s", short="p50"),
    Metric("p95", "95th percentile of response", unit="s", short="p95"),
    Metric("p99", "99th percentile of response", unit="s", short="p99"),
    Metric("mean_wait", "mean wait", unit="s", short="wait"),
    Metric("served_rate", "served", "", "1/s", 1, short="served"),
    Metric("share_local", "share local", "", digits=3, short="local"),
    Metric("share_1hop", "share one hop away", "", digits=3, short="1 hop"),
    Metric("share_2hop", "share two hops away", "", digits=3, short="2 hops"),
    Metric("share_blade", "share on another blade", "", digits=3, short="blade"),
    Metric("refusals", "refusals per task", "", digits=2, short="refused"),
    Metric("link_power", "link power", "min", "W", 3, short="links"),
    Metric(
        "flow_power", "link power at the flow's throughput", "min", "W", 3, short="flow's links"
    ),
    Metric("backlog_growth", "growth of the queue", "", "1/s", 1, short="growth"),
)
"""`served_rate` is better or worse only for `fluid`, whose is the most there can be."""

SAME = 1e-9
"""Two rates that differ by no more than this fraction are one."""


@validate_options
def metrics(
    instance: Numa,
    solution: Simulation | Flow,
    *,
    throughput: Throughput | None = None,
    ht_energy: Picojoules = THESIS.ht_energy,
    pcie_energy: Picojoules = THESIS.pcie_energy,
    pcie_hops: Hops = THESIS.pcie_hops,
) -> dict[str, float]:
    """Every metric of a simulation or a flow of tasks, which must be feasible.

    `served_rate` and the shares (by distance of a task from its data; `share_2hop` is two hops or
    more) are over the tasks that finished in the window, `refusals` is their mean count.
    `link_power` [W], see `link_energy` for its options, is given only where `throughput` (the
    instance's rate when None) is served, so that answers are compared at one rate: not for a Flow
    of another throughput, nor for a run that is unstable or of another rate. An unstable run has no
    response times either, they have no long-run value; it has `backlog_growth`, the trend of its
    queue. `flow_power` [W] is a Flow's, at its own throughput, whatever that is: the second level
    of `fluid`.

    Raises
    ------
    InvalidOption
        A throughput or an energy out of range.
    """
    energy = {"ht_energy": ht_energy, "pcie_energy": pcie_energy, "pcie_hops": pcie_hops}
    asked = instance.rate if throughput is None else throughput
    result = _shares(rates_by_distance(instance, solution))
    if isinstance(solution, Flow):
        result["flow_power"] = link_power(instance, solution, **energy)
        if abs(solution.throughput - asked) <= SAME * asked:
            result["link_power"] = result["flow_power"]
        return result
    if solution.stable:
        result |= {"mean_response": solution.mean_response, "mean_wait": solution.mean_wait}
        result |= {
            name: float(value)
            for name, value in zip(("p50", "p95", "p99"), solution.response, strict=True)
        }
        if abs(instance.rate - asked) <= SAME * asked:
            result["link_power"] = link_power(instance, solution, **energy)
    else:
        result["backlog_growth"] = solution.growth
    result["refusals"] = solution.refused / max(int(solution.served.sum()), 1)
    return result


def link_power(
    instance: Numa,
    solution: Simulation | Flow,
    *,
    ht_energy: Picojoules = THESIS.ht_energy,
    pcie_energy: Picojoules = THESIS.pcie_energy,
    pcie_hops: Hops = THESIS.pcie_hops,
) -> float:
    """Link power [W] of the tasks served."""
    energy = link_energy(instance, ht_energy, pcie_energy, pcie_hops)
    return float((rates_by_distance(instance, solution) * energy).sum())


def rates_by_distance(instance: Numa, solution: Simulation | Flow) -> Floats:
    """Tasks served a second (K, D), by class and distance of the tasks from their data."""
    if isinstance(solution, Flow):
        return flow_by_distance(instance, solution)
    return solution.served / solution.window


def _shares(rate: Floats) -> dict[str, float]:
    """Shares of tasks by distance, from tasks a second (K, D) by class and distance."""
    total = float(rate.sum())
    share = rate.sum(axis=0) / total if total > 0 else np.zeros(rate.shape[1])
    hops = share[:-1]
    return {
        "served_rate": total,
        "share_local": float(hops[0]),
        "share_1hop": float(hops[1:2].sum()),
        "share_2hop": float(hops[2:].sum()),
        "share_blade": float(share[-1]),
    }


def facts(stated: Stated) -> Facts:
    """Entries of a numa certificate that follow from the answer: the mix of policies that a flow
    stands for, with prices and levels.
    """
    from ...solvers.numa.fluid import mix_table

    if stated.method not in ("fluid", "fluid-power"):
        return {}
    found: Facts = {"prices": ...}
    if stated.answer is not None:
        found["mix"] = mix_table(stated.instance, stated.answer)
        found |= {"levels": [{}, {}]} if stated.method == "fluid" else {}
    return found


def parts(instance: Numa) -> tuple[list[str], Callable[[list[int]], Numa | None]]:
    """Texts of the task rates of the classes, and a function that makes the instance with the tasks
    of some classes only; None without any tasks.
    """
    rates = instance.rate * instance.class_share
    labels = [
        f"{rate:g} tasks/s of {name}" for rate, name in zip(rates, instance.names, strict=True)
    ]

    def keep(kept: list[int]) -> Numa | None:
        if not (total := rates[kept].sum()):
            return None
        rows = ("service_mean", "ht1", "pcie", "bandwidth")
        chosen = {name: getattr(instance, name)[kept] for name in rows}
        names = tuple(instance.names[each] for each in kept)
        share = rates[kept] / total
        return instance.replace(rate=float(total), class_share=share, names=names, **chosen)

    return labels, keep
