"""Whether pods that run nowhere fit: now, after moves, or with new nodes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from ...instances.problem.errors import InvalidInstance
from ..judge.scheduler_filters import Scheduler
from ..state.node_types import NodeType
from ..state.state import ClusterState, Role
from .buying import Purchase, buy, nowhere
from .costs import unpriced
from .optimum import cost_needed, fewest_moves, least_cost, moves_needed
from .pending import Fitting, most_that_fit, vouched
from .placing import as_it_is, with_waiting
from .plan import SECONDS, Advice, fewest, plan_advice, plans_of, require_kinds
from .solve_budget import Say, SolveBudget
from .to_packing import translate
from .wording import tally


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
    def fits(self) -> bool | None:
        """Whether all have a node, now or after moves; None where it is not known whether they fit
        now, as the filters do not decide some of their constraints, or the search ended.
        """
        now = len(self.fitting.arrivals)
        if now == len(self.pods) or (self.advice is not None and not self.advice.waiting):
            return True
        known = now == self.fitting.upper_bound or self.most_after < len(self.pods)
        return False if known else None

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
    require_kinds(released)
    work, state = SolveBudget(time_limit, say), unpriced(vouched(state, released))
    pods = tuple(n for n, pod in enumerate(state.pods) if pod.role is Role.PENDING)
    if not pods:
        raise InvalidInstance(
            state.name, f"without a pending {state.workload_noun}", "at least one",
            "Give new ones by --add or --shape",
        )  # fmt: skip
    outside = sum(not state.pods[n].schedulable for n in pods)
    fitting = work.part(
        "what fits now", lambda: most_that_fit(state, work.share(5)), Fitting({}, len(pods))
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
    lower = work.bound("a bound on what fits after moves", 6, cost_needed, relaxed)
    wait = least = relaxed.costs.split(lower)[0]
    plans = plans_of(state, released, pending=True)
    for attempt in range(2):
        if attempt:  # not so many: how many then?
            words = "the most that fit after moves"
            most = [work.find(words, 3, least_cost, plan, as_it_is(plan)) for plan in plans]
            numbers = [one.plan.costs.split(one.value)[0] for one in most if one.value is not None]
            wait = min(numbers, default=pods)
        fixed = [with_waiting(plan, max(wait, nowhere(plan))) for plan in plans]
        share = 3 if attempt else 1.3  # the first settles most
        best = fewest(
            work.find("the fewest moves", share, fewest_moves, plan, None) for plan in fixed
        )
        if best is not None:
            break
    else:
        return None, pods - least
    free = with_waiting(relaxed, best.plan.waiting_servers)
    bound = work.bound("a bound on the moves", 1, moves_needed, free, None)
    advice = plan_advice(state, released, best, work, pending=True, moves_lower_bound=bound)
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
    words = [words for _, words in state.pods[number].undecided]
    if not scheduler.nodes:
        words.append("no type takes it")
    return dict.fromkeys(words, len(state.nodes)) | tally(
        scheduler.refusals(number, name) for name in scheduler.nodes
    )
