"""Core constraint as rows of the program over kinds of groups: no group blocks.

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
class Chains:
    """Groups that contain each type, by decreasing penalty of the type, and full groups that can
    block.

    A *chain* is a class of machines and a type, numbered class * types + type. Its groups stand
    behind each other, those first in which the type loses most.

    Attributes
    ----------
    column, times : (entries,) the group at each place of the chains, one after the other, and how
        often it holds the type.
    first : (chains + 1,) where each chain begins.
    at, of : (N, S) for each seat of a group its place in its chain, beyond all for a seat without
        one, and that chain.
    full_of, repeats, prefix : (full groups, S) for each seat of a full group that could block its
        chain, how often it holds the type (0 but at the first of its seats), and in how many groups
        of the chain the type loses more than here and the least gain.
    """

    column: Integers
    times: Integers
    first: Integers
    at: Integers
    of: Integers
    full_of: Integers
    repeats: Integers
    prefix: Integers

    def part(self, chain: int, end: int) -> tuple[Integers, Integers]:
        """Column indices of the `end` groups in which a type loses most, and its jobs in each."""
        inside = slice(self.first[chain], self.first[chain] + end)
        return self.column[inside], self.times[inside]


def chains_of(instance: Groups, columns: Columns, every: Columns, least: int) -> Chains:
    """Order the groups of `columns` by the penalty of each type, to find blocking groups.

    Find also the full groups of `every` that can block if each job must gain more than `least`
    units of penalty.
    """
    types = instance.types
    chains = types * len(columns.limits)
    # 1. the places of the groups in the chains
    times = times_of(columns.members)
    column, seat = np.nonzero((times > 0) & (columns.size > 1)[:, None])
    of = columns.where[:, None] * types + columns.members
    chain, lost = of[column, seat], columns.lost[column, seat]
    order = np.lexsort((-lost, chain))
    column, seat, chain, lost = column[order], seat[order], chain[order], lost[order]
    first = np.searchsorted(chain, np.arange(chains + 1))
    at = np.full(columns.members.shape, np.iinfo(np.int64).max)
    at[column, seat] = np.arange(len(order)) - first[chain]
    # 2. what the types of each full group lose more elsewhere
    full = np.flatnonzero(every.size == instance.seats[every.where])
    repeats = times_of(every.members[full])
    full_of = np.where(repeats > 0, every.where[full, None] * types + every.members[full], 0)
    prefix: Integers = np.zeros_like(full_of)
    for one in range(chains):
        group, spot = np.nonzero((full_of == one) & (repeats > 0))
        wanted = -(every.lost[full[group], spot] + least)
        prefix[group, spot] = np.searchsorted(-lost[first[one] : first[one + 1]], wanted)
    # 3. a group of which some member never gains does not block
    could = ~((prefix == 0) & (repeats > 0)).any(axis=1)
    return Chains(
        column, times[column, seat], first, at, of, full_of[could], repeats[could], prefix[could]
    )


@dataclass(frozen=True, eq=False)
class CoreProgram:
    """Program that minimizes penalty over kinds of groups such that no group blocks.

    Attributes
    ----------
    program : its first columns are those of `Columns.program`, then come sums and flags.
    """

    program: LinearProgram
    _chains: list[tuple[Integers, Integers, Floats, Integers]] = field(repr=False)
    _flags: list[tuple[int, int, int]] = field(repr=False)

    def point(self, number: Integers) -> Floats:
        """Point (columns,) of given numbers of machines of each group."""
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
    """Build the program of least penalty over groupings, of groups in `columns`, that no group
    blocks.

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
    chains = chains_of(instance, columns, every, least)
    made: list[tuple[Integers, Integers, Floats, Integers]] = []
    flags: list[tuple[int, int, int]] = []
    flags_of: list[list[int]] = [[] for _ in chains.repeats]  # of the types of each full group
    for chain in range(len(chains.first) - 1):
        group, seat = np.nonzero((chains.full_of == chain) & (chains.repeats > 0))
        prefix = chains.prefix[group, seat]
        ends = np.unique(prefix)
        if not len(ends):
            continue
        # 1. a column for each W: the jobs of the type in the first `end` groups of its chain, which
        # are the W before it and the groups in between
        most = int(instance.count[chain % instance.types])
        sums = builder.columns(len(ends), upper=float(most), integer=True, implied=True)
        groups, times = chains.part(chain, int(ends[-1]))
        jobs = times.astype(float)
        piece = np.searchsorted(ends, np.arange(len(groups)), side="right")
        builder.sums(
            len(ends), (np.arange(len(ends)), sums, -1.0),
            (np.arange(1, len(ends)), sums[:-1], 1.0), (piece, groups, jobs), lower=0.0, upper=0.0,
        )  # fmt: skip
        made.append((sums, groups, jobs, piece))
        # 2. a flag z for each W and multiplicity m: 1 where W is at least m
        known: dict[tuple[int, int], int] = {}
        numbers = chains.repeats[group, seat].tolist()
        for full, total, number in zip(
            group.tolist(), sums[np.searchsorted(ends, prefix)].tolist(), numbers, strict=True
        ):
            if (total, number) not in known:
                (z,) = builder.columns(1, upper=1.0, integer=True).tolist()
                builder.row([total, z], [1.0, -float(most - number + 1)], upper=number - 1.0)
                flags.append((z, total, number))
                known[total, number] = z
            flags_of[full].append(known[total, number])
    # 3. a full group does not block: not all of its flags are 1
    for columns_z in flags_of:
        builder.row(columns_z, 1.0, upper=len(columns_z) - 1.0)
    return CoreProgram(builder.build(), made, flags)
