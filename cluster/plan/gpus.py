"""Question of GPUs: where cards are free, and which moves admit the pending gangs, each with all of
its pods or none.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from ...instances.problem.errors import InvalidInstance
from ...instances.problem.option_types import validate_options
from ..state.constraints import GATES, NOMINATED, SCHEDULER, Expression, NodeTerm
from ..state.state import CARD, TOPOLOGY, ClusterState, Pod, Role, change_pods, require_label
from .answer import Answer, Question, require_kinds
from .cards import MIG, card_use, cards_together, chosen_gangs
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
    for place, (name, pods) in enumerate(asked.items()):
        part = SolveBudget(work.whole.time_slice(len(asked) - place), say)
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
    numbers = tuple(place for place, n in enumerate(kept) if n in wanted)
    topology = topology or next(filter(None, (state.pods[n].gang_topology for n in pods)), "")
    asked = replace(state, pods=tuple(
        _lifted(state.pods[n]) if n in wanted else state.pods[n] for n in kept
    ))  # fmt: skip
    asked = vouched(asked, released)
    values = {node.labels[topology] for node in asked.nodes if topology in node.labels}
    tries = []
    for value in sorted(values) if topology else [""]:
        inside = _in_domain(asked, topology, value)
        tries.append(Search(Question(inside, "moves", released, pending=True), work, value))
    for place, one in enumerate(tries):
        one.relax(2 * (len(tries) - place), quick=len(tries) > 1)
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


def _lifted(pod: Pod) -> Pod:
    """Remove from a pod the constraints that the question replaces."""
    left = tuple(each for each in pod.unsupported_constraints if each[0] not in LIFTED)
    return replace(pod, unsupported_constraints=left)


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
