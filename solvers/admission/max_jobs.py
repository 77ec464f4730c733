"""Assignments that serve the largest number of jobs."""

from __future__ import annotations

import numpy as np

from ...instances.admission.instance import Admission, Assignment


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
