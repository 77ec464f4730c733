"""The program of services: servers by what they hold, and a mix of VMs for each service."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ..program import LinearProgram, ProgramBuilder

Integers = npt.NDArray[np.int64]


def service_program(
    patterns: Integers,
    kind: Integers,
    servers: Integers,
    price: Integers,
    mixes: Sequence[Integers],
    owed: Integers,
    *,
    integer: bool,
) -> LinearProgram:
    """Least cost of servers that hold one mix of VMs for each service.

    Parameters
    ----------
    patterns, kind : (n, d) VMs of each size that a server holds, and (n,) the class it is of.
    servers, price : (p,) servers of each class, and their cost.
    mixes : of each service, (m, d) VMs of each size that give its rate.
    owed : (d,) VMs of each size that are requested besides.
    integer : whole servers, and one mix of each service; otherwise the relaxation.

    Columns: the patterns, then the mixes. Rows: the d sizes, the services, the p classes; the
    multipliers of the first are prices of a VM of each size.
    """
    builder = ProgramBuilder()
    taken = builder.columns(len(patterns), cost=price[kind].astype(float), integer=integer)
    table = np.concatenate([np.zeros((0, len(owed)), dtype=np.int64), *mixes])
    chosen = builder.columns(len(table), upper=1.0, integer=integer)
    of = np.repeat(np.arange(len(mixes)), [len(each) for each in mixes])
    server, size = np.nonzero(patterns)
    mix, part = np.nonzero(table)
    holds = (size, taken[server], patterns[server, size])
    builder.sums(len(owed), holds, (part, chosen[mix], -table[mix, part]), lower=owed)
    builder.sums(len(mixes), (of, chosen, 1.0), lower=1.0)
    limit = np.where(servers >= 2**40, np.inf, servers.astype(float))
    builder.sums(len(servers), (kind, taken, 1.0), upper=limit)
    return builder.build()
