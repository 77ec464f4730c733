"""Question of GPUs: where cards are free, and which moves admit the pending gangs, each with all of
its pods or none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from ...instances.problem.errors import InvalidInstance, InvalidOption
from ...instances.problem.option_types import validate_options
from ..judge.scheduler_filters import Scheduler
from ..state.constraints import GATES, NOMINATED, SCHEDULER, Expression, NodeTerm
from ..state.state import CARD, TOPOLOGY, ClusterState, Pod, Role, change_pods, require_label
from .answer import Answer, CardUse, Question, require_kinds
from .costs import unpriced
from .optimum import Say, SolveBudget
from .pending import vouched
from .plan import SECONDS, plan_answer
from .search import Search

MOST_GANGS = 20
"""Gangs that are asked about, those with most cards."""


LIFTED = (GATES, NOMINATED, SCHEDULER, TOPOLOGY)
"""Kinds of what keeps a pod of a gang from being placed that is what the question is about: who
admits it, and where all of it is to be.
"""


@validate_options
def gpus(
    state: ClusterState,
    *,
    gang: str | None = None,
    topology: str = "",
    released: Collection[str] = (),
    time_limit: float | None = SECONDS,
    say: Say = lambda words: None,
) -> Answer:
    """Find where GPUs are free, and the moves that admit the pending gangs.

    Parameters
    ----------
    gang : only this one: its namespace and name, or LABEL=VALUE of pending pods that are one. All
        that wait, each alone, when not given.
    topology : a label of which the nodes of a gang must have one value; its own when not given.
    released : kinds of `answer.RELEASED` for which no pod is pinned.
    time_limit, say : as `nodes.advise` has them; so is Ctrl-C.

    Raises
    ------
    InvalidInstance
        No node has a card, or pods share some.
    InvalidOption
        No such gang waits, or no node has the label.

    Examples
    --------
    >>> from cotenant.cluster.state.reading import read_state
    >>> found = gpus(read_state(["state/training"]))
    >>> found.room[0].free, [one.status for one in found.steps]
    (16, [True])
    """
    # 1. where cards are free
    require_kinds(released)
    state = unpriced(state)
    cards = tuple(card_use(state))
    if not cards:
        raise InvalidInstance(
            state.name, "without a node that has cards",
            f"{CARD}, {MIG}* or amd.com/gpu among what pods may take of one",
            "Check that the device plugin runs, or ask advise fit",
        )  # fmt: skip
    if any(CARD in node.unsure for node in state.nodes):
        raise InvalidInstance(
            state.name, "with cards that pods share", "cards that pods have whole",
            "Ask advise nodes or fit, which leave such nodes as they are",
        )  # fmt: skip
    if topology:
        require_label(state, "topology", topology)
    # 2. the gangs that wait, those with most cards first
    waiting = chosen_gangs(state, gang)
    size = {name: -sum(cards_together(state.pods[n] for n in pods).values())
            for name, pods in waiting.items()}  # fmt: skip
    first = sorted(waiting, key=lambda name: size[name])[:MOST_GANGS]
    asked = {name: pods for name, pods in waiting.items() if name in first}
    work = SolveBudget(time_limit, say)
    admissions = []
    for index, (name, pods) in enumerate(asked.items()):
        part = SolveBudget(work.whole.time_slice(len(asked) - index), say)
        admissions.append(admit(state, name, pods, topology, released, part))
        work.interrupted |= part.interrupted
    return Answer(
        state=state, kind="gpus", room=cards, steps=tuple(admissions),
        unasked=tuple(name for name in waiting if name not in asked),
        status=all(one.status for one in admissions), interrupted=work.interrupted,
    )  # fmt: skip


def admit(
    state: ClusterState,
    name: str,
    pods: tuple[int, ...],
    topology: str,
    released: Collection[str],
    work: SolveBudget,
) -> Answer:
    """Find the fewest moves after which all pods of a gang have nodes, over all domains of a
    topology, or prove that no moves admit it.

    Returns
    -------
    Answer
        Of the best domain, without other pending pods, with the moves as its `plan` (none where it
        fits now); `why_not` has what keeps its pods out of any plan.
    """
    # 1. the gang alone, in each domain: a bound on the moves
    wanted = set(pods)
    kept = [n for n, pod in enumerate(state.pods) if pod.role is not Role.PENDING or n in wanted]
    numbers = tuple(index for index, n in enumerate(kept) if n in wanted)
    topology = topology or next(filter(None, (state.pods[n].gang_topology for n in pods)), "")
    asked = replace(state, pods=tuple(state.pods[n] for n in kept))
    asked = vouched(asked, (*LIFTED, *released))
    values = {node.labels[topology] for node in asked.nodes if topology in node.labels}
    tries = []
    for value in sorted(values) if topology else [""]:
        inside = _in_domain(asked, topology, value)
        tries.append(Search(Question(inside, "moves", released, pending=True), work, value))
    for index, one in enumerate(tries):
        one.relax(2 * (len(tries) - index), quick=len(tries) > 1)
    # 2. the fewest moves, in the domains of the least bound first
    best: Search | None = None
    for one in sorted(tries, key=lambda one: (one.bound is None, one.bound or 0)):
        if one.bound is None or (best and (best.moves or 0) <= one.bound):
            continue
        one.move(3 if len(tries) == 1 else 6)
        if one.moves is not None and (best is None or one.moves < (best.moves or 0)):
            best = one
    whys = {n: why for one in tries for n, why in one.unplaced.items()}
    known = Answer(
        state=asked, kind="gang", name=name, pods=numbers, topology=topology, status=False,
        domains={one.name: one.bound for one in tries},
        why_not={n: tuple(words for _, words in why) for n, why in whys.items()},
    )  # fmt: skip
    # 3. no moves were found: is it proved that there are none?
    if best is None or best.best is None:
        impossible = ""
        if all(one.bound is None for one in tries):
            impossible = "whatever else moves"
        elif not whys and all(one.pinned is None for one in tries):
            impossible = f"while the pinned {state.workload_noun}s stay"
        stay = {n: why for one in tries for n, why in one.stays.items()}
        return replace(known, impossible=impossible, pinned=stay)
    # 4. the plan, in an order, checked
    least = min(one.bound for one in tries if one.bound is not None)
    pinned = min(one.pinned for one in tries if one.pinned is not None)
    found = replace(best.best, bound=pinned)
    plan = plan_answer(best.question, found, work, moves_bound=least, dropped=best.relaxed.dropped)
    fits = not plan.order.stuck and not plan.waiting
    return replace(known, state=best.question.state, domain=best.name, plan=plan, status=fits)


def _in_domain(state: ClusterState, topology: str, value: str) -> ClusterState:
    """Copy a state whose pending pods are restricted to the nodes with one value of a label."""
    if not topology:
        return state
    term = (NodeTerm((Expression(topology, "In", (value,)),)),)
    return change_pods(
        state,
        lambda pod: replace(pod, affinity=(*pod.affinity, term))
        if pod.role is Role.PENDING else pod,
    )  # fmt: skip


MIG = "nvidia.com/mig-"


def cards_of(amounts: Mapping[str, int]) -> dict[str, int]:
    """Amounts above 0 of the resources that count GPUs or slices of GPUs."""
    return {name: number for name, number in amounts.items()
            if number and (name.endswith("/gpu") or name.startswith(MIG))}  # fmt: skip


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
        The gang's namespace and name -> indices of its pods in the state.
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
