"""Nested gain sets G[a, c] = {b : an a-agent beside b gains by c} of blocking pairs.

With intervals (see `instances.colocation.stability`) b is left by the end of its interval that
counts, and c is gone to at the other end: the sets are prefixes of one order of the b all the same.
Of possible gains c itself may stand in the prefix of c; it is no member.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ...instances.colocation.instance import Booleans, Colocation, Integers
from ...instances.colocation.stability import (
    AlphaMode,
    Uncertainty,
    better_partners,
    compared,
    gains,
    validate_alpha,
)
from ...instances.problem.option_types import validate_options

UNPAIRED = -1
"""Stands among the partners for having none, where an agent may be left `unpaired`."""


@dataclass(frozen=True)
class GainSets:
    """Partners that each type would leave, worst first, and how many of them it would leave for
    each other type.

    An agent leaves b for c when its penalty falls by enough; whoever leaves b for c leaves every
    worse partner than b for c as well, so G[a, c] is the first `size[a, c]` of `order[a]`.

    Attributes
    ----------
    order : for each type a, its possible partners (types present that it may be paired with, and
        `UNPAIRED`), the one it leaves soonest first.
    size : (T, T) how many of them make up G[a, c]; 0 where the pair a-c is not allowed or a type
        has no agents.
    own : (T, T) whether c itself is among these, and has to be left out.
    """

    order: tuple[Integers, ...]
    size: Integers
    own: Booleans

    @cached_property
    def blocks(self) -> Booleans:
        """Whether agents of two types can block at all, shape (T, T); symmetric."""
        members = self.size - self.own
        return (members > 0) & (members.T > 0)

    def ranks(self, a: int, partner: Integers) -> Integers:
        """Place of each given partner among the partners of type a, from the worst to the best.

        One who is not among them gets their number.
        """
        place = np.full(len(self.size) + 1, len(self.order[a]))
        place[self.order[a]] = np.arange(len(self.order[a]))  # UNPAIRED, -1, is the last entry
        return place[partner]

    def levels(self, a: int) -> Integers:
        """Distinct numbers of partners that type a would leave for some other type, ascending."""
        return np.unique(self.size[a][self.blocks[a]])

    def among(self, keep: Booleans) -> GainSets:
        """Partners that a type would leave for another, in pairings whose pairs are all in `keep`.

        `keep` (T, T) is symmetric. Each set ends after its last partner that `keep` allows, and is
        empty without one.
        """
        size = np.zeros_like(self.size)
        for a, order in enumerate(self.order):
            left = np.flatnonzero(np.append(keep[a], True)[order])  # UNPAIRED, -1, is the last
            ends = np.concatenate([[0], left + 1])
            size[a] = ends[np.searchsorted(left, self.size[a])]
        return replace(self, size=size)


@validate_options
def gain_sets(
    instance: Colocation,
    alpha: float = 0.0,
    alpha_mode: AlphaMode = "penalty-points",
    uncertainty: Uncertainty = "none",
) -> GainSets:
    """Partners that each type would leave for each other type, decided by `gains`. O(T^2 log T).

    Raises
    ------
    InvalidOption
        alpha is below 0, the mode is not known, or intervals are asked for where there are none.
    """
    validate_alpha(alpha, alpha_mode)
    present = instance.count > 0
    leaves, offered = compared(instance, uncertainty)
    size = np.zeros((instance.types, instance.types), dtype=np.int64)
    own = np.zeros(size.shape, dtype=bool)
    if uncertainty == "possible":
        own = gains(leaves, offered, alpha, alpha_mode)
        own &= instance.allowed & present & present[:, None]
    order: list[Integers] = []  # by type: partners, the worst first
    for a in range(instance.types):
        partners = (
            np.flatnonzero(instance.allowed[a] & present)
            if present[a]
            else np.zeros(0, dtype=np.int64)
        )
        left, joined = leaves[a, partners], offered[a, partners]
        if present[a] and instance.unpaired is not None:
            partners = np.append(partners, UNPAIRED)
            left, joined = np.append(left, instance.unpaired), np.append(joined, instance.unpaired)
        worst_first, candidate = np.argsort(-left, kind="stable"), np.argsort(joined, kind="stable")
        better = better_partners(left[worst_first[::-1]], alpha, alpha_mode, joined[candidate])[
            ::-1
        ]  # for how many each is left
        # for the r-th best: how many are left for more than r
        leavers = np.searchsorted(-better, -np.arange(len(partners)))
        allowed = partners[candidate] != UNPAIRED
        size[a, partners[candidate[allowed]]] = leavers[allowed]
        order.append(partners[worst_first])
    return GainSets(tuple(order), size, own)
