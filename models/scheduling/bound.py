"""Fluid upper bound on schedules: all work as one fluid that every machine may draw from."""

from __future__ import annotations

import numpy as np

from ...instances.problem.option_types import validate_options
from ...instances.scheduling import Scheduling
from .intervals import Objective


@validate_options
def fluid_bound(instance: Scheduling, objective: Objective) -> int:
    """Upper bound on the units done, or on the total psi_sp, before the horizon. O(j log j).

    A job brings at most its work, and what its processors, or the fastest machine, do from its
    release to the horizon. Jobs may be cut anywhere, run on any number of machines at once and out
    of order: then doing work as soon as there is any is best for both objectives at every time, and
    units done and their ages add up in closed form between releases.
    """
    horizon, machines = instance.horizon, instance.capacity
    known = instance.release < horizon
    times = np.unique(instance.release[known])
    work = np.zeros(len(times), dtype=np.int64)
    left = (horizon - instance.release) * instance.width * int(instance.pace.max())
    most = np.minimum(instance.work, left)[known]
    np.add.at(work, np.searchsorted(times, instance.release[known]), most)
    until = np.append(times[1:], horizon)[: len(times)]
    waiting = total = 0
    for begin, end, arrived in zip(times.tolist(), until.tolist(), work.tolist(), strict=True):
        waiting += arrived
        full = min(waiting // machines, end - begin)  # steps with every machine busy
        rest = min(waiting - full * machines, machines) if full < end - begin else 0
        waiting -= full * machines + rest
        if objective == "utilization":
            total += full * machines + rest
        else:
            total += machines * full * (2 * (horizon - begin) - full + 1) // 2 + rest * (
                horizon - begin - full
            )
    return total
