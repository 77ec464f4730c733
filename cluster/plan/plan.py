"""Conversion of a placement to a checked plan: moves, their order, nodes of pending pods, and what
the default scheduler would leave pending.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ...solvers.interrupts import deferred
from ..judge.default_scheduler import SCORINGS, left_pending
from ..judge.order import ordered
from ..judge.scheduler_filters import Scheduler, check_arrivals, check_waves
from ..state.state import ClusterState, Role
from .answer import Answer, Proved, Question
from .costs import price_of
from .optimum import Found, SolveBudget, idle_nodes, targets_of, workers_in_use
from .pending import admitted, can_arrive, most_that_fit, vouched

SECONDS = 60.0
"""For everything after reading, when nothing else is said."""


def plan_answer(
    question: Question,
    found: Found,
    work: SolveBudget,
    *,
    arrive: bool = True,
    moves_bound: int = 0,
    **proved: Any,
) -> Answer:
    """Convert a placement of pods to a plan of moves that the scheduler's filters have checked. The
    number of pods that fit now is left out if all pending pods must be placed.

    Where rules are tightened, the bound on the moves while the pinned pods stay is that of any
    plan.

    Parameters
    ----------
    arrive : whether pending pods are looked at.
    moves_bound : no plan of any kind moves fewer.
    proved : further fields of the answer.
    """
    # 1. who moves where, in which order
    state, plan, count = question.state, found.plan, found.count
    assert count is not None
    together = question.pending and question.least == "moves"
    in_use = workers_in_use(state, state.where)
    places = targets_of(state, plan, count)
    targets = {n: name for n, name in places.items() if state.pods[n].placed}
    if len(targets) > found.bound:
        work.cut.append("the search for fewer moves")
    moves = f"{len(targets)} move{'s' * (len(targets) != 1)}"
    work.say(f"an order of {moves}")
    order = ordered(state, targets, question.released, work.whole)
    where = state.where | targets
    # 2. which pending pods have a node: now, and after the moves
    unplaced = [n for n, pod in enumerate(state.pods) if arrive and pod.role is Role.PENDING]
    asked, now, fits = vouched(state, question.released), dict[int, str](), Proved()
    arrivals: Mapping[int, str] = {}
    if unplaced:
        fits = Proved(0, len(unplaced))
        if not together:
            now, most = work.part(
                "what fits now", lambda: most_that_fit(asked, work.share(1)), (now, fits.bound)
            )
            fits = Proved(len(now), most)
        arrivals = now if order.stuck else _arrivals(asked, where, places, question.pending)
    kept = workers_in_use(state, where | dict(arrivals))
    aim = question.least == "cost" or bool(question.emptied)  # others may empty nodes by chance
    freed = tuple(name for name in in_use if aim and name not in kept)
    reserved = tuple(sorted({*arrivals.values()} - {*targets.values()})) if together else ()
    # 3. the judge's word, whatever it takes
    work.say(f"checking {moves}")
    with deferred() as put_off:
        check_waves(
            state, order.waves, freed=() if order.stuck else freed, released=question.released,
            arrivals=arrivals,
        )  # fmt: skip
        if not order.stuck:
            check_arrivals(asked, where, arrivals)
        work.interrupted |= order.cut == "interrupted" or put_off.interrupted
    if order.cut:
        work.cut.append(f"the order of moves ({len(order.stuck)} are in no wave)")
    # 4. what the default scheduler would leave pending; it knows requests only
    left_over: dict[str, tuple[int, ...]] = {}
    for scoring in SCORINGS if state.platform == "kubernetes" else ():
        left = work.part(
            "playing the default scheduler",
            lambda scoring=scoring: left_pending(  # type: ignore[misc]
                state, order.waves, (*freed, *reserved), scoring, work.whole
            ),
            None,
        )
        if left is None:
            work.cut.append(f"playing the default scheduler ({scoring})")
        else:
            left_over[scoring] = tuple(left)
    # 5. the answer
    pinned = moves_bound if plan.tightened else max(moves_bound, found.bound)
    waiting = tuple(n for n in unplaced if n not in arrivals)
    number, waits = proved.pop("nodes", Proved()), proved.pop("waits", Proved())
    cost = price_of(state, frozenset(kept))
    bounds = proved.pop("cost", Proved(None, None, None))
    every = frozenset(node.name for node in state.nodes)
    return Answer(
        state=state, in_use=in_use, nodes=replace(number, value=len(kept)),
        moves=Proved(len(targets), moves_bound, pinned), waits=replace(waits, value=len(waiting)),
        fits=fits, cost=None if cost is None else replace(bounds, value=cost),
        cost_now=price_of(state, every), freed=freed, targets=targets, order=order,
        arrivals=arrivals, waiting=waiting, left_pending=left_over, idle=idle_nodes(state),
        reserved=reserved if targets else (), pinned=plan.pinned, broken=plan.violated_rules,
        repaired=plan.violated_rules if plan.repairs else (), status=not order.stuck,
        cut=tuple(work.cut), interrupted=work.interrupted, **proved,
    )  # fmt: skip


def _arrivals(
    state: ClusterState, where: dict[int, str], places: Mapping[int, str], spare: bool
) -> dict[int, str]:
    """Node of each pending pod that can be placed once the other pods are at the nodes of `where`.
    A pod comes to its node in `places` or to a node in use; with `spare` also to an idle node,
    cheap before expensive.
    """
    scheduler = Scheduler(state, where)
    planned = [n for n in places if state.pods[n].role is Role.PENDING]
    arrivals = admitted(scheduler, planned, places)
    emptied = set(workers_in_use(state, state.where))
    kept = workers_in_use(state, where | arrivals)
    rest = [n for n in can_arrive(state) if n not in arrivals]
    if not spare:
        return arrivals | admitted(scheduler, rest, kept)
    others = [node for node in state.nodes if node.name not in {*kept, *emptied}]
    others.sort(key=lambda node: node.price or 0)
    return arrivals | admitted(scheduler, rest, [*kept, *(node.name for node in others)])
