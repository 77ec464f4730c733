"""For whom a change pays: the sets G[a, c] = {b : an a-agent beside b gains by c}, which are nested."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...instances.colocation.instance import Booleans, Colocation, Integers
from ...instances.colocation.stability import gains, validate_alpha

UNPAIRED = -1
"""Stands among the partners for having none, where an agent may be left `unpaired`."""


@dataclass(frozen=True)
class GainSets:
    """The partners each type would leave, worst first, and how many of them it would leave for each other type.

    An agent leaves b for c when its penalty falls by enough; whoever leaves b for c leaves every worse partner than b
    for c as well, so G[a, c] is the first `size[a, c]` of `order[a]`.

    Attributes
    ----------
    order : for each type a, its possible partners (types present that it may be paired with, and `UNPAIRED`),
        the one it leaves soonest first.
    size : (T, T) number of partners in G[a, c]; 0 where the pair a-c is not allowed or a type has no agents.
    """

    order: tuple[Integers, ...]
    size: Integers

    @property
    def blocks(self) -> Booleans:
        """(T, T): whether agents of the two types could block at all; symmetric."""
        return (self.size > 0) & (self.size.T > 0)

    def levels(self, a: int) -> Integers:
        """The different sizes above 0 that matter for type a, ascending: the ranks of its chain variables."""
        return np.unique(self.size[a][self.blocks[a]])


def gain_sets(instance: Colocation, alpha: float = 0.0, alpha_mode: str = "penalty-points") -> GainSets:
    """The nested gain sets of every type, by the one strict comparison `gains`. O(T^3).

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
        partners = np.flatnonzero(instance.allowed[a] & present) if present[a] else np.zeros(0, dtype=np.int64)
        old = instance.penalty[a, partners]
        candidates = partners
        if present[a] and instance.unpaired is not None:
            partners, old = np.append(partners, UNPAIRED), np.append(old, instance.unpaired)
        leaves = gains(old[:, None], instance.penalty[a, candidates][None, :], alpha, alpha_mode)
        size[a, candidates] = leaves.sum(axis=0)
        order.append(partners[np.argsort(-leaves.sum(axis=1), kind="stable")])
    return GainSets(tuple(order), size)
