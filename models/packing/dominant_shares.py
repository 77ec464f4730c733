"""Programs for allocations on fixed servers: most utilization, leximin dominant shares."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..program import LinearProgram, ProgramBuilder, Term

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def _served(
    builder: ProgramBuilder, combination: list[Integers], servers: Integers, cap: Floats
) -> tuple[list[Integers], Integers]:
    """Add columns for the servers of each class with each combination of VMs, and users' VMs.

    A user's VMs are at most those that the servers hold, and at most its cap.
    """
    sizes, table = [len(each) for each in combination], np.concatenate(combination)
    of_class, types = np.repeat(np.arange(len(sizes)), sizes), table.shape[1]
    columns = builder.columns(len(table), upper=servers[of_class].astype(float), integer=True)
    builder.sums(len(sizes), (of_class, columns, 1.0), upper=servers)
    served = builder.columns(
        types, upper=np.minimum(cap, _most(combination, servers)), integer=True
    )
    row, user = np.nonzero(table)
    serving = user, columns[row], table[row, user]
    builder.sums(types, serving, (np.arange(types), served, -1.0), lower=0.0)
    return np.split(columns, np.cumsum(sizes)[:-1]), served


def _most(combination: list[Integers], servers: Integers) -> Integers:
    """Largest number (s,) of VMs of each user that servers hold, whatever the other users get."""
    largest = [table.max(axis=0, initial=0) for table in combination]
    most: Integers = (np.array(largest) * servers[:, None]).sum(axis=0)
    return most


def utilization_program(
    combination: list[Integers],
    servers: Integers,
    cap: Floats,
    weight: Floats,
    owed: Integers,
    *,
    whole: bool = False,
) -> tuple[LinearProgram, list[Integers]]:
    """Maximize the weighted number of VMs served (stated as a minimization).

    Parameters
    ----------
    combination : per class (e, s) maximal combinations.
    servers, cap, weight : (p,) servers, (s,) most VMs and worth of one VM of each user.
    owed : (s,) fewest VMs of each user.
    whole : weights are whole numbers, and the program has no other columns than such.

    Returns the program, and the columns of the servers by combination.
    """
    builder = ProgramBuilder()
    number, served = _served(builder, combination, servers, cap)
    for user in np.flatnonzero(owed > 0).tolist():
        builder.row(served[user], lower=float(owed[user]))
    if whole:
        program = builder.build()
        program.cost[served] = -weight
        return program, number
    extra = builder.columns(1)
    builder.row(np.append(served, extra), np.append(weight, -1.0), lower=0.0, upper=0.0)
    program = builder.build()
    program.cost[extra] = -1.0
    return program, number


def level_program(
    combination: list[Integers], servers: Integers, cap: Floats, steps: list[tuple[Integers, int]]
) -> tuple[LinearProgram, list[Integers]]:
    """Integer feasibility program: placements that give a number of users a number of VMs each.

    Parameters
    ----------
    combination, servers, cap : as for `utilization_program`.
    steps : (s,) VMs and a number of users each: at least so many users have as many VMs of theirs
        as that. VMs do not decrease from step to step, and numbers do not increase; VMs of 0 are
        had by all.
    """
    builder = ProgramBuilder()
    number, served = _served(builder, combination, servers, cap)
    users = np.flatnonzero(steps[-1][0] > 0)
    before, every = np.zeros(len(served), dtype=np.int64), np.arange(len(users))
    terms: list[Term] = [(every, served[users], 1.0)]
    last: Integers | None = None
    for owed, wanted in steps:
        reached = builder.columns(len(users), upper=1.0, integer=True)
        builder.row(reached, lower=float(wanted))
        terms.append((every, reached, before[users] - owed[users]))
        if last is not None:
            builder.sums(len(users), (every, last, 1.0), (every, reached, -1.0), lower=0.0)
        before, last = owed, reached
    builder.sums(len(users), *terms, lower=0.0)
    return builder.build(), number


def share_program(
    combination: list[Integers],
    servers: Integers,
    cap: Floats,
    unit: Floats,
    reached: list[float],
    tolerance: float,
) -> tuple[LinearProgram, list[Integers]]:
    """Program that maximizes the sum of the k + 1 smallest shares, while the sum of the l smallest
    stays `reached[l - 1]` for l from 1 to k.

    The sum of the k least of x is max over t of k t - sum max(0, t - x_i) (Ogryczak and Tamir
    2003), so that levels 1, 2, ... maximized one after the other give the leximin of the shares.

    Parameters
    ----------
    combination, servers, cap : as for `utilization_program`.
    unit : (s,) share of one VM of each user; users who want nothing are not among them (unit 0 is
        left out).
    reached : the optima of the levels before, each kept to `tolerance`.
    """
    builder = ProgramBuilder()
    number, served = _served(builder, combination, servers, cap)
    users = np.flatnonzero(unit > 0)
    wanted = float((unit * np.where(np.isfinite(cap), cap, 0)).max(initial=0.0))
    top, every = max(wanted, float(unit @ _most(combination, servers))), np.arange(len(users))
    last = -1
    for level in range(len(reached) + 1):
        least = builder.columns(1, lower=0.0, upper=top)[0]
        short = builder.columns(len(users), upper=top)
        share = (every, short, 1.0), (every, served[users], unit[users])
        builder.sums(len(users), *share, (every, np.full(len(users), least), -1.0), lower=0.0)
        total = builder.columns(1, lower=0.0)[0]
        builder.row(
            np.array([total, least, *short]),
            np.array([1.0, -(level + 1.0), *np.ones(len(users))]),
            lower=0.0,
            upper=0.0,
        )
        if level < len(reached):
            builder.row([total], [1.0], lower=reached[level] - tolerance)
        last = int(total)
    program = builder.build()
    program.cost[last] = -1.0
    return program, number
