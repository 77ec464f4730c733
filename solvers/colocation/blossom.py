"""Least total penalty of different agents: a minimum-weight matching by the blossom algorithm; and
lower bounds on the mean penalty without a program.

Penalties become whole numbers: decimals exactly, longer ones rounded down.
"""

from __future__ import annotations

import math

import numpy as np

from ...instances.colocation.instance import Colocation, Floats, Integers, Pairing, blocks
from ...instances.colocation.objective import mean_penalty, scale
from ..blossom import MATCHED_FROM, Blossoms, parts
from ..incumbent import Incumbent
from ..outcome import Clock
from .common import PROGRAM_LIMITS, ProgramLimits

DECIMALS, BITS = 15, 56
"""Digits of penalties up to which they are exact, and to how many bits of the largest longer ones
are rounded down.
"""

FRACTIONAL_UP_TO = 2000
"""Different agents up to which a fractional matching bounds the penalty: its time grows with their
cube.
"""


class TotalPenalty(Incumbent[Pairing, float]):
    """Incumbent and bound of the total penalty over all agents; its outcome has mean penalties."""

    best: Pairing

    def __init__(self, instance: Colocation, start: Pairing, clock: Clock) -> None:
        agents = instance.agents
        super().__init__(
            instance, clock, lambda pairing: mean_penalty(instance, pairing) * agents,
            scale=scale(instance, "penalty") * agents, shown=lambda total: total / agents,
        )  # fmt: skip
        self.instance = instance
        self.begin(start)


class Matched(TotalPenalty):
    """Incumbent of least total penalty, and the bound that dual multipliers prove.

    Attributes
    ----------
    blossoms : the search, when it has begun; its multipliers are in `over` parts of a penalty of 1.
    most_free : the share of agents that may be without partner at the first prices.
    """

    most_free = 0.5
    blossoms: Blossoms | None = None
    over = 1

    @property
    def suited(self) -> bool:
        """Whether the blossom algorithm is the fastest method for the instance, or the only one."""
        found = self.blossoms
        return self.instance.distinct and (found is None or found.suited)

    def search(self) -> None:
        """Match until the incumbent is proved optimal or the time is up."""
        if not self.suited or self.clock.expired:
            return
        cost, alone, self.over = self.costs()
        everyone = np.arange(self.instance.agents)

        def offer(mate: Integers) -> None:
            self.offer(Pairing.from_partners(everyone, mate, len(mate)), "blossoms")

        self.blossoms = Blossoms(
            cost, alone, int(self.instance.singles_allowed), self.best.partners(self.instance),
            self.clock, most_free=self.most_free, offer=offer,
            prove=lambda bound: self.raise_bound(bound / self.over, "pricing"),
        )  # fmt: skip
        self.blossoms.search()

    def costs(self) -> tuple[Integers, int, int]:
        """Integer costs of pairs (n, n) and of a single agent, and the parts of a penalty of 1."""
        from .. import blossom_kernels as kernels

        instance, alone = self.instance, self.instance.single_penalty
        digits = kernels.decimals(instance.penalty, instance.allowed, DECIMALS)
        while digits <= DECIMALS and round(alone * 10.0**digits) / 10.0**digits != alone:
            digits += 1
        number = parts(instance.agents, int(instance.singles_allowed))
        unit = 10.0**digits
        if digits > DECIMALS:
            bits = BITS - number // 2 - math.frexp(instance.largest_penalty)[1]
            unit = 2.0 ** min(bits, 1000)
        cost = np.empty((instance.agents, instance.agents), dtype=np.int64)
        kernels.costs(instance.penalty, instance.allowed, unit, number, cost)
        whole = round(alone * unit) if digits <= DECIMALS else alone * unit
        return cost, number * math.floor(whole), number * int(unit)


def least_penalty_bound(
    instance: Colocation,
    seconds: float | None = None,
    limits: ProgramLimits = PROGRAM_LIMITS,
    start: Pairing | None = None,
) -> float:
    """Lower bound on the mean penalty of any pairing.

    Parameters
    ----------
    seconds : what it may take; a fractional matching, which looks at no clock, is left out where it
        could take more.
    start : a pairing of the agents, from which large numbers of different ones are matched; their
        bound is then the least penalty itself.
    """
    large = start is not None and instance.agents >= MATCHED_FROM and instance.distinct
    if start is not None and large and (seconds is None or seconds > 0):
        search = Matched(instance, start, Clock(seconds))
        search.search()
        if search.suited and np.isfinite(search.bound):
            return search.bound / instance.agents
    present = instance.count > 0
    matched = instance.distinct and instance.singles_allowed == 0
    in_time = seconds is None or limits.agent_cubed * instance.types**3 <= seconds
    if matched and in_time and instance.types <= FRACTIONAL_UP_TO:
        return _fractional_bound(np.where(instance.allowed, instance.penalty, np.inf))
    best = np.full(instance.types, np.inf)  # everyone beside the partner it likes best, or alone
    for rows in blocks(instance.types):
        usable = instance.allowed[rows] & present
        best[rows] = np.where(usable, instance.penalty[rows], np.inf).min(axis=1)
    if instance.singles_allowed > 0:
        best = np.minimum(best, instance.single_penalty)
    return float(best[present] @ instance.count[present]) / instance.agents


def _fractional_bound(cost: Floats) -> float:
    """Least mean penalty of a fractional perfect matching: an assignment of agents to partners in
    both directions.
    """
    from scipy.optimize import linear_sum_assignment

    both = np.where(
        np.isfinite(cost) & np.isfinite(cost.T), (cost + cost.T) / 2, len(cost) * 4.0
    )  # dearer than any without
    row, column = linear_sum_assignment(both)
    return float(both[row, column].mean())
