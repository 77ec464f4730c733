"""Whether pods that run nowhere fit: now, after moves, or with new nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from ..instances.problem.errors import InvalidInstance
from .buying import Purchase, buy, nowhere, vouched
from .node_types import NodeType
from .optimum import cost_needed, fewest_moves, least_cost, moves_needed
from .pending import Fitting, most_that_fit
from .placing import as_it_is, whole_cost, with_waiting
from .plan import SECONDS, Advice, plan_advice, plans_of
from .scheduler_filters import Scheduler
from .solve_budget import Say, SolveBudget
from .state import ClusterState, Role
from .to_packing import translate


@dataclass(frozen=True)
class Fit:
    """What is known of the places of pending pods.

    Attributes
    ----------
    pods : their places in the state.
    fitting : where they fit while nothing moves, and how many at most.
    advice : the fewest moves after which as many as can be have a node; None where no moves are
        needed, or no more pods have one then.
    most_after : no moves make room for more.
    purchase : new nodes instead of moves, where some were asked for and are needed.
    """

    state: ClusterState
    pods: tuple[int, ...]
    fitting: Fitting
    advice: Advice | None
    most_after: int
    purchase: Purchase | None

    @property
    def fits(self) -> bool:
        """Whether all have a node, now or after moves."""
        return len(self.fitting.arrivals) == len(self.pods) or (
            self.advice is not None and not self.advice.waiting
        )

    def document(self) -> dict[str, Any]:
        """As plain JSON values."""
        titles = [pod.title for pod in self.state.pods]
        return {
            "pods": [titles[n] for n in self.pods],
            "fits": self.fits,
            "fit_now": {titles[n]: name for n, name in self.fitting.arrivals.items()},
            "most_that_fit_now": self.fitting.upper_bound,
            "most_after_moves": self.most_after,
            "plan": None if self.advice is None else self.advice.document(),
            "new_nodes": None if self.purchase is None else self.purchase.document(),
            "refused": {titles[n]: refusals(self, n) for n in waiting_now(self)},
            "warnings": [asdict(each) for each in self.state.warnings],
            "assumptions": [asdict(each) for each in self.state.assumptions],
        }


def fit(
    state: ClusterState,
    *,
    types: Sequence[NodeType] = (),
    released: Collection[str] = (),
    time_limit: float | None = SECONDS,
    say: Say = lambda words: None,
) -> Fit:
    """Whether all pending pods fit together: now, after the fewest moves, or with new nodes.

    Parameters
    ----------
    types : what new nodes can be.
    released : kinds of `to_packing.RELEASED` for which no pod is pinned, and none waits.
    time_limit, say : as `advise` has them; so is Ctrl-C.

    Raises
    ------
    InvalidInstance
        No pod is pending.
    """
    nodes = tuple(replace(node, price=None) for node in state.nodes)
    work, state = SolveBudget(time_limit, say), replace(vouched(state, released), nodes=nodes)
    pods = tuple(n for n, pod in enumerate(state.pods) if pod.role is Role.PENDING)
    if not pods:
        raise InvalidInstance(
            state.name, f"without a pending {state.workload_noun}", "at least one",
            "Give new ones by --add or --shape",
        )  # fmt: skip
    outside = sum(not state.pods[n].schedulable for n in pods)
    fitting = work.part(
        "what fits now", lambda _: most_that_fit(state, work.share(5)), Fitting({}, len(pods))
    )
    most = len(pods) - outside
    if len(fitting.arrivals) == most:  # the scheduler looks for a node for no other
        return Fit(state, pods, fitting, None, most, None)
    advice, most = _after_moves(state, released, most, work)
    if advice is not None and len(pods) - len(advice.waiting) <= len(fitting.arrivals):
        advice = None
    purchase = None
    if types and not work.interrupted:
        purchase = buy(
            state, types, released=released, time_limit=work.whole.time_slice(), say=say
        )  # fmt: skip
    return Fit(state, pods, fitting, advice, most, purchase)


def _after_moves(
    state: ClusterState, released: Collection[str], pods: int, work: SolveBudget
) -> tuple[Advice | None, int]:
    """The fewest moves after which as many of so many pods as can be have a node, and the most that
    any moves make room for.
    """
    relaxed = translate(state, for_bound=True, ignored_pin_reasons=released, pending=True)
    lower = work.part(
        "a bound on what fits after moves",
        lambda report: cost_needed(relaxed.instance, work.share(6), report), 0,
    )  # fmt: skip
    least = relaxed.costs.split(max(0, lower - relaxed.kept_cost))[0]
    plans = plans_of(state, released, pending=True)
    for attempt in range(2):
        if attempt:  # not so many: how many then?
            best = [
                work.find(
                    "the most that fit after moves",
                    lambda report, plan=plan: least_cost(  # type: ignore[misc]
                        plan.instance, work.share(3), as_it_is(plan), report
                    ),
                )
                for plan in plans
            ]
            numbers = [
                plan.costs.split(one.value - plan.kept_cost)[0]
                for plan, one in zip(plans, best, strict=True)
                if one.value is not None
            ]
            wait = min(numbers, default=pods)
        else:
            wait = least
        answers = [
            (fixed, work.find(
                "the fewest moves",
                lambda report, fixed=fixed: fewest_moves(  # type: ignore[misc]
                    fixed.instance, whole_cost(fixed), work.share(3), None, report
                ),
            ))
            for fixed in (with_waiting(plan, max(wait, nowhere(plan))) for plan in plans)
        ]  # fmt: skip
        known = [(one.value, one, plan) for plan, one in answers if one.value is not None]
        if known:
            break
    else:
        return None, pods - least
    _, one, plan = min(known, key=lambda each: each[0])
    assert one.count is not None
    free = with_waiting(relaxed, plan.waiting_servers)
    least_moves = work.part(
        "a bound on the moves",
        lambda report: moves_needed(free.instance, whole_cost(free), work.share(1), report), 0,
    )  # fmt: skip
    advice = plan_advice(
        state, released, plan, plans[0], one.count, work, pending=True, nodes_lower_bound=0,
        nodes_lower_bound_pinned=0, moves_lower_bound=least_moves,
        moves_lower_bound_pinned=one.bound, reason="", dropped=(),
    )  # fmt: skip
    # nodes that the moves happen to empty are no aim of it
    return (None if advice.order.stuck else replace(advice, freed=())), pods - least


def waiting_now(found: Fit) -> list[int]:
    """The pods that have no node in the best answer without new ones."""
    kept = found.fitting.arrivals if found.advice is None else found.advice.arrivals
    return [n for n in found.pods if n not in kept]


def refusals(found: Fit, number: int) -> dict[str, int]:
    """Why nodes do not take a pod beside those that have a node: reason -> number of nodes."""
    advice = found.advice
    moved = {} if advice is None else advice.targets
    arrivals = found.fitting.arrivals if advice is None else advice.arrivals
    return refusals_in(found.state, {**moved, **arrivals}, number)


def refusals_in(state: ClusterState, nodes: Mapping[int, str], number: int) -> dict[str, int]:
    """The same beside the pods that run, some of which have other nodes."""
    where = {n: pod.node for n, pod in enumerate(state.pods) if pod.placed} | dict(nodes)
    scheduler = Scheduler(state, where)
    words = [words for _, words in state.pods[number].unsupported_constraints]
    tally = Counter(
        why for name in scheduler.nodes for why in sorted({*scheduler.refusals(number, name)})
    )
    if not scheduler.nodes:
        words.append("no type takes it")
    return dict.fromkeys(words, len(state.nodes)) | dict(tally.most_common())
