"""Frontier of throughput and power: the least link power of any placement at each rate."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...instances.numa.bounds import Hops, Picojoules, link_energy
from ...instances.numa.instance import Flow, Numa
from ...instances.numa.technology import THESIS
from ...instances.problem.option_types import validate_options
from ...solvers.numa.fluid import CLOSE, fluid, fluid_power
from ...solvers.outcome import Clock, Outcome, Status
from ..frontier import Points, PriceFrontier, PricePoint, Sweep, settled
from .metrics import link_power

EFFICIENCY, LIMITED = "link_power", "served_rate"

NOTE = (
    "Nothing is fair or unfair here: the limit is on the rate served [tasks/s], at least, and "
    "the line is the least link power "
    "[W] of any placement that sustains it in the long run, without regard to response times."
)


@validate_options
def price_frontiers(
    instance: Numa,
    *,
    time_limit: float | None = None,
    points: Points = 8,
    ht_energy: Picojoules = THESIS.ht_energy,
    pcie_energy: Picojoules = THESIS.pcie_energy,
    pcie_hops: Hops = THESIS.pcie_hops,
) -> tuple[PriceFrontier, ...]:
    """Least link power at rates from the maximum throughput down to where all tasks can run
    locally.

    A linear program for each rate, its bound proved by prices (`power_bound`); the instance's own
    rate is one of them where it can be sustained. Below the rate that every memory's own cores
    sustain, the least is 0.

    Parameters
    ----------
    time_limit : seconds in all, shared equally among the programs to come.
    points : rates, at least 2.
    ht_energy, pcie_energy, pcie_hops : see `link_energy`.
    """
    energy: dict[str, Any] = {
        "ht_energy": ht_energy,
        "pcie_energy": pcie_energy,
        "pcie_hops": pcie_hops,
    }
    link_energy(instance, **energy)  # refused before any work

    def measured(flow: Flow) -> tuple[float, float]:
        return link_power(instance, flow, **energy), flow.throughput

    def least(rate: float, _: object, *, time_limit: float | None) -> Outcome:
        return fluid_power(instance, throughput=rate, time_limit=time_limit, **energy)

    sweep = Sweep(Clock(time_limit), measured, "min", "max")
    most = sweep.solve(points, fluid, instance, **energy)
    assert isinstance(most.solution, Flow)  # at worst, all at home
    found = sweep.points(_rates(instance, most.solution.throughput, points), least)
    note = NOTE
    most_power = max((point.value for point in found if point.value is not None), default=0.0)
    if most.status is Status.OPTIMAL:
        note += f" No placement sustains more than the first, {most.bound:.6g} (proved)."
    else:
        note += " Whether more can be sustained than the first rate with an answer is not known."
        if most.bound is not None and most.bound > most.solution.throughput:
            found.insert(0, PricePoint(most.bound, None, None, None))
    marks = settled(found, "min", CLOSE, unit=1e-6 * most_power)
    return (PriceFrontier(EFFICIENCY, LIMITED, marks, note, sweep.stopped),)


def _rates(instance: Numa, most: float, points: int) -> list[float]:
    """Rates from the maximum down to where all tasks can run locally, including the
    instance's own.
    """
    home = instance.cores / (instance.mean_service * float(instance.location_share.max()))
    low = min(home, most)
    own = instance.rate
    if own < low:
        low = own
    rates = np.linspace(most, low, points) if low < most * (1 - 1e-9) else np.array([most])
    if low < own < most and len(rates) > 2:
        rates[1 + int(np.argmin(np.abs(rates[1:-1] - own)))] = own
    return [float(rate) for rate in np.unique(rates)[::-1]]
