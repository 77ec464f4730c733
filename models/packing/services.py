"""Program of services: servers by pattern, and a mix of VMs for each service."""

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
    gives: Sequence[Integers],
    rates: Sequence[int],
    owed: Integers,
    *,
    integer: bool,
) -> LinearProgram:
    """Minimize the cost of servers that hold mixes of VMs with the rate of each service.

    Parameters
    ----------
    patterns, kind : (n, d) VMs of each size that a server holds, and (n,) the class it is of.
    servers, price : (p,) servers of each class, and their cost.
    mixes, gives, rates : of each service, (m, d) VMs of each size in a mix, (m,) what a mix gives,
        and the rate that is asked for.
    owed : (d,) VMs of each size that are requested besides.
    integer : whole servers and mixes; otherwise the relaxation.

    Columns: the patterns, then the mixes. Rows: the d sizes, the services, the p classes; the
    multipliers of the first are prices of a VM of each size.
    """
    builder = ProgramBuilder()
    table = np.concatenate(mixes)
    of = np.repeat(np.arange(len(mixes)), [len(each) for each in mixes])
    given = np.concatenate(gives)
    most = -(-np.array(rates)[of] // given)  # mixes beyond which more are of no use
    limit = servers.astype(float)
    limit[servers >= 2**40] = float(owed.sum() + most @ table.sum(axis=1))
    taken = builder.columns(
        len(patterns), cost=price[kind].astype(float), upper=limit[kind], integer=integer
    )
    chosen = builder.columns(len(table), upper=most, integer=integer)
    server, size = np.nonzero(patterns)
    mix, place = np.nonzero(table)
    holds = (size, taken[server], patterns[server, size])
    builder.sums(len(owed), holds, (place, chosen[mix], -table[mix, place]), lower=owed)
    builder.sums(len(mixes), (of, chosen, given), lower=np.array(rates, dtype=float))
    builder.sums(len(servers), (kind, taken, 1.0), upper=limit)
    return builder.build()
