"""Solved programs of time shares: an answer, and prices that bound all other answers, whatever the
solver's rounding.

Let a step a second of a type be worth s[a], a device y[d] and the time of a job u[a], all 0 or
more, so that no placement is worth more than what it uses: s[a] t <= w y[d] + u[a] for a job alone,
s[a] t + s[b] t' <= w y[d] + u[a] + u[b] for a pair. Then all jobs together have throughputs worth
at most N y + n u, since no more devices and jobs can be used than there are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any

import numpy as np

from ...instances.accelerators.feasible import isolated_shares, proportional_shares
from ...instances.accelerators.instance import Accelerators, Floats, TimeShares
from ...instances.accelerators.measures import isolated_throughputs, throughputs
from ...instances.problem.errors import EngineError
from ...models.accelerators import Prices, share_program
from ..engines import EngineAnswer, solve_refined
from ..outcome import Clock, Status, Stop
from ..prices import ROUNDING
from .mixes import FixedMixes, Terms

LEAST_RATE = 2e-9
"""HiGHS takes coefficients below 1e-9 for 0: a job that is due less is given this much."""

SAME = 1e-9
"""Levels that differ by no more than this fraction are one."""

SMALL = 100
"""Types up to which the program places all."""


@dataclass(frozen=True)
class Optimum:
    """Result of a program of time shares: an answer, and prices that bound every other answer.

    Attributes
    ----------
    solution : every job in its part of the cluster, where the engine had no answer.
    prices : that no placement is worth more than; 0 of devices and jobs before they were raised,
        where the engine had no answer.
    status, stop, message : the engine's.
    """

    solution: TimeShares
    prices: Prices
    status: Status
    stop: Stop
    message: str

    @property
    def certificate(self) -> dict[str, Any]:
        """Certificate entries: the prices, and the engine's message if it did not finish."""
        ended = self.status is Status.OPTIMAL
        return {"prices": price_lists(self.prices)} | ({} if ended else {"engine": self.message})


def price_lists(prices: Prices) -> dict[str, list[float]]:
    """Prices as JSON values."""
    return {name: value.tolist() for name, value in prices._asdict().items()}


def covering(instance: Accelerators, prices: Prices, rent: Floats | float = 0.0) -> Prices:
    """Raise job prices by the least amount such that no placement is worth more than the devices
    and jobs it uses, if a device in use also costs the `rent` (D,) of its kind.
    """
    first, second, device, first_rate, second_rate, workers = instance.placements
    pair = second >= 0
    step, job = prices.step, prices.job.copy()
    worth = step[first] * first_rate + np.where(pair, step[second] * second_rate, 0.0)
    used = workers * (prices.device + rent)[device]
    used = used + job[first] + np.where(pair, job[second], 0.0)
    short = worth - used + ROUNDING * (worth + used)
    same = first == second
    np.maximum.at(job, first, np.where(short > 0, (short / (1 + same) + job[first]), 0.0))
    return prices._replace(job=job)


def most_worth(instance: Accelerators, prices: Prices) -> float:
    """Upper bound on the total worth of all jobs' throughputs at `covering` prices, rounded up."""
    total = math.fsum(prices.device * instance.devices) + math.fsum(prices.job * instance.count)
    return total * (1 + ROUNDING)


def solved(instance: Accelerators, terms: Terms, clock: Clock) -> Optimum:
    """Solve a program of time shares, with most types' mixes of devices fixed if types are many."""
    unit, floor, rate, *_ = terms
    # 1. of many types that run alone most have the mix that is cheapest at the best prices
    many = instance.together is None and instance.types > SMALL and not clock.expired
    many = many and bool((floor * unit <= instance.alone.max(axis=1)).all())
    fixed = FixedMixes(instance, terms, clock) if many else None
    if fixed is not None and rate is not None and fixed.at_most.any():
        # devices are enough for the most that some job can have: what is quickest is there
        most = Terms(unit, floor + fixed.theta * rate, rent=1 / fixed.devices)
        step = np.zeros(instance.types)
        step[fixed.at_most] = 1 / (fixed.count * fixed.rate)[fixed.at_most] / fixed.at_most.sum()
        prices = Prices(step, np.zeros(len(fixed.devices)), np.zeros(len(step)))
        return replace(solved(instance, most, clock), prices=covering(instance, prices))
    while True:
        # 2. the program of the others
        found = _solved(instance, terms, clock, fixed)
        if fixed is None or found.stop is not Stop.FINISHED:
            return found
        # 3. mixes that use too much, or that others beat at its prices, are not fixed
        if not (fixed.enlarge() if found.status is Status.INFEASIBLE else fixed.again):
            return found


