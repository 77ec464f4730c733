"""Reduction of packing instances: VM types and server classes that are equal in size and placement
rules are merged, absent ones dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ...instances.packing.cards import card_amounts, on_cards
from ...instances.packing.instance import Integers, Packing, Placement, check
from ...instances.packing.placement_constraints import (
    RULES,
    Rules,
    given_rules,
    refuse_rules,
    rules_of,
)
from ...instances.problem.errors import InfeasibleSolution, InvalidInstance
from ...models.packing.assignment import Group, RuledPacking, RulesOnServers
from .rule_arrays import RuleArrays, rule_arrays

Counts = tuple[Integers, Integers]
"""(n, s) VMs of each type on each server, and (n,) the servers' classes, of a `Reduced`."""

UNLIMITED = 2**62
"""Servers of a class without limit."""

MOST_MASKS = 16
"""Sets of types that classes forbid, each of which becomes a resource, at most."""


@dataclass(frozen=True, eq=False)
class Reduced(RulesOnServers):
    """Reduced packing: distinct VM types, largest first, and the server classes that exist, with
    the placement rules in these terms; rules that cannot be broken are dropped.

    Attributes
    ----------
    demand, request : (s, k) sizes and (s,) how many VMs of each, at least 1 (of the rest that a
        dive has to place, 0 too).
    capacity, servers, price : (p, k), (p,) how many (`UNLIMITED` at most), and (p,) what using one
        costs.
    kinds : for each class here, the instance's classes merged in it.
    members : for each type here, the instance's types merged in it.
    instance : where it comes from.
    """

    demand: Integers
    request: Integers
    capacity: Integers
    servers: Integers
    price: Integers
    kinds: tuple[tuple[int, ...], ...]
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
    def ruled(self) -> bool:
        """Whether there are rules on where VMs may run."""
        return self.instance.has_constraints

    @property
    def classes(self) -> Integers:
        """Index in the instance of the first server class in each reduced class, shape (p,)."""
        return np.array([members[0] for members in self.kinds], dtype=np.int64)

    @property
    def limit(self) -> Integers:
        """Number of servers of each class that any answer could use, shape (p,)."""
        return np.minimum(self.servers, self.vms)

    @property
    def budget(self) -> int:
        """Total cost of all servers that any answer could use."""
        return int((self.limit * self.price).sum())

    @property
    def compatible(self) -> npt.NDArray[np.bool_]:
        """Whether the rules allow two VM types (or two VMs of one type) on one server, shape (s,
        s), or (1, 1) without rules.
        """
        if not self.ruled:
            return np.ones((1, 1), dtype=np.bool_)
        here = (self.most > 0).astype(np.int64)
        together = here @ here.T > 0
        for i, other in self.apart:
            together[i, other] = together[other, i] = False
        for members, most in self.limits:
            if most == 1:
                together[np.ix_(members, members)] = False
        together[np.arange(self.types), np.arange(self.types)] &= (self.most > 1).any(axis=1)
        return together

    @cached_property
    def arrays(self) -> RuleArrays:
        """Sizes and placement rules as arrays for compiled functions."""
        return rule_arrays(self.demand, self.capacity, self)

    def counts(self, placement: Placement) -> Counts:
        """Counts (n, s) and classes (n,) of the reduction from a placement of the instance."""
        where = {c: index for index, group in enumerate(self.kinds) for c in group}
        rows = [placement.count[:, list(group)].sum(axis=1) for group in self.members]
        kind = [where[c] for c in placement.server_class.tolist()]
        return np.stack(rows, axis=1), np.array(kind, dtype=np.int64)

    def able(self, count: Integers, kind: Integers) -> npt.NDArray[np.bool_]:
        """Whether a server of each class could hold the VMs (n, s) of a server of class (n,), shape
        (n, p), within the rules; with rules on zones, only classes of the same zone.
        """
        load = (count @ self.demand)[:, None]
        fits: npt.NDArray[np.bool_] = np.all(load <= self.capacity[None], axis=2)
        if self.ruled:
            fits &= (count[:, :, None] <= self.most[None]).all(axis=1)
        if self.card_column >= 0:
            fits &= self._on_cards(count)
        if self.zone_limits or self.spreads:
            fits &= self.zone[kind][:, None] == self.zone[None]
        return fits

    def _on_cards(self, count: Integers) -> npt.NDArray[np.bool_]:
        """Whether the cards of a server of each class hold the VMs (n, s), shape (n, p)."""
        whole, share = np.divmod(self.demand[:, self.card_column], self.card_units)
        sizes = np.unique(share[share > 0])[::-1].tolist()
        free = self.capacity[:, self.card_column] // self.card_units - (count @ whole)[:, None]
        number = [count[:, share == size].sum(axis=1) for size in sizes]
        found = free >= 0
        for row, c in np.argwhere(found).tolist():
            wanted = [int(each[row]) for each in number]
            cards = int(free[row, c])
            found[row, c] = on_cards(sizes, wanted, cards, self.card_units) is not None
        return found

    def placement(self, count: Integers, kind: Integers) -> Placement:
        """Placement of the instance from counts (n, s) and classes (n,) of the reduction; surplus
        VMs are dropped.

        A merged type is handed out to its members in order, and so are servers of a merged class.
        """
        given = self.classes[kind]
        for index, members in enumerate(self.kinds):
            if len(members) > 1:
                ends = np.cumsum(self.instance.server_count[list(members)])
                here = np.flatnonzero(kind == index)
                place = np.searchsorted(ends, np.arange(len(here)), "right")
                given[here] = np.array(members)[place]
        return Placement(self._handed_out(count), given)

    def _handed_out(self, count: Integers) -> Integers:
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

    def part(self, types: Integers, request: Integers, classes: Integers | None = None) -> Reduced:
        """Subproblem with VMs (n,) of some types (n,), on some classes, and the rules on servers;
        limits of zones are left to the caller.
        """
        number = {int(i): index for index, i in enumerate(types)}
        chosen = np.arange(len(self.price)) if classes is None else classes

        def renumbered(group: Sequence[int]) -> tuple[int, ...]:
            return tuple(number[i] for i in group if i in number)

        pairs = ((i, other) for i, other in self.apart if i in number and other in number)
        return replace(
            self,
            demand=self.demand[types],
            request=request,
            capacity=self.capacity[chosen],
            servers=self.servers[chosen],
            price=self.price[chosen],
            kinds=tuple(self.kinds[c] for c in chosen.tolist()),
            members=tuple(self.members[i] for i in types.tolist()),
            most=self.most[np.ix_(types, chosen)],
            limits=tuple((renumbered(group), most) for group, most in self.limits),
            apart=tuple((number[i], number[other]) for i, other in pairs),
            zone_limits=(),
            spreads=(),
            zone=self.zone[chosen],
        )

    def now(self) -> Counts | None:
        """Current placement of all requested VMs in this problem's types; None if not feasible."""
        given = self.instance
        if given.placed is None:
            return None
        server, kind, number = given.placed.T
        if (np.bincount(kind, number, given.types) != given.requested).any():
            return None
        count = np.zeros((int(given.server_count.sum()), given.types), dtype=np.int64)
        count[server, kind] = number
        used = np.unique(server)
        placement = Placement(count[used], given.server_class[used])
        try:
            check(given, placement)
        except InfeasibleSolution:
            return None
        return self.counts(placement)

    @cached_property
    def pooled(self) -> RuledPacking:
        """Classes of the aggregate program: servers that must be in use, because some VM may run on
        no other, are pooled into one large server a zone and set of allowed types.

        A relaxation: what fits on servers that are all in use fits on one as large as all of them.
        """
        eligible = self.most > 0
        bound = eligible.sum(axis=1) == 1
        forced = (self.limit == 1) & eligible[bound].any(axis=0)
        groups = _alike(
            range(len(self.price)),
            lambda c: (int(self.zone[c]), eligible[~bound, c].tobytes()) if forced[c] else (c,),
        )
        group_of = np.zeros(len(self.price), dtype=np.int64)
        for index, group in enumerate(groups):
            group_of[list(group)] = index
        size = np.bincount(group_of)
        first = np.array([group[0] for group in groups], dtype=np.int64)

        def together(values: Integers, most: npt.ArrayLike) -> Integers:
            total = np.zeros((len(groups), values.shape[1]), dtype=np.int64)
            np.add.at(total, group_of, values)
            alone = size[:, None] == 1
            return np.where(alone, values[first], np.minimum(total, most))

        wanted = (self.demand * self.request[:, None]).sum(axis=0)
        price = np.zeros(len(groups), dtype=np.int64)
        np.add.at(price, group_of, self.price)
        return RuledPacking(
            demand=self.demand,
            request=self.request,
            capacity=together(self.capacity, wanted),
            price=price,
            limit=self.limit[first],
            most=together(self.most.T, self.request).T,
            limits=self.limits,
            zone_limits=self.zone_limits,
            apart=self.apart,
            spreads=self.spreads,
            zone=self.zone[first],
            zones=self.zones,
            least=forced[first].astype(np.int64),
            size=size,
            of=group_of,
        )


