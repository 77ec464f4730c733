"""Branch and bound for groupings in the core: limits on how many jobs of a type lose more than a
bound, with nogoods from dual multipliers.

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
from ...instances.groups.stability import least_alpha_of
from ...instances.problem.registry import feasible
from ...models.groups.columns import Columns
from ...models.groups.core import Chains, chains_of, core_program
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
    """Parameters of the branch and bound.

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
    """Raised when a grouping in the core is found."""


class _OutOfTime(Exception):
    """Raised at the time limit."""


def prefixes(limits: Integers) -> Integers:
    """Longest prefix (chains, S) limited to m - 1 jobs, for m = 1, 2, ..."""
    found: Integers = np.maximum.accumulate(limits, axis=1)
    return found


def leaving(limits: Integers) -> set[tuple[int, int, int]]:
    """Limits (chain, jobs, prefix) that allow at least one job and are not implied by others."""
    chain, many = np.nonzero(limits[:, 1:] > prefixes(limits)[:, :-1])
    return {
        (one, m, int(limits[one, m]))
        for one, m in zip(chain.tolist(), (many + 1).tolist(), strict=True)
    }


def shut_by(chains: Chains, limits: Integers) -> Booleans:
    """Whether limits exclude each group, shape (N,)."""
    ends = np.append(limits[:, 0], 0)
    taken = chains.at < np.iinfo(np.int64).max
    return np.asarray((taken & (chains.at < ends[np.where(taken, chains.of, -1)])).any(axis=1))


def willing(chains: Chains, number: Floats | Integers) -> Floats:
    """Number of jobs that gain in each full group, minus m - 1, given the machines (N,) of each
    group; the least over its types says by how much it blocks.
    """
    jobs = np.concatenate([[0.0], np.cumsum(chains.times * number[chains.column])])
    first = chains.first[chains.full_of]
    gain = jobs[first + chains.prefix] - jobs[first] - (chains.repeats - 1)
    found: Floats = np.where(chains.repeats > 0, gain, np.inf)
    return found


def settled_by(chains: Chains, limits: Integers) -> Booleans:
    """Whether some limit prevents each full group from blocking."""
    ends = prefixes(limits)[chains.full_of, np.maximum(chains.repeats - 1, 0)]
    return np.asarray(((chains.repeats > 0) & (ends >= chains.prefix)).any(axis=1))


def kept_by(chains: Chains, number: Integers, none: Integers) -> Integers:
    """Limits that the given machines (N,) satisfy and that prevent every full group from
    blocking.
    """
    easiest = willing(chains, number).argmin(axis=1)
    seat = np.arange(len(easiest)), easiest
    limits = none.copy()
    np.maximum.at(limits, (chains.full_of[seat], chains.repeats[seat] - 1), chains.prefix[seat])
    return limits


def needed(chains: Chains, ends: Integers, groups: Integers, since: Integers) -> Integers:
    """Prefixes (chains,) that exclude the given groups, with late limits dropped where possible.

    Parameters
    ----------
    ends, since : (chains,) prefixes that shut them, and the depth at which each was limited.
    """
    ends, at = ends.copy(), chains.at[groups]
    chain = np.where(at < np.iinfo(np.int64).max, chains.of[groups], -1)
    shuts = (chain >= 0) & (at < ends[chain])
    number = shuts.sum(axis=1)
    used = np.flatnonzero(ends)
    for one in used[np.argsort(-since[used], kind="stable")].tolist():
        own = shuts & (chain == one)
        alone = own & (number == 1)[:, None]
        ends[one] = int(at[alone].max()) + 1 if alone.any() else 0
        spared = own & (at >= ends[one])
        number -= spared.sum(axis=1)
        shuts &= ~spared
    return ends


