"""The fewest moves that admit a gang, all of its pods or none, in the best domain of a topology; or
a proof that no moves do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ...instances.problem.errors import InvalidInstance
from ..state.state import (
    GATES,
    NOMINATED,
    SCHEDULER,
    TOPOLOGY,
    ClusterState,
    Expression,
    NodeTerm,
    Pod,
    Role,
    change_pods,
)
from .assembly import Reason, Translation
from .optimum import Found, fewest_moves, room_needed
from .pending import vouched
from .placing import with_waiting
from .plan import Advice, fewest, plan_advice, plans_of
from .solve_budget import SolveBudget
from .to_packing import translate

LIFTED = (GATES, NOMINATED, SCHEDULER, TOPOLOGY)
"""Kinds of what keeps a pod of a gang from being placed that is what the question is about: who
admits it, and where all of it is to be.
"""


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
    pins : by reason (its kind and words) how many running pods stay, where no plan was found.
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
    pins: Mapping[Reason, int] = field(default_factory=dict)

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
            "topology": self.topology,
            "domain": self.domain,
            "fits": self.fits,
            "moves": len(advice.targets) if advice and self.fits else None,
            "fewest_moves": None if advice is None else advice.moves_lower_bound,
            "fewest_moves_while_pinned_stay":
                None if advice is None else advice.moves_lower_bound_pinned,
            "impossible": self.impossible,
            "not_modelled": list(self.unmodelled),
            "pinned": {words: number for (_, words), number in self.pins.items()},
            "domains": {
                name: {"fewest_moves": bound, "impossible": bound is None}
                for name, bound in self.domains.items()
            },
            "plan": None if advice is None else advice.document(),
        }  # fmt: skip


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
        Attempt(value, _in_domain(asked, topology, value))
        for value in ([""] if not topology else
                      sorted({node.labels[topology] for node in asked.nodes
                              if topology in node.labels}))
    ]  # fmt: skip
    for place, one in enumerate(tries):
        one.relax(released, work, 2 * (len(tries) - place), quick=len(tries) > 1)
    best: Attempt | None = None
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
        stay = {n: why for one in tries for n, why in one.pinned_pods.items()}
        pins = Counter(reason for why in stay.values() for reason in why)
        return Admission(
            name, asked, numbers, topology, "", None, impossible, bounds, unmodelled, pins
        )  # fmt: skip
    least = min(bound for bound in bounds.values() if bound is not None)
    pinned = min(one.pinned for one in tries if one.pinned is not None)
    advice = plan_advice(
        best.state, released, replace(best.found, bound=pinned), work, pending=True, together=True,
        moves_lower_bound=least, dropped=best.dropped,
    )  # fmt: skip
    return Admission(
        name, best.state, numbers, topology, best.value, advice, "", bounds, unmodelled
    )


class Attempt:
    """A gang in one domain.

    Attributes
    ----------
    value, state : of the label, and the state whose pending pods go there.
    bound, pinned : proved on the moves, in any case and while the pinned pods stay; None where no
        moves do.
    found : the best answer.
    unplaced, pinned_pods : why the plan puts pods of the gang nowhere, and leaves others.
    """

    def __init__(self, value: str, state: ClusterState) -> None:
        self.value, self.state = value, state
        self.bound: int | None = 0
        self.pinned: int | None = 0
        self.found: Found
        self.dropped: tuple[str, ...] = ()
        self.unplaced: tuple[str, ...] = ()
        self.pinned_pods: Mapping[int, tuple[Reason, ...]] = {}

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
        self.pinned_pods = plans[0].pinned
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
