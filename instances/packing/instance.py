"""Instance (Packing) and solution (Placement) of packing, and the check of feasibility."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from ..problem.base import NO_CONTENT_WHEN_ABSENT, Instance, Solution
from ..problem.errors import InfeasibleSolution, InvalidInstance
from ..problem.fields import (
    WHOLE,
    Axes,
    Index,
    Json,
    Names,
    frozen_array,
    raise_first_broken,
    raise_first_invalid,
    set_field,
    set_fields,
)
from ..problem.frames import axis_labels, from_labels
from ..problem.option_types import AtLeast, Range, validate_options
from .cards import check_cards, refuse_large_totals, require_cards, set_cards, units_there
from .placement_constraints import (
    Limit,
    Rules,
    Spread,
    check_rules,
    given_rules,
    rules_of,
    set_rules,
)
from .services import Service, check_services, require_services

if TYPE_CHECKING:
    import pandas

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

LARGEST = 2**53
"""No total of whole numbers may reach it: exact in int64, and divided as floats."""

AN_AMOUNT = AtLeast(0, "a whole amount")
OPTIONAL = Json(null="absent")
OPTIONAL_INTEGERS = Json(null="absent", integers=True)
BELOW_LARGEST = Range(below=LARGEST, what="a number", cure="Use a larger unit")
BELOW_LARGEST_OR_INFINITE = replace(BELOW_LARGEST, infinite=True)
_PARTS = "Use a smaller unit for the whole column, such as millicores or MiB"


@dataclass(frozen=True, eq=False, repr=False)
class Packing(Instance["Placement"]):
    """Virtual machines (VMs) of s types to be placed on servers of p classes with k resources.

    All amounts are whole numbers: choose units (millicores, MiB) in which they are.

    Parameters
    ----------
    capacity : (p, k) array of whole numbers
        What one server of each class has free. A class may lack a resource (0), not all of them.
    demand : (s, k) array of whole numbers
        What one VM of each type takes; one type per user.
    request : (s,) array, optional
        VMs wanted of each type; inf = elastic, as many as fit (all of them when not given).
    servers : (p,) array, optional
        Servers of each class; inf = as many as needed (all of them when not given).
    initial : (p, k) array of whole numbers, optional
        What a server had before anything ran on it, at least `capacity` (and the same when not
        given): utilizations are measured against it.
    cost : (p,) array of whole numbers, optional
        Price of using one server of each class, at least 1 (and 1 when not given).
    partial : bool
        Whether a finite request is only a cap and may be served in part. Otherwise it must be
        served whole.
    resources, names : strings, optional
        Names of the k resources and the s VM types.
    class_names : strings, optional
        Names of the p classes of servers; all of them or none.
    allowed : (s, p) array of bool, optional
        Whether a VM of the type may run on a server of the class (everywhere when not given).
    most_per_server : (s,) array of whole numbers, optional
        VMs of the type that one server may hold, at least 1; inf = no limit.
    apart : (q, 2) array, optional
        Pairs of types; no server holds VMs of both.
    zone : strings, optional
        Zone of each class's servers; "" = in none.
    skew : (s,) array of whole numbers, optional
        Most VMs of the type that a zone may have beyond the zone that has fewest of them, at least
        1; inf = no limit. The zones that count are those with a server on which the type is
        allowed, whether it is in use or not. (This is maxSkew of Kubernetes, of the final
        placement. A server in no zone is not counted there; forbid it by `allowed` where VMs that
        are spread may not run on it. With fewer zones than minDomains the fewest are 0: write a
        `Limit` of as many VMs within a zone.)
    limits : of `Limit`, optional
        Most VMs of several types together on one server, or in one zone.
    spreads : of `Spread`, optional
        Largest skew of several types together, and the zones that count.
    placed : (q, 3) array, optional
        What runs now: a server, a VM type, and how many of its VMs the server holds. Servers are
        numbered class by class; their number must be finite. It need not keep capacities and
        rules.
    server_names : strings, optional
        Names of all servers, class by class; all of them or none.
    cards : (p,) array of whole numbers, optional
        Cards (GPUs) inside one server of each class; without it there are none.
    card_model : strings, optional
        Model of each class's cards; "" = none. It only names them: `allowed` says which types may
        run on which.
    card_units : int
        Units into which a card is divided, at least 1.
    card_demand : (s,) array of whole numbers, optional
        Whole cards that a VM of each type takes; no other VM shares them.
    card_share : (s,) array of whole numbers, optional
        Units of one card that a VM of each type takes, below `card_units`, and 0 where it takes
        whole cards. Shares on one card have its units at most.
    arrival : (VMs,) array, optional
        Type of each VM in the order in which they come, for policies that place one at a time;
        each type as often as it is requested.
    services : of `Service`, optional
        Rates that are asked for, each of any mix of VMs of some types (slices of a GPU, say), which
        have no request then; a type serves one service at most. Not beside rules on where VMs may
        run, `placed` or `partial`.

    Raises
    ------
    InvalidInstance
        Naming the field, the value seen, and the cure; also where a total would pass 2**53.
    """

    problem: ClassVar[str] = "packing"

    counted: ClassVar[Mapping[str, str]] = {
        "classes": "server class",
        "types": "type of VM",
        "resources": "resource",
        "pairs": "pair",
        "2": "type of the pair",
        "rows": "server and VM type",
        "3": "number of it",
        "VMs": "VM",
    }

    capacity: Annotated[Integers, Axes("classes resources", parts=_PARTS), AN_AMOUNT, BELOW_LARGEST]
    demand: Annotated[Integers, Axes("types resources", parts=_PARTS), AN_AMOUNT, BELOW_LARGEST]
    request: Annotated[
        Floats | None,
        Axes("types", fill=np.inf),
        WHOLE,
        AtLeast(0, "a whole number of VMs", infinite=True),
        BELOW_LARGEST_OR_INFINITE,
        OPTIONAL_INTEGERS,
    ] = None
    servers: Annotated[
        Floats | None,
        Axes("classes", fill=np.inf),
        WHOLE,
        AtLeast(0, "a whole number of servers", infinite=True),
        BELOW_LARGEST_OR_INFINITE,
        OPTIONAL_INTEGERS,
    ] = None
    initial: Annotated[
        Integers | None, Axes("classes resources", parts=_PARTS), AN_AMOUNT, BELOW_LARGEST, OPTIONAL
    ] = None
    cost: Annotated[
        Integers | None,
        Axes("classes", fill=1),
        AtLeast(1, "a whole price of one server"),
        OPTIONAL,
    ] = None
    partial: bool = False
    resources: Annotated[tuple[str, ...], Names("resources", filled=True)] = ()
    names: Annotated[tuple[str, ...], Names("types", filled=True)] = ()
    class_names: Annotated[tuple[str, ...], Names("classes")] = ()
    allowed: Annotated[npt.NDArray[np.bool_] | None, Axes("types classes"), OPTIONAL] = None
    most_per_server: Annotated[
        Floats | None,
        Axes("types"),
        WHOLE,
        AtLeast(1, "a whole number of VMs on one server", infinite=True),
        OPTIONAL_INTEGERS,
    ] = None
    apart: Annotated[Integers | None, Axes("pairs 2"), Index("types"), OPTIONAL] = None
    zone: Annotated[tuple[str, ...], Names("classes", distinct=False)] = ()
    skew: Annotated[
        Floats | None,
        Axes("types"),
        WHOLE,
        AtLeast(1, "a whole number of VMs of skew", infinite=True),
        OPTIONAL_INTEGERS,
    ] = None
    limits: tuple[Limit, ...] = ()
    spreads: tuple[Spread, ...] = ()
    placed: Annotated[Integers | None, Axes("rows 3"), OPTIONAL] = None
    server_names: Annotated[tuple[str, ...], Names("all servers")] = ()
    cards: Annotated[
        Integers | None,
        Axes("classes"),
        AtLeast(0, "a whole number of cards"),
        BELOW_LARGEST,
        OPTIONAL,
    ] = field(default=None, metadata=NO_CONTENT_WHEN_ABSENT)
    card_model: Annotated[tuple[str, ...], Names("classes", distinct=False)] = field(
        default=(), metadata=NO_CONTENT_WHEN_ABSENT
    )
    card_units: Annotated[int, AtLeast(1, "the units of a card"), BELOW_LARGEST] = field(
        default=1000, metadata=NO_CONTENT_WHEN_ABSENT
    )
    card_demand: Annotated[
        Integers | None,
        Axes("types"),
        AtLeast(0, "a whole number of cards"),
        BELOW_LARGEST,
        OPTIONAL,
    ] = field(default=None, metadata=NO_CONTENT_WHEN_ABSENT)
    card_share: Annotated[
        Integers | None, Axes("types"), AtLeast(0, "units of one card"), OPTIONAL
    ] = field(default=None, metadata=NO_CONTENT_WHEN_ABSENT)
    arrival: Annotated[Integers | None, Axes("VMs"), Index("types"), OPTIONAL] = field(
        default=None, metadata=NO_CONTENT_WHEN_ABSENT
    )
    services: tuple[Service, ...] = field(default=(), metadata=NO_CONTENT_WHEN_ABSENT)

    def __post_init__(self) -> None:
        set_fields(self)
        self._validate_amounts()
        if self.initial is None:
            set_field(self, "initial", self.capacity)
        for m, j in np.argwhere(self.initial_capacity < self.capacity).tolist():
            expected = f"at least what is free now, capacity[{m}, {j}] = {self.capacity[m, j]}"
            raise InvalidInstance(f"initial[{m}, {j}]", self.initial_capacity[m, j], expected)
        set_rules(self)
        set_cards(self)
        if self.arrival is not None:
            times = np.bincount(self.arrival, minlength=self.types)
            raise_first_invalid(
                "request", self.requested, self.requested != times,
                "as many VMs of each type as arrival has",
                "Give the same VMs in both, or drop arrival",
            )  # fmt: skip
        require_services(self)
        self._validate_items()
        refuse_large_totals(self)

    @classmethod
    @validate_options
    def from_frame(
        cls,
        demand: pandas.DataFrame,
        *,
        capacity: pandas.DataFrame,
        request: Any = np.inf,
        servers: Any = np.inf,
        **fields: Any,
    ) -> Self:
        """Packing instance from DataFrames; a missing or unknown label raises InvalidInstance.

        Parameters
        ----------
        demand : types of VM down, resources across.
        capacity : classes of servers down, the same resources across.
        request, servers : VMs wanted by type and servers by class: a Series or a mapping, or a
            number for all; inf for as many as fit, and as many as needed.
        **fields : the other fields, as the class takes them.
        """
        labels = axis_labels(cls, {"demand": demand, "capacity": capacity})
        given = {"demand": demand, "capacity": capacity, "request": request, "servers": servers}
        return from_labels(cls, labels, given, fields)

    @property
    def classes(self) -> int:
        """p, the number of server classes."""
        return len(self.capacity)

    @property
    def types(self) -> int:
        """s, the number of VM types; in a sharing game each type is one user."""
        return len(self.demand)

    @property
    def unbounded(self) -> npt.NDArray[np.bool_]:
        """Whether each VM type (s,) has an infinite request: as many VMs as fit."""
        return np.isinf(self.requested)

    @property
    def requested(self) -> Floats:
        """Number (s,) of VMs of each type that are requested; inf for as many as fit."""
        assert self.request is not None
        return self.request

    @property
    def server_count(self) -> Floats:
        """Field `servers` after validation, never None, shape (p,)."""
        assert self.servers is not None
        return self.servers

    @property
    def initial_capacity(self) -> Integers:
        """Capacity (p, k) that a server of each class had before anything ran on it."""
        assert self.initial is not None
        return self.initial

    @property
    def server_cost(self) -> Integers:
        """Field `cost` after validation, never None, shape (p,)."""
        assert self.cost is not None
        return self.cost

    @property
    def rules(self) -> Rules:
        """Placement rules of the instance, collected from its fields by `rules_of`."""
        return rules_of(self)

    @property
    def has_constraints(self) -> bool:
        """Whether there are rules on where VMs may run, besides capacities."""
        return bool(given_rules(self))

    @property
    def useful(self) -> Floats:
        """Number (s,) of VMs of each type beyond which more are of no use: its request, or what
        gives the whole rate of the service that it serves.
        """
        most = self.requested.copy()
        for service in self.services:
            most[list(service.types)] = service.most
        return most

    @property
    def server_class(self) -> Integers:
        """Class (n,) of each server, where their number is finite: class by class."""
        return np.repeat(np.arange(self.classes), self.server_count.astype(np.int64))

    @property
    def size(self) -> int:
        """Estimated steps of a policy: VM types times VMs requested (if open: 1000 a server)."""
        useful = self.useful
        vms, servers = useful[np.isfinite(useful)].sum(), 0.0
        if np.isinf(useful).any() or self.partial:
            servers = self.server_count[np.isfinite(self.server_count)].sum()
        return self.types * int(max(vms, 1000 * servers, self.types))

    def summary(self) -> dict[str, object]:
        """Facts about the instance for `cotenant show`: servers and VMs, and the fewest servers
        that volume allows.
        """
        finite = self.requested[~self.unbounded]
        servers = (
            "as many as needed"
            if np.isinf(self.server_count).any()
            else f"{self.server_count.sum():.0f}"
        )
        facts: dict[str, object] = {
            **super().summary(),
            "server classes": self.classes,
            "servers": servers,
            "resources": ", ".join(self.resources),
            "VM types": self.types,
            "VMs wanted": f"{finite.sum():.0f}" if len(finite) else "elastic",
        }
        if 0 < len(finite) < self.types:
            facts["VMs wanted"] = (
                f"{finite.sum():.0f}, and {self.types - len(finite)} types elastic"
            )
        if self.services:
            facts["VMs wanted"] = f"{finite.sum():.0f}, and what services need"
            facts["services"] = f"{len(self.services)}, each of a rate"
        if self.partial:
            facts["requests"] = "may be served in part"
        if (self.server_cost != 1).any():
            facts["cost of a server"] = f"{self.server_cost.min()} to {self.server_cost.max()}"
        if self.has_constraints:
            facts["placement rules"] = ", ".join(given_rules(self))
        if self.cards is not None:
            total = (
                f"up to {self.cards[self.server_count > 0].max()} a server"
                if np.isinf(self.server_count).any()
                else f"{units_there(self) // self.card_units}"
            )
            facts["cards"] = total
        if self.placed is not None:
            facts["servers in use now"] = str(len(np.unique(self.placed[:, 0])))
        return facts

    def document(self) -> dict[str, Any]:
        """Fields as JSON values, without `cost` if it is 1 everywhere, `card_units` if no cards."""
        content = super().document()
        if (self.server_cost == 1).all():
            del content["cost"]
        if self.cards is None:
            del content["card_units"]
        return content

    def _validate_amounts(self) -> None:
        there = self.capacity > 0
        for index in np.flatnonzero(~there.any(axis=1)).tolist():
            field, cure = f"capacity[{index}]", "Drop the class"
            raise InvalidInstance(
                field, "zero in every resource", "a server with something free", cure
            )
        for index in np.flatnonzero(~there.any(axis=0)).tolist():
            raise InvalidInstance(
                f"capacity[:, {index}]", f"zero of {self.resources[index]!r} on every server",
                "a resource that some server has", "Drop the resource, or give its capacity",
            )  # fmt: skip
        if self.server_count.sum() == 0:
            cure = "Give the cluster at least one server"
            raise InvalidInstance("servers", "zero in every class", "at least one server", cure)
        if self.requested.sum() == 0:
            raise InvalidInstance("request", "zero for every type", "at least one VM")
        for index in np.flatnonzero(~(self.demand > 0).any(axis=1)).tolist():
            raise InvalidInstance(
                f"demand[{index}]", f"zero in every resource for {self.names[index]!r}",
                "a VM that takes something", "Drop the type: any number of such VMs fits anywhere",
            )  # fmt: skip

    def _validate_items(self) -> None:
        """Raise InvalidInstance unless every requested VM fits some server that exists."""
        present = self.capacity[self.server_count > 0]
        room = fits(self.demand, present)
        fitting = room.any(axis=1) | (self.requested == 0)
        if fitting.all() and self.allowed is not None:
            room &= self.allowed[:, self.server_count > 0]
            for i in np.flatnonzero(~room.any(axis=1) & (self.requested > 0)).tolist():
                raise InvalidInstance(
                    f"allowed[{i}]", f"true for no class that holds VM type {self.names[i]!r}",
                    "a class of servers on which it fits", "Allow one, or request no such VMs",
                )  # fmt: skip
        if fitting.all() and self.cards is not None:
            require_cards(self, room)
        for i in np.flatnonzero(~fitting)[:1].tolist():
            largest, where = present.max(axis=0), "no single server has all of it"
            for j in np.flatnonzero(self.demand[i] > largest)[:1].tolist():
                where = f"{self.demand[i, j]} of {self.resources[j]!r} where the largest "
                where += f"server has {largest[j]}"
            raise InvalidInstance(
                f"demand[{i}]", f"larger than every server for VM type {self.names[i]!r}: {where}",
                "a VM that fits some server",
                "Make the VM smaller, or add a server class that holds it",
            )  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False)
class Placement(Solution):
    """Which VMs each server in use holds.

    Parameters
    ----------
    count : (servers used, s) array VMs of each type on each server. Servers that hold nothing are
        dropped, the others sorted by class and then by count: servers of one class are
        interchangeable, so equal placements are equal.
    server_class : (servers used,) class of each server.
    """

    count: Integers
    server_class: Integers

    def __post_init__(self) -> None:
        count = frozen_array("count", self.count, np.int64, 2, copy=False)
        kind = frozen_array("server_class", self.server_class, np.int64, 1)
        if len(count) != len(kind) and count.size:
            raise InvalidInstance(
                "server_class", f"of length {len(kind)}", f"{len(count)} entries, one per server"
            )
        if count.size == 0:
            count, kind = count[:0], kind[:0]
        keep = count.any(axis=1)
        if not keep.all():
            count, kind = count[keep], kind[keep]
        order = _sorted_servers(count, kind)
        for name, values in (("count", count[order]), ("server_class", kind[order])):
            values.flags.writeable = False  # copied once: it may take hundreds of megabytes
            set_field(self, name, values)

    @property
    def servers(self) -> int:
        """Number of servers that hold VMs."""
        return len(self.server_class)

    def totals(self, types: int) -> Integers:
        """Number (s,) of VMs of each type placed; zeros when nothing is."""
        total: Integers = (
            self.count.sum(axis=0) if len(self.count) else np.zeros(types, dtype=np.int64)
        )
        return total


_MANY_KEYS = 64
"""Types from which servers are sorted by the bytes of their counts: a sort a type takes seconds."""


def _sorted_servers(count: Integers, kind: Integers) -> Integers:
    """Sort a placement's servers by class, then by counts, the most of the first type first."""
    if not len(count):
        return np.zeros(0, dtype=np.int64)
    if count.shape[1] < _MANY_KEYS or count.min() < 0 or count.max() >= 2**32:
        return np.lexsort((*(-count.T[::-1]), kind))
    # bytes of big-endian numbers compare as the numbers do
    keys = np.empty((len(count), count.shape[1] + 1), dtype=">u4")
    keys[:, 0] = np.unique(kind, return_inverse=True)[1].reshape(-1)
    np.subtract(np.uint32(2**32 - 1), count, out=keys[:, 1:], casting="unsafe")
    return np.argsort(keys.view(f"V{keys.itemsize * keys.shape[1]}").reshape(-1), kind="stable")


