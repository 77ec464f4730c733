"""Local search on groupings: exchanges of two jobs, or of a job and an empty seat, that lower the
total penalty.
"""

from __future__ import annotations

import numpy as np

from ...instances.groups.instance import FORBIDDEN, Grouping, Groups, Integers, ascending
from ...instances.groups.penalties import units
from ..outcome import Clock

BLOCK = 256
"""Seats that are set against all others at once."""


def exchanged(instance: Groups, grouping: Grouping, clock: Clock) -> Grouping:
    """Improve a feasible grouping by rounds of exchanges until none helps or the time is up.

    Machines that hold the same jobs count as one kind, and an exchange is made on as many as there
    are of both. In each round every seat of every kind is set against every other; the exchanges
    that gain most are made, those first, of kinds that no other exchange of the round touches.
    """
    while not clock.expired:
        found = _round(instance, grouping)
        if found is None:
            break
        grouping = found
    return grouping


def _round(instance: Groups, grouping: Grouping) -> Grouping | None:
    """Grouping after one round of the exchanges of largest gain; None if no exchange helps."""
    # 1. an entry for each type on each kind of machine, an empty seat being a type too
    members, where, number = _with_empty(instance, grouping)
    seats = instance.seats[where]
    cost = np.zeros(len(where), dtype=np.int64)
    seat_of = [
        np.unique(row[:wide], return_index=True)[1]
        for row, wide in zip(members, seats, strict=True)
    ]
    kind = np.repeat(np.arange(len(where)), [len(at) for at in seat_of])
    seat = np.concatenate(seat_of)
    own = members[kind, seat]
    types = np.arange(-1, instance.types)
    # 2. what each machine loses with each type in the seat of each entry
    after = np.zeros((len(kind), len(types)), dtype=np.int64)
    for place in np.unique(where).tolist():
        here = np.flatnonzero(where == place)
        cost[here] = units(instance, place, members[here]).sum(axis=1)
        entries = np.flatnonzero(where[kind] == place)
        for part in np.array_split(entries, 1 + len(entries) * len(types) // 10**6):
            rows = np.repeat(members[kind[part]], len(types), axis=0)
            there = np.repeat(seat[part], len(types))
            rows[np.arange(len(rows)), there] = np.tile(types, len(part))
            lost = units(instance, place, ascending(rows))
            total = np.where((lost >= FORBIDDEN).any(axis=1), FORBIDDEN, lost.sum(axis=1))
            total[(rows < 0).all(axis=1)] = 0
            after[part] = total.reshape(len(part), -1)
    cost[(members < 0).all(axis=1)] = 0
    change = after - cost[kind][:, None]
    # 3. the best exchange of each entry
    gains, pairs = [], []
    for one in np.array_split(np.arange(len(kind)), 1 + len(kind) // BLOCK):
        both = change[one][:, own + 1] + change[:, own[one] + 1].T
        twice = (kind[one][:, None] == kind) & (number[kind] < 2)
        both[twice | (kind[one][:, None] > kind)] = 0
        # a kind has few exchanges that are made in a round: the best of each entry is enough
        other = both.argmin(axis=1)
        least = both[np.arange(len(one)), other]
        better = least < 0
        gains.append(least[better])
        pairs.append(np.stack([one[better], other[better]], axis=1))
    gain, pair = np.concatenate(gains), np.concatenate(pairs)
    if not len(gain):
        return None
    # 4. make the exchanges, the best first, each machine in one at most
    touched: set[int] = set()
    left = number.copy()
    changes, places, many = [members], [where], [left]
    for at, to in pair[np.argsort(gain, kind="stable")].tolist():
        first, second = int(kind[at]), int(kind[to])
        if touched & {first, second}:
            continue
        touched |= {first, second}
        times = left[first] // 2 if first == second else min(left[first], left[second])
        changed = members[[first, second]]
        changed[0, seat[at]], changed[1, seat[to]] = own[to], own[at]
        left[[first, second]] -= times
        if first == second:
            left[first] -= times
        changes.append(changed)
        places.append(where[[first, second]])
        many.append(np.array([times, times]))
    return Grouping(np.concatenate(changes), np.concatenate(places), np.concatenate(many))


def _with_empty(instance: Groups, grouping: Grouping) -> tuple[Integers, Integers, Integers]:
    """Kinds of machines of a grouping including empty ones, with all seats."""
    width = int(instance.seats.max())
    used = np.bincount(
        grouping.where, weights=grouping.number, minlength=len(instance.seats)
    ).astype(np.int64)
    free = instance.limits - used
    places = np.flatnonzero(free > 0)
    wide = ((0, 0), (0, width - grouping.members.shape[1]))
    members = np.pad(grouping.members, wide, constant_values=-1)
    none = np.full((len(places), width), -1)
    return (
        np.concatenate([members, none]), np.concatenate([grouping.where, places]),
        np.concatenate([grouping.number, free[places]]),
    )  # fmt: skip
