"""Fixed servers shared exactly: max-min-share (leximin dominant shares) and max-utilization."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from ...instances.packing.game import FairShare
from ...instances.packing.instance import Floats, Integers, Packing, Placement
from ...instances.problem.errors import InvalidOption
from ...models.packing.shares import share_program, utilization_program
from ..engines import EngineAnswer, solve_program
from ..outcome import Clock, Outcome, Report, Status, Stop
from .cluster import Cluster, fixed_cluster, validate_whole
from .game.strategies import pre_combination

MOST_COLUMNS = 50_000
"""Maximal combinations of one server class."""

TOLERANCE = 1e-6
"""Shares are compared to this part of the least dominant share of one VM."""

VM_NOISE = 1e-9
"""A share that misses what is owed by this part of a VM is enough: shares are quotients, rounded."""


def max_utilization(
    instance: Packing,
    *,
    rng: np.random.Generator | None = None,
    time_limit: float | None = None,
    start: Placement | None = None,
    report: Report | None = None,
    least_share: float = 0.0,
) -> Outcome:
    """The placement that uses most of the cluster: the mean over resources of the share in use.

    Parameters
    ----------
    least_share : dominant share that every user who wants something must have, to 1e-9 of a VM; 0 for whatever they get.

    Raises
    ------
    InvalidInstance
        Servers are not of fixed number, or a finite request must be served whole.
    InvalidOption
        A server has more than 50,000 maximal combinations of VMs, or `least_share` is no number of 0 or more.
    """
    clock = Clock(time_limit, report)
    cluster = fixed_cluster(instance)
    owed = vms_owed(instance, least_share)
    tables, servers = _tables(instance, cluster), instance.available.astype(np.int64)
    space = (instance.start * servers[:, None]).sum(axis=0)
    present = space > 0
    weight = (instance.demand[:, present] / space[present]).mean(axis=1)
    unit = float(weight.max())
    cap = instance.wanted.astype(float)
    program, number, _ = utilization_program(tables, servers, cap, weight / unit, owed)
    answer = solve_program(program, time_limit=clock.share(), report=report)
    busy = float((((instance.start - instance.capacity) * servers[:, None]).sum(axis=0)[present] / space[present]).mean())
    best = _placement(instance, tables, number, answer, cluster)
    if start is not None and (start.totals(instance.types) < owed).any():
        start = None
    bound = None if answer.bound is None else busy - answer.bound * unit
    for candidate in (best, start):
        if candidate is not None and bound is not None:
            bound = max(bound, busy + float(candidate.totals(instance.types) @ weight))
    return _outcome(answer, best, start, weight, bound, instance, {"engine": answer.message})


def max_min_share(
    instance: Packing,
    *,
    rng: np.random.Generator | None = None,
    time_limit: float | None = None,
    start: Placement | None = None,
    report: Report | None = None,
    levels: int | None = None,
) -> Outcome:
    """Leximin dominant shares on whole VMs: the least share as large as can be, then the second least, and so on.

    The exact counterpart of `DRF`, which fills greedily. Shares are of what the cluster has free in all; two are equal when
    they differ by less than 1e-6 of one VM's share. The bound belongs to the least share; the further levels (sums of the
    k least) stand in `certificate["levels"]`.

    Parameters
    ----------
    levels : how many of them to settle; all when not given.

    Raises
    ------
    InvalidInstance
        Servers are not of fixed number, or a finite request must be served whole.
    InvalidOption
        A server has more than 50,000 maximal combinations of VMs, or `levels` is no whole number of 1 or more.
    """
    clock = Clock(time_limit, report)
    if levels is not None:
        validate_whole("levels", levels, 1, "levels to settle")
    cluster = fixed_cluster(instance)
    tables, servers = _tables(instance, cluster), instance.available.astype(np.int64)
    dominant = FairShare.of(instance).dominant_unit
    wants = instance.wanted > 0
    smallest = float(dominant[wants].min())
    unit = np.where(wants, dominant / smallest, 0.0)
    cap = instance.wanted.astype(float)
    reached: list[float] = []
    told: list[dict[str, Any]] = []
    best, bound, stop, first = start, None, Stop.FINISHED, Status.UNKNOWN
    point = None
    for level in range(int(wants.sum()) if levels is None else min(levels, int(wants.sum()))):
        program, number, _ = share_program(tables, servers, cap, unit, reached, TOLERANCE)
        begin = point if point is not None and len(point) == program.columns else None
        answer = solve_program(program, time_limit=clock.share(), start=begin, report=report)
        found = _placement(instance, tables, number, answer, cluster)
        proved = None if answer.bound is None else -answer.bound * smallest
        if found is not None and (
            best is None or _sorted_shares(instance, found, dominant) >= _sorted_shares(instance, best, dominant)
        ):
            best = found
        value = None if found is None else sum(_sorted_shares(instance, found, dominant)[: level + 1])
        told.append(
            {
                "objective": f"sum of the {level + 1} least dominant shares",
                "value": value,
                "bound": proved,
                "status": answer.status.value,
            }
        )
        if level == 0:
            first, bound = answer.status, proved
        if answer.status is not Status.OPTIMAL or answer.objective is None:
            stop = answer.stop
            break
        reached.append(-answer.objective)
    value = None if best is None else float(_sorted_shares(instance, best, dominant)[0])
    if bound is not None and value is not None:
        bound = value if abs(bound - value) <= TOLERANCE * smallest else max(bound, value)
    status = first if best is not None else Status.UNKNOWN
    complete = len(reached) == int(wants.sum())
    certificate = {"levels": told, "leximin": complete}
    if status is Status.OPTIMAL and (not complete or value is None or bound != value):
        status = Status.FEASIBLE if value is None or bound != value else status
    return Outcome(best, bound, status, stop, certificate, tuple(clock.trace))


def vms_owed(instance: Packing, least_share: float) -> Integers:
    """(s,) fewest VMs that give every user who wants something a dominant share, to 1e-9 of a VM.

    Raises
    ------
    InvalidOption
        The share is no number of 0 or more.
    """
    if isinstance(least_share, bool) or not isinstance(least_share, Real) or not 0 <= least_share < np.inf:
        raise InvalidOption(f"least_share is {least_share}; expected a dominant share, a number of 0 or more")
    wants = instance.wanted > 0
    vms = np.ceil(np.minimum(least_share / FairShare.of(instance).dominant_unit - VM_NOISE, 2.0**53))
    owed: Integers = np.where(wants, np.maximum(vms, 0), 0).astype(np.int64)
    return owed


def _tables(instance: Packing, cluster: Cluster) -> list[Integers]:
    """Maximal combinations per class."""
    tables = []
    for c in range(instance.classes):
        table = pre_combination(instance.demand, instance.capacity[c], cluster.cap, maximal=True)
        if len(table) > MOST_COLUMNS:
            raise InvalidOption(f"a server of class {c} has {len(table)} maximal combinations, more than {MOST_COLUMNS}; use DRF")
        tables.append(table)
    return tables


def _placement(
    instance: Packing, tables: list[Integers], number: list[Integers], answer: EngineAnswer, cluster: Cluster
) -> Placement | None:
    """The servers a point stands for, without VMs beyond the requests."""
    if answer.point is None:
        return None
    rows, kinds = [], []
    for c, (table, columns) in enumerate(zip(tables, number, strict=True)):
        times = np.round(answer.point[columns]).astype(np.int64)
        rows.append(np.repeat(table, times, axis=0))
        kinds.append(np.full(int(times.sum()), c, dtype=np.int64))
    count, kind = np.concatenate(rows), np.concatenate(kinds)
    before = np.cumsum(count, axis=0) - count
    return Placement(np.clip(np.minimum(cluster.cap, 2**53) - before, 0, count), kind)


def _sorted_shares(instance: Packing, placement: Placement, dominant: Floats) -> list[float]:
    return sorted((placement.totals(instance.types) * dominant)[instance.wanted > 0].tolist())


def _outcome(
    answer: EngineAnswer,
    best: Placement | None,
    start: Placement | None,
    weight: Floats,
    bound: float | None,
    instance: Packing,
    certificate: dict[str, Any],
) -> Outcome:
    """The better of the answer and the start; optimal only when the engine proved its own answer."""
    candidates = [entry for entry in (best, start) if entry is not None]
    chosen = max(candidates, key=lambda entry: float(entry.totals(instance.types) @ weight), default=None)
    if chosen is None:
        status = Status.INFEASIBLE if answer.status is Status.INFEASIBLE else Status.UNKNOWN
        return Outcome(None, None if status is Status.INFEASIBLE else bound, status, answer.stop, certificate, answer.trace)
    return Outcome(chosen, bound, answer.status if best is not None else Status.FEASIBLE, answer.stop, certificate, answer.trace)
