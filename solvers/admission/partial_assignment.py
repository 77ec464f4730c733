"""Build an assignment job by job, and the constructive rule the exact methods begin with."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ...instances.admission.instance import Admission, Assignment, Floats, Integers
from ...instances.admission.rules import core_order, job_ranking, speed_on, taken


class Draft:
    """The free cores, and who has taken what.

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
        """(V,) the speed of job j on what is free of each VM."""
        return speed_on(
            self.free, self.instance.speed[j], self._order[j], int(self.instance.threads[j])
        )

    def place(self, j: int, v: int) -> None:
        """Job j takes of VM v what it can use, fastest first; it stays unassigned when nothing is
        free.
        """
        cores = taken(self.free[v], self._order[j], int(self.instance.threads[j]))
        if cores.any():
            self.free[v] -= cores
            self._machine[j], self._cores[j] = v, cores

    def serve(self, jobs: Iterable[int], machine: Integers) -> None:
        """Place the jobs in this order, each on its machine; -1 is none."""
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
