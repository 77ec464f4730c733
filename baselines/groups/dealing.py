"""Policies that assign jobs to machines by pressure or at random, and local search from these."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ...instances.groups.instance import Grouping, Groups
from ...instances.problem.option_types import validate_options
from ...solvers.groups.common import dealt, forbidden, machines_used, repaired
from ...solvers.groups.exchanges import exchanged
from ...solvers.outcome import Clock
from .hierarchical import hierarchical

Begin = Literal["hierarchical", "serpentine", "sorted", "random"]

REDRAWN = 50
"""How often the groups that are forbidden are drawn again."""


@validate_options
def serpentine(instance: Groups) -> Grouping:
    """Jobs by falling pressure dealt to the machines one by one, there and back again, so that each
    gets heavy and light ones.

    Notes
    -----
    O(n). With two seats it is the complementary pairing of Cooper section IV.C: the i-th of most
    pressure beside the i-th of least.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("groups/tiny"), "serpentine")
    >>> print(result.status, round(result.objective, 4))
    feasible 0.0675
    """
    return repaired(instance, dealt(instance))


@validate_options
def sorted_by_pressure(instance: Groups) -> Grouping:
    """Jobs by falling pressure, machine after machine, so that those of most pressure meet.

    In the pressure model it is in the core at alpha 0: no group of jobs would all gain on a full
    machine of their own.

    Proof, for each class of machines by itself, since jobs claim machines of their own class alone
    and each class holds jobs that follow each other in the order. Say the k jobs of S, on machines
    of k seats, would all gain. Let M be the machine of least pressure that holds one of them, and i
    a job of S on M; i shares M, for a job alone claims nothing. M holds the jobs of least pressure
    among those on M and on the machines of more pressure, and all of S is among these. So the k - 1
    jobs of S beside i press at least as hard as the at most k - 1 jobs beside i on M, and as no
    curve falls, i loses in S no less than now. So i does not gain: a contradiction.

    What that stability costs is the other side: everyone sits beside its like (segregation).

    Notes
    -----
    O(n). The k jobs of least pressure are a top coalition, of which Banerjee, Konishi and Sonmez
    ("Core in a simple coalition formation game", 2001) show that the core is not empty.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("groups/tiny"), "sorted")
    >>> print(result.status, round(result.objective, 4))
    feasible 3.0
    """
    return repaired(instance, dealt(instance, snake=False))


@validate_options
def random_grouping(instance: Groups, *, rng: np.random.Generator | None = None) -> Grouping:
    """Jobs on the seats of the fewest machines in random order: the baseline with which policies
    are compared.

    Groups that are forbidden are drawn again, together with as many others.

    Notes
    -----
    O(n log n).

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("groups/tiny"), "random", seed=0)
    >>> print(result.status, round(result.objective, 4))
    feasible 0.0688
    """
    generator = np.random.default_rng(0) if rng is None else rng
    place = np.repeat(*machines_used(instance))
    seats = instance.seats[place]
    members = np.full((len(place), int(seats.max())), -1)
    seat = np.flatnonzero(np.arange(members.shape[1]) < seats[:, None])
    jobs = np.repeat(np.arange(instance.types), instance.count)
    members.flat[generator.permutation(seat)[: len(jobs)]] = jobs
    for _ in range(REDRAWN):
        broken = np.flatnonzero(forbidden(instance, members, place))
        if not len(broken):
            break
        others = generator.choice(len(place), size=min(len(broken), len(place)), replace=False)
        again = np.flatnonzero(np.isin(seat // members.shape[1], np.union1d(broken, others)))
        members.flat[seat[again]] = generator.permutation(members.flat[seat[again]])
    return repaired(instance, Grouping(members, place, np.ones(len(place), dtype=np.int64)))


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
