"""Maximize the smallest value over jobs: max-min fairness, makespan, finish-time fairness."""

from __future__ import annotations

import math

import numpy as np

from ...instances.accelerators.feasible import isolated_shares
from ...instances.accelerators.instance import Accelerators, Floats, TimeShares
from ...instances.accelerators.measures import (
    entitlements,
    fastest_throughputs,
    finish_time_ratios,
    isolated_throughputs,
    required_steps,
    scale,
    throughputs,
)
from ...instances.problem.option_types import validate_options
from ...models.accelerators import Prices
from ..outcome import Clock, Outcome, Status, Stop, agree
from ..prices import ROUNDING
from .programs import most_least, most_worth

CUTS = 100
"""Programs that `finish_time` solves at most; it takes about four."""


@validate_options
def max_min(instance: Accelerators, *, time_limit: float | None = None) -> Outcome:
    """Maximize the worst-off job's normalized throughput (a linear program).

    A job's normalized throughput is its throughput over that of its proportional time alone, times
    the workers it needs, over its weight.

    Parameters
    ----------
    time_limit : seconds.

    Returns
    -------
    Outcome
        TimeShares, and a bound on `worst_throughput` that rests on the prices in the certificate
        alone. When the time is up before the program is solved: every job in 1/n of the cluster.

    Raises
    ------
    InvalidOption
        A time limit that is not above 0.

    Notes
    -----
    Gavel (OSDI 2020), sections 4.1 and 4.2: a variable for each type and kind of device and each
    pair of types and kind, however many jobs there are.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("accelerators/tiny"), "max-min")
    >>> print(result.status, round(result.objective, 6))
    optimal 0.722222
    """
    unit = entitlements(instance)
    # the part of its steps that the slowest job does in a second, whose inverse is the makespan
    best, value, bound = most_least(instance, unit, Clock(time_limit))
    proved = agree(value, bound, scale(instance, "worst_throughput"))
    status = Status.OPTIMAL if proved else Status.FEASIBLE
    return Outcome(best.solution, bound, status, best.stop, best.certificate)


@validate_options
def makespan(instance: Accelerators, *, time_limit: float | None = None) -> Outcome:
    """Minimize the time until all present jobs have ended (a linear program).

    Parameters
    ----------
    time_limit : seconds.

    Returns
    -------
    Outcome
        TimeShares that stay as they are until the end, and a bound on `makespan` [s].

    Raises
    ------
    InvalidInstance
        The instance has no steps.
    InvalidOption
        A time limit that is not above 0.

    Notes
    -----
    Gavel (OSDI 2020), section 4.2. The bound holds for shares that change in time as well: their
    mean over the time until all have ended are shares that do as well.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("accelerators/tiny"), "makespan")
    >>> print(result.status, round(result.objective, 3))
    optimal 2700.0
    """
    unit = required_steps(instance)
    best, value, bound = most_least(instance, unit, Clock(time_limit))
    status = Status.OPTIMAL if agree(value / bound, 1.0) else Status.FEASIBLE
    least = (1 - ROUNDING) / bound
    return Outcome(best.solution, least, status, best.stop, best.certificate)


@validate_options
def finish_time(instance: Accelerators, *, time_limit: float | None = None) -> Outcome:
    """Minimize the worst finish-time ratio (a few linear programs).

    A job's finish-time ratio is the time from its submission to its end, over what that would be in
    1/n of the cluster.

    Parameters
    ----------
    time_limit : seconds, for all programs together.

    Returns
    -------
    Outcome
        TimeShares, and a bound on `finish_time_ratio` that rests on the prices in the certificate.

    Raises
    ------
    InvalidInstance
        The instance has no steps.
    InvalidOption
        A time limit that is not above 0.

    Notes
    -----
    Themis (NSDI 2020); Gavel (OSDI 2020), section 4.2. A ratio r asks for the throughput
    steps / (r D - elapsed) of each job, D its time in 1/n of the cluster. Prices at which more is
    asked than all is worth rule out r, and so every ratio below the one where both are equal: the
    next to be tried. The optimum is 1 at most.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("accelerators/tiny"), "finish-time")
    >>> print(result.status, round(result.objective, 6))
    optimal 0.737411
    """
    clock, stop = Clock(time_limit), Stop.FINISHED
    ends = _Ends(instance)
    solution = isolated_shares(instance)
    value, bound, proof = float(ends.ratios(solution).max()), 0.0, None
    ratio = ends.at_best
    for _ in range(CUTS):
        found, _, _ = most_least(instance, ends.asked(ratio), clock)
        reached = float(ends.ratios(found.solution).max())
        if reached < value:
            solution, value = found.solution, reached
        if (proved := ends.ruled_out(found.prices)) > bound or proof is None:
            bound, proof = proved, found
        stop = found.stop
        if found.status is not Status.OPTIMAL or agree(value, bound) or bound <= ratio:
            break
        ratio = bound
    assert proof is not None
    status = Status.OPTIMAL if agree(value, bound) else Status.FEASIBLE
    return Outcome(solution, min(bound, value), status, stop, proof.certificate)


class _Ends:
    """Finish-time ratios: throughputs needed for one, those of answers, and those ruled out."""

    def __init__(self, instance: Accelerators) -> None:
        self.instance, self.there = instance, instance.count > 0
        self.steps, self.elapsed = required_steps(instance), instance.elapsed
        self.due = self.elapsed + self.steps / isolated_throughputs(instance)
        with np.errstate(divide="ignore"):
            alone = (self.elapsed + self.steps / fastest_throughputs(instance)) / self.due
        self.at_best = float(alone[self.there].max())

    def asked(self, ratio: float) -> Floats:
        """Throughput (T,) that a job of each type needs for a finish-time ratio."""
        return np.where(self.there, self.steps / (ratio * self.due - self.elapsed), 1.0)

    def ratios(self, solution: TimeShares) -> Floats:
        """Finish-time ratio of the jobs of each type in an answer."""
        found = finish_time_ratios(self.instance, throughputs(self.instance, solution))
        return np.asarray(found[self.there])

    def ruled_out(self, prices: Prices) -> float:
        """Largest finish-time ratio that prices prove to be impossible, rounded down."""
        priced = self.there & (prices.step > 0)
        worth = most_worth(self.instance, prices)
        each = (prices.step * self.instance.count * self.steps)[priced] * (1 - ROUNDING)
        due, elapsed = self.due[priced], self.elapsed[priced]

        def enough(ratio: float) -> bool:
            left = ratio * due - elapsed
            left += ROUNDING * (ratio * due + elapsed)
            return bool((left <= 0).any() or math.fsum(each / left) >= worth)

        low, high = 0.0, 2.0
        while (middle := (low + high) / 2) not in (low, high):
            low, high = (middle, high) if enough(middle) else (low, middle)
        return low
