"""Assembly of a packing instance from a cluster state: types from kinds of pods (which no
constraint distinguishes), classes from nodes, and the rules between them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import gcd

import numpy as np
import numpy.typing as npt

from ...instances.packing.instance import Packing
from ...instances.packing.placement_constraints import Limit
from ...instances.packing.placement_constraints import Spread as ZoneSpread
from ...instances.problem.errors import InvalidInstance
from ..state.constraints import SCHEDULER, TOLERATIONS
from ..state.state import CARD, COMPARED, SHARES, ClusterState, Node, Pod, Role, limitless
from .answer import Reason
from .costs import NodeCosts, node_costs


class Kinds:
    """Pods that one packing instance places, in kinds that no constraint tells apart.

    Parameters
    ----------
    for_bound : whether constraints that are not modelled are left out.
    pending : whether pending pods are placed too.

    Attributes
    ----------
    node_index : index of each node in the state's nodes, by name.
    counted : indices in the state of the pods that are placed.
    residents : pods that belong to their node, or take its room while they are deleted.
    kinds, kind_of : indices of the pods of each kind, and the kind of each pod.
    sample : one pod of each kind.
    there : of each kind, how many of its pods run on each node now.
    hostnames : topologies of which each node is a domain of its own.
    zone_key : the topology that is the zone in an instance; "" for none.
    """

    def __init__(self, state: ClusterState, for_bound: bool, pending: bool) -> None:
        self.state, self.for_bound = state, for_bound
        self.node_index = {node.name: number for number, node in enumerate(state.nodes)}
        self.counted = [
            number
            for number, pod in enumerate(state.pods)
            if pod.role in (Role.MOVABLE, Role.FIXED) or (pending and pod.schedulable)
        ]
        self.residents = [
            pod
            for pod in state.pods
            if pod.role is Role.RESIDENT or (pod.role is Role.LEAVING and not for_bound)
        ]
        self._group()
        self.hostnames: set[str] = set()
        self.zone_key = ""

    def _group(self) -> None:
        asked: dict[str, set[str]] = {}  # what selectors ask of labels: the rest tells none apart
        selectors = [budget.selector for budget in self.state.budgets]
        for pod in self.state.pods:
            selectors += pod.selectors
        for selector in selectors:
            for each in selector or ():
                asked.setdefault(each.key, set()).update(each.values)
        table: dict[object, list[int]] = {}
        for number in self.counted:
            pod = self.state.pods[number]
            labels = frozenset(
                (key, value if value in asked[key] else None)
                for key, value in pod.labels.items()
                if key in asked
            )
            same = tuple(getattr(pod, name) for name in COMPARED)
            key = (frozenset(pod.requests.items()), labels, *same)
            table.setdefault(key, []).append(number)
        self.kinds = [tuple(members) for members in table.values()]
        self.kind_of = {number: k for k, members in enumerate(self.kinds) for number in members}
        self.sample = [self.state.pods[members[0]] for members in self.kinds]
        self.there = [
            Counter(
                self.node_index[self.state.pods[number].node]
                for number in members
                if self.state.pods[number].placed
            )
            for members in self.kinds
        ]

    def title(self, kind: int) -> str:
        """Name the pods of a kind by their namespace and owner."""
        pod = self.sample[kind]
        owner = pod.owner[1] or pod.name
        return f"{pod.namespace}/{owner}" if pod.namespace else owner

    def zone(self, node: Node) -> str:
        """Zone of a node in the packing instance; "" for a node without the zone label, which
        differs from an empty label.
        """
        return (node.labels[self.zone_key] or '""') if self.zone_key in node.labels else ""

    def free_scheduler(self, kind: int) -> bool:
        """Return whether capacity alone restricts a kind of pods. In an instance for a lower bound
        it does where another scheduler places them, or a toleration of them is not read.
        """
        return self.for_bound and any(
            what in (SCHEDULER, TOLERATIONS)
            for what, _ in self.sample[kind].unsupported_constraints
        )

    def asks(self, pod: Pod, resource: str) -> int:
        """Amount of a resource that a pod requests. In an instance for a lower bound it is 0 for
        volumes that are not fully known and for shared GPUs.
        """
        unsure = "volumes" if limitless(resource) else SHARES if resource == CARD else ""
        if self.for_bound and any(what == unsure for what, _ in pod.unsupported_constraints):
            return 0
        return pod.requests.get(resource, 0)


@dataclass(frozen=True)
class Translation:
    """Packing instance of a cluster state, with the pods and nodes that its types and servers stand
    for.

    Attributes
    ----------
    instance : servers are nodes, by class, and after them those where pending pods wait; types are
        pods that nothing distinguishes.
    pods : by type: indices of its pods in the state.
    nodes : by server: its index in the state's nodes, without those where pods wait.
    costs : what the instance's costs say.
    kept_cost : the cost of the control-plane nodes, which count as in use whatever runs there.
    pinned : index of a pod -> why it is pinned; in the bound they are free.
    unplaced : index of a pending pod -> why a plan puts it nowhere.
    dropped : constraints that are not in the instance, in words.
    violated_rules, repairs : rules that what runs now breaks, in words; whether it repairs them.
    tightened : whether it keeps a spread over single nodes, or a limit that is not sure, tighter
        than is asked for: then its bounds are none of the state.
    """

    instance: Packing
    pods: tuple[tuple[int, ...], ...]
    nodes: tuple[int, ...]
    costs: NodeCosts
    kept_cost: int
    pinned: dict[int, tuple[Reason, ...]] = field(default_factory=dict)
    unplaced: dict[int, tuple[Reason, ...]] = field(default_factory=dict)
    dropped: tuple[str, ...] = ()
    violated_rules: tuple[str, ...] = ()
    repairs: bool = False
    tightened: bool = False

    @property
    def waiting_servers(self) -> int:
        """Number of artificial servers, on each of which one pending pod may wait."""
        return int(self.instance.server_count.sum()) - len(self.nodes)


@dataclass
class Rule:
    """Rule about kinds of pods: "limit" and "spread" count pods of all kinds together, "apart"
    separates two kinds.
    """

    sort: str
    kinds: tuple[int, ...]
    most: int
    topology: str
    words: str
    kind: str
    domains: tuple[str, ...] = ()
    why: str = ""
    """Why it cannot be in an instance; "" where it can."""
    bounds: bool = True
    """Whether it may stand in the bound."""
    others: tuple[int, ...] = ()
    """Further kinds whose moves could break it."""
    tightened: bool = False
    """Whether it may forbid more than what it stands for."""


_ANYWHERE, _ARRIVES, _WAITS = -1, -2, -3
"""Where pods of a row may be besides nodes that are named: on the nodes that take their kind; there
or waiting, as they run nowhere yet; waiting only.
"""


class Assembly:
    """Builder of one packing instance from the kinds of pods, the nodes and the rules of a cluster.

    Parameters
    ----------
    kinds : the pods that are placed.
    eligible : (kinds, nodes) whether a pod of the kind could be put there.
    pinned : index of a pod -> why it stays.
    drained : names of nodes that take no pod.
    room : by node, what it has for the pods that are placed.
    """

    def __init__(
        self,
        kinds: Kinds,
        eligible: npt.NDArray[np.bool_],
        pinned: Mapping[int, tuple[Reason, ...]],
        drained: frozenset[str],
        room: list[dict[str, int]],
    ) -> None:
        self.kinds, self.eligible, self.room = kinds, eligible, room
        self.state, self.nodes = kinds.state, kinds.state.nodes
        self.drained = drained
        self.rows = self._rows({} if kinds.for_bound else pinned)
        self.types: dict[int, list[int]] = {}
        for row, (kind, *_) in enumerate(self.rows):
            self.types.setdefault(kind, []).append(row)
        self.allowed = self._allowed()
        self.kept = [
            n
            for n, node in enumerate(self.nodes)
            if not node.can_be_drained and self.allowed[:, n].any()
        ]
        self.arriving = [row for row, (_, where, _) in enumerate(self.rows) if where < _ANYWHERE]
        self.waiting = sum(len(self.pods[row]) for row in self.arriving)

    def _rows(self, pinned: Mapping[int, tuple[Reason, ...]]) -> list[tuple[int, int, bool]]:
        """VM types of the instance: index of the kind of pods, index of their own node (negative if
        they may leave it or have none), and whether they stay. A pod that stays, or whose kind may
        not come to its node, gets a type of its own node.
        """
        table: dict[tuple[int, int, bool], list[int]] = {}
        for number in self.kinds.counted:
            pod, kind = self.state.pods[number], self.kinds.kind_of[number]
            if not pod.placed:
                key = (kind, _WAITS if number in pinned else _ARRIVES, False)
            else:
                own = self.kinds.node_index[pod.node]
                stays = pod.role is Role.FIXED or number in pinned
                past = pod.node not in self.drained and not self.eligible[kind, own]
                key = (kind, own if stays or past else _ANYWHERE, stays)
            table.setdefault(key, []).append(number)
        if not table:
            raise InvalidInstance(
                self.state.name, f"without a {self.state.workload_noun} that runs and could move",
                f"at least one beside those that belong to their {self.state.host_noun}",
            )  # fmt: skip
        self.pods = tuple(map(tuple, table.values()))
        return list(table)

    def _allowed(self) -> npt.NDArray[np.bool_]:
        """Whether a pod of each type may be on each node, shape (types, nodes)."""
        allowed = np.zeros((len(self.rows), len(self.nodes)), dtype=bool)
        closed = np.array([node.name in self.drained for node in self.nodes])
        for row, (kind, where, stays) in enumerate(self.rows):
            if not stays and where != _WAITS:
                allowed[row] = self.eligible[kind]
            if where >= 0:
                allowed[row, where] = True
            if not stays:
                allowed[row, closed] = False
        return allowed

    def translation(self, rules: Sequence[Rule]) -> Translation:
        """Translate nodes, pods and rules into a packing instance. Its caller adds the pinned pods
        to the result, and the rules that are dropped or broken.
        """
        # 1. Amounts, and classes of equal nodes.
        names, demand, capacity, allowed = self._amounts()
        costs = node_costs(self.state)
        rooms = [tuple(column) for column in zip(*capacity, strict=True)]
        zones = [self.kinds.zone(node) for node in self.nodes]
        classes = self._classes(rooms[: len(self.nodes)], zones, costs, allowed)
        servers = [number for members in classes for number in members]
        seat = {number: index for index, number in enumerate(servers)}  # server of each node
        heads = [members[0] for members in classes]  # a node of each class
        size, price = [len(members) for members in classes], [costs.of_node[n] for n in heads]
        # 2. One class of servers where pending pods may wait.
        if self.waiting:
            heads.append(len(self.nodes))
            zones.append("")
            size.append(self.waiting)
            price.append(costs.waiting)
        # 3. The current placement.
        here = self.kinds.node_index
        placed = Counter(
            (seat[here[self.state.pods[number].node]], row)
            for row, pods in enumerate(self.pods)
            for number in pods
            if self.state.pods[number].placed
        )
        placed.update({(seat[n], len(self.rows) + k): 1 for k, n in enumerate(self.kept)})
        # 4. The rules, and the instance.
        titles = [self.kinds.title(kind) for kind, *_ in self.rows]
        limits, apart, spreads = self._rules(rules, {zones[n] for n in servers})
        instance = Packing(
            capacity=[rooms[number] for number in heads],  # type: ignore[arg-type]
            demand=demand,  # type: ignore[arg-type]
            request=[float(len(pods)) for pods in self.pods] + [1.0] * len(self.kept),  # type: ignore[arg-type]
            servers=[float(number) for number in size],  # type: ignore[arg-type]
            cost=price if self.waiting or self.state.priced else None,  # type: ignore[arg-type]
            resources=tuple(names),
            names=_distinct(titles + [self.nodes[n].name for n in self.kept]),
            allowed=allowed[:, heads],
            zone=tuple(zones[number] for number in heads) if self.kinds.zone_key else (),
            apart=sorted(apart) or None,  # type: ignore[arg-type]
            limits=limits,
            spreads=spreads,
            placed=[[m, i, n] for (m, i), n in sorted(placed.items())],  # type: ignore[arg-type]
            server_names=(
                *(self.nodes[number].name for number in servers),
                *(f"(waiting {number})" for number in range(1, self.waiting + 1)),
            ),
            name=self.state.name.split("/")[-1].split(".")[0] or "state",
            source=f"{self.state.platform} state {self.state.name}, "
            f"{'for the bound' if self.kinds.for_bound else 'for the plan'}",
        )
        return Translation(
            instance=instance, pods=self.pods, nodes=tuple(servers), costs=costs,
            kept_cost=sum(costs.of_node[n] for n in self.kept),
        )  # fmt: skip

    def _amounts(self) -> tuple[list[str], list[list[int]], list[list[int]], npt.NDArray[np.bool_]]:
        """Resource names; demand, shape (types, resources); capacity, shape (resources, nodes +
        waiting server); and where each type is allowed, shape (types, nodes + waiting server).
        """
        # 1. Each resource in units of the greatest common divisor of the requests.
        sample, asks, waits = self.kinds.sample, self.kinds.asks, int(self.waiting > 0)
        resources = sorted(
            {name for k in self.types for name in sample[k].requests if asks(sample[k], name)}
        )
        names: list[str] = []
        columns: list[list[int]] = []  # by resource: request of each type
        capacity: list[list[int]] = []  # by resource: room of each node
        for name in resources:
            column = [asks(sample[kind], name) for kind, *_ in self.rows]
            unit = gcd(*column)
            column = [amount // unit for amount in column]
            total = sum(amount * len(pods) for amount, pods in zip(column, self.pods, strict=True))
            columns.append(column)
            rooms = [min(max(one.get(name, 0), 0) // unit, total) for one in self.room]
            most = max((column[row] for row in self.arriving), default=0)
            capacity.append(rooms + [most] * waits)
            names.append(name if unit == 1 else f"{name} [{unit}]")
        # 2. Types on nodes, and pending pods on the server where they wait.
        demand = [list(row) for row in zip(*columns, strict=True)]
        allowed = np.hstack([self.allowed, np.zeros((len(self.rows), waits), dtype=bool)])
        if waits:
            allowed[self.arriving, -1] = True
        # 3. A control-plane node is always in use: an artificial VM that only it can hold.
        if self.kept:
            names.append("kept")
            demand = [[*row, 0] for row in demand]
            capacity.append([int(n in self.kept) for n in range(len(self.nodes) + waits)])
            demand += [[0] * (len(names) - 1) + [1] for _ in self.kept]
            only = np.arange(len(self.nodes) + waits) == np.array(self.kept)[:, None]
            allowed = np.vstack([allowed, only])
        # 4. Servers need some capacity: full nodes get a resource that no type requests.
        occupied = {
            self.kinds.node_index[self.state.pods[number].node]
            for number in self.kinds.counted
            if self.state.pods[number].placed
        }
        free = zip(*capacity, strict=True)
        spent = [n in occupied and not any(column) for n, column in enumerate(free)]
        if any(spent):
            names.append("spent")
            demand = [[*row, 0] for row in demand]
            capacity.append([int(each) for each in spent])
        # 5. One pending pod on each server where pods wait.
        if waits:
            names.append("waiting")
            demand = [[*row, int(index in self.arriving)] for index, row in enumerate(demand)]
            some = [any(column) for column in zip(*capacity, strict=True)]
            capacity.append([self.waiting * each for each in some[:-1]] + [1])
        return names, demand, capacity, allowed

    def _classes(
        self,
        rooms: list[tuple[int, ...]],
        zones: list[str],
        costs: NodeCosts,
        allowed: npt.NDArray[np.bool_],
    ) -> list[list[int]]:
        """Group the nodes that have any free capacity into classes of equal nodes."""
        signature: dict[object, list[int]] = {}
        for number, room in enumerate(rooms):
            if any(room):
                key = (room, zones[number], costs.of_node[number], allowed[:, number].tobytes())
                signature.setdefault(key, []).append(number)
        return list(signature.values())

    def _rules(
        self, rules: Sequence[Rule], zones: set[str]
    ) -> tuple[tuple[Limit, ...], set[tuple[int, int]], tuple[ZoneSpread, ...]]:
        """Limits, pairs of types kept apart, and spreads of the instance, for servers in the given
        zones.
        """
        limits: list[Limit] = []
        apart: set[tuple[int, int]] = set()
        spreads: list[ZoneSpread] = []
        for rule in rules:
            rows = tuple(row for kind in rule.kinds for row in self.types[kind])
            # nodes may be the zones; a limit on each node is one on each server then
            single = rule.topology in self.kinds.hostnames
            zoned = rule.sort == "spread" or (rule.topology == self.kinds.zone_key and not single)
            zoned &= bool(rule.topology)
            if zoned and not any(zones):
                continue  # no server is in any domain of it
            domains = [each or '""' for each in rule.domains]
            # a domain without room stays empty: no other may have more than the skew
            full = rule.sort == "spread" and not set(domains) <= zones
            if rule.sort == "limit" or full:
                limits.append(Limit(rows, rule.most, "zone" if zoned else "server"))
            elif rule.sort == "apart":
                first, second = rule.kinds
                apart |= {
                    (min(a, b), max(a, b))
                    for a in self.types[first]
                    for b in self.types[second]
                    if a != b
                }
            else:
                spreads.append(ZoneSpread(rows, rule.most, tuple(domains)))
        return tuple(limits), apart, tuple(spreads)


def _distinct(names: list[str]) -> tuple[str, ...]:
    """Make names unique by appending a number to repeated ones."""
    seen: Counter[str] = Counter()
    total = Counter(names)
    found = []
    for name in names:
        seen[name] += 1
        found.append(name if total[name] == 1 else f"{name} #{seen[name]}")
    return tuple(found)
