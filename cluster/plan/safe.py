"""Whether nodes can be lost and workloads grow: places for the pods that lost nodes leave, and for
those that autoscalers and updates may add, while nothing else moves.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import chain

from ...instances.problem.option_types import validate_options
from ..judge.scheduler_filters import Scheduler
from ..state.kubernetes import AUTOSCALER
from ..state.state import (
    ClusterState,
    Growth,
    Health,
    Pod,
    Role,
    Selector,
    limitless,
    workload,
)
from .answer import Answer, Proved
from .costs import unpriced
from .losses import losses, settled, without
from .optimum import Say, SolveBudget
from .pending import admitted, can_arrive, vouched
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
