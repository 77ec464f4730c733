"""Cards of a cluster: where they are free and in which pieces, how many pods of a size they hold,
and the fewest moves that admit a gang, all of it or none, or a proof that no moves do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from statistics import median_low
from typing import Any

from ..instances.problem.errors import InvalidInstance, InvalidOption
from ..instances.problem.option_types import validate_options
from .costs import unpriced
from .gangs import pending_gangs
from .gpu_shares import whole_cards
from .optimum import Found, fewest_moves, room_needed
from .pending import vouched
from .placing import with_waiting
from .plan import SECONDS, Advice, fewest, plan_advice, plans_of, require_kinds
from .quantities import readable
from .scheduler_filters import Scheduler
from .solve_budget import Say, SolveBudget
from .state import (
    CARD,
    CARDS,
    GATES,
    NOMINATED,
    PARTS,
    SCHEDULER,
    SHARES,
    TOPOLOGY,
    ClusterState,
    Expression,
    NodeTerm,
    Pod,
    Role,
    StateWarning,
    change_pods,
)
from .to_packing import Translation, translate

MIG = "nvidia.com/mig-"

LIFTED = (GATES, NOMINATED, SCHEDULER, TOPOLOGY)
"""Kinds of what keeps a pod of a gang from being placed that is what the question is about: who
admits it, and where all of it is to be.
"""

SIZES = (1, 2, 4, 8)
"""Cards of the pods of which room is counted when nothing else is asked."""

FEW_TRIES = 4


def is_card(resource: str) -> bool:
    """Whether a resource counts cards, or slices of them."""
    return resource.endswith("/gpu") or resource.startswith(MIG) or resource == CARDS


def cards_of(requests: Mapping[str, int]) -> dict[str, int]:
    """The cards among what a pod requests; those that it has whole, where pods share others."""
    found = {name: number for name, number in requests.items() if is_card(name) and number}
    if CARDS in found:
        found.pop(CARD, None)
    return found


@dataclass(frozen=True)
class CardUse:
    """The cards of one resource.

    Attributes
    ----------
    total, used : on all nodes, and of pods on them.
    pieces : of nodes that take pods, by free cards on one how many there are.
    closed : free cards on nodes that take none.
    """

    resource: str
    total: int
    used: int
    pieces: Mapping[int, int]
    closed: int

    @property
    def free(self) -> int:
        """Free cards on nodes that take pods."""
        return sum(cards * nodes for cards, nodes in self.pieces.items())


@dataclass(frozen=True)
class Slots:
    """Room for pods of one size.

    Attributes
    ----------
    requests : of such a pod.
    now : as many fit together while nothing moves; no more do.
    moves : that may be made.
    after, most_after : as many fit after so many moves at most, and no more than so many do.
    most : no more fit whatever moves.
    """

    requests: Mapping[str, int]
    now: int
    moves: int
    after: int
    most_after: int
    most: int


@dataclass(frozen=True)
class Admission:
    """What is known of room for all pods of a gang.

    Attributes
    ----------
    name : of the gang, or of a pod alone.
    state : that is asked: without other pending pods, in the best domain.
    pods : places of its pods there.
    topology, domain : the label of which its nodes have one value, and the best value; "" for none.
    advice : the moves after which all of it has nodes (none where it fits now); None where none
        were found.
    impossible : "" or how surely no moves admit it.
    domains : by value of the label a proved bound on the moves; None where no moves do.
    unmodelled : constraints of its pods that keep them out of any plan, in words.
    """

    name: str
    state: ClusterState
    pods: tuple[int, ...]
    topology: str
    domain: str
    advice: Advice | None
    impossible: str
    domains: Mapping[str, int | None]
    unmodelled: tuple[str, ...] = ()

    @property
    def cards(self) -> Counter[str]:
        """Cards that it asks for, by resource."""
        asked = Counter[str]()
        for n in self.pods:
            asked.update(cards_of(self.state.pods[n].requests))
        return asked

    @property
    def fits(self) -> bool:
        """Whether all of it has nodes, now or after moves in an order."""
        advice = self.advice
        return advice is not None and not advice.order.stuck and not advice.waiting

    @property
    def needs_moves(self) -> bool:
        """Whether it fits after moves."""
        return self.fits and self.advice is not None and bool(self.advice.targets)

    def document(self) -> dict[str, Any]:
        """As plain JSON values."""
        advice, titles = self.advice, [pod.title for pod in self.state.pods]
        return {
            "name": self.name,
            "pods": [titles[n] for n in self.pods],
            "cards": dict(self.cards),
            "topology": self.topology,
            "domain": self.domain,
            "fits": self.fits,
            "moves": len(advice.targets) if advice and self.fits else None,
            "fewest_moves": None if advice is None else advice.moves_lower_bound,
            "fewest_moves_while_pinned_stay":
                None if advice is None else advice.moves_lower_bound_pinned,
            "impossible": self.impossible,
            "not_modelled": list(self.unmodelled),
            "domains": {
                name: {"fewest_moves": bound, "impossible": bound is None}
                for name, bound in self.domains.items()
            },
            "plan": None if advice is None else advice.document(),
        }  # fmt: skip


@dataclass(frozen=True)
class GpuAnswer:
    """What is known of a cluster's cards.

    Attributes
    ----------
    cards : by resource.
    slots : of pods of some sizes.
    admissions : of the gangs that wait, each asked alone.
    """

    state: ClusterState
    cards: tuple[CardUse, ...]
    slots: tuple[Slots, ...]
    admissions: tuple[Admission, ...]
    interrupted: bool = False

    def document(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {
            "cards": [
                {**asdict(one), "free": one.free,
                 "pieces": {str(k): n for k, n in one.pieces.items()}}
                for one in self.cards
            ],
            "slots": [
                {**asdict(one), "requests": dict(one.requests)} for one in self.slots
            ],
            "gangs": [one.document() for one in self.admissions],
            "warnings": [asdict(each) for each in self.state.warnings],
            "assumptions": [asdict(each) for each in self.state.assumptions],
        }  # fmt: skip


@validate_options
def gpus(
    state: ClusterState,
    *,
    gang: str | None = None,
    topology: str = "",
    shapes: Collection[Mapping[str, int]] = (),
    moves: int = 10,
    released: Collection[str] = (),
    time_limit: float | None = SECONDS,
    say: Say = lambda words: None,
) -> GpuAnswer:
    """Where cards are free, how many pods of some sizes fit, and what admits the gangs that wait.

    Parameters
    ----------
    gang : only this one: its namespace and name, or LABEL=VALUE of pending pods that are one. All
        that wait, each alone, when not given.
    topology : a label of which the nodes of a gang must have one value; its own when not given.
    shapes : what pods request of which room is counted; 1, 2, 4 and 8 cards, with CPU and memory as
        the state's own pods ask for each card, when not given.
    moves : after so many at most room is counted again.
    released : kinds of `to_packing.RELEASED` for which no pod is pinned.
    time_limit, say : as `plan.advise` has them; so is Ctrl-C.

    Raises
    ------
    InvalidInstance
        No node has a card.
    InvalidOption
        No such gang waits, no node has the label, or a number of moves is negative.

    Examples
    --------
    >>> from cotenant.advice.reading import read_state
    >>> found = gpus(read_state(["state/training"]))
    >>> found.cards[0].free, [one.fits for one in found.admissions]
    (14, [True])
    """
    require_kinds(released)
    if moves < 0:
        raise InvalidOption(f"moves is {moves}; expected 0 or more")
    state = unpriced(state)
    cards = tuple(card_use(state))
    if not cards:
        raise InvalidInstance(
            state.name, "without a node that has cards",
            f"{CARD}, {MIG}* or amd.com/gpu among what pods may take of one",
            "Check that the device plugin runs, or ask advise fit",
        )  # fmt: skip
    _require_label(state, topology)
    asked = chosen_gangs(state, gang)
    work = SolveBudget(time_limit, say)
    admissions = []
    for place, (name, pods) in enumerate(asked.items()):
        part = SolveBudget(work.whole.time_slice(len(asked) - place + 1), say)
        admissions.append(admit(state, name, pods, topology, released, part))
        work.interrupted |= part.interrupted
    sizes: list[Mapping[str, int]] = list(shapes)
    if not sizes:
        own, words = own_shapes(state, cards[0])
        sizes = [*own]
        noted = StateWarning("card-shape", words)
        state = replace(state, assumptions=(*state.assumptions, noted))
    slots = []
    for place, requests in enumerate(sizes):
        if not work.interrupted:
            part = SolveBudget(work.whole.time_slice(len(sizes) - place), say)
            slots.append(count_slots(state, requests, moves, released, part))
            work.interrupted |= part.interrupted
    return GpuAnswer(state, cards, tuple(slots), tuple(admissions), work.interrupted)


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


def chosen_gangs(state: ClusterState, gang: str | None) -> dict[str, tuple[int, ...]]:
    """The gangs that are asked about, and their pending pods.

    Raises
    ------
    InvalidOption
        None is of that name.
    """
    waiting = pending_gangs(state, lambda pod: any(map(is_card, pod.requests)))
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


def _require_label(state: ClusterState, topology: str) -> None:
    if topology and not any(topology in node.labels for node in state.nodes):
        known = sorted({key for node in state.nodes for key in node.labels})
        raise InvalidOption(
            f"topology is {topology!r}, a label that no node has; expected one of "
            f"{', '.join(known) or 'none, as no labels are in the file'}"
        )


# gangs


def admit(
    state: ClusterState,
    name: str,
    pods: tuple[int, ...],
    topology: str,
    released: Collection[str],
    work: SolveBudget,
) -> Admission:
    """The fewest moves after which all pods of a gang have nodes, of all domains of a topology."""
    wanted = set(pods)
    kept = [n for n, pod in enumerate(state.pods) if pod.role is not Role.PENDING or n in wanted]
    numbers = tuple(place for place, n in enumerate(kept) if n in wanted)
    topology = topology or next(filter(None, (state.pods[n].gang_topology for n in pods)), "")
    asked = replace(state, pods=tuple(
        _lifted(state.pods[n]) if n in wanted else state.pods[n] for n in kept
    ))  # fmt: skip
    asked = vouched(asked, released)
    tries = [
        _Try(value, _in_domain(asked, topology, value))
        for value in ([""] if not topology else
                      sorted({node.labels[topology] for node in asked.nodes
                              if topology in node.labels}))
    ]  # fmt: skip
    for place, one in enumerate(tries):
        one.relax(released, work, 2 * (len(tries) - place), quick=len(tries) > 1)
    best: _Try | None = None
    for one in sorted(tries, key=lambda one: (one.bound is None, one.bound or 0)):
        if one.bound is None or (best and (best.found.value or 0) <= one.bound):
            continue
        one.search(released, work, 3 if len(tries) == 1 else 6)
        if one.found.count is not None and (
            best is None or (one.found.value or 0) < (best.found.value or 0)
        ):
            best = one
    bounds = {one.value: one.bound for one in tries}
    unmodelled = tuple(dict.fromkeys(words for one in tries for words in one.unplaced))
    if best is None:
        impossible = ""
        if all(one.bound is None for one in tries):
            impossible = "whatever else moves"
        elif not unmodelled and all(one.pinned is None for one in tries):
            impossible = f"while the pinned {state.workload_noun}s stay"
        return Admission(name, asked, numbers, topology, "", None, impossible, bounds, unmodelled)
    least = min(bound for bound in bounds.values() if bound is not None)
    pinned = min(one.pinned for one in tries if one.pinned is not None)
    advice = plan_advice(
        best.state, released, replace(best.found, bound=pinned), work, pending=True, together=True,
        moves_lower_bound=least, dropped=best.dropped,
    )  # fmt: skip
    return Admission(
        name, best.state, numbers, topology, best.value, advice, "", bounds, unmodelled
    )


class _Try:
    """A gang in one domain.

    Attributes
    ----------
    value, state : of the label, and the state whose pending pods go there.
    bound, pinned : proved on the moves, in any case and while the pinned pods stay; None where no
        moves do.
    found : the best answer.
    unplaced : why the plan puts pods of the gang nowhere.
    """

    def __init__(self, value: str, state: ClusterState) -> None:
        self.value, self.state = value, state
        self.bound: int | None = 0
        self.pinned: int | None = 0
        self.found: Found
        self.dropped: tuple[str, ...] = ()
        self.unplaced: tuple[str, ...] = ()

    def relax(
        self, released: Collection[str], work: SolveBudget, parts: float, quick: bool
    ) -> None:
        """The bound in any case."""
        plan = translate(self.state, for_bound=True, ignored_pin_reasons=released, pending=True)
        self.dropped = plan.dropped
        words = f"a bound on the moves{f' in {self.value}' * bool(self.value)}"
        if (placed := all_placed(plan)) is None:
            self.bound = self.pinned = None
            return
        low: Found = work.search(words, parts, room_needed, Found(placed), placed, quick)
        self.bound = self.pinned = None if low.infeasible else low.bound

    def search(self, released: Collection[str], work: SolveBudget, parts: float) -> None:
        """The fewest moves while the pinned pods stay."""
        plans = plans_of(self.state, released, pending=True)
        self.unplaced = tuple(words for why in plans[0].unplaced.values() for _, words in why)
        placed = [one for one in map(all_placed, plans) if one is not None]
        words = f"the fewest moves{f' in {self.value}' * bool(self.value)}"
        found = [work.find(words, parts, fewest_moves, plan, None) for plan in placed]
        best = fewest(found)
        self.found = best or Found(plans[0])
        if any(plan.tightened for plan in plans):
            return  # the plans keep more than is asked for
        if all(one.infeasible for one in found):
            self.pinned = None
        elif best is not None:
            self.pinned = max(self.pinned or 0, best.bound)


def all_placed(plan: Translation) -> Translation | None:
    """A translation in which no pending pod may wait; None where one then has nowhere to be."""
    try:
        return with_waiting(plan, 0)
    except InvalidInstance:
        return None


def _lifted(pod: Pod) -> Pod:
    """A pod of a gang without what the question is about."""
    left = tuple(each for each in pod.unsupported_constraints if each[0] not in LIFTED)
    return replace(pod, unsupported_constraints=left)


def _in_domain(state: ClusterState, topology: str, value: str) -> ClusterState:
    """The state whose pending pods are for nodes with a value of a label."""
    if not topology:
        return state
    term = (NodeTerm((Expression(topology, "In", (value,)),)),)
    return change_pods(
        state,
        lambda pod: replace(pod, affinity=(*pod.affinity, term))
        if pod.role is Role.PENDING else pod,
    )  # fmt: skip


# room for pods of one size


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
        attempt = _Try("", with_slots(state, requests, number))
        attempt.relax(released, work, 16, quick=True)
        return attempt.bound

    most = _last(now, most, lambda number: least(number) is not None)
    most_after = _last(now, most, lambda number: (least(number) or 0) <= moves)
    after, beyond = now, most_after
    for attempt in range(FEW_TRIES):
        if beyond <= after or work.interrupted:
            break
        tried = beyond if not attempt else (after + beyond + 1) // 2
        if _fit_after(with_slots(state, requests, tried), moves, released, work):
            after = tried
        else:
            beyond = tried - 1
    return Slots(requests, now, moves, after, most_after, most)


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
    attempt = _Try("", vouched(state, released))
    attempt.search(released, work, 2)
    if attempt.found.count is None or (attempt.found.value or 0) > moves:
        return False
    advice = plan_advice(
        attempt.state, released, attempt.found, work, pending=True, together=True
    )  # fmt: skip
    return not (advice.order.stuck or advice.waiting)
