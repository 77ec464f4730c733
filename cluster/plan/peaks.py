"""Whether workloads can grow: places for the pods that autoscalers and updates may add, while
nothing else moves.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
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
from .costs import unpriced
from .pending import admitted, can_arrive, vouched
from .plan import SECONDS, require_kinds
from .safety import Loss, settled, without
from .solve_budget import Say, SolveBudget

TOGETHER = "all HPAs at once"
_HASH = "pod-template-hash"
_OWN_LABELS = {"apps.kubernetes.io/pod-index", "statefulset.kubernetes.io/pod-name"}


@dataclass(frozen=True)
class Peaks:
    """What is known of the pods that autoscalers and updates may add.

    Attributes
    ----------
    state : the state with all of them pending, and no others.
    found : for each autoscaler, for all of them together, and for the update of each Deployment.
    not_judged : of the others, why nothing is said of them.
    """

    state: ClusterState
    found: tuple[Loss, ...]
    not_judged: Mapping[Growth, str]


@validate_options
def peaks(
    state: ClusterState,
    *,
    time_limit: float | None = SECONDS,
    released: Collection[str] = (),
    say: Say = lambda words: None,
) -> Peaks:
    """Whether the pods that autoscalers add up to their maximum, each and all together, and those
    of one Deployment's surge have places while nothing else moves.

    A new pod is like those of its workload that run. Those that are pending now are among the new
    ones; pending pods of others are left out.

    Parameters
    ----------
    released : kinds of `to_packing.RELEASED` that do not keep a pod from being placed.
    """
    require_kinds(released)
    work = SolveBudget(time_limit, say)
    found = _grown(without(unpriced(state), ()))
    state, losses = vouched(found.state, released), list(found.found)
    scheduler, names = Scheduler(state), [node.name for node in state.nodes]
    order = {n: place for place, n in enumerate(can_arrive(state))}
    for place, loss in enumerate(losses):
        pods = sorted(order.keys() & loss.pods, key=order.__getitem__)
        arrivals = admitted(scheduler, pods, names)
        for n in arrivals:
            scheduler.evict(n)
        losses[place] = replace(loss, arrivals=arrivals)
    losses = settled(state, losses, work, lambda loss: alone(state, loss))
    return Peaks(state, tuple(losses), found.not_judged)


def _grown(state: ClusterState) -> Peaks:
    """The state with the pods that may be added, of which nothing is known yet."""
    running: dict[tuple[str, tuple[str, str]], list[Pod]] = {}
    for pod in state.pods:
        if pod.role in (Role.MOVABLE, Role.FIXED):
            for owner in {workload(pod), pod.owner}:
                running.setdefault((pod.namespace, owner), []).append(pod)
    taken = sum(pod.placed and pod.role is not Role.LEAVING for pod in state.pods)
    room = max(0, sum(node.allocatable.get("pods", 0) for node in state.nodes) - taken)
    pods, losses, not_judged = list(state.pods), list[Loss](), dict[Growth, str]()
    highest: dict[object, Loss] = {}  # of several autoscalers of one workload
    for growth in state.growths:
        key = growth.namespace, growth.workload
        now = running.get(key, [])
        further = [_further(pod, growth) for pod in now]
        if growth.most and (not now or any(pod != further[0] for pod in further)):
            why = f"the pods of {growth.workload[1]} differ" if now else "no pod of it runs"
            not_judged[growth] = why
            continue
        asked, begin = max(0, growth.most - len(now)), len(pods)
        listed = min(asked, room + 1)  # one too many cannot be placed, nor can more
        pods += [replace(further[0], name=f"{growth.name}-more-{k + 1}") for k in range(listed)]
        numbers = tuple(range(begin, len(pods)))
        most, more = min(asked, room), asked - listed
        losses.append(loss := Loss(growth.kind, growth.title, (), numbers, {}, most, more=more))
        if growth.kind == AUTOSCALER:
            highest[key] = max(loss, highest.get(key, loss), key=lambda one: len(one.pods))
    if len(highest) > 1:
        numbers = tuple(chain.from_iterable(loss.pods for loss in highest.values()))
        more = sum(loss.more for loss in highest.values())
        most = min(len(numbers) + more, room)
        losses.append(Loss(AUTOSCALER, TOGETHER, (), numbers, {}, most, more=more))
    losses.sort(key=lambda loss: (loss.kind != AUTOSCALER, -len(loss.pods) - loss.more))
    return Peaks(replace(state, pods=tuple(pods)), tuple(losses), not_judged)


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


def alone(state: ClusterState, loss: Loss) -> ClusterState:
    """The state where only the further pods of one case are pending."""
    own = set(loss.pods)
    pods = (
        replace(pod, role=Role.FINISHED) if pod.role is Role.PENDING and n not in own else pod
        for n, pod in enumerate(state.pods)
    )
    return replace(state, pods=tuple(pods))
