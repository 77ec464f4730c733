"""Cards on nodes: which are free and in which pieces, and how many pods of a size these hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from statistics import median_low

from ..judge.scheduler_filters import Scheduler
from ..state.gpu_shares import whole_cards
from ..state.state import CARD, CARDS, PARTS, SHARES, ClusterState, Pod, Role
from ..state.usage import readable
from .answer import CardUse, Proved, Question, Slots
from .optimum import Search, SolveBudget
from .pending import vouched
from .plan import plan_answer

MIG = "nvidia.com/mig-"

SIZES = (1, 2, 4, 8)
"""Cards of the pods of which room is counted when nothing else is asked."""

TRIES = 4
"""Numbers of pods for which moves are looked for."""


def is_card(resource: str) -> bool:
    """Whether a resource counts cards, or slices of them."""
    return resource.endswith("/gpu") or resource.startswith(MIG) or resource == CARDS


def cards_of(requests: Mapping[str, int]) -> dict[str, int]:
    """The cards among what a pod requests; those that it has whole, where pods share others."""
    found = {name: number for name, number in requests.items() if is_card(name) and number}
    if CARDS in found:
        found.pop(CARD, None)
    return found


def card_use(state: ClusterState) -> Iterator[CardUse]:
    """The cards of each resource, the most first."""
    scheduler = Scheduler(state)
    total = Counter[str]()
    for node in state.nodes:
        total.update({name: n for name, n in node.allocatable.items() if is_card(name) and n})
    shared = CARDS in total
    for resource, number in total.most_common():
        if shared and resource == CARD:
            continue  # it counts shares too: the whole cards stand beside it
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
    resource = CARD if cards.resource == CARDS else cards.resource
    asking = [pod for pod in state.pods if pod.requests.get(resource)]
    most = max(node.allocatable.get(cards.resource, 0) for node in state.nodes)
    each = {
        name: median_low([pod.requests.get(name, 0) // pod.requests[resource] for pod in asking])
        for name in ("cpu", "memory") if asking
    }  # fmt: skip
    known = [resource, cards.resource, *[PARTS] * any(PARTS in n.allocatable for n in state.nodes)]
    asked = [
        whole_cards({resource: number, "pods": 1}
                    | {name: amount * number for name, amount in each.items() if amount}, known)
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
    asking = [pod for pod in state.pods if any(is_card(k) and n for k, n in pod.requests.items())]
    usual = Counter(pod.tolerations for pod in asking).most_common(1)
    tolerations = usual[0][0] if usual else ()
    pods = [pod for pod in state.pods if pod.role is not Role.PENDING]
    pods += [
        Pod("", f"slot-{n}", "", requests, Role.PENDING, tolerations=tolerations)
        for n in range(1, number + 1)
    ]
    return replace(state, pods=tuple(pods))


def count_slots(
    state: ClusterState,
    requests: Mapping[str, int],
    moves: int,
    released: Collection[str],
    work: SolveBudget,
) -> Slots:
    """How many pods of one size fit together: now, after so many moves, and whatever moves."""
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
    for pod in one.pods:  # what is free once they are gone, or share other cards
        if pod.role is Role.LEAVING or any(k == SHARES for k, _ in pod.unsupported_constraints):
            free.update(pod.requests)
    most = max(now, min(emptied, *(free[name] // asked for name, asked in requests.items())))

    def least(number: int) -> int | None:
        """A bound on the moves after which so many fit; None where no moves do."""
        if work.whole.expired or work.interrupted:
            return 0
        question = Question(with_slots(state, requests, number), "moves", released, pending=True)
        search = Search(question, work)
        search.relax(16, quick=True)
        return search.bound

    most = _last(now, most, lambda number: least(number) is not None)
    most_after = _last(now, most, lambda number: (least(number) or 0) <= moves)
    after, beyond = now, most_after
    for attempt in range(TRIES):
        if beyond <= after or work.interrupted or work.whole.expired:
            break
        tried = beyond if not attempt else (after + beyond + 1) // 2
        if _fit_after(with_slots(state, requests, tried), moves, released, work):
            after = tried
        else:
            beyond = tried - 1
    return Slots(requests, now, moves, Proved(after, most_after, most_after), most)


def _last(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """The largest number for which something holds that holds for `low`, and for no number above
    one for which it does not.
    """
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if holds(middle) else (low, middle - 1)
    return high


def _fit_after(
    state: ClusterState, moves: int, released: Collection[str], work: SolveBudget
) -> bool:
    """Whether all pending pods fit after so many moves at most, in an order that was found."""
    question = Question(vouched(state, released), "moves", released, pending=True)
    search = Search(question, work)
    search.search(2)
    if search.best is None or (search.best.value or 0) > moves:
        return False
    plan = plan_answer(question, search.best, work)
    return not (plan.order.stuck or plan.waiting)
