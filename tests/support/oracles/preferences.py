"""Every matching of a few agents with preference lists, and properties of matchings by definition.
Uses an instance's data and none of its methods.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from . import colocation as brute
from .colocation import Partners


class Everything:
    """All feasible matchings of an instance of different agents; -1 is no partner, the worst
    outcome.
    """

    def __init__(self, instance: Any) -> None:
        self.instance = instance
        self.matchings = list(brute.pairings(instance))

    def blocking(self, partner: Partners) -> list[tuple[int, int]]:
        """Blocking pairs of a matching."""
        return brute.blocks(self.instance, partner)

    def blocking_agents(self, partner: Partners) -> int:
        """Number of agents in a blocking pair."""
        return len({i for pair in self.blocking(partner) for i in pair})

    def most_blocking(self, partner: Partners) -> int:
        """Maximum number of blocking pairs of one agent."""
        pairs = [i for pair in self.blocking(partner) for i in pair]
        return max((pairs.count(i) for i in pairs), default=0)

    @cached_property
    def stable(self) -> list[Partners]:
        """All stable matchings."""
        return [partner for partner in self.matchings if not self.blocking(partner)]

    def mean(self, partner: Partners) -> float:
        """Mean penalty of a matching."""
        return brute.mean_penalty(self.instance, partner)

    def regret(self, partner: Partners) -> float:
        """Maximum penalty of an agent that has a partner; -1 if none has."""
        borne = zip(brute.penalties(self.instance, partner), partner, strict=True)
        return max((penalty for penalty, j in borne if j >= 0), default=-1.0)


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
