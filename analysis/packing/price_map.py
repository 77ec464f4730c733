"""The price of fairness of a fixed cluster: the most utilization that leaves every user at least a given dominant share."""

from __future__ import annotations

import numpy as np

from ...instances.packing import Packing, Placement
from ...instances.packing.game import FairShare
from ...instances.problem.errors import InvalidInstance, InvalidOption
from ...solvers.outcome import Clock, Outcome, Status, Stop
from ...solvers.packing.cluster import fixed_cluster, validate_whole
from ...solvers.packing.shares import VM_NOISE, max_min_share, max_utilization
from ..price_map import PriceFrontier, PricePoint
from .metrics import metrics

EFFICIENCY, FAIRNESS = "utilization", "dominant_share_min"

CLOSE = 1e-7
"""A utilization that misses its bound by no more than this is the most there is."""


def price_frontiers(instance: Packing, *, time_limit: float | None = None, points: int = 8) -> tuple[PriceFrontier, ...]:
    """Most utilization against the least dominant share, in whole VMs: from what leximin gives its poorest to no limit.

    One exact program for each limit, see `max_utilization`. A placement within a limit is within every looser one: each
    point starts from the one before it, and the bound of a looser limit holds for every tighter one.

    Parameters
    ----------
    time_limit : seconds in all, shared equally among the programs to come.
    points : at most so many limits, at least 2. The limits are shares that some user's whole VMs make, so that between two
        of all of them nothing changes.

    Returns
    -------
    tuple of PriceFrontier
        One; none where servers are not of fixed number or a request must be served whole: then there is nothing to trade.
    """
    validate_whole("points", points, 2, "limits")
    clock = Clock(time_limit)
    try:
        fixed_cluster(instance)
    except InvalidInstance:
        return ()
    try:
        return (_frontier(instance, points, clock),)
    except InvalidOption as error:  # too many combinations of VMs for an exact program
        return (PriceFrontier(EFFICIENCY, FAIRNESS, (), f"not worked out: {error}"),)


def _frontier(instance: Packing, points: int, clock: Clock) -> PriceFrontier:
    free = max_utilization(instance, time_limit=_part(clock, points + 1))
    reached = _reached(instance, _placement(free))
    if free.stop is Stop.INTERRUPTED:
        return PriceFrontier(EFFICIENCY, FAIRNESS, (_point(instance, None, free),), "interrupted before any limit")
    fairest = max_min_share(instance, levels=1, time_limit=_part(clock, points))
    limits = _limits(instance, reached or 0.0, _reached(instance, _placement(fairest)), points - 1)
    answers: list[tuple[float | None, Outcome]] = []
    before, stop = _placement(fairest), fairest.stop
    for place, limit in enumerate(limits):
        if stop is Stop.INTERRUPTED:
            answers.append((limit, Outcome(before, free.bound, Status.FEASIBLE, stop)))
            continue
        share = _part(clock, len(limits) - place)
        outcome = max_utilization(instance, time_limit=share, start=before, least_share=limit)
        before, stop = _placement(outcome) or before, outcome.stop
        answers.append((limit, outcome))
    if free.status is not Status.OPTIMAL and Stop.INTERRUPTED not in (stop, fairest.stop):  # once more, from a better start
        free = _both(free, max_utilization(instance, time_limit=_part(clock, 1), start=before or _placement(free)))
    answers.append((None, _better(instance, free, before)))
    found = [_point(instance, limit, outcome) for limit, outcome in answers]
    note = "the limit is on the least dominant share of the users who want something, in whole VMs"
    if fairest.status is Status.OPTIMAL:
        note += "; no placement gives everyone more than the tightest"
    if Stop.INTERRUPTED in (stop, fairest.stop):
        note += "; interrupted: the points after that are what was known"
    return PriceFrontier(EFFICIENCY, FAIRNESS, tuple(_tightened(found)), note)


def _limits(instance: Packing, least: float, most: float | None, number: int) -> list[float]:
    """At most `number` shares above `least` and up to `most` that whole VMs of some user make, the largest first."""
    if most is None:
        return []
    units = FairShare.of(instance).dominant_unit[instance.wanted > 0]
    steps: set[float] = {most} if most > least else set()
    for unit in units.tolist():
        first, last = int(least / unit + VM_NOISE) + 1, int(most / unit + VM_NOISE)
        if last < first:
            continue
        few = np.unique(np.linspace(first, last, min(last - first + 1, 50 * number)).astype(np.int64))
        steps |= {min(count * unit, most) for count in few.tolist()}
    listed = sorted(steps, reverse=True)
    listed = [share for place, share in enumerate(listed) if place == 0 or listed[place - 1] - share > VM_NOISE * units.min()]
    if len(listed) <= number:
        return listed
    wanted = np.linspace(most, least, number, endpoint=False)
    places = {int(np.argmin(np.abs(np.array(listed) - share))) for share in wanted}
    return [listed[place] for place in sorted(places)]


def _part(clock: Clock, programs: int) -> float | None:
    """An equal share of the seconds left for each of the programs to come."""
    return None if clock.left is None else max(clock.left / programs, 0.01)


def _placement(outcome: Outcome) -> Placement | None:
    return outcome.solution if isinstance(outcome.solution, Placement) else None


def _reached(instance: Packing, placement: Placement | None) -> float | None:
    return None if placement is None else metrics(instance, placement)[FAIRNESS]


def _both(first: Outcome, second: Outcome) -> Outcome:
    """The second answer, with the better of both bounds."""
    bound = min((each.bound for each in (first, second) if each.bound is not None), default=None)
    return Outcome(second.solution or first.solution, bound, second.status, second.stop)


def _better(instance: Packing, free: Outcome, other: Placement | None) -> Outcome:
    """The answer without limit, or one with a limit that uses more, or as much and is fairer."""
    known = [placement for placement in (_placement(free), other) if placement is not None]
    measured = [metrics(instance, placement) for placement in known]
    worth = [(round(values[EFFICIENCY], 9), values[FAIRNESS]) for values in measured]
    best = known[worth.index(max(worth))] if known else None
    return Outcome(best, free.bound, free.status if best is _placement(free) else Status.FEASIBLE, free.stop)


def _point(instance: Packing, limit: float | None, outcome: Outcome) -> PricePoint:
    """What a program's answer says, measured again."""
    placement = _placement(outcome)
    if placement is None:
        return PricePoint(limit, None, outcome.bound, None, outcome.status)
    measured = metrics(instance, placement)
    return PricePoint(limit, measured[EFFICIENCY], outcome.bound, measured[FAIRNESS], outcome.status)


def _tightened(points: list[PricePoint]) -> list[PricePoint]:
    """Each with the least bound of its own and the looser limits, and a status that value and bound bear out."""
    result: list[PricePoint] = []
    bound: float | None = None
    for point in reversed(points):
        bounds = [value for value in (bound, point.bound) if value is not None]
        bound = min(bounds, default=None)
        status = point.status
        if point.value is not None:
            proved = bound is not None and abs(bound - point.value) <= CLOSE
            status = Status.OPTIMAL if proved else Status.FEASIBLE
        result.append(PricePoint(point.limit, point.value, bound, point.reached, status))
    return result[::-1]
