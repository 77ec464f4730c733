"""Groupings that no group blocks, by a search over what the jobs of each type lose at most.

A full group S does not block exactly if, for one of its types a, at most m - 1 jobs of a lose more
than a job of a would in S and alpha, m being how often S holds a. Each such *limit* is a row over
kinds of groups: of those that hold a, sorted by a's loss, a prefix holds at most m - 1 jobs of a.
The search keeps, for each type and m, the longest prefix that is limited so far; it solves the
linear program of the groups that are left, takes a group S that would block its point, and goes on
with one of the limits that each settle S, the cheapest first.

Where the linear program has no point, or none below a value, its multipliers say why in whole
numbers, and which limits that takes (a *nogood*). A nogood that does not need the last limit ends
its whole branch, and is looked up before each further program. Nothing is taken on trust of the
engine's numbers: multipliers of any kind prove what the sum says that they prove.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...instances.groups.instance import UNIT, Grouping, Groups, Integers
from ...instances.groups.stability import least_alpha_of, times_of
from ...instances.problem.registry import feasible
from ...models.groups.columns import Columns
from ...models.groups.core import core_program
from ...models.program import Floats, LinearProgram, ProgramBuilder
from ..engines import WarmStartedProgram, solve_program
from ..outcome import Clock, Status, Stop, raise_if_interrupted

Booleans = npt.NDArray[np.bool_]

GRID = 2.0**30
"""The largest multiplier of a job, in whole numbers, where costs do not count."""

NOISE = 1e-7
"""Jobs more than a limit allows that an engine's point has by its tolerance."""


@dataclass(frozen=True)
class TreeLimits:
    """What steers the search over limits of losses.

    Attributes
    ----------
    leaf_seconds : time for a cheaper grouping under the limits of the one that was found.
    stable_seconds : time for the program of the groups that are left when no group blocks the
        relaxation.
    deep : limits one after the other, after which a branch is left open.
    nogoods : that are kept.
    """

    leaf_seconds: float = 2.0
    stable_seconds: float = 10.0
    deep: int = 400
    nogoods: int = 20_000


TREE_LIMITS = TreeLimits()


class _Found(Exception):
    """A grouping that no group blocks was found."""


class _OutOfTime(Exception):
    """The time is up."""


