"""Frontier of stability: the least mean penalty of the groupings in the core at each alpha."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

import numpy as np

from ...catalog import functions
from ...instances.groups.instance import UNIT, Grouping, Groups
from ...instances.groups.stability import least_alpha_of, mean_penalty
from ...instances.problem.errors import InvalidOption, NoSolution
from ...instances.problem.option_types import validate_options
from ...solvers.groups.core import core, least_alpha
from ...solvers.groups.optimal import optimal
from ...solvers.outcome import Clock, Outcome, Status
from ..frontier import Points, PriceFrontier, Sweep, settled
from .metrics import full_kinds

MOST_KINDS = 20_000
"""Kinds of full groups up to which limits are solved for: of more, programs are too large."""

_POLICIES = ("hierarchical", "serpentine", "sorted", "GR", "threshold")
"""They give the programs their starts, and draw nothing."""


@validate_options
def price_frontiers(
    instance: Groups, *, time_limit: float | None = None, points: Points = 8
) -> tuple[PriceFrontier, ...]:
    """Least mean penalty within each limit on alpha.

    One program for each limit (epsilon-constraint), from the least alpha at which there is a
    grouping without blocking groups, or the least that was found, to what the cheapest grouping
    reaches anyway; policies give the programs their starts.

    Parameters
    ----------
    time_limit : seconds in all.
    points : limits to spread over the range that matters.

    Raises
    ------
    InvalidOption
        An option is out of range.
    NoSolution
        The instance has no feasible grouping.
    """
    try:
        free = optimal(instance, time_limit=(clock := Clock(time_limit)).time_slice(4))
    except InvalidOption:  # too many kinds of groups to list
        return ()
    if free.status is Status.INFEASIBLE:
        raise NoSolution(f"the instance has no feasible grouping ({free.certificate.get('proof')})")
    if not isinstance(free.solution, Grouping):
        return ()

    def measured(grouping: Grouping) -> tuple[float, float]:
        return mean_penalty(instance, grouping), least_alpha_of(instance, grouping) / UNIT

    def least(limit: float, start: Grouping | None, *, time_limit: float | None) -> Outcome:
        if not solved:
            return Outcome(start, free.bound, Status.FEASIBLE)
        found = core(instance, alpha=limit, start=start, time_limit=time_limit)
        if isinstance(found.solution, Grouping) and measured(found.solution)[1] <= limit:
            levels = found.certificate.get("levels", [])  # the second is the mean penalty
            return replace(found, bound=levels[1]["bound"] if len(levels) > 1 else None)
        if start is None and found.status is not Status.UNKNOWN and (found.bound or 0) > 0:
            return Outcome(None, None, Status.INFEASIBLE, found.stop)
        return Outcome(start, free.bound, Status.UNKNOWN, found.stop)

    solved = full_kinds(instance) <= MOST_KINDS
    note = "Each limit: an alpha, in points of penalty, at which no group blocks."
    sweep = Sweep(clock, measured, "min", "min", [free.solution, *_policies(instance)])
    sweep.stops, sweep.free = [free.stop], free
    if solved:
        sweep.solve(points, least_alpha, instance)
    else:
        note += (
            f" More than {MOST_KINDS} kinds of full groups: the limits between are not solved for; "
            "the bound is that of any grouping."
        )
    # closer near the first, where the price falls
    low, high = round(sweep.fairest * UNIT), least_alpha_of(instance, free.solution)
    units = low + ((high - low) * np.linspace(0, 1, points) ** 2).round().astype(np.int64)
    marks = sweep.points(sorted({unit / UNIT for unit in units.tolist()}), least)
    return (PriceFrontier("penalty", "least_alpha", settled(marks, "min"), note, sweep.stopped),)


def _policies(instance: Groups) -> Iterator[Grouping]:
    """Yield the groupings of the deterministic policies; some have none under forbidden groups."""
    for policy in functions("groups", *_POLICIES).values():
        with suppress(NoSolution):  # forbidden groups are in its way
            yield policy(instance)
