"""Groupings that no group blocks, as rows of the program over kinds of groups.

W[a, S] of `instances.groups.stability` counts the jobs of type a whose loss passes a threshold, so
it is a sum of columns, and grows as the threshold falls. Sorted by threshold, each W of a type is
the one before it and the groups in between: a chain of columns. Flags say that W is at least m:

    W <= m - 1 + (count[a] - m + 1) z

and for each full group S of types a with multiplicities m_a, not all flags at once:

    sum over the types a of S of z[a, S] <= (number of types of S) - 1.
"""

from __future__ import annotations

import numpy as np

from ...instances.groups.instance import Groups, Integers
from ...instances.groups.stability import times_of
from ..program import LinearProgram, ProgramBuilder
from .columns import Columns


def core_program(instance: Groups, columns: Columns, least: int) -> LinearProgram:
    """Least penalty without a blocking group; its first `len(columns)` columns are those of
    `Columns.program`.

    Parameters
    ----------
    columns : all of the instance's.
    least : units that a job must gain more than.
    """
    builder = ProgramBuilder()
    x = builder.columns(len(columns), upper=columns.most(instance), cost=columns.cost / 1e12,
                        integer=True)  # fmt: skip
    row, column = columns.incidence()
    count = instance.count.astype(float)
    builder.block(row, x[column], 1.0, count, count)
    builder.block(columns.where, x, 1.0, np.full(len(columns.limits), -np.inf), columns.limits)
    for place in np.flatnonzero(columns.limits > 0).tolist():
        _no_blocking(builder, instance, columns, x, place, least)
    return builder.build()


def _no_blocking(
    builder: ProgramBuilder, instance: Groups, columns: Columns, x: Integers, place: int, least: int
) -> None:
    """The rows for one class of machines."""
    here = np.flatnonzero(columns.where == place)
    members, lost = columns.members[here], columns.lost[here]
    size = (members >= 0).sum(axis=1)
    times = times_of(members)
    full = np.flatnonzero(size == instance.seats[place])
    flags: list[list[int]] = [[] for _ in full]
    dead = np.zeros(len(full), dtype=bool)  # groups that cannot block whatever happens
    for kind in range(instance.types):
        rows, seats = np.nonzero((members == kind) & (times > 0))
        shared = size[rows] > 1
        # groups in which the type loses something, the most first
        order = np.argsort(-lost[rows, seats][shared], kind="stable")
        groups, seat = rows[shared][order], seats[shared][order]
        falling = -lost[groups, seat]
        at = np.flatnonzero(times[full][:, :] * (members[full] == kind) > 0)
        wanted, spot = np.divmod(at, members.shape[1])
        # for each full group, how many of the sorted ones lose more than `least` more
        prefix = np.searchsorted(falling, -(lost[full[wanted], spot] + least), side="left")
        dead[wanted[prefix == 0]] = True
        chain = np.unique(prefix[prefix > 0])
        most = int(instance.count[kind])
        sums = builder.columns(len(chain), upper=float(most))
        if len(chain):
            # each sum is the one before it, and the groups in between
            piece = np.searchsorted(chain, np.arange(chain[-1]), side="right")
            links = np.arange(1, len(chain))
            builder.block(
                np.concatenate([np.arange(len(chain)), links, piece]),
                np.concatenate([sums, sums[:-1], x[here[groups[: chain[-1]]]]]),
                np.concatenate([
                    np.full(len(chain), -1.0), np.ones(len(links)),
                    times[groups, seat][: chain[-1]].astype(float),
                ]),
                np.zeros(len(chain)), np.zeros(len(chain)),
            )  # fmt: skip
        made: dict[tuple[int, int], int] = {}
        for group, where, end in zip(wanted.tolist(), spot.tolist(), prefix.tolist(), strict=True):
            if end == 0:
                continue
            many = int(times[full[group], where])
            key = (int(np.searchsorted(chain, end)), many)
            if key not in made:
                (z,) = builder.columns(1, upper=1.0, integer=True).tolist()
                builder.row([sums[key[0]], z], [1.0, -float(most - many + 1)], upper=many - 1.0)
                made[key] = z
            flags[group].append(made[key])
    for group, taken in enumerate(flags):
        if not dead[group]:
            builder.row(taken, 1.0, upper=len(taken) - 1.0)
