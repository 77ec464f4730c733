"""The readers of virtual machines: Proxmox VE's cluster resources, and OpenStack's lists of
servers, hypervisors and flavors, each as JSON, and plain tables of hosts and VMs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any

from ...instances.problem.errors import InvalidFile
from ...instances.problem.json_detection import looks_like
from ...instances.problem.tables import AMOUNT, CsvRow, CsvTable
from .completeness import require_one_cluster, too_few
from .constraints import Expression, NodeTerm, PodTerm
from .fields import Fields
from .state import ClusterState, Node, Pod, Role, StateWarning

RESOURCES = "pvesh get /cluster/resources --output-format json"
LISTS = {
    "servers": "openstack server list --all-projects --long -f json",
    "hypervisors": "openstack hypervisor list --long -f json",
    "flavors": "openstack flavor list --all -f json",
}
"""What prints Proxmox's resources, and each list of OpenStack."""

_ZONE = "availability zone"


def proxmox_state(contents: dict[str, Any], cpu_ratio: float) -> ClusterState:
    """The state in a list of cluster resources.

    Memory is a limit, and `cpu_ratio` virtual CPUs a core. Machines that do not run, and templates,
    are not counted; one that is locked stays.

    Raises
    ------
    InvalidFile
        There is no node or no machine, an entry lacks what every one has, a machine is on a node
        that is not listed.
    """
    nodes, pods, ignored = list[Node](), list[Pod](), Counter[str]()
    for item in _entries(contents, f"what `{RESOURCES}` prints"):
        kind = item.text("type")
        if kind == "node":
            up = item.text("status") == "online"
            status = "" if up else item.text("status") or "unknown"
            room = _room(item, ("maxcpu", "maxmem"), cpu_ratio, up)
            name = item.name("node")
            nodes.append(Node(name, room, {"host": name}, not_ready_reason=status))
        elif kind not in ("qemu", "lxc"):
            ignored[kind or "entry without a type"] += 1
        elif not item.whole("template"):
            pods.append(_machine(item, kind))
    whole = ", ".join(contents)
    for them, words in ((nodes, "node"), (pods, "machine")):
        if not them:
            raise InvalidFile(f"{whole}: no {words} is listed; make it with `{RESOURCES}`")
    state = ClusterState(
        "proxmox", next(iter(contents)), tuple(nodes), tuple(pods), (), dict(ignored),
        assumptions=_assumed(cpu_ratio, "where disks lie, devices passed through, HA rules"),
    )  # fmt: skip
    return require_one_cluster(state, whole, f"make it with `{RESOURCES}`")


def openstack_state(contents: dict[str, Any], cpu_ratio: float) -> ClusterState:
    """The state in the three lists, in any order.

    A server goes to hosts of its own availability zone: that of a host is known by its servers.
    Servers that are not active hold their place and stay.

    Raises
    ------
    InvalidFile
        A list is missing, or a server's flavor or host is in none.
    """
    lists: dict[str, list[Fields]] = {kind: [] for kind in LISTS}
    for where, content in contents.items():
        kind = looks_like(content).partition(" ")[2]
        lists[kind] += _entries({where: content}, f"one of the {kind}")
    for kind, command in LISTS.items():
        if not lists[kind]:
            raise InvalidFile(
                f"{', '.join(contents)}: no list of {kind}; give it too, as another "
                f"file: `{command}`"
            )
    flavors = {item.text("Name"): item for item in lists["flavors"]}
    names = [item.name("Hypervisor Hostname") for item in lists["hypervisors"]]
    hosts = {name.partition(".")[0]: name for name in names} | {name: name for name in names}
    pods = [_server(item, flavors, hosts) for item in lists["servers"]]
    zone_of = [item.text("Availability Zone") for item in lists["servers"]]
    zones: dict[str, set[str]] = {name: set() for name in names}
    counted = Counter[str]()
    for pod, zone in zip(pods, zone_of, strict=True):
        if pod.placed:
            zones[pod.node].add(zone)
            counted[pod.node] += pod.requests["vCPU"]
    if len(set().union(*zones.values())) > 1:
        unknown = NodeTerm((Expression(_ZONE, "DoesNotExist"),))
        there = (NodeTerm((Expression(_ZONE, "In", (zone,)),)) for zone in zone_of)
        pods = [
            replace(pod, affinity=((own, unknown),)) for pod, own in zip(pods, there, strict=True)
        ]
    else:
        zones = {name: {""} for name in names}
    used = {
        name: item.whole("vCPUs Used")
        for name, item in zip(names, lists["hypervisors"], strict=True)
    }
    state = ClusterState(
        "openstack", next(iter(contents)),
        tuple(_hypervisor(item, zones, cpu_ratio) for item in lists["hypervisors"]), tuple(pods),
        warnings=tuple(too_few("vCPUs", used, counted, "list the servers with --all-projects")),
        assumptions=_assumed(
            cpu_ratio, "server groups, traits, aggregates, volumes, reserved memory"
        ),
    )  # fmt: skip
    return require_one_cluster(state, ", ".join(contents), "list them together")


