"""Node types that can be bought, their prices, and states with additional nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import count, islice

from ...instances.problem.errors import InvalidFile, UnknownName, suggest
from ...instances.problem.tables import LARGEST, CsvTable
from .completeness import first_of
from .new_pods import resource_of, resources_of, size_of
from .selectors import admits
from .state import ClusterState, Node, Pod, Role, StateWarning, change_nodes

HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
_HOSTS = (HOST, "host")
_GIVEN = ("type", "price", "zone", "most", "labels")
_PODS = 110
"""Pods on a node where a table does not say: what a kubelet takes when nothing is set."""


@dataclass(frozen=True)
class NodeType:
    """Node type: an example node, and the maximum number of such nodes (None: unlimited)."""

    node: Node
    most: int | None = None


def read_types(state: ClusterState, path: str) -> tuple[NodeType, ...]:
    """Read a table of node types: columns type, price and resources, and optionally zone, most
    (maximum number) and labels ("disk=ssd pool=a").

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
    """Labels that all worker nodes share; new nodes are assumed to have them."""
    if state.platform != "kubernetes":
        return {}
    workers = [node.labels.items() for node in state.nodes if node.can_be_drained]
    common = set(workers[0]).intersection(*workers) if workers else set()
    usual = {"kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
    return usual | {key: value for key, value in common if key not in _HOSTS}


def type_like(state: ClusterState, name: str) -> NodeType:
    """Unlimited node type equal to a node of the state, with price 1.

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
    state: ClusterState, numbers: Mapping[int, int], types: Sequence[NodeType], every: Sequence[Pod]
) -> tuple[ClusterState, dict[str, int]]:
    """Add nodes of each type to a state, each with those daemon pods of `every` that the node
    admits. Returns also the index of the type of each new node, by name.
    """
    of: dict[str, int] = {}
    taken, host = {node.name for node in state.nodes}, _HOSTS[state.platform != "kubernetes"]
    nodes, pods = list(state.nodes), list(state.pods)
    for place, number in numbers.items():
        like, stem = types[place].node, f"new-{place + 1}"
        own = [pod for pod in every if admits(like, pod)]
        free = (name for k in count(1) if (name := f"{stem}-{k}") not in taken)
        for name in islice(free, number):
            of[name] = place
            nodes.append(replace(like, name=name, labels={**like.labels, host: name}))
            pods += [replace(pod, name=f"{pod.name} {name}", node=name) for pod in own]
    return replace(state, nodes=tuple(nodes), pods=tuple(pods)), of


def daemon_pods(state: ClusterState) -> list[Pod]:
    """One pod of each DaemonSet, with the largest requests among its pods."""
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


def set_prices(state: ClusterState, path: str) -> ClusterState:
    """Copy a state with the node prices of a table.

    Parameters
    ----------
    path : CSV with the columns type (or node, for prices by name) and price. Other columns are left
        alone.

    Raises
    ------
    InvalidFile
        A price is none, a row is there twice, prices differ by capacity, or a node that may be
        freed has no price.
    """
    table = CsvTable(path, lower=True)
    key = "node" if "node" in table.places else "type"
    table.require(key, "price")
    if "capacity" in table.places:
        raise InvalidFile(
            f"{path}: prices by capacity are not modelled; expected one price for each type, or "
            "prices by name, in a column node"
        )
    prices: dict[str, Fraction] = {}
    for row in table:
        if (name := row.word(key)) in prices:
            raise row.error(f": {key} {name!r} is given twice; expected one price for each")
        prices[name] = row.fraction("price")

    def called(node: Node) -> str:
        kinds = (node.labels.get(label, "") for label in TYPES)
        return node.name if key == "node" else next(filter(None, kinds), "no type")

    without = [
        node.name if key == "node" else f"{node.name} ({called(node)})"
        for node in state.nodes if called(node) not in prices and node.can_be_drained
    ]  # fmt: skip
    if without:
        cure = "Add a row for each type" if key == "type" else "Add a row for each"
        if any("(no type" in each for each in without):
            cure += ", or give prices by name, in a column node"
        raise InvalidFile(
            f"{path}: no price for {first_of(without, 5)}; expected one for every "
            f"{state.host_noun} that may be freed. {cure}"
        )
    notes = list(state.assumptions)
    if unknown := sorted({*prices}.difference(map(called, state.nodes))):
        text = f"{path} has prices of {len(unknown)} {key}s that no {state.host_noun} has"
        text += f": {first_of(unknown)}"
        notes.append(StateWarning("prices-unmatched", text))
    state = change_nodes(state, lambda node: replace(node, price=prices.get(called(node))))
    return replace(state, assumptions=tuple(notes))
