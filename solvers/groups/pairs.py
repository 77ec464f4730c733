"""Least penalty of different jobs on machines of two seats: a minimum-weight matching by
blossoms.
"""

from __future__ import annotations

import numpy as np

from ...instances.groups.instance import FORBIDDEN, Grouping, Groups, Integers
from ...instances.groups.penalties import units
from ...instances.problem.base import Solution
from ..blossom import Blossoms, certificate, first_mates, parts
from ..outcome import Clock, Outcome
from .common import TotalLoss
from .feasible import starting_grouping

BLOCK = 5 * 10**6
"""Pairs whose costs are worked out at once."""

PAIR_SECONDS = 4e-7
"""That a pair takes before a search looks at a clock."""


def least_loss_pairs(
    instance: Groups, start: Solution | None, clock: Clock, fewest: int | None
) -> Outcome | None:
    """Outcome of pairing jobs by a minimum-weight matching, where many jobs all differ, machines
    have two seats, and no job loses anything alone; None for other instances, or where too little
    time is left or another method is faster.
    """
    jobs, place = instance.jobs, int(np.argmax(instance.limits > 0))
    alike = (instance.alike == instance.alike[place]) | (instance.limits == 0)
    lone = np.column_stack([instance.present, np.full(len(instance.present), -1)])
    if (
        fewest is None or jobs < fewest or len(instance.present) < jobs
        or instance.seats[place] != 2 or not alike.all()
        or (clock.left is not None and PAIR_SECONDS * jobs**2 > clock.left)
        or units(instance, place, lone).any()
    ):  # fmt: skip
        return None
    most_alone = min(jobs, instance.spare)
    over = parts(jobs, most_alone)
    cost = pair_costs(instance, place, over)
    begin = starting_grouping(instance, None, start, clock)
    mate = mates(instance, begin) if isinstance(begin, Grouping) else first_mates(cost)
    if np.count_nonzero(mate < 0) > most_alone:
        return None
    search = TotalLoss(instance, grouping_of(instance, mate), clock)
    search.report("start")
    blossoms = Blossoms(
        cost, 0, most_alone, mate, clock,
        offer=lambda mate: search.offer(grouping_of(instance, mate), "blossoms"),
        prove=lambda bound: search.raise_bound(-(-bound // over), "pricing"),
    )  # fmt: skip
    with search.keeping_best():
        blossoms.search()
    return search.finish(certificate(blossoms)) if blossoms.suited else None


def pair_costs(instance: Groups, place: int, over: int) -> Integers:
    """Total penalty of each two jobs on a class of machines, shape (n, n), in units of 1e-12 /
    `over`.
    """
    from ..blossom_kernels import FORBIDDEN as NEVER

    here, jobs = instance.present, instance.jobs
    cost = np.full((jobs, jobs), NEVER)
    for rows in np.array_split(np.arange(jobs), 1 + jobs**2 // BLOCK):
        one, two = np.nonzero(rows[:, None] < np.arange(jobs))
        one = rows[one]
        lost = units(instance, place, np.column_stack([here[one], here[two]]))
        both = np.where(lost.max(axis=1) < FORBIDDEN, over * lost.sum(axis=1), NEVER)
        cost[one, two] = cost[two, one] = both
    return cost


def mates(instance: Groups, grouping: Grouping) -> Integers:
    """Partner of each job (n,), both as indices into `instance.present`; -1 for a job alone."""
    pairs = grouping.members[(grouping.members >= 0).sum(axis=1) == 2]
    one, two = np.searchsorted(instance.present, pairs[:, [0, -1]]).T
    mate: Integers = np.full(instance.jobs, -1)
    mate[one], mate[two] = two, one
    return mate


def grouping_of(instance: Groups, mate: Integers) -> Grouping:
    """Grouping of the jobs and their partners; machines of equal classes are filled in order."""
    one = np.flatnonzero((mate < 0) | (mate > np.arange(len(mate))))
    two = np.where(mate[one] < 0, -1, instance.present[mate[one]])
    used = np.repeat(np.arange(len(instance.limits)), instance.limits)[: len(one)]
    return Grouping(np.column_stack([instance.present[one], two]), used, np.ones(len(one), int))
