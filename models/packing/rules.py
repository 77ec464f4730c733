"""Placement rules of a packing as data of optimization models: groups of VM types, limits, ..."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]

Group = tuple[tuple[int, ...], int]
"""VM types, and how many of them there may be."""

Spreads = tuple[tuple[tuple[int, ...], int, tuple[int, ...]], ...]
"""VM types, the largest skew of them, and the zones that count."""


@dataclass(frozen=True, eq=False)
class RulesOnServers:
    """Placement rules of a packing in the form in which optimization models read them.

    Attributes
    ----------
    most : (s, p) VMs of a type that one server of a class holds at most, by all rules.
    limits, zone_limits : groups of types, and how many of them a server, or a zone, holds.
    apart : pairs of types of which no server holds both.
    spreads : groups of types, their largest skew, and the zones that count.
    zone : (p,) zone of each class, -1 for none.
    zones : how many there are.
    card_column, card_units : the column of demand and capacity that counts units of cards, -1 for
        none, and the units of one.
    """

    most: Integers
    limits: tuple[Group, ...]
    zone_limits: tuple[Group, ...]
    apart: tuple[tuple[int, int], ...]
    spreads: Spreads
    zone: Integers
    zones: int
    card_column: int = field(default=-1, kw_only=True)
    card_units: int = field(default=1, kw_only=True)


@dataclass(frozen=True, eq=False)
class RuledPacking(RulesOnServers):
    """Packing with placement rules in the form in which the aggregated program reads it.

    Attributes
    ----------
    demand, request : (s, k) sizes, and (s,) VMs of each type.
    capacity, price : (p, k) room and (p,) price of a server.
    limit, least : (p,) servers of each class that an answer could use, and that every answer uses.
    size : (p,) 1; or so many servers, all in use, that are one large server.
    of : (q,) the class here of each class before any were pooled to one large server.
    """

    demand: Integers
    request: Integers
    capacity: Integers
    price: Integers
    limit: Integers
    least: Integers
    size: Integers
    of: Integers
