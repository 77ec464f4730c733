"""Prices of nodes; types of nodes that can be bought, and a state with so many nodes of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import count, islice

from ...instances.problem.errors import InvalidFile, UnknownName, suggest
from ...instances.problem.tables import LARGEST, CsvTable
from .completeness import first_of
from .new_pods import resource_of, resources_of, size_of
from .selectors import admits
from .state import ClusterState, Node, Pod, Role, StateWarning

HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
_HOSTS = {HOST, "host"}
_GIVEN = ("type", "price", "zone", "most", "labels", "capacity")
_PODS = 110
"""Pods on a node where a table does not say: what a kubelet takes when nothing is set."""


@dataclass(frozen=True)
class NodeType:
    """Nodes that can be bought: one of them, and at most how many; None for any number."""

    node: Node
    most: int | None = None


def read_types(state: ClusterState, path: str) -> tuple[NodeType, ...]:
    """The types in a table: columns type, price and resources, and where wanted zone, most (how
    many there can be at most) and labels ("disk=ssd pool=a").

    Raises
    ------
    InvalidFile
        A column is missing or is no resource of the state, or a cell is no amount.
    """
    table = CsvTable(path, lower=state.platform != "csv")
    table.require("type", "price")
    resources = {}
    for column in (column for column in table.columns if column not in _GIVEN):
        resources[column] = resource_of(state, column) or column
        if "/" not in column and resource_of(state, column) is None:
            cure = suggest(column, [*_GIVEN, *resources_of(state)])
            raise InvalidFile(f"{path}, line 1: column {column!r} is unknown; {cure}")
    needed = {"kubernetes": ("cpu", "memory")}.get(state.platform, tuple(resources_of(state)))
    table.require("type", *needed, "price")
    common = _common_labels(state)
    found = []
    for row in table:
        labels = common | {TYPES[0]: row.word("type")}
        if row["zone"]:
            labels[ZONE if state.platform == "kubernetes" else "zone"] = row["zone"]
        for pair in row["labels"].split():
            key, sign, value = pair.partition("=")
            if not sign:
                raise row.wrong("labels", "labels with blanks between, such as disk=ssd pool=a")
            labels[key] = value
        room = {"pods": _PODS} if state.platform == "kubernetes" else {}
        for column, name in resources.items():
            size = size_of(state, name, row[column] or "0")
            if size is None or size >= LARGEST:
                raise row.wrong(column, "an amount, 0 or more, such as 3920m, 4 or 15.2Gi")
            room[name] = int(size)
        node = Node(row.word("type"), room, labels, price=row.fraction("price"))
        found.append(NodeType(node, row.whole("most") if row["most"] else None))
    labelled = [(each.node.name, each.node.labels) for each in found]
    if twice := next((key[0] for key in labelled if labelled.count(key) > 1), None):
        raise InvalidFile(f"{path}: type {twice!r} is given twice; expected it once in each zone")
    return tuple(found)


def _common_labels(state: ClusterState) -> dict[str, str]:
    """The labels that every worker has: new ones are taken to have them too."""
    if state.platform != "kubernetes":
        return {}
    workers = [node.labels.items() for node in state.nodes if node.can_be_drained]
    common = set(workers[0]).intersection(*workers) if workers else set()
    usual = {"kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
    return usual | {key: value for key, value in common if key not in _HOSTS}


def type_like(state: ClusterState, name: str) -> NodeType:
    """Any number of nodes like one of the state, at 1 each.

    Raises
    ------
    UnknownName
        No node has this name.
    """
    nodes = {node.name: node for node in state.nodes}
    if name not in nodes:
        raise UnknownName(state.host_noun, name, list(nodes))
    like, passing = nodes[name], "node.kubernetes.io/"
    labels = {key: value for key, value in like.labels.items() if key not in _HOSTS}
    taints = tuple(taint for taint in like.taints if not taint.key.startswith(passing))
    return NodeType(Node(f"like {name}", like.allocatable, labels, taints, price=Fraction(1)))


def with_nodes(
    state: ClusterState,
    numbers: Mapping[int, int],
    types: Sequence[NodeType],
    every: Sequence[Pod],
    names: Collection[str] = (),
) -> tuple[ClusterState, dict[str, int]]:
    """The state with so many nodes of each type, by its place, each with those of `every` node's
    pods (see `daemon_pods`) that run there; and the type of each new node by its name, which is
    none of some `names`.
    """
    of: dict[str, int] = {}
    for place, number in numbers.items():
        one, before = types[place].node, len(state.nodes)
        own = [pod for pod in every if admits(one, pod)]
        state = with_copies(state, one, number, f"new-{place + 1}", own, names)
        of |= {node.name: place for node in state.nodes[before:]}
    return state, of


def with_copies(
    state: ClusterState,
    like: Node,
    number: int,
    stem: str,
    own: Iterable[Pod],
    names: Collection[str] = (),
) -> ClusterState:
    """The state with so many nodes more that are like one, with its labels (but its name), each
    with pods of its own.
    """
    taken = {node.name for node in state.nodes}.union(names)
    free = (name for k in count(1) if (name := f"{stem}-{k}") not in taken)
    names = list(islice(free, number))
    host = HOST if state.platform == "kubernetes" else "host"
    nodes = [
        replace(like, name=name, labels={
            key: name if value == like.name else value for key, value in like.labels.items()
        } | {host: name})
        for name in names
    ]  # fmt: skip
    pods = [replace(pod, name=f"{pod.name} {name}", node=name) for name in names for pod in own]
    return replace(state, nodes=(*state.nodes, *nodes), pods=(*state.pods, *pods))


def with_spares(
    state: ClusterState, like: Node, number: int, before: ClusterState | None = None
) -> ClusterState:
    """The state with so many nodes more that are like a node, with pods of their own as it has them
    (in a state before it was lost).
    """
    own = [
        pod for pod in (before or state).pods if pod.role is Role.RESIDENT and pod.node == like.name
    ]
    return with_copies(state, like, number, f"{like.name}-spare", own)


def daemon_pods(state: ClusterState) -> list[Pod]:
    """One pod of each DaemonSet, with the most that one of its pods requests, for any node."""
    found: dict[tuple[str, str], Pod] = {}
    for pod in state.pods:
        if pod.role in (Role.RESIDENT, Role.PENDING) and pod.owner[0] == "DaemonSet":
            key = pod.namespace, pod.owner[1]
            most = Counter(pod.requests) | Counter(found.get(key, pod).requests)
            groups = (group for group in pod.affinity if all(term.labels for term in group))
            anywhere = tuple(tuple(replace(term, fields=()) for term in group) for group in groups)
            found[key] = replace(pod, requests=most, affinity=anywhere, role=Role.RESIDENT)
    return [*found.values()]


TYPES = ("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type")
"""Labels that hold a node's type; the second is the older one."""

