"""Servers of a fixed cluster one by one, and the maximum number of VMs of each user."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ...instances.packing.game import FairShare
from ...instances.packing.instance import Integers, Packing, Placement
from ...instances.packing.placement_constraints import refuse_rules
from ...instances.problem.errors import InvalidInstance

UNCAPPED = 2**62
"""An elastic request."""

MOST_SERVERS = 1_000_000
"""More servers than this are not listed one by one."""

MOST_ROWS = 2**16
"""Combinations of VMs that are listed at a time."""

_HALVINGS = 30


@dataclass(frozen=True, eq=False)
class Cluster:
    """Servers of a cluster one by one, class by class.

    Attributes
    ----------
    kind : (P,) class of each server.
    free, start : (P, k) what it has free, and its initial space.
    cap : (s,) VMs a user may get at most; `UNCAPPED` when elastic.
    """

    kind: Integers
    free: Integers
    start: Integers
    cap: Integers

    @property
    def servers(self) -> int:
        """Number of servers."""
        return len(self.kind)


def fixed_cluster(instance: Packing) -> Cluster:
    """List the servers of an instance one by one, and the most VMs that each user may get.

    Raises
    ------
    InvalidInstance
        Some class has servers as needed, or a finite request must be served whole, or there are
        rules on where VMs may run.
    """
    refuse_rules(instance)
    if np.isinf(instance.server_count).any():
        c = int(np.argmax(np.isinf(instance.server_count)))
        raise InvalidInstance(
            f"servers[{c}]", "infinite (null)",
            "a number of servers, since elastic requests have no end",
            "Say how many servers there are",
        )  # fmt: skip
    fixed = ~instance.unbounded & (instance.requested > 0)
    if fixed.any() and not instance.partial:
        i = int(np.argmax(fixed))
        raise InvalidInstance(
            f"request[{i}]", f"{instance.requested[i]:.0f}, to be served whole",
            "elastic requests (null)",
            "Write null, or set partial to true so that requests are caps; or ask "
            "min-servers, which serves all of them",
        )  # fmt: skip
    total = int(instance.server_count.sum())
    if total > MOST_SERVERS:
        raise InvalidInstance(
            "servers", f"{total} in all", f"at most {MOST_SERVERS}, since each server is a player"
        )
    kind = np.repeat(np.arange(instance.classes), instance.server_count.astype(np.int64))
    cap = np.array(
        [UNCAPPED if np.isinf(wanted) else int(wanted) for wanted in instance.requested],
        dtype=np.int64,
    )
    return Cluster(kind, instance.capacity[kind], instance.initial_capacity[kind], cap)


def combinations(demand: Integers, cap: Integers, free: Integers) -> Iterator[Integers]:
    """Tables (n, s) that together list all combinations of VMs that fit a server, the empty one
    included, in lexicographic order.

    Parameters
    ----------
    demand, cap, free : (s, k) VM types, (s,) most VMs of each, (k,) what the server has free.
    """
    # VMs of the types before i, and how often type i was already added to the first of these rows
    stack = [(0, np.zeros((1, len(demand)), dtype=np.int64), 0)]
    while stack:
        i, rows, begin = stack.pop()
        if i == len(demand):
            yield rows
            continue
        left, needs = free - rows @ demand, demand[i] > 0
        number = 1 + (left[:, needs] // demand[i, needs]).min(axis=1, initial=cap[i])
        number[0] -= begin
        part = max(1, int(np.searchsorted(np.cumsum(number, dtype=float), MOST_ROWS, "right")))
        if number[0] > MOST_ROWS:
            stack.append((i, rows, begin + MOST_ROWS))
            number[0] = MOST_ROWS
        elif part < len(rows):
            stack.append((i, rows[part:], 0))
        number = number[:part]
        longer = np.repeat(rows[:part], number, axis=0)
        longer[:, i] = np.arange(len(longer)) - np.repeat(np.cumsum(number) - number, number)
        longer[: number[0], i] += begin
        stack.append((i + 1, longer, 0))


def evenly_filled(instance: Packing, cluster: Cluster) -> Placement:
    """Quick heuristic: VMs for about equal dominant shares first, then any VMs that still fit.

    First fit in bulk, the user of largest VMs first, at the largest share that a bisection finds.
    """
    unit = FairShare.of(instance).dominant_unit
    order = np.argsort(-unit, kind="stable")
    low, high = 0.0, 1.0
    best = np.zeros((cluster.servers, instance.types), dtype=np.int64)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        owed = np.minimum(np.floor(middle / unit), cluster.cap).astype(np.int64)
        count = _first_fit(cluster, instance.demand, owed, order, np.zeros_like(best))
        if (count.sum(axis=0) >= owed).all():
            low, best = middle, count
        else:
            high = middle
    return Placement(_first_fit(cluster, instance.demand, cluster.cap, order, best), cluster.kind)


def _first_fit(
    cluster: Cluster, demand: Integers, wanted: Integers, order: Integers, begun: Integers
) -> Integers:
    """Add VMs to a placement (P, s) by first fit, user by user, up to the wanted numbers."""
    count = begun.copy()
    free = cluster.free - count @ demand
    for i in order.tolist():
        some = demand[i] > 0
        room = (free[:, some] // demand[i, some]).min(axis=1)
        missing = min(int(wanted[i] - count[:, i].sum()), 2**62 // cluster.servers)
        room = np.minimum(room, missing)
        more = np.clip(missing - (np.cumsum(room) - room), 0, room)
        count[:, i] += more
        free -= more[:, None] * demand[i]
    return count
