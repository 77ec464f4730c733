"""Whether nodes can be lost: places for their pods on the others, while nothing else moves."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import floor

from ...instances.problem.errors import InvalidOption, NoSolution
from ...instances.problem.option_types import validate_options
from ...solvers.outcome import Clock
from ..judge.scheduler_filters import Scheduler
from ..state.node_types import ZONE, with_copies
from ..state.state import (
    ClusterState,
    Node,
    Pod,
    Role,
    StateWarning,
    Taint,
    change_nodes,
    change_pods,
    limitless,
)  # fmt: skip
from .costs import price_of, unpriced
from .pending import admitted, can_arrive, most_that_fit, vouched
from .plan import SECONDS, Advice, require_kinds
from .solve_budget import Say, SolveBudget

REASONS = 5
"""Pods of a loss of which it is said why no node takes them."""
_GONE = Taint("node.kubernetes.io/unreachable", "", "NoSchedule")


@dataclass(frozen=True)
class Loss:
    """What is known of losing some nodes at once, or of further pods.

    Attributes
    ----------
    kind, name : "node" and its name, or a label and its value; of further pods, what adds them.
    nodes : names of the nodes.
    pods : places in the state of their pods that something starts again, or of further ones.
    arrivals : place of a pod -> a node that takes it, in an order in which every filter passes.
    upper_bound : no more of the pods can be placed (proved).
    reasons : place of a pod without a place (of the first) -> why no node takes it.
    spare : so many nodes more, like `like`, are enough for the others; 0 where none are needed, or
        it is not known.
    more : pods besides, for which no node has a number left.
    """

    kind: str
    name: str
    nodes: tuple[str, ...]
    pods: tuple[int, ...]
    arrivals: Mapping[int, str]
    upper_bound: int
    reasons: Mapping[int, str] = field(default_factory=dict)
    spare: int = 0
    like: str = ""
    more: int = 0

    @property
    def safe(self) -> bool | None:
        """Whether all pods can be placed again; None where it is not known."""
        if len(self.arrivals) == len(self.pods) + self.more:
            return True
        return None if self.upper_bound == len(self.pods) + self.more else False

    @property
    def left(self) -> tuple[int, ...]:
        """The pods without a place."""
        return tuple(n for n in self.pods if n not in self.arrivals)


@validate_options
def safe(
    state: ClusterState,
    *,
    by: Sequence[str] = (),
    zones: bool = True,
    time_limit: float | None = SECONDS,
    released: Collection[str] = (),
    say: Say = lambda words: None,
) -> list[Loss]:
    """Of every node that holds pods, and of every group of nodes with one value of a label, whether
    all its pods can be placed again on the others while nothing else moves.

    What belongs to a node, and what nothing starts again, is lost with it. Nodes that are lost
    stay listed as unreachable: a spread counts them as Kubernetes does. Pods that are pending now
    are left out.

    Parameters
    ----------
    by : labels; the zone where nodes have one when none is given.
    zones : whether zones are asked then.
    released : kinds of `to_packing.RELEASED` that do not keep a pod from being placed again.

    Raises
    ------
    InvalidOption
        No node has a label, or a kind to release is none.
    """
    require_kinds(released)
    known = {label for node in state.nodes for label in node.labels}
    for label in by:
        if label not in known:
            raise InvalidOption(
                f"by is {label!r}, a label that no node has; expected one of "
                f"{', '.join(sorted(known)) or 'none: no node has labels'}"
            )
    work, state = SolveBudget(time_limit, say), unpriced(state)
    groups = {("node", node.name): [node.name] for node in state.nodes}
    for label in by or ({ZONE} & known if zones else ()):
        for node in state.nodes:
            if label in node.labels:
                groups.setdefault((label, node.labels[label]), []).append(node.name)
    say("places by the filters")
    found = _greedily(state, groups, released)
    return settled(state, found, work, lambda loss: without(state, loss.nodes, released))


def settled(
    state: ClusterState,
    found: Sequence[Loss],
    work: SolveBudget,
    asked: Callable[[Loss], ClusterState],
) -> list[Loss]:
    """The cases, those that the filters leave open by the exact program; `asked`: the state where
    the pods of one, and no others, are pending.
    """
    cases = list(found)
    open_ones = [place for place, loss in enumerate(cases) if loss.safe is not True]
    # what is neither proved nor refuted is worth the time first
    open_ones.sort(key=lambda place: cases[place].safe is not None)
    for number, place in enumerate(open_ones):
        if work.interrupted or work.solving.expired:
            break
        loss, share = cases[place], work.share(len(open_ones) - number)
        cases[place] = work.part(
            f"places for the pods of {loss.name}",
            lambda loss=loss, share=share: _exactly(state, asked(loss), loss, share),  # type: ignore[misc]
            loss,
        )
    return cases


def starts_again(pod: Pod) -> bool:
    """Whether a pod is started elsewhere when its node is lost: also one that no plan may move, if
    something made it.
    """
    return pod.role is Role.MOVABLE or (pod.role is Role.FIXED and bool(pod.owner[1]))


def without(
    state: ClusterState, names: Collection[str], released: Collection[str] = ()
) -> ClusterState:
    """The state when some nodes are lost: their pods that something starts again are pending, and
    no others are.
    """

    def waits(pod: Pod) -> Pod:
        if pod.role is not Role.PENDING and not (pod.placed and pod.node in names):
            return pod
        return replace(pod, role=Role.PENDING if starts_again(pod) else Role.FINISHED, node="")

    def gone(node: Node) -> Node:
        if node.name not in names:
            return node
        return replace(node, not_ready_reason="not ready", taints=(*node.taints, _GONE))

    return vouched(change_nodes(change_pods(state, waits), gone), released)


def _greedily(
    state: ClusterState, groups: Mapping[tuple[str, str], list[str]], released: Collection[str]
) -> list[Loss]:
    """Losses with the places that the filters give one pod after the other; no bound counts a pod
    that all nodes refuse for good.
    """
    scheduler = Scheduler(state)
    # fewer domains that count may break a minDomains: a scheduler of the lost state is asked then
    narrow = any(s.honor_taints and s.domains > 1 for pod in state.pods for s in pod.spread)
    # a filter may refuse for what is soon gone, or is not known: that proves nothing
    unsure = (
        any(node.unknown_reason for node in state.nodes)
        or any(pod.role is Role.LEAVING for pod in state.pods)
        or any(t.has_unsupported_selector for pod in state.pods for t in pod.pod_anti_affinity)
    )
    found: list[Loss] = []
    for (kind, name), lost in groups.items():
        gone = set(lost)
        there = [n for each in lost for n in sorted(scheduler.on[each])]
        pods = tuple(n for n in there if starts_again(state.pods[n]))
        names = [node.name for node in state.nodes if node.name not in gone]
        arrivals: dict[int, str] = {}
        nowhere: list[int] = []
        if not narrow and pods:
            free = [
                n for n in pods
                if all(why in released for why, _ in state.pods[n].undecided)
            ]  # fmt: skip
            free.sort(key=lambda n: -max(state.pods[n].requests.values(), default=0))
            old = {n: scheduler.where[n] for n in there}
            for n in there:
                scheduler.evict(n)
            arrivals = admitted(scheduler, free, names)
            for n in arrivals:
                scheduler.evict(n)
            nowhere = [
                n for n in free
                if n not in arrivals and not unsure and _closed(scheduler, n, names)
            ]  # fmt: skip
            for n, node in old.items():
                scheduler.arrive(n, node)
        most = len(pods) - len(nowhere)
        found.append(Loss(kind, name, tuple(lost), pods, arrivals, most))
    return found


def _closed(scheduler: Scheduler, number: int, names: Sequence[str]) -> bool:
    """Whether every node refuses a pod for what further pods do not change."""
    passing = {"spread", "affinity"}
    return all(set(scheduler.refusals(number, name)) - passing for name in names)


def _exactly(state: ClusterState, lost: ClusterState, loss: Loss, seconds: float | None) -> Loss:
    """The loss with the most pods that fit, why others do not, and what would be enough."""
    fitting = most_that_fit(lost, seconds, later=True)
    arrivals = max(fitting.arrivals, loss.arrivals, key=len)
    loss = replace(loss, arrivals=arrivals, upper_bound=min(fitting.upper_bound, loss.upper_bound))
    if loss.safe:
        return loss
    scheduler = Scheduler(lost)
    for n, name in arrivals.items():
        scheduler.arrive(n, name)
    reasons = {}
    for n in loss.left[:REASONS]:
        whys = [words for _, words in lost.pods[n].undecided]
        names = [name for name in scheduler.nodes if name not in loss.nodes]
        tally = sorted({words for name in names for words in scheduler.refusals(n, name)})
        reasons[n] = ", ".join(whys or tally)
    spare, like = _enough(state, lost, loss)
    return replace(loss, reasons=reasons, spare=spare, like=like)


def _enough(state: ClusterState, lost: ClusterState, loss: Loss) -> tuple[int, str]:
    """So many nodes more take the pods that are left, by the filters; like the lost node, or like
    the largest that stays.
    """
    own = [node for node in state.nodes if node.name in loss.nodes]
    ready = [node for node in lost.nodes if not node.not_ready_reason and node.can_be_drained]
    among = own if loss.kind == "node" or not ready else ready
    if not among or loss.more:
        return 0, ""
    like = max(among, key=lambda node: max(node.allocatable.values(), default=0))
    more = with_spares(lost, like, min(len(loss.left), 2 * len(loss.nodes or ready)), state)
    names = [node.name for node in more.nodes[len(lost.nodes) :]]
    where = {n: pod.node for n, pod in enumerate(more.pods) if pod.placed}
    left = set(loss.left)
    scheduler = Scheduler(more, where | dict(loss.arrivals))
    coming = admitted(scheduler, [n for n in can_arrive(more) if n in left], names)
    if len(coming) < len(left):
        return 0, ""
    return len(set(coming.values())), like.name


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


def surviving(advice: Advice, seconds: float | None, released: Collection[str] = ()) -> Advice:
    """The plan with so many of its freed nodes kept, empty, that any one node can be lost after it;
    nothing is proved of how few these are.

    Raises
    ------
    NoSolution
        With all of them kept some node cannot be lost, or it is not known.
    """
    state, clock = advice.state, Clock(seconds)
    if advice.order.stuck:
        raise NoSolution("no order of moves was found, so no plan is safe (--keep node)")
    where = {**advice.targets, **advice.arrivals}
    size = {node.name: max(node.allocatable.values(), default=0) for node in state.nodes}
    freed = sorted(advice.freed, key=lambda name: -size[name])
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
        losses = safe(after, time_limit=clock.time_slice(2), released=released, zones=False)
        open_ones = [loss.name for loss in losses if not loss.safe]
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
    kept = frozenset(node.name for node in state.nodes) - set(advice.freed) - set(advice.idle)
    noted = (*state.assumptions, StateWarning("kept-free", words))
    advice = replace(advice, state=replace(state, assumptions=noted))
    if not number:
        return advice
    return replace(
        advice, freed=tuple(name for name in advice.freed if name not in spares),
        nodes_found=advice.nodes_found + number, cost=price_of(state, kept | set(spares)),
        moves_lower_bound=0, moves_lower_bound_pinned=0, left_pending={},
    )  # fmt: skip


def with_spares(
    state: ClusterState, like: Node, number: int, before: ClusterState | None = None
) -> ClusterState:
    """The state with so many nodes more that are like a node, with pods of their own as it has them
    (in a state before it was lost).
    """
    own = [
        pod for pod in (before or state).pods if pod.role is Role.RESIDENT and pod.node == like.name
    ]
    return with_copies(state, like, number, f"{like.name}-spare", own)
