"""Pending pods: the nodes on which they fit while nothing moves, and the reasons of the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import fields, replace

from ...instances.problem.errors import InvalidInstance
from ..judge.scheduler_filters import Scheduler, too_little
from ..state.completeness import SHARED
from ..state.constraints import Constraints
from ..state.state import CARD, SHARES, ClusterState, Pod, Role, change_pods, limitless
from .answer import Question
from .optimum import as_it_is, least_cost, targets_of
from .to_packing import translate

_DECIDED = [each.name for each in fields(Constraints) if each.name != "unsupported_constraints"]
"""Constraints of which the filters decide."""

_FILTERED = {"volumes", "namespaces", "anti-affinity", "resource claims"}
"""Kinds of constraints beside which what the filters refuse is refused."""


def admitted(
    scheduler: Scheduler, pods: Iterable[int], nodes: Sequence[str] | Mapping[int, str]
) -> dict[int, str]:
    """Place pods greedily, each on the first node that takes it, and repeat until no further pod
    finds a node; return the pods placed and their nodes, in the order in which all filters passed.
    The scheduler's state then includes them.

    Parameters
    ----------
    nodes : those to try; or by pod the only one.
    """
    arrivals: dict[int, str] = {}
    left, state = list(pods), scheduler.state
    shut: dict[object, set[str]] = {}  # nodes that refused a pod of a kind: they only fill up
    while True:
        before = len(arrivals)
        for number in left:
            pod = state.pods[number]
            again = bool(pod.spread or pod.pod_affinity)
            closed = set() if again else shut.setdefault(_alike(pod), set())
            for name in [nodes[number]] if isinstance(nodes, Mapping) else nodes:
                if name in closed:
                    continue
                if scheduler.takes(number, name):
                    scheduler.arrive(number, name)
                    arrivals[number] = name
                    break
                closed.add(name)
        left = [number for number in left if number not in arrivals]
        if not left or len(arrivals) == before:
            return arrivals


def tally(refusals: Iterable[Collection[str]]) -> dict[str, int]:
    """Number of nodes by reason of refusal, the most frequent first."""
    counts = Counter(why for reasons in refusals for why in sorted({*reasons}))
    return dict(counts.most_common())


def refused_by(
    scheduler: Scheduler, pods: Iterable[int], nodes: Collection[str] | None = None
) -> dict[int, dict[str, int]]:
    """For each pod, the number of nodes that refuse it by reason, the most frequent first."""
    names = [*(scheduler.nodes if nodes is None else nodes)]
    return {n: tally(scheduler.refusals(n, name) for name in names) for n in pods}


def why_refused(scheduler: Scheduler, pods: Iterable[int]) -> dict[int, dict[str, int]]:
    """For each pod without a node, the number of nodes that refuse it by reason, and the
    constraints that the filters do not decide.
    """
    none, equal = [] if scheduler.nodes else ["no type takes it"], dict[object, dict[str, int]]()
    found = {}
    for n in pods:
        pod = scheduler.state.pods[n]
        if (key := _alike(pod)) not in equal:
            words = dict.fromkeys([words for _, words in pod.undecided] + none)
            every = dict.fromkeys(words, len(scheduler.nodes))
            equal[key] = every | refused_by(scheduler, [n])[n]
        found[n] = equal[key]
    return found


def can_arrive(state: ClusterState) -> list[int]:
    """Pending pods all of whose constraints the filters decide, the largest first."""
    pods = [n for n, pod in enumerate(state.pods) if pod.schedulable and not pod.undecided]
    return sorted(pods, key=lambda n: -max(state.pods[n].requests.values(), default=0))


def most_that_fit(
    state: ClusterState, seconds: float | None = None, *, later: bool = False
) -> tuple[dict[int, str], int]:
    """Find the maximum number of pending pods that fit together while nothing moves, each with its
    node in an order that passes the filters, and a proved upper bound on that number.

    The scheduler's own filters place them first; where they leave some, the packing program does,
    and its bound and the filters' refusals say how many can be placed at most: now, or also once
    pods that are being deleted are gone (`later`).
    """
    names = [node.name for node in state.nodes]
    pending = [n for n, pod in enumerate(state.pods) if pod.schedulable]
    arrivals = admitted(Scheduler(state), can_arrive(state), names)
    nowhere = _surely_nowhere(state, [n for n in pending if n not in arrivals], pending, later)
    if len(arrivals) == len(pending) - nowhere:
        return arrivals, len(arrivals)
    still = standing_still(state)
    try:
        relaxed = translate(Question(still, pending=True), for_bound=True)
        plan = translate(Question(still, pending=True))
    except InvalidInstance:  # a pod that asks for nothing of anything
        return arrivals, len(pending) - nowhere
    share = None if seconds is None else seconds / 2
    waiting = least_cost(relaxed, as_it_is(relaxed), share).bound // relaxed.costs.waiting
    answer = least_cost(plan, as_it_is(plan), share)
    if answer.count is not None:
        targets = targets_of(still, plan, answer.count)
        scheduler = Scheduler(state)
        better = admitted(scheduler, targets, targets)
        rest = [n for n in can_arrive(state) if n not in better]
        better |= admitted(scheduler, rest, names)
        arrivals = max(better, arrivals, key=len)
    return arrivals, len(pending) - max(waiting, nowhere)


def _surely_nowhere(
    state: ClusterState, some: Sequence[int], pending: Sequence[int], later: bool
) -> int:
    """Number of pending pods that every node refuses for a certain reason that no other pending pod
    can remove.
    """
    # 1. Reasons to refuse a pod that may be wrong: on every node, and on single nodes.
    uncertain = {"spread", "affinity"} if len(pending) > 1 else set[str]()
    uncertain_on = {node.name: {node.unknown_reason, *map(too_little, node.unsure)}
                    for node in state.nodes}  # fmt: skip
    scheduler = Scheduler(state)
    for number, pod in enumerate(state.pods):
        if any(
            each.has_unsupported_selector for each in (*pod.pod_anti_affinity, *pod.pod_affinity)
        ):
            uncertain |= {"affinity", "anti-affinity"}
        if pod.placed:  # shared volumes and cards count twice
            uncertain_on[pod.node] |= _counted_in_doubt(pod)
        if later and pod.role is Role.LEAVING:
            scheduler.evict(number)
    # 2. Pods that every node refuses for at least one other, certain reason; equal pods once.
    refused = dict[object, bool]()
    for number in some:
        pod = state.pods[number]
        key = _alike(pod)
        if key not in refused:
            own = uncertain | _counted_in_doubt(pod)
            # constraints of other kinds may mean that the filters are not asked at all
            refused[key] = _FILTERED.issuperset(kind for kind, _ in pod.undecided) and not any(
                (own | reasons).issuperset(scheduler.refusals(number, name))
                for name, reasons in uncertain_on.items()
            )
    return sum(refused[_alike(state.pods[number])] for number in some)


def _counted_in_doubt(pod: Pod) -> set[str]:
    """Reasons to refuse a pod that may be wrong because the pod may request less than was read."""
    unread = pod.unsupported_constraints
    volumes = (name for name in pod.requests if limitless(name) and ("volumes", SHARED) in unread)
    cards = [CARD] * any(kind == SHARES for kind, _ in unread)
    return {*map(too_little, volumes), *map(too_little, cards)}


def _alike(pod: Pod) -> object:
    """Key that is equal for pods which the filters do not distinguish."""
    rules = (getattr(pod, name) for name in _DECIDED)
    return (pod.namespace, frozenset(pod.labels.items()), frozenset(pod.requests.items()),
            pod.undecided, *rules)  # fmt: skip


def standing_still(state: ClusterState) -> ClusterState:
    """Copy a state in which every placed pod is a resident that cannot move."""

    def still(pod: Pod) -> Pod:
        stays = pod.placed and pod.role is not Role.LEAVING
        return replace(pod, role=Role.RESIDENT) if stays else pod

    return change_pods(state, still)


def vouched(state: ClusterState, released: Collection[str]) -> ClusterState:
    """Copy a state without the released kinds of constraints of its pending pods."""

    def free(pod: Pod) -> Pod:
        left = tuple(each for each in pod.unsupported_constraints if each[0] not in released)
        return replace(pod, unsupported_constraints=left) if pod.role is Role.PENDING else pod

    return change_pods(state, free) if released else state