class Tree:
    """Branch and bound that finds a grouping in the core at an alpha, or proves that there is none.

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
        self.chains = chains_of(instance, columns, every, least)
        builder = ProgramBuilder()
        x = builder.columns(len(columns), cost=columns.cost / UNIT)
        columns.rows(builder, x, instance.count, columns.limits)
        program = builder.build()
        self._rows = program.rows
        self._program = WarmStartedProgram(program, options={"presolve": "off"})
        shape = len(self.chains.first) - 1, int(instance.seats.max())
        self._none: Integers = np.zeros(shape, dtype=np.int64)
        self._row_of: dict[tuple[int, int, int], int] = {}
        self._limited: set[tuple[int, int, int]] = set()
        self._nogoods: Integers = self._none[None][:0]
        self._since = self._none.copy()

    def run(self) -> None:
        """Search until a grouping is found, none exists, or the time is up; raises
        KeyboardInterrupt.
        """
        try:
            point, _ = self._solved(self._none)
            if point is not None:
                self._branch(self._none, point, 1)
            self.empty = not self._open and self.found is None
        except (_Found, _OutOfTime):
            pass

    def _solved(self, limits: Integers) -> tuple[tuple[float, Floats] | None, Integers]:
        """Value and point of the linear program under limits; or None and the limits that make it
        infeasible.
        """
        if self.clock.expired:
            raise _OutOfTime
        shut = shut_by(self.chains, limits)
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
        """Update the rows of the limits that allow at least one job; other limits exclude
        groups.
        """
        wanted = leaving(limits)
        for key in self._limited - wanted:
            self._program.bound_row(self._row_of[key], -np.inf)
        for key in wanted - self._limited:
            one, m, end = key
            if key in self._row_of:
                self._program.bound_row(self._row_of[key], -float(m))
                continue
            self._row_of[key] = self._rows + len(self._row_of)
            groups, times = self.chains.part(one, end)
            self._program.add_rows(np.array([-float(m)]), [0], groups, -times.astype(float))
        self._limited = wanted

    def _nogood(self, limits: Integers, dual: Floats, shut: Booleans) -> Integers | None:
        """Limits that the dual multipliers need to prove infeasibility; None if they prove nothing.

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
                groups, times = self.chains.part(one, end)
                np.subtract.at(worth, groups, value * times)
                total -= value * m
                found[one, m] = end
        most: Integers = np.zeros(len(columns.limits), dtype=np.int64)
        np.maximum.at(most, columns.where[~shut], worth[~shut])
        machines = columns.limits.tolist()
        rest = total - 1 - sum(a * b for a, b in zip(most.tolist(), machines, strict=True))
        if rest < 0:
            return None
        most += rest // max(1, sum(machines))  # what is to spare lets more groups stay open
        dear = np.flatnonzero(worth > most[columns.where])
        found[:, 0] = needed(self.chains, limits[:, 0], dear, self._since[:, 0])
        return found

    def _known(self, limits: Integers) -> Integers | None:
        """A stored nogood that the limits contain, else None."""
        ends = prefixes(limits)
        hit = np.flatnonzero((ends >= self._nogoods).all(axis=(1, 2)))
        return self._nogoods[hit[-1]] if len(hit) else None

    def _learn(self, nogood: Integers) -> None:
        self._nogoods = np.concatenate([self._nogoods, nogood[None]])[-self.limits.nogoods :]

    def _branch(self, limits: Integers, point: tuple[float, Floats], depth: int) -> Integers:
        """Search below some limits; return those of them that make the branch infeasible."""
        settled = settled_by(self.chains, limits)
        over = np.where(settled, -1.0, willing(self.chains, point[1]).min(axis=1, initial=np.inf))
        if over.max(initial=-1.0) <= NOISE:
            self._settle(limits)
            return limits.copy()
        if depth > self.limits.deep:
            self._open = True
            return limits.copy()
        # few ways to settle a group are few branches
        repeats = self.chains.repeats
        each = over / 3.0 ** (repeats > 0).sum(axis=1)
        group = int(np.argmax(np.where(over > NOISE, each, -1.0)))
        ends, since = prefixes(limits), self._since.copy()
        reasons = np.zeros_like(limits)
        ways: list[tuple[float, int, int, Integers, tuple[float, Floats]]] = []
        for seat in np.flatnonzero(repeats[group]).tolist():
            one, m = int(self.chains.full_of[group, seat]), int(repeats[group, seat]) - 1
            more = limits.copy()
            more[one, m] = self.chains.prefix[group, seat]
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

    def _settle(self, limits: Integers) -> None:
        """Search the groups that the limits leave for a grouping in the core.

        Raises `_Found` where there is one; the branch is left open where there may be one.
        """
        some = np.flatnonzero(~shut_by(self.chains, limits))
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
            self._cheapen(kept_by(self.chains, number, self._none), number)
            raise _Found

    def _stays(self, grouping: Grouping) -> bool:
        """Return whether a grouping is feasible and in the core."""
        stable = feasible(self.instance, grouping)
        return stable and least_alpha_of(self.instance, grouping) <= self.least

    def _cheapen(self, limits: Integers, number: Integers) -> None:
        """Search a cheaper grouping under the limits of the one found."""
        some = np.flatnonzero(~shut_by(self.chains, limits))
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
        """Integer program of least penalty over the groups that the limits leave."""
        builder = ProgramBuilder()
        most = part.most(self.instance)
        x = builder.columns(len(part), upper=most, cost=part.cost / UNIT, integer=True)
        part.rows(builder, x, self.instance.count, part.limits)
        place = np.full(len(self.columns), -1)
        place[some] = x
        for one, m, end in sorted(leaving(limits)):
            groups, times = self.chains.part(one, end)
            there = place[groups] >= 0
            if there.any():
                builder.row(place[groups[there]], times[there].astype(float), upper=float(m))
        return builder.build()
