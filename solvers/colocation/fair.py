"""Fair attribution: least slack, then least mean penalty."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from ...instances.colocation.instance import Colocation, Pairing
from ...instances.colocation.objective import keeps_slack
from ...instances.problem.base import Solution
from ...instances.problem.option_types import AtLeast, validate_options
from ..engines import EngineName
from ..outcome import Clock, Outcome, Report, Stop
from .common import in_own_unit, out_of_unit, require_bandwidth
from .fair_routes import LEAST_PENALTY, LEAST_SLACK, FairLimits, FairSearch, SearchWithin
from .feasible import starting_pairing

ROUTES = {"the least slack": LEAST_SLACK, "the least penalty at that slack": LEAST_PENALTY}
"""The routes of `fair`, in the order in which they run."""

Allowance = Annotated[
    float, AtLeast(0, "points of penalty", cure="0.0005 is a twentieth of a percentage point")
]


@validate_options
def fair(
    instance: Colocation,
    *,
    rng: np.random.Generator | None = None,
    time_limit: float | None = None,
    engine: EngineName = "highs",
    slack: Allowance | None = None,
    start: Solution | None = None,
    report: Report | None = None,
    limits: FairLimits | None = None,
) -> Outcome:
    """Minimize slack, then mean penalty; or, with an allowance of slack, mean penalty within it.

    Slack is the least s with mean penalty[x] <= mean penalty[y] + s whenever bandwidth[x] <
    bandwidth[y] strictly: 0 means that who presses harder on memory loses at least as much (fair
    attribution, Cooper section II; thesis 2.1). It can be impossible, so the answer is never a bare
    "infeasible". Slack has a price: an allowance far below what penalties are known to may cost
    less than slack exactly 0 by more than any search can gain (`analysis.colocation.frontier` shows
    how much).

    Parameters
    ----------
    instance : with bandwidths.
    rng : draws the types that are paired anew together where the program alone would take long; it
        never changes what is proved.
    time_limit : seconds, more than 0. Without one the slack is proved however long it takes, and
        the mean penalty gets 30 seconds after it.
    engine : the solver of the program: "highs" or "cp-sat".
    slack : allowed, in points of penalty (0.0005 is a twentieth of a percentage point): the mean
        penalty is then the objective, and a pairing of more slack is no answer. Where there is
        provably none within it the status is infeasible, and `certificate["least_slack"]` has the
        least slack found and a bound on it. As little as possible when not given.
    start : a pairing to begin with; one that is not feasible is completed first.
    report : progress, in slack, or in mean penalty within the allowance.
    limits : what steers the search.

    Returns
    -------
    Outcome
        Objective and bound are the slack, and the mean penalty stands in `certificate["levels"]`;
        with an allowance they are the mean penalty.

    Raises
    ------
    InvalidOption
        The instance has no bandwidths, or an option is out of range.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("colocation/tiny"), "fair")
    >>> print(result.status, round(result.objective, 3))
    optimal 0.0
    """
    require_bandwidth(instance)
    clock = Clock(time_limit, report)
    begin = starting_pairing(instance, start, clock)
    if isinstance(begin, Outcome):
        return begin
    given, (instance, unit) = instance, in_own_unit(instance)
    clock.unit = unit
    rng, limits = np.random.default_rng(0) if rng is None else rng, limits or FairLimits()
    if slack is None:
        search = FairSearch(instance, begin, clock, engine, rng, limits)
    else:
        search = SearchWithin(instance, begin, clock, engine, rng, limits, given, slack, unit)
    try:
        if not search.settled:
            search.run(LEAST_SLACK)
        if search.ready:
            search.run(LEAST_PENALTY, search.most)
    except KeyboardInterrupt:
        search.stop = Stop.INTERRUPTED
    return out_of_unit(search.outcome(), unit)


def fair_enough(
    instance: Colocation, pairing: Pairing, slack: float | None = None
) -> tuple[float, ...] | None:
    """Empty objective if a pairing keeps the slack allowance of `fair` (or none is given), else
    None.
    """
    return () if slack is None or keeps_slack(instance, pairing, slack) else None
