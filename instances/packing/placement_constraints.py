"""Placement rules of VMs: eligible servers, limits, conflicts, zones and spreads; and the current
placement.

The fields of `Packing` that say so are validated, brought into one form, and checked here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np

from ..problem.errors import InfeasibleSolution, InvalidInstance
from ..problem.fields import (
    Booleans,
    Index,
    Integers,
    raise_first_broken,
    raise_first_invalid,
    repeated,
    set_field,
    set_names,
)
from ..problem.option_types import AtLeast

Within = Literal["server", "zone"]

RULES = ("allowed", "most_per_server", "apart", "skew", "limits", "spreads", "cards")
"""The fields that forbid placements beyond what room for each resource does."""


@dataclass(frozen=True)
class Limit:
    """Placement rule: at most `most` VMs of some types in total on any server, or in any zone.

    Parameters
    ----------
    types : the VM types that are counted together.
    most : at least 1.
    within : "server" or "zone".
    """

    types: Annotated[tuple[int, ...], Index("types")]
    most: Annotated[int, AtLeast(1, "a number of VMs")]
    within: Within = "server"


@dataclass(frozen=True)
class Spread:
    """Placement rule: counted zones differ by at most `skew` in their VMs of some types.

    Parameters
    ----------
    types : the VM types that are counted together.
    skew : at least 1.
    zones : those that count, empty ones too; when none are given, every zone with a server on which
        one of the types is allowed. VMs elsewhere are not counted.
    """

    types: Annotated[tuple[int, ...], Index("types")]
    skew: Annotated[int, AtLeast(1, "a number of VMs")]
    zones: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Rules:
    """Placement rules of an instance in a normal form, without shorthand fields.

    Attributes
    ----------
    allowed : (s, p) whether a type may run on a class.
    limits, zone_limits : VM types and how many of them one server, or one zone, may hold.
    apart : pairs of types of which no server holds both.
    spreads : VM types, their largest skew, and the zones that count.
    zone : (p,) number of each class's zone, -1 for none.
    zones : names of the zones.
    """

    allowed: Booleans
    limits: tuple[tuple[tuple[int, ...], int], ...]
    zone_limits: tuple[tuple[tuple[int, ...], int], ...]
    apart: tuple[tuple[int, int], ...]
    spreads: tuple[tuple[tuple[int, ...], int, tuple[int, ...]], ...]
    zone: Integers
    zones: tuple[str, ...]


def given_rules(instance: Any, names: Iterable[str] = RULES) -> list[str]:
    """Names of the fields of placement rules that an instance has."""
    return [n for n in names if getattr(instance, n) is not None and len(getattr(instance, n))]


def refuse_rules(instance: Any, known: tuple[str, ...] = ()) -> None:
    """Raise InvalidInstance if an instance has placement rules or services that a method does not
    support.
    """
    if instance.services:
        raise InvalidInstance(
            "services", "given", "requests: this method does not know services",
            "Ask min-servers or min-cost",
        )  # fmt: skip
    if given := given_rules(instance, [name for name in RULES if name not in known]):
        raise InvalidInstance(
            given[0], "given", "nothing: this method does not know rules on where VMs may run",
            "Ask min-servers, min-cost, cp-sat, fewest-moves, or a greedy packer (FFD, dot, ...)",
        )  # fmt: skip


def rules_of(instance: Any) -> Rules:
    """Placement rules from the fields of an instance; without a rule every placement is allowed."""
    types, classes = instance.types, instance.classes
    allowed = instance.allowed
    if allowed is None:
        allowed = np.ones((types, classes), dtype=np.bool_)
    zones = tuple(dict.fromkeys(name for name in instance.zone if name))
    number = {name: index for index, name in enumerate(zones)}
    zone = np.array([number.get(name, -1) for name in instance.zone] or [-1] * classes)
    own = [] if instance.most_per_server is None else instance.most_per_server.tolist()
    alone = [] if instance.skew is None else instance.skew.tolist()
    spreads = [Spread((i,), int(skew)) for i, skew in enumerate(alone) if np.isfinite(skew)]
    spreads += instance.spreads
    there = allowed & (instance.server_count > 0) & (zone >= 0)
    limits = [((i,), int(most)) for i, most in enumerate(own) if np.isfinite(most)]
    return Rules(
        allowed=allowed,
        limits=(
            *limits,
            *((rule.types, rule.most) for rule in instance.limits if rule.within == "server"),
        ),
        zone_limits=tuple(
            (rule.types, rule.most) for rule in instance.limits if rule.within == "zone"
        ),
        apart=() if instance.apart is None else tuple(map(tuple, instance.apart.tolist())),
        spreads=tuple(
            (
                rule.types,
                rule.skew,
                tuple(sorted(number[name] for name in rule.zones))
                or tuple(np.unique(zone[there[list(rule.types)].any(axis=0)]).tolist()),
            )
            for rule in spreads
        ),
        zone=zone,
        zones=zones,
    )


def set_rules(instance: Any) -> None:
    """Raise InvalidInstance unless the fields that say where VMs may run, and what the servers hold
    now, are valid.
    """
    types, pairs = instance.types, instance.apart
    if pairs is not None:
        if not pairs.size:
            set_field(instance, "apart", None)
        if (same := np.flatnonzero((pairs[:, :1] == pairs[:, 1:]).all(axis=1))).size:
            raise InvalidInstance(
                f"apart[{same[0]}]", str(pairs[same[0]].tolist()), "two different types",
                "Write most_per_server 1 where no two VMs of a type may share a server",
            )  # fmt: skip
    for place, rule in enumerate(instance.spreads):
        if unknown := sorted(set(rule.zones) - set(filter(None, instance.zone))):
            raise InvalidInstance(
                f"spreads[{place}].zones", f"naming {unknown[0]!r}",
                f"zones of the servers: {', '.join(sorted(set(filter(None, instance.zone))))}",
            )  # fmt: skip
    needing = given_rules(instance, ("skew", "spreads"))
    if any(rule.within == "zone" for rule in instance.limits):
        needing.append("limits")
    if needing and not instance.zone:
        raise InvalidInstance(
            needing[0], "given without zones", "zone, the zone of each server class",
            "Give zone, or drop the rule",
        )  # fmt: skip
    _set_placed(instance, types)


def check_rules(instance: Any, count: Integers, kind: Integers) -> None:
    """Raise InfeasibleSolution unless a placement satisfies the instance's placement rules.

    Parameters
    ----------
    count, kind : (n, s) VMs on each server, and (n,) its class.

    Raises
    ------
    InfeasibleSolution
        Naming the first rule that is broken, and where.
    """
    names = instance.names  # 1. Rules of single servers.
    if instance.allowed is not None:
        raise_first_broken((count > 0) & ~instance.allowed.T[kind], lambda m, i: (
            f"server {m} (class {kind[m]}) holds VMs of type {names[i]!r}, which are not allowed "
            "there"
        ))  # fmt: skip
    if instance.most_per_server is not None:
        raise_first_broken(count > instance.most_per_server, lambda m, i: (
            f"server {m} holds {count[m, i]} VMs of type {names[i]!r}; at most "
            f"{instance.most_per_server[i]:.0f} may share a server"
        ))  # fmt: skip
    for i, other in () if instance.apart is None else instance.apart.tolist():
        both = (count[:, i] > 0) & (count[:, other] > 0)
        raise_first_broken(both, lambda m, i=i, other=other: (
            f"server {m} holds VMs of types {names[i]!r} and {names[other]!r}, which are to be "
            "apart"
        ))  # fmt: skip
    where = np.array([instance.zone[c] if instance.zone else "" for c in kind.tolist()], dtype=str)
    zones = sorted(set(filter(None, instance.zone)))  # 2. Limits by server or zone.
    for place, rule in enumerate(instance.limits):
        by_server = count[:, list(rule.types)].sum(axis=1)
        totals = {f"server {m}": int(number) for m, number in enumerate(by_server)}
        if rule.within == "zone":
            totals = {f"zone {name!r}": int(by_server[where == name].sum()) for name in zones}
        for what, number in totals.items():
            if number > rule.most:
                raise InfeasibleSolution(
                    f"{what} holds {number} VMs of limits[{place}]; at most {rule.most} may be"
                )
    alone = [] if instance.skew is None else instance.skew.tolist()  # 3. Spreads over zones.
    spreads = [
        (f"type {names[i]!r}", Spread((i,), int(s))) for i, s in enumerate(alone) if s < np.inf
    ]
    spreads += [(f"spreads[{place}]", rule) for place, rule in enumerate(instance.spreads)]
    for what, rule in spreads:
        by_server = count[:, list(rule.types)].sum(axis=1)
        numbers = {
            name: int(by_server[where == name].sum())
            for name in rule.zones or counted_zones(instance, rule.types)
        }
        if not numbers:
            continue
        most, least = max(numbers, key=numbers.__getitem__), min(numbers, key=numbers.__getitem__)
        if numbers[most] - numbers[least] > rule.skew:
            raise InfeasibleSolution(
                f"zone {most!r} holds {numbers[most]} VMs of {what}, zone {least!r} "
                f"{numbers[least]}; the largest skew is {rule.skew}"
            )


def present_counts(instance: Any) -> Integers:
    """Current number (n, s) of VMs of each type on each server."""
    count = np.zeros((int(instance.server_count.sum()), instance.types), dtype=np.int64)
    if instance.placed is not None:
        count[instance.placed[:, 0], instance.placed[:, 1]] = instance.placed[:, 2]
    return count


def stays(instance: Any, count: Integers, kind: Integers) -> tuple[Integers, int]:
    """Assignment to servers by which a placement leaves most VMs where they are, and the number
    that move.

    Servers of a class are interchangeable, so each is matched with one of what runs now
    (Kuhn 1955); VMs that do not run now are no moves.

    Parameters
    ----------
    count, kind : of the placement.

    Returns
    -------
    (n,) number of the server that each row is on, and the VMs that run now and leave their server.
    """
    from scipy.optimize import linear_sum_assignment

    present, class_of = present_counts(instance), instance.server_class
    server, stay = np.zeros(len(kind), dtype=np.int64), 0
    for c in np.unique(kind).tolist():
        rows, there = np.flatnonzero(kind == c), np.flatnonzero(class_of == c)
        overlap = np.zeros((len(rows), len(there)), dtype=np.int64)
        for column, m in enumerate(there.tolist()):
            present_types = np.flatnonzero(present[m])
            overlap[:, column] = np.minimum(
                count[np.ix_(rows, present_types)], present[m, present_types]
            ).sum(axis=1)
        row, column = linear_sum_assignment(overlap, maximize=True)
        server[rows[row]] = there[column]
        stay += int(overlap[row, column].sum())
    return server, int(present.sum()) - stay


def counted_zones(instance: Any, types: Iterable[int]) -> list[str]:
    """Names of the zones with a server on which one of the given VM types is allowed."""
    found = {
        name
        for c, name in enumerate(instance.zone)
        if name
        and instance.server_count[c] > 0
        and (instance.allowed is None or any(instance.allowed[i, c] for i in types))
    }
    return sorted(found)


def _set_placed(instance: Any, types: int) -> None:
    """Set the current placement and the names of servers: both need a number of servers."""
    named = np.size(instance.server_names) > 0
    if instance.placed is None and not named:
        set_field(instance, "server_names", ())
        return
    if not np.isfinite(instance.server_count).all():
        raise InvalidInstance(
            "server_names" if instance.placed is None else "placed",
            "given where servers are as many as needed",
            "a number of servers of every class",
        )
    servers = int(instance.server_count.sum())
    set_names(instance, "server_names", servers, "server")
    if instance.placed is None:
        return
    placed = instance.placed
    column, number = np.arange(3), np.array([servers, types, np.inf])
    for index, what in enumerate(("a server", "a VM type")):
        wrong = (column == index) & ((placed < 0) | (placed >= number))
        raise_first_invalid("placed", placed, wrong, f"{what}, 0 to {(servers, types)[index] - 1}")
    raise_first_invalid(
        "placed", placed, (column == 2) & (placed < 1), "a number of VMs, at least 1"
    )
    if (twice := repeated(map(tuple, placed[:, :2].tolist()))) is not None:
        raise InvalidInstance(
            "placed", f"naming server {twice[0]} and VM type {twice[1]} twice", "one row for both"
        )
    total = np.bincount(placed[:, 1], weights=placed[:, 2], minlength=types)
    for i in np.flatnonzero(total > instance.requested).tolist():
        raise InvalidInstance(
            "placed", f"{total[i]:.0f} VMs of type {instance.names[i]!r}",
            f"at most request[{i}] = {instance.requested[i]:.0f}",
        )  # fmt: skip
