"""Assignments built job by job: partial ones, the serial dictatorship from which exact methods
start, and those that serve the largest number of jobs.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ...instances.admission.instance import Admission, Assignment, Floats, Integers
from ...instances.admission.rules import core_order, job_ranking, speed_on, taken


class Draft:
    """Free cores, and the cores that each job has taken.

    Attributes
    ----------
    instance : what is given.
    free : (V, C) cores nobody has taken yet.
    """

    def __init__(self, instance: Admission) -> None:
        self.instance = instance
        self.free = np.array(instance.cores)
        self._order = core_order(instance.speed)
        self._machine = np.full(instance.jobs, -1)
        self._cores = np.zeros((instance.jobs, instance.types), dtype=np.int64)

    def speed(self, j: int) -> Floats:
        """(V,) speed of job j on the free cores of each VM."""
        return speed_on(
            self.free, self.instance.speed[j], self._order[j], int(self.instance.threads[j])
        )

    def place(self, j: int, v: int) -> None:
        """Give job j the free cores of VM v that it can use, fastest first; without any it stays
        unassigned.
        """
        cores = taken(self.free[v], self._order[j], int(self.instance.threads[j]))
        if cores.any():
            self.free[v] -= cores
            self._machine[j], self._cores[j] = v, cores

    def serve(self, jobs: Iterable[int], machine: Integers) -> None:
        """Assign jobs in the given order, each to its VM in `machine` (J,), where -1 is none."""
        for j in jobs:
            if machine[j] >= 0:
                self.place(j, int(machine[j]))

    def assignment(self) -> Assignment:
        """Assignment of the jobs placed so far, with all others unassigned."""
        return Assignment(self._machine, self._cores)


def serial_dictatorship(instance: Admission) -> Assignment:
    """Jobs in decreasing order of threads (ties: lowest job), each to its fastest VM on the cores
    left; O(J V C).
    """
    draft = Draft(instance)
    for j in job_ranking(instance.threads).tolist():
        there = draft.speed(j)
        if there.max() > 0:
            draft.place(j, int(there.argmax()))
    return draft.assignment()


def most_possible(instance: Admission) -> int:
    """The most jobs any assignment serves: the smaller of the jobs and the cores, since any core
    serves any job.
    """
    return min(instance.jobs, int(instance.cores.sum()))


def serve_most(instance: Admission, assignment: Assignment) -> Assignment:
    """Serve as many jobs as possible, changing a feasible assignment little.

    Every job that is not assigned gets one core: the free core on which it is fastest, or the core
    of a job with several where what it gains exceeds what that job loses by most. O(J^2 C).
    """
    machine, cores = np.array(assignment.machine), np.array(assignment.cores)
    free = instance.cores - assignment.used_cores(instance.machines)
    for j in np.flatnonzero(~assignment.assigned).tolist():
        best, giver = (-np.inf, -1, -1), -1
        if free.any():
            worth = np.where(free > 0, instance.speed[j], -np.inf)
            v, c = (int(i) for i in np.unravel_index(int(worth.argmax()), worth.shape))
            best = (float(worth[v, c]), v, c)
        several = cores.sum(axis=1) > 1
        if several.any():
            worth = np.where(
                (cores > 0) & several[:, None], instance.speed[j] - instance.speed, -np.inf
            )
            i, c = (int(k) for k in np.unravel_index(int(worth.argmax()), worth.shape))
            if worth[i, c] > best[0]:
                best, giver = (float(worth[i, c]), int(machine[i]), c), i
        _, v, c = best
        if v < 0:
            break
        if giver < 0:
            free[v, c] -= 1
        else:
            cores[giver, c] -= 1
        machine[j], cores[j, c] = v, 1
    return Assignment(machine, cores)
