"""The two questions to the packing methods: how cheap the nodes, and how few moves to them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..catalog import find
from ..instances.packing.instance import Integers, Packing, Placement, check
from ..instances.packing.placement_constraints import stays
from ..solvers.outcome import Clock, Outcome, Report, Status, Stop
from ..solvers.packing.aggregate import aggregate_bound
from ..solvers.packing.constrained import reduce_ruled
from ..solvers.packing.moves import moves_bound


@dataclass(frozen=True)
class Found:
    """An answer to one of the questions.

    Attributes
    ----------
    value : cost of the servers in use (1 each where nothing else is given), or moves; None without
        an answer.
    bound : no answer is below it.
    count : (servers, types) pods of each type on each server; None without an answer.
    infeasible : whether it is proved that there is none.
    """

    value: int | None
    bound: int
    count: Integers | None
    infeasible: bool = False
    interrupted: bool = False


TINY, SMALL = 400, 20_000
"""Servers times types up to which one declarative model decides at once, or where nothing else did:
it ends with a proof.
"""


def cost_needed(
    instance: Packing, time_limit: float | None = None, report: Report | None = None
) -> int:
    """A proved bound on the cost of the servers in use: the least where that is soon known."""
    if instance.has_constraints and _size(instance) > SMALL:
        problem, clock = reduce_ruled(instance, costs=True), Clock(time_limit, report)
        return aggregate_bound(problem, clock, seconds=clock.time_slice()).bound
    return least_cost(instance, time_limit, None, report).bound


def moves_needed(
    instance: Packing, cost: int, time_limit: float | None = None, report: Report | None = None
) -> int:
    """A proved bound on the VMs that leave their server: the fewest where that is soon known."""
    if _size(instance) > SMALL:
        return moves_bound(instance, seconds=time_limit, **_within(instance, cost))
    return fewest_moves(instance, cost, time_limit, None, report).bound


def _size(instance: Packing) -> int:
    return int(instance.server_count.sum()) * instance.types


def _uniform(instance: Packing) -> bool:
    return bool((instance.server_cost == 1).all())


def _within(instance: Packing, cost: int) -> dict[str, int]:
    """The limit on servers, where each costs 1, or on their cost."""
    return {"servers" if _uniform(instance) else "cost": cost}


def least_cost(
    instance: Packing,
    time_limit: float | None = None,
    start: Integers | None = None,
    report: Report | None = None,
) -> Found:
    """The cheapest servers that hold everything; as few as can be where each costs 1.

    Parameters
    ----------
    start : (servers, types) an answer.
    """
    if not _uniform(instance):
        return _found(
            instance,
            run(
                "min-cost", instance, time_limit=time_limit, report=report,
                start=None if start is None else _placement(instance, start),
            ),
        )  # fmt: skip
    clock, size = Clock(time_limit), _size(instance)
    best: Found | None = None
    if size > TINY:
        share = clock.time_slice(1 if size > SMALL else 2)
        best = _found(instance, run("min-servers", instance, time_limit=share, report=report))
        if size > SMALL or best.infeasible or best.value == best.bound or best.interrupted:
            return best
    exact = _found(instance, run("cp-sat", instance, time_limit=clock.time_slice(), report=report))
    if best is None or exact.infeasible:
        return exact
    found = [one for one in (best, exact) if one.value is not None]
    better = min(found, key=lambda one: one.value or 0, default=best)
    return replace(better, bound=max(best.bound, exact.bound), interrupted=exact.interrupted)


def fewest_moves(
    instance: Packing,
    cost: int,
    time_limit: float | None = None,
    known: Found | None = None,
    report: Report | None = None,
) -> Found:
    """As few VMs that leave their server as let the servers in use cost `cost` at most; no more
    than in an answer that is known.
    """
    start = None
    if known is not None and known.count is not None:
        start = _placement(instance, known.count)
    outcome = run(
        "fewest-moves", instance, time_limit=time_limit, start=start, report=report,
        **_within(instance, cost),
    )  # fmt: skip
    return _found(instance, outcome, moves=True)


def _placement(instance: Packing, count: Integers) -> Placement:
    used = np.flatnonzero(count.any(axis=1))
    return Placement(count[used], instance.server_class[used])


def run(method: str, instance: Packing, **options: object) -> Outcome:
    """What a method of packing answers."""
    function = find(Packing.problem, method).resolve()
    outcome: Outcome = function(instance, rng=np.random.default_rng(0), **options)
    return outcome


def _found(instance: Packing, outcome: Outcome, moves: bool = False) -> Found:
    """An outcome with its answer checked and counted again, on the servers where most stays."""
    bound = int(outcome.bound or 0)
    placement, interrupted = outcome.solution, outcome.stop is Stop.INTERRUPTED
    if not isinstance(placement, Placement):
        return Found(None, bound, None, outcome.status is Status.INFEASIBLE, interrupted)
    check(instance, placement)
    on, left = stays(instance, placement.count, placement.server_class)
    count = np.zeros((int(instance.server_count.sum()), instance.types), dtype=np.int64)
    count[on] = placement.count
    cost = int(instance.server_cost[placement.server_class].sum())
    return Found(left if moves else cost, bound, count, interrupted=interrupted)
