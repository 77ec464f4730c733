"""Prices of nodes, by type and capacity type, or by name."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from ...instances.problem.errors import InvalidFile
from ...instances.problem.tables import CsvTable
from .completeness import first_of
from .state import ClusterState, Node, StateWarning

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
