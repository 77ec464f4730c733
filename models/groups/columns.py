"""Program over kinds of groups: each column is the number of machines with a group.

    least   sum over classes c and groups S of cost_c(S) x[c, S]
    such that   sum over c and S of (how often a is in S) x[c, S] = count[a]   for each type a
                sum over S of x[c, S] <= machines[c]                           for each class c

cost_c(S) is what the members of S lose together, in units of 1e-12.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ...instances.groups.instance import FORBIDDEN, UNIT, Grouping, Groups, Integers
from ...instances.groups.penalties import groups_listed, units
from ...instances.groups.stability import times_of
from ..program import LinearProgram, ProgramBuilder


@dataclass(frozen=True, eq=False)
class Columns:
    """Columns of a program of groupings: each is a kind of group on a class of machines.

    Attributes
    ----------
    members : (N, S) types, -1 for an empty seat.
    where : (N,) class; of classes that are alike, the first.
    lost : (N, S) what each member loses, in units; 0 on empty seats.
    limits : (C,) machines of each class and of those alike it, 0 for the others of them.
    """

    members: Integers
    where: Integers
    lost: Integers
    limits: Integers

    @cached_property
    def cost(self) -> Integers:
        """Total penalty (N,) of the members of each group, in units of 1e-12."""
        total: Integers = self.lost.sum(axis=1)
        return total

    @cached_property
    def step(self) -> int:
        """Largest number of units that divides every cost, at least 1."""
        return max(1, int(np.gcd.reduce(self.cost, initial=0)))

    @cached_property
    def largest(self) -> float:
        """Largest absolute cost of a group, converted from units to a penalty."""
        return float(np.abs(self.cost).max(initial=0)) / UNIT

    @cached_property
    def size(self) -> Integers:
        """Number (N,) of jobs in each group."""
        number: Integers = (self.members >= 0).sum(axis=1)
        return number

    def __len__(self) -> int:
        return len(self.where)

    def some(self, chosen: npt.NDArray[Any]) -> Columns:
        """Subset of the groups' columns that a mask selects."""
        return Columns(self.members[chosen], self.where[chosen], self.lost[chosen], self.limits)

    def program(
        self, instance: Groups, count: Integers | None = None, limits: Integers | None = None
    ) -> LinearProgram:
        """Build the program of least total penalty over these groups, for all jobs and machines or
        for so many jobs (T,) and machines (C,).
        """
        count = instance.count if count is None else count
        limits = self.limits if limits is None else limits
        builder = ProgramBuilder()
        most = np.minimum(self.most_of(count), limits[self.where])
        x = builder.columns(len(self), upper=most, cost=self.cost / UNIT, integer=True)
        self.rows(builder, x, count, limits)
        return builder.build()

    def rows(self, builder: ProgramBuilder, x: Integers, count: Integers, limits: Integers) -> None:
        """Add the rows by which every job is placed once and machines suffice; x are the groups'
        columns.
        """
        row, column = self.incidence()
        builder.sums(len(count), (row, x[column], 1.0), lower=count, upper=count)
        builder.sums(len(limits), (self.where, x, 1.0), upper=limits)

    def find(self, instance: Groups, grouping: Grouping) -> Integers:
        """Indices (G,) of the columns of a grouping's groups."""
        weight = np.append(np.random.default_rng(0).integers(1, 2**62, size=instance.types), 0)

        def keys(members: Integers, where: Integers) -> Integers:
            total: Integers = weight[members].sum(axis=1) + where * weight[0]
            return total

        width = self.members.shape[1]
        wide = ((0, 0), (0, width - grouping.members.shape[1]))
        rows = np.pad(grouping.members, wide, constant_values=-1)
        where = instance.alike[grouping.where]
        near = np.flatnonzero(np.isin(keys(self.members, self.where), keys(rows, where)))
        known = {
            (place, tuple(row)): at
            for at, place, row in zip(
                near.tolist(), self.where[near].tolist(), self.members[near].tolist(), strict=True
            )
        }
        return np.array(
            [
                known[key, tuple(row)]
                for key, row in zip(where.tolist(), rows.tolist(), strict=True)
            ],
            dtype=np.int64,
        )

    def incidence(self) -> tuple[Integers, Integers]:
        """Type of the job in each taken seat, and the column (group) of that seat."""
        taken = self.members >= 0
        return self.members[taken], np.nonzero(taken)[0]

    def most(self, instance: Groups) -> Integers:
        """Number (N,) of machines that could hold each group."""
        return np.minimum(self.most_of(instance.count), self.limits[self.where])

    def most_of(self, left: Integers) -> Integers:
        """Number (N,) of times each group can be formed from given numbers of jobs (T,)."""
        times = times_of(self.members)
        there = np.append(left, 0)[self.members]
        enough = np.where(times > 0, there // np.maximum(times, 1), np.iinfo(np.int64).max)
        found: Integers = enough.min(axis=1)
        return found

    def grouping(self, instance: Groups, number: Integers) -> Grouping:
        """Grouping that forms each group on a number (N,) of machines; classes that are alike are
        filled in order.
        """
        used = np.flatnonzero(number)
        members, where, many = self.members[used], self.where[used], number[used].tolist()
        left = instance.limits.copy()
        alike = instance.alike
        rows: list[tuple[int, int, int]] = []
        for at, (first, todo) in enumerate(zip(where.tolist(), many, strict=True)):
            for place in np.flatnonzero(alike == first).tolist():
                some = min(todo, int(left[place]))
                if some:
                    rows.append((at, place, some))
                    left[place] -= some
                    todo -= some
        column, places, given = np.array(rows, dtype=np.int64).reshape(-1, 3).T
        return Grouping(members[column], places, given)


def columns_of(instance: Groups) -> Columns:
    """List all kinds of groups that the jobs can form, without forbidden ones; raises InvalidOption
    when there are too many, see `groups_listed`.
    """
    alike = instance.alike
    limits = np.bincount(alike, weights=instance.limits, minlength=len(alike)).astype(np.int64)
    width = int(instance.seats.max())
    parts = []
    for place in np.flatnonzero(limits > 0).tolist():
        rows = groups_listed(instance, place)
        lost = units(instance, place, rows)
        rows, lost = rows[keep := lost.max(axis=1) < FORBIDDEN], lost[keep]
        wide = ((0, 0), (0, width - rows.shape[1]))
        parts.append((np.pad(rows, wide, constant_values=-1), np.full(len(rows), place),
                      np.pad(lost, wide)))  # fmt: skip
    members, where, lost = (np.concatenate(part) for part in zip(*parts, strict=True))
    return Columns(members, where, lost, limits)
