"""Integer program for the most total utility of elastic jobs.

With x[i, c] the jobs of type i in configuration c, a kind k(c) of device and a number s(c) of them,

    most    sum of utility[i, c] x[i, c]
    such that  sum over c of x[i, c] <= count[i] for each type i,
               sum over i and c of kind d of s(c) x[i, c] <= devices[d] for each kind d.

`solvers.elastic` bounds it by prices of devices, and solves it as it stands where it is small and
for the jobs that are nearest to a tie at those prices.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ...instances.elastic import Elastic
from ..program import LinearProgram, ProgramBuilder

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


def configuration_program(
    instance: Elastic,
    worth: Floats,
    types: Integers | None = None,
    left: Integers | None = None,
    idle: bool = True,
) -> tuple[LinearProgram, Integers, Integers]:
    """Program that maximizes the total worth of jobs' configurations (stated as a minimization).

    Parameters
    ----------
    worth : (t, C) of a job in a configuration; -inf where it may not be.
    types, left : the t types that are placed, and the (D,) devices for them; all when not given.
    idle : whether a job may be left without devices.

    Returns
    -------
    The program, and for each column its type and its configuration.
    """
    types = np.arange(len(instance.count)) if types is None else types
    left = instance.devices if left is None else left
    row, configuration = np.nonzero(np.isfinite(worth))
    job, kind, size = types[row], instance.kind[configuration], instance.workers[configuration]
    most = np.minimum(instance.count[job], left[kind] // size)
    builder = ProgramBuilder()
    columns = builder.columns(len(job), upper=most, cost=-worth[row, configuration], integer=True)
    count = instance.count[types]
    builder.sums(len(types), (row, columns, 1.0), lower=0.0 if idle else count, upper=count)
    builder.sums(len(left), (kind, columns, size), upper=left)
    return builder.build(), job, configuration
