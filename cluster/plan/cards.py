"""Cards on nodes: which are free and in which pieces, and how many pods of a size these hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from statistics import median_low

from ..judge.scheduler_filters import Scheduler
from ..state.state import ClusterState, Pod, Role
from .answer import CardUse, Question, Slots
from .optimum import Search, SolveBudget

MIG = "nvidia.com/mig-"

SIZES = (1, 2, 4, 8)
"""Cards of the pods of which room is counted when nothing else is asked."""


def is_card(resource: str) -> bool:
    """Whether a resource counts cards, or slices of them."""
    return resource.endswith("/gpu") or resource.startswith(MIG)


def cards_of(requests: Mapping[str, int]) -> dict[str, int]:
    """The cards among what a pod requests."""
    return {name: number for name, number in requests.items() if is_card(name) and number}


def card_use(state: ClusterState) -> Iterator[CardUse]:
    """The cards of each resource, the most first."""
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


def own_shapes(state: ClusterState, cards: CardUse) -> tuple[list[dict[str, int]], str]:
    """What pods of 1, 2, 4 and 8 cards request, as far as a node has so many, and this in words: of
    CPU and memory for each card the median of the state's pods.
    """
    resource = cards.resource
    asking = [pod for pod in state.pods if pod.requests.get(resource)]
    most = max(node.allocatable.get(resource, 0) for node in state.nodes)
    each = {
        name: median_low([pod.requests.get(name, 0) // pod.requests[resource] for pod in asking])
        for name in ("cpu", "memory") if asking
    }  # fmt: skip
    asked = [
        {resource: number, "pods": 1} | {k: amount * number for k, amount in each.items() if amount}
        for number in SIZES if number <= most
    ]  # fmt: skip
    words = " and ".join(f"{readable(n, name)} {name}" for name, n in each.items()) or "nothing"
    return (
        asked,
        f"room is counted with {words} for each card, the median of the pods that have some",
    )


def with_slots(state: ClusterState, requests: Mapping[str, int], number: int) -> ClusterState:
    """The state with so many pending pods of one size, and no others: they tolerate what most pods
    of the state do that ask for cards.
    """
    usual = Counter(pod.tolerations for pod in state.pods if cards_of(pod.requests)).most_common(1)
    slot = Pod("", "", "", requests, Role.PENDING, tolerations=usual[0][0] if usual else ())
    pods = [pod for pod in state.pods if pod.role is not Role.PENDING]
    pods += [replace(slot, name=f"slot-{n}") for n in range(1, number + 1)]
    return replace(state, pods=tuple(pods))


def count_slots(
    state: ClusterState, requests: Mapping[str, int], released: Collection[str], work: SolveBudget
) -> Slots:
    """How many pods of one size fit together: while nothing moves, and at most whatever moves."""
    # 1. now, and as far as amounts allow
    one = with_slots(state, requests, 1)
    scheduler, number = Scheduler(one), len(one.pods) - 1
    now, emptied, free = 0, 0, Counter[str]()
    for node in one.nodes:
        room = {name: node.allocatable.get(name, 0) - scheduler.used[node.name][name]
                for name in requests}  # fmt: skip
        free.update({name: max(left, 0) for name, left in room.items()})
        if scheduler.takes(number, node.name, has_room=True):
            now += max(min(room[name] // asked for name, asked in requests.items()), 0)
        if not node.not_ready_reason:
            emptied += min(node.allocatable.get(name, 0) // asked
                           for name, asked in requests.items())  # fmt: skip
    for pod in one.pods:  # what is free once they are gone
        if pod.role is Role.LEAVING:
            free.update(pod.requests)
    most = max(now, min(emptied, *(free[name] // asked for name, asked in requests.items())))
    # 2. fewer, where it is proved that no moves make room for so many
    low = now
    while low < most and not (work.whole.expired or work.interrupted):
        middle = (low + most + 1) // 2
        asked = with_slots(state, requests, middle)
        search = Search(Question(asked, "moves", released, pending=True), work)
        search.relax(16, quick=True)
        low, most = (low, middle - 1) if search.bound is None else (middle, most)
    return Slots(requests, now, most)


def readable(value: int, resource: str) -> str:
    """An amount in the scheduler's unit, for people.

    Examples
    --------
    >>> readable(250, "cpu"), readable(3 * 2**29, "memory")
    ('250m', '1.5Gi')
    """
    if resource == "cpu":
        return f"{value}m" if value < 1000 else f"{value / 1000:.4g}"
    if resource == "memory":
        return f"{value / 2**20:g}Mi" if value < 2**30 else f"{value / 2**30:.1f}Gi"
    return str(value)
