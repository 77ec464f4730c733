"""The commands `advise nodes` and `drain`: a cluster's own state in, advice out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..analysis.report.console import waiting
from ..instances.problem.errors import InvalidOption
from ..instances.problem.option_types import AtLeast
from .advice_options import PlanOptions
from .arguments import share_of
from .codes import NO_ANSWER
from .state_options import StateOptions, States

if TYPE_CHECKING:
    from ..cluster.plan.answer import Answer
    from ..cluster.state.state import ClusterState


@dataclass(frozen=True)
class NodesOptions(StateOptions):
    """How a state is read, and what a plan of fewest nodes is asked for besides.

    Attributes
    ----------
    prices : prices of nodes: type,price or type,price,capacity (on-demand, spot, reserved), or
        node,price
    frontier : also show this many steps from the nodes of now to the fewest, with the moves
    keep : keep a share of each node free, such as 15%, or room for the loss of any one node: node
    why_not : also say what each reason that holds pods in place costs; half of the time is for it
    """

    prices: Annotated[str | None, "TYPES.csv"] = None
    frontier: Annotated[int, "POINTS"] = 0
    keep: Annotated[str | None, "WHAT"] = None
    why_not: Annotated[bool, "--why-not"] = False

    @property
    def additions(self) -> dict[str, Any]:
        """What `read_state` adds to the files."""
        return {"prices": self.prices}

    def read(self, states: list[str]) -> ClusterState:
        """The state, with what is to be kept of each node taken off."""
        from ..cluster.plan.safe import with_reserve

        state = super().read(states)
        if self.keep in (None, "node"):
            return state
        share = share_of(str(self.keep), "keep")
        if share == 1:
            raise InvalidOption("keep is 100%, which leaves nothing; expected less, or node")
        return with_reserve(state, share)

    def added(self, answer: Answer, say: Any, asked: dict[str, Any]) -> Answer:
        """The plan with the nodes that stay as spares, and with what pins cost."""
        from ..cluster.plan.pins import dearest_pins
        from ..cluster.plan.safe import surviving

        if self.why_not:
            pins = () if answer.interrupted else dearest_pins(answer, say=say, **asked)
            answer = replace(answer, pins=pins)
        if self.keep != "node":
            return answer
        return surviving(answer, asked["time_limit"], self.released)


def nodes(
    states: States,
    *,
    source: NodesOptions,
    shown: PlanOptions,
) -> None:
    """Say how many nodes are enough, and which can go.

    Prints the moves too, and what is proved of each answer.
    """
    from ..cluster.plan.nodes import advise

    state, rare = shown.read(states, source), source.rare
    asked: dict[str, Any] = source.limits | {
        "time_limit": source.time_limit / (1 + source.why_not),
        "pending": rare.pending,
        # decimals as they are written
        "disruption": None if rare.disruption is None else Fraction(repr(rare.disruption)),
    }
    with waiting("finding the fewest nodes and moves") as say:
        answer = advise(state, frontier=source.frontier, say=say, **asked)
        answer = source.added(answer, say, asked)
    shown.show(answer)
    if rare.fail_above is not None and answer.waste > rare.fail_above:
        raise typer.Exit(NO_ANSWER)


def drain(
    states: Annotated[list[str], "STATE... NODE..."],
    *,
    source: StateOptions,
    shown: PlanOptions,
    pool: Annotated[str | None, "LABEL=VALUE"] = None,
    surge: Annotated[int | None, "S", AtLeast(0)] = None,
) -> None:
    """Say what blocks the emptying of nodes, pod by pod.

    Where nothing does, the fewest moves that empty them together. Where that cannot be, or with
    --surge, an order of nodes. Exit 1 when it is blocked.

    Parameters
    ----------
    states : files of the state, and nodes to empty
    pool : empty all nodes with this value of a label
    surge : empty one after the other, each back empty before the next, with at most S nodes more
    """
    from ..cluster.plan.drain import drain as emptied
    from ..cluster.plan.drain import roll

    if surge is not None and (shown.emit or shown.plan):
        raise InvalidOption(
            "surge is given beside emit or plan; expected one of them, as nodes that are emptied "
            "one after the other have a plan each: give one node, and the next with a new state"
        )
    files, nodes = _states_and_nodes(states, pool)
    state = shown.read(files, source)
    nodes = list(dict.fromkeys([*nodes, *(_in_pool(state, pool) if pool else [])]))
    several = surge is not None or len(nodes) > 1
    limits = source.limits | {"time_limit": source.time_limit / (1 + several)}
    with waiting(f"looking for places for the pods of {', '.join(nodes)}") as say:
        found = emptied(state, *nodes, say=say, **limits)
        if several and (surge is not None or not found.status):
            together, found = found, roll(state, nodes, surge or 0, say=say, **limits)
            found = replace(found, impossible=together.impossible, why_not=together.why_not)
    shown.show(found)


def _in_pool(state: ClusterState, pool: str) -> list[str]:
    """The nodes with a value of a label, given as LABEL=VALUE."""
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
    """The files of a state and the nodes after them; refused in another order."""
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
