"""Arrays of an instance and its rules for the compiled packers, and arrays of the servers they
fill.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ...instances.packing.instance import Integers
from ...models.packing.assignment import RulesOnServers

NO_CAP = 2**62

Array = np.ndarray[Any, Any]


class RuleArrays(NamedTuple):
    """Arrays of an instance and its placement rules.

    demand (s, k), capacity (p, k), most (s, p) VMs of a type on a server of a class, zone (p,).
    Groups of types of which a server holds `group_most` at most: those of type i are `group_item`
    from `group_start[i]` to `group_start[i + 1]`; types apart from i, and rows (limits within a
    zone, spreads over zones) that i is in, likewise. Of a row: `row_cap` most VMs by zone,
    `row_skew` and the zones `row_counted` for it; the last zone is "none".
    Cards are in the column `card_column` of demand and capacity (-1: there are none), as units of
    `card_units` a card; `card_order` are the types that take a part of one, the largest first.
    """

    demand: Array
    capacity: Array
    most: Array
    zone: Array
    group_start: Array
    group_item: Array
    group_most: Array
    apart_start: Array
    apart_item: Array
    row_start: Array
    row_item: Array
    row_cap: Array
    row_skew: Array
    row_counted: Array
    card_column: int
    card_units: int
    card_order: Array


class Room(NamedTuple):
    """Servers being filled: vms (n, s), kind (n,), free (n, k), held (n, groups) VMs by group,
    total (rows, zones) VMs by row and zone, left (p,) unopened servers.
    """

    vms: Array
    kind: Array
    free: Array
    group_count: Array
    total: Array
    left: Array


def rule_arrays(demand: Integers, capacity: Integers, rules: RulesOnServers) -> RuleArrays:
    """Convert VM sizes, capacities and placement rules to arrays for compiled functions."""
    types, zones, card_column = len(demand), rules.zones, rules.card_column
    groups = [members for members, _ in rules.limits]
    rows = [rule[0] for rule in rules.zone_limits] + [rule[0] for rule in rules.spreads]
    pairs: list[list[int]] = [[] for _ in range(types)]
    for i, other in rules.apart:
        pairs[i].append(other)
        pairs[other].append(i)
    share = np.zeros(0, dtype=np.int64)
    if card_column >= 0:
        share = demand[:, card_column] % rules.card_units
    columns = zones + 1  # the last: servers in no zone
    cap = np.full((len(rows), columns), NO_CAP)
    skew = np.full(len(rows), NO_CAP)
    counted = np.zeros((len(rows), columns), dtype=np.bool_)
    for index, (_, largest) in enumerate(rules.zone_limits):
        cap[index, :zones] = largest
    for index, (_, largest, over) in enumerate(rules.spreads, start=len(rules.zone_limits)):
        skew[index] = largest
        counted[index, list(over)] = True
    return RuleArrays(
        demand=demand,
        capacity=capacity,
        most=rules.most,
        zone=np.where(rules.zone < 0, zones, rules.zone),
        group_start=_starts(groups, types)[0],
        group_item=_starts(groups, types)[1],
        group_most=np.array([number for _, number in rules.limits], dtype=np.int64),
        apart_start=np.cumsum([0, *map(len, pairs)]),
        apart_item=np.array([other for row in pairs for other in row], dtype=np.int64),
        row_start=_starts(rows, types)[0],
        row_item=_starts(rows, types)[1],
        row_cap=cap,
        row_skew=skew,
        row_counted=counted,
        card_column=card_column,
        card_units=rules.card_units,
        card_order=np.argsort(-share, kind="stable")[: int((share > 0).sum())],
    )


def empty_room(arrays: RuleArrays, limit: Integers, rows: int) -> Room:
    """Empty arrays for up to `rows` servers to fill, with `limit` (p,) of each class."""
    return Room(
        vms=np.zeros((rows, len(arrays.demand)), dtype=np.int64),
        kind=np.zeros(rows, dtype=np.int64),
        free=np.zeros((rows, arrays.demand.shape[1]), dtype=np.int64),
        group_count=np.zeros((rows, len(arrays.group_most)), dtype=np.int64),
        total=np.zeros(arrays.row_cap.shape, dtype=np.int64),
        left=limit.copy(),
    )


def _starts(groups: Sequence[Sequence[int]], types: int) -> tuple[Integers, Integers]:
    """Groups of each type in compressed form: start index of each type, and group indices."""
    inside: list[list[int]] = [[] for _ in range(types)]
    for index, group in enumerate(groups):
        for i in group:
            inside[i].append(index)
    return (
        np.cumsum([0, *map(len, inside)]),
        np.array([index for row in inside for index in row], dtype=np.int64),
    )
