"""Minimum total completion time in one round, by complete enumeration of small cases."""

from __future__ import annotations

from itertools import product
from math import inf

import numpy as np

from ...instances.admission import Admission
from ...instances.admission.instance import Integers
from ...instances.problem.errors import InvalidOption
from ...instances.problem.option_types import validate_options

MOST_JOBS = 7


@validate_options
def least_computation(instance: Admission) -> float:
    """Minimum sum of computation times (length / speed) with which all jobs run in one round (claim
    of section III.B.4); infinite if they do not fit.

    All ways to share the cores of all VMs are gone through: for worked examples.

    Raises
    ------
    InvalidOption
        The jobs have no lengths, or there are more than `MOST_JOBS`.
    """
    length = instance.length
    if length is None:
        raise InvalidOption("the jobs have no lengths; give the instance a length for each job")
    if instance.jobs > MOST_JOBS:
        raise InvalidOption(
            f"there are {instance.jobs} jobs; complete enumeration takes at most {MOST_JOBS}"
        )

    def least(j: int, free: Integers) -> float:
        """Minimum sum of the computation times of jobs j, j + 1, ... on the free cores."""
        best = 0.0 if j == instance.jobs else inf
        for v in range(instance.machines) if j < instance.jobs else ():
            for used in product(*(range(n + 1) for n in free[v].tolist())):
                if 1 <= sum(used) <= instance.threads[j]:
                    left = free.copy()
                    left[v] -= np.array(used)
                    own = float(length[j] / (instance.speed[j] @ used))
                    best = min(best, own + least(j + 1, left))
        return best

    return least(0, instance.cores)
