"""Most total throughput, and least cost, of shares with which each job has what it is owed."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Annotated, Literal

import numpy as np

from ...instances.accelerators.answer import TimeShares
from ...instances.accelerators.instance import Accelerators, Floats
from ...instances.accelerators.measures import (
    cost,
    entitlements,
    mean_throughput,
    owed_throughputs,
    scale,
    throughputs,
)
from ...instances.problem.option_types import AtLeast, validate_options
from ...models.accelerators import share_program
from ..outcome import Clock, Outcome, Status, agree
from .prices import ROUNDING, most_worth
from .programs import Optimum, most_ratio, solved

Least = Annotated[float, AtLeast(0, "a normalized throughput")]
Times = Annotated[float, AtLeast(0, "times the throughput in 1/n of the cluster")]

MARGIN = 1e-11
"""By so much more is asked of each job first, so that rounding leaves it what it is owed."""

MET = 1e-9
"""A job that misses what it is owed by no more than this fraction has it."""


@validate_options
def max_throughput(
    instance: Accelerators,
    *,
    rng: np.random.Generator | None = None,
    time_limit: float | None = None,
    start: TimeShares | None = None,
    least: Least = 0.0,
) -> Outcome:
    """The most that jobs' normalized throughputs can be on average (a linear program).

    Parameters
    ----------
    rng : not needed; nothing is drawn.
    time_limit : seconds.
    start : an answer, returned where it is better than what was found.
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
    first, second, _, first_rate, second_rate, _ = instance.placements
    worth = gain[first] * first_rate + np.where(second >= 0, gain[second] * second_rate, 0.0)
    best = _least_cost(instance, -worth, floor, Clock(time_limit), gain=gain)
    if isinstance(best, Outcome):
        return best
    due = (best.prices.step - gain) * instance.count * floor
    bound = most_worth(instance, best.prices) - math.fsum(due) * (1 - ROUNDING)
    return _outcome(instance, best, start, floor, mean_throughput, bound, "max")


@validate_options
def min_cost(
    instance: Accelerators,
    *,
    rng: np.random.Generator | None = None,
    time_limit: float | None = None,
    start: TimeShares | None = None,
    least: Times = 1.0,
) -> Outcome:
    """The least cost of the devices in use such that each job has what it is owed (a linear
    program).

    Parameters
    ----------
    rng : not needed; nothing is drawn.
    time_limit : seconds.
    start : an answer, returned where it is better than what was found.
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
    _, _, device, *_, workers = instance.placements
    best = _least_cost(
        instance, workers * instance.device_cost[device], floor, Clock(time_limit), money=1.0
    )
    if isinstance(best, Outcome):
        return best
    due = math.fsum(best.prices.step * instance.count * floor) * (1 - ROUNDING)
    bound = max(due - most_worth(instance, best.prices), 0.0)
    return _outcome(instance, best, start, floor, cost, bound, "min")


def enough(instance: Accelerators, solution: TimeShares, *, least: float = 0.0) -> tuple[()] | None:
    """Whether time shares do for `max_throughput`: nothing to compare, or None where a job has less
    than the least.
    """
    return () if _meets(instance, solution, entitlements(instance) * least) else None


def owed(instance: Accelerators, solution: TimeShares, *, least: float = 1.0) -> tuple[()] | None:
    """Whether time shares do for `min_cost`: nothing to compare, or None where a job has less than
    it is owed.
    """
    return () if _meets(instance, solution, owed_throughputs(instance, least)) else None


def _meets(instance: Accelerators, solution: TimeShares, floor: Floats) -> bool:
    there = instance.count > 0
    return bool((throughputs(instance, solution) >= floor * (1 - MET))[there].all())


def _least_cost(
    instance: Accelerators,
    each: Floats,
    floor: Floats,
    clock: Clock,
    *,
    gain: Floats | float = 0.0,
    money: float = 0.0,
) -> Optimum | Outcome:
    """The least of a cost (k,) of each placement such that every job has its floor (T,) [steps/s];
    the outcome instead where prices prove that there is no such answer.
    """
    asked = (floor > 0) & (instance.count > 0)
    unit = np.where(asked, floor, 1.0)
    best: Optimum | None = None
    for margin in (MARGIN, 0.0) if asked.any() else (0.0,):
        program = share_program(instance, unit, floor=np.where(asked, 1 + margin, 0.0), cost=each)
        best = solved(instance, program, clock, step=gain, money=money)
        if best.status is Status.OPTIMAL and _meets(instance, best.solution, floor):
            return best
    assert best is not None
    most = solved(instance, share_program(instance, unit, rate=np.where(asked, 1.0, 0.0)), clock)
    if asked.any() and most_ratio(instance, most.prices, np.where(asked, floor, 0.0)) < 1:
        return Outcome(None, None, Status.INFEASIBLE, most.stop, most.certificate)
    if _meets(instance, most.solution, floor):
        return dataclasses.replace(best, solution=most.solution)
    return best


def _outcome(
    instance: Accelerators,
    best: Optimum,
    start: TimeShares | None,
    floor: Floats,
    worth: Callable[[Accelerators, TimeShares], float],
    bound: float,
    sense: Literal["min", "max"],
) -> Outcome:
    """What is the better of the answer and the start that have what is owed, with the bound."""
    sign, name = (1, "cost") if sense == "min" else (-1, "mean_throughput")
    able = [
        one for one in (best.solution, start) if one is not None and _meets(instance, one, floor)
    ]
    if not able:
        return Outcome(None, bound, Status.UNKNOWN, best.stop, best.certificate)
    chosen = min(able, key=lambda one: sign * worth(instance, one))
    value = worth(instance, chosen)
    bound = min(bound, value) if sense == "min" else max(bound, value)
    status = Status.OPTIMAL if agree(value, bound, scale(instance, name)) else Status.FEASIBLE
    return Outcome(chosen, bound, status, best.stop, best.certificate)
