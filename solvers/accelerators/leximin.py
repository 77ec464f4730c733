"""Leximin fairness of accelerators: after the worst-off jobs reach their maximum the others are
raised further; also with weights of entities.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from typing import Any, NamedTuple

import numpy as np

from ...instances.accelerators.feasible import isolated_shares
from ...instances.accelerators.instance import Accelerators, Booleans, Floats, Integers
from ...instances.accelerators.measures import (
    entitlements,
    hierarchical_weights,
    isolated_throughputs,
    scale,
    throughputs,
)
from ...instances.problem.option_types import validate_options
from ...models.accelerators import Prices
from ..outcome import Clock, Outcome, Status, Stop, agree, level
from ..prices import ROUNDING
from .mixes import Terms
from .programs import (
    SAME,
    Optimum,
    covering,
    equal_parts,
    fairer,
    most_ratio,
    most_worth,
    natural_rates,
    price_lists,
    solved,
)

MAIN = 0.1
"""Types whose multiplier is this fraction of the mean one, or more, are at their most."""

CLOSE = 1e-12
"""Jobs that reach all but this part of what they are raised to have reached it."""


@validate_options
def leximin(instance: Accelerators, *, time_limit: float | None = None) -> Outcome:
    """Maximize the throughput of the worst-off job, then of the next one, and so on (some linear
    programs for each level at which a kind of device is used up).

    Parameters
    ----------
    time_limit : seconds, for all levels together.

    Returns
    -------
    Outcome
        TimeShares, and a bound on `worst_throughput`. `certificate["levels"]` has, for each level,
        the least normalized throughput of its types, and what none of them can have more than
        unless a job of this level or of one before it has less, with the prices that prove it.

    Raises
    ------
    InvalidOption
        A time limit that is not above 0.

    Notes
    -----
    Of the answers to `max-min` the one that Gavel (OSDI 2020, section 4.3) calls water filling,
    without its search for the jobs that are at their most: multipliers name them. A job that runs
    all its time on the fastest kind that is not used up is at its most without a program. A kind
    that has a price is used up for good, by jobs of this level and of those before: those that rise
    further have no use of it. So there are no more levels with prices than kinds, without pairs.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("accelerators/tiny"), "leximin")
    >>> [round(level["value"], 6) for level in result.certificate["levels"]]
    [0.722222]
    """
    unit = entitlements(instance)
    filling = Filling(instance, unit)
    filling.fill(Clock(time_limit))
    return filling.outcome("worst_throughput", unit)


@validate_options
def hierarchical(instance: Accelerators, *, time_limit: float | None = None) -> Outcome:
    """Max-min fairness of entities and of the jobs in each (some linear programs for each level at
    which a kind of device is used up).

    All jobs' normalized throughputs rise, each at the rate of its part of its entity's weight. A
    job that is at its most stays there, and its part goes to the entity's other jobs.

    Parameters
    ----------
    time_limit : seconds, for all levels together.

    Returns
    -------
    Outcome
        TimeShares, and a bound on `worst_entity_throughput`, the first level's; the further levels
        stand in `certificate["levels"]`. The bound of a level is the least throughput of its types
        times the largest factor by which one of them could have more.

    Raises
    ------
    InvalidInstance
        The instance has no entities.
    InvalidOption
        A time limit that is not above 0.

    Notes
    -----
    Gavel (OSDI 2020), section 4.3, fairness on both levels. Nobody's throughput falls when a weight
    is divided anew.

    Examples
    --------
    >>> import cotenant
    >>> instance = cotenant.read("accelerators/tiny")
    >>> result = cotenant.solve(instance, "hierarchical")
    >>> print(result.status, round(result.objective, 3))
    optimal 0.889
    """
    unit = entitlements(instance)
    each = unit / instance.weight * hierarchical_weights(instance)
    filling = Filling(instance, unit, entities=True)
    filling.fill(Clock(time_limit))
    return filling.outcome("worst_entity_throughput", each)


class _Level(NamedTuple):
    """Types that reached their maximum together, and the prices of the programs that prove it."""

    types: list[int]
    prices: list[Prices]
    time: float = math.inf


class _Path:
    """Throughputs (T,) of the types while all grow together, as a function of a common time. Each
    stops at its cap.

    Attributes
    ----------
    full : (T,) the time after which a job that rises is at its cap.
    """

    def __init__(self, filling: Filling, cap: Floats) -> None:
        instance, rising = filling.instance, ~filling.frozen
        self.base, self.rate = filling.base, filling.rate * rising
        self.room = np.where(rising, cap - self.base, 0.0)
        self.full = np.where(rising, self.room / filling.rate, 0.0)
        # by entities: how far each has risen, in a time, is known where its next job is full
        self.steps = list[tuple[Integers, Floats, Floats]]()
        if not filling.entities or instance.entity is None or instance.entity_weight is None:
            return
        heights = self.full.copy()
        for entity, weight in enumerate(instance.entity_weight):
            own = np.flatnonzero(rising & (instance.entity == entity))
            own = own[np.argsort(heights[own], kind="stable")]
            parts = (instance.count * instance.weight)[own] / weight
            left = np.cumsum(parts[::-1])[::-1]
            height = np.append(0.0, heights[own])
            times = np.append(0.0, np.cumsum(left * np.diff(height)))
            self.full[own] = times[1:]
            self.steps.append((own, times, height))

    def at(self, time: float) -> Floats:
        """Throughput (T,) of a job of each type once throughputs have increased together for
        `time`. In units of the type's `unit`.
        """
        height = np.full(len(self.rate), time)
        for own, times, heights in self.steps:
            height[own] = np.interp(time, times, heights)
        return np.asarray(self.base + np.minimum(self.rate * height, self.room))


class Filling:
    """Water filling: all throughputs rise together, and each type is frozen at its maximum.

    Attributes
    ----------
    time : until now; in a time of 1 a job rises by its rate, or, by entities, the jobs of each by
        its weight over that of all that still rise.
    base : (T,) what each job has for sure by now, in units.
    frozen : (T,) types that are at their most.
    """

    def __init__(self, instance: Accelerators, unit: Floats, *, entities: bool = False) -> None:
        self.frozen = instance.count == 0
        self.instance, self.unit = instance, isolated_throughputs(instance)
        self.rate, self.entities = natural_rates(instance, unit), entities
        self.time, self.base = 0.0, np.zeros(instance.types)
        self.levels: list[_Level] = []
        self.solution = isolated_shares(instance)
        self.unsettled: Optimum | None = None  # what the time ended
        self.stop = Stop.FINISHED

    def fill(self, clock: Clock) -> None:
        """Raise the throughputs of all types that are not frozen, each job at most to its fastest
        placement, until every type is frozen or time is up.
        """
        instance = self.instance
        kinds, types = len(instance.devices), instance.types
        earlier = Prices(np.zeros(types), np.zeros(kinds), np.zeros(types))  # of all levels so far
        price: Floats | None = None
        while not self.frozen.all():
            rising, last, part = ~self.frozen, None, 1.0
            # 1. the latest time that prices do not rule out, from above (Newton's method)
            cap = np.maximum(self._fastest(earlier) / self.unit, self.base)
            path = _Path(self, cap)
            time = float(path.full[rising].max())
            while True:
                goal = path.at(time)
                more = np.where(rising & (goal > self.base * (1 + SAME)), goal - self.base, 0.0)
                if not more.any():  # they were at their most with those before
                    break
                terms = Terms(self.unit, self.base, more, price=price)
                found = solved(instance, terms, clock)
                price = found.prices.device
                self.stop = found.stop
                if found.status is not Status.OPTIMAL:
                    self.unsettled = found
                    left = np.flatnonzero(rising).tolist()
                    self.levels.append(_Level(left, [last or found.prices]))
                    return
                self.solution = found.solution
                ratio = throughputs(instance, found.solution) / self.unit
                part = float(((ratio - self.base)[more > 0] / more[more > 0]).min(initial=1.0))
                if part >= 1 - CLOSE:
                    break
                last, before = found.prices, time
                time = self._allowed(last, path)
                if time >= before:
                    break
            # 2. who is at its most: at its fastest placement, or by these prices
            self.base = np.where(rising, self.base + min(part, 1.0) * more, self.base)
            full = rising & (goal >= cap * (1 - SAME))
            weight = np.where(rising & ~full, 0.0 if last is None else last.step, 0.0)
            weight *= instance.count * self.unit * self.rate
            stopped = (weight > 0) & (weight >= MAIN * weight.sum() / rising.sum())
            if not (full | stopped).any():
                stopped = rising
            # 3. the levels, the lowest first
            every = np.flatnonzero(full)
            every = every[np.argsort(path.full[every], kind="stable")]
            times = path.full[every]
            for group in np.split(every, np.flatnonzero(np.diff(times) > SAME * times[:-1]) + 1):
                if len(group):
                    prices = self._at_fastest(earlier, group, cap)
                    self._add(group, prices, self.time + path.full[group[0]])
            if last is not None:
                earlier = Prices(*(one + two for one, two in zip(earlier, last, strict=True)))
            if stopped.any():
                prices = found.prices if last is None else earlier
                self._add(np.flatnonzero(stopped), prices, self.time + time)
            self.time, self.frozen = self.time + time, self.frozen | full | stopped

    def _add(self, types: Integers, prices: Prices, time: float) -> None:
        """Add a level: the types whose throughput reached its maximum when all had grown for
        `time`. The last level is extended if its time is the same.
        """
        if not self.levels or time > self.levels[-1].time * (1 + SAME):
            self.levels.append(_Level([], [], time))
        self.levels[-1].types.extend(types.tolist())
        self.levels[-1].prices.append(prices)

    def _fastest(self, earlier: Prices) -> Floats:
        """(T,) most steps a second of a job on kinds of devices that are not used up."""
        first, second, device, first_rate, second_rate, _ = self.instance.placements
        free = ~self._used_up(earlier)[device]
        pair = free & (second >= 0)
        fastest = np.zeros(self.instance.types)
        np.maximum.at(fastest, first[free], first_rate[free])
        np.maximum.at(fastest, second[pair], second_rate[pair])
        return fastest

    def _used_up(self, earlier: Prices) -> Booleans:
        """Whether the devices of each kind (D,) are used up, which a positive price shows. With
        space sharing the answer is no for all, since a job may run beside another that pays.
        """
        if self.instance.together is not None:
            return np.zeros(len(earlier.device), dtype=bool)
        worth = earlier.device * self.instance.devices
        return np.asarray(worth > SAME * worth.sum())

    def _allowed(self, prices: Prices, path: _Path) -> float:
        """Latest time of the common increase at which the throughputs, at these prices, are worth
        no more than all devices and all time of the jobs.
        """
        worth = prices.step * self.instance.count * self.unit
        spare = most_worth(self.instance, prices)
        times = np.unique(np.append(path.full[~self.frozen], 0.0))
        after = bisect_right(times, spare, key=lambda time: math.fsum(worth * path.at(time)))
        if after in (0, len(times)):
            return float(times[max(after - 1, 0)])
        ends = times[after - 1 : after + 1]
        return float(np.interp(spare, [math.fsum(worth * path.at(end)) for end in ends], ends))

    def _at_fastest(self, earlier: Prices, types: Integers, cap: Floats) -> Prices:
        """Prices by which no job of the given types exceeds its cap (T,), with the `earlier` ones
        of used-up kinds. Steps beyond the cap are worth no more than placements on these kinds
        cost.
        """
        instance, most = self.instance, cap * self.unit
        step, job = earlier.step.copy(), earlier.job.copy()
        first, second, device, rate, _, workers = instance.placements
        step[types] = 1 / (self.unit * np.maximum(instance.count, 1))[types]
        beyond = rate - most[first]
        dear = (second < 0) & self._used_up(earlier)[device] & (beyond > 0) & np.isin(first, types)
        paid = (workers * earlier.device[device])[dear] / beyond[dear]
        np.minimum.at(step, first[dear], paid)
        job[types] = (step * most)[types]
        return covering(instance, Prices(step, earlier.device, job))

    def outcome(self, objective: str, unit: Floats) -> Outcome:
        """Outcome of the water filling: time shares, and for each level its types, value, bound and
        prices, measured in the unit (T,) of each type.
        """
        instance, solution, certificate = self.instance, self.solution, dict[str, Any]()
        if self.unsettled is not None:
            certificate["engine"] = self.unsettled.message
            for each in (self.unsettled.solution, *equal_parts(instance)):
                kept = (throughputs(instance, each) >= self.base * self.unit * (1 - SAME)).all()
                if kept and fairer(instance, each, solution, unit):
                    solution = each
        ratio = throughputs(instance, solution) / unit
        levels, before = list[dict[str, Any]](), list[int]()
        size = scale(instance, objective)
        for types, prices, _ in self.levels:
            before += types
            value = float(ratio[types].min())
            most = np.min([self._most(one, before, ratio, unit) for one in prices], axis=0)
            apart = self.entities and value > 0  # with jobs of entities at different throughputs
            factor = most[types] / ratio[types] * value if apart else most[types]
            least = [float(factor.max())]
            if not levels:  # the least of all jobs is also bounded by what all of it is worth
                least += [most_ratio(instance, one, unit) for one in prices]
            bound = max(value, min(least)) if min(least) < np.inf else None
            name = "next_throughput" if levels else objective
            proved = bound is not None and agree(value, bound, max(size, value))
            stated = level(name, value, bound, proved)
            stated["types"] = [instance.names[kind] for kind in types]
            levels.append(stated | {"prices": [price_lists(one) for one in prices]})
        certificate["levels"], first = levels, levels[0]
        return Outcome(solution, first["bound"], Status(first["status"]), self.stop, certificate)

    def _most(self, prices: Prices, before: list[int], ratio: Floats, unit: Floats) -> Floats:
        """Upper bounds (T,), by dual prices, on jobs' throughputs if types `before` keep theirs."""
        worth = prices.step * self.instance.count * unit
        others = np.zeros(len(worth))
        others[before] = (worth * ratio)[before]
        rest = (1 - ROUNDING) * math.fsum(others) - (1 + ROUNDING) * others
        total = most_worth(self.instance, prices) - rest
        most: Floats = np.full(len(worth), np.inf)
        np.divide(total, worth, out=most, where=worth > 0)
        return most
