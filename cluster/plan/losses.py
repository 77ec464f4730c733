"""Whether nodes can be lost: places for their pods on the others, while nothing else moves."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from ...instances.problem.errors import InvalidOption
from ..judge.scheduler_filters import Scheduler
from ..state.node_types import ZONE, with_spares
from ..state.state import ClusterState, Node, Pod, Role, Taint, change_nodes, change_pods
from .answer import Answer, Proved, require_kinds
from .costs import unpriced
from .optimum import Say, SolveBudget
from .pending import admitted, can_arrive, most_that_fit, vouched
from .plan import SECONDS

REASONS = 5
"""Pods of a loss of which it is said why no node takes them."""
_GONE = Taint("node.kubernetes.io/unreachable", "", "NoSchedule")


def losses(
    state: ClusterState,
    *,
    by: Sequence[str] = (),
    nodes_only: bool = False,
    time_limit: float | None = SECONDS,
    released: Collection[str] = (),
    say: Say = lambda words: None,
) -> list[Answer]:
    """Of every node that holds pods, and of every group of nodes with one value of a label, whether
    all its pods can be placed again on the others while nothing else moves; see `safe.safe`.

    What belongs to a node, and what nothing starts again, is lost with it. Nodes that are lost
    stay listed as unreachable: a spread counts them as Kubernetes does. Pods that are pending now
    are left out.

    Parameters
    ----------
    nodes_only : whether single nodes alone are asked about.

    Raises
    ------
    InvalidOption
        No node has a label, or a kind to release is none.
    """
    # 1. what can be lost
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
    for label in by or (() if nodes_only else {ZONE} & known):
        for node in state.nodes:
            if label in node.labels:
                groups.setdefault((label, node.labels[label]), []).append(node.name)
    # 2. places by the filters, then by the exact program where these leave pods
    say("places by the filters")
    found = _greedily(state, groups, released)
    return settled(found, work, lambda loss: without(state, loss.hosts, released))


def judged(case: Answer) -> Answer:
    """A case with its status: all of its pods have places, not all can (proved), or not known."""
    number, most = len(case.pods) + case.more, case.fits.bound
    status = None if most == number else False
    return replace(case, fits=Proved(len(case.arrivals), most),
                   status=len(case.arrivals) == number or status)  # fmt: skip


def left_of(case: Answer) -> tuple[int, ...]:
    """The pods of a case that have no place."""
    return tuple(n for n in case.pods if n not in case.arrivals)


def settled(
    found: Sequence[Answer], work: SolveBudget, asked: Callable[[Answer], ClusterState]
) -> list[Answer]:
    """The cases, those that the filters leave open by the exact program; `asked`: the state where
    the pods of one, and no others, are pending.
    """
    cases = [judged(one) for one in found]
    open_ones = [place for place, loss in enumerate(cases) if loss.status is not True]
    # what is neither proved nor refuted is worth the time first
    open_ones.sort(key=lambda place: cases[place].status is not None)
    for number, place in enumerate(open_ones):
        if work.interrupted or work.solving.expired:
            break
        loss, share = cases[place], work.share(len(open_ones) - number)
        cases[place] = work.part(
            f"places for the pods of {loss.name}",
            lambda loss=loss, share=share: _exactly(asked(loss), loss, share),  # type: ignore[misc]
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
) -> list[Answer]:
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
    found: list[Answer] = []
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
        found.append(Answer(state=state, kind=kind, name=name, hosts=tuple(lost), pods=pods,
                            arrivals=arrivals, fits=Proved(0, most)))  # fmt: skip
    return found


def _closed(scheduler: Scheduler, number: int, names: Sequence[str]) -> bool:
    """Whether every node refuses a pod for what further pods do not change."""
    passing = {"spread", "affinity"}
    return all(set(scheduler.refusals(number, name)) - passing for name in names)


def _exactly(lost: ClusterState, loss: Answer, seconds: float | None) -> Answer:
    """The case with the most pods that fit, why others do not, and what would be enough."""
    fitting, most = most_that_fit(lost, seconds, later=True)
    arrivals = max(fitting, loss.arrivals, key=len)
    most = min(most, loss.fits.bound)
    loss = judged(replace(loss, arrivals=arrivals, fits=Proved(0, most)))
    if loss.status:
        return loss
    scheduler = Scheduler(lost)
    for n, name in arrivals.items():
        scheduler.arrive(n, name)
    reasons: dict[int, tuple[str, ...]] = {}
    for n in left_of(loss)[:REASONS]:
        whys = [words for _, words in lost.pods[n].undecided]
        names = [name for name in scheduler.nodes if name not in loss.hosts]
        tally = sorted({words for name in names for words in scheduler.refusals(n, name)})
        reasons[n] = tuple(whys or tally)
    return replace(loss, why_not=reasons, bought=_enough(lost, loss))


def _enough(lost: ClusterState, loss: Answer) -> dict[str, int]:
    """How many nodes more take the pods that are left, by the filters, and which they are like: the
    lost node, or the largest that stays.
    """
    own = [node for node in loss.state.nodes if node.name in loss.hosts]
    ready = [node for node in lost.nodes if not node.not_ready_reason and node.can_be_drained]
    among = own if loss.kind == "node" or not ready else ready
    if not among or loss.more:
        return {}
    left = set(left_of(loss))
    like = max(among, key=lambda node: max(node.allocatable.values(), default=0))
    more = with_spares(lost, like, min(len(left), 2 * len(loss.hosts or ready)), loss.state)
    names = [node.name for node in more.nodes[len(lost.nodes) :]]
    scheduler = Scheduler(more, more.where | dict(loss.arrivals))
    coming = admitted(scheduler, [n for n in can_arrive(more) if n in left], names)
    return {like.name: len(set(coming.values()))} if len(coming) == len(left) else {}
