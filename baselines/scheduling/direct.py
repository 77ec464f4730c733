"""DIRECTCONTR: contribution as the utility of jobs that one's machines have run."""

from __future__ import annotations

import numpy as np

from ...instances.problem.option_types import validate_options
from ...instances.scheduling import Schedule, Scheduling
from ...solvers.scheduling.event_loop import simulate


@validate_options
def direct_contribution(
    instance: Scheduling, *, rng: np.random.Generator | None = None
) -> Schedule:
    """DIRECTCONTR: serve the waiting organization of largest phi - psi, phi being the utility
    earned on its machines.

    Source: Skowron and Rzadca, section 7.1 and figure 9, corrected: a job's utility goes to the
    job's owner and its contribution to the machine's owner (the figure's half dt (dt + 1) lines
    have them the wrong way round), the "+ 1" at a start is dropped (it counts the first unit
    twice), a machine counts when it was busy since the last event, and the two loops over machines
    follow each other. psi then equals equation 3 at every event. The figure's random permutation of
    the processors means that each job goes to a machine drawn uniformly among the free ones. Ties
    go to the lowest organization. O(j (k + machines)).

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("scheduling/tiny"), "DIRECTCONTR")
    >>> print(result.status, round(result.objective, 3))
    feasible 0.792
    """
    source = np.random.default_rng(0) if rng is None else rng
    return simulate(instance, "DIRECTCONTR", draws=source.random(2 * instance.jobs)).schedule
