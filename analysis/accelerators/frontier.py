"""What fairness costs: the most mean throughput for each floor under every job's, proved."""

from __future__ import annotations

import numpy as np

from ...instances.accelerators.answer import TimeShares
from ...instances.accelerators.instance import Accelerators
from ...instances.accelerators.measures import entitlements, mean_throughput
from ...instances.problem.base import Solution
from ...instances.problem.option_types import validate_options
from ...solvers.accelerators.max_min import max_min
from ...solvers.accelerators.programs import least_ratio
from ...solvers.accelerators.totals import max_throughput
from ...solvers.outcome import Clock, Outcome
from ..frontier import Points, PriceFrontier, Programs, settled

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
    """The most mean normalized throughput against the worst, from max-min fairness to no floor.

    A linear program for each floor, its bound proved by prices.

    Parameters
    ----------
    time_limit : seconds in all, shared equally among the programs to come.
    points : floors, evenly from the most that is possible down to 0.
    """
    programs = Programs(Clock(time_limit))
    fair = programs.solve(points + 1, max_min, instance)
    assert isinstance(fair.solution, TimeShares)  # at worst everybody's own part of the cluster
    top = least_ratio(instance, fair.solution, entitlements(instance)) * _WITHIN

    def most(floor: float, start: Solution | None, *, time_limit: float | None) -> Outcome:
        return max_throughput(instance, least=floor, time_limit=time_limit)

    def measured(shares: TimeShares) -> tuple[float, float]:
        worst = least_ratio(instance, shares, entitlements(instance))
        return mean_throughput(instance, shares), worst

    floors = np.linspace(top, 0, points).tolist()
    marks = settled(programs.points(floors, most, measured, fair.solution), "max")
    return (PriceFrontier("mean_throughput", "worst_throughput", marks, NOTE, programs.stopped),)
