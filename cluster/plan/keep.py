"""A plan that keeps room: a share of every node, or for the loss of any one node."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from fractions import Fraction
from math import floor

from ...instances.problem.errors import NoSolution
from ...solvers.outcome import Clock
from ..state.state import ClusterState, Node, Role, StateWarning, change_nodes, limitless
from .answer import Answer, Proved
from .costs import price_of
from .losses import losses


def with_reserve(state: ClusterState, share: float) -> ClusterState:
    """The state where a share of each node's CPU and memory is nobody's."""
    kept = 1 - Fraction(str(share))

    def reduced(node: Node) -> Node:
        room = {
            name: amount
            if name == "pods" or "/" in name or limitless(name)
            else floor(amount * kept)
            for name, amount in node.allocatable.items()
        }
        return replace(node, allocatable=room)

    words = f"with {100 * share:g}% of each {state.host_noun} kept free"
    counted = f"{state.counted}, {words}" if state.counted else f"by requests {words}"
    return replace(change_nodes(state, reduced), counted=counted)


def surviving(answer: Answer, seconds: float | None, released: Collection[str] = ()) -> Answer:
    """The plan with so many of its freed nodes kept, empty, that any one node can be lost after it;
    nothing is proved of how few these are.

    Raises
    ------
    NoSolution
        With all of them kept some node cannot be lost, or it is not known.
    """
    state, clock = answer.state, Clock(seconds)
    if answer.order.stuck:
        raise NoSolution("no order of moves was found, so no plan is safe (--keep node)")
    where = {**answer.targets, **answer.arrivals}
    size = {node.name: max(node.allocatable.values(), default=0) for node in state.nodes}
    freed = sorted(answer.freed, key=lambda name: -size[name])
    number = 0
    while True:
        gone = set(freed[number:])
        pods = [
            replace(pod, role=Role.FINISHED, node="")
            if pod.node in gone and n not in where
            else replace(pod, node=where[n], role=Role.MOVABLE)
            if n in where
            else pod
            for n, pod in enumerate(state.pods)
        ]
        nodes = tuple(node for node in state.nodes if node.name not in gone)
        after = replace(state, nodes=nodes, pods=tuple(pods))
        found = losses(after, time_limit=clock.time_slice(2), released=released, nodes_only=True)
        open_ones = [loss.name for loss in found if not loss.status]
        if not open_ones:
            break
        if number == len(freed):
            raise NoSolution(
                f"no plan was found after which any one {state.host_noun} can be lost: it is not "
                f"known to be so of {', '.join(open_ones[:3])} even while none is freed (--keep "
                "node); see `cotenant advise safe`"
            )
        number = min(max(1, 2 * number), len(freed))
    spares = freed[:number]
    words = f"{', '.join(spares) or 'nothing'} is kept empty besides, so that any one "
    words += f"{state.host_noun} can be lost after the plan (--keep node)"
    kept = frozenset(node.name for node in state.nodes) - set(answer.freed) - set(answer.idle)
    noted = (*state.assumptions, StateWarning("kept-free", words))
    answer = replace(answer, state=replace(state, assumptions=noted))
    if not number:
        return answer
    cost = price_of(state, kept | set(spares))
    return replace(
        answer, freed=tuple(name for name in answer.freed if name not in spares),
        nodes=replace(answer.nodes, value=answer.nodes.value + number),
        cost=answer.cost and replace(answer.cost, value=cost),
        moves=Proved(answer.moves.value), left_pending={},
    )  # fmt: skip
