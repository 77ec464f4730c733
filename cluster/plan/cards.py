"""GPUs on nodes: how many are free and in which pieces, and the gangs of pending pods that request
some.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from ...instances.problem.errors import InvalidOption
from ..judge.scheduler_filters import Scheduler
from ..state.state import ClusterState, Pod, Role
from .answer import CardUse

MIG = "nvidia.com/mig-"


def is_card(resource: str) -> bool:
    """Return whether a resource counts GPUs or slices of GPUs."""
    return resource.endswith("/gpu") or resource.startswith(MIG)


def cards_of(requests: Mapping[str, int]) -> dict[str, int]:
    """The GPU resources among the requests of a pod."""
    return {name: number for name, number in requests.items() if is_card(name) and number}


def card_use(state: ClusterState) -> Iterator[CardUse]:
    """Use of each GPU resource of a state, the most used first."""
    scheduler = Scheduler(state)
    total = Counter[str]()
    for node in state.nodes:
        total.update(cards_of(node.allocatable))
    for resource, number in total.most_common():
        pieces, closed, used = Counter[int](), 0, 0
        for node in state.nodes:
            here = scheduler.used[node.name][resource]
            free = max(node.allocatable.get(resource, 0) - here, 0)
            used += here
            if node.not_ready_reason or any("unschedulable" in t.key for t in node.taints):
                closed += free
            elif node.allocatable.get(resource):
                pieces[free] += 1
        yield CardUse(resource, number, used, dict(sorted(pieces.items())), closed)


def cards_together(pods: Iterable[Pod]) -> Counter[str]:
    """Total GPU requests of some pods, by resource."""
    asked = Counter[str]()
    for pod in pods:
        asked.update(cards_of(pod.requests))
    return asked


def pending_gangs(state: ClusterState) -> dict[str, tuple[int, ...]]:
    """Pending pods that request GPUs, by gang; a pod without a gang is one of its own, and of equal
    pods of one owner only the first is listed.

    Returns
    -------
    dict
        The gang's namespace and name -> places of its pods in the state.
    """
    found: dict[str, list[int]] = {}
    alike: set[object] = set()
    for number, pod in enumerate(state.pods):
        if pod.role is not Role.PENDING:
            continue
        if pod.gang:
            found.setdefault(f"{pod.namespace}/{pod.gang}", []).append(number)
            continue
        same = pod.owner[1] and (pod.namespace, pod.owner, frozenset(pod.requests.items()))
        if not same or same not in alike:
            found[pod.title] = [number]
        alike.add(same)
    return {
        name: tuple(numbers)
        for name, numbers in found.items()
        if any(cards_of(state.pods[n].requests) for n in numbers)
    }


def chosen_gangs(state: ClusterState, gang: str | None) -> dict[str, tuple[int, ...]]:
    """Gangs that the option `gang` selects, with their pending pods.

    Raises
    ------
    InvalidOption
        None is of that name.
    """
    waiting = pending_gangs(state)
    if gang is None:
        return waiting
    if gang in waiting:
        return {gang: waiting[gang]}
    label, equals, value = gang.partition("=")
    pods = tuple(
        n for n, pod in enumerate(state.pods)
        if pod.role is Role.PENDING and equals and pod.labels.get(label) == value
    )  # fmt: skip
    if not pods:
        raise InvalidOption(
            f"gang is {gang!r}, which no pending pod is of; expected LABEL=VALUE or one of "
            f"{', '.join(waiting) or 'none, as no pod that asks for cards is pending'}"
        )
    return {gang: pods}
