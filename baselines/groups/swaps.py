"""Local search by exchanges of two jobs, or of a job and an empty seat."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ...instances.groups.instance import Grouping, Groups
from ...instances.problem.option_types import validate_options
from ...solvers.groups.exchanges import exchanged
from ...solvers.outcome import Clock
from .dealing import random_grouping, serpentine, sorted_by_pressure
from .hierarchical import hierarchical

Begin = Literal["hierarchical", "serpentine", "sorted", "random"]


@validate_options
def local_search(
    instance: Groups,
    *,
    rng: np.random.Generator | None = None,
    time_limit: float | None = None,
    begin: Begin = "hierarchical",
) -> Grouping:
    """Exchange two jobs of two machines, or move one to an empty seat, as long as that lowers the
    sum of penalties.

    Parameters
    ----------
    rng : draws the grouping to begin with when it is random; `default_rng(0)` when not given.
    time_limit : seconds; without one the search ends where no exchange helps.
    begin : the policy that makes the grouping to begin with.

    Notes
    -----
    A round is quadratic in the kinds of groups. Each makes the sum of penalties less, in whole
    units, so it ends.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("groups/tiny"), "local-search")
    >>> print(result.status, round(result.objective, 4))
    feasible 0.0625
    """
    clock = Clock(time_limit)
    if begin == "hierarchical":
        best = hierarchical(instance, time_limit=clock.time_slice(2))
    elif begin == "random":
        best = random_grouping(instance, rng=rng)
    else:
        best = (serpentine if begin == "serpentine" else sorted_by_pressure)(instance)
    return exchanged(instance, best, clock)
