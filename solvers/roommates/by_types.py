"""Stable roommates with types: lists of T types over n agents, and Irving's algorithm on them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...instances.problem.errors import InvalidOption
from .arrays import UNRANKED, Ranks
from .irving import RoommatesTable

MOST_BYTES = 10**9
"""What the lists may take."""


@dataclass(frozen=True, eq=False)
class TypeLists:
    """Strict preference lists of types; agents are numbered type by type, and each skips itself in
    its type's list.

    Attributes
    ----------
    count : (T,) agents of each type.
    order : (T, n) who stands where in a type's list, its own agents among them; -1 behind the end.
    place : (T, T) where a type's agents begin in another's list, one after the other; UNRANKED
        where the pair is not acceptable.
    """

    count: NDArray[np.int64]
    order: Ranks
    place: Ranks

    def irving(self) -> RoommatesTable:
        """Irving's algorithm with the same result as `irving` on the agents' lists. O(n²) at worst;
        memory O(n + T n).
        """
        from . import list_kernels

        types, agents = self.order.shape
        kind = np.repeat(np.arange(types), self.count).astype(np.int32)
        number = (np.arange(agents) - (np.cumsum(self.count) - self.count)[kind]).astype(np.int32)
        own = np.minimum(np.diag(self.place)[kind] + number, UNRANKED).astype(np.int32)
        length = (self.order >= 0).sum(axis=1).astype(np.int32) - (
            np.diag(self.place) < UNRANKED
        ).astype(np.int32)
        partner, counts = np.empty(agents, dtype=np.int32), np.zeros(4, dtype=np.int64)
        list_kernels.reduce_types(
            self.order, self.place, number, own, kind, self.count.astype(np.int32), length, partner,
            np.empty((8, max(agents, types)), dtype=np.int32), counts,
        )  # fmt: skip
        return RoommatesTable(
            bool(counts[0] == 0),
            partner,
            np.flatnonzero(partner < 0),
            int(counts[2]),
            int(counts[3]),
        )


def type_lists(count: NDArray[np.int64], cost: Callable[[int], NDArray[np.float64]]) -> TypeLists:
    """Preference lists from costs, the least first; ties go to the lowest type and, within a type,
    to the lowest agent.

    Parameters
    ----------
    count : (T,) agents of each type.
    cost : from a type to (T,), what its agents bear beside each type; inf, on both sides, where the
        pair is not acceptable. It is asked for each type once, in order.

    Raises
    ------
    InvalidOption
        The lists would take more than `MOST_BYTES`.
    """
    types, agents = len(count), int(count.sum())
    if 4 * types * (agents + types) > MOST_BYTES:
        raise InvalidOption(
            f"{types} lists over {agents} agents need "
            f"{4 * types * (agents + types) / 1e9:.3g} GB; expected at most "
            f"{MOST_BYTES / 1e9:g}. Group agents into fewer types, or use SMR, SMP or GR, "
            "which need far less"
        )
    start = np.cumsum(count) - count
    order = np.full((types, agents), -1, dtype=np.int32)
    place = np.full((types, types), UNRANKED, dtype=np.int32)
    for a in range(types):
        row = cost(a)
        ranked = np.argsort(row)
        if (
            row[ranked[1:]] == row[ranked[:-1]]
        ).any():  # the quick sort does not keep the order of equals, and few rows have any
            ranked = np.argsort(row, kind="stable")
        ranked = ranked[(row[ranked] < np.inf) & (count[ranked] > 0)]
        number = count[ranked]
        ends = np.cumsum(number)
        place[a, ranked] = ends - number
        if len(ranked):
            order[a, : ends[-1]] = np.repeat(start[ranked] - (ends - number), number) + np.arange(
                ends[-1]
            )
    return TypeLists(count, order, place)
