"""From a state to advice: how many nodes are enough, which can go, with which moves, and what is
proved of it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ..analysis.frontier import PricePoint
from ..analysis.packing.frontier import price_frontiers
from ..instances.packing.instance import Integers, Packing
from ..instances.packing.placement_constraints import present_counts
from ..instances.problem.errors import InvalidInstance, InvalidOption, UnknownName
from ..instances.problem.option_types import validate_options
from ..instances.problem.renamed import old_attributes
from ..solvers.interrupts import deferred
from ..solvers.outcome import Clock, Report
from .default_scheduler import SCORINGS, left_pending
from .optimum import Found, fewest_moves, fewest_nodes, moves_needed, nodes_needed
from .order import Ordered, ordered
from .scheduler_filters import Scheduler, check_waves
from .state import ClusterState, Role
from .to_packing import RELEASED, Reason, Translation, translate

SECONDS = 60.0
"""For everything after reading, when nothing else is said."""

SOLVING = 0.9
"""The part of the time for fewest nodes and moves; the rest is for order and check."""

Say = Callable[[str], None]
"""Progress, in a few words."""

_Any = TypeVar("_Any")


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
    cut: tuple[str, ...] = ()
    """What was cut short, in words: by the time limit, or by an interrupt."""
    interrupted: bool = False

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
    def proved(self) -> bool:
        """Whether no plan of any kind uses fewer nodes."""
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
            "frontier": [
                {"nodes": point.limit, "moves": point.value, "fewest": point.bound}
                for point in self.frontier
            ],
            "cut_short": list(self.cut),
            "not_ordered": {pods[n].title: list(why) for n, why in self.order.stuck.items()},
            "left_pending": {
                scoring: [pods[n].title for n in them]
                for scoring, them in self.left_pending.items()
            },
            "certificate": {
                "needed": self.nodes_lower_bound,
                "needed_while_pinned_stay": self.nodes_lower_bound_pinned,
                "fewest_moves": self.moves_lower_bound,
                "fewest_moves_while_pinned_stay": self.moves_lower_bound_pinned,
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
    frontier: int = 0,
    say: Say = lambda words: None,
) -> Advice:
    """How many nodes are enough, which can go, and the fewest moves to that.

    Ctrl-C keeps the best plan so far, in an order, checked (the second one ends it).

    Parameters
    ----------
    time_limit : seconds for everything; None for no limit. What runs now is translated, and a plan
        is checked, whatever that takes.
    released : kinds of `to_packing.RELEASED` for which no pod is pinned.
    frontier : so many numbers of nodes, from as few as can be to those in use now, each with the
        fewest pods that move to it; at least 2, or 0 for none. Half of the time is for them.
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
    work = _SolveBudget(time_limit, say, parts=2 if frontier else 1)
    plans = _plans(state, released)
    relaxed = translate(state, for_bound=True, ignored_pin_reasons=released)
    nodes_lower_bound = work.part(
        "a bound on the nodes",
        lambda report: nodes_needed(relaxed.instance, work.share(5), report), 0,
    )  # fmt: skip
    found = [
        work.find(
            "the fewest nodes",
            lambda report, plan=plan: fewest_nodes(plan.instance, work.share(3), report),  # type: ignore[misc]
        )
        for plan in plans
    ]
    # what runs now is an answer of the first plan, whatever else was found
    now = _servers(present_counts(plans[0].instance)) - plans[0].control_plane_in_use
    # plans may differ in the control-plane nodes that count: workers are compared
    values = [
        None if one.value is None else one.value - plan.control_plane_in_use
        for plan, one in zip(plans, found, strict=True)
    ]
    values[0] = now if values[0] is None else min(values[0], now)
    best = min(value for value in values if value is not None)
    chosen, moves, moves_lower_bound_pinned = _least_moves(plans, found, values, best, work)
    nodes_lower_bound = max(0, nodes_lower_bound - relaxed.control_plane_in_use)
    pinned = min(
        one.bound - plan.control_plane_in_use
        for plan, one in zip(plans, found, strict=True)
        if not one.infeasible
    )
    # with every rule dropped, as many nodes cannot be reached with fewer moves
    unpinned = work.part(
        "a bound on the moves",
        lambda report: moves_needed(
            relaxed.instance, best + relaxed.control_plane_in_use, work.share(1), report
        ), 0,
    )  # fmt: skip
    points: tuple[PricePoint, ...] = ()
    if frontier:
        seconds = work.whole.time_slice(1 / SOLVING)
        points = work.part("the frontier", lambda _: _frontier(chosen, frontier, seconds), ())
    if best > pinned:
        work.cut.append(f"the search for fewer {state.host_noun}s")
    return _advice(
        state, released, chosen, plans[0], moves, work,
        nodes_lower_bound=nodes_lower_bound,
        nodes_lower_bound_pinned=max(nodes_lower_bound, pinned), moves_lower_bound=unpinned,
        moves_lower_bound_pinned=moves_lower_bound_pinned,
        reason=_reason(relaxed, nodes_lower_bound), dropped=relaxed.dropped,
        frontier=points,
    )  # fmt: skip