_CAPACITIES = {
    "karpenter.sh/capacity-type": {"spot": "spot", "reserved": "reserved"},
    "eks.amazonaws.com/capacityType": {"SPOT": "spot", "CAPACITY_BLOCK": "reserved"},
    "cloud.google.com/gke-spot": {"true": "spot"},
    "cloud.google.com/gke-preemptible": {"true": "spot"},
    "kubernetes.azure.com/scalesetpriority": {"spot": "spot"},
}
"""Label -> its values -> the capacity type; everything else is on demand."""

_ROWS_FOR = {
    "on-demand": ("on-demand", "", "reserved"),
    "spot": ("spot", ""),
    "reserved": ("reserved", "", "on-demand"),
}
"""Capacity type of a node -> those of rows that hold its price, the best first. What is reserved is
a matter of the bill: its nodes are often labelled as on demand.
"""


def capacity_type(node: Node) -> str:
    """How a node is paid, by its labels: "on-demand", "spot" or "reserved"."""
    found = (values.get(node.labels.get(label, "")) for label, values in _CAPACITIES.items())
    return next(filter(None, found), "on-demand")


def set_prices(state: ClusterState, path: str) -> ClusterState:
    """The state whose nodes have the prices of a table.

    Parameters
    ----------
    path : CSV with the columns type (or node, for prices by name) and price, and, where they
        differ, capacity: on-demand, spot or reserved. Other columns are left alone.

    Raises
    ------
    InvalidFile
        A price is none, a row is there twice, or a node that may be freed has no price.
    """
    table = CsvTable(path, lower=True)
    key = "node" if "node" in table.places else "type"
    table.require(key, "price")
    prices: dict[tuple[str, str], Fraction] = {}
    for row in table:
        capacity = row["capacity"].lower()
        if capacity not in ("", *_ROWS_FOR):
            raise row.wrong("capacity", "on-demand, spot, reserved, or nothing")
        entry = row.word(key), capacity
        if entry in prices:
            words = f"{key} {entry[0]!r}{f', {capacity}' * bool(capacity)}"
            raise row.error(f": {words} is given twice; expected one price for each")
        prices[entry] = row.fraction("price")
    nodes, without, used = [], [], set()
    for node in state.nodes:
        name = node.name
        if key == "type":
            name = next(filter(None, map(node.labels.get, TYPES)), "")
        capacity = capacity_type(node)
        kinds = _ROWS_FOR[capacity] if key == "type" else ("", *_ROWS_FOR)
        rows = [(name, each) for each in kinds if (name, each) in prices]
        used.add(name)
        if rows:
            committed = "reserved" in (capacity, rows[0][1])
            node = replace(node, price=prices[rows[0]], committed=committed)
        elif node.can_be_drained:
            kind = f"{name or 'no type'}, {capacity}"
            without.append(f"{node.name} ({kind})" if key == "type" else node.name)
        nodes.append(node)
    if without:
        cure = "Add a row for each type" if key == "type" else "Add a row for each"
        if any("(no type" in each for each in without):
            cure += ", or give prices by name, in a column node"
        raise InvalidFile(
            f"{path}: no price for {first_of(without, 5)}; expected one for every "
            f"{state.host_noun} that may be freed. {cure}"
        )
    notes = list(state.assumptions)
    if unknown := sorted({name for name, _ in prices} - used):
        text = f"{path} has prices of {len(unknown)} {key}s that no {state.host_noun} has"
        text += f": {first_of(unknown)}"
        notes.append(StateWarning("prices-unmatched", text))
    return replace(state, nodes=tuple(nodes), assumptions=tuple(notes))
