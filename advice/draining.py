"""Whether a node can be emptied, what blocks it, and the fewest moves that do it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from ..instances.problem.errors import InvalidInstance, UnknownName
from .optimum import fewest_moves
from .placing import whole_cost
from .plan import SECONDS, Advice, plan_advice, plans_of, require_kinds
from .scheduler_filters import Scheduler
from .solve_budget import Say, SolveBudget
from .state import ClusterState, Role
from .to_packing import translate


@dataclass(frozen=True)
class Draining:
    """What is known of emptying one node.

    Attributes
    ----------
    node : its name.
    pods : places of its pods in the state.
    blocked : place -> why a pod stays whatever else moves.
    open_to : place -> nodes that would take a pod as things stand.
    refused : place -> node -> why it would not.
    advice : the moves that let all others leave; None where there are none, or none was found.
    impossible : "" or how surely it is that not all of them can leave.
    """

    node: str
    pods: tuple[int, ...]
    blocked: Mapping[int, tuple[str, ...]]
    open_to: Mapping[int, tuple[str, ...]]
    refused: Mapping[int, Mapping[str, tuple[str, ...]]]
    advice: Advice | None
    impossible: str = ""

    @property
    def empties(self) -> bool:
        """Whether the node can be emptied now."""
        return not self.blocked and self.advice is not None and not self.advice.order.stuck


def drain(
    state: ClusterState,
    node: str,
    *,
    time_limit: float | None = SECONDS,
    released: Collection[str] = (),
    say: Say = lambda words: None,
) -> Draining:
    """Whether a node can be emptied, what blocks it pod by pod, and the fewest moves that do it.
    The time limit, progress and Ctrl-C are as `advise` has them.

    Raises
    ------
    UnknownName
        No node has this name.
    """
    names = [each.name for each in state.nodes]
    if node not in names:
        raise UnknownName(state.host_noun, node, names)
    require_kinds(released)
    work = SolveBudget(time_limit, say)
    pods = tuple(n for n, pod in enumerate(state.pods) if pod.placed and pod.node == node)
    scheduler = Scheduler(state)
    refused = {
        n: {name: tuple(scheduler.refusals(n, name)) for name in names if name != node}
        for n in pods
        if state.pods[n].role is Role.MOVABLE
    }
    open_to = {n: tuple(name for name, why in by.items() if not why) for n, by in refused.items()}
    try:
        plans = plans_of(state, released, [node], pending=False)
    except InvalidInstance:
        plans = []
        if not refused:
            raise
    found = [
        (
            plan,
            work.find(
                "the fewest moves",
                lambda report, plan=plan: fewest_moves(  # type: ignore[misc]
                    plan.instance, whole_cost(plan), work.share(3), None, report
                ),
            ),
        )
        for plan in plans
    ]
    answers = [
        (sum(n in plan.pinned for n in pods), one.value, place)
        for place, (plan, one) in enumerate(found)
        if one.value is not None
    ]
    best = min(answers)[2] if answers else -1
    pins = found[best][0].pinned if plans else translate(state, ignored_pin_reasons=released).pinned
    blocked = {n: (state.pods[n].reason,) for n in pods if state.pods[n].role is Role.FIXED} | {
        n: tuple(words for _, words in pins[n]) for n in pods if n in pins
    }
    if not answers:
        sure = all(one.infeasible for _, one in found)
        impossible = (
            work.part("a proof", lambda _: _surely(state, node, released, work.share(1)), "")
            if sure
            else ""
        )
        return Draining(node, pods, blocked, open_to, refused, None, impossible)
    plan, one = found[best]
    assert one.count is not None
    advice = plan_advice(
        state, released, plan, plans[0], one.count, work, pending=None, nodes_lower_bound=0,
        nodes_lower_bound_pinned=0, moves_lower_bound=0,
        moves_lower_bound_pinned=one.bound, reason="", dropped=(),
    )  # fmt: skip
    return Draining(node, pods, blocked, open_to, refused, advice)


def _surely(
    state: ClusterState, node: str, released: Collection[str], seconds: float | None
) -> str:
    """How surely not all pods can leave a node: whatever else moves, or while the pinned stay."""
    try:
        plan = translate(state, for_bound=True, ignored_pin_reasons=released, drained_nodes=[node])
        free = not fewest_moves(plan.instance, whole_cost(plan), seconds).infeasible
    except InvalidInstance:
        free = False
    return f"{'while the pinned pods stay' if free else 'whatever else moves'} (proved)"
