"""Fair share in three versions; an organization's share is its part of the machines (section 7.1).

A share of 0 is served only when no other organization waits. Ratios are compared exactly, as
products of whole numbers; ties go to the lowest organization.
"""

from __future__ import annotations

from ...instances.problem.option_types import validate_options
from ...instances.scheduling import Schedule, Scheduling
from ...solvers.scheduling.event_loop import simulate


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
