"""Reader of plain tables: one of hosts, and one of the virtual machines on them."""

from __future__ import annotations

from decimal import Decimal

from ...instances.problem.errors import InvalidFile
from ...instances.problem.tables import AMOUNT, CsvRow, CsvTable
from .completeness import require_one_cluster
from .constraints import Expression, NodeTerm, PodTerm
from .state import ClusterState, Node, Pod, Role

_OF_VMS = ("name", "host", "group", "zone", "stays")
_OF_HOSTS = ("name", "zone", "price")
_MILLIONTHS = 10**6
"""Amounts are counted in these: six decimals are kept."""

_HOST, _ZONE = "host", "zone"


def plain_state(texts: dict[str, str]) -> ClusterState:
    """Read a state from a table of hosts and a table of VMs (with a column `host`).

    Every other column is a resource; both tables have the same ones. Of a `group` no host holds two
    VMs; a VM with a `zone` goes to hosts of that zone only; one that `stays` ("yes") is not moved.
    Hosts may have a `price`.

    Raises
    ------
    InvalidFile
        A table is missing, a VM is on no host of the other, a cell is no amount.
    """
    tables = [CsvTable(name, "name", lower=True, text=text) for name, text in texts.items()]
    vms = [table for table in tables if "host" in table.places]
    hosts = [table for table in tables if "host" not in table.places]
    if len(vms) != 1 or len(hosts) != 1:
        raise InvalidFile(
            f"{', '.join(texts)}: {len(vms)} tables of VMs and {len(hosts)} of hosts; expected one "
            "of each: VMs as name,host,cpu,mem and hosts as name,cpu,mem"
        )
    resources = [name for name in hosts[0].columns if name not in _OF_HOSTS]
    others = [name for name in vms[0].columns if name not in _OF_VMS]
    if set(resources) != set(others) or not resources:
        raise InvalidFile(
            f"{hosts[0].path} has the resources {', '.join(resources) or 'none'}, {vms[0].path} "
            f"{', '.join(others) or 'none'}; expected the same ones, at least one"
        )
    nodes = tuple(_host(row, resources) for row in hosts[0])
    known = {node.name for node in nodes}
    pods = tuple(_vm(row, resources, known) for row in vms[0])
    state = ClusterState("csv", vms[0].path, nodes, pods)
    return require_one_cluster(state, ", ".join(texts), "list it too")


def _host(row: CsvRow, resources: list[str]) -> Node:
    name = row.word("name")
    labels = {_HOST: name} | ({_ZONE: row["zone"]} if row["zone"] else {})
    price = row.fraction("price") if "price" in row.table.places else None
    amounts = {resource: _amount(row, resource) for resource in resources}
    return Node(name, amounts, labels, price=price)


def _vm(row: CsvRow, resources: list[str], known: set[str]) -> Pod:
    name, host = row.word("name"), row.word("host")
    if host not in known:
        raise row.wrong("host", f"one of the {len(known)} hosts")
    requests = {resource: _amount(row, resource) for resource in resources}
    if not any(requests.values()):
        raise row.error(f": {name} takes nothing; expected an amount above 0 of some resource")
    if row["stays"].lower() not in ("", "yes", "no"):
        raise row.wrong("stays", "yes or no")
    stays, group, zone = row["stays"].lower() == "yes", row["group"], row["zone"]
    own = (Expression("group", "In", (group,)),)
    there = NodeTerm((Expression(_ZONE, "In", (zone,)),))
    return Pod(
        namespace="", name=name, node=host, requests=requests,
        role=Role.FIXED if stays else Role.MOVABLE, reason="it stays" if stays else "",
        labels={"group": group} if group else {}, owner=("group", group) if group else ("", ""),
        pod_anti_affinity=(PodTerm(own, frozenset({""}), _HOST),) if group else (),
        affinity=((there,),) if zone else (),
    )  # fmt: skip


def _amount(row: CsvRow, resource: str) -> int:
    value = Decimal(repr(row.number(resource, AMOUNT))) * _MILLIONTHS
    if value % 1:
        raise row.wrong(resource, "at most 6 decimals", "Choose a smaller unit")
    return int(value)
