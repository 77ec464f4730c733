"""The equilibrium of Hylland and Zeckhauser: prices of time on devices, and each job's best lottery
within its budget.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from ...instances.accelerators.answer import TimeShares
from ...instances.accelerators.equilibrium import (
    Budget,
    Reply,
    Residuals,
    best_reply,
    budgets,
    residuals,
    residuals_of,
)
from ...instances.accelerators.feasible import isolated_shares, within_limits
from ...instances.accelerators.instance import Accelerators, Floats
from ...instances.problem.option_types import Above, AtLeast, validate_options
from ..outcome import Clock, Outcome, Report, Status, Stop
from .simplices import NoPath, Simplex, follow_path

_MESH, _FINER, _FINEST = 0.5, 0.1, 1e-13
"""The first mesh of a search, how much finer the next is, and the last."""

_GOAL = 0.1
"""Part of the tolerance that is aimed at."""

_PIVOTS = 100
"""Pivots of a path at most for each kind of device, of three at least; most take a dozen in all."""

_FIRST = 0.7
"""Where the first path begins; prices are about 1 where devices and jobs are about as many."""


@validate_options
def hylland_zeckhauser(
    instance: Accelerators,
    *,
    rng: np.random.Generator | None = None,
    time_limit: float | None = None,
    report: Report | None = None,
    budget: Budget = "equal",
    tolerance: Annotated[float, Above(0, "an error", most=1)] = 1e-8,
    starts: Annotated[int, AtLeast(1)] = 20,
) -> Outcome:
    """Find an equilibrium of Hylland and Zeckhauser: prices at which everybody's best time shares
    within its budget use exactly what has a price.

    The market is one of a few prices, however many jobs there are. Demand jumps where a type is
    indifferent, so a path of simplices is followed (`simplices`) with ever finer meshes; in the
    last one jobs have the average of what they demand at its corners. There may be several
    equilibria; this is one. Jobs run alone.

    Parameters
    ----------
    rng : draws where searches begin after the first.
    time_limit : seconds; the best answer so far is returned when they are up.
    budget : the same for every job, or its weight.
    tolerance : largest clearing error, overspending and regret, all relative, that may be called
        an equilibrium.
    starts : searches at most, as long as the tolerance is not met.

    Returns
    -------
    Outcome
        TimeShares with prices in units of the budget. Its bound is 0, what `equilibrium_error` is
        at an equilibrium, when the tolerance is met; else None.

    Raises
    ------
    InvalidOption
        An option is out of range.

    Notes
    -----
    A pivot takes O(T D^2), their number grows quickly with D. With equal budgets, and one worker
    for each job, nobody envies another: what another has it could have bought. Hylland and
    Zeckhauser, Journal of Political Economy 87(2), 1979.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("accelerators/tiny"), "hylland-zeckhauser")
    >>> print(result.status, result.solution.price.round(3).tolist())
    optimal [2.0, 2.0]
    """
    clock, market = Clock(time_limit, report), _Market(instance, budget)
    draw, size = rng or np.random.default_rng(0), len(market.supply)
    best: Simplex | None = None
    error, stop, searches = np.inf, Stop.FINISHED, 0

    def excess(point: Floats) -> Floats:
        if clock.expired:
            raise NoPath("the time is up")
        return market.excess(point)

    try:
        while searches < starts and error > tolerance and not clock.expired:
            center = draw.uniform(0, 3 * _FIRST, size) if searches else np.full(size, _FIRST)
            mesh = _MESH * (draw.uniform(0.1, 1) if searches else 1)
            searches += 1
            while mesh > _FINEST and error > _GOAL * tolerance and not clock.expired:
                try:
                    simplex = follow_path(excess, center, mesh, _PIVOTS * max(size, 3))
                except NoPath:
                    break
                center, mesh = simplex.center, mesh * _FINER
                if (found := market.residuals(simplex).worst) < error:
                    best, error = simplex, found
                    clock.note(error, None, f"mesh {mesh:.0e}")
        if clock.expired:
            stop = Stop.TIME_LIMIT
    except KeyboardInterrupt:
        stop = Stop.INTERRUPTED
    answer = market.free() if best is None else market.answer(best)
    proved = residuals(instance, answer, budget=budget)
    assert proved is not None
    met = proved.worst <= tolerance
    return Outcome(
        answer,
        0.0 if met else None,
        Status.OPTIMAL if met else Status.FEASIBLE,
        stop,
        {**proved.document(), "tolerance": tolerance, "searches": searches},
        tuple(clock.trace),
        tolerance=tolerance if met else None,
    )


class _Market:
    """What a price brings about. A point y of the search stands for the price y between 0 and 1,
    exp(y - 1) above, and 0 below, where -y is the part of the supply that may be left over.

    Attributes
    ----------
    types, kinds : those that there are jobs and devices of.
    value : (T, D) throughput alone, of each type's largest.
    amount : (T,) devices that the jobs of each type need at a time.
    budget : (T,) for each worker, 1 on average over what they need.
    supply : (D,) devices.
    """

    def __init__(self, instance: Accelerators, budget: Budget) -> None:
        self.instance = instance
        self.types = np.flatnonzero(instance.count)
        self.kinds = np.flatnonzero(instance.devices)
        value = instance.alone[np.ix_(self.types, self.kinds)]
        self.value = value / value.max(axis=1, keepdims=True)
        self.amount = (instance.count * instance.workers)[self.types].astype(float)
        money = budgets(instance, budget)[self.types]
        self.unit = float(self.amount @ money / self.amount.sum())
        self.budget = money / self.unit
        self.supply = instance.devices[self.kinds].astype(float)

    def price(self, point: Floats) -> Floats:
        """(D,) the prices that a point stands for."""
        return np.where(point <= 1, np.maximum(point, 0.0), np.exp(np.minimum(point, 60.0) - 1))

    def reply(self, point: Floats) -> Reply:
        """What every job does best at these prices."""
        return best_reply(self.value, self.price(point), self.budget)

    def excess(self, point: Floats) -> Floats:
        """(D,) what is left over of the supply, as a part of it, less what may be."""
        _, low, high, part = self.reply(point)
        size = len(self.supply) + 1
        used = np.bincount(low, self.amount * (1 - part), size)
        used += np.bincount(high, self.amount * part, size)
        return np.asarray(1 - used[:-1] / self.supply + np.minimum(point, 0.0))

    def lottery(self, simplex: Simplex) -> tuple[Floats, Floats]:
        """(T, D) parts of each job's time and (D,) prices: averages over the corners."""
        parts = np.zeros((len(self.types), len(self.supply) + 1))
        rows = np.arange(len(self.types))
        for weight, point in zip(simplex.weights.tolist(), simplex.points, strict=True):
            _, low, high, part = self.reply(point)
            parts[rows, low] += weight * (1 - part)
            parts[rows, high] += weight * part
        price = simplex.weights @ np.array([self.price(point) for point in simplex.points])
        return parts[:, :-1], np.where((simplex.points <= 0).any(axis=0), 0.0, price)

    def residuals(self, simplex: Simplex) -> Residuals:
        """How far a simplex is from an equilibrium."""
        part, price = self.lottery(simplex)
        return residuals_of(part, self.value, price, self.budget, self.amount, self.supply)

    def answer(self, simplex: Simplex) -> TimeShares:
        """The time shares of a simplex, and its prices."""
        part, found = self.lottery(simplex)
        price = np.zeros(len(self.instance.devices))
        price[self.kinds] = found * self.unit
        row, kind = np.nonzero(part)
        first, share = self.types[row], part[row, kind] * self.instance.count[self.types[row]]
        nobody = np.full(len(row), -1)
        answer = within_limits(self.instance, first, nobody, self.kinds[kind], share)
        return answer.replace(price=price)

    def free(self) -> TimeShares:
        """An answer for want of a better one: everybody's own part of the cluster, at no price."""
        price = np.zeros(len(self.instance.devices))
        return isolated_shares(self.instance).replace(price=price)