def _entries(contents: dict[str, Any], expected: str) -> Iterator[Fields]:
    """Every entry of lists, which are objects."""
    for where, content in contents.items():
        for place, entry in enumerate(content):
            if not isinstance(entry, dict):
                raise InvalidFile(f"{where}: entry {place} is not an object; expected {expected}")
            yield Fields(entry, f"{where}: {entry.get('id') or f'entry {place}'}")


def _assumed(cpu_ratio: float, unseen: str) -> tuple[StateWarning, ...]:
    ratio = f"{cpu_ratio:g} virtual CPUs are counted to a core (cpu_ratio)"
    return (
        StateWarning("cpu-ratio", ratio),
        StateWarning("never-listed", f"not in such files: {unseen}"),
    )


def _room(
    item: Fields, fields: tuple[str, str], cpu_ratio: float, up: bool = True, cure: str = ""
) -> dict[str, int]:
    """What a host has, by the fields of its cores and memory; one that is off may have none."""
    for field in fields:
        if item.whole(field) < up:
            raise item.wrong(field, item.content.get(field), "a number above 0", cure)
    cores, memory = map(item.whole, fields)
    return {"vCPU": int(cores * cpu_ratio), "memory": memory}


def _machine(item: Fields, kind: str) -> Pod:
    number, sizes = item.whole("vmid", -1), []
    if number < 0:
        raise item.wrong("vmid", item.content.get("vmid"), "the machine's number")
    for field in ("maxcpu", "maxmem"):
        value = item.content.get(field, 0)
        if not isinstance(value, int | float) or value < 0 or value % 1:
            raise item.wrong(field, value, "a whole number, 0 or more")
        sizes.append(int(value))
    role, lock = Role.MOVABLE, item.text("lock")
    if item.text("status") != "running":
        role, lock = Role.FINISHED, ""
    elif lock:
        role = Role.FIXED
    return Pod(
        namespace="", name=f"{number} {item.text('name')}".strip(), node=item.text("node"),
        requests=dict(zip(("vCPU", "memory"), sizes, strict=True)),
        role=role, reason=f"it is locked: {lock}" if lock else "", owner=(kind, str(number)),
        soft=("a container (it restarts)",) * (kind == "lxc"),
    )  # fmt: skip


def _hypervisor(item: Fields, zones: dict[str, set[str]], cpu_ratio: float) -> Node:
    name, state = item.text("Hypervisor Hostname"), item.text("State", "up")
    cure = f"Make it with `{LISTS['hypervisors']}`"
    labels, seen = {"host": name}, zones[name]
    if len(seen) == 1 and seen != {""}:
        labels[_ZONE] = next(iter(seen))
    return Node(
        name, _room(item, ("vCPUs", "Memory MB"), cpu_ratio, cure=cure), labels,
        not_ready_reason="" if state == "up" else state,
        unknown_reason="" if len(seen) == 1 else "availability zone unknown",
    )  # fmt: skip


def _server(item: Fields, flavors: dict[str, Fields], hosts: dict[str, str]) -> Pod:
    status, given = item.text("Status"), item.text("Host") or item.text("OS-EXT-SRV-ATTR:host")
    name = item.text("Flavor Name") or item.text("Flavor")
    if name not in flavors:
        raise item.wrong(
            "Flavor Name", name, f"one of the {len(flavors)} flavors",
            f"Make the lists with `{LISTS['servers']}` and `{LISTS['flavors']}`",
        )  # fmt: skip
    node = hosts.get(given) or hosts.get(given.partition(".")[0], "")
    if given and not node:
        raise item.wrong("Host", given, "one of the hypervisors")
    stays = ("status", f"it is {status}: active servers are migrated live")
    return Pod(
        namespace="", name=item.text("Name") or item.text("ID"), node=node,
        requests={"vCPU": flavors[name].whole("VCPUs"), "memory": flavors[name].whole("RAM")},
        role=Role.MOVABLE if node else Role.FINISHED, owner=("server", item.name("ID")),
        unsupported_constraints=(stays,) * (status != "ACTIVE"),
    )  # fmt: skip


_OF_VMS = ("name", "host", "group", "zone", "stays")
_OF_HOSTS = ("name", "zone", "price")
_MILLIONTHS = 10**6
"""Amounts are counted in these: six decimals are kept."""

_HOST, _ZONE = "host", "zone"


def plain_state(texts: dict[str, str]) -> ClusterState:
    """The state in a table of hosts and a table of VMs, which has a column `host`.

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
