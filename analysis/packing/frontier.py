"""Frontiers of packing: utilization against the least dominant share on fixed servers, and moves
against servers in use.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from ...instances.packing import Packing, Placement
from ...instances.packing.game import FairShare
from ...instances.packing.instance import placed_now
from ...instances.packing.placement_constraints import present_counts
from ...instances.problem.errors import InvalidInstance
from ...instances.problem.option_types import validate_options
from ...solvers.outcome import Clock, Outcome, Status
from ...solvers.packing.dominant_shares import max_min_share, max_utilization
from ...solvers.packing.fixed_servers import fixed_cluster
from ...solvers.packing.minimum import min_cost, min_servers
from ...solvers.packing.moves import fewest_moves
from ..frontier import Points, PriceFrontier, PricePoint, Sweep, settled
from .metrics import metrics

EFFICIENCY, FAIRNESS = "utilization", "dominant_share_min"

CLOSE = 1e-7
"""A utilization that misses its bound by no more than this is the most there is."""


@validate_options
def price_frontiers(
    instance: Packing, *, time_limit: float | None = None, points: Points = 8
) -> tuple[PriceFrontier, ...]:
    """Maximum utilization for each limit on the least dominant share, in integer VMs: from the
    least share of leximin to no limit. Where all requests are to be served and the instance says
    what runs now: fewest moves against servers in use (their cost, where classes differ in it),
    from as few as there can be to those in use now.

    One exact program for each limit, see `max_utilization` and `fewest_moves`. A placement within a
    limit is within every looser one: each point starts from the one before it, and the bound of a
    looser limit holds for every tighter one.

    Parameters
    ----------
    time_limit : seconds in all, shared equally among the programs to come.
    points : at most so many limits, at least 2. The limits are shares that some user's whole VMs
        make, so that between two of all of them nothing changes.

    Returns
    -------
    tuple of PriceFrontier
        One; none where servers are not of fixed number, or a request must be served whole and
        nothing is said of what runs now: then there is nothing to trade.
    """
    clock = Clock(time_limit)
    if placed_now(instance):
        return (_moves(instance, points, clock),)
    try:
        fixed_cluster(instance)
    except InvalidInstance:
        return ()
    return (_shares(instance, points, clock),)


def _shares(instance: Packing, points: int, clock: Clock) -> PriceFrontier:
    """Maximum utilization within each limit on the least dominant share."""

    def measured(placement: Placement) -> tuple[float, float]:
        found = metrics(instance, placement)
        return found[EFFICIENCY], found[FAIRNESS]

    def most(limit: float, start: Placement, *, time_limit: float | None) -> Outcome:
        return max_utilization(instance, time_limit=time_limit, start=start, least_share=limit)

    sweep = Sweep(clock, measured, "max", "max")
    free = again = sweep.solve(points + 2, max_utilization, instance)
    fairest = sweep.solve(points + 1, max_min_share, instance, levels=1)
    loosest = PricePoint.of(None, free, measured).reached or 0.0
    limits = _limits(instance, loosest, sweep.fairest, points - 1) if sweep.answers else []
    marks = sweep.points(limits, most, after=1)
    if free.status is not Status.OPTIMAL:  # once more, from a better start
        again = sweep.solve(1, max_utilization, instance, start=sweep.best())
    marks.append(sweep.unlimited(free, again))
    note = "The limit is on the least dominant share of the users who want something, in whole VMs."
    if fairest.status is Status.OPTIMAL:
        note += " No placement gives everyone more than the tightest (proved)."
    return PriceFrontier(EFFICIENCY, FAIRNESS, settled(marks, "max", CLOSE), note, sweep.stopped)


def _moves(instance: Packing, points: int, clock: Clock) -> PriceFrontier:
    """Fewest moves within each limit on servers in use, or on their cost if costs differ."""
    priced = len(np.unique(instance.server_cost)) > 1
    name, cheapest = ("cost", min_cost) if priced else ("servers", min_servers)

    def measured(placement: Placement) -> tuple[float, float]:
        found = metrics(instance, placement)
        return found["moves"], found[name]

    def fewest(limit: Any, start: Placement, *, time_limit: float | None) -> Outcome:
        return fewest_moves(instance, time_limit=time_limit, start=start, **{name: limit})

    sweep = Sweep(clock, measured, "min", "min")
    free = sweep.solve(points + 1, cheapest, instance)
    price = instance.server_cost if priced else np.ones_like(instance.server_cost)
    used = present_counts(instance).any(axis=1)
    now = int(price[instance.server_class[used]].sum())
    if free.status is Status.INFEASIBLE or (free.solution is None and now == 0):
        none = "exists (proved)" if free.status is Status.INFEASIBLE else "was found in the time"
        note = f"No placement of all VMs {none}."
        return PriceFrontier("moves", name, (), note, sweep.stopped)
    least = int(sweep.fairest) if sweep.answers else now
    limits = np.unique(np.linspace(least, max(now, least), points).astype(np.int64)).tolist()
    marks = sweep.points(limits, fewest)
    note = f"The limit is on the servers in use; {now} are now."
    if priced:
        note = f"The limit is on the cost of the servers in use; it is {now} now."
    if free.status is Status.OPTIMAL:
        of = "costs less" if priced else "uses fewer"
        note += f" No placement {of} than {least} (proved)."
    return PriceFrontier("moves", name, settled(marks, "min"), note, sweep.stopped)


def _limits(instance: Packing, least: float, most: float, number: int) -> list[float]:
    """At most `number` dominant shares that users can have, from `most` to above `least`."""
    steps, fair = {most}, FairShare.of(instance)
    for user in np.flatnonzero(instance.requested > 0).tolist():
        unit = fair.unit[user]
        first, last = int(Fraction(least) / unit), int(Fraction(most) / unit) + 1
        few = np.unique(
            np.linspace(first, last, min(last - first + 1, 50 * number)).astype(np.int64)
        ).tolist()
        steps |= {share for count in few if least < (share := float(count * unit)) <= most}
    listed = sorted(steps, reverse=True)
    if len(listed) <= number:
        return listed
    wanted = np.linspace(most, least, number, endpoint=False)
    places = {int(np.argmin(np.abs(np.array(listed) - share))) for share in wanted}
    return [listed[place] for place in sorted(places)]
