"""The two questions put to the packing methods: how few nodes, and how few moves to them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..catalog import find
from ..instances.packing.instance import Integers, Packing, Placement, check
from ..instances.packing.placing import stays
from ..solvers.outcome import Clock, Outcome, Status


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


TINY, SMALL = 400, 20_000
"""Servers times types up to which one declarative model decides at once, or where nothing else did:
it ends with a proof.
"""


def fewest_nodes(instance: Packing, time_limit: float | None = None) -> Found:
    """As few servers in use as hold everything."""
    clock, size = Clock(time_limit), instance.available.sum() * instance.types
    best: Found | None = None
    if size > TINY:
        share = clock.share(1 if size > SMALL else 2)
        best = _found(instance, _run("min-servers", instance, time_limit=share))
        if size > SMALL or best.infeasible or best.value == best.bound:
            return best
    exact = _found(instance, _run("cp-sat", instance, time_limit=clock.share()))
    if best is None or exact.infeasible:
        return exact
    found = [one for one in (best, exact) if one.value is not None]
    better = min(found, key=lambda one: one.value or 0, default=best)
    return replace(better, bound=max(best.bound, exact.bound))


def fewest_moves(
    instance: Packing, servers: int, time_limit: float | None = None, known: Found | None = None
) -> Found:
    """As few VMs that leave their server as let at most `servers` be in use; no more than in an
    answer that is known.
    """
    start = None
    if known is not None and known.count is not None:
        used = np.flatnonzero(known.count.any(axis=1))
        start = Placement(known.count[used], instance.server_class[used])
    outcome = _run("fewest-moves", instance, time_limit=time_limit, servers=servers, start=start)
    return _found(instance, outcome, moves=True)


def _run(method: str, instance: Packing, **options: object) -> Outcome:
    function = find("packing", method).resolve()
    outcome: Outcome = function(instance, rng=np.random.default_rng(0), **options)
    return outcome


def _found(instance: Packing, outcome: Outcome, moves: bool = False) -> Found:
    """An outcome with its answer checked and counted again, on the servers where most stays."""
    bound = int(outcome.bound or 0)
    placement = outcome.solution
    if not isinstance(placement, Placement):
        return Found(None, bound, None, outcome.status is Status.INFEASIBLE)
    check(instance, placement)
    on, left = stays(instance, placement.count, placement.server_class)
    count = np.zeros((int(instance.available.sum()), instance.types), dtype=np.int64)
    count[on] = placement.count
    return Found(left if moves else placement.servers, bound, count)