def presolve(
    instance: Packing, *, costs: bool = False, merge: bool = True,
    merge_classes: bool | None = None,
) -> Reduced:  # fmt: skip
    """Merge VM types, and classes, that are equal in size and in every rule; drop absent ones.

    Parameters
    ----------
    costs : count a server at its class's cost, not as one.
    merge, merge_classes : merge VM types, and server classes. Without rules classes are not merged
        unless it is asked: proofs by prices are by the instance's own classes.

    Raises
    ------
    InvalidInstance
        A request is elastic, or may be served in part: "fewest servers" has no meaning then. Or
        there are services, which this reduction leaves out.
    """
    refuse_rules(instance, known=RULES)
    require_whole(instance)
    merge_classes = instance.has_constraints if merge_classes is None else merge_classes
    # 1. amounts, requests and the rules that bind
    rules = instance.rules
    sizes, rooms = instance.demand, instance.capacity
    if instance.cards is not None:  # as resources; the kernels and CP-SAT look at single cards
        there, taken = card_amounts(instance)
        sizes, rooms = np.hstack([sizes, taken]), np.hstack([rooms, there])
    wanted = instance.requested.astype(np.int64)
    rules_that_bind = _binding(rules, wanted)
    limits, zone_limits, spreads = rules_that_bind
    # 2. classes that nothing tells apart
    price = instance.server_cost if costs else np.ones(instance.classes, dtype=np.int64)
    kinds = _alike(
        (c for c in range(instance.classes) if instance.server_count[c] > 0),
        lambda c: (
            rooms[c].tobytes(), int(price[c]), int(rules.zone[c]),
            rules.allowed[:, c].tobytes(), None if merge_classes else c,
        ),
    )  # fmt: skip
    first = [members[0] for members in kinds]
    capacity = rooms[first]
    # 3. types that nothing tells apart
    others: list[set[int]] = [set() for _ in range(instance.types)]
    for i, other in rules.apart:
        others[i].add(other)
        others[other].add(i)
    inside: list[list[tuple[int, int]]] = [[] for _ in range(instance.types)]
    binding = ([rule[0] for rule in rules] for rules in rules_that_bind)
    for number, groups in enumerate(binding):
        for index, group in enumerate(groups):
            for i in group:
                inside[i].append((number, index))
    members = _alike(
        np.flatnonzero(wanted).tolist(),
        lambda i: (
            sizes[i].tobytes(), rules.allowed[i].tobytes(), tuple(sorted(others[i])),
            tuple(inside[i]), None if merge else i,
        ),
    )  # fmt: skip
    size = (sizes / np.maximum(capacity.max(axis=0), 1)).sum(axis=1)
    members = sorted(members, key=lambda group: (-size[group[0]], group[0]))
    merged = {i: index for index, group in enumerate(members) for i in group}
    own = [group[0] for group in members]
    request = np.array([wanted[list(group)].sum() for group in members], dtype=np.int64)
    demand = sizes[own]
    # 4. how many of a type one server holds
    most = np.where(rules.allowed[np.ix_(own, first)], request[:, None], 0)
    for j in range(demand.shape[1]):
        needs = np.flatnonzero(demand[:, j])
        most[needs] = np.minimum(most[needs], capacity[None, :, j] // demand[needs, j, None])
    for group, number in limits:
        here = sorted({merged[i] for i in group if i in merged})
        most[here] = np.minimum(most[here], number)

    # 5. the rules in the numbers of the reduction
    def renumbered(group: Iterable[int]) -> tuple[int, ...]:
        return tuple(sorted({merged[i] for i in group if i in merged}))

    ends = [(merged[i], merged[j]) for i, j in rules.apart if i in merged and j in merged]
    pairs = {(min(pair), max(pair)) for pair in ends}
    available = [instance.server_count[list(group)].sum() for group in kinds]
    return Reduced(
        demand=demand,
        request=request,
        capacity=capacity,
        servers=np.array([UNLIMITED if np.isinf(n) else int(n) for n in available], dtype=np.int64),
        price=price[first],
        kinds=tuple(kinds),
        members=tuple(members),
        instance=instance,
        most=most,
        limits=tuple((renumbered(group), n) for group, n in limits),
        zone_limits=tuple((renumbered(group), n) for group, n in zone_limits),
        apart=tuple(sorted(pairs)),
        spreads=tuple((renumbered(group), skew, zones) for group, skew, zones in spreads),
        zone=rules.zone[first],
        zones=len(rules.zones),
        card_column=-1 if instance.cards is None else instance.demand.shape[1],
        card_units=instance.card_units,
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


def _binding(
    rules: Rules, wanted: Integers
) -> tuple[list[Group], list[Group], list[tuple[tuple[int, ...], int, tuple[int, ...]]]]:
    """Rules that the wanted VMs could break: limits by server, by zone, and spreads over zones."""

    def number(group: Sequence[int]) -> int:
        return int(wanted[list(group)].sum())

    return (
        [(group, most) for group, most in rules.limits if number(group) > most],
        [(group, most) for group, most in rules.zone_limits if number(group) > most],
        [rule for rule in rules.spreads if number(rule[0]) > rule[1] and len(rule[2]) > 1],
    )


def _alike(places: Iterable[int], key: Callable[[int], Hashable]) -> list[tuple[int, ...]]:
    """Group positions by equal keys, in the order of first occurrence."""
    found: dict[Hashable, list[int]] = {}
    for place in places:
        found.setdefault(key(place), []).append(place)
    return [tuple(group) for group in found.values()]


class WithoutRules(NamedTuple):
    """Packing instance with resources in place of another instance's placement rules.

    Attributes
    ----------
    origin : (q,) the class of that instance of each class here.
    """

    instance: Packing
    origin: Integers


def rules_as_resources(instance: Packing) -> WithoutRules | None:
    """Convert the rules on single servers to resources; None if the instance has other rules.

    A limit on VMs of some types is a resource of which each takes 1. Where a class forbids some
    types, it has none of a resource of which each of them takes 1. Servers on which two types are
    apart are two classes, each of which forbids one of the two.
    """
    known = ("allowed", "most_per_server", "apart", "limits")
    if set(given_rules(instance)) - {*known} or instance.placed is not None:
        return None
    rules, unlimited = rules_of(instance), np.isinf(instance.server_count)
    if rules.zone_limits:
        return None
    # 1. classes by the types that they forbid
    origin, masks = list[int](), list[tuple[bool, ...]]()
    for c, column in enumerate(rules.allowed.T.tolist()):
        own = {tuple(column)}
        for pair in rules.apart:
            torn = {mask for mask in own if mask[pair[0]] and mask[pair[1]]}
            own -= torn
            for i in pair:
                own |= {(*mask[:i], False, *mask[i + 1 :]) for mask in torn}
            if len(own) > (MOST_MASKS if unlimited[c] else 1):
                return None
        masks += sorted(own)
        origin += [c] * len(own)
    forbidding = sorted({mask for mask in masks if not all(mask)})
    if len(forbidding) > MOST_MASKS:
        return None
    # 2. resources of limits, and of types that are forbidden
    every = max(1, int(instance.requested.sum()))
    room = [[most] * len(masks) for _, most in rules.limits]
    takes = [[i in members for i in range(instance.types)] for members, _ in rules.limits]
    room += [[0 if mask == own else every for own in masks] for mask in forbidding]
    takes += [[not each for each in mask] for mask in forbidding]
    rows, extra = np.array(origin), np.array(takes, dtype=np.int64).reshape(-1, instance.types)
    plain = Packing(
        capacity=np.hstack([instance.capacity[rows], np.array(room).reshape(-1, len(rows)).T]),
        demand=np.hstack([instance.demand, extra.T]), request=instance.request,
        servers=instance.server_count[rows], cost=instance.server_cost[rows],
    )  # fmt: skip
    return WithoutRules(plain, rows)