def _solved(
    instance: Accelerators, terms: Terms, clock: Clock, fixed: FixedMixes | None
) -> Optimum:
    """Solve the program of time shares while some types keep a fixed mix of kinds of device."""
    unit, floor, rate, gain, rent, _ = terms
    cost, (first, second, device, one, two, workers) = None, instance.placements
    if rate is None:
        gains = np.broadcast_to(gain, unit.shape)
        worth = gains[first] * one + np.where(second >= 0, gains[second] * two, 0.0)
        cost = workers * np.broadcast_to(rent, instance.devices.shape)[device] - worth
    types, others = (None, None) if fixed is None else (np.flatnonzero(fixed.free), fixed.uses())
    program = share_program(
        instance, unit, floor=floor, rate=rate, cost=cost, types=types, others=others
    )
    status, stop, message = Status.UNKNOWN, Stop.TIME_LIMIT, "the time was up"
    answer: EngineAnswer | None = None
    solution, prices = isolated_shares(instance), None
    if not clock.expired:
        try:
            answer = solve_refined(program.program, time_limit=clock.left)
            status, stop, message = answer.status, answer.stop, answer.message
        except EngineError as error:
            stop, message = Stop.FINISHED, str(error)
    if answer is not None and answer.point is not None and answer.row_dual is not None:
        prices = program.prices(instance, answer.row_dual)
        if fixed is not None:
            fixed.move(prices, 0.0 if program.theta is None else float(answer.point[program.theta]))
        rows = None if fixed is None else fixed.rows()
        solution = program.answer(instance, answer.point, rows)
    if prices is None or (rate is not None and not prices.step.any()):
        share = np.zeros(instance.types)
        if rate is not None:
            share = (instance.count > 0) / (unit * instance.jobs)
        prices = Prices(share, np.zeros(len(instance.devices)), np.zeros(instance.types))
    prices = covering(instance, prices._replace(step=prices.step + gain), rent)
    return Optimum(solution, prices, status, stop, message)


def least_ratio(instance: Accelerators, solution: TimeShares, unit: Floats) -> float:
    """Least throughput of a job, in the unit (T,) of its type."""
    ratio = throughputs(instance, solution) / unit
    return float(ratio[instance.count > 0].min())


def most_ratio(instance: Accelerators, prices: Prices, unit: Floats) -> float:
    """Upper bound on the least ratio of throughput to `unit`, from the prices of all devices."""
    worth = math.fsum(prices.step * instance.count * unit)
    return most_worth(instance, prices) / (worth * (1 - ROUNDING)) if worth > 0 else np.inf


def natural_rates(instance: Accelerators, unit: Floats) -> Floats:
    """(T,) `unit` of each type divided by a job's throughput in an equal part of the cluster. The
    largest is scaled to 1: program values are then near 1, and the engine's tolerances small.
    """
    part = np.where(instance.count > 0, unit / isolated_throughputs(instance), 0.0)
    return np.asarray(np.maximum(part / part.max(), LEAST_RATE))


def most_least(instance: Accelerators, unit: Floats, clock: Clock) -> tuple[Optimum, float, float]:
    """Maximize the least throughput of a job in its unit (T,); return optimum, value and bound."""
    rate = natural_rates(instance, unit)
    terms = Terms(isolated_throughputs(instance), np.zeros(len(rate)), rate)
    best = solved(instance, terms, clock)
    unsure = () if best.status is Status.OPTIMAL else equal_parts(instance)
    answers = (best.solution, *unsure)
    value, solution = max(
        ((least_ratio(instance, each, unit), each) for each in answers), key=itemgetter(0)
    )
    best = replace(best, solution=solution)
    return best, value, max(value, most_ratio(instance, best.prices, unit))


def equal_parts(instance: Accelerators) -> tuple[TimeShares, TimeShares]:
    """Starting answers without a solver: isolated and proportional shares."""
    return isolated_shares(instance), proportional_shares(instance)


def fairer(instance: Accelerators, one: TimeShares, other: TimeShares, unit: Floats) -> bool:
    """Whether the first of two time shares is leximin-better: at the lowest place where the jobs'
    sorted throughputs, in units (T,), differ, it has the larger one.
    """
    ratios = [throughputs(instance, each) / unit for each in (one, other)]
    orders = [np.argsort(ratio, kind="stable") for ratio in ratios]
    ends = [np.cumsum(instance.count[order]) for order in orders]
    jobs = np.unique(np.concatenate([[0], *ends]))[:-1]  # the first of each run of equal jobs
    mine, theirs = (
        ratio[order][np.searchsorted(end, jobs, side="right")]
        for ratio, order, end in zip(ratios, orders, ends, strict=True)
    )
    differ = np.flatnonzero(abs(mine - theirs) > SAME * np.maximum(mine, theirs))
    return bool(len(differ) and mine[differ[0]] > theirs[differ[0]])
