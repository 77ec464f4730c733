"""Rules that ignore utilities: round robin, first in first out, and random choice."""

from __future__ import annotations

import numpy as np

from ...instances.problem.option_types import validate_options
from ...instances.scheduling import Schedule, Scheduling
from ...solvers.scheduling.event_loop import simulate


@validate_options
def round_robin(instance: Scheduling) -> Schedule:
    """Organizations in turn: each free machine goes to the next one, in a circle, that has a job
    waiting.

    Source: Skowron and Rzadca, section 7.1, ROUNDROBIN. The circle begins at organization 0 and
    goes on after the last one served. O(j k).

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("scheduling/tiny"), "ROUNDROBIN")
    >>> print(result.status, round(result.objective, 3))
    feasible 1.782
    """
    return simulate(instance, "ROUNDROBIN").schedule


@validate_options
def fifo(instance: Scheduling) -> Schedule:
    """First in, first out over all organizations: the job released first, ties to the lowest
    organization. O(j k).

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("scheduling/tiny"), "FIFO")
    >>> print(result.status, round(result.objective, 3))
    feasible 6.634
    """
    return simulate(instance, "FIFO").schedule


@validate_options
def random_organization(
    instance: Scheduling, *, rng: np.random.Generator | None = None
) -> Schedule:
    """Each free machine goes to an organization drawn uniformly among those with a job waiting: the
    floor. O(j k).

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("scheduling/tiny"), "random")
    >>> print(result.status, round(result.objective, 3))
    feasible 2.812
    """
    source = np.random.default_rng(0) if rng is None else rng
    return simulate(instance, "random", draws=source.random(2 * instance.jobs)).schedule
