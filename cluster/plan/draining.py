"""Whether nodes can be emptied, together or one after the other, what blocks it, and the fewest
moves that do it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...instances.problem.errors import InvalidInstance, UnknownName
from ...solvers.outcome import Clock
from ..judge.scheduler_filters import Scheduler
from ..state.state import ClusterState, Node, Pod, Role, change_nodes, change_pods, cordoned
from .costs import unpriced
from .optimum import Found, fewest_moves
from .plan import SECONDS, Advice, plan_advice, plans_of, require_kinds, unmoved
from .safety import with_spares
from .solve_budget import Say, SolveBudget
from .to_packing import translate


@dataclass(frozen=True)
class Draining:
    """What is known of emptying a node, or several together.

    Attributes
    ----------
    nodes, pods : their names, and the places of their pods in the state.
    blocked : place -> why a pod stays whatever else moves.
    open_to, refused : place -> nodes that would take a pod now; -> node -> why it would not.
    advice : the moves that let all others leave; None where there are none, or none was found.
    impossible : "" or how surely it is that not all of them can leave.
    """

    nodes: tuple[str, ...]
    pods: tuple[int, ...]
    blocked: Mapping[int, tuple[str, ...]]
    open_to: Mapping[int, tuple[str, ...]]
    refused: Mapping[int, Mapping[str, tuple[str, ...]]]
    advice: Advice | None
    impossible: str = ""

    @property
    def node(self) -> str:
        """The names of the nodes."""
        return ", ".join(self.nodes)

    @property
    def empties(self) -> bool:
        """Whether the nodes can be emptied now."""
        return not self.blocked and self.advice is not None and not self.advice.order.stuck


def drain(
    state: ClusterState,
    *nodes: str,
    time_limit: float | None = SECONDS,
    released: Collection[str] = (),
    say: Say = lambda words: None,
) -> Draining:
    """Whether nodes can be emptied together, what blocks it pod by pod, and the fewest moves that
    do it. The time limit, progress and Ctrl-C are as `advise` has them.

    Raises
    ------
    UnknownName
        No node has this name.
    """
    names = [each.name for each in state.nodes]
    for node in nodes:
        if node not in names:
            raise UnknownName(state.host_noun, node, names)
    require_kinds(released)
    state = cordoned(unpriced(state), nodes)
    work = SolveBudget(time_limit, say)
    pods = tuple(n for n, pod in enumerate(state.pods) if pod.placed and pod.node in nodes)
    scheduler = Scheduler(state)
    refused = {
        n: {name: tuple(scheduler.refusals(n, name)) for name in names if name not in nodes}
        for n in pods
        if state.pods[n].role is Role.MOVABLE
    }
    if all(state.pods[n].role in (Role.RESIDENT, Role.LEAVING) for n in pods):
        return Draining(nodes, pods, {}, {}, {}, unmoved(state))
    open_to = {n: tuple(name for name, why in by.items() if not why) for n, by in refused.items()}
    try:
        plans = plans_of(state, released, nodes, pending=False, nodes_stay=True)
    except InvalidInstance:
        plans = []
        if not refused:
            raise
    tries = [work.find("the fewest moves", 3, fewest_moves, plan, None) for plan in plans]
    best = min(
        (one for one in tries if one.count is not None),
        key=lambda one: (sum(n in one.plan.pinned for n in pods), one.value or 0),
        default=tries[-1] if tries else None,
    )
    pins = (best.plan if best else translate(state, ignored_pin_reasons=released)).pinned
    blocked = {n: (state.pods[n].reason,) for n in pods if state.pods[n].role is Role.FIXED} | {
        n: tuple(words for _, words in pins[n]) for n in pods if n in pins
    }
    if best is None or best.count is None:
        settings: dict[str, Any] = {
            "drained_nodes": nodes, "ignored_pin_reasons": released, "nodes_stay": True,
        }  # fmt: skip
        impossible = impossibility(state, work, tries, **settings)
        if impossible:
            impossible += work.part("what would let them go", lambda: _let_go(state, settings), "")
        return Draining(nodes, pods, blocked, open_to, refused, None, impossible)
    advice = plan_advice(state, released, best, work, pending=None)
    return Draining(nodes, pods, blocked, open_to, refused, advice)


@dataclass(frozen=True)
class Rolling:
    """Nodes emptied one after the other, each back empty before the next.

    Attributes
    ----------
    steps : with the states they begin in, where nodes that are still to come may take no pods.
    spares : nodes more that are there meanwhile; they are emptied last.
    left : nodes for which no step was found.
    failed : what is known of the first of them, after the steps.
    """

    steps: tuple[tuple[ClusterState, Draining], ...]
    spares: tuple[str, ...]
    left: tuple[str, ...]
    failed: tuple[ClusterState, Draining] | None


def roll(
    state: ClusterState,
    nodes: Collection[str],
    surge: int = 0,
    *,
    time_limit: float | None = SECONDS,
    released: Collection[str] = (),
    say: Say = lambda words: None,
) -> Rolling:
    """An order in which each of some nodes can be emptied, and is back empty before the next, with
    as few nodes more (like the first one, at most `surge`) as an order is found with. Where that
    can be, pods go to no node that is still to be emptied.
    """
    clock = Clock(time_limit)
    like = next(node for node in state.nodes if node.name in nodes)
    for extra in range(surge + 1):
        share = clock.time_slice(surge + 1 - extra)
        found = _rolled(with_spares(state, like, extra), len(state.nodes), nodes, share,
                        released=released, say=say)  # fmt: skip
        if not found.left:
            break
    return found


def _rolled(
    state: ClusterState, own: int, nodes: Collection[str], seconds: float | None, **settings: Any
) -> Rolling:
    clock, spares = Clock(seconds), tuple(node.name for node in state.nodes[own:])
    on = Counter(pod.node for pod in state.pods if pod.role is Role.MOVABLE)
    left = [*sorted(dict.fromkeys(nodes), key=lambda name: on[name]), *spares]
    steps: list[tuple[ClusterState, Draining]] = []
    while left:
        rest = frozenset(name for name in left if name not in spares) or frozenset(left)
        first = None
        tries = [
            (name, closed)
            for name in left
            if name in rest
            for closed in dict.fromkeys((rest - {name}, frozenset[str]()))
        ]
        for name, closed in tries:
            now = _closed_to(state, closed)
            share = clock.time_slice(2 * len(left))
            step = now, drain(now, name, time_limit=share, **settings)
            if step[1].empties:
                break
            if first is None and not closed:
                first = step
        else:
            return Rolling(tuple(steps), spares, tuple(left), first)
        assert step[1].advice is not None
        steps.append(step)
        left.remove(name)
        where = step[1].advice.targets
        pods = [replace(pod, node=where.get(n, pod.node)) for n, pod in enumerate(state.pods)]
        state = replace(state, pods=tuple(pods))
    return Rolling(tuple(steps), spares, (), None)


def _closed_to(state: ClusterState, names: Collection[str]) -> ClusterState:
    """The state where some nodes take no more pods."""

    def closed(node: Node) -> Node:
        why = node.not_ready_reason or "still to be emptied"
        return replace(node, not_ready_reason=why) if node.name in names else node

    return change_nodes(state, closed)


def impossibility(
    state: ClusterState, work: SolveBudget, tries: Sequence[Found], **settings: Any
) -> str:
    """How surely no moves do what `tries` found none for; "" where that is not known.

    Parameters
    ----------
    settings : what `translate` was asked with.
    """

    def proof() -> str:
        try:
            plan = translate(state, for_bound=True, **settings)
            free = not fewest_moves(plan, None, None, work.share(1)).infeasible
        except InvalidInstance:
            free = False
        if free and any(one.plan.tightened for one in tries):
            return ""  # the plans keep more than is asked for
        return f"{'while the pinned pods stay' if free else 'whatever else moves'} (proved)"

    return work.part("a proof", proof, "") if all(one.infeasible for one in tries) else ""


def _let_go(state: ClusterState, settings: Mapping[str, Any]) -> str:
    """What would let nodes be emptied: that no spread counts a node that is cordoned."""

    def honoring(pod: Pod) -> Pod:
        return replace(pod, spread=tuple(replace(one, honor_taints=True) for one in pod.spread))

    other = change_pods(state, honoring)
    try:
        free = other != state and fewest_moves(translate(other, **settings), None).count is not None
    except InvalidInstance:
        free = False
    words = "the cordoned node counts with 0 in a spread; nodeTaintsPolicy: Honor would let it go"
    return f": {words}" * free
