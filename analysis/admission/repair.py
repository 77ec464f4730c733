"""Walk from a fast assignment to a stable one that resolves blocking pairs one by one: starts for
the frontier.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...instances.admission import Admission, Assignment, blocking_pairs, total_speed
from ...instances.admission.instance import Integers
from ...instances.admission.rules import core_order, job_ranking, taken
from ...solvers.outcome import Clock

LOOKED_AT = 12
"""Blocking pairs of one assignment that are tried, drawn at random."""

PATIENCE = 40
"""Steps without fewer blocking pairs than ever after which a walk ends."""


def towards_stability(
    instance: Admission, start: Assignment, rng: np.random.Generator, clock: Clock | None = None
) -> Iterator[Assignment]:
    """Assignments on a walk from `start` to one without blocking pairs, until it stalls or the time
    is up.

    At each step one blocking pair (j, v) has its way, as in `settle_pair`: of those tried the one
    that leaves most total speed among those after which fewer pairs block, or the one that leaves
    fewest. No proof is in it: feasible assignments, to be counted by whoever uses them.
    """
    now, pairs = start, blocking_pairs(instance, start)
    fewest, idle = pairs.count, 0
    while pairs.count > 0 and idle < PATIENCE and not (clock is not None and clock.expired):
        drawn = rng.permutation(pairs.count)[:LOOKED_AT].tolist()
        tried = [
            settle_pair(instance, now, int(pairs.job[place]), int(pairs.machine[place]))
            for place in drawn
        ]
        counted = [(blocking_pairs(instance, one), one) for one in tried]
        fewer = [entry for entry in counted if entry[0].count < pairs.count]
        if fewer:
            pairs, now = max(fewer, key=lambda entry: total_speed(instance, entry[1]))
        else:
            pairs, now = min(counted, key=lambda entry: entry[0].count)
        idle = idle + 1 if pairs.count >= fewest else 0
        fewest = min(fewest, pairs.count)
        yield now


def settle_pair(instance: Admission, assignment: Assignment, job: int, machine: int) -> Assignment:
    """Move a job to a VM, where it takes the cores that are free or held by lower-ranked jobs.

    Those jobs keep what they can of their own cores, and take free ones instead, in the order of
    their rank; one that is left without any is not assigned. The jobs on the VM that was left share
    what became free in the same way.
    """
    place, cores = np.array(assignment.machine), np.array(assignment.cores)
    left = int(place[job])
    place[job], cores[job] = -1, 0
    ranking = job_ranking(instance.threads)
    rank = np.argsort(ranking)
    below = [other for other in ranking[rank[job] :].tolist() if place[other] == machine]
    cores_before = {other: cores[other].copy() for other in below}
    cores[below] = 0
    place[job] = machine
    order = core_order(instance.speed)
    _take(instance, place, cores, order, [job], {})
    _take(instance, place, cores, order, below, cores_before)
    if left >= 0 and left != machine:
        _take(
            instance,
            place,
            cores,
            order,
            [other for other in ranking.tolist() if place[other] == left],
            {},
        )
    return Assignment(place, cores)


def _take(
    instance: Admission,
    place: Integers,
    cores: Integers,
    order: Integers,
    jobs: list[int],
    cores_before: dict[int, Integers],
) -> None:
    """Let each job in turn take again its own cores that are free, then the fastest free cores."""
    for job in jobs:
        at = place[job]
        free = instance.cores[at] - cores[place == at].sum(axis=0)
        if job in cores_before:
            again = np.minimum(cores_before[job], free)
            cores[job] += again
            free = free - again
        cores[job] += taken(free, order[job], int(instance.threads[job] - cores[job].sum()))
        if cores[job].sum() == 0:
            place[job] = -1
