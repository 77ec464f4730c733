"""Question how few nodes hold all pods: which nodes can be freed, by which moves, with bounds."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from itertools import accumulate
from typing import Any

import numpy as np

from ...instances.packing.instance import Packing
from ...instances.problem.option_types import validate_options
from ..state.state import ClusterState, Role, StateWarning
from .answer import Answer, Proved, Question
from .assembly import Translation
from .costs import price_of
from .optimum import Say, SolveBudget, idle_nodes, with_waiting, workers_in_use
from .plan import SECONDS, plan_answer
from .search import Search, cost_beside


@validate_options
def advise(
    state: ClusterState,
    *,
    time_limit: float | None = SECONDS,
    released: Collection[str] = (),
    pending: bool = True,
    say: Say = lambda words: None,
) -> Answer:
    """Find the fewest (or cheapest) nodes that hold all pods, the nodes that can be freed, and the
    fewest moves to that.

    As many pending pods as can be have a place; then the nodes cost as little as they can (where
    the state has no prices, there are as few as can be); then as few pods move. Ctrl-C keeps the
    best plan so far, in an order, checked (the second one ends it).

    Parameters
    ----------
    time_limit : seconds for everything; None for no limit. What runs now is translated, and a plan
        is checked, whatever that takes.
    released : kinds of `answer.RELEASED` for which no pod is pinned.
    pending : whether nodes are kept for pending pods. Without, the plan is for what runs, and
        pending pods have the places that are left then.
    say : progress.

    Raises
    ------
    InvalidOption
        A kind to release that is none.
    InvalidInstance
        There is nothing to place.
    InfeasibleSolution
        The plan does not pass its own check; nothing of it should be used then.
    """
    # 1. the question
    question = Question(state, released=released, pending=pending)
    if not any(pod.role in (Role.MOVABLE, Role.FIXED) or pod.schedulable for pod in state.pods):
        return unmoved(state)
    work = SolveBudget(time_limit, say)
    search = Search(question, work)
    plans, relaxed, costs = search.plans, search.relaxed, search.relaxed.costs
    # 2. the cheapest nodes, and bounds on them
    lower = search.needed(5)
    answers = search.cheapest(3, f"the {'cheapest' if state.priced else 'fewest'} nodes")
    best = min(one.value for one in answers if one.value is not None)
    waiting, cost = costs.split(best)
    searched = max(lower, min(one.bound for one in answers if not one.infeasible))
    tightened = any(plan.tightened for plan in plans)
    proved = _bounds(search, waiting, (lower, lower if tightened else searched))
    # 3. the fewest moves to nodes that cost no more; as many cannot be reached with fewer moves,
    # whatever rules are dropped
    limit = costs.limit(cost)
    cheapest = [one for one in answers if one.value == best and one.count is not None]
    search.move(2, waiting, limit, cheapest)
    search.relax(1, waiting, limit)
    assert search.best is not None
    # 4. what was cut short, and why no fewer nodes do
    if best > waiting * costs.waiting + costs.limit(searched - waiting * costs.waiting):
        better = "cheaper" if state.priced else "fewer"
        work.cut.append(f"the search for {better} {state.host_noun}s")
    if not state.priced:
        proved["reason"] = _reason(with_waiting(relaxed, waiting), waiting, proved["nodes"].bound)
    if pending:
        # what the scheduler looks no node for waits whatever the plan
        outside = sum(pod.role is Role.PENDING for pod in state.pods) - plans[0].waiting_servers
        waits = proved["waits"]
        proved["waits"] = Proved(0, waits.bound + outside, waits.pinned + outside)
    # 5. the plan, in an order, checked
    answer = plan_answer(
        question, search.best, work, moves_bound=search.bound or 0, dropped=relaxed.dropped,
        **proved,
    )  # fmt: skip
    if not (answer.order.stuck and pending and plans[0].waiting_servers) or work.interrupted:
        return answer
    # 6. the moves that make room for pending pods may have no order, where those without do
    words = f"no order of moves was found that makes room for pending {state.workload_noun}s: the "
    words += "plan is for what runs"
    noted = (*state.assumptions, StateWarning("pending-left", words))
    alone = advise(
        replace(state, assumptions=noted), time_limit=work.whole.time_slice(), released=released,
        pending=False, say=say,
    )  # fmt: skip
    return answer if alone.order.stuck else alone


def unmoved(state: ClusterState) -> Answer:
    """Make the answer of `advise` where no pod is to be placed: only idle nodes can be freed."""
    in_use = workers_in_use(state, state.where)
    cost, every = price_of(state, frozenset(in_use)), frozenset(node.name for node in state.nodes)
    waiting = tuple(n for n, pod in enumerate(state.pods) if pod.role is Role.PENDING)
    return Answer(
        state=state, in_use=in_use, nodes=Proved(len(in_use)), reason="nothing could move",
        waiting=waiting, waits=Proved(len(waiting)), idle=idle_nodes(state),
        cost=None if cost is None else Proved(cost, cost, cost),
        cost_now=price_of(state, every),
    )  # fmt: skip


def _bounds(search: Search, waiting: int, totals: tuple[int, int]) -> dict[str, Any]:
    """Bounds on nodes and pending pods, as fields of an answer, from lower bounds on the total cost
    of any plan and of plans in which the pinned pods stay.
    """
    costs, priced = search.relaxed.costs, search.question.state.priced
    # a bound on the cost is one of the plans that leave as many waiting
    needed, pinned = (cost if number == waiting else 0 for number, cost in map(costs.split, totals))
    if costs.split(totals[0])[0] < waiting:
        words = "a bound on the nodes"
        needed = max(needed, cost_beside(search.relaxed, waiting, search.work, 4, words))
    name, amount = ("cost", costs.money) if priced else ("nodes", int)
    return {
        "nodes": Proved(),
        "waits": Proved(0, *(costs.split(total)[0] for total in totals)),
        name: Proved(0, amount(needed), amount(max(needed, pinned))),
    }


def _reason(relaxed: Translation, waiting: int, nodes_lower_bound: int) -> str:
    """Short explanation why fewer nodes cannot hold the pods; "" if there is none."""
    if waiting:
        return "no placement on fewer"
    instance, keepers = relaxed.instance, relaxed.kept_cost  # without prices each node costs 1
    for rule in instance.limits:
        together = int(sum(instance.requested[list(rule.types)]))
        if rule.within == "server" and -(-together // rule.most) - keepers >= nodes_lower_bound:
            title = instance.names[rule.types[0]].partition(" #")[0]
            return f"{title} needs {-(-together // rule.most)}, {rule.most} on each"
    for j, resource in enumerate(instance.resources):
        if _by_volume(instance, j) - keepers >= nodes_lower_bound:
            return f"their {resource.partition(' [')[0]} needs {nodes_lower_bound}"
    return "no placement on fewer"


def _by_volume(instance: Packing, j: int) -> int:
    """Minimum number of servers whose total capacity of resource `j` reaches the total demand."""
    wanted = int(instance.requested.astype(np.int64) @ instance.demand[:, j])
    rooms = sorted(instance.capacity[instance.server_class, j].tolist(), reverse=True)
    totals = enumerate(accumulate(rooms, initial=0))
    return next((number for number, room in totals if room >= wanted), len(rooms))
