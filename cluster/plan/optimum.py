"""Packing methods applied to the packing instances of a question within one time budget, and the
conversion between placements and nodes of pods.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from ...catalog import find
from ...instances.packing.instance import Integers, Packing, Placement, check
from ...instances.packing.placement_constraints import present_counts, stays
from ...instances.problem.options import accepted
from ...solvers.outcome import Clock, Outcome, Report, Status, Stop
from ...solvers.packing.aggregate import aggregate_bound
from ...solvers.packing.moves import moves_bound
from ...solvers.packing.presolve import presolve
from ..state.state import ClusterState, Role
from .assembly import Translation


@dataclass(frozen=True)
class Found:
    """Placement, value and bound that one search found in a packing instance.

    Attributes
    ----------
    plan : the translation that is answered.
    value : what the workers in use and waiting pods cost, or moves; None without an answer.
    bound : no answer is below it.
    count : (servers, types) pods of each type on each server; None without an answer.
    infeasible : whether it is proved that there is none.
    """

    plan: Translation
    value: int | None = None
    bound: int = 0
    count: Integers | None = None
    infeasible: bool = False
    interrupted: bool = False


SOLVING = 0.9
"""The part of the time for fewest nodes and moves; the rest is for order and check."""

Say = Callable[[str], None]
"""Progress, in a few words."""

_Any = TypeVar("_Any")


class SolveBudget:
    """Time limit and progress of a question; after an interrupt only the steps that turn the
    incumbent into a plan still run.
    """

    def __init__(self, time_limit: float | None, say: Say) -> None:
        self.whole, self.say = Clock(time_limit), say
        self.solving = Clock(None if time_limit is None else SOLVING * time_limit)
        self.interrupted = False
        self.cut: list[str] = []

    def share(self, parts: float) -> float | None:
        """Seconds for one of `parts` equal parts of the remaining solve time."""
        return self.solving.time_slice(parts)

    def part(self, words: str, work: Callable[[], _Any], otherwise: _Any) -> _Any:
        """Run one step of a search and return its result, or `otherwise` after an interrupt."""
        if self.interrupted:
            return otherwise
        self.say(words)
        try:
            return work()
        except KeyboardInterrupt:
            self.interrupted = True
            return otherwise

    def find(
        self, words: str, parts: float, search: Callable[..., Found], plan: Translation, *asked: Any
    ) -> Found:
        """Run one search in one of `parts` equal parts of the time; return its incumbent if it is
        interrupted, and nothing after an earlier interrupt.
        """

        def work() -> Found:
            return search(plan, *asked, time_limit=self.share(parts), report=self.report(words))

        found = self.part(words, work, Found(plan))
        self.interrupted |= found.interrupted
        return found

    def report(self, words: str) -> Callable[..., None]:
        """Make a progress callback for a search, which puts a prefix before its messages."""

        def says(
            seconds: float, objective: float | None, bound: float | None, text: str = ""
        ) -> None:
            value = "none yet" if objective is None else f"{objective:.0f}"
            least = "" if bound is None else f", at least {bound:.0f}"
            self.say(f"{words}: {value}{least}")

        return says


TINY, SMALL = 400, 20_000
"""Servers times types up to which one declarative model decides at once, or where nothing else did:
it ends with a proof.
"""


def cost_needed(
    plan: Translation, time_limit: float | None = None, report: Report | None = None
) -> Found:
    """Lower bound on the cost of the worker nodes in use; the optimum where it is found quickly."""
    if plan.instance.has_constraints and _size(plan) > SMALL:
        problem, clock = presolve(plan.instance, costs=True), Clock(time_limit, report)
        bound = aggregate_bound(problem, clock, seconds=clock.time_slice()).bound
        return Found(plan, bound=max(0, bound - plan.kept_cost))
    return least_cost(plan, None, time_limit, report)


def moves_needed(
    plan: Translation, limit: int | None, quick: bool = False, time_limit: float | None = None,
    report: Report | None = None,
) -> Found:  # fmt: skip
    """Lower bound on the moves to a placement whose nodes cost at most `limit`. For small instances
    (with `quick`, for tiny ones) it is the minimum. Infeasible if no placement is so cheap.
    """
    if _size(plan) <= (TINY if quick else SMALL):
        return fewest_moves(plan, limit, None, time_limit, report)
    limits = {"servers": None} | _within(plan, limit)
    bound = moves_bound(plan.instance, seconds=time_limit, quick=quick, **limits)
    running = 0 if plan.instance.placed is None else int(plan.instance.placed[:, 2].sum())
    return Found(plan, bound=bound, infeasible=bound > running)


def _size(plan: Translation) -> int:
    return int(plan.instance.server_count.sum()) * plan.instance.types


def _uniform(instance: Packing) -> bool:
    return bool((instance.server_cost == 1).all())


def _within(plan: Translation, limit: int | None) -> dict[str, Any]:
    """Option of a packing method that limits the cost of the nodes: `servers` if each costs 1, else
    `cost`. With the limit None it allows all servers.
    """
    cost = int(plan.instance.server_count @ plan.instance.server_cost)
    cost = cost if limit is None else limit + plan.kept_cost
    return {"servers" if _uniform(plan.instance) else "cost": cost}


def least_cost(
    plan: Translation,
    start: Integers | None = None,
    time_limit: float | None = None,
    report: Report | None = None,
) -> Found:
    """Find the cheapest worker nodes that hold all pods, or the fewest if each costs 1; `start` is
    a placement (servers, types).
    """
    if not _uniform(plan.instance):
        return _found(plan, "min-cost", time_limit, report, start=start)
    clock, size, best = Clock(time_limit), _size(plan), Found(plan)
    if size > TINY:
        best = _found(plan, "min-servers", clock.time_slice(1 + (size <= SMALL)), report)
        if size > SMALL or best.infeasible or best.value == best.bound or best.interrupted:
            return best
    exact = _found(plan, "cp-sat", clock.time_slice(), report)
    if exact.infeasible:
        return exact
    some = [one for one in (best, exact) if one.value is not None]
    better = min(some, key=lambda one: one.value or 0, default=best)
    return replace(better, bound=max(best.bound, exact.bound), interrupted=exact.interrupted)


def fewest_moves(
    plan: Translation,
    limit: int | None,
    start: Integers | None = None,
    time_limit: float | None = None,
    report: Report | None = None,
) -> Found:
    """Find the placement with the fewest moves whose cost is at most `limit` (None: no limit);
    `start` is a placement (servers, types).
    """
    return _found(plan, "fewest-moves", time_limit, report, start=start, **_within(plan, limit))


def run(method: str, instance: Packing, **options: object) -> Outcome:
    """Run a method of packing and return its outcome."""
    function = find(Packing.problem, method).resolve()
    draws = accepted(function, {"rng": np.random.default_rng(0)})
    outcome: Outcome = function(instance, **draws, **options)
    return outcome


def _found(
    plan: Translation,
    method: str,
    time_limit: float | None,
    report: Report | None,
    start: Integers | None = None,
    **within: int,
) -> Found:
    """Run a method, check and recount its placement, and assign it to the servers such that most
    pods stay.
    """
    instance, options = plan.instance, dict[str, object](within)
    if start is not None:
        used = np.flatnonzero(start.any(axis=1))
        options["start"] = Placement(start[used], instance.server_class[used])
    outcome = run(method, instance, time_limit=time_limit, report=report, **options)
    placement, spent = outcome.solution, 0 if within else plan.kept_cost
    found = Found(
        plan, None, max(0, int(outcome.bound or 0) - spent), None,
        outcome.status is Status.INFEASIBLE, outcome.stop is Stop.INTERRUPTED,
    )  # fmt: skip
    if not isinstance(placement, Placement):
        return found
    check(instance, placement)
    on, left = stays(instance, placement.count, placement.server_class)
    count = np.zeros((int(instance.server_count.sum()), instance.types), dtype=np.int64)
    count[on] = placement.count
    return replace(found, value=left if within else cost_of(plan, count), count=count)


def workers_in_use(state: ClusterState, where: Mapping[int, str]) -> tuple[str, ...]:
    """Names of the worker nodes with a pod that is not tied to its node (as a DaemonSet's is),
    finished or being deleted. `where` has the node of each pod by its index.
    """
    own = (Role.RESIDENT, Role.LEAVING, Role.FINISHED)
    occupied = {node for n, node in where.items() if state.pods[n].role not in own}
    return tuple(node.name for node in state.nodes if node.can_be_drained and node.name in occupied)


def idle_nodes(state: ClusterState) -> tuple[str, ...]:
    """Names of the worker nodes that can be freed without a move: all but `workers_in_use`."""
    used = {*workers_in_use(state, state.where)}
    return tuple(node.name for node in state.nodes if node.can_be_drained and node.name not in used)


def targets_of(state: ClusterState, plan: Translation, count: Integers) -> dict[int, str]:
    """New node of every pod that moves and of every pending pod that is placed; of equal pods as
    many as possible stay.

    Parameters
    ----------
    count : (servers, types) pods on each server of the instance.
    """
    targets: dict[int, str] = {}
    names = [state.nodes[number].name for number in plan.nodes]
    zones = plan.instance.zone
    zone = dict.fromkeys(["", *(node.name for node in state.nodes)], "")
    if zones:
        classes = plan.instance.server_class[: len(names)]
        zone |= {n: zones[c] for n, c in zip(names, classes, strict=True)}
    for row, pods in enumerate(plan.pods):
        # 1. Of each node the pods of this type beyond their number there leave it.
        here: dict[str, list[int]] = {}  # the pods of this type by node, "" for pending ones
        for number in pods:
            here.setdefault(state.pods[number].node, []).append(number)
        leaving: list[int] = []
        coming: list[str] = []  # a node as often as further pods come to it
        for name, number in zip(names, count[: len(names), row].tolist(), strict=True):
            leaving += here.get(name, [])[number:]
            coming += [name] * (number - len(here.get(name, [])))
        leaving += here.get("", [])
        # 2. Within a zone where that can be: two that change zones would be in each other's way.
        free: dict[str, list[str]] = {}  # nodes of `coming` without a pod so far, by zone
        for name in coming:
            free.setdefault(zone[name], []).append(name)
        to_other_zones = []
        for pod in leaving:
            if near := free.get(zone[state.pods[pod].node]):
                targets[pod] = near.pop()
            else:
                to_other_zones.append(pod)
        rest = [name for nodes in free.values() for name in nodes]
        targets.update(zip(to_other_zones, rest, strict=False))  # pending pods may be left
    return targets


def moves_of(plan: Translation, count: Integers) -> int:
    """Number of pods that leave their node in a placement (servers, types)."""
    return int(np.maximum(present_counts(plan.instance) - count, 0).sum())


def cost_of(plan: Translation, count: Integers) -> int:
    """Cost of a placement (servers, types): worker nodes in use and pending pods."""
    cost = plan.instance.server_cost[plan.instance.server_class]
    return int(cost[count.any(axis=1)].sum()) - plan.kept_cost


def as_it_is(plan: Translation) -> Integers:
    """Current placement, shape (servers, types), with each pending pod on a waiting server."""
    count: Integers = present_counts(plan.instance).copy()
    pending = plan.instance.requested.astype(np.int64) - count.sum(axis=0)
    for index, row in enumerate(np.repeat(np.arange(len(pending)), pending)):
        count[len(plan.nodes) + index, row] = 1
    return count


def with_waiting(plan: Translation, number: int, scale: int = 1) -> Translation:
    """Change a packing instance to `number` servers of cost 1 where pending pods wait, and multiply
    the cost of the other servers by `scale`.
    """
    instance, nodes = plan.instance, len(plan.nodes)
    if not plan.waiting_servers:
        return plan
    servers, cost = instance.server_count.copy(), instance.server_cost.copy()
    servers[-1], cost = number, np.append(cost[:-1] * scale, 1)
    names = instance.server_names[: nodes + number]
    instance = replace(instance, servers=servers, cost=cost, server_names=names)
    return replace(plan, instance=instance, kept_cost=plan.kept_cost * scale)


def settled(plan: Translation, count: Integers) -> Integers:
    """Restrict a placement to the servers of an instance without waiting servers."""
    nodes = len(plan.nodes)
    waiting = count[nodes:]
    return np.vstack([count[:nodes], waiting[waiting.any(axis=1)]])