@validate_options
def check(instance: Packing, placement: Placement) -> None:
    """Raise InfeasibleSolution, naming the first broken rule, unless a placement satisfies the
    capacities, number of servers, requests and placement rules.
    """
    count, kind = placement.count, placement.server_class
    if len(count) and count.shape[1] != instance.types:
        raise InfeasibleSolution(
            f"count has {count.shape[1]} columns; the instance has {instance.types} VM types"
        )
    names = instance.names
    raise_first_broken(count < 0, lambda m, i: (
        f"server {m} holds {count[m, i]} VMs of type {names[i]!r}; expected 0 or more"
    ))  # fmt: skip
    raise_first_broken((kind < 0) | (kind >= instance.classes), lambda m: (
        f"server_class names class {kind[m]}; classes are 0 to {instance.classes - 1}"
    ))  # fmt: skip
    used = np.bincount(kind, minlength=instance.classes)
    raise_first_broken(used > instance.server_count, lambda c: (
        f"{used[c]} servers of class {c} are used; there are {instance.server_count[c]:.0f}"
    ))  # fmt: skip
    if len(count) and count.max() > LARGEST // int(instance.demand.max()):
        raise InfeasibleSolution(
            f"a server holds {count.max()} VMs of one type, more than any capacity"
        )
    load = (
        count @ instance.demand
        if len(count)
        else np.zeros((0, instance.capacity.shape[1]), dtype=np.int64)
    )
    raise_first_broken(load > instance.capacity[kind], lambda m, j: (
        f"server {m} (class {kind[m]}) holds {load[m, j]} of {instance.resources[j]!r}; its "
        f"capacity is {instance.capacity[kind[m], j]}"
    ))  # fmt: skip
    total = placement.totals(instance.types)
    wrong_number = (total > instance.requested) | (
        (total != instance.requested) & ~instance.unbounded & (not instance.partial)
    )
    raise_first_broken(wrong_number, lambda i: (
        f"{total[i]} VMs of type {names[i]!r} are placed; {instance.requested[i]:.0f} are requested"
    ))  # fmt: skip
    check_rules(instance, count.reshape(-1, instance.types), kind)
    check_cards(instance, count.reshape(-1, instance.types), kind)
    check_services(instance, total)


