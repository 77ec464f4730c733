"""Programs over patterns, the ways to fill a server: servers with each pattern; for services also
mixes of VMs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ..program import LinearProgram, ProgramBuilder, Term

Integers = npt.NDArray[np.int64]


def pattern_program(
    patterns: npt.ArrayLike,
    kind: Integers,
    request: Integers,
    servers: Integers,
    price: Integers,
    *,
    integer: bool,
    penalty: float | None = None,
    most: int | None = None,
) -> LinearProgram:
    """Minimize the cost of servers whose patterns cover every request (Gilmore and Gomory 1961).

    Parameters
    ----------
    patterns, kind : (n, s) VMs of each type in a pattern, and (n,) the class it is for.
    request, servers, price : (s,) VMs wanted; (p,) servers of each class, and their cost.
    integer : whole servers; otherwise the relaxation.
    penalty : cost of one VM left out, in columns of their own after the patterns; none may be left
        out when not given.
    most : the total cost may not pass this.

    Rows: the s requests, the p classes, then the total cost.
    """
    table = np.asarray(patterns)
    builder = ProgramBuilder()
    types, number = len(request), len(table)
    cost = price[kind].astype(float)
    upper: npt.ArrayLike = np.inf
    if integer:  # more servers of a pattern than its rarest need asks for serve nobody
        rounds = np.where(table > 0, -(-request[None, :] // np.maximum(table, 1)), 0)
        upper = np.minimum(rounds.max(axis=1, initial=0), servers[kind])
    columns = builder.columns(number, cost=cost, integer=integer, upper=upper)
    place, item = np.nonzero(table)
    terms: list[Term] = [(item, columns[place], table[place, item])]
    if penalty is not None:
        terms.append((np.arange(types), builder.columns(types, cost=penalty), 1.0))
    builder.sums(types, *terms, lower=request)
    limit = np.where(servers >= 2**40, np.inf, servers.astype(float))
    builder.sums(len(servers), (kind, columns, 1.0), upper=limit)
    if most is not None:
        builder.row(columns, cost, upper=float(most))
    return builder.build()


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
