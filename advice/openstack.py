"""The reader of OpenStack: the lists of servers, hypervisors and flavors, each as JSON."""

from __future__ import annotations

from collections import Counter
from typing import Any

from ..instances.problem.errors import InvalidFile
from ..instances.problem.fields import repeated
from ..instances.problem.json_detection import looks_like
from .completeness import too_few
from .fields import Fields
from .state import ClusterState, Expression, Node, NodeTerm, Pod, Role, StateWarning

COMMANDS = {
    "servers": "openstack server list --all-projects --long -f json",
    "hypervisors": "openstack hypervisor list --long -f json",
    "flavors": "openstack flavor list --all -f json",
}
"""What prints each list."""

_ZONE = "availability zone"


def openstack_state(contents: dict[str, Any], cpu_ratio: float) -> ClusterState:
    """The state in the three lists, in any order.

    A server goes to hosts of its own availability zone: that of a host is known by its servers.
    Servers that are not active hold their place and stay.

    Raises
    ------
    InvalidFile
        A list is missing, or a server's flavor or host is in none.
    """
    lists: dict[str, list[Fields]] = {kind: [] for kind in COMMANDS}
    for where, content in contents.items():
        kind = looks_like(content).partition(" ")[2]
        for place, entry in enumerate(content):
            if not isinstance(entry, dict):
                raise InvalidFile(
                    f"{where}: entry {place} is not an object; expected one of the {kind}"
                )
            lists[kind].append(Fields(entry, f"{where}: entry {place}"))
    for kind, command in COMMANDS.items():
        if not lists[kind]:
            raise InvalidFile(
                f"{', '.join(contents)}: no list of {kind}; give it too, as another "
                f"file: `{command}`"
            )
    flavors = {item.text("Name"): item for item in lists["flavors"]}
    names = [item.name("Hypervisor Hostname") for item in lists["hypervisors"]]
    if (twice := repeated(names)) is not None:
        raise InvalidFile(f"{', '.join(contents)}: hypervisor {twice!r} is given twice")
    hosts = {name.partition(".")[0]: name for name in names} | {name: name for name in names}
    zones: dict[str, set[str]] = {}
    pods = []
    for item in lists["servers"]:
        pod = _server(item, flavors, hosts)
        pods.append(pod)
        if pod.placed:
            zones.setdefault(pod.node, set()).add(item.text("Availability Zone"))
    several = len(set().union(*zones.values())) > 1 if zones else False
    nodes = tuple(
        _host(
            item, zones.get(item.text("Hypervisor Hostname"), set()) if several else {""}, cpu_ratio
        )
        for item in lists["hypervisors"]
    )
    if several:
        pods = [
            _in_zone(pod, item.text("Availability Zone"))
            for pod, item in zip(pods, lists["servers"], strict=True)
        ]
    assumptions = (
        StateWarning(
            "cpu-ratio", f"{cpu_ratio:g} virtual CPUs are counted to a core (--cpu-ratio)"
        ),
        StateWarning(
            "never-listed",
            "not in such files: server groups, traits, aggregates, volumes, reserved memory",
        ),
    )
    known = Counter[str]()
    for pod in pods:
        known[pod.node] += pod.requests["vCPU"]
    used = {
        item.text("Hypervisor Hostname"): item.whole("vCPUs Used") for item in lists["hypervisors"]
    }
    return ClusterState(
        "openstack", next(iter(contents)), nodes, tuple(pods),
        warnings=tuple(too_few("vCPUs", used, known, "list the servers with --all-projects")),
        assumptions=assumptions,
    )  # fmt: skip


def _host(item: Fields, zones: set[str], cpu_ratio: float) -> Node:
    name = item.text("Hypervisor Hostname")
    for field in ("vCPUs", "Memory MB"):
        if item.whole(field) <= 0:
            raise item.wrong(
                field,
                item.content.get(field),
                "a number above 0",
                f"Make it with `{COMMANDS['hypervisors']}`",
            )
    state = item.text("State", "up")
    labels = {_ZONE: next(iter(zones))} if len(zones) == 1 and zones != {""} else {}
    return Node(
        name=name,
        allocatable={
            "vCPU": int(item.whole("vCPUs") * cpu_ratio),
            "memory": item.whole("Memory MB"),
        },
        labels={"host": name, **labels},
        not_ready_reason="" if state == "up" else state,
        unknown_reason="" if len(zones) == 1 else "availability zone unknown",
    )


def _server(item: Fields, flavors: dict[str, Fields], hosts: dict[str, str]) -> Pod:
    status, given = item.text("Status"), item.text("Host") or item.text("OS-EXT-SRV-ATTR:host")
    name = item.text("Flavor Name") or item.text("Flavor")
    if name not in flavors:
        raise item.wrong(
            "Flavor Name",
            name,
            f"one of the {len(flavors)} flavors",
            f"Make the lists with `{COMMANDS['servers']}` and `{COMMANDS['flavors']}`",
        )
    node = hosts.get(given) or hosts.get(given.partition(".")[0], "")
    if given and not node:
        raise item.wrong("Host", given, "one of the hypervisors")
    flavor = flavors[name]
    unread = (
        ()
        if status == "ACTIVE"
        else (("status", f"it is {status}: active servers are migrated live"),)
    )
    return Pod(
        namespace="", name=item.text("Name") or item.text("ID"), node=node,
        requests={"vCPU": flavor.whole("VCPUs"), "memory": flavor.whole("RAM")},
        role=Role.MOVABLE if node else Role.FINISHED, owner=("server", item.name("ID")),
        unsupported_constraints=unread,
    )  # fmt: skip


def _in_zone(pod: Pod, zone: str) -> Pod:
    """The same server, for hosts of its zone and those whose zone is unknown."""
    from dataclasses import replace

    there = NodeTerm((Expression(_ZONE, "In", (zone,)),))
    unknown = NodeTerm((Expression(_ZONE, "DoesNotExist"),))
    return replace(pod, affinity=((there, unknown),))
