"""Groupings that no group blocks, as rows of the program over kinds of groups.

W[a, S] of `instances.groups.stability` counts the jobs of type a whose loss passes a threshold, so
it is a sum of columns, and grows as the threshold falls. Sorted by threshold, each W of a type is
the one before it and the groups in between: a chain of columns. Flags say that W is at least m:

    W <= m - 1 + (count[a] - m + 1) z

and for each full group S of types a with multiplicities m_a, not all flags at once:

    sum over the types a of S of z[a, S] <= (number of types of S) - 1.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ...instances.groups.instance import UNIT, Groups, Integers
from ...instances.groups.stability import times_of
from ..program import Floats, LinearProgram, ProgramBuilder
from .columns import Columns


@dataclass(frozen=True, eq=False)
class CoreProgram:
    """Least penalty among some kinds of groups, without a blocking group.

    Attributes
    ----------
    program : its first columns are those of `Columns.program`, then come sums and flags.
    """

    program: LinearProgram
    _chains: list[tuple[Integers, Integers, Floats, Integers]] = field(repr=False)
    _flags: list[tuple[int, int, int]] = field(repr=False)

    def point(self, number: Integers) -> Floats:
        """(columns,) the point of so many machines of each group."""
        found = np.zeros(self.program.columns)
        found[: len(number)] = number
        for sums, groups, times, piece in self._chains:
            added = np.bincount(piece, weights=times * number[groups], minlength=len(sums))
            found[sums] = np.cumsum(added)
        for z, total, many in self._flags:
            found[z] = found[total] >= many
        return found


def core_program(
    instance: Groups, columns: Columns, every: Columns, least: int, *, costs: bool = True
) -> CoreProgram:
    """The program of groupings of some groups that no group blocks.

    Parameters
    ----------
    columns : the groups that may be formed.
    every : all of the instance's, any full one of which could block.
    least : units that a job must gain more than.
    costs : False for a program that only asks whether there is such a grouping.
    """
    builder = ProgramBuilder()
    cost = columns.cost / UNIT if costs else 0.0
    x = builder.columns(len(columns), upper=columns.most(instance), cost=cost, integer=True)
    columns.rows(builder, x, instance.count, columns.limits)
    made = CoreProgram(builder.build(), [], [])
    for place in np.flatnonzero(columns.limits > 0).tolist():
        _no_blocking(builder, made, instance, columns, every, place, least)
    return CoreProgram(builder.build(), made._chains, made._flags)


def _no_blocking(
    builder: ProgramBuilder, made: CoreProgram, instance: Groups, columns: Columns, every: Columns,
    place: int, least: int,
) -> None:  # fmt: skip
    """The rows for one class of machines."""
    here = np.flatnonzero(columns.where == place)
    members, lost, size = columns.members[here], columns.lost[here], columns.size[here]
    times = times_of(members)
    full = np.flatnonzero((every.where == place) & (every.size == instance.seats[place]))
    wanted, wanted_lost = every.members[full], every.lost[full]
    wanted_times = times_of(wanted)
    flags: list[list[int]] = [[] for _ in full]
    harmless = np.zeros(len(full), dtype=bool)  # some type of these gains in no answer
    for kind in range(instance.types):
        rows, seats = np.nonzero((members == kind) & (times > 0) & (size > 1)[:, None])
        # groups in which the type loses something, the most first
        order = np.argsort(-lost[rows, seats], kind="stable")
        groups, seat = rows[order], seats[order]
        falling, many = -lost[groups, seat], times[groups, seat].astype(float)
        block, spot = np.nonzero((wanted == kind) & (wanted_times > 0))
        # for each full group, how many of the sorted ones lose more than `least` more
        prefix = np.searchsorted(falling, -(wanted_lost[block, spot] + least), side="left")
        harmless[block[prefix == 0]] = True
        chain = np.unique(prefix[prefix > 0])
        if not len(chain):
            continue
        most = int(instance.count[kind])
        sums = builder.columns(len(chain), upper=float(most), integer=True, implied=True)
        # each sum is the one before it, and the groups in between
        upto = int(chain[-1])
        piece = np.searchsorted(chain, np.arange(upto), side="right")
        links = np.arange(1, len(chain))
        builder.sums(
            len(chain), (np.arange(len(chain)), sums, -1.0), (links, sums[:-1], 1.0),
            (piece, here[groups[:upto]], many[:upto]), lower=0.0, upper=0.0,
        )  # fmt: skip
        made._chains.append((sums, here[groups[:upto]], many[:upto], piece))
        known: dict[tuple[int, int], int] = {}
        for group, where, end in zip(block.tolist(), spot.tolist(), prefix.tolist(), strict=True):
            if end == 0:
                continue
            number = int(wanted_times[group, where])
            key = (int(np.searchsorted(chain, end)), number)
            if key not in known:
                (z,) = builder.columns(1, upper=1.0, integer=True).tolist()
                total = int(sums[key[0]])
                builder.row([total, z], [1.0, -float(most - number + 1)], upper=number - 1.0)
                made._flags.append((z, total, number))
                known[key] = z
            flags[group].append(known[key])
    for group, taken in enumerate(flags):
        if not harmless[group]:
            builder.row(taken, 1.0, upper=len(taken) - 1.0)
