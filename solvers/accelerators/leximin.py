"""Max-min fairness to the end: what is left is raised after the worst-off jobs are as well off as
they can be; and the same with weights of entities.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ...instances.accelerators.feasible import isolated_shares
from ...instances.accelerators.instance import Accelerators, Booleans, Floats
from ...instances.accelerators.measures import (
    entitlements,
    hierarchical_weights,
    isolated_throughputs,
    scale,
    throughputs,
)
from ...instances.problem.option_types import validate_options
from ...models.accelerators import Prices, share_program
from ..outcome import Clock, Outcome, Status, Stop, agree, level
from .prices import ROUNDING, most_worth
from .programs import (
    SAME,
    Optimum,
    equal_parts,
    fairer,
    most_ratio,
    natural_rates,
    price_lists,
    solved,
)

MAIN = 0.1
"""Types whose multiplier is this fraction of the mean one, or more, are at their most."""


@validate_options
def leximin(
    instance: Accelerators,
    *,
    rng: np.random.Generator | None = None,
    time_limit: float | None = None,
) -> Outcome:
    """The most for the worst-off job, then for the next one, and so on (a linear program a level).

    Parameters
    ----------
    rng : not needed; nothing is drawn.
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
    without its search for the jobs that are at their most: multipliers name them.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("accelerators/tiny"), "leximin")
    >>> [round(level["value"], 6) for level in result.certificate["levels"]]
    [0.722222]
    """
    unit = entitlements(instance)
    filling = _Filling(instance, unit, lambda frozen: np.where(frozen, 0.0, 1.0))
    filling.fill(Clock(time_limit))
    return filling.outcome("worst_throughput", unit)


@validate_options
def hierarchical(
    instance: Accelerators,
    *,
    rng: np.random.Generator | None = None,
    time_limit: float | None = None,
) -> Outcome:
    """Max-min fairness of entities and of the jobs in each (a linear program a level).

    All jobs' normalized throughputs rise, each at the rate of its part of its entity's weight. A
    job that is at its most stays there, and its part goes to the entity's other jobs.

    Parameters
    ----------
    rng : not needed; nothing is drawn.
    time_limit : seconds, for all levels together.

    Returns
    -------
    Outcome
        TimeShares, and a bound on `worst_entity_throughput`, the first level's; the further levels
        stand in `certificate["levels"]`.

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
    unit = entitlements(instance) / instance.weight
    filling = _Filling(instance, unit, lambda frozen: hierarchical_weights(instance, frozen))
    filling.fill(Clock(time_limit))
    return filling.outcome("worst_entity_throughput", unit * hierarchical_weights(instance))


class _Level(NamedTuple):
    """Types that came to their most together, and the prices of the programs that say so."""

    types: list[int]
    prices: list[Prices]


class _Filling:
    """Throughputs that rise together, each until it is at its most."""

    def __init__(
        self, instance: Accelerators, unit: Floats, rates: Callable[[Booleans], Floats]
    ) -> None:
        self.frozen = instance.count == 0
        self.instance, self.unit = instance, isolated_throughputs(instance)
        self.worth: Callable[[Booleans], Floats] = lambda frozen: unit * rates(frozen)
        self.base = np.zeros(instance.types)  # in units, what each job has for sure by now
        self.levels: list[_Level] = []
        self.solution = isolated_shares(instance)
        self.unsettled: Optimum | None = None  # what the time ended
        self.stop = Stop.FINISHED

    def fill(self, clock: Clock) -> None:
        """Raise what is not frozen until all is, or the time is up."""
        instance = self.instance
        while not self.frozen.all():
            rate = natural_rates(instance, self.worth(self.frozen)) * ~self.frozen
            program = share_program(instance, self.unit, floor=self.base, rate=rate)
            found = solved(instance, program, clock)
            self.stop = found.stop
            if found.status is not Status.OPTIMAL:
                self.unsettled = found
                self.levels.append(_Level(np.flatnonzero(~self.frozen).tolist(), [found.prices]))
                break
            self.solution = found.solution
            self._freeze(found, rate)

    def _freeze(self, found: Optimum, rate: Floats) -> None:
        """Note the types that multipliers name, and what all have by now."""
        rising = ~self.frozen
        ratio = throughputs(self.instance, found.solution) / self.unit
        theta = max(0.0, float(((ratio - self.base)[rising] / rate[rising]).min()))
        weight = np.where(rising, found.prices.step * self.instance.count * self.unit * rate, 0.0)
        most = weight >= MAIN * weight.sum() / rising.sum()
        stopped = rising & most & (weight > 0)
        if not stopped.any():  # the multipliers are all 0 by rounding: those that are the lowest
            stopped = rising & (ratio <= (self.base + theta * rate) * (1 + SAME))
        higher = (theta * rate > SAME * self.base)[stopped].any()
        self.base = np.where(rising, self.base + theta * rate, self.base)
        self.frozen = self.frozen | stopped
        if higher or not self.levels:
            self.levels.append(_Level([], []))
        self.levels[-1].types.extend(np.flatnonzero(stopped).tolist())
        self.levels[-1].prices.append(found.prices)

    def outcome(self, objective: str, unit: Floats) -> Outcome:
        """The answer with its levels, in this unit (T,)."""
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
        for types, prices in self.levels:
            before += types
            value = float(ratio[types].min())
            most = np.min([self._most(one, before, ratio, unit) for one in prices], axis=0)
            least = [float(most[types].max())]
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
        """(T,) what a job of a type can have at most, where the others of the types `before` have
        no less.
        """
        worth = prices.step * self.instance.count * unit
        others = np.zeros(len(worth))
        others[before] = (worth * ratio)[before]
        rest = (1 - ROUNDING) * math.fsum(others) - (1 + ROUNDING) * others
        total = most_worth(self.instance, prices) - rest
        most: Floats = np.full(len(worth), np.inf)
        np.divide(total, worth, out=most, where=worth > 0)
        return most
