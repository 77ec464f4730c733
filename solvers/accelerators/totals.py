"""Most total throughput, and least cost, of shares that give each job its required throughput."""

from __future__ import annotations

import math
from typing import Annotated, Any

import numpy as np

from ...instances.accelerators.instance import Accelerators, Floats, TimeShares
from ...instances.accelerators.measures import (
    cost,
    entitlements,
    mean_throughput,
    owed_throughputs,
    scale,
    throughputs,
)
from ...instances.problem.option_types import AtLeast, validate_options
from ..outcome import Clock, Outcome, Status, agree
from ..prices import ROUNDING
from .mixes import Terms
from .programs import equal_parts, most_ratio, most_worth, solved

Least = Annotated[float, AtLeast(0, "a normalized throughput")]
Times = Annotated[float, AtLeast(0, "a multiple of the throughput in 1/n of the cluster")]

MARGIN = 1e-11
"""By so much more is asked of each job first, so that rounding leaves it what it is owed."""

MET = 1e-9
"""A job that misses what it is owed by no more than this fraction has it."""


@validate_options
def max_throughput(
    instance: Accelerators, *, time_limit: float | None = None, least: Least = 0.0
) -> Outcome:
    """Maximize the mean normalized throughput of jobs (a linear program).

    Parameters
    ----------
    time_limit : seconds.
    least : the normalized throughput, over its weight, that every job has at least. A weight
        changes nothing else.

    Returns
    -------
    Outcome
        TimeShares, and a bound on `mean_throughput` that rests on the prices in the certificate
        alone. Infeasible where prices prove that the jobs cannot all have the least.

    Raises
    ------
    InvalidOption
        A time limit that is not above 0, a least below 0.

    Notes
    -----
    Gavel (OSDI 2020), section 4.2. Throughputs are normalized, as steps of different models cannot
    be added.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("accelerators/tiny"), "max-throughput", least=0.5)
    >>> print(result.status, round(result.objective, 6))
    optimal 0.75
    """
    floor = entitlements(instance) * least
    gain = np.where(instance.count > 0, instance.weight / entitlements(instance), 0.0)
    gain = gain / instance.jobs
    return _least(instance, floor, Clock(time_limit), gain=gain)


@validate_options
def min_cost(
    instance: Accelerators, *, time_limit: float | None = None, least: Times = 1.0
) -> Outcome:
    """Minimize the cost of the devices in use such that each job has its required throughput (a
    linear program).

    Parameters
    ----------
    time_limit : seconds.
    least : what a job is owed, as a multiple of its throughput in 1/n of the cluster; a job with a
        deadline is also owed the steps it has left by then.

    Returns
    -------
    Outcome
        TimeShares, and a bound on `cost` that rests on the prices in the certificate alone.
        Infeasible where prices prove that not all deadlines, or multiples, can be kept.

    Raises
    ------
    InvalidOption
        A time limit that is not above 0, a least below 0.

    Notes
    -----
    Gavel (OSDI 2020), section 4.2, with service-level objectives. A device costs nothing while it
    is idle. With least 1, and no deadlines, there always is an answer.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("accelerators/tiny"), "min-cost")
    >>> print(result.status, round(result.objective, 6))
    optimal 1.95
    """
    floor = owed_throughputs(instance, least)
    return _least(instance, floor, Clock(time_limit), rent=instance.device_cost)


def enough(instance: Accelerators, solution: TimeShares, *, least: float = 0.0) -> tuple[()] | None:
    """Return () if time shares give each job the normalized throughput `least` that
    `max_throughput` requires, else None.
    """
    return () if _meets(instance, solution, entitlements(instance) * least) else None


def owed(instance: Accelerators, solution: TimeShares, *, least: float = 1.0) -> tuple[()] | None:
    """Return () if the time shares give each job what `min_cost` requires of it, else None."""
    return () if _meets(instance, solution, owed_throughputs(instance, least)) else None


def _meets(instance: Accelerators, solution: TimeShares, floor: Floats) -> bool:
    there = instance.count > 0
    return bool((throughputs(instance, solution) >= floor * (1 - MET))[there].all())


def _least(
    instance: Accelerators,
    floor: Floats,
    clock: Clock,
    *,
    gain: Floats | float = 0.0,
    rent: Floats | None = None,
) -> Outcome:
    """Minimize the rent (D,) of devices, or else maximize the gain (T,) of steps a second, such
    that every job has its floor (T,) [steps/s].
    """
    asked, costs = (floor > 0) & (instance.count > 0), 0.0 if rent is None else rent
    unit = np.where(asked, floor, 1.0)
    for margin in (MARGIN, 0.0) if asked.any() else (0.0,):
        each = np.where(asked, 1 + margin, 0.0)
        best = solved(instance, Terms(unit, each, None, gain, costs), clock)
        answers = [best.solution, *equal_parts(instance)]
        if best.status is Status.OPTIMAL and _meets(instance, best.solution, floor):
            break
    else:
        rate = np.where(asked, 1.0, 0.0)
        most = solved(instance, Terms(unit, np.zeros(len(rate)), rate), clock)
        if asked.any() and most_ratio(instance, most.prices, np.where(asked, floor, 0.0)) < 1:
            return Outcome(None, None, Status.INFEASIBLE, most.stop, most.certificate)
        answers.append(most.solution)
    met = [each for each in answers if _meets(instance, each, floor)]
    due = math.fsum((best.prices.step - gain) * instance.count * floor) * (1 - ROUNDING)
    bound = due - most_worth(instance, best.prices)
    bound = -bound if rent is None else max(bound, 0.0)
    if not met:
        return Outcome(None, bound, Status.UNKNOWN, best.stop, best.certificate)
    measure: Any = mean_throughput if rent is None else cost
    values = [float(measure(instance, each)) for each in met]
    value = max(values) if rent is None else min(values)
    solution = met[values.index(value)]
    bound = max(bound, value) if rent is None else min(bound, value)
    proved = agree(value, bound, scale(instance, "mean_throughput" if rent is None else "cost"))
    status = Status.OPTIMAL if proved else Status.FEASIBLE
    return Outcome(solution, bound, status, best.stop, best.certificate)
