"""Files of a cluster to its state, whatever they are: recognized by what they hold."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from ...instances.problem.errors import InvalidFile, UnknownName
from ...instances.problem.files import SUFFIXES
from ...instances.problem.json_detection import looks_like
from ...instances.problem.option_types import Above, validate_options
from ...instances.problem.reading import file_limit, read_text
from .completeness import missing
from .kubernetes import COMMAND, kubernetes_state
from .new_pods import documents, new_pods
from .node_types import set_prices
from .state import ClusterState
from .virtual_machines import openstack_state, plain_state, proxmox_state

CPU_RATIO = 4.0
"""Virtual CPUs to a core where machines are VMs, when nothing else is said; Nova's default too."""

_LARGE, _SECONDS_A_BYTE, _BYTES_A_BYTE = 20_000_000, 1.5e-7, 8
"""Files of so many bytes are announced, with what a byte takes on a common machine."""

_YAML = re.compile(r"^(---\s*$|apiVersion: |kind: )", re.MULTILINE)

_DATA = Path(__file__).resolve().parent / "data"

Ratio = Annotated[float, Above(0)]


def bundled_states() -> list[str]:
    """The names of the states that come with the package, "state/NAME"."""
    return sorted(f"state/{path.name.split('.')[0]}" for path in _DATA.glob("*.json*"))


@validate_options
def read_state(
    paths: Sequence[str],
    *,
    cpu_ratio: Ratio = CPU_RATIO,
    prices: str | None = None,
    added: str | None = None,
    replicas: int | None = None,
) -> ClusterState:
    """The state that one or several files hold together; "-" is standard input.

    Parameters
    ----------
    paths : a Kubernetes List (or one of each kind), Proxmox's cluster resources, OpenStack's three
        lists, tables of hosts and of VMs, or a bundled state such as "state/shop".
    cpu_ratio : virtual CPUs that count as a core, where machines are VMs of Proxmox or OpenStack.
    prices : a table of prices of nodes, see `node_types.set_prices`.
    added, replicas : workloads whose pods run nowhere yet, see `new_pods.new_pods`; the state may
        then be theirs alone, without nodes.

    Raises
    ------
    InvalidFile
        A file cannot be read or is none of these, or they do not belong together.
    """
    state = _read(paths, cpu_ratio, None if added is None else (added, new_pods(added, replicas)))
    if prices is not None:
        state = set_prices(state, prices)
    return replace(state, warnings=(*missing(state), *state.warnings))


def _read(
    paths: Sequence[str], cpu_ratio: float, added: tuple[str, dict[str, Any]] | None
) -> ClusterState:
    """The state as the files have it, with pods from another one."""
    contents: dict[str, Any] = {}
    tables: dict[str, str] = {}
    kinds: dict[str, str] = {}
    for path in dict.fromkeys(map(str, paths)):
        text = read_text(_located(path))
        if text.lstrip()[:1] not in ("{", "["):
            header = text.lstrip().partition("\n")[0]
            yaml = _YAML.search(text)
            if not yaml and "," not in header and ";" not in header:
                raise _no_state(path, text.strip())
            if not yaml:
                tables[path], kinds[path] = text, "csv"
                continue
        found = [each for each in documents(text, path) if each is not None]
        several = {"apiVersion": "v1", "kind": "List", "items": found}
        contents[path] = found[0] if len(found) == 1 else several
        kinds[path] = looks_like(contents[path]).partition(" ")[0]
        if not kinds[path]:
            raise _no_state(path, contents[path])
    if len(set(kinds.values())) > 1:
        listed = ", ".join(f"{path} is {kind}" for path, kind in kinds.items())
        raise InvalidFile(f"these files are not of one cluster: {listed}")
    if added is not None:
        if {*kinds.values()} - {"kubernetes"}:
            raise InvalidFile(
                f"{added[0]} has pods, and {paths[0]} is no state of Kubernetes; give --shape"
            )
        return kubernetes_state(contents | dict([added]), with_nodes=bool(paths))
    if tables:
        return plain_state(tables)
    if "kubernetes" in kinds.values():
        return kubernetes_state(contents)
    reader = proxmox_state if "proxmox" in kinds.values() else openstack_state
    return reader(contents, cpu_ratio)


def effort(paths: Sequence[str]) -> str:
    """About how long large files take to be read, and how much memory; "" for others."""
    files = [Path(path) for path in dict.fromkeys(paths)]
    size = sum(path.stat().st_size for path in files if path.is_file())
    if size < _LARGE or size > file_limit():
        return ""
    seconds, memory = size * _SECONDS_A_BYTE, size * _BYTES_A_BYTE
    return (
        f"{size / 1e6:.0f} MB are read: about {seconds:.0f} s and {memory / 1e9:.1f} GB of memory "
        "(more where files are compressed)"
    )


def _located(path: str) -> str | Path:
    """A file, or a bundled state where there is no such file."""
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
        f"{path} {what}; expected what `{COMMAND}` prints, Proxmox's or OpenStack's lists as JSON, "
        "or tables of hosts and VMs"
    )
