"""Least total penalty of different agents: a minimum-weight matching by the blossom algorithm.

Penalties become whole numbers: decimals exactly, longer ones rounded down.
"""

from __future__ import annotations

import math

import numpy as np

from ...instances.colocation.instance import Colocation, Integers, Pairing
from ...instances.colocation.objective import mean_penalty, scale
from ..blossom import Blossoms, parts
from ..incumbent import Incumbent
from ..outcome import Clock

DECIMALS, BITS = 15, 56
"""Digits of penalties up to which they are exact, and to how many bits of the largest longer ones
are rounded down.
"""


class TotalPenalty(Incumbent[Pairing, float]):
    """Incumbent and bound of the total penalty over all agents; the outcome has mean values."""

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
        """Costs of pairs (n, n) and of single agents as integers, and their scale."""
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
