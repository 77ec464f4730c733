"""Reader of a cluster state from files whose format is detected by their content."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...instances.problem.errors import InvalidFile, UnknownName
from ...instances.problem.files import SUFFIXES
from ...instances.problem.option_types import validate_options
from ...instances.problem.reading import is_kubernetes, read_text
from .completeness import missing
from .kubernetes import COMMAND, kubernetes_state
from .new_pods import documents, new_pods
from .node_types import set_prices
from .plain_tables import plain_state
from .state import ClusterState

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
