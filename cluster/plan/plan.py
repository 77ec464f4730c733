"""From a state to advice: how many nodes are enough, which can go, with which moves, and what is
proved of it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from itertools import accumulate
from typing import Any

import numpy as np

from ...analysis.frontier import PricePoint
from ...analysis.packing.frontier import price_frontiers
from ...instances.packing.instance import Packing
from ...instances.problem.errors import InvalidInstance, InvalidOption
from ...instances.problem.option_types import validate_options
from ...solvers.interrupts import deferred
from ..judge.default_scheduler import SCORINGS, left_pending
from ..judge.order import Ordered, ordered
from ..judge.scheduler_filters import Scheduler, check_arrivals, check_waves
from ..state.state import ClusterState, Role, StateWarning
from .assembly import Reason, Translation
from .costs import node_costs, price_of
from .disruption import fewest_within, least_sum
from .optimum import Found, cost_needed, least_cost, moves_needed
from .pending import Fitting, admitted, arrivals_in_order, can_arrive, most_that_fit, vouched
from .placing import (
    as_it_is,
    cost_of,
    idle_nodes,
    settled,
    targets_of,
    with_waiting,
    workers_in_use,
)
from .solve_budget import SOLVING, Say, SolveBudget
from .to_packing import RELEASED, translate

SECONDS = 60.0
"""For everything after reading, when nothing else is said."""


@dataclass(frozen=True, kw_only=True)
class Advice:
    """What can be said of a state; pods are numbers of their places in it.

    Attributes
    ----------
    in_use : workers that hold something now, besides what belongs to every node.
    nodes_found, nodes_lower_bound, nodes_lower_bound_pinned : as many of them hold everything in
        the plan; no plan of any kind needs fewer (0: nothing is known), or while the pinned stay.
    freed, idle : nodes that the plan empties; that hold nothing but pods of their own.
    targets : new node of every pod that moves.
    moves_lower_bound, moves_lower_bound_pinned : no plan with `nodes_found` nodes moves fewer.
    order, translation : the moves in waves, and the instance that the plan answers.
    dropped, repaired_rules : rules that the bound does not know; broken now, that the plan repairs.
    reason : why no fewer nodes can do, in words.
    left_pending : by scoring of the default scheduler: pods that stay pending if it places the
        evicted ones itself.
    frontier : what freeing fewer nodes costs: by limit on the nodes in use, the pods that move.
    arrivals : the node of each pending pod after the moves, in an order in which filters pass.
    waiting, waiting_lower_bound, waiting_lower_bound_pinned : pending pods without a place; no plan
        leaves fewer.
    fit_now, fit_now_upper_bound : pending pods that fit together while nothing moves, and at most.
    cost, cost_now : what the nodes in use cost after the plan; what all that run cost now. None
        without prices.
    cost_lower_bound, cost_lower_bound_pinned : no plan that leaves as few waiting costs less.
    disruption, total_lower_bound : the price of a move, where money and moves are one sum; no plan
        sums up to less while the pinned pods stay.
    cut, interrupted : what was cut short, in words: by the time limit, or by an interrupt.
    why_not : what each reason that holds pods in place costs, where asked (`dearest_pins`).
    reserved : nodes for pending pods, on which nothing else may come before these do.
    """

    state: ClusterState
    in_use: tuple[str, ...]
    nodes_found: int
    nodes_lower_bound: int = 0
    nodes_lower_bound_pinned: int = 0
    freed: tuple[str, ...]
    targets: Mapping[int, str]
    moves_lower_bound: int = 0
    moves_lower_bound_pinned: int = 0
    order: Ordered
    translation: Translation
    dropped: tuple[str, ...] = ()
    repaired_rules: tuple[str, ...] = ()
    reason: str = ""
    left_pending: Mapping[str, tuple[int, ...]]
    frontier: tuple[PricePoint, ...] = ()
    arrivals: Mapping[int, str] = field(default_factory=dict)
    waiting: tuple[int, ...] = ()
    waiting_lower_bound: int = 0
    waiting_lower_bound_pinned: int = 0
    fit_now: int = 0
    fit_now_upper_bound: int = 0
    idle: tuple[str, ...] = ()
    cost: Fraction | None = None
    cost_now: Fraction | None = None
    cost_lower_bound: Fraction | None = None
    cost_lower_bound_pinned: Fraction | None = None
    disruption: Fraction | None = None
    total_lower_bound: Fraction | None = None
    cut: tuple[str, ...] = ()
    interrupted: bool = False
    why_not: tuple[Mapping[str, Any], ...] = ()
    reserved: tuple[str, ...] = ()

    @property
    def total(self) -> Fraction | None:
        """What the nodes in use and the moves cost together, where moves have a price."""
        if self.disruption is None:
            return None
        return (Fraction(self.nodes_found) if self.cost is None else self.cost) + (
            self.disruption * len(self.targets)
        )

    @property
    def proved(self) -> bool:
        """Whether no plan of any kind that leaves as few pods waiting uses fewer nodes, or costs
        less.
        """
        if self.cost is not None:
            return self.cost == self.cost_lower_bound
        return self.nodes_found == self.nodes_lower_bound

    @property
    def waste(self) -> float:
        """The share of the nodes in use that can go."""
        return 1 - self.nodes_found / len(self.in_use) if self.in_use else 0.0

    def document(self) -> dict[str, Any]:
        """As plain JSON values: the plan, and the certificate of what is claimed of it."""
        state, pods = self.state, self.state.pods
        roles = {role: sum(pod.role is role for pod in pods) for role in Role}
        return {
            "cotenant-plan": 1,
            "state": {"name": state.name, "platform": state.platform},
            "warnings": [asdict(each) for each in state.warnings],
            "assumptions": [asdict(each) for each in state.assumptions],
            "pods_count_as": state.counted or "requests",
            "usage": {name: dict(each) for name, each in state.usage.items()},
            "in_use": list(self.in_use),
            "enough": self.nodes_found,
            "free": list(self.freed),
            "moves": len(self.targets),
            "waves": [
                [
                    {"pod": pods[move.pod].title, "to": move.node, "temporary": move.temporary}
                    for move in wave
                ]
                for wave in self.order.waves
            ],
            "pending": {
                "arrivals": {pods[n].title: name for n, name in self.arrivals.items()},
                "waiting": [pods[n].title for n in self.waiting],
                "fit_now": self.fit_now,
            },
            **({"reserved": list(self.reserved)} if self.reserved else {}),
            "idle_nodes": list(self.idle),
            **self._money(),
            "frontier": [
                {unit: limit, "moves": point.value, "fewest": point.bound}
                for point in self.frontier
                for unit, limit in [self.limit_of(point)]
            ],
            "cut_short": list(self.cut),
            "not_ordered": {pods[n].title: list(why) for n, why in self.order.stuck.items()},
            **({"why_not": list(self.why_not)} if self.why_not else {}),
            "left_pending": {
                scoring: [pods[n].title for n in them]
                for scoring, them in self.left_pending.items()
            },
            "certificate": {
                "needed": self.nodes_lower_bound,
                "needed_while_pinned_stay": self.nodes_lower_bound_pinned,
                "fewest_moves": self.moves_lower_bound,
                "fewest_moves_while_pinned_stay": self.moves_lower_bound_pinned,
                "waiting": self.waiting_lower_bound,
                "waiting_while_pinned_stay": self.waiting_lower_bound_pinned,
                "most_that_fit_now": self.fit_now_upper_bound,
                "reason": self.reason,
                "not_in_the_bound": list(self.dropped),
                "mended": list(self.repaired_rules),
                "broken_now": list(self.translation.violated_rules),
            },
            "counted": {role.value: roles[role] for role in Role if role is not Role.MOVABLE}
            | {"movable": roles[Role.MOVABLE] - len(self.pinned)},
            "pinned": {
                pods[n].title: [words for _, words in why] for n, why in self.pinned.items()
            },
            "fixed": {pod.title: pod.reason for pod in pods if pod.role is Role.FIXED},
            "soft": {pod.title: list(pod.soft) for pod in pods if pod.placed and pod.soft},
            "not_read": dict(state.ignored),
        }

    def limit_of(self, point: PricePoint) -> tuple[str, Any]:
        """What a point of the frontier allows: of "nodes" a number, or so much "cost"."""
        if self.cost is None:
            return "nodes", point.limit
        return "cost", float(self.translation.costs.money(int(point.limit or 0)))

    def _money(self) -> dict[str, float]:
        """What is known of money, where there are prices."""
        amounts = {
            "cost": self.cost,
            "cost_bound": self.cost_lower_bound,
            "cost_bound_while_pinned_stay": self.cost_lower_bound_pinned,
            "cost_now": self.cost_now,
            "total": self.total,
            "total_bound": self.total_lower_bound,
        }
        return {name: float(amount) for name, amount in amounts.items() if amount is not None}

    @property
    def pinned(self) -> dict[int, tuple[Reason, ...]]:
        """Pods that stay in the plan, by their place in the state, and why."""
        return self.translation.pinned


@validate_options
def advise(
    state: ClusterState,
    *,
    time_limit: float | None = SECONDS,
    released: Collection[str] = (),
    pending: bool = True,
    disruption: Fraction | None = None,
    frontier: int = 0,
    say: Say = lambda words: None,
) -> Advice:
    """How many nodes are enough, which can go, and the fewest moves to that.

    As many pending pods as can be have a place; then the nodes cost as little as they can (where
    the state has no prices, there are as few as can be); then as few pods move. Ctrl-C keeps the
    best plan so far, in an order, checked (the second one ends it).

    Parameters
    ----------
    time_limit : seconds for everything; None for no limit. What runs now is translated, and a plan
        is checked, whatever that takes.
    released : kinds of `to_packing.RELEASED` for which no pod is pinned.
    pending : whether nodes are kept for pending pods. Without, the plan is for what runs, and
        pending pods have the places that are left then.
    disruption : the price of one move, in the unit of the nodes' prices (of nodes, where they have
        none): the plan has the least sum of both, and is not the cheapest at any number of moves.
    frontier : so many numbers of nodes (or amounts of money), from as few as can be to those in use
        now, each with the fewest pods that move to it; at least 2, or 0 for none. Half of the time
        is for them.
    say : progress.

    Raises
    ------
    InvalidOption
        A kind to release that is none, or a frontier of one point.
    InvalidInstance
        There is nothing to place.
    InfeasibleSolution
        The plan does not pass its own check; nothing of it should be used then.
    """
    require_kinds(released)
    if frontier < 0 or frontier == 1:
        raise InvalidOption(f"frontier is {frontier}; expected 0, or at least 2 points")
    if not any(pod.role in (Role.MOVABLE, Role.FIXED) or pod.schedulable for pod in state.pods):
        return unmoved(state)
    work = SolveBudget(time_limit, say, parts=2 if frontier else 1)
    plans = plans_of(state, released, pending=pending)
    relaxed = translate(state, for_bound=True, ignored_pin_reasons=released, pending=pending)
    lower = work.bound("a bound on the nodes", 5, cost_needed, relaxed)
    answers = _cheapest(plans, work, f"the {'cheapest' if state.priced else 'fewest'} nodes")
    best = min(one.value for one in answers if one.value is not None)
    costs, (waiting, cost) = relaxed.costs, relaxed.costs.split(best)
    searched = max(lower, min(one.bound for one in answers if not one.infeasible))
    tightened = any(plan.tightened for plan in plans)
    least, proved = _bounds(
        state, relaxed, waiting, (lower, lower if tightened else searched), work
    )
    chosen = fewest(
        fewest_within(with_waiting(one.plan, waiting), costs.limit(cost),
                      settled(one.plan, one.count), work, 2)
        for one in answers if one.value == best and one.count is not None
    )  # fmt: skip
    assert chosen is not None
    if disruption is not None:
        work.say("the least sum of money and moves")
        chosen, total = least_sum(chosen, costs.limit(cost), least, disruption, work)
        assert chosen.count is not None
        cost = cost_of(chosen.plan, chosen.count) - chosen.plan.waiting_servers
        total *= len(plans) == 1 and not tightened
        proved |= {"disruption": disruption, "total_lower_bound": total}
    # with every rule dropped, as many nodes cannot be reached with fewer moves
    free, limit = with_waiting(relaxed, waiting), costs.limit(cost) + waiting
    proved["moves_lower_bound"] = work.bound("a bound on the moves", 1, moves_needed, free, limit)
    if frontier:
        plan, seconds = chosen.plan, work.whole.time_slice(1 / SOLVING)
        points: tuple[PricePoint, ...] = ()
        proved["frontier"] = work.part(
            "the frontier", lambda: _frontier(plan, waiting, frontier, seconds), points
        )
    if best > waiting * costs.waiting + costs.limit(searched - waiting * costs.waiting):
        better = "cheaper" if state.priced else "fewer"
        work.cut.append(f"the search for {better} {state.host_noun}s")
    if not state.priced:
        proved["reason"] = _reason(free, waiting, proved["nodes_lower_bound"])
    if pending:
        # what the scheduler looks no node for waits whatever the plan
        outside = sum(pod.role is Role.PENDING for pod in state.pods) - plans[0].waiting_servers
        for name in ("waiting_lower_bound", "waiting_lower_bound_pinned"):
            proved[name] += outside
    advice = plan_advice(
        state, released, chosen, work, pending=pending, dropped=relaxed.dropped, **proved
    )
    if not (advice.order.stuck and pending and plans[0].waiting_servers) or work.interrupted:
        return advice
    # the moves that make room for pending pods may have no order, where those of a plan without do
    words = f"no order of moves was found that makes room for pending {state.workload_noun}s: the "
    words += "plan is for what runs"
    noted = (*state.assumptions, StateWarning("pending-left", words))
    alone = advise(
        replace(state, assumptions=noted), time_limit=work.whole.time_slice(), released=released,
        pending=False, disruption=disruption, frontier=frontier, say=say,
    )  # fmt: skip
    return advice if alone.order.stuck else alone


def unmoved(state: ClusterState) -> Advice:
    """The advice to move nothing, where nothing has to: what is idle can go at once."""
    in_use = workers_in_use(state, {n: pod.node for n, pod in enumerate(state.pods)})
    cost, nodes = price_of(state, frozenset(in_use)), frozenset(node.name for node in state.nodes)
    nothing = Packing(capacity=[[1]], demand=[[1]], request=[1], servers=[1])  # type: ignore[arg-type]
    return Advice(
        state=state, in_use=in_use, nodes_found=len(in_use), freed=(), targets={},
        order=Ordered((), {}), left_pending={}, reason="nothing could move",
        translation=Translation(nothing, (), (), 0, node_costs(state), 0),
        waiting=tuple(n for n, pod in enumerate(state.pods) if pod.role is Role.PENDING),
        idle=idle_nodes(state), cost=cost, cost_now=price_of(state, nodes - state.hosts_off),
        cost_lower_bound=cost, cost_lower_bound_pinned=cost,
    )  # fmt: skip


def _cheapest(plans: list[Translation], work: SolveBudget, aim: str) -> list[Found]:
    """The cheapest answer of each plan; what runs now is one of the first, whatever is found."""
    present = as_it_is(plans[0])
    starts = [present, None]
    answers = [
        work.find(aim, 3, least_cost, plan, start)
        for plan, start in zip(plans, starts, strict=False)
    ]
    now, first = cost_of(plans[0], present), answers[0]
    if first.value is None or now < first.value:
        answers[0] = replace(first, value=now, count=present)
    return answers


def _bounds(
    state: ClusterState,
    relaxed: Translation,
    waiting: int,
    totals: tuple[int, int],
    work: SolveBudget,
) -> tuple[int, dict[str, Any]]:
    """The least that nodes cost while the pinned pods stay, and what is proved as fields of an
    advice: from bounds on the total of any plan, and of one in which the pinned pods stay.
    """
    costs, (lower, _) = relaxed.costs, totals
    # a bound on the cost is one of the plans that leave as many waiting
    needed, pinned = (cost if number == waiting else 0 for number, cost in map(costs.split, totals))
    if costs.split(lower)[0] < waiting:  # with so many that wait, what nodes are needed at least?
        scale = waiting + 1
        free = with_waiting(relaxed, waiting, scale)
        total = work.bound("a bound on the nodes", 4, cost_needed, free)
        needed = max(needed, -((waiting - total) // scale))
    pinned = max(needed, pinned)
    name, amount = ("cost", costs.money) if state.priced else ("nodes", int)
    return pinned, {
        "waiting_lower_bound": costs.split(lower)[0],
        "waiting_lower_bound_pinned": costs.split(totals[1])[0],
        f"{name}_lower_bound": amount(needed),
        f"{name}_lower_bound_pinned": amount(pinned),
    }


def _frontier(
    plan: Translation, waiting: int, points: int, seconds: float | None
) -> tuple[PricePoint, ...]:
    """The fewest moves by nodes in use, or by what they cost, while the pinned pods stay; without
    bounds where the plan keeps more than is asked for.
    """
    limits = price_frontiers(plan.instance, time_limit=seconds, points=points)
    return tuple(
        replace(
            point,
            limit=point.limit - plan.kept_cost - waiting,
            bound=None if plan.tightened else point.bound,
        )
        for each in limits
        for point in each.points
        if point.limit is not None
    )


def require_kinds(released: Collection[str]) -> None:
    """Raise InvalidOption for the first kind that cannot be released."""
    for kind in released:
        if kind not in RELEASED:
            raise InvalidOption(
                f"release is {kind!r}; expected one of {', '.join(RELEASED)}: reasons that hold "
                "pods in place, and that you have checked"
            )


def plans_of(
    state: ClusterState, released: Collection[str], emptied: Collection[str] = (), **asked: bool
) -> list[Translation]:
    """The translations a plan may answer: what is broken now is left alone, or repaired. `asked` is
    what else `translate` takes.
    """
    settings: dict[str, Any] = dict(asked)
    left = translate(state, ignored_pin_reasons=released, drained_nodes=emptied, **settings)
    if not left.violated_rules:
        return [left]
    settings["repair"] = True
    try:
        repaired = translate(state, ignored_pin_reasons=released, drained_nodes=emptied, **settings)
    except InvalidInstance:  # some of it can be nowhere without breaking a rule
        return [left]
    return [left, repaired]


def fewest(answers: Iterable[Found]) -> Found | None:
    """The answer with the fewest moves, of those that are some; its bound is one of them all."""
    possible = [one for one in answers if not one.infeasible]
    some = [one for one in possible if one.count is not None]
    if not some:
        return None
    best = min(some, key=lambda one: one.value or 0)
    return replace(best, bound=min(one.bound for one in possible))


def plan_advice(
    state: ClusterState,
    released: Collection[str],
    answer: Found,
    work: SolveBudget,
    *,
    pending: bool | None,
    together: bool = False,
    **proved: Any,
) -> Advice:
    """The plan of a placement: who moves where, in which order, which pending pods have a place
    then (nothing is said of them where `pending` is None); checked. Where rules are tightened, the
    bound while the pinned pods stay is that of any plan. With `together` all pending pods are to
    have one: nodes are for them, none is freed, and how many fit now is not asked.
    """
    plan, count = answer.plan, answer.count
    assert count is not None
    in_use = workers_in_use(state, {n: pod.node for n, pod in enumerate(state.pods)})
    places = targets_of(state, plan, count)
    targets = {n: name for n, name in places.items() if state.pods[n].placed}
    free = proved.get("moves_lower_bound", 0)
    if len(targets) > answer.bound:
        work.cut.append("the search for fewer moves")
    moves = f"{len(targets)} move{'s' * (len(targets) != 1)}"
    work.say(f"an order of {moves}")
    order = ordered(state, targets, released, work.whole)
    where = {n: pod.node for n, pod in enumerate(state.pods) if pod.placed} | targets
    unplaced = [n for n, pod in enumerate(state.pods) if pod.role is Role.PENDING]
    unplaced = [] if pending is None else unplaced
    fitting, asked = Fitting({}, len(unplaced)), vouched(state, released)
    arrivals: dict[int, str] = {}
    if unplaced:
        if not together:
            fitting = work.part(
                "what fits now", lambda: most_that_fit(asked, work.share(1)), fitting
            )
        arrivals = dict(fitting.arrivals)
        if not order.stuck:
            arrivals = _arrivals(asked, where, places, bool(pending))
    kept = workers_in_use(state, where | arrivals)
    freed = tuple(name for name in in_use if name not in kept and not together)
    reserved = tuple(sorted({*arrivals.values()} - {*targets.values()})) if together else ()
    work.say(f"checking {moves}")
    with deferred() as put_off:
        # whatever it takes
        check_waves(
            state, order.waves, freed=() if order.stuck else freed, released=released,
            arrivals=arrivals,
        )  # fmt: skip
        if not order.stuck:
            check_arrivals(asked, where, arrivals)
        work.interrupted |= order.cut == "interrupted" or put_off.interrupted
    if order.cut:
        work.cut.append(f"the order of moves ({len(order.stuck)} are in no wave)")
    left_over: dict[str, tuple[int, ...]] = {}
    # it knows requests only
    for scoring in SCORINGS if state.platform == "kubernetes" and not state.counted else ():
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
    proved["moves_lower_bound_pinned"] = free if plan.tightened else max(free, answer.bound)
    return Advice(
        state=state, in_use=in_use, nodes_found=len(kept), freed=freed, targets=targets,
        order=order, translation=plan,
        repaired_rules=plan.violated_rules if plan.repairs else (), left_pending=left_over,
        arrivals=arrivals, waiting=tuple(n for n in unplaced if n not in arrivals),
        fit_now=len(fitting.arrivals), fit_now_upper_bound=fitting.upper_bound,
        idle=idle_nodes(state), cost=price_of(state, frozenset(kept)),
        cost_now=price_of(state, frozenset(node.name for node in state.nodes) - state.hosts_off),
        cut=tuple(work.cut), interrupted=work.interrupted, reserved=reserved if targets else (),
        **proved,
    )  # fmt: skip


def _arrivals(
    state: ClusterState, where: dict[int, str], places: Mapping[int, str], spare: bool
) -> dict[int, str]:
    """The pending pods that have a node once the others are where `where` says: that of the
    placement, or any that takes it, in use before idle, cheap before dear; without `spare` in use.
    """
    scheduler = Scheduler(state, where)
    planned = {n: name for n, name in places.items() if state.pods[n].role is Role.PENDING}
    arrivals = arrivals_in_order(scheduler, planned)
    emptied = set(workers_in_use(state, {n: pod.node for n, pod in enumerate(state.pods)}))
    kept = workers_in_use(state, where | arrivals)
    rest = [n for n in can_arrive(state) if n not in arrivals]
    if not spare:
        return arrivals | admitted(scheduler, rest, kept)
    others = [node for node in state.nodes if node.name not in {*kept, *emptied}]
    others.sort(key=lambda node: 0 if node.committed else node.price or 0)
    return arrivals | admitted(scheduler, rest, [*kept, *(node.name for node in others)])


def _reason(relaxed: Translation, waiting: int, nodes_lower_bound: int) -> str:
    """Why no fewer nodes can do, where it can be said in a few words."""
    if waiting:
        return "no placement on fewer"
    instance, keepers = relaxed.instance, relaxed.control_plane_in_use
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
    """The fewest servers whose capacities of a resource add up to what is wanted of it."""
    wanted = int(instance.requested.astype(np.int64) @ instance.demand[:, j])
    rooms = sorted(instance.capacity[instance.server_class, j].tolist(), reverse=True)
    totals = enumerate(accumulate(rooms, initial=0))
    return next((number for number, room in totals if room >= wanted), len(rooms))
