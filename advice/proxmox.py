"""The reader of Proxmox VE: `pvesh get /cluster/resources --output-format json`."""

from __future__ import annotations

from collections import Counter
from typing import Any

from ..instances.problem.errors import InvalidFile
from ..instances.problem.fields import repeated
from .fields import Fields
from .state import ClusterState, Node, Pod, Role, StateWarning

COMMAND = "pvesh get /cluster/resources --output-format json"
"""What prints a state that is read here."""


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
    nodes: list[Node] = []
    pods: list[Pod] = []
    ignored: Counter[str] = Counter()
    whole = ", ".join(contents)
    for where, content in contents.items():
        for place, entry in enumerate(content):
            if not isinstance(entry, dict):
                raise InvalidFile(
                    f"{where}: entry {place} is not an object; expected what `{COMMAND}` prints"
                )
            item = Fields(entry, f"{where}: {entry.get('id') or f'entry {place}'}")
            kind = item.text("type")
            if kind == "node":
                nodes.append(_node(item, cpu_ratio))
            elif kind in ("qemu", "lxc"):
                if not item.whole("template"):
                    pods.append(_machine(item, kind))
            else:
                ignored[kind or "entry without a type"] += 1
    for them, words in ((nodes, "node"), (pods, "machine")):
        if not them:
            raise InvalidFile(f"{whole}: no {words} is listed; make it with `{COMMAND}`")
    known = {node.name for node in nodes}
    if (twice := repeated(node.name for node in nodes)) is not None:
        raise InvalidFile(f"{whole}: node {twice!r} is given twice; give one state of one cluster")
    for pod in pods:
        if pod.node not in known:
            raise InvalidFile(f"{whole}: {pod.title} is on node {pod.node!r}, which is not listed")
    assumptions = (
        StateWarning(
            "cpu-ratio", f"{cpu_ratio:g} virtual CPUs are counted to a core (--cpu-ratio)"
        ),
        StateWarning(
            "never-listed", "not in such a file: where disks lie, devices passed through, HA rules"
        ),
    )
    return ClusterState(
        "proxmox", next(iter(contents)), tuple(nodes), tuple(pods), (), dict(ignored),
        assumptions=assumptions,
    )  # fmt: skip


def _node(item: Fields, cpu_ratio: float) -> Node:
    name, status = item.name("node"), item.text("status")
    for field in ("maxcpu", "maxmem"):
        if item.whole(field) <= 0 and status == "online":
            raise item.wrong(field, item.content.get(field), "a number above 0")
    rooms = {"vCPU": int(item.whole("maxcpu") * cpu_ratio), "memory": item.whole("maxmem")}
    return Node(
        name,
        rooms,
        {"host": name},
        not_ready_reason="" if status == "online" else status or "unknown",
    )


def _machine(item: Fields, kind: str) -> Pod:
    number, status = item.whole("vmid", -1), item.text("status")
    if number < 0:
        raise item.wrong("vmid", item.content.get("vmid"), "the machine's number")
    for field in ("maxcpu", "maxmem"):
        value = item.content.get(field, 0)
        if not isinstance(value, int | float) or value < 0 or value % 1:
            raise item.wrong(field, value, "a whole number, 0 or more")
    role, reason = Role.MOVABLE, ""
    if status != "running":
        role = Role.FINISHED
    elif lock := item.text("lock"):
        role, reason = Role.FIXED, f"it is locked: {lock}"
    requests = {
        "vCPU": int(item.content.get("maxcpu", 0)),
        "memory": int(item.content.get("maxmem", 0)),
    }
    return Pod(
        namespace="", name=f"{number} {item.text('name')}".strip(), node=item.text("node"),
        requests=requests, role=role, reason=reason, owner=(kind, str(number)),
        soft=("a container (it restarts)",) * (kind == "lxc"),
    )  # fmt: skip
