"""Frontier of efficiency and fairness: the maximum mean throughput at each lower bound on every
job's throughput.
"""

from __future__ import annotations

import numpy as np

from ...instances.accelerators.instance import Accelerators, TimeShares
from ...instances.accelerators.measures import entitlements, mean_throughput
from ...instances.problem.option_types import validate_options
from ...solvers.accelerators.max_min import max_min
from ...solvers.accelerators.programs import least_ratio
from ...solvers.accelerators.totals import max_throughput
from ...solvers.outcome import Clock, Outcome
from ..frontier import Points, PriceFrontier, Sweep, settled

NOTE = (
    "Each limit: the normalized throughput, over its weight, that every job has at least. The "
    "first is the most that is possible."
)

_WITHIN = 1 - 1e-9
"""The part of the largest floor that is asked for, so that rounding does not make it impossible."""


@validate_options
def price_frontiers(
    instance: Accelerators, *, time_limit: float | None = None, points: Points = 8
) -> tuple[PriceFrontier, ...]:
    """Maximum mean normalized throughput at each lower bound on the worst-off job's throughput,
    from max-min fairness to no bound.

    A linear program for each floor, its bound proved by prices.

    Parameters
    ----------
    time_limit : seconds in all, shared equally among the programs to come.
    points : floors, evenly from the most that is possible down to 0.
    """

    def measured(shares: TimeShares) -> tuple[float, float]:
        worst = least_ratio(instance, shares, entitlements(instance))
        return mean_throughput(instance, shares), worst

    def most(floor: float, _: object, *, time_limit: float | None) -> Outcome:
        return max_throughput(instance, least=floor, time_limit=time_limit)

    sweep = Sweep(Clock(time_limit), measured, "max", "max")
    sweep.solve(points + 1, max_min, instance)  # at worst everybody's own part of the cluster
    floors = np.linspace(sweep.fairest * _WITHIN, 0, points).tolist()
    marks = settled(sweep.points(floors, most), "max")
    return (PriceFrontier("mean_throughput", "worst_throughput", marks, NOTE, sweep.stopped),)
