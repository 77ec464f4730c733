"""Brute force over agents, against which methods over types are checked. Uses an instance's data
and none of its methods.

On pytest's path (see pyproject.toml); tests take it as the fixture `reference`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, localcontext
from functools import cache
from typing import Any

import numpy as np

Partners = list[int]
"""Partner of each agent, -1 for none; agents numbered type by type."""


def agents_of(instance: Any) -> list[int]:
    """Type of each agent, by agent."""
    return [kind for kind, number in enumerate(instance.count.tolist()) for _ in range(number)]


def pairings(instance: Any) -> Iterator[Partners]:
    """Every feasible pairing of the agents."""
    kinds, penalty = agents_of(instance), instance.penalty.tolist()
    number = len(kinds)
    if instance.unpaired is not None:
        singles = number
    elif instance.machines is None:
        singles = 0
    else:
        singles = int(min(number, 2 * instance.machines - number))

    def may(i: int, j: int) -> bool:
        return math.isfinite(penalty[kinds[i]][kinds[j]]) and math.isfinite(
            penalty[kinds[j]][kinds[i]]
        )

    partner = [-2] * number

    def place(alone: int) -> Iterator[Partners]:
        if -2 not in partner:
            yield list(partner)
            return
        i = partner.index(-2)
        for j in range(i + 1, number):
            if partner[j] == -2 and may(i, j):
                partner[i], partner[j] = j, i
                yield from place(alone)
                partner[i] = partner[j] = -2
        if alone < singles:
            partner[i] = -1
            yield from place(alone + 1)
            partner[i] = -2

    yield from place(0)


def penalties(instance: Any, partner: Partners) -> list[float]:
    """Penalty of each agent in a matching."""
    kinds = agents_of(instance)
    alone = 0.0 if instance.unpaired is None else instance.unpaired
    return [
        alone if j < 0 else float(instance.penalty[kinds[i], kinds[j]])
        for i, j in enumerate(partner)
    ]


@cache
def leaves(old: float, new: float, alpha: float, mode: str) -> bool:
    """Whether an agent would move, written out for each reading of alpha, on the decimals as
    written.
    """
    before, after, least = (Decimal(repr(float(value))) for value in (old, new, alpha))
    with localcontext(prec=200):
        threshold = {
            "penalty-points": least,
            "relative-penalty": least * abs(before),
            "relative-throughput": least * (1 - before),
        }[mode]
        return before - after > threshold


def blocking(
    instance: Any, partner: Partners, alpha: float = 0.0, mode: str = "penalty-points"
) -> int:
    """Number of pairs of agents who would both gain by sharing."""
    return len(blocks(instance, partner, alpha, mode))


def blocks(
    instance: Any, partner: Partners, alpha: float = 0.0, mode: str = "penalty-points"
) -> list[tuple[int, int]]:
    """Pairs of agents who would both move to each other."""
    kinds, now = agents_of(instance), penalties(instance, partner)
    found = []
    for i in range(len(kinds)):
        for j in range(i + 1, len(kinds)):
            there, back = instance.penalty[kinds[i], kinds[j]], instance.penalty[kinds[j], kinds[i]]
            if partner[i] == j or not (math.isfinite(there) and math.isfinite(back)):
                continue
            stays = instance.unpaired is None and (
                partner[i] < 0 or partner[j] < 0
            )  # a machine of its own is kept
            if (
                not stays
                and leaves(now[i], there, alpha, mode)
                and leaves(now[j], back, alpha, mode)
            ):
                found.append((i, j))
    return found


def mean_penalty(instance: Any, partner: Partners) -> float:
    """Mean penalty of all agents."""
    return sum(penalties(instance, partner)) / len(partner)


def slack(instance: Any, partner: Partners) -> float:
    """The most by which a type's mean penalty passes that of a type of strictly larger
    bandwidth.
    """
    kinds, now = agents_of(instance), penalties(instance, partner)
    mean = {
        kind: float(np.mean([now[i] for i in range(len(kinds)) if kinds[i] == kind]))
        for kind in set(kinds)
    }
    width = instance.bandwidth
    return max([0.0, *(mean[a] - mean[b] for a in mean for b in mean if width[a] < width[b])])


def partners_of(instance: Any, pairing: Any) -> Partners:
    """Partner of each agent in one pairing of agents that a pairing over types represents."""
    kinds = agents_of(instance)
    free = {
        kind: [i for i, k in enumerate(kinds) if k == kind] for kind in range(len(instance.count))
    }
    partner = [-1] * len(kinds)
    for a, b, number in zip(
        pairing.first.tolist(), pairing.second.tolist(), pairing.pairs.tolist(), strict=True
    ):
        for _ in range(number):
            i, j = free[a].pop(), free[b].pop()
            partner[i], partner[j] = j, i
    assert all(len(free[kind]) == pairing.single[kind] for kind in free)
    return partner


@dataclass(frozen=True)
class Best:
    """Optimal values by enumeration; None or empty if there is no pairing."""

    least_penalty: float | None
    penalty_by_blocking: dict[int, float]
    least_slack: float | None
    penalty_by_slack: tuple[tuple[float, float], ...]

    @property
    def fewest_blocking(self) -> int | None:
        """Fewest blocking pairs."""
        return min(self.penalty_by_blocking, default=None)

    def penalty_at_slack(self, most: float) -> float | None:
        """Least mean penalty of a pairing whose slack is at most `most`, except for rounding."""
        return min(
            (value for reached, value in self.penalty_by_slack if reached <= most + 1e-12),
            default=None,
        )

    def penalty_within(self, most: int) -> float | None:
        """Least mean penalty of a pairing with at most `most` blocking pairs."""
        return min(
            (value for count, value in self.penalty_by_blocking.items() if count <= most),
            default=None,
        )


def best(instance: Any, alpha: float = 0.0, mode: str = "penalty-points") -> Best:
    """Best values of each colocation objective over all pairings."""
    by_blocking: dict[int, float] = {}
    fair: list[tuple[float, float]] = []
    for partner in pairings(instance):
        value = mean_penalty(instance, partner)
        count = blocking(instance, partner, alpha, mode)
        by_blocking[count] = min(by_blocking.get(count, math.inf), value)
        if instance.bandwidth is not None:
            fair.append((slack(instance, partner), value))
    least = min((entry[0] for entry in fair), default=None)
    return Best(min(by_blocking.values(), default=None), by_blocking, least, tuple(fair))


def random_fields(rng: np.random.Generator, most_agents: int = 8) -> dict[str, Any]:
    """Fields of a small instance: ties, near-ties (.8 and .7 + .1), forbidden pairs, odd and even
    counts, singles.
    """
    while True:
        types = int(rng.integers(1, 7))
        count = rng.integers(0, 4, types) if rng.random() < 0.6 else np.ones(types, dtype=int)
        agents = int(count.sum())
        if 2 <= agents <= most_agents:
            break
    style = rng.integers(4)
    if style == 0:
        penalty = rng.choice([0.1, 0.2, 0.3], (types, types))
    elif style == 1:
        penalty = rng.choice([0.8, 0.7 + 0.1, 0.7, 0.1 + 0.2, 0.3, 0.30000001], (types, types))
    elif style == 2:
        penalty = np.round(rng.uniform(-0.05, 0.6, (types, types)), 3)
    else:
        penalty = rng.uniform(0, 1, (types, types))
    penalty = penalty.astype(float)
    if rng.random() < 0.4:
        penalty[rng.random((types, types)) < 0.15] = np.inf
    fields: dict[str, Any] = {
        "penalty": penalty,
        "count": count,
        "bandwidth": rng.choice([0.5, 1.0, 2.0, 3.0], types),
    }
    kind = rng.integers(4)
    if kind == 0:
        fields["machines"] = float(rng.integers((agents + 1) // 2, agents + 1))
    elif kind == 1:
        fields["machines"] = np.inf
    elif kind == 2 or agents % 2:
        fields["unpaired"] = 1.0
    return fields