class _SolveBudget:
    """The time of an advice, its progress, and whether it was interrupted: then only what makes a
    plan of what was found is still done.
    """

    def __init__(self, time_limit: float | None, say: Say, parts: int = 1) -> None:
        self.whole, self.say = Clock(time_limit), say
        self.solving = Clock(None if time_limit is None else SOLVING * time_limit / parts)
        self.interrupted = False
        self.cut: list[str] = []

    def share(self, parts: float) -> float | None:
        """Seconds for one of so many parts of the solving to come."""
        return self.solving.time_slice(parts)

    def part(self, words: str, work: Callable[[Report], _Any], otherwise: _Any) -> _Any:
        """What a part of the work returns; something else after an interrupt."""
        if self.interrupted:
            return otherwise
        self.say(words)
        try:
            return work(self._reporting(words))
        except KeyboardInterrupt:
            self.interrupted = True
            return otherwise

    def find(self, words: str, work: Callable[[Report], Found]) -> Found:
        """The same of a search that returns its best answer when it is interrupted."""
        found = self.part(words, work, Found(None, 0, None))
        self.interrupted |= found.interrupted
        return found

    def _reporting(self, words: str) -> Report:
        def report(
            seconds: float, objective: float | None, bound: float | None, text: str = ""
        ) -> None:
            value = "none yet" if objective is None else f"{objective:.0f}"
            least = "" if bound is None else f", at least {bound:.0f}"
            self.say(f"{words}: {value}{least}")

        return report


