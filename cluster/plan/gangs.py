"""The fewest moves that admit a gang, all of its pods or none, in the best domain of a topology; or
a proof that no moves do.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

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
from .answer import Answer, Question, Reason
from .assembly import Translation
from .optimum import Found, SolveBudget, fewest_moves, room_needed
from .pending import vouched
from .placing import with_waiting
from .plan import fewest, plan_answer, plans_of
from .to_packing import translate

LIFTED = (GATES, NOMINATED, SCHEDULER, TOPOLOGY)
"""Kinds of what keeps a pod of a gang from being placed that is what the question is about: who
admits it, and where all of it is to be.
"""


def admit(
    state: ClusterState,
    name: str,
    pods: tuple[int, ...],
    topology: str,
    released: Collection[str],
    work: SolveBudget,
) -> Answer:
    """The fewest moves after which all pods of a gang have nodes, of all domains of a topology.

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
    tries = [
        Attempt(value, _in_domain(asked, topology, value))
        for value in ([""] if not topology else
                      sorted({node.labels[topology] for node in asked.nodes
                              if topology in node.labels}))
    ]  # fmt: skip
    for place, one in enumerate(tries):
        one.relax(released, work, 2 * (len(tries) - place), quick=len(tries) > 1)
    # 2. the fewest moves, in the domains of the least bound first
    best: Attempt | None = None
    for one in sorted(tries, key=lambda one: (one.bound is None, one.bound or 0)):
        if one.bound is None or (best and (best.moves or 0) <= one.bound):
            continue
        one.search(released, work, 3 if len(tries) == 1 else 6)
        if one.moves is not None and (best is None or one.moves < (best.moves or 0)):
            best = one
    unmodelled = {n: words for one in tries for n, words in one.unplaced.items()}
    known = Answer(
        state=asked, kind="gang", name=name, pods=numbers, topology=topology, status=False,
        domains={one.value: one.bound for one in tries}, why_not=unmodelled,
    )  # fmt: skip
    # 3. no moves were found: is it proved that there are none?
    if best is None or best.found is None:
        impossible = ""
        if all(one.bound is None for one in tries):
            impossible = "whatever else moves"
        elif not unmodelled and all(one.pinned is None for one in tries):
            impossible = f"while the pinned {state.workload_noun}s stay"
        stay = {n: why for one in tries for n, why in one.pinned_pods.items()}
        return replace(known, impossible=impossible, pinned=stay)
    # 4. the plan, in an order, checked
    least = min(one.bound for one in tries if one.bound is not None)
    pinned = min(one.pinned for one in tries if one.pinned is not None)
    plan = plan_answer(
        Question(best.state, released, pending=True), replace(best.found, bound=pinned), work,
        together=True, moves_bound=least, dropped=best.dropped,
    )  # fmt: skip
    fits = not plan.order.stuck and not plan.waiting
    return replace(known, state=best.state, domain=best.value, plan=plan, status=fits)


@dataclass
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

    value: str
    state: ClusterState
    bound: int | None = 0
    pinned: int | None = 0
    found: Found | None = None
    dropped: tuple[str, ...] = ()
    unplaced: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    pinned_pods: Mapping[int, tuple[Reason, ...]] = field(default_factory=dict)

    @property
    def moves(self) -> int | None:
        """So many pods move in the best answer; None without one."""
        return None if self.found is None or self.found.count is None else self.found.value

    def relax(
        self, released: Collection[str], work: SolveBudget, parts: float, quick: bool
    ) -> None:
        """The bound in any case."""
        plan = translate(Question(self.state, released, pending=True), for_bound=True)
        self.dropped = plan.dropped
        words = f"a bound on the moves{f' in {self.value}' * bool(self.value)}"
        if (placed := all_placed(plan)) is None:
            self.bound = self.pinned = None
            return
        low = work.find(words, parts, room_needed, placed, quick)
        self.bound = self.pinned = None if low.infeasible else low.bound

    def search(self, released: Collection[str], work: SolveBudget, parts: float) -> None:
        """The fewest moves while the pinned pods stay."""
        plans = plans_of(Question(self.state, released, pending=True))
        self.pinned_pods = plans[0].pinned
        self.unplaced = {n: tuple(words for _, words in why)
                         for n, why in plans[0].unplaced.items()}  # fmt: skip
        placed = [one for one in map(all_placed, plans) if one is not None]
        words = f"the fewest moves{f' in {self.value}' * bool(self.value)}"
        found = [work.find(words, parts, fewest_moves, plan, None) for plan in placed]
        self.found = best = fewest(found)
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
