"""Reduction of packing instances: equal VM types merged, absent types and classes dropped."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ...instances.packing.instance import Integers, Packing, Placement
from ...instances.packing.placement_constraints import refuse_rules
from ...instances.problem.errors import InvalidInstance
from .rule_arrays import RuleArrays, rule_arrays

Counts = tuple[Integers, Integers]
"""(n, s) VMs of each type on each server, and (n,) the servers' classes, of a `Reduced`."""

UNLIMITED = 2**62
"""Servers of a class without limit."""


@dataclass(frozen=True, eq=False)
class Reduced:
    """Reduced packing: distinct VM types, largest first, and the server classes that exist.

    Attributes
    ----------
    demand, request : (s, k) sizes and (s,) how many VMs of each, at least 1 (of the rest that a
        dive has to place, 0 too).
    capacity, servers, price : (p, k), (p,) how many (`UNLIMITED` at most), and (p,) what using one
        costs.
    classes : (p,) the instance's index of each class.
    members : for each type here, the instance's types merged in it.
    instance : where it comes from.
    """

    demand: Integers
    request: Integers
    capacity: Integers
    servers: Integers
    price: Integers
    classes: Integers
    members: tuple[tuple[int, ...], ...]
    instance: Packing

    @property
    def types(self) -> int:
        """Number of distinct VM types."""
        return len(self.demand)

    @property
    def vms(self) -> int:
        """Number of VMs."""
        return int(self.request.sum())

    @property
    def compatible(self) -> npt.NDArray[np.bool_]:
        """Whether rules allow two VM types on one server: always, without rules."""
        return np.ones((1, 1), dtype=np.bool_)

    @cached_property
    def arrays(self) -> RuleArrays:
        """Sizes and rules as arrays for the kernels."""
        room = self.capacity[None] // np.maximum(self.demand[:, None], 1)
        most = np.where(self.demand[:, None] > 0, room, self.request[:, None, None]).min(axis=2)
        return rule_arrays(self.demand, self.capacity, np.minimum(most, self.request[:, None]))

    @property
    def limit(self) -> Integers:
        """Number of servers of each class that any answer could use, shape (p,)."""
        return np.minimum(self.servers, self.vms)

    @property
    def budget(self) -> int:
        """Total cost of all servers that any answer could use."""
        return int((self.limit * self.price).sum())

    def cost(self, kind: Integers) -> int:
        """Total cost of servers given by class."""
        return int(self.price[kind].sum())

    def placement(self, count: Integers, kind: Integers) -> Placement:
        """Placement of the instance from counts (n, s) and classes (n,) of the reduction; surplus
        VMs are dropped.

        A merged type is handed out to its members in order.
        """
        return Placement(self.handed_out(count), self.classes[kind])

    @property
    def kinds(self) -> tuple[tuple[int, ...], ...]:
        """For each reduced class, the instance's classes that it represents."""
        return tuple((c,) for c in self.classes.tolist())

    def counts(self, placement: Placement) -> tuple[Integers, Integers]:
        """Counts (n, s) and classes (n,) of the reduction from a placement of the instance."""
        where = {c: index for index, group in enumerate(self.kinds) for c in group}
        rows = [placement.count[:, list(group)].sum(axis=1) for group in self.members]
        kind = [where[c] for c in placement.server_class.tolist()]
        return np.stack(rows, axis=1), np.array(kind, dtype=np.int64)

    def able(self, count: Integers, kind: Integers) -> npt.NDArray[np.bool_]:
        """Whether a server of each class could hold the VMs (n, s) of a server of class (n,), shape
        (n, p).
        """
        load = (count @ self.demand)[:, None]
        fits: npt.NDArray[np.bool_] = np.all(load <= self.capacity[None], axis=2)
        return fits

    def handed_out(self, count: Integers) -> Integers:
        """VMs of the instance's types on each server, shape (n, types)."""
        # types that were not merged, and placed as often as wanted, are as they stand here
        source = np.full(self.instance.types, -1)
        placed = count.sum(axis=0)
        for index, members in enumerate(self.members):
            wanted = self.instance.requested[members[0]]
            if len(members) == 1 and placed[index] == self.request[index] == wanted:
                source[members[0]] = index
        if np.array_equal(source, np.arange(count.shape[1])):
            return count
        rows: Integers = np.take(count, np.maximum(source, 0), axis=1)
        rows[:, source < 0] = 0
        for index, members in enumerate(self.members):
            if source[members[0]] == index:
                continue
            upto = np.minimum(np.cumsum(count[:, index]), self.request[index])
            wanted = self.instance.requested[list(members)].astype(np.int64)
            ends = np.cumsum(wanted)
            for member, end, number in zip(members, ends, wanted, strict=True):
                given = np.clip(upto, end - number, end) - (end - number)
                rows[:, member] = np.diff(given, prepend=0)
        return rows


def presolve(instance: Packing, *, costs: bool = False) -> Reduced:
    """Merge equal VM types and drop absent ones.

    Parameters
    ----------
    costs : count a server at its class's cost, not as one.

    Raises
    ------
    InvalidInstance
        A request is elastic, or may be served in part: "fewest servers" has no meaning then. Or
        there are rules on where VMs may run, which this reduction leaves out.
    """
    refuse_rules(instance)
    require_whole(instance)
    wanted = instance.requested.astype(np.int64)
    groups: dict[bytes, list[int]] = {}
    for place in np.flatnonzero(wanted).tolist():
        groups.setdefault(instance.demand[place].tobytes(), []).append(place)
    classes = np.flatnonzero(instance.server_count > 0)
    capacity = instance.capacity[classes]
    members = sorted(
        groups.values(), key=lambda group: (-_share(instance.demand[group[0]], capacity), group[0])
    )
    available = instance.server_count[classes]
    return Reduced(
        demand=np.array([instance.demand[group[0]] for group in members], dtype=np.int64),
        request=np.array([wanted[group].sum() for group in members], dtype=np.int64),
        capacity=capacity,
        servers=np.array(
            [UNLIMITED if np.isinf(number) else int(number) for number in available], dtype=np.int64
        ),
        price=instance.server_cost[classes] if costs else np.ones(len(classes), dtype=np.int64),
        classes=classes,
        members=tuple(tuple(group) for group in members),
        instance=instance,
    )


def require_whole(instance: Packing) -> None:
    """Raise InvalidInstance unless all requests are finite and must be served completely."""
    if instance.unbounded.any():
        i = int(np.argmax(instance.unbounded))
        raise InvalidInstance(
            f"request[{i}]", f"elastic (null) for {instance.names[i]!r}",
            "a number of VMs, since all of them are to be served",
            "Give a number, or ask a method for elastic requests (FUGA, DRF, max-min-share, ...)",
        )  # fmt: skip
    if instance.partial:
        raise InvalidInstance(
            "partial", "true",
            "false: with requests that may be served in part the fewest servers are none",
            "Drop it, or ask a method for elastic requests (FUGA, DRF, max-min-share, ...)",
        )  # fmt: skip


def _share(size: Integers, capacity: Integers) -> float:
    """Size of a VM as the sum of its shares of the largest capacities."""
    return float((size / np.maximum(capacity.max(axis=0), 1)).sum())
