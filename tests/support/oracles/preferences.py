"""Every matching of a few agents with preference lists, and properties of matchings by definition.
Uses an instance's data and none of its methods.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np

from .matchings import every_matching

Partners = list[int]


class Everything:
    """All feasible matchings of an instance of different agents; -1 is no partner, the worst
    outcome.
    """

    def __init__(self, instance: Any, alpha: float = 0.0) -> None:
        penalty = instance.penalty.tolist()
        self.agents, self.alpha = range(len(penalty)), alpha
        self.may = {
            (i, j)
            for i in self.agents
            for j in self.agents
            if i != j and math.isfinite(penalty[i][j]) and math.isfinite(penalty[j][i])
        }
        self.penalty, self.alone = penalty, instance.unpaired
        self.matchings: list[Partners] = [
            partner
            for partner in every_matching(len(penalty)).tolist()
            if all(j < 0 or (i, j) in self.may for i, j in enumerate(partner))
            and (self.alone is not None or -1 not in partner)
        ]

    def cost(self, i: int, j: int) -> float:
        """Cost of agent i beside j."""
        return 2.0 if j < 0 else float(self.penalty[i][j])

    def blocking(self, partner: Partners) -> list[tuple[int, int]]:
        """Pairs who both gain more than alpha."""

        def gains(i: int, j: int) -> bool:
            return round(self.cost(i, partner[i]) - self.penalty[i][j] - self.alpha, 12) > 0

        return [(i, j) for i, j in self.may if i < j and gains(i, j) and gains(j, i)]

    def blocking_agents(self, partner: Partners) -> int:
        """Number of agents in a blocking pair."""
        return len({i for pair in self.blocking(partner) for i in pair})

    def most_blocking(self, partner: Partners) -> int:
        """Maximum number of blocking pairs of one agent."""
        pairs = [i for pair in self.blocking(partner) for i in pair]
        return max((pairs.count(i) for i in pairs), default=0)

    @cached_property
    def stable(self) -> list[Partners]:
        """Matchings without blocking pairs."""
        return [partner for partner in self.matchings if not self.blocking(partner)]

    def mean(self, partner: Partners) -> float:
        """Mean penalty."""
        borne = [self.alone if j < 0 else self.penalty[i][j] for i, j in enumerate(partner)]
        return sum(borne) / len(borne)

    def regret(self, partner: Partners) -> float:
        """Worst penalty of those with a partner."""
        return max((self.penalty[i][j] for i, j in enumerate(partner) if j >= 0), default=-1.0)


def drawn_lists(rng: np.random.Generator, most: int = 7) -> dict[str, list[Any]]:
    """Preference lists by chance: with ties or without, complete or not, of two sides or one."""
    number = int(rng.integers(2, most + 1))
    names = [chr(97 + i) for i in range(number)]
    ties, kept = rng.choice([0.0, 0.0, 0.4]), rng.choice([1.0, 1.0, 0.7])
    side = rng.integers(2, size=number) if rng.random() < 0.3 else np.arange(number)
    lists: dict[str, list[Any]] = {}
    for i, who in enumerate(names):
        others = [j for j in range(number) if side[j] != side[i] and rng.random() < kept]
        row: list[Any] = []
        for j in rng.permutation(others).tolist():
            if row and rng.random() < ties:
                before = row.pop()
                row.append([*(before if isinstance(before, list) else [before]), names[j]])
            else:
                row.append(names[j])
        lists[who] = row
    return lists
