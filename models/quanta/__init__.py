"""Linear program that maximizes the number of slices of the user who gets the fewest.

With y[i, t] the slices of user i in quantum t, at most its demand, and C in each quantum,

    most    z   such that   z <= sum over t of y[i, t] for each user i,   sum over i of y[i, t] <= C

The most of the sum over i of log sum over t of y[i, t] (Eisenberg and Gale 1959) has an optimum in
common with it. `solvers.quanta` needs neither program; tests hold it to this one.
"""

from __future__ import annotations

import numpy as np

from ...instances.quanta import Quanta
from ..program import LinearProgram, ProgramBuilder


def least_total_program(instance: Quanta) -> LinearProgram:
    """Maximize the fewest slices that an active user gets in total, which is the last column.

    The other columns are the slices of user i in quantum t, for each demand above 0.
    """
    builder, (user, quantum) = ProgramBuilder(), np.nonzero(instance.demand)
    slices = builder.columns(len(user), upper=instance.demand[user, quantum])
    active, least = np.flatnonzero(instance.active), builder.columns(1, cost=-1.0)
    behind = (np.arange(len(active)), np.repeat(least, len(active)), -1.0)
    builder.sums(len(active), (np.searchsorted(active, user), slices, 1.0), behind, lower=0.0)
    builder.sums(instance.demand.shape[1], (quantum, slices, 1.0), upper=instance.capacity)
    return builder.build()
