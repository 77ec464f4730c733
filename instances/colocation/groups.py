"""Agents of a pairing grouped by type and partner's type: the least alpha without blocking pair,
and the pairs that may block within intervals.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, cast

import numpy as np

from ..problem.option_types import validate_options
from .instance import Booleans, Colocation, Floats, Pairing
from .stability import AlphaMode, Uncertainty, compared, decimal, gains, least_float

MOST_TOLD = 20
"""Entries of the list, those of most pairs of agents first."""


_NEAR = 1e-12
"""Differences of floats that are nearer are compared as decimals."""


class AgentGroups:
    """Agents of a pairing grouped by their own type and their partner's type.

    Attributes
    ----------
    kind, beside : (P,) types; `beside` is -1 for those left unpaired. Jobs alone on a machine of
        their own, who never leave it, are in none.
    number : (P,) agents.
    elsewhere : (P, T) whether an agent may be with a type, and is not.
    """

    def __init__(self, instance: Colocation, pairing: Pairing) -> None:
        a, b = pairing.first, pairing.second
        apart = a != b  # both ends of a pair of one type are in one group
        self.instance = instance
        kind, beside = np.concatenate([a, b[apart]]), np.concatenate([b, a[apart]])
        number = np.concatenate([pairing.pairs * (2 - apart), pairing.pairs[apart]])
        if instance.unpaired is not None:
            alone = np.flatnonzero(pairing.single)
            kind, beside = np.append(kind, alone), np.append(beside, np.full(len(alone), -1))
            number = np.append(number, pairing.single[alone])
        self.kind, self.beside, self.number = kind, beside, number
        self.elsewhere: Booleans = instance.allowed[kind] & (
            beside[:, None] != np.arange(instance.types)
        )

    def bear(self, penalty: Floats) -> Floats:
        """Penalty (P,) that the agents of each group suffer under a given penalty matrix."""
        alone = self.beside < 0
        paired = penalty[self.kind, self.beside]
        return np.where(alone, self.instance.single_penalty, paired)


def stable_alpha(
    instance: Colocation, pairing: Pairing, uncertainty: Uncertainty = "none"
) -> float:
    """Least alpha (penalty points) at which a pairing has no blocking pair.

    Two agents block below the lesser of their two gains, so it is the most that this is for any two
    (0 at least), exactly on the decimals as written; where no float is written as that number, the
    least that is not below it. With "possible" gains the pairing is stable from there on for every
    matrix within the intervals. O(P^2) for P pairs of types.
    """
    groups, (leaves, offered) = AgentGroups(instance, pairing), compared(instance, uncertainty)
    kind, bear = groups.kind, groups.bear(leaves)
    fall = np.where(groups.elsewhere, bear[:, None] - offered[kind], -np.inf)

    def lesser(one: int) -> Floats:
        both = np.minimum(fall[one, kind[one:]], fall[one:, kind[one]])
        both[0] = both[0] if groups.number[one] > 1 else -np.inf
        return cast("Floats", both)

    most = max((float(lesser(one).max()) for one in range(len(kind))), default=-np.inf)
    if most < -_NEAR:
        return 0.0
    near: set[tuple[float, ...]] = set()
    for one in range(len(kind)):
        for other in (one + np.flatnonzero(lesser(one) >= most - _NEAR)).tolist():
            a, c = kind[one], kind[other]
            near.add((bear[one], offered[a, c], bear[other], offered[c, a]))
    exact = max(
        min(decimal(x) - decimal(y), decimal(z) - decimal(w))
        for x, y, z, w in (map(float, case) for case in near)
    )
    return least_float(max(exact, Fraction(0)))


@validate_options
def undecided_pairs(
    instance: Colocation,
    pairing: Pairing,
    alpha: float = 0.0,
    alpha_mode: AlphaMode = "penalty-points",
) -> list[dict[str, Any]]:
    """Groups of agents that possibly but not certainly block, with the intervals that decide.

    Narrower intervals of these settle whether they block; a pair that certainly blocks does so
    however it is measured. O(P^2) for P pairs of types.

    Returns
    -------
    JSON values, at most `MOST_TOLD`, most pairs of agents first: `types` [a, c] and whom they are
    `beside` (None for nobody), by name; how many `pairs` of agents they make; `now` the two
    intervals of what they have, `then` of what they would have.
    """
    groups = AgentGroups(instance, pairing)
    kind, beside, number = groups.kind, groups.beside, groups.number
    highest, lowest = compared(instance, "possible")
    now = np.stack([groups.bear(lowest), groups.bear(highest)], axis=1)
    read = (alpha, alpha_mode)
    possibly = gains(now[:, 1, None], lowest[kind], *read) & groups.elsewhere
    certainly = gains(now[:, 0, None], highest[kind], *read)
    found: list[tuple[int, int, int]] = []
    for one in range(len(kind)):
        rest = slice(one, None)
        open_ones = possibly[one, kind[rest]] & possibly[rest, kind[one]]
        open_ones &= ~(certainly[one, kind[rest]] & certainly[rest, kind[one]])
        pairs = number[one] * number[rest] * open_ones
        pairs[0] = open_ones[0] * number[one] * (number[one] - 1) // 2
        first = np.argsort(-pairs, kind="stable")[:MOST_TOLD]
        found += [(int(pairs[other]), one, one + other) for other in first.tolist() if pairs[other]]
    found.sort(key=lambda entry: (-entry[0], entry[1:]))
    names = instance.names

    def ends(x: int, y: int) -> list[float]:
        return [float(lowest[x, y]), float(highest[x, y])]

    return [
        {
            "types": [names[kind[one]], names[kind[other]]],
            "beside": [None if beside[g] < 0 else names[beside[g]] for g in (one, other)],
            "pairs": pairs,
            "now": now[[one, other]].tolist(),
            "then": [ends(kind[one], kind[other]), ends(kind[other], kind[one])],
        }
        for pairs, one, other in found[:MOST_TOLD]
    ]
