"""The least server-time over lives of servers, as a linear program.

A life is a set of VMs that one server can run, and costs the time for which it is on. With x[l] how
often life l is taken,

    least   sum over l of time[l] x[l]   such that   sum of x[l] over lives of VM i >= 1 for each i
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...instances.lifetimes import Integers
from ..program import LinearProgram, ProgramBuilder


def lives_program(
    vms: int, lives: Sequence[Integers], time: Sequence[float], *, integer: bool
) -> LinearProgram:
    """The program of some lives, the indices of their VMs, and the time for which each is on."""
    builder, upper = ProgramBuilder(), 1.0 if integer else np.inf
    columns = builder.columns(len(lives), cost=time, upper=upper, integer=integer)
    members = np.repeat(columns, [len(life) for life in lives])
    builder.sums(vms, (np.concatenate(lives), members, 1.0), lower=1.0)
    return builder.build()