class Tree:
    """A grouping of some kinds of groups that no group blocks at an alpha, or that there is none.

    Parameters
    ----------
    columns : the groups that may be formed.
    every : all of the instance's, any full one of which could block.
    least : units that a job must gain more than.

    Attributes
    ----------
    found : the grouping, None where there is none so far.
    empty : whether it is proved that there is none of `columns`.
    engine : whether that rests on an engine's word for an integer program.
    programs : linear programs solved.
    """

    def __init__(
        self, instance: Groups, columns: Columns, every: Columns, least: int, clock: Clock,
        limits: TreeLimits = TREE_LIMITS,
    ) -> None:  # fmt: skip
        self.instance, self.columns, self.least, self.clock = instance, columns, least, clock
        self.limits = limits
        self.found: Grouping | None = None
        self.empty = self.engine = False
        self.programs = 0
        self._open = False
        self._set_chains(every)
        builder = ProgramBuilder()
        x = builder.columns(len(columns), cost=columns.cost / UNIT)
        columns.rows(builder, x, instance.count, columns.limits)
        program = builder.build()
        self._rows = program.rows
        self._program = WarmStartedProgram(program, options={"presolve": "off"})
        self._row_of: dict[tuple[int, int, int], int] = {}
        self._limited: set[tuple[int, int, int]] = set()
        self._nogoods: Integers = np.zeros((0, *self._shape), dtype=np.int64)
        self._since: Integers = np.zeros(self._shape, dtype=np.int64)

    def run(self) -> None:
        """Search until a grouping is found, there is none, or the time is up; Ctrl-C is raised."""
        none = np.zeros(self._shape, dtype=np.int64)
        try:
            point, _ = self._solved(none)
            if point is not None:
                self._branch(none, point, 1)
            self.empty = not self._open and self.found is None
        except (_Found, _OutOfTime):
            pass

    def _set_chains(self, every: Columns) -> None:
        """For each class and type (a *chain*) its groups, those first in which it loses most; for
        each seat of each full group how long a prefix of them its limit takes.
        """
        instance, columns = self.instance, self.columns
        types, classes = instance.types, len(columns.limits)
        self._shape = (classes * types, int(instance.seats.max()))
        times = times_of(columns.members)
        seats = (times > 0) & (columns.size > 1)[:, None]
        column, seat = np.nonzero(seats)
        chain = columns.where[column] * types + columns.members[column, seat]
        order = np.lexsort((-columns.lost[column, seat], chain))
        self._column, self._times = column[order], times[column, seat][order]
        lost = columns.lost[column, seat][order]
        self._first = np.searchsorted(chain[order], np.arange(self._shape[0] + 1))
        self._at = np.full(columns.members.shape, np.iinfo(np.int64).max)
        self._at[column[order], seat[order]] = np.arange(len(order)) - self._first[chain[order]]
        self._chain = columns.where[:, None] * types + columns.members

        full = np.flatnonzero(every.size == instance.seats[every.where])
        repeats = times_of(every.members[full])
        of = np.where(repeats > 0, every.where[full, None] * types + every.members[full], 0)
        prefix: Integers = np.zeros_like(of)
        for one in range(self._shape[0]):
            block, spot = np.nonzero((of == one) & (repeats > 0))
            falling = -lost[self._first[one] : self._first[one + 1]]
            wanted = -(every.lost[full[block], spot] + self.least)
            prefix[block, spot] = np.searchsorted(falling, wanted, side="left")
        # a group of which some member never gains does not block
        could = ~((prefix == 0) & (repeats > 0)).any(axis=1)
        self._repeats, self._of, self._prefix = repeats[could], of[could], prefix[could]
        self._kinds = (self._repeats > 0).sum(axis=1)

    def _prefixes(self, limits: Integers) -> Integers:
        """(chains, seats) the longest prefix that holds at most m - 1 jobs, for m = 1, 2, ..."""
        found: Integers = np.maximum.accumulate(limits, axis=1)
        return found

    def _shut(self, limits: Integers) -> Booleans:
        """(N,) the groups of which no machine may be formed."""
        ends = np.append(limits[:, 0], 0)
        chain = np.where(self.columns.members < 0, len(ends) - 1, self._chain)
        found = self._at < ends[chain]
        return np.asarray(found.any(axis=1))

    def _over(self, number: Floats | Integers) -> Floats:
        """(full groups,) by how many jobs each would block with so many machines (N,) of each kind
        of group: of its types the one with the fewest that gain, less m - 1.
        """
        found: Floats = self._willing(number).min(axis=1, initial=np.inf)
        return found

    def _willing(self, number: Floats | Integers) -> Floats:
        """(full groups, S) jobs that gain in each, less m - 1; inf for a seat of a type given
        before.
        """
        jobs = np.concatenate([[0.0], np.cumsum(self._times * number[self._column])])
        first = self._first[self._of]
        willing = jobs[first + self._prefix] - jobs[first] - (self._repeats - 1)
        found: Floats = np.where(self._repeats > 0, willing, np.inf)
        return found

    def _settled(self, limits: Integers) -> Booleans:
        """(full groups,) those that some limit keeps from blocking."""
        ends = self._prefixes(limits)[self._of, np.maximum(self._repeats - 1, 0)]
        found: Booleans = ((self._repeats > 0) & (ends >= self._prefix)).any(axis=1)
        return found

    def _solved(self, limits: Integers) -> tuple[tuple[float, Floats] | None, Integers]:
        """Value and point of the linear program under limits; or None and the limits that leave
        none.
        """
        if self.clock.expired:
            raise _OutOfTime
        shut = self._shut(limits)
        self._program.bound_columns(np.where(shut, 0.0, np.inf))
        self._limit_rows(limits)
        self.programs += 1
        answer = self._program.solve(self.clock.time_slice())
        raise_if_interrupted(answer.stop)
        if answer.status is Status.OPTIMAL and answer.point is not None:
            assert answer.objective is not None
            return (answer.objective, answer.point), limits
        if answer.stop is Stop.TIME_LIMIT:
            raise _OutOfTime
        if answer.status is Status.INFEASIBLE:
            ray = self._program.ray()
            for dual in () if ray is None else (ray, -ray):
                nogood = self._nogood(limits, dual, shut)
                if nogood is not None:
                    return None, nogood
        self._open = True
        return None, limits.copy()

    def _limit_rows(self, limits: Integers) -> None:
        """The rows of limits that leave a job or more; the others shut groups."""
        wanted = self._leaving(limits)
        for key in self._limited - wanted:
            self._program.bound_row(self._row_of[key], -np.inf)
        for key in wanted - self._limited:
            one, m, end = key
            if key in self._row_of:
                self._program.bound_row(self._row_of[key], -float(m))
                continue
            self._row_of[key] = self._rows + len(self._row_of)
            part = slice(self._first[one], self._first[one] + end)
            self._program.add_rows(
                np.array([-float(m)]), [0], self._column[part], -self._times[part].astype(float)
            )
        self._limited = wanted

    def _leaving(self, limits: Integers) -> set[tuple[int, int, int]]:
        """Chain, jobs and prefix of the limits that leave a job or more, and that no other
        implies.
        """
        chain, many = np.nonzero(limits[:, 1:] > self._prefixes(limits)[:, :-1])
        return {
            (one, m, int(limits[one, m]))
            for one, m in zip(chain.tolist(), (many + 1).tolist(), strict=True)
        }

    def _nogood(self, limits: Integers, dual: Floats, shut: Booleans) -> Integers | None:
        """The limits that multipliers need to prove that there is no point; None where they do not.

        With prices y of jobs and v >= 0 of limits, every point x >= 0 has

            sum over groups S of (y(S) - v(S)) x[S] >= y count - sum over limits of v (m - 1),

        and at most `limits` machines of each class: with r the most that y(S) - v(S) is, and 0 at
        least, there is none if the right side passes the sum of r times machines. Only groups that
        pass r have to be shut.
        """
        columns, types = self.columns, self.instance.types
        largest = float(np.abs(dual).max(initial=0.0))
        if not 0 < largest < np.inf:
            return None
        whole = np.rint(dual * (GRID / largest)).astype(np.int64)
        price = whole[:types]
        worth = np.append(price, 0)[columns.members].sum(axis=1)
        count = self.instance.count.tolist()
        total = sum(a * b for a, b in zip(price.tolist(), count, strict=True))
        found = np.zeros_like(limits)
        for one, m, end in self._limited:
            value = int(whole[self._row_of[one, m, end]])
            if value > 0:
                part = slice(self._first[one], self._first[one] + end)
                np.subtract.at(worth, self._column[part], value * self._times[part])
                total -= value * m
                found[one, m] = end
        most: Integers = np.zeros(len(columns.limits), dtype=np.int64)
        np.maximum.at(most, columns.where[~shut], worth[~shut])
        machines = columns.limits.tolist()
        rest = total - 1 - sum(a * b for a, b in zip(most.tolist(), machines, strict=True))
        if rest < 0:
            return None
        most += rest // max(1, sum(machines))  # what is to spare lets more groups stay open
        found[:, 0] = self._needed(limits[:, 0], np.flatnonzero(worth > most[columns.where]))
        return found

    def _needed(self, ends: Integers, groups: Integers) -> Integers:
        """(chains,) prefixes that shut these groups, none of the last limits that can be spared."""
        ends = ends.copy()
        chain = np.where(self.columns.members[groups] < 0, -1, self._chain[groups])
        at = self._at[groups]
        shuts = (chain >= 0) & (at < ends[chain])
        number = shuts.sum(axis=1)
        used = np.flatnonzero(ends)
        for one in used[np.argsort(-self._since[used, 0], kind="stable")].tolist():
            own = shuts & (chain == one)
            alone = own & (number == 1)[:, None]
            ends[one] = int(at[alone].max()) + 1 if alone.any() else 0
            spared = own & (at >= ends[one])
            number -= spared.sum(axis=1)
            shuts &= ~spared
        return ends

    def _known(self, limits: Integers) -> Integers | None:
        """A nogood that the limits hold."""
        ends = self._prefixes(limits)
        hit = np.flatnonzero((ends >= self._nogoods).all(axis=(1, 2)))
        return self._nogoods[hit[-1]] if len(hit) else None

    def _learn(self, nogood: Integers) -> None:
        self._nogoods = np.concatenate([self._nogoods, nogood[None]])[-self.limits.nogoods :]

    def _branch(self, limits: Integers, point: tuple[float, Floats], depth: int) -> Integers:
        """Search below limits; returns those of them that leave no grouping."""
        settled = self._settled(limits)
        over = np.where(settled, -1.0, self._over(point[1]))
        if over.max(initial=-1.0) <= NOISE:
            self._settle(limits)
            return limits.copy()
        if depth > self.limits.deep:
            self._open = True
            return limits.copy()
        # few ways to settle a group are few branches
        group = int(np.argmax(np.where(over > NOISE, over / 3.0**self._kinds, -1.0)))
        ends, since = self._prefixes(limits), self._since.copy()
        reasons = np.zeros_like(limits)
        ways: list[tuple[float, int, int, Integers, tuple[float, Floats]]] = []
        for seat in np.flatnonzero(self._repeats[group]).tolist():
            one, m = int(self._of[group, seat]), int(self._repeats[group, seat]) - 1
            more = limits.copy()
            more[one, m] = self._prefix[group, seat]
            self._since[one, m] = depth
            nogood, there = self._known(more), None
            if nogood is None:
                there, nogood = self._solved(more)
                if there is None:
                    self._learn(nogood)
            self._since[:] = since
            if there is not None:
                ways.append((there[0], one, m, more, there))
            elif (ends >= nogood).all():  # the last limit is not to blame
                return nogood
            else:
                reasons = np.maximum(reasons, np.where(nogood > ends, 0, nogood))
        for _, one, m, more, there in sorted(ways, key=lambda way: way[0]):
            nogood = self._known(more)
            if nogood is None:
                self._since[one, m] = depth
                nogood = self._branch(more, there, depth + 1)
                self._since[:] = since
            if (ends >= nogood).all():
                return nogood
            reasons = np.maximum(reasons, np.where(nogood > ends, 0, nogood))
        self._learn(reasons)
        return reasons

    def _kept(self, number: Integers) -> Integers:
        """Limits that machines (N,) of each group keep, and that settle every group: of those of
        each group the one that is kept most easily.
        """
        easiest = self._willing(number).argmin(axis=1)
        seat = np.arange(len(easiest)), easiest
        limits: Integers = np.zeros(self._shape, dtype=np.int64)
        np.maximum.at(limits, (self._of[seat], self._repeats[seat] - 1), self._prefix[seat])
        return limits

    def _settle(self, limits: Integers) -> None:
        """Ask whether the groups that limits leave open hold a grouping that no group blocks.

        Raises `_Found` where there is one; the branch is left open where there may be one.
        """
        some = np.flatnonzero(~self._shut(limits))
        part = self.columns.some(some)
        program = core_program(self.instance, part, self.columns, self.least, costs=False).program
        seconds = self.clock.time_slice(2, self.limits.stable_seconds)
        answer = solve_program(program, engine="cp-sat", time_limit=seconds)
        raise_if_interrupted(answer.stop)
        none = answer.status is Status.INFEASIBLE
        self.engine |= none
        self._open |= not none
        if answer.point is None:
            return
        number: Integers = np.zeros(len(self.columns), dtype=np.int64)
        number[some] = np.rint(answer.point[: len(some)]).astype(np.int64)
        grouping = self.columns.grouping(self.instance, number)
        if self._stays(grouping):
            self.found = grouping
            self._cheapen(self._kept(number), number)
            raise _Found

    def _stays(self, grouping: Grouping) -> bool:
        """Whether a grouping is feasible, and no group blocks it."""
        stable = feasible(self.instance, grouping)
        return stable and least_alpha_of(self.instance, grouping) <= self.least

    def _cheapen(self, limits: Integers, number: Integers) -> None:
        """A cheaper grouping under the limits of the one that was found."""
        some = np.flatnonzero(~self._shut(limits))
        program = self._integer(self.columns.some(some), some, limits)
        limit = self.clock.time_slice(1, self.limits.leaf_seconds)
        answer = solve_program(program, time_limit=limit, start=number[some])
        if answer.point is not None:
            better = np.zeros_like(number)
            better[some] = np.rint(answer.point).astype(np.int64)
            grouping = self.columns.grouping(self.instance, better)
            if self._stays(grouping):
                self.found = grouping
        raise_if_interrupted(answer.stop)

    def _integer(self, part: Columns, some: Integers, limits: Integers) -> LinearProgram:
        """The integer program of the groups that limits leave, of least penalty."""
        builder = ProgramBuilder()
        most = part.most(self.instance)
        x = builder.columns(len(part), upper=most, cost=part.cost / UNIT, integer=True)
        part.rows(builder, x, self.instance.count, part.limits)
        place = np.full(len(self.columns), -1)
        place[some] = x
        for one, m, end in sorted(self._leaving(limits)):
            inside = slice(self._first[one], self._first[one] + end)
            column, times = place[self._column[inside]], self._times[inside]
            if (column >= 0).any():
                builder.row(column[column >= 0], times[column >= 0].astype(float), upper=float(m))
        return builder.build()
