"""Assignments built job by job, and the constructive rule from which the exact methods start."""

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
        """Place the jobs in this order, each on its VM; -1 is none."""
        for j in jobs:
            if machine[j] >= 0:
                self.place(j, int(machine[j]))

    def assignment(self) -> Assignment:
        """The assignment built so far."""
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
