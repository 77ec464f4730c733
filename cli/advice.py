"""Commands of `advise` about a cluster: each reads the cluster's state and prints an answer."""

from __future__ import annotations

from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..instances.problem.errors import InvalidFile, InvalidOption
from .advice_options import (
    AddOptions,
    NewOptions,
    NodesOptions,
    PlanOptions,
    ShowOptions,
    StateOptions,
    States,
)
from .codes import NO_ANSWER

if TYPE_CHECKING:
    from ..cluster.state.node_types import NodeType
    from ..cluster.state.state import ClusterState


def nodes(states: States, *, source: NodesOptions, shown: PlanOptions) -> None:
    """Say how many nodes are enough, and which can go.

    Prints the moves too, and what is proved of each answer.
    """
    from ..cluster.plan.nodes import advise

    state, rare = shown.read(states, source), source.rare
    message = "finding the fewest nodes and moves"
    answer = shown.ask(message, advise, state, source, pending=rare.pending)
    if rare.fail_above is not None and answer.waste > rare.fail_above:
        raise typer.Exit(NO_ANSWER)


def drain(
    states: Annotated[list[str], "STATE... NODE..."],
    *,
    source: StateOptions,
    shown: PlanOptions,
    pool: Annotated[str | None, "LABEL=VALUE"] = None,
) -> None:
    """Say what blocks the emptying of nodes, pod by pod.

    Where nothing does, the fewest moves that empty them together. Exit 1 when it is blocked.

    Parameters
    ----------
    states : files of the state, and nodes to empty
    pool : empty all nodes with this value of a label
    """
    from ..cluster.plan.drain import drain as emptied

    files, nodes = _states_and_nodes(states, pool)
    state = shown.read(files, source)
    nodes = list(dict.fromkeys([*nodes, *(_in_pool(state, pool) if pool else [])]))
    shown.ask(
        f"looking for places for the pods of {', '.join(nodes)}", emptied, state, source, *nodes
    )


def _in_pool(state: ClusterState, pool: str) -> list[str]:
    """Nodes with a value of a label, given as LABEL=VALUE."""
    label, _, value = pool.partition("=")
    values = sorted({node.labels[label] for node in state.nodes if label in node.labels})
    if value not in values:
        labels = sorted({name for node in state.nodes for name in node.labels})
        there = [f"{label}={each}" for each in values] or [f"{each}=..." for each in labels]
        raise InvalidOption(
            f"pool is {pool!r}, which no {state.host_noun} has; expected one of "
            f"{', '.join(there) or 'none, as no labels are in the file'}"
        )
    return [node.name for node in state.nodes if node.labels.get(label) == value]


def _states_and_nodes(names: list[str], pool: str | None) -> tuple[list[str], list[str]]:
    """Split arguments into files of a state and then names of nodes, in no other order."""
    from ..instances.problem.reading import is_standard_input

    def is_state(name: str) -> bool:
        return name.startswith("state/") or is_standard_input(name) or Path(name).exists()

    states = list(takewhile(is_state, names))
    if len(states) == len(names) > 1 and not pool:
        states.pop()  # a node is named as a file is
    nodes = names[len(states) :]
    wrong = not states or any(map(is_state, nodes[1:]))
    if wrong or not (nodes or pool):
        files = [name for name in names if is_state(name)] or ["STATE"]
        others = [name for name in names if not is_state(name)] or ["NODE"]
        what = f"{names[0]} does not exist" if not states else "no node is named"
        raise InvalidFile(
            f"{what if not states or not nodes else f'{nodes[0]} stands before a file'}; expected "
            f"files of a state and then nodes, as in cotenant advise drain {' '.join(files)} "
            f"{' '.join(others)}"
        )
    return states, nodes


def fit(
    states: States,
    *,
    source: NewOptions,
    shown: PlanOptions,
    types: Annotated[str | None, "TYPES.csv|NODE"] = None,
) -> None:
    """Say whether new pods fit, and after which moves.

    Or with how many new nodes. Pending pods of the state are counted with them. Exit 1 when they
    do not all fit, even after the moves that were found; 3 when that is not known.

    Parameters
    ----------
    types : also with new nodes: of a table as `advise buy` takes it, or like this node
    """
    from ..cluster.plan.fit import fit as fitting
    from ..cluster.state.node_types import read_types, type_like

    state = shown.read(states, source)
    buys: tuple[NodeType, ...] = ()
    if types is not None:
        table = Path(types).exists() or Path(types).suffix == ".csv"
        buys = read_types(state, types) if table else (type_like(state, types),)
    shown.ask("looking for places", fitting, state, source, types=buys)


def buy(
    states: Annotated[list[str] | None, "[STATE...]"] = None,
    *,
    source: NewOptions,
    shown: ShowOptions,
    types: Annotated[str | None, "TYPES.csv"] = None,
) -> None:
    """Say which nodes to buy at the least price.

    They are for pending and new pods. Nothing that runs moves. Exit 1 when some pods fit nowhere; 3
    when it is not known whether some have to wait.

    Parameters
    ----------
    states : files of a state; or none, with --add
    types : nodes to buy: type, price, cpu, memory and what else pods may take of one; where wanted
        zone, most (so many at most), labels (a=b c=d)
    """
    from ..cluster.plan.buy import buy as buying
    from ..cluster.state.node_types import read_types

    if types is None or (not states and source.add is None):
        what = "types" if types is None else "add"
        raise InvalidOption(f"{what} is not given; expected --types TYPES.csv, and STATE or --add")
    state = shown.read(states or [], source)
    shown.ask("looking for the cheapest nodes", buying, state, source, read_types(state, types))


def safe(
    states: States,
    *,
    source: StateOptions,
    shown: ShowOptions,
    by: Annotated[list[str] | None, "LABEL"] = None,
) -> None:
    """Say whether the pods of lost nodes fit on the others.

    Each node, and each zone, is lost alone, and no other pod moves. Names the pods without a place.
    Exit 1 when some of it is not known to be safe.

    Parameters
    ----------
    by : also lose all nodes with one value of this label, such as a rack; repeat for more. Zones
        when not given
    """
    from ..cluster.plan.safe import safe as cases

    shown.ask("looking for places", cases, shown.read(states, source), source, by=by or ())


def repair(states: States, *, source: StateOptions, shown: PlanOptions) -> None:
    """Say which placement rules are broken, and how to repair it.

    The fewest moves after which all rules are kept, with no node emptied. Exit 1 when some rule
    stays broken.
    """
    from ..cluster.plan.repair import repair as repairing

    shown.ask("looking for what is broken", repairing, shown.read(states, source), source)


def gpus(
    states: States,
    *,
    source: AddOptions,
    shown: PlanOptions,
    gang: Annotated[str | None, "GANG"] = None,
    topology: Annotated[str, "LABEL"] = "",
) -> None:
    """Say where GPUs are free, and which moves admit a gang.

    All pods of it, or none: the fewest moves, or a proof that no moves do. Exit 1 when a gang that
    waits has no room, even after moves.

    Parameters
    ----------
    gang : only this gang that waits: namespace/name, or LABEL=VALUE of its pods
    topology : all nodes of a gang have one value of this label
    """
    from ..cluster.plan.gpus import gpus as cards_of

    state = shown.read(states, source)
    shown.ask("looking for room", cards_of, state, source, gang=gang, topology=topology)
