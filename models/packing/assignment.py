"""Plain CP-SAT model of packing, with VMs by type and server, and arrays of placement rules."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ...instances.packing.instance import Packing
from ...instances.problem.errors import InvalidOption
from ...instances.problem.option_types import validate_options
from ...instances.problem.text import shortened

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

Integers = npt.NDArray[np.int64]

Group = tuple[tuple[int, ...], int]
"""VM types, and how many of them there may be."""

Spreads = tuple[tuple[tuple[int, ...], int, tuple[int, ...]], ...]
"""VM types, the largest skew of them, and the zones that count."""


@dataclass(frozen=True, eq=False)
class RulesOnServers:
    """Placement rules of a packing, as arrays and groups of VM types, for optimization models.

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
    """Packing and its placement rules, as arrays by VM type and server class for a program.

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


@dataclass(frozen=True, eq=False)
class AssignmentModel:
    """CP-SAT model of a packing, with the indices of its variables.

    Attributes
    ----------
    model : minimize the cost of the servers in use.
    count : (n, s) index of the variable that counts VMs of a type on a server, -1 where none can be
        there.
    used : (n,) index of the variable that says whether a server is in use.
    kind : (n,) class of each server.
    """

    model: cp_model.CpModel
    count: Integers
    used: Integers
    kind: Integers

    def counts(self, values: Integers) -> Integers:
        """Number (n, s) of VMs of each type on each server, from the values of all variables."""
        taken: Integers = np.where(self.count >= 0, values[np.maximum(self.count, 0)], 0)
        return taken


@validate_options
def assignment_model(
    instance: Any, kind: Integers | None = None, *, named: bool = False
) -> AssignmentModel:
    """CP-SAT model in which every VM is on some server and no server is above its capacity.

    Parameters
    ----------
    instance : a Packing without rules; or a part of one, as solvers hold them: `demand` (s, k) and
        `request` (s,) of VM types, `capacity` (p, k) and `price` (p,) of server classes, and the
        rules on where VMs may run.
    kind : (n,) class of each server that may be used, servers of one class together; of each class
        all there are, or one for each VM, when not given.
    named : servers are distinguished, so that nothing is said about their order.

    Symmetry: servers of one class are used in order, and in order of decreasing VMs of the first
    (largest) type.
    """
    from ortools.sat.python import cp_model

    if not hasattr(instance, "demand") or not hasattr(instance, "request"):
        raise InvalidOption(f"instance is {shortened(instance)}; expected a Packing")
    demand, capacity = instance.demand, instance.capacity
    request = np.asarray(instance.request, dtype=np.int64)
    price: Any = instance.cost if isinstance(instance, Packing) else instance.price
    if kind is None:
        there = getattr(instance, "server_count", np.full(len(capacity), np.inf))
        kind = np.repeat(np.arange(len(capacity)), np.minimum(there, request.sum()).astype(int))
    rules = instance if isinstance(instance, RulesOnServers) else None
    model = cp_model.CpModel()
    # 1. VMs of each type on each server, and whether it is used
    servers, types = len(kind), len(demand)
    count: list[list[Any]] = []
    for m in range(servers):
        room = capacity[kind[m]]
        row = []
        for i in range(types):
            needs = demand[i] > 0
            most = int(min((room[needs] // demand[i][needs]).min(), request[i]))
            if rules is not None:
                most = min(most, int(rules.most[i, kind[m]]))
            row.append(model.new_int_var(0, most, f"count_{m}_{i}") if most > 0 else None)
        count.append(row)
    used = [model.new_bool_var(f"used_{m}") for m in range(servers)]
    # 2. every VM is placed, no server is above its capacity
    for i in range(types):
        model.add(sum(row[i] for row in count if row[i] is not None) == int(request[i]))
    for m in range(servers):
        for j, room in enumerate(capacity[kind[m]].tolist()):
            load = [
                int(demand[i, j]) * entry
                for i, entry in enumerate(count[m])
                if entry is not None and demand[i, j]
            ]
            if load:
                model.add(sum(load) <= room * used[m])
    if rules is not None:
        _keep(model, count, demand, request, capacity, kind, rules)
    # 3. symmetry; then the volume and what is paid
    for m in range(1, servers):
        if kind[m] == kind[m - 1] and not named:
            model.add(used[m - 1] >= used[m])
            if count[m][0] is not None:
                model.add(count[m - 1][0] >= count[m][0])
    for j in range(capacity.shape[1]):  # volume: implied, and a good cut
        total = int(demand[:, j] @ request)
        volume: Any = sum(int(capacity[c, j]) * used[m] for m, c in enumerate(kind.tolist()))
        model.add(volume >= total)
    model.minimize(sum(int(price[c]) * used[m] for m, c in enumerate(kind.tolist())))
    # 4. the indices of the columns
    index = np.array(
        [[-1 if entry is None else entry.index for entry in row] for row in count], dtype=np.int64
    )
    where = np.array([entry.index for entry in used], dtype=np.int64)
    return AssignmentModel(model, index.reshape(servers, types), where, np.asarray(kind))


def _on_cards(
    model: cp_model.CpModel,
    m: int,
    row: list[Any],
    demand: Integers,
    room: int,
    rules: RulesOnServers,
) -> None:
    """Add to the CP-SAT model the number of shares of each size on each card of a server."""
    units = rules.card_units
    taken = demand[:, rules.card_column].tolist()
    pairs = [(n, entry) for n, entry in zip(taken, row, strict=True) if n and entry is not None]
    if not pairs:
        return
    whole = [n // units * entry for n, entry in pairs if n >= units]
    by_size: dict[int, list[Any]] = {}
    for n, entry in pairs:
        if n % units:
            by_size.setdefault(n % units, []).append(entry)
    cards = room // units
    shared = [model.new_bool_var(f"shared_{m}_{c}") for c in range(cards if by_size else 0)]
    model.add(sum(whole) + sum(shared) <= cards)
    for one, another in pairwise(shared):
        model.add(one >= another)
    on = {
        size: [
            model.new_int_var(0, units // size, f"size_{size}_on_{m}_{c}")
            for c in range(len(shared))
        ]
        for size in by_size
    }
    for size, entries in by_size.items():
        model.add(sum(on[size]) == sum(entries))
    for card, flag in enumerate(shared):
        model.add(sum(size * numbers[card] for size, numbers in on.items()) <= units * flag)


def _keep(
    model: cp_model.CpModel, count: list[list[Any]], demand: Integers, request: Integers,
    capacity: Integers, kind: Integers, rules: RulesOnServers,
) -> None:  # fmt: skip
    """Add the placement rules of VMs to the model."""
    servers = range(len(kind))

    def members(group: Iterable[int], where: Iterable[int]) -> list[Any]:
        return [count[m][i] for m in where for i in group if count[m][i] is not None]

    for group, most in rules.limits:
        for m in servers:
            if len(entries := members(group, [m])) > 1:
                model.add(sum(entries) <= most)
    there: dict[tuple[int, int], Any] = {}  # whether a server holds any VM of a type
    for i, other in rules.apart:
        for m in servers:
            if count[m][i] is None or count[m][other] is None:
                continue
            for j in (i, other):
                if (m, j) not in there:
                    there[m, j] = model.new_bool_var(f"there_{m}_{j}")
                    model.add(count[m][j] == 0).only_enforce_if(there[m, j].negated())
            model.add_at_most_one(there[m, i], there[m, other])
    if rules.card_column >= 0:
        for m in servers:
            _on_cards(model, m, count[m], demand, int(capacity[kind[m], rules.card_column]), rules)
    within = [np.flatnonzero(rules.zone[kind] == z).tolist() for z in range(rules.zones)]
    for group, most in rules.zone_limits:
        for where in within:
            model.add(sum(members(group, where)) <= most)
    for group, skew, zones in rules.spreads:
        totals = [sum(members(group, within[z])) for z in zones]
        fewest = model.new_int_var(0, int(request[list(group)].sum()), "fewest")
        for total in totals:
            model.add(total >= fewest)
            model.add(total <= fewest + skew)
