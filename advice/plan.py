"""From a state to advice: how many nodes are enough, which can go, with which moves, and what is
proved of it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from ..analysis.frontier import PricePoint
from ..analysis.packing.frontier import price_frontiers
from ..instances.packing.instance import Integers, Packing
from ..instances.problem.errors import InvalidInstance, InvalidOption
from ..instances.problem.option_types import validate_options
from ..instances.problem.renamed import old_attributes
from ..solvers.interrupts import deferred
from .costs import NodeCosts, price_of
from .default_scheduler import SCORINGS, left_pending
from .disruption import Step, least_sum
from .optimum import Found, cost_needed, fewest_moves, least_cost, moves_needed
from .order import Ordered, ordered
from .pending import Fitting, admitted, arrivals_in_order, can_arrive, most_that_fit
from .placing import (
    as_it_is,
    cost_of,
    idle_nodes,
    moves_of,
    settled,
    targets_of,
    with_waiting,
    workers_in_use,
)
from .scheduler_filters import Scheduler, check_arrivals, check_waves
from .solve_budget import SOLVING, Say, SolveBudget
from .state import ClusterState, Role
from .to_packing import RELEASED, Reason, Translation, translate

SECONDS = 60.0
"""For everything after reading, when nothing else is said."""


@dataclass(frozen=True)
class Advice:
    """What can be said of a state.

    Attributes
    ----------
    state : what it is of.
    in_use : workers that hold something now, besides what belongs to every node.
    nodes_found : as many of them hold everything in the plan.
    nodes_lower_bound : no plan of any kind needs fewer; 0 where nothing is known.
    nodes_lower_bound_pinned : the same while the pinned pods stay.
    freed : nodes that the plan empties.
    targets : new node of every pod that moves, by its place in the state.
    moves_lower_bound, moves_lower_bound_pinned : no plan with `nodes_found` nodes moves fewer pods:
        of any kind, and while the pinned pods stay.
    order : the moves in waves.
    translation : the instance that the plan answers.
    dropped : rules that the bound does not know, in words.
    repaired_rules : rules broken as it stands that the plan repairs.
    reason : why no fewer nodes can do, in words.
    left_pending : by scoring of the default scheduler: pods that stay pending if it places the
        evicted ones itself.
    """

    state: ClusterState
    in_use: tuple[str, ...]
    nodes_found: int
    nodes_lower_bound: int
    nodes_lower_bound_pinned: int
    freed: tuple[str, ...]
    targets: Mapping[int, str]
    moves_lower_bound: int
    moves_lower_bound_pinned: int
    order: Ordered
    translation: Translation
    dropped: tuple[str, ...]
    repaired_rules: tuple[str, ...]
    reason: str
    left_pending: Mapping[str, tuple[int, ...]]
    frontier: tuple[PricePoint, ...] = ()
    """What freeing fewer nodes costs: by limit on the nodes in use, the pods that move."""
    arrivals: Mapping[int, str] = field(default_factory=dict)
    """The node that each pending pod has after the moves, by its place in the state, in an order in
    which every filter passes."""
    waiting: tuple[int, ...] = ()
    """Pending pods without a place, by their place in the state."""
    waiting_lower_bound: int = 0
    """No plan leaves fewer waiting."""
    waiting_lower_bound_pinned: int = 0
    """The same while the pinned pods stay."""
    fit_now: int = 0
    """Pending pods that fit together while nothing moves."""
    fit_now_upper_bound: int = 0
    """No more of them do."""
    idle: tuple[str, ...] = ()
    """Nodes that hold nothing but pods of their own."""
    cost: Fraction | None = None
    """What the nodes in use cost after the plan; None without prices."""
    cost_now: Fraction | None = None
    """What all nodes cost now, without hosts that are off."""
    cost_lower_bound: Fraction | None = None
    """No plan that leaves as few pods waiting costs less."""
    cost_lower_bound_pinned: Fraction | None = None
    """The same while the pinned pods stay."""
    disruption: Fraction | None = None
    """The price of a move, where money and moves are one sum."""
    total_lower_bound: Fraction | None = None
    """No plan sums up to less while the pinned pods stay."""
    cut: tuple[str, ...] = ()
    """What was cut short, in words: by the time limit, or by an interrupt."""
    interrupted: bool = False
    why_not: tuple[Mapping[str, Any], ...] = ()
    """What each reason that holds pods in place costs, where that was asked (`dearest_pins`)."""

    if not TYPE_CHECKING:
        __getattr__ = old_attributes(
            {
                "enough": "nodes_found",
                "needed": "nodes_lower_bound",
                "needed_pinned": "nodes_lower_bound_pinned",
                "fewest": "moves_lower_bound",
                "fewest_pinned": "moves_lower_bound_pinned",
                "mended": "repaired_rules",
            }
        )

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
                    {
                        "pod": pods[move.pod].title,
                        "to": move.node,
                        "temporary": move.temporary,
                    }
                    for move in wave
                ]
                for wave in self.order.waves
            ],
            "pending": {
                "arrivals": {pods[n].title: name for n, name in self.arrivals.items()},
                "waiting": [pods[n].title for n in self.waiting],
                "fit_now": self.fit_now,
            },
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
    work = SolveBudget(time_limit, say, parts=2 if frontier else 1)
    aim = f"the {'cheapest' if state.priced else 'fewest'} nodes"
    plans = plans_of(state, released, pending=pending)
    relaxed = translate(state, for_bound=True, ignored_pin_reasons=released, pending=pending)
    lower_bound = work.part(
        "a bound on the nodes",
        lambda report: cost_needed(relaxed.instance, work.share(5), report), 0,
    )  # fmt: skip
    present = as_it_is(plans[0])
    answers = [
        work.find(
            aim,
            lambda report, plan=plan, start=start: least_cost(  # type: ignore[misc]
                plan.instance, work.share(3), start, report
            ),
        )
        for plan, start in zip(plans, (present, None), strict=False)
    ]
    # what runs now is an answer of the first plan, whatever else was found
    now = cost_of(plans[0], present)
    # plans may differ in the control-plane nodes that count: workers are compared
    values = [
        None if one.value is None else one.value - plan.kept_cost
        for plan, one in zip(plans, answers, strict=True)
    ]
    if values[0] is None or now < values[0]:
        values[0], answers[0] = now, replace(answers[0], value=now, count=present)
    best = min(value for value in values if value is not None)
    costs = relaxed.costs
    waiting, cost = costs.split(best)
    bounds = _Bounds(
        waiting,
        costs.split(max(0, lower_bound - relaxed.kept_cost)),
        costs.split(
            max(
                0,
                min(
                    one.bound - plan.kept_cost
                    for plan, one in zip(plans, answers, strict=True)
                    if not one.infeasible
                ),
            )
        ),
        any(plan.tightened for plan in plans),
    )
    if bounds.relaxed[0] < waiting:  # with so many that wait, what nodes are needed at least?
        scale = waiting + 1
        free = with_waiting(relaxed, waiting, scale)
        least = work.part(
            "a bound on the nodes",
            lambda report: cost_needed(free.instance, work.share(4), report), 0,
        )  # fmt: skip
        bounds.settle(-((waiting - least) // scale) - relaxed.kept_cost)
    relaxed = with_waiting(relaxed, waiting)
    unplaced = sum(pod.role is Role.PENDING for pod in state.pods)
    outside = unplaced - plans[0].waiting_servers if pending else 0
    chosen, count, moves_lower_bound_pinned = _least_moves(plans, answers, values, best, work)
    total: dict[str, Any] = {}
    if disruption is not None:
        work.say("the least sum of money and moves")
        first = Step(costs.limit(cost), count, moves_of(chosen, count), moves_lower_bound_pinned)
        step, least_total = least_sum(
            chosen, first, bounds.cost_pinned, disruption, work.solving, work.say
        )  # fmt: skip
        count, moves_lower_bound_pinned = step.count, step.bound
        cost = cost_of(chosen, count) - chosen.waiting_servers
        total = {
            "disruption": disruption,
            "total_lower_bound": least_total * (len(plans) == 1 and not bounds.tightened),
        }
    # with every rule dropped, as many nodes cannot be reached with fewer moves
    unpinned = work.part(
        "a bound on the moves",
        lambda report: moves_needed(
            relaxed.instance, costs.limit(cost) + waiting + relaxed.kept_cost, work.share(1), report
        ), 0,
    )  # fmt: skip
    points: tuple[PricePoint, ...] = ()
    if frontier:
        seconds = work.whole.time_slice(1 / SOLVING)
        points = work.part(
            "the frontier", lambda _: _frontier(chosen, waiting, frontier, seconds), ()
        )
    if (waiting, costs.split(best)[1]) > (
        bounds.searched[0],
        costs.limit(bounds.searched[1]),
    ):
        work.cut.append(f"the search for {'cheaper' if state.priced else 'fewer'} "
                        f"{state.host_noun}s")  # fmt: skip
    return plan_advice(
        state, released, chosen, plans[0], count, work, pending=pending,
        moves_lower_bound=unpinned, moves_lower_bound_pinned=moves_lower_bound_pinned,
        reason=_reason(relaxed, waiting, bounds.cost) if not state.priced else "",
        dropped=relaxed.dropped, frontier=points, **bounds.fields(state, costs, outside), **total,
    )  # fmt: skip


class _Bounds:
    """What is proved of pods that wait and of the cost of nodes, whatever the plan, and while the
    pinned pods stay.
    """

    def __init__(
        self, waiting: int, relaxed: tuple[int, int], pinned: tuple[int, int], tightened: bool
    ) -> None:
        self.waiting, self.relaxed = waiting, relaxed
        self.tightened, self.searched = tightened, max(relaxed, pinned)
        self.best_pinned = relaxed if tightened else self.searched
        # a bound on the cost holds for plans that leave as many pods waiting
        self.cost = relaxed[1] if relaxed[0] == waiting else 0

    def settle(self, cost: int) -> None:
        """A bound on the cost of nodes where no more pods wait than in the plan."""
        self.cost = max(self.cost, cost)

    @property
    def cost_pinned(self) -> int:
        """The bound on the cost while the pinned pods stay."""
        waiting, cost = self.best_pinned
        return max(self.cost, cost if waiting == self.waiting else 0)

    def fields(self, state: ClusterState, costs: NodeCosts, outside: int) -> dict[str, Any]:
        """The fields of an advice that they give, where so many pods wait besides, whatever the
        plan.
        """
        waiting = {
            "waiting_lower_bound": self.relaxed[0] + outside,
            "waiting_lower_bound_pinned": self.best_pinned[0] + outside,
        }
        if state.priced:
            return waiting | {
                "nodes_lower_bound": 0,
                "nodes_lower_bound_pinned": 0,
                "cost_lower_bound": costs.money(self.cost),
                "cost_lower_bound_pinned": costs.money(self.cost_pinned),
            }
        return waiting | {
            "nodes_lower_bound": self.cost,
            "nodes_lower_bound_pinned": self.cost_pinned,
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


def _least_moves(
    plans: list[Translation],
    answers: list[Found],
    values: list[int | None],
    best: int,
    work: SolveBudget,
) -> tuple[Translation, Integers, int]:
    """Of the plans that cost no more the one with the fewest moves, what it puts where, and how
    many moves each of them needs at least.
    """
    waiting, cost = plans[0].costs.split(best)
    limit = plans[0].costs.limit(cost) + waiting
    found: list[tuple[Translation, Integers]] = []
    bounds = []
    for plan, answer, value in zip(plans, answers, values, strict=True):
        if value != best or answer.count is None:
            continue
        fixed = with_waiting(plan, waiting)
        known = replace(answer, count=settled(plan, answer.count))
        one = work.find(
            "the fewest moves",
            lambda report, fixed=fixed, known=known: fewest_moves(  # type: ignore[misc]
                fixed.instance, limit + fixed.kept_cost, work.share(2), known, report
            ),
        )
        bounds.append(one.bound)
        found += [(fixed, each.count) for each in (one, known) if each.count is not None]
    plan, count = min(
        (one for one in found if cost_of(*one) <= limit),
        key=lambda one: moves_of(*one),
    )
    return plan, count, min(bounds)


def plan_advice(
    state: ClusterState,
    released: Collection[str],
    chosen: Translation,
    left_alone: Translation,
    count: Integers,
    work: SolveBudget,
    *,
    pending: bool | None,
    **proved: Any,
) -> Advice:
    """The plan of a placement: who moves where, in which order, which pending pods have a place
    then (nothing is said of them where `pending` is None); checked. Where rules are tightened, the
    bound while the pinned pods stay is that of any plan.
    """
    in_use = workers_in_use(state, {n: pod.node for n, pod in enumerate(state.pods)})
    places = targets_of(state, chosen, count)
    targets = {n: name for n, name in places.items() if state.pods[n].placed}
    searched = proved["moves_lower_bound_pinned"]
    if chosen.tightened:
        proved["moves_lower_bound_pinned"] = proved["moves_lower_bound"]
    if len(targets) > searched:
        work.cut.append("the search for fewer moves")
    moves = f"{len(targets)} move{'s' * (len(targets) != 1)}"
    work.say(f"an order of {moves}")
    order = ordered(state, targets, released, work.whole)
    where = {n: pod.node for n, pod in enumerate(state.pods) if pod.placed} | targets
    unplaced = [n for n, pod in enumerate(state.pods) if pod.role is Role.PENDING]
    unplaced = [] if pending is None else unplaced
    fitting = Fitting({}, 0)
    arrivals: dict[int, str] = {}
    if unplaced:
        fitting = work.part(
            "what fits now", lambda _: most_that_fit(state, work.share(1)),
            Fitting({}, len(unplaced)),
        )  # fmt: skip
        arrivals = (
            dict(fitting.arrivals)
            if order.stuck
            else _arrivals(state, where, places, bool(pending))
        )
    kept = workers_in_use(state, where | arrivals)
    freed = tuple(name for name in in_use if name not in kept)
    work.say(f"checking {moves}")
    with deferred() as put_off:
        check_waves(
            state, order.waves, freed=() if order.stuck else freed, released=released
        )  # whatever it takes
        if not order.stuck:
            check_arrivals(state, where, arrivals, released)
        work.interrupted |= order.cut == "interrupted" or put_off.interrupted
    if order.cut:
        work.cut.append(f"the order of moves ({len(order.stuck)} are in no wave)")
    left_over: dict[str, tuple[int, ...]] = {}
    if state.platform == "kubernetes" and not state.counted:  # it knows requests only
        for scoring in SCORINGS:
            left = work.part(
                "playing the default scheduler",
                lambda _, scoring=scoring: left_pending(  # type: ignore[misc]
                    state, order.waves, freed, scoring, work.whole
                ),
                None,
            )
            if left is None:
                work.cut.append(f"playing the default scheduler ({scoring})")
            else:
                left_over[scoring] = tuple(left)
    return Advice(
        state=state, in_use=in_use, nodes_found=len(kept), freed=freed, targets=targets,
        order=order, translation=chosen,
        repaired_rules=chosen.violated_rules if chosen is not left_alone else (),
        left_pending=left_over,
        arrivals=arrivals, waiting=tuple(n for n in unplaced if n not in arrivals),
        fit_now=len(fitting.arrivals), fit_now_upper_bound=fitting.upper_bound,
        idle=idle_nodes(state), cost=price_of(state, frozenset(kept)),
        cost_now=price_of(state, frozenset(node.name for node in state.nodes) - state.hosts_off),
        cut=tuple(work.cut), interrupted=work.interrupted, **proved,
    )  # fmt: skip


def _arrivals(
    state: ClusterState, where: dict[int, str], places: Mapping[int, str], spare: bool
) -> dict[int, str]:
    """The pending pods that have a node once the others are where `where` says: the node of the
    placement, or for what no instance models any that takes it, in use before idle, cheap before
    dear; only one in use without `spare`.
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
    rooms = sorted(instance.capacity[instance.server_class, j].tolist(), reverse=True)
    wanted = int(instance.requested.astype(np.int64) @ instance.demand[:, j])
    for number, room in enumerate(rooms):
        if wanted <= 0:
            return number
        wanted -= room
    return len(rooms)
