"""Reader of a cluster state from files whose format is detected by their content: Kubernetes, or
plain tables of hosts and of the virtual machines on them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from ...instances.problem.errors import InvalidFile, UnknownName
from ...instances.problem.files import SUFFIXES
from ...instances.problem.option_types import validate_options
from ...instances.problem.reading import is_kubernetes, read_text
from ...instances.problem.tables import AMOUNT, CsvRow, CsvTable
from .completeness import missing, require_one_cluster
from .constraints import Expression, NodeTerm, PodTerm
from .kubernetes import COMMAND, kubernetes_state
from .new_pods import documents, new_pods
from .node_types import set_prices
from .state import ClusterState, Node, Pod, Role

_YAML = re.compile(r"^(---\s*$|apiVersion: |kind: )", re.MULTILINE)

_DATA = Path(__file__).resolve().parent / "data"


def bundled_states() -> list[str]:
    """Names of the states that come with the package, "state/NAME"."""
    return sorted(f"state/{path.name.split('.')[0]}" for path in _DATA.glob("*.json*"))


@validate_options
def read_state(
    paths: Sequence[str],
    *,
    prices: str | None = None,
    added: str | None = None,
    replicas: int | None = None,
) -> ClusterState:
    """Read the state in one or several files; "-" is standard input.

    Parameters
    ----------
    paths : a Kubernetes List (or one of each kind), tables of hosts and of VMs, or a bundled state
        such as "state/shop".
    prices : a table of prices of nodes, see `node_types.set_prices`.
    added, replicas : workloads whose pods run nowhere yet, see `new_pods.new_pods`; the state may
        then be theirs alone, without nodes.

    Raises
    ------
    InvalidFile
        A file cannot be read or is none of these, or they do not belong together.
    """
    state = _read(paths, None if added is None else (added, new_pods(added, replicas)))
    if prices is not None:
        state = set_prices(state, prices)
    return replace(state, warnings=(*missing(state), *state.warnings))


def _read(paths: Sequence[str], added: tuple[str, dict[str, Any]] | None) -> ClusterState:
    """Read the state in some files, with pods added from another file."""
    contents: dict[str, Any] = {}
    tables: dict[str, str] = {}
    for path in dict.fromkeys(map(str, paths)):
        text = read_text(_located(path))
        if text.lstrip()[:1] not in ("{", "[") and not _YAML.search(text):
            header = text.lstrip().partition("\n")[0]
            if "," not in header and ";" not in header:
                raise _no_state(path, text.strip())
            tables[path] = text
            continue
        found = [each for each in documents(text, path) if each is not None]
        several = {"apiVersion": "v1", "kind": "List", "items": found}
        contents[path] = found[0] if len(found) == 1 else several
        if not is_kubernetes(contents[path]):
            raise _no_state(path, contents[path])
    if tables and contents:
        listed = [f"{path} is csv" for path in tables] + [
            f"{path} is kubernetes" for path in contents
        ]
        raise InvalidFile(f"these files are not of one cluster: {', '.join(listed)}")
    if tables and added is not None:
        raise InvalidFile(
            f"{added[0]} has pods, and {paths[0]} is no state of Kubernetes; give --shape"
        )
    if tables:
        return plain_state(tables)
    return kubernetes_state(contents | dict([added] if added else []), with_nodes=len(paths) > 0)


def _located(path: str) -> str | Path:
    """Path of a file, or of the bundled state of that name."""
    if path.startswith("state/") and not Path(path).exists():
        for suffix in SUFFIXES:
            if (found := _DATA / f"{path.removeprefix('state/')}{suffix}").is_file():
                return found
        raise UnknownName("file or bundled state", path, bundled_states())
    return path


def _no_state(path: str, content: Any) -> InvalidFile:
    what = "is not the state of a cluster"
    if isinstance(content, dict) and "cotenant" in content:
        what = "is an instance or a result of this package, no state of a cluster"
    if content == "":
        what = "is empty"
    elif isinstance(content, str) and content.startswith(("NAME ", "NAMESPACE ")):
        what = "is the table that kubectl prints without -o json"
    return InvalidFile(
        f"{path} {what}; expected what `{COMMAND}` prints, or tables of hosts and VMs"
    )


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
