"""What stability costs: the least mean penalty of the groupings stable at each alpha."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...catalog import functions
from ...instances.groups.instance import UNIT, Grouping, Groups
from ...instances.groups.stability import least_alpha_of, mean_penalty, whole_alpha
from ...instances.problem.base import Solution
from ...instances.problem.errors import InvalidOption, NoSolution
from ...instances.problem.option_types import validate_options
from ...solvers.groups.core import core, least_alpha
from ...solvers.groups.optimal import optimal
from ...solvers.outcome import Clock, Outcome, Status, Stop
from ..frontier import Points, PriceFrontier, Programs, settled
from .metrics import full_kinds

MOST_KINDS = 20_000
"""Kinds of full groups up to which limits are solved for: of more, programs are too large."""

_POLICIES = ("hierarchical", "serpentine", "sorted", "GR", "threshold")
"""They give the programs their starts, and draw nothing."""


@validate_options
def price_frontiers(
    instance: Groups, *, time_limit: float | None = None, points: Points = 8
) -> tuple[PriceFrontier, ...]:
    """The least mean penalty within each limit on alpha: no group of jobs gains more than that on a
    full machine of its own.

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
    clock = Clock(time_limit)
    note = "Each limit: an alpha, in points of penalty, at which no group blocks."
    try:
        free = optimal(instance, time_limit=clock.time_slice(4))
    except InvalidOption:  # too many kinds of groups to list
        return ()
    if free.status is Status.INFEASIBLE:
        raise NoSolution(f"the instance has no feasible grouping ({free.certificate.get('proof')})")
    if not isinstance(free.solution, Grouping):
        return ()
    programs = Programs(clock)
    programs.stops.append(free.stop)
    within = _Within(instance, free, free.solution)
    low = within.reached(free.solution)
    if within.solved:
        tight = programs.solve(points, least_alpha, instance)
        if isinstance(tight.solution, Grouping):
            within.known.append(tight.solution)
    else:
        note += (
            f" More than {MOST_KINDS} kinds of full groups: the limits between are not solved for; "
            "the bound is that of any grouping."
        )
    low = min(within.reached(grouping) for grouping in within.known)
    limits = _spread(low, within.reached(free.solution), points)
    found = programs.points(limits, within.answer, within.measured)
    return (PriceFrontier("penalty", "least_alpha", settled(found, "min"), note, programs.stopped),)


def _spread(low: int, high: int, points: int) -> list[float]:
    """So many alphas between two numbers of units, closer near the first, where the price falls."""
    units = low + ((high - low) * np.linspace(0, 1, points) ** 2).round().astype(np.int64)
    return sorted({unit / UNIT for unit in units.tolist()})


class _Within:
    """The answers within limits on alpha.

    Attributes
    ----------
    known : groupings to begin with, and to fall back on.
    solved : whether programs are solved for the limits.
    """

    def __init__(self, instance: Groups, free: Outcome, cheapest: Grouping) -> None:
        self.instance, self.free = instance, free
        self.solved = full_kinds(instance) <= MOST_KINDS
        self.known: list[Grouping] = [cheapest]
        for policy in functions("groups", *_POLICIES).values():
            try:
                self.known.append(policy(instance))
            except NoSolution:  # forbidden groups are in its way
                continue

    def reached(self, grouping: Grouping) -> int:
        """The least alpha of a grouping, in units."""
        return least_alpha_of(self.instance, grouping)

    def measured(self, grouping: Grouping) -> tuple[float, float]:
        """Mean penalty and least alpha."""
        return mean_penalty(self.instance, grouping), self.reached(grouping) / UNIT

    def answer(self, limit: float, start: Solution | None, *, time_limit: float | None) -> Outcome:
        """The least penalty at an alpha, and what is proved of it."""
        most = whole_alpha(limit)
        if self.reached(self.known[0]) <= most:
            return self.free  # the limit does not bind
        fitting = [start] if isinstance(start, Grouping) else []
        fitting += [grouping for grouping in self.known if self.reached(grouping) <= most]
        best = min(fitting, key=lambda one: mean_penalty(self.instance, one), default=None)
        status = Status.UNKNOWN if best is None else Status.FEASIBLE
        if not self.solved:
            return Outcome(best, self.free.bound, status, Stop.FINISHED)
        found = core(self.instance, alpha=limit, start=best, time_limit=time_limit)
        if not isinstance(found.solution, Grouping) or self.reached(found.solution) > most:
            if best is None and found.status is not Status.UNKNOWN and (found.bound or 0) > 0:
                return Outcome(None, None, Status.INFEASIBLE, found.stop)
            return Outcome(best, self.free.bound, status, found.stop)
        self.known.append(found.solution)
        return Outcome(
            found.solution, _bound(found.certificate["levels"]), found.status, found.stop
        )


def _bound(levels: Sequence[dict[str, object]]) -> float | None:
    """What is proved of the second level, the mean penalty."""
    value = levels[1]["bound"] if len(levels) > 1 else None
    assert value is None or isinstance(value, float | int)
    return None if value is None else float(value)
