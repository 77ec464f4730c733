"""Program over patterns: number of servers of each class with each pattern."""

from __future__ import annotations

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
