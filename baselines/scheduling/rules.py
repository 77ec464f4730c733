"""Rules of section 7.1 without coalitions: round robin, fair share in three versions, DIRECTCONTR;
and first in first out and random choice for comparison.

With fair share an organization's share is its part of the machines. A share of 0 is served only
when no other organization waits. Ratios are compared exactly, as products of whole numbers; ties go
to the lowest organization.
"""

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
    """Each free machine goes to an organization drawn uniformly among those with a job waiting, as
    a baseline. O(j k).

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("scheduling/tiny"), "random")
    >>> print(result.status, round(result.objective, 3))
    feasible 2.812
    """
    source = np.random.default_rng(0) if rng is None else rng
    return simulate(instance, "random", draws=source.random(2 * instance.jobs)).schedule


@validate_options
def fair_share(instance: Scheduling) -> Schedule:
    """FAIRSHARE: the waiting organization of least machine time used so far, relative to its share,
    is served.

    Source: Skowron and Rzadca, section 7.1. "The total time already assigned" is the time jobs have
    run until now: how long a started job will run is not known. Of parallel jobs it is processor
    time, and on machines of different speeds the units of work done. O(j k).

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("scheduling/tiny"), "FAIRSHARE")
    >>> print(result.status, round(result.objective, 3))
    feasible 0.792
    """
    return simulate(instance, "FAIRSHARE").schedule


@validate_options
def ut_fair_share(instance: Scheduling) -> Schedule:
    """UTFAIRSHARE: the waiting organization of least utility psi_sp, relative to its share, is
    served.

    Source: Skowron and Rzadca, section 7.1. O(j k).

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("scheduling/tiny"), "UTFAIRSHARE")
    >>> print(result.status, round(result.objective, 3))
    feasible 0.792
    """
    return simulate(instance, "UTFAIRSHARE").schedule


@validate_options
def curr_fair_share(instance: Scheduling) -> Schedule:
    """CURRFAIRSHARE: the waiting organization with the fewest jobs running now, relative to its
    share, is served.

    Source: Skowron and Rzadca, section 7.1. Of parallel jobs it counts processors in use, and on
    machines of different speeds the units of work that running jobs do in the unit of time that
    begins: each the speed of its machine, or what is left of it where that is less. O(j k).

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("scheduling/tiny"), "CURRFAIRSHARE")
    >>> print(result.status, round(result.objective, 3))
    feasible 0.0
    """
    return simulate(instance, "CURRFAIRSHARE").schedule


@validate_options
def direct_contribution(
    instance: Scheduling, *, rng: np.random.Generator | None = None
) -> Schedule:
    """DIRECTCONTR: serve the waiting organization of largest debt phi - psi, phi being the utility
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
