"""The price of fairness of a fixed cluster: the most utilization that leaves every user at least a given dominant share."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from ...instances.packing import Packing, Placement
from ...instances.packing.game import FairShare
from ...instances.problem.errors import InvalidInstance, InvalidOption
from ...instances.problem.rules import checked
from ...solvers.outcome import Clock, Outcome, Status, Stop
from ...solvers.packing.cluster import fixed_cluster
from ...solvers.packing.shares import max_min_share, max_utilization
from ..frontier import Points, PriceFrontier, PricePoint, settled
from .metrics import metrics

EFFICIENCY, FAIRNESS = "utilization", "dominant_share_min"

CLOSE = 1e-7
"""A utilization that misses its bound by no more than this is the most there is."""


@checked
def price_frontiers(instance: Packing, *, time_limit: float | None = None, points: Points = 8) -> tuple[PriceFrontier, ...]:
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
    clock = Clock(time_limit)
    try:
        fixed_cluster(instance)
    except InvalidInstance:
        return ()
    try:
        return (_frontier(instance, points, clock),)
    except InvalidOption as error:  # too many combinations of VMs for an exact program
        return (PriceFrontier(EFFICIENCY, FAIRNESS, (), f"Not worked out: {error}."),)


def _frontier(instance: Packing, points: int, clock: Clock) -> PriceFrontier:
    free = max_utilization(instance, time_limit=clock.share(points + 2))
    reached = _reached(instance, _placement(free))
    stops = [free.stop]
    fairest = Outcome(None, None, Status.UNKNOWN)
    if Stop.INTERRUPTED not in stops:
        fairest = max_min_share(instance, levels=1, time_limit=clock.share(points + 1))
        stops.append(fairest.stop)
    answers: list[tuple[float | None, Outcome]] = []
    before, highest = _placement(fairest), _reached(instance, _placement(fairest))
    if highest is None or (reached is not None and reached > highest):  # the time was short
        before, highest = _placement(free), reached
    limits = _limits(instance, reached or 0.0, highest, points - 1)
    for place, limit in enumerate(limits):
        outcome = Outcome(before, None, Status.FEASIBLE)
        if Stop.INTERRUPTED not in stops:
            share = clock.share(len(limits) + 1 - place)
            outcome = max_utilization(instance, time_limit=share, start=before, least_share=limit)
            before = _placement(outcome) or before
            stops.append(outcome.stop)
        answers.append((limit, outcome))
    if free.status is not Status.OPTIMAL and Stop.INTERRUPTED not in stops:  # once more, from a better start
        again = max_utilization(instance, time_limit=clock.share(1), start=before or _placement(free))
        answers.append((None, again))
        stops.append(again.stop)
    found = [_point(instance, limit, outcome) for limit, outcome in answers]
    loosest = [point for point in found if point.limit is None] + [_point(instance, None, free)]
    loosest += [replace(point, limit=None, bound=None) for point in found if point.limit is not None]
    marks = [point for point in found if point.limit is not None] + [_both(loosest)]
    note = "The limit is on the least dominant share of the users who want something, in whole VMs."
    if fairest.status is Status.OPTIMAL:
        note += " No placement gives everyone more than the tightest (proved)."
    return PriceFrontier(EFFICIENCY, FAIRNESS, settled(marks, "max", CLOSE), note, _stopped(stops))


def _limits(instance: Packing, least: float, most: float | None, number: int) -> list[float]:
    """At most `number` shares that whole VMs of some user make: `most`, and others above `least`, the largest first."""
    if most is None:
        return []
    steps, fair = {most}, FairShare.of(instance)
    for user in np.flatnonzero(instance.wanted > 0).tolist():
        unit = fair.unit[user]
        first, last = int(Fraction(least) / unit), int(Fraction(most) / unit) + 1
        few = np.unique(np.linspace(first, last, min(last - first + 1, 50 * number)).astype(np.int64)).tolist()
        steps |= {share for count in few if least < (share := float(count * unit)) <= most}
    listed = sorted(steps, reverse=True)
    if len(listed) <= number:
        return listed
    wanted = np.linspace(most, least, number, endpoint=False)
    places = {int(np.argmin(np.abs(np.array(listed) - share))) for share in wanted}
    return [listed[place] for place in sorted(places)]


def _placement(outcome: Outcome) -> Placement | None:
    return outcome.solution if isinstance(outcome.solution, Placement) else None


def _reached(instance: Packing, placement: Placement | None) -> float | None:
    return None if placement is None else metrics(instance, placement)[FAIRNESS]


def _both(points: list[PricePoint]) -> PricePoint:
    """The better answer of several for one point, the fairer of equals, and the best bound."""
    bound = min((point.bound for point in points if point.bound is not None), default=None)
    best = max(points, key=lambda point: (round(point.value or 0.0, 9), point.reached or 0.0))
    return replace(best, bound=bound)


def _stopped(stops: list[Stop]) -> Stop:
    return next((stop for stop in (Stop.INTERRUPTED, Stop.TIME_LIMIT) if stop in stops), Stop.FINISHED)


def _point(instance: Packing, limit: float | None, outcome: Outcome) -> PricePoint:
    """What a program's answer says, measured again."""
    placement = _placement(outcome)
    if placement is None:
        return PricePoint(limit, None, outcome.bound, None, outcome.status)
    measured = metrics(instance, placement)
    return PricePoint(limit, measured[EFFICIENCY], outcome.bound, measured[FAIRNESS], outcome.status)