def _frontier(plan: Translation, points: int, seconds: float | None) -> tuple[PricePoint, ...]:
    """The fewest moves by nodes in use, while the pinned pods stay."""
    found = price_frontiers(plan.instance, time_limit=seconds, points=points)
    return tuple(
        replace(point, limit=point.limit - plan.control_plane_in_use)
        for each in found
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


def _plans(
    state: ClusterState, released: Collection[str], emptied: Collection[str] = ()
) -> list[Translation]:
    """The translations a plan may answer: what is broken now is left alone, or repaired."""
    left = translate(state, ignored_pin_reasons=released, drained_nodes=emptied)
    if not left.violated_rules:
        return [left]
    try:
        return [
            left,
            translate(state, repair=True, ignored_pin_reasons=released, drained_nodes=emptied),
        ]
    except InvalidInstance:  # some of it can be nowhere without breaking a rule
        return [left]


def _least_moves(
    plans: list[Translation],
    nodes: list[Found],
    values: list[int | None],
    best: int,
    work: _SolveBudget,
) -> tuple[Translation, Integers, int]:
    """Of the plans with so few workers the one with the fewest moves, what it puts where, and how
    many moves each of them needs at least.
    """
    found = [
        (
            plan,
            work.find(
                "the fewest moves",
                lambda report, plan=plan, known=known: fewest_moves(  # type: ignore[misc]
                    plan.instance, best + plan.control_plane_in_use, work.share(2), known, report
                ),
            ),
            known,
        )
        for plan, known, value in zip(plans, nodes, values, strict=True)
        if value == best
    ]
    bound = min(one.bound for _, one, _ in found)
    # interrupted before: what holds all on so few
    found = [(plan, known if one.value is None else one, known) for plan, one, known in found]
    answers = [
        (moves_of(plan, one.count), place)
        for place, (plan, one, _) in enumerate(found)
        if one.count is not None and _servers(one.count) - plan.control_plane_in_use <= best
    ]
    if not answers:  # out of time: nothing moves
        return plans[0], present_counts(plans[0].instance), bound
    plan, one, _ = found[min(answers)[1]]
    assert one.count is not None
    return plan, one.count, bound


def _servers(count: Integers) -> int:
    """Servers in use."""
    return int(count.any(axis=1).sum())


def moves_of(plan: Translation, count: Integers) -> int:
    """Pods that leave their node in a placement (servers, types)."""
    return int(np.maximum(present_counts(plan.instance) - count, 0).sum())


def _advice(
    state: ClusterState,
    released: Collection[str],
    chosen: Translation,
    left_alone: Translation,
    count: Integers,
    work: _SolveBudget,
    **proved: Any,
) -> Advice:
    """The plan of a placement: who moves where, in which order, checked."""
    in_use = workers_in_use(state, {n: pod.node for n, pod in enumerate(state.pods)})
    targets = targets_of(state, chosen, count)
    where = {n: targets.get(n, pod.node) for n, pod in enumerate(state.pods)}
    kept = workers_in_use(state, where)
    freed = tuple(name for name in in_use if name not in kept)
    if len(targets) > proved["moves_lower_bound_pinned"]:
        work.cut.append("the search for fewer moves")
    moves = f"{len(targets)} move{'s' * (len(targets) != 1)}"
    work.say(f"an order of {moves}")
    order = ordered(state, targets, released, work.whole)
    work.say(f"checking {moves}")
    with deferred() as put_off:
        check_waves(
            state, order.waves, freed=() if order.stuck else freed, released=released
        )  # whatever it takes
        work.interrupted |= order.cut == "interrupted" or put_off.interrupted
    if order.cut:
        work.cut.append(f"the order of moves ({len(order.stuck)} are in no wave)")
    pending: dict[str, tuple[int, ...]] = {}
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
                pending[scoring] = tuple(left)
    return Advice(
        state=state, in_use=in_use, nodes_found=len(kept), freed=freed, targets=targets,
        order=order,
        translation=chosen,
        repaired_rules=chosen.violated_rules if chosen is not left_alone else (),
        left_pending=pending,
        cut=tuple(work.cut), interrupted=work.interrupted, **proved,
    )  # fmt: skip


def workers_in_use(state: ClusterState, where: Mapping[int, str]) -> tuple[str, ...]:
    """The workers that hold a pod which is no node's own, in the state's order."""
    occupied = {
        where[n] for n, pod in enumerate(state.pods) if pod.role in (Role.MOVABLE, Role.FIXED)
    }
    return tuple(node.name for node in state.nodes if node.can_be_drained and node.name in occupied)


def targets_of(state: ClusterState, plan: Translation, count: Integers) -> dict[int, str]:
    """The new node of every pod that moves: of equal pods as many stay as can."""
    found: dict[int, str] = {}
    names = [state.nodes[number].name for number in plan.nodes]
    zones = plan.instance.zone
    zone = dict.fromkeys((node.name for node in state.nodes), "")
    if zones:
        zone |= {n: zones[c] for n, c in zip(names, plan.instance.server_class, strict=True)}
    for row, pods in enumerate(plan.pods):
        here: dict[str, list[int]] = {}
        for number in pods:
            here.setdefault(state.pods[number].node, []).append(number)
        goes: list[int] = []
        comes: list[str] = []
        for name, number in zip(names, count[:, row].tolist(), strict=True):
            goes += here.get(name, [])[number:]
            comes += [name] * (number - len(here.get(name, [])))
        # within a zone where that can be: two that change zones would be in each other's way
        waiting: dict[str, list[str]] = {}
        for name in comes:
            waiting.setdefault(zone[name], []).append(name)
        abroad = []
        for pod in goes:
            if near := waiting.get(zone[state.pods[pod].node]):
                found[pod] = near.pop()
            else:
                abroad.append(pod)
        rest = [name for there in waiting.values() for name in there]
        found.update(zip(abroad, rest, strict=True))
    return found


def _reason(relaxed: Translation, nodes_lower_bound: int) -> str:
    """Why no fewer nodes can do, where it can be said in a few words."""
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
    work = _SolveBudget(time_limit, say)
    pods = tuple(n for n, pod in enumerate(state.pods) if pod.placed and pod.node == node)
    scheduler = Scheduler(state)
    refused = {
        n: {name: tuple(scheduler.refusals(n, name)) for name in names if name != node}
        for n in pods
        if state.pods[n].role is Role.MOVABLE
    }
    open_to = {n: tuple(name for name, why in by.items() if not why) for n, by in refused.items()}
    try:
        plans = _plans(state, released, [node])
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
                    plan.instance, len(plan.nodes), work.share(3), None, report
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
    advice = _advice(
        state, released, plan, plans[0], one.count, work, nodes_lower_bound=0,
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
        free = not fewest_moves(plan.instance, len(plan.nodes), seconds).infeasible
    except InvalidInstance:
        free = False
    return f"{'while the pinned pods stay' if free else 'whatever else moves'} (proved)"
