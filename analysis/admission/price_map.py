"""What stability costs: most total speed within limits on blocking pairs, proved where the instance is small enough."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...catalog import functions
from ...instances.admission import Admission, Assignment, blocking_pairs, total_speed
from ...instances.admission.rules import SCHEMES
from ...instances.problem.rules import checked
from ...solvers.engines import EngineName
from ...solvers.outcome import Clock, Status, Stop
from ..frontier import Points, PriceFrontier, PricePoint, settled
from .frontier import LARGEST, downwards, within_reach

CLOSE = 1e-8
"""Total speed and bound that differ relatively by no more than this are equal."""


@checked
def price_frontiers(
    instance: Admission, *, time_limit: float | None = None, points: Points = 24, engine: EngineName = "highs"
) -> tuple[PriceFrontier, ...]:
    """The most total speed within each limit on blocking pairs.

    Of small instances the whole frontier (`analysis.admission.frontier`). Of larger ones, or when it is cut short, what can be
    proved: the optimum's bound, which holds at every limit, and below it the policies' assignments, each at the number of
    pairs it has; `proposed` has none.

    Parameters
    ----------
    time_limit : seconds in all.
    points : most points that are kept, evenly spaced, at least 2.
    engine : "highs" or "cp-sat".

    Raises
    ------
    InvalidOption
        An option is out of range.
    """
    clock = Clock(time_limit)
    found: list[PricePoint] = []
    stop = Stop.FINISHED
    try:
        for point in downwards(instance, clock, engine=engine):
            found.append(point.priced)
    except KeyboardInterrupt:
        stop = Stop.INTERRUPTED
    proved = bool(found) and all(point.status is Status.OPTIMAL for point in found)
    if stop is Stop.FINISHED and not proved:  # nothing but time ends a search without a proof
        stop = Stop.TIME_LIMIT
    if not proved or not within_reach(instance):
        enough = np.inf if not found or found[0].reached is None else found[0].reached  # the optimum's pairs
        policies = [_of_policy(instance, policy(instance)) for policy in functions("admission", *SCHEMES).values()]
        found += [point for point in policies if point.limit is not None and point.limit < enough]
    marks = _thinned(_with_tight_end(_distinct(settled(_one_each(found), "max", CLOSE, unit=0.0))), points)
    note = "Each limit: at most so many pairs of a job and a VM block."
    if not within_reach(instance):
        note += (
            f" More than {LARGEST} jobs x VMs x core types: only the optimum is solved for; its bound holds at every limit, and "
            "the points below it are the policies' own."
        )
    return (PriceFrontier("total_speed", "blocking_pairs", marks, note, stop),)


def _of_policy(instance: Admission, assignment: Assignment) -> PricePoint:
    pairs = float(blocking_pairs(instance, assignment).count)
    return PricePoint(pairs, total_speed(instance, assignment), None, pairs, Status.FEASIBLE)


def _one_each(points: Sequence[PricePoint]) -> list[PricePoint]:
    """One point for each limit, the tightest first, with the best answer and the best bound of those that share it."""
    groups: dict[float, list[PricePoint]] = {}
    for point in points:
        groups.setdefault(np.inf if point.limit is None else point.limit, []).append(point)
    found = []
    for limit in sorted(groups):
        bound = min((point.bound for point in groups[limit] if point.bound is not None), default=None)
        best = max(groups[limit], key=lambda point: -np.inf if point.value is None else point.value)
        found.append(replace(best, bound=bound))
    return found


def _distinct(points: Sequence[PricePoint]) -> list[PricePoint]:
    """Of points with one value and one bound only that of the loosest limit, which says as much as all of them."""
    pairs = zip(points, [*points[1:], None], strict=True)
    return [one for one, looser in pairs if looser is None or (one.value, one.bound) != (looser.value, looser.bound)]


def _with_tight_end(points: list[PricePoint]) -> list[PricePoint]:
    """The points, and before them the limit that the stablest answer keeps just so."""
    if not points or (first := points[0]).reached is None or first.limit == first.reached:
        return points
    return [replace(first, limit=first.reached), *points]


def _thinned(points: Sequence[PricePoint], most: int) -> tuple[PricePoint, ...]:
    """At most so many, the first and the last among them."""
    return tuple(points[place] for place in np.unique(np.linspace(0, len(points) - 1, most).round().astype(int)))
