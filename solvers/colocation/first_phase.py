"""First phase of Irving's algorithm for types of several agents: pairs of types that pairings with
at most one blocking pair can use.

If the agents of type a do not all find room beside the partners that are left to them and that they
would not leave for c, one of them would leave for c; so no c-agent has a partner that it would
leave for a, and all those are struck out. What follows from the use of a pair may leave a type too
little room: then the pair is struck out as well. With one blocking pair this holds but for the two
types it is of, so each two of them are tried.
"""

from __future__ import annotations

import numpy as np

from ...instances.colocation.instance import Booleans, Colocation, Integers
from ...models.colocation import UNPAIRED, GainSets

FEW_TYPES, MOST_TYPES = 30, 2_000
"""Types between which pairs are ruled out: programs of fewer are small, and of more, five matrices
are large.
"""

STEPS = 50_000_000
"""For trials of single pairs, of about a nanosecond."""


def usable_pairs(instance: Colocation, sets: GainSets, most: int) -> Booleans | None:
    """Pairs of types (T, T) not ruled out for pairings with at most `most` (0 or 1) blocking pairs;
    None if there is no such pairing.

    Parameters
    ----------
    instance : what is given.
    sets : its gain sets, in which no type is among its own partners (`own`).
    """
    from . import first_phase_kernels

    types, count = instance.types, instance.count
    order = np.full((types, types + 1), UNPAIRED, dtype=np.int64)
    place = np.zeros((types, types), dtype=np.int64)
    for a, partners in enumerate(sets.order):
        order[a, : len(partners)] = partners
        paired = np.flatnonzero(partners != UNPAIRED)
        place[a, partners[paired]] = paired
    room = _room(instance, sets, order, place, most)
    size = np.where(sets.blocks, sets.size, 0)
    ask = np.argsort(-size, axis=1, kind="stable")
    left = np.zeros(order.shape, dtype=np.bool_)
    if not first_phase_kernels.usable(
        order, place, room, size, ask, count, most, STEPS, left,
        np.zeros((2, 4, types), dtype=np.int64), np.zeros(types, dtype=np.int64),
        np.zeros(types, dtype=np.bool_), np.zeros((room.size + 1, 3), dtype=np.int64),
    ):  # fmt: skip
        return None
    keep = np.zeros((types, types), dtype=np.bool_)
    here, at = np.nonzero(left & (order != UNPAIRED))
    keep[here, order[here, at]] = True
    return keep


def _room(
    instance: Colocation, sets: GainSets, order: Integers, place: Integers, most: int
) -> Integers:
    """Maximum number of agents of a type beside the partner at each rank, shape (T, T + 1)."""
    types, count = instance.types, instance.count
    each = np.minimum(count, count[:, None])
    np.fill_diagonal(each, count // 2 * 2)
    # of its own type an agent leaves for, there is at most one more than blocking pairs are
    wanting = place < np.where(np.diag(sets.blocks), np.diag(sets.size), 0)[:, None]
    each = np.where(wanting, np.minimum(each, most + 1), each)
    each = np.minimum(each, each.T)
    alone = np.minimum(count, instance.singles_allowed)
    room = np.where(order == UNPAIRED, alone[:, None], np.take_along_axis(each, order, axis=1))
    ends = np.array([len(partners) for partners in sets.order])
    if instance.unpaired is None:
        ends = np.where(count > 0, ends + 1, 0)  # alone is behind all
    beyond = np.arange(types + 1) >= ends[:, None]
    return np.where(beyond, 0, room).astype(np.int64)
