"""Whether nodes can be lost and workloads grow: places for the pods that lost nodes leave, and for
those that autoscalers and updates may add, while nothing else moves; and plans that keep such room.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import chain
from math import floor

from ...instances.problem.errors import InvalidOption, NoSolution
from ...instances.problem.option_types import validate_options
from ...solvers.outcome import Clock
from ..judge.scheduler_filters import Scheduler
from ..state.constraints import Selector
from ..state.kubernetes import AUTOSCALER
from ..state.node_types import ZONE, with_spares
from ..state.state import (
    ClusterState,
    Growth,
    Health,
    Node,
    Pod,
    Role,
    StateWarning,
    Taint,
    change_nodes,
    change_pods,
    limitless,
    workload,
)
from .answer import Answer, Proved, require_kinds
from .costs import price_of, unpriced
from .optimum import Say, SolveBudget
from .pending import admitted, can_arrive, most_that_fit, vouched
from .plan import SECONDS

TOGETHER = "all HPAs at once"
_HASH = "pod-template-hash"
_OWN_LABELS = {"apps.kubernetes.io/pod-index", "statefulset.kubernetes.io/pod-name"}


@validate_options
def safe(
    state: ClusterState,
    *,
    by: Sequence[str] = (),
    time_limit: float | None = SECONDS,
    released: Collection[str] = (),
    say: Say = lambda words: None,
) -> Answer:
    """Whether any one node, or all with one value of a label, can be lost, and workloads can grow.

    Parameters
    ----------
    by : labels; the zone where nodes have one when none is given.
    released : kinds of `answer.RELEASED` that do not keep a pod from being placed again.

    Returns
    -------
    Answer
        A step for each case: of its `pods`, `arrivals` have a place.

    Raises
    ------
    InvalidOption
        No node has a label, or a kind to release is none.
    """
    if state.growths and time_limit is not None:
        time_limit /= 2
    cases = losses(state, by=by, time_limit=time_limit, released=released, say=say)
    cases += growths(state, time_limit=time_limit, released=released, say=say)
    sure = all(case.status for case in cases)
    return Answer(state=state, kind="safe", steps=tuple(cases), status=sure)


@validate_options
def growths(
    state: ClusterState,
    *,
    time_limit: float | None = SECONDS,
    released: Collection[str] = (),
    say: Say = lambda words: None,
) -> list[Answer]:
    """Whether the pods that autoscalers add up to their maximum, each and all together, and those
    of one Deployment's surge have places while nothing else moves.

    A new pod is like those of its workload that run. Those that are pending now are among the new
    ones; pending pods of others are left out. A case that is not judged has the `reason`.

    Parameters
    ----------
    released : kinds of `answer.RELEASED` that do not keep a pod from being placed.
    """
    work = SolveBudget(time_limit, say)
    cases, unjudged = _grown(without(unpriced(state), ()), released)
    if cases:
        scheduler, names = Scheduler(state := cases[0].state), [node.name for node in state.nodes]
        order = {n: place for place, n in enumerate(can_arrive(state))}
        for place, case in enumerate(cases):
            pods = sorted(order.keys() & case.pods, key=order.__getitem__)
            arrivals = admitted(scheduler, pods, names)
            for n in arrivals:
                scheduler.evict(n)
            cases[place] = replace(case, arrivals=arrivals)
    return settled(cases, work, alone) + unjudged


def _grown(state: ClusterState, released: Collection[str]) -> tuple[list[Answer], list[Answer]]:
    """The cases, of the state with all pods that may be added, of which nothing is known yet; and
    those of which nothing is said.
    """
    running: dict[tuple[str, tuple[str, str]], list[Pod]] = {}
    for pod in state.pods:
        if pod.role in (Role.MOVABLE, Role.FIXED):
            for owner in {workload(pod), pod.owner}:
                running.setdefault((pod.namespace, owner), []).append(pod)
    taken = sum(pod.placed and pod.role is not Role.LEAVING for pod in state.pods)
    room = max(0, sum(node.allocatable.get("pods", 0) for node in state.nodes) - taken)
    pods, cases, unjudged = list(state.pods), list[Answer](), list[Answer]()
    highest: dict[object, Answer] = {}  # of several autoscalers of one workload
    for growth in state.growths:
        key = growth.namespace, growth.workload
        now = running.get(key, [])
        further = [_further(pod, growth) for pod in now]
        case = Answer(state=state, kind=growth.kind, name=growth.title, status=None)
        if growth.most and (not now or any(pod != further[0] for pod in further)):
            why = f"the pods of {growth.workload[1]} differ" if now else "no pod of it runs"
            unjudged.append(replace(case, reason=why))
            continue
        asked, begin = max(0, growth.most - len(now)), len(pods)
        listed = min(asked, room + 1)  # one too many cannot be placed, nor can more
        pods += [replace(further[0], name=f"{growth.name}-more-{k + 1}") for k in range(listed)]
        case = replace(case, pods=tuple(range(begin, len(pods))), more=asked - listed,
                       fits=Proved(0, min(asked, room)))  # fmt: skip
        cases.append(case)
        if growth.kind == AUTOSCALER:
            highest[key] = max(case, highest.get(key, case), key=lambda one: len(one.pods))
    if len(highest) > 1:
        numbers = tuple(chain.from_iterable(case.pods for case in highest.values()))
        more = sum(case.more for case in highest.values())
        most = Proved(0, min(len(numbers) + more, room))
        cases.append(
            Answer(state=state, kind=AUTOSCALER, name=TOGETHER, pods=numbers, fits=most, more=more)
        )
    cases.sort(key=lambda case: (case.kind != AUTOSCALER, -len(case.pods) - case.more))
    state = vouched(replace(state, pods=tuple(pods)), released)
    return [replace(case, state=state) for case in cases], unjudged


def _further(pod: Pod, growth: Growth) -> Pod:
    """One more pod like one that runs: of an update with a new template's hash, and of volumes it
    is not known where they will be.
    """
    old = pod.labels.get(_HASH, "")
    new = "new" if growth.kind == "Deployment" and old else old

    def renewed(selector: Selector) -> Selector:
        return selector and tuple(
            replace(each, values=(new,)) if (each.key, each.values) == (_HASH, (old,)) else each
            for each in selector
        )

    unread = [each for each in pod.unsupported_constraints if each[0] != "volumes"]
    bound = len(unread) < len(pod.unsupported_constraints) or any(map(limitless, pod.requests))
    if bound or pod.volume_node_affinity:
        unread.append(("volumes", "volumes of new pods are not known"))
    stateful = growth.workload[0] == "StatefulSet"
    labels = {key: text for key, text in pod.labels.items() if key not in _OWN_LABELS}
    return replace(
        pod, name="", node="", role=Role.PENDING, reason="", health=Health.READY,
        owner=growth.workload, labels=labels | ({_HASH: new} if old else {}),
        volume_node_affinity=() if stateful else pod.volume_node_affinity,
        spread=tuple(replace(each, selector=renewed(each.selector)) for each in pod.spread),
        pod_anti_affinity=tuple(
            replace(each, selector=renewed(each.selector)) for each in pod.pod_anti_affinity
        ),
        unsupported_constraints=tuple(unread),
    )  # fmt: skip


def alone(case: Answer) -> ClusterState:
    """The state where only the further pods of one case are pending."""
    own = set(case.pods)
    pods = (
        replace(pod, role=Role.FINISHED) if pod.role is Role.PENDING and n not in own else pod
        for n, pod in enumerate(case.state.pods)
    )
    return replace(case.state, pods=tuple(pods))


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
