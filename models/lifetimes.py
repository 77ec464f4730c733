"""The least server-time over lives of servers, as a linear program.

A life is a set of VMs that one server can run, and costs the time for which it is on. With x[l] how
often life l is taken,

    least   sum over l of time[l] x[l]   such that   sum of x[l] over lives of VM i >= 1 for each i

`solvers.lifetimes.life_columns` finds the lives that count.
"""

from __future__ import annotations

import numpy as np

from ..instances.lifetimes import Integers
from .program import LinearProgram, ProgramBuilder


def lives_program(vms: int, lives: list[list[int]], time: Integers, integer: bool) -> LinearProgram:
    """The program of some lives, the indices of their VMs, and the time that each is on; with
    `integer` each is taken or not.
    """
    builder = ProgramBuilder()
    columns = builder.columns(len(lives), cost=time, upper=1.0 if integer else np.inf,
                              integer=integer)  # fmt: skip
    members = np.concatenate([np.array(life, dtype=np.int64) for life in lives])
    builder.sums(vms, (members, np.repeat(columns, [len(life) for life in lives]), 1.0), lower=1.0)
    return builder.build()
