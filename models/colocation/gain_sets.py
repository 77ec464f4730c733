"""For whom a change pays: the sets G[a, c] = {b : an a-agent beside b gains by c}, which are
nested.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...instances.colocation.instance import Booleans, Colocation, Integers
from ...instances.colocation.stability import AlphaMode, better_partners, validate_alpha

UNPAIRED = -1
"""Stands among the partners for having none, where an agent may be left `unpaired`."""


@dataclass(frozen=True)
class GainSets:
    """The partners each type would leave, worst first, and how many of them it would leave for each
    other type.

    An agent leaves b for c when its penalty falls by enough; whoever leaves b for c leaves every
    worse partner than b for c as well, so G[a, c] is the first `size[a, c]` of `order[a]`.

    Attributes
    ----------
    order : for each type a, its possible partners (types present that it may be paired with, and
        `UNPAIRED`), the one it leaves soonest first.
    size : (T, T) number of partners in G[a, c]; 0 where the pair a-c is not allowed or a type has
        no agents.
    """

    order: tuple[Integers, ...]
    size: Integers

    @cached_property
    def blocks(self) -> Booleans:
        """(T, T): whether agents of the two types could block at all; symmetric."""
        return (self.size > 0) & (self.size.T > 0)

    def levels(self, a: int) -> Integers:
        """The different sizes above 0 that matter for type a, ascending: the ranks of its chain
        variables.
        """
        return np.unique(self.size[a][self.blocks[a]])


def gain_sets(
    instance: Colocation, alpha: float = 0.0, alpha_mode: AlphaMode = "penalty-points"
) -> GainSets:
    """The nested gain sets of every type, by the one strict comparison `gains`. O(T^2 log T).

    Raises
    ------
    InvalidOption
        alpha is below 0 or the mode is not known.
    """
    validate_alpha(alpha, alpha_mode)
    present = instance.count > 0
    size = np.zeros((instance.types, instance.types), dtype=np.int64)
    order: list[Integers] = []
    for a in range(instance.types):
        partners = (
            np.flatnonzero(instance.allowed[a] & present)
            if present[a]
            else np.zeros(0, dtype=np.int64)
        )
        penalty = instance.penalty[a, partners]
        if present[a] and instance.unpaired is not None:
            partners, penalty = np.append(partners, UNPAIRED), np.append(penalty, instance.unpaired)
        worst_first = np.argsort(-penalty, kind="stable")
        better = better_partners(penalty[worst_first[::-1]], alpha, alpha_mode)[
            ::-1
        ]  # of how many each is left
        leavers = np.searchsorted(
            -better, -np.arange(len(partners))
        )  # for the r-th best: how many are left for more than r
        candidate = worst_first[::-1]
        allowed = partners[candidate] != UNPAIRED
        size[a, partners[candidate[allowed]]] = leavers[allowed]
        order.append(partners[worst_first])
    return GainSets(tuple(order), size)
