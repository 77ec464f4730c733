"""The commands `advise nodes` and `drain`: a cluster's own state in, advice out."""

from __future__ import annotations

from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..instances.problem.errors import InvalidOption
from .advice_options import NodesOptions, PlanOptions, StateOptions, States
from .codes import NO_ANSWER

if TYPE_CHECKING:
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
    """Files of a state and the names of nodes after them; refused in another order."""
    from ..instances.problem.errors import InvalidFile
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
