"""Penalties of the members of groups in integers of 1e-12, and the list of all groups."""

from __future__ import annotations

from math import comb
from typing import cast

import numpy as np
import numpy.typing as npt

from ..problem.errors import InvalidOption
from ..problem.option_types import validate_options
from .instance import FORBIDDEN, UNIT, Floats, Groups, Integers

MOST_GROUPS = 10**7
"""Kinds of groups that are listed at most."""


def units(instance: Groups, place: int, members: Integers) -> Integers:
    """Penalty (N, S) of each member of N groups on a class of machines, in integer units; 0 on
    empty seats, `FORBIDDEN` for forbidden groups.

    Parameters
    ----------
    place : the class.
    members : (N, S) types, ascending, -1 (last) for an empty seat.
    """
    taken = members >= 0
    if instance.model == "additive":
        lost = _additive(instance, place, members, taken)
    elif instance.model == "pressure":
        lost = _by_pressure(instance, place, members, taken)
    else:
        lost = _by_table(instance, place, members)
    lost[~taken] = 0
    lost[(lost >= FORBIDDEN).any(axis=1)] = FORBIDDEN
    return lost


def groups_number(instance: Groups) -> int:
    """Upper bound on the number of groups listed on all classes of machines."""
    return sum(
        _number(instance, place, max(1, int(instance.seats[place]) - instance.spare))
        for place in np.flatnonzero(
            (instance.limits > 0) & (instance.alike == range(len(instance.seats)))
        ).tolist()
    )


def _number(instance: Groups, place: int, least: int) -> int:
    if instance.members is not None:
        return len(instance.members) + instance.types
    present = int(np.count_nonzero(instance.count))
    return sum(
        comb(present + size - 1, size) for size in range(least, int(instance.seats[place]) + 1)
    )


def groups_listed(instance: Groups, place: int, full: bool = False) -> Integers:
    """List the groups (N, seats) that the jobs can form on a machine of a class, each with no more
    empty seats than the instance leaves.

    Parameters
    ----------
    full : only groups that take every seat.

    Raises
    ------
    InvalidOption
        They would be more than `MOST_GROUPS`.
    """
    seats = int(instance.seats[place])
    present = instance.present
    least = seats if full else max(1, seats - instance.spare)
    if instance.model == "table":
        return _tabled(instance, place, seats, least)
    number = _number(instance, place, least)
    if number > MOST_GROUPS:
        raise InvalidOption(
            f"{number} kinds of groups of up to {seats} among {len(present)} types; at most "
            f"{MOST_GROUPS} are listed. Merge types that are alike, use fewer seats, or solve with "
            "a policy (cotenant methods groups)"
        )
    found = []
    rows: Integers = np.zeros((1, 0), dtype=np.int64)
    for size in range(1, seats + 1):  # each row is followed by each type from its last one on
        first = np.searchsorted(present, rows[:, -1]) if size > 1 else np.zeros(1, dtype=np.int64)
        many = len(present) - first
        after = np.arange(many.sum()) - np.repeat(np.cumsum(many) - many, many)
        rows = np.column_stack([np.repeat(rows, many, axis=0),
                                present[np.repeat(first, many) + after]])  # fmt: skip
        last = rows[:, -1]
        rows = rows[(rows == last[:, None]).sum(axis=1) <= instance.count[last]]
        if size >= least:
            empty = np.full((len(rows), seats - size), -1)
            found.append(np.hstack([rows, empty]))
    return np.concatenate(found)


def pressures(instance: Groups) -> Floats:
    """Pressure (T,) by which policies order types: `pressure` if given, else the mean penalty that
    a type causes its co-runners.
    """
    if instance.pressure is not None:
        return instance.pressure
    if instance.model == "additive":
        matrix = instance.curves(0)
        share = instance.count / instance.jobs
        return share @ np.where(np.isfinite(matrix), matrix, 1.0)
    members, losses = instance.members, instance.losses
    assert members is not None
    assert losses is not None
    total, times = np.zeros(instance.types), np.zeros(instance.types)
    taken = members >= 0
    weight = np.broadcast_to(losses.sum(axis=1, keepdims=True) - losses, losses.shape)
    np.add.at(total, members[taken], weight[taken])
    np.add.at(times, members[taken], 1.0)
    return total / np.maximum(times, 1)


@validate_options
def rising(points: npt.ArrayLike) -> Floats:
    """Closest nondecreasing values to measured points of a sensitivity curve (isotonic regression).

    Parameters
    ----------
    points : (K,) or (..., K) penalties at ascending pressures.
    """
    from scipy.optimize import isotonic_regression

    values = np.atleast_1d(np.asarray(points, dtype=float))
    if not values.size:
        return values
    flat = values.reshape(-1, values.shape[-1])
    return np.round([isotonic_regression(row).x for row in flat], 12).reshape(values.shape)


