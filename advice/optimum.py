"""The two questions put to the packing methods: how few nodes, and how few moves to them."""

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
    value : nodes, or moves; None without an answer.
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


def nodes_needed(
    instance: Packing, time_limit: float | None = None, report: Report | None = None
) -> int:
    """A proved bound on the servers in use: the fewest where that is soon known."""
    if instance.has_constraints and _size(instance) > SMALL:
        problem, clock = reduce_ruled(instance), Clock(time_limit, report)
        return aggregate_bound(problem, clock, seconds=clock.time_slice()).bound
    return fewest_nodes(instance, time_limit, report).bound


def moves_needed(
    instance: Packing, servers: int, time_limit: float | None = None, report: Report | None = None
) -> int:
    """A proved bound on the VMs that leave their server: the fewest where that is soon known."""
    if _size(instance) > SMALL:
        return moves_bound(instance, servers, time_limit)
    return fewest_moves(instance, servers, time_limit, None, report).bound


def _size(instance: Packing) -> int:
    return int(instance.server_count.sum()) * instance.types


def fewest_nodes(
    instance: Packing, time_limit: float | None = None, report: Report | None = None
) -> Found:
    """As few servers in use as hold everything."""
    clock, size = Clock(time_limit), _size(instance)
    best: Found | None = None
    if size > TINY:
        share = clock.time_slice(1 if size > SMALL else 2)
        best = _found(instance, _run("min-servers", instance, time_limit=share, report=report))
        if size > SMALL or best.infeasible or best.value == best.bound or best.interrupted:
            return best
    exact = _found(instance, _run("cp-sat", instance, time_limit=clock.time_slice(), report=report))
    if best is None or exact.infeasible:
        return exact
    found = [one for one in (best, exact) if one.value is not None]
    better = min(found, key=lambda one: one.value or 0, default=best)
    return replace(better, bound=max(best.bound, exact.bound), interrupted=exact.interrupted)


def fewest_moves(
    instance: Packing,
    servers: int,
    time_limit: float | None = None,
    known: Found | None = None,
    report: Report | None = None,
) -> Found:
    """As few VMs that leave their server as let at most `servers` be in use; no more than in an
    answer that is known.
    """
    start = None
    if known is not None and known.count is not None:
        used = np.flatnonzero(known.count.any(axis=1))
        start = Placement(known.count[used], instance.server_class[used])
    outcome = _run(
        "fewest-moves", instance, time_limit=time_limit, servers=servers, start=start, report=report
    )
    return _found(instance, outcome, moves=True)


def _run(method: str, instance: Packing, **options: object) -> Outcome:
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
    return Found(left if moves else placement.servers, bound, count, interrupted=interrupted)
