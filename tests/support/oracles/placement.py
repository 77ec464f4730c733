"""Small packings with rules on where VMs may run, at random, and their optima by enumeration,
written apart from the package.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from cotenant.instances.packing import Packing
from cotenant.instances.packing.placement_constraints import Limit, Spread
from cotenant.instances.problem.errors import InvalidInstance
from support.oracles.packing import carded

WEB = Packing(
    capacity=[[8], [8], [8]], demand=[[3], [2], [1]], request=[3, 2, 2], servers=[1, 1, 2],
    zone=("a", "b", "b"), apart=[[0, 1]], skew=[1, np.inf, np.inf], limits=(Limit((0, 2), 2),),
    placed=[[0, 0, 1], [1, 0, 1], [2, 0, 1], [2, 2, 1], [3, 1, 2], [3, 2, 1]],
)  # fmt: skip
"""Conflicts, a skew and a limit."""


@dataclass
class Best:
    """The fewest servers, the least cost, and the fewest moves on the fewest servers."""

    servers: int
    cost: int
    moves: int


def state(seed: int) -> Packing:
    """Up to five servers of two or three classes, up to six VMs of up to three types."""
    rng = np.random.default_rng(seed)
    classes, types = int(rng.integers(2, 4)), int(rng.integers(2, 4))
    servers = rng.integers(1, 3, classes)
    request = rng.integers(1, 4 if types == 2 else 3, types)
    capacity = rng.integers(5, 12, (classes, 2))
    demand = np.minimum(rng.integers(1, 6, (types, 2)), capacity.min(axis=0))
    fields: dict[str, Any] = {}

    def some(share: float) -> bool:
        return bool(rng.random() < share)

    if some(0.5):
        fields["allowed"] = rng.random((types, classes)) < 0.75
    if some(0.4):
        fields["most_per_server"] = rng.choice([1.0, 2.0, np.inf], types)
    if some(0.4):
        fields["apart"] = [sorted(rng.choice(types, 2, replace=False).tolist())]
    if some(0.7):
        fields["zone"] = tuple(rng.choice(["a", "b", ""], classes, p=[0.45, 0.45, 0.1]).tolist())
    zoned = any(fields.get("zone", ()))
    if zoned and some(0.6):
        fields["skew"] = rng.choice([1.0, 2.0, np.inf], types)
    if some(0.4):
        within = "zone" if zoned and some(0.4) else "server"
        fields["limits"] = (Limit(_some_types(rng, types), int(rng.integers(1, 4)), within),)
    if zoned and some(0.3):
        zones = sorted(set(filter(None, fields["zone"]))) if some(0.5) else ()
        fields["spreads"] = (Spread(_some_types(rng, types), 1, tuple(zones)),)
    held: Counter[tuple[int, int]] = Counter()
    for i, number in enumerate(request.tolist()):
        for _ in range(number):
            if some(0.9):
                held[int(rng.integers(servers.sum())), i] += 1
    return Packing(
        capacity=capacity,
        demand=demand,
        request=request.astype(float),
        servers=servers.astype(float),
        cost=rng.integers(1, 5, classes),
        placed=[(m, i, n) for (m, i), n in sorted(held.items())],  # type: ignore[arg-type]
        name=f"state-{seed}",
        **fields,
    )


def with_cards(instance: Packing, seed: int) -> Packing:
    """Instance with cards added to its servers, of which VMs take whole ones or a share of one."""
    rng = np.random.default_rng([seed, 1])
    types, units = instance.types, int(rng.integers(2, 11))
    kind = rng.integers(0, 4, types)  # a whole card, shares, none
    return instance.replace(
        cards=rng.integers(1, 4, instance.classes), card_units=units,
        card_demand=np.where(kind == 0, 1, 0),
        card_share=np.where((kind == 1) | (kind == 2), rng.integers(1, units, types), 0),
    )  # fmt: skip


def odd(seed: int) -> Packing:
    """A small cluster as files may have it: classes without servers or room, types of one size, all
    rules at once.
    """
    rng = random.Random(seed)
    classes, types = rng.randint(1, 4), rng.randint(1, 4)
    demand = [[rng.randint(0, 3), rng.randint(0, 3)] for _ in range(types)]
    if rng.random() < 0.4:
        demand[-1] = demand[0]
    zone = tuple(rng.choice(["a", "b", "c", ""]) for _ in range(classes))
    zones = sorted(set(filter(None, zone)))

    def some() -> tuple[int, ...]:
        return tuple(rng.sample(range(types), rng.randint(1, types)))

    fields: dict[str, Any] = {"zone": zone}
    if rng.random() < 0.4:
        fields["allowed"] = [[rng.random() < 0.7 for _ in range(classes)] for _ in range(types)]
    if rng.random() < 0.3:
        fields["most_per_server"] = [rng.choice([1, 2, np.inf]) for _ in range(types)]
    if types > 1:
        fields["apart"] = [rng.sample(range(types), 2) for _ in range(rng.randint(0, 3))]
    within: list[Any] = ["server", "zone"] if zones else ["server"]
    number = rng.randint(0, 2)
    fields["limits"] = [Limit(some(), rng.randint(1, 3), rng.choice(within)) for _ in range(number)]
    if zones and rng.random() < 0.7:
        fields["skew"] = [rng.choice([1, 2, np.inf]) for _ in range(types)]
        named = tuple(rng.sample(zones, rng.randint(0, len(zones))))
        fields["spreads"] = [Spread(some(), rng.randint(1, 2), named)]
    request, servers = ([rng.choice([0, 1, 1, 2]) for _ in range(k)] for k in (types, classes))
    held: Counter[tuple[int, int]] = Counter()
    for i, number in enumerate(request):
        for _ in range(number if sum(servers) else 0):
            held[rng.randrange(sum(servers)), i] += 1
    capacity = [[rng.randint(0, 8), rng.randint(0, 8)] for _ in range(classes)]
    placed = [(m, i, n) for (m, i), n in sorted(held.items())]
    name = f"odd-{seed}"
    return Packing(capacity, demand, request, servers, placed=placed, name=name, **fields)  # type: ignore[arg-type]


def _some_types(rng: np.random.Generator, types: int) -> tuple[int, ...]:
    return tuple(sorted(rng.choice(types, int(rng.integers(1, types + 1)), replace=False).tolist()))


def answers(instance: Packing) -> list[tuple[int, int, int]]:
    """Servers, cost and moves of every placement that satisfies all rules."""
    kind = [c for c in range(instance.classes) for _ in range(int(instance.server_count[c]))]
    present: Counter[tuple[int, int]] = Counter()
    for m, i, n in [] if instance.placed is None else instance.placed.tolist():
        present[m, i] = n
    ways = []  # for each type, the ways to share its VMs out over the servers
    for i in range(instance.types):
        number = int(instance.requested[i])
        ways.append(
            [
                row
                for row in itertools.product(range(number + 1), repeat=len(kind))
                if sum(row) == number and _alone(instance, kind, i, row)
            ]
        )
    found: list[tuple[int, int, int]] = []
    for rows in itertools.product(*ways):
        if not _together(instance, kind, rows):
            continue
        used = [m for m in range(len(kind)) if any(row[m] for row in rows)]
        stay = sum(min(row[m], present[m, i]) for i, row in enumerate(rows) for m in used)
        cost = sum(int(instance.server_cost[kind[m]]) for m in used)
        found.append((len(used), cost, sum(present.values()) - stay))
    return found


def best(instance: Packing) -> Best | None:
    """Fewest servers, least cost and fewest moves over all placements; None if infeasible."""
    found = answers(instance)
    if not found:
        return None
    servers = min(entry[0] for entry in found)
    return Best(
        servers,
        min(entry[1] for entry in found),
        min(entry[2] for entry in found if entry[0] <= servers),
    )


def _alone(instance: Packing, kind: list[int], i: int, row: tuple[int, ...]) -> bool:
    """Whether the VMs of one type alone satisfy eligibility, limit, capacity and skew."""
    for m, number in enumerate(row):
        if number and instance.allowed is not None and not instance.allowed[i, kind[m]]:
            return False
        if instance.most_per_server is not None and number > instance.most_per_server[i]:
            return False
        if any(number * instance.demand[i] > instance.capacity[kind[m]]):
            return False
    if instance.skew is not None and instance.skew[i] < np.inf:
        return _even(instance, kind, [i], row, int(instance.skew[i]), ())
    return True


def _even(
    instance: Packing, kind: list[int], types: list[int], row: Any, skew: int, zones: Any
) -> bool:
    counted = set(zones) or {
        instance.zone[c]
        for c in kind
        if instance.zone[c]
        and (instance.allowed is None or any(instance.allowed[i, c] for i in types))
    }
    numbers = [
        sum(row[m] for m in range(len(kind)) if instance.zone[kind[m]] == z) for z in counted
    ]
    return max(numbers, default=0) - min(numbers, default=0) <= skew


def _together(instance: Packing, kind: list[int], rows: tuple[tuple[int, ...], ...]) -> bool:
    for m, c in enumerate(kind):
        load = sum(row[m] * instance.demand[i] for i, row in enumerate(rows))
        if any(load > instance.capacity[c]):
            return False
        if instance.cards is not None and not carded(instance, c, [row[m] for row in rows]):
            return False
        for i, other in [] if instance.apart is None else instance.apart.tolist():
            if rows[i][m] and rows[other][m]:
                return False
    for rule in instance.limits:
        row = [sum(rows[i][m] for i in rule.types) for m in range(len(kind))]
        if rule.within == "server" and max(row) > rule.most:
            return False
        if rule.within == "zone":
            for z in set(filter(None, instance.zone)):
                if sum(n for m, n in enumerate(row) if instance.zone[kind[m]] == z) > rule.most:
                    return False
    for rule in instance.spreads:
        row = [sum(rows[i][m] for i in rule.types) for m in range(len(kind))]
        if not _even(instance, kind, list(rule.types), row, rule.skew, rule.zones):
            return False
    return True


def states(first: int, number: int) -> list[Packing]:
    """`number` of the states that are valid instances, some of which forbid a type somewhere."""
    found: list[Packing] = []
    while len(found) < number:
        with suppress(InvalidInstance):
            found.append(state(first))
        first += 1
    return found
