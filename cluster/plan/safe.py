"""Question whether nodes can be lost: the pods on them fit on other nodes while nothing else
moves.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from ...instances.problem.option_types import validate_options
from ..judge.scheduler_filters import Scheduler
from ..state.node_types import ZONE
from ..state.state import (
    ClusterState,
    Node,
    Pod,
    Role,
    Taint,
    change_nodes,
    change_pods,
    require_label,
)
from .answer import Answer, Proved, require_kinds
from .costs import unpriced
from .optimum import Say, SolveBudget
from .pending import admitted, most_that_fit, vouched
from .plan import SECONDS

REASONS = 5
"""Pods of a loss of which it is said why no node takes them."""

_GONE = Taint("node.kubernetes.io/unreachable", "", "NoSchedule")


@validate_options
def safe(
    state: ClusterState,
    *,
    by: Sequence[str] = (),
    time_limit: float | None = SECONDS,
    released: Collection[str] = (),
    say: Say = lambda words: None,
) -> Answer:
    """Decide whether any one node, or all nodes with one value of a label, can be lost.

    What belongs to a node, and what nothing starts again, is lost with it. Nodes that are lost
    stay listed as unreachable: a spread counts them as Kubernetes does. Pods that are pending now
    are left out.

    Parameters
    ----------
    by : labels; the zone where nodes have one when none is given.
    released : kinds of `answer.RELEASED` that do not keep a pod from being placed again.
    time_limit, say : as `nodes.advise` has them; so is Ctrl-C.

    Returns
    -------
    Answer
        A step for each case: of its `pods`, `arrivals` have a place, and no more than
        `fits.bound` can have one.

    Raises
    ------
    InvalidOption
        No node has a label, or a kind to release is none.
    """
    # 1. what can be lost
    require_kinds(released)
    for label in by:
        require_label(state, "by", label)
    work, state = SolveBudget(time_limit, say), unpriced(state)
    groups = {("node", node.name): [node.name] for node in state.nodes}
    for label in by or (ZONE,):
        for node in state.nodes:
            if label in node.labels:
                groups.setdefault((label, node.labels[label]), []).append(node.name)
    # 2. places by the filters
    say("places by the filters")
    scheduler = Scheduler(state)
    cases = [_by_filters(scheduler, *key, lost, released) for key, lost in groups.items()]
    # 3. by the exact program where these leave pods
    unknown = [index for index, case in enumerate(cases) if not case.status]
    for number, index in enumerate(unknown):
        if work.interrupted or work.solving.expired:
            break
        case, share = cases[index], work.share(len(unknown) - number)
        lost = without(state, case.hosts, released)
        cases[index] = work.part(
            f"places for the pods of {case.name}",
            lambda lost=lost, case=case, share=share: _exactly(lost, case, share),  # type: ignore[misc]
            case,
        )
    return Answer(
        state=state, kind="safe", steps=tuple(cases), status=all(case.status for case in cases),
        interrupted=work.interrupted,
    )  # fmt: skip


def starts_again(pod: Pod) -> bool:
    """Return whether a pod is recreated elsewhere when its node is lost, including pods that no
    plan may move but that have an owner.
    """
    return pod.role is Role.MOVABLE or (pod.role is Role.FIXED and bool(pod.owner[1]))


def without(
    state: ClusterState, names: Collection[str], released: Collection[str] = ()
) -> ClusterState:
    """Copy a state without the lost nodes: only their pods that are recreated are pending."""

    def waits(pod: Pod) -> Pod:
        if pod.role is not Role.PENDING and not (pod.placed and pod.node in names):
            return pod
        return replace(pod, role=Role.PENDING if starts_again(pod) else Role.FINISHED, node="")

    def gone(node: Node) -> Node:
        if node.name not in names:
            return node
        return replace(node, not_ready_reason="not ready", taints=(*node.taints, _GONE))

    return vouched(change_nodes(change_pods(state, waits), gone), released)


def _by_filters(
    scheduler: Scheduler, kind: str, name: str, lost: Sequence[str], released: Collection[str]
) -> Answer:
    """Place the pods of lost nodes greedily by the scheduler's filters, the largest first."""
    state, gone = scheduler.state, set(lost)
    there = [n for each in lost for n in sorted(scheduler.on[each])]
    pods = tuple(n for n in there if starts_again(state.pods[n]))
    arrivals: dict[int, str] = {}
    # fewer domains that count may break a minDomains: a scheduler of the lost state is asked then
    narrow = any(s.honor_taints and s.domains > 1 for pod in state.pods for s in pod.spread)
    if pods and not narrow:
        free = [n for n in pods if all(why in released for why, _ in state.pods[n].undecided)]
        free.sort(key=lambda n: -max(state.pods[n].requests.values(), default=0))
        old = {n: scheduler.where[n] for n in there}
        for n in there:
            scheduler.evict(n)
        arrivals = admitted(scheduler, free, [k for k in scheduler.nodes if k not in gone])
        for n in arrivals:
            scheduler.evict(n)
        for n, node in old.items():
            scheduler.arrive(n, node)
    return Answer(
        state=state, kind=kind, name=name, hosts=tuple(lost), pods=pods, arrivals=arrivals,
        fits=Proved(len(arrivals), len(pods)), status=len(arrivals) == len(pods) or None,
    )  # fmt: skip


def _exactly(lost: ClusterState, case: Answer, seconds: float | None) -> Answer:
    """Find the maximum number of the lost pods that fit on the remaining nodes; status False if
    proved that not all fit, None if not known.
    """
    fitting, most = most_that_fit(lost, seconds, later=True)
    arrivals, scheduler = max(fitting, case.arrivals, key=len), Scheduler(lost)
    for n, name in arrivals.items():
        scheduler.arrive(n, name)
    names = [name for name in scheduler.nodes if name not in case.hosts]
    reasons: dict[int, tuple[str, ...]] = {}
    for n in [n for n in case.pods if n not in arrivals][:REASONS]:
        undecided = [words for _, words in lost.pods[n].undecided]
        refused = sorted({words for name in names for words in scheduler.refusals(n, name)})
        reasons[n] = tuple(undecided or refused)
    number = len(case.pods)
    status = True if len(arrivals) == number else None if most == number else False
    return replace(case, arrivals=arrivals, fits=Proved(len(arrivals), most), status=status,
                   why_not=reasons)  # fmt: skip