def _whole(value: Floats) -> Integers:
    """Convert penalties of 12 decimals to integer units; infinite ones become `FORBIDDEN`."""
    with np.errstate(invalid="ignore"):
        found = np.where(np.isfinite(value), np.rint(value * UNIT), FORBIDDEN)
    return cast("Integers", found.astype(np.int64))


def _additive(
    instance: Groups, place: int, members: Integers, taken: npt.NDArray[np.bool_]
) -> Integers:
    matrix = np.zeros((instance.types + 1, instance.types + 1), dtype=np.int64)
    matrix[:-1, :-1] = _whole(instance.curves(place))  # an empty seat, type -1, is the last
    lost: Integers = np.zeros(members.shape, dtype=np.int64)
    for one in range(members.shape[1]):
        for other in range(members.shape[1]):
            if one != other:
                lost[:, one] += matrix[members[:, one], members[:, other]]
    broken = lost >= FORBIDDEN // 2
    lost = np.minimum(lost, UNIT)
    lost[broken & taken] = FORBIDDEN
    return lost


def _by_pressure(
    instance: Groups, place: int, members: Integers, taken: npt.NDArray[np.bool_]
) -> Integers:
    assert instance.pressure is not None
    assert instance.knots is not None
    load, knots = np.append(_whole(instance.pressure), 0), _whole(instance.knots)
    curve = instance.curves(place)
    own = load[members]
    beside = np.clip(own.sum(axis=1, keepdims=True) - own, knots[0], knots[-1])
    kind = np.where(taken, members, 0)
    if len(knots) == 1:
        lost = curve[kind, 0]
    else:
        at = np.clip(np.searchsorted(knots, beside, side="right") - 1, 0, len(knots) - 2)
        low, high = curve[kind, at], curve[kind, at + 1]
        share = (beside - knots[at]) / (knots[at + 1] - knots[at])
        lost = np.where(share == 1, high, low + (high - low) * share)
    found = _whole(lost)
    found[taken.sum(axis=1) == 1] = 0
    return found


def _by_table(instance: Groups, place: int, members: Integers) -> Integers:
    assert instance.members is not None
    assert instance.losses is not None
    assert instance.where is not None
    width = instance.members.shape[1]
    rows = members[:, :width]
    keys = _keys(instance.types, np.pad(rows, ((0, 0), (0, width - rows.shape[1])),
                                        constant_values=-1))  # fmt: skip
    fits = (members >= 0).sum(axis=1) <= width
    lost = np.full(members.shape, FORBIDDEN)
    alone = (members >= 0).sum(axis=1) == 1
    lost[alone] = 0
    for of in (-1, place):  # a class's own entry goes before that for all
        here = np.flatnonzero(instance.where == of)
        if not len(here):
            continue
        known = _keys(instance.types, instance.members[here])
        order = np.argsort(known)
        at = np.minimum(np.searchsorted(known[order], keys), len(here) - 1)
        hit = np.flatnonzero((known[order][at] == keys) & fits)
        found = _whole(instance.losses[here[order[at[hit]]]])
        lost[hit, : rows.shape[1]] = found[:, : rows.shape[1]]
        lost[hit, rows.shape[1] :] = 0
    return lost


def _keys(types: int, rows: Integers) -> Integers:
    """Integer key of each row of type indices, where -1 is an empty seat."""
    found: Integers = np.zeros(len(rows), dtype=np.int64)
    for column in rows.T:
        found = found * (types + 1) + column + 1
    return found


def _tabled(instance: Groups, place: int, seats: int, least: int) -> Integers:
    assert instance.members is not None
    assert instance.where is not None
    here = (instance.where == -1) | (instance.where == place)
    rows = instance.members[here]
    alone = np.full((instance.types, rows.shape[1]), -1)
    alone[:, 0] = np.arange(instance.types)
    rows = np.unique(np.concatenate([rows, alone]), axis=0)
    size = (rows >= 0).sum(axis=1)
    rows = rows[(size <= seats) & (size >= least)]
    rows = np.pad(rows, ((0, 0), (0, max(0, seats - rows.shape[1]))), constant_values=-1)[:, :seats]
    times = (rows[:, :, None] == rows[:, None, :]).sum(axis=2)
    available = np.append(instance.count, instance.jobs + seats)[rows]
    found: Integers = rows[(times <= available).all(axis=1)]
    return found