def asks_enough(instance: Packing) -> bool:
    """Whether an instance requires all VMs and all rates of services, and both are finite."""
    return bool(np.isfinite(instance.useful).all()) and not instance.partial


def serves_all(instance: Packing) -> bool:
    """Whether an instance requires every requested VM to be placed, and has no services."""
    return asks_enough(instance) and not instance.services


def capped_cards(instance: Packing) -> bool:
    """Whether VMs may be left out of servers with cards, which are finitely many."""
    fixed = bool(np.isfinite(instance.server_count).all())
    return instance.cards is not None and fixed and only_caps(instance)


def only_caps(instance: Packing) -> bool:
    """Whether all requests are only upper limits, so that no VM must be placed."""
    return instance.partial or not (~instance.unbounded & (instance.requested > 0)).any()


def fixed_servers(instance: Packing) -> bool:
    """Whether an instance has finitely many servers, open to any VM, without services."""
    fixed = bool(np.isfinite(instance.server_count).all())
    return fixed and not instance.has_constraints and not instance.services


def shared_servers(instance: Packing) -> bool:
    """Whether servers are of finite number, open to any VM, and requests only upper limits."""
    return fixed_servers(instance) and only_caps(instance)


def placed_now(instance: Packing) -> bool:
    """Whether an instance states the current placement, and all VMs are to be placed."""
    return serves_all(instance) and instance.placed is not None


def takes_arrivals(instance: Packing) -> bool:
    """Whether an instance suits VMs that arrive one at a time: finite servers with cards, finite
    requests, and no rules except allowed classes.
    """
    return (
        instance.cards is not None
        and bool(np.isfinite(instance.server_count).all())
        and not instance.unbounded.any()
        and set(given_rules(instance)) <= {"allowed", "cards"}
    )


def ends(instance: Packing) -> bool:
    """Whether placing VMs one at a time ends: servers or VMs are of finite number; with placement
    rules, requests must be finite and all be served.
    """
    return (
        fixed_servers(instance)
        or serves_all(instance)
        or not (instance.unbounded.any() or instance.has_constraints)
    )


def fits(demand: Integers, room: Integers) -> npt.NDArray[np.bool_]:
    """Whether each demand (n, k) fits each free capacity (m, k), shape (n, m)."""
    result: npt.NDArray[np.bool_] = np.all(demand[:, None, :] <= room[None, :, :], axis=2)
    return result
