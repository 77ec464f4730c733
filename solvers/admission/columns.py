"""Column generation: one column for a set of jobs on a VM, priced by branch and bound over sets of
jobs.

    most   sum over VMs v and sets S of F_v(S) z[v, S]
    such that   sum over S of z[v, S] <= 1            a VM runs one set of jobs
                sum over v and S with j in S of z <= 1   a job is on at most one VM

F_v(S) is the most total speed of the jobs S on v's cores. The relaxation is stronger than that of
`models.admission`: for any job prices pi >= 0 no assignment has more total speed than

    sum over j of pi[j] + sum over v of max over S of (F_v(S) - pi(S)),

and the sets whose F_v(S) - pi(S) is further below its maximum than the bound is above an answer in
hand are in no better answer. When the others are few enough to list, an integer program over them
proves the optimum. VMs of equal cores are one row with their number on the right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from ...instances.admission.instance import Admission, Assignment, Floats, Integers
from ...instances.admission.rules import (
    Stopped,
    gains_at_prices,
    job_speeds,
    speeds_on,
    total_speed,
)
from ...models.program import ProgramBuilder
from ..engines import EngineAnswer, WarmStartedProgram, solve_program
from ..outcome import Clock, Status, Stop, raise_if_interrupted
from ..prices import search
from .local_search import best_cores

_TOLERANCE = 1e-6  # of the bound at the first prices
_ENTRIES, _ROUNDS = 200_000, 200  # numbers of a reply, all of which are kept, and replies at most


@dataclass(frozen=True)
class ColumnLimits:
    """Parameters of column generation.

    Attributes
    ----------
    listed : sets listed at most for the final program.
    effort : trials of a job per pricing search: while columns come easily, and when they no longer
        do.
    listing : the same when all near sets are wanted.
    columns_kept : columns taken from one pricing search.
    centre : weight of the best prices so far in the prices that are tried (smoothing).
    steps : subgradient steps on a VM's rents per pricing.
    deepest : jobs of a set up to which sets are looked at one by one.
    agree : relative: the relaxation has converged.
    """

    listed: int = 40_000
    effort: tuple[int, ...] = (1_000, 40_000)
    listing: int = 300_000
    columns_kept: int = 4
    centre: float = 0.7
    steps: int = 40
    deepest: int = 200
    agree: float = 1e-7


LIMITS = ColumnLimits()

Column = tuple[int, tuple[int, ...]]
"""A kind of VM and the jobs on it, ascending."""


class ColumnGeneration:
    """Relaxation over sets of jobs, its bound, and the integer program over its columns.

    Parameters
    ----------
    instance : what is given.
    core_prices : (V, C) good prices of cores to begin with.
    bound : the bound on total speed they prove.
    over : whether the time is up; then `Stopped` is raised.

    Attributes
    ----------
    bound : the least bound on total speed so far.
    price : (J,) the job prices that prove it.
    scale : the largest speed.
    """

    def __init__(
        self,
        instance: Admission,
        core_prices: Floats,
        bound: float,
        over: Callable[[], bool] = lambda: False,
        limits: ColumnLimits = LIMITS,
    ) -> None:
        from .kernels import RELATIVE

        self.instance, self.limits = instance, limits
        self.bound = bound
        self.price = np.maximum(0.0, gains_at_prices(instance, core_prices, over)[0].max(axis=1))
        self._kinds, first, kind = np.unique(
            instance.cores, axis=0, return_index=True, return_inverse=True
        )
        self._kind = kind.reshape(-1)
        self._right = np.concatenate([np.bincount(self._kind), np.ones(instance.jobs)]).astype(
            float
        )
        self._core_prices = np.array(core_prices[first], dtype=float)
        self.scale = instance.fastest
        self._noise = RELATIVE * self.scale
        self._worth: dict[Column, float] = {}
        empty = ProgramBuilder()
        empty.columns(1, upper=0.0)  # a program needs a column
        empty.sums(len(self._right), upper=self._right)
        self._living = WarmStartedProgram(empty.build())
        self._start = np.zeros(limits.listed + 1, dtype=np.int64)
        self._member = np.zeros(20 * limits.listed, dtype=np.int64)
        self._value = np.zeros(limits.listed)

    @property
    def size(self) -> int:
        """Number of columns."""
        return len(self._worth)

    def take(self, assignment: Assignment) -> None:
        """Add a column for the set of jobs on each VM of an assignment."""
        self._append(self._columns_of(best_cores(self.instance, assignment.machine)))

    def improve(self, clock: Clock, value: float) -> Iterator[float]:
        """Price and add columns until none improves the relaxation or time is up; yields the bound
        after each round.
        """
        effort = 0
        while not clock.expired:
            answer = self._living.solve(clock.left)
            raise_if_interrupted(answer.stop)
            if answer.row_dual is None or answer.objective is None:
                return
            master = np.maximum(0.0, -answer.row_dual)[len(self._kinds) :] * self.scale
            relaxed = -answer.objective * self.scale
            added, complete = 0, False
            centre = self.limits.centre
            for price in (centre * self.price + (1 - centre) * master, master):
                found, _, complete = self._priced(price, self.limits.effort[effort], clock)
                added = self._append(found)
                if added or clock.expired:
                    break
            yield self.bound
            if self.bound <= max(relaxed, value) * (1 + self.limits.agree):
                return
            if not added:
                if complete or effort + 1 == len(self.limits.effort):
                    return
                effort += 1

    def list_all(self, clock: Clock, value: float) -> bool:
        """Add a column for every set of jobs that an assignment faster than `value` can contain;
        return False if there are too many sets, or no time.
        """
        from .kernels import best_sets

        price = self.price
        found, top, _ = self._priced(price, self.limits.effort[-1], clock)
        self._append(found)
        room = (
            self._total(price, top) - value + 1e-9 * abs(value)
        )  # by these prices: another bound says nothing of sets
        for k in range(len(self._kinds)):
            space = self.limits.listed - len(self._worth)
            if clock.expired or space <= 0 or not np.isfinite(room):
                return False
            core_rent, margin = self._margins(k, price)
            number, _, complete = best_sets(
                self.instance.speed, self.instance.threads, self._kinds[k], price, margin,
                core_rent, top[k] - room, True, self.limits.listing, self._noise,
                self._start[: space + 1], self._member, self._value, self.limits.deepest,
            )  # fmt: skip
            self._append(self._sets(k, range(number)))
            if not complete:
                return False
        return True

    def solve(self, start: Assignment, time_limit: float | None) -> tuple[EngineAnswer, Assignment]:
        """Solve the integer program over the columns; returns the better of its assignment and
        `start`.

        Its value and bound are negated and divided by the largest speed; the bound is one on all
        assignments only together with `start`, and only when `list_all` said True.
        """
        columns = list(self._worth)
        if not columns:
            return EngineAnswer(Status.UNKNOWN, Stop.FINISHED, message="no sets of jobs yet"), start
        rows = ProgramBuilder()
        z = rows.columns(
            len(columns),
            upper=1.0,
            cost=[-self._worth[c] / self.scale for c in columns],
            integer=True,
        )
        row, place = self._entries(columns)
        rows.sums(len(self._right), (row, z[place], 1.0), upper=self._right)
        chosen = {column for column, _ in self._columns_of(start)}
        begin = np.array([float(column in chosen) for column in columns])
        answer = solve_program(rows.build(), time_limit=time_limit, start=begin)
        if answer.point is None:
            return answer, start
        found = self._assignment([columns[i] for i in np.flatnonzero(answer.point > 0.5).tolist()])
        return answer, max(start, found, key=lambda one: total_speed(self.instance, one))

    def _priced(
        self, price: Floats, effort: int, clock: Clock
    ) -> tuple[list[tuple[Column, float]], Floats, bool]:
        """Search for sets of jobs of positive reduced worth; return them, an upper bound on a set's
        worth beyond its price for each kind of VM, and whether the search was complete.

        Moves `bound` and `price` when they prove a lower one.
        """
        from .kernels import best_sets, core_prices

        given = self.instance
        line = self._lines(price) + 1e-9 * self.scale
        top = np.full(len(self._kinds), np.inf)
        found: list[tuple[Column, float]] = []
        whole = True
        for k, cores in enumerate(self._kinds):
            if clock.expired:
                return found, top, False
            steps, prices = self.limits.steps, self._core_prices[k]
            core_prices(given.speed, given.threads, cores, price, line[k], steps, prices)
            core_rent, margin = self._margins(k, price)
            number, top[k], complete = best_sets(
                given.speed, given.threads, cores, price, margin, core_rent, line[k], False, effort,
                self._noise,
                self._start, self._member, self._value, self.limits.deepest,
            )  # fmt: skip
            whole = whole and complete
            found += self._sets(k, range(max(0, number - self.limits.columns_kept), number))
        if (bound := self._total(price, top)) < self.bound:
            self.bound, self.price = bound, price
        return found, top, whole

    def _total(self, price: Floats, top: Floats) -> float:
        """Upper bound on total speed by job prices and each kind of VM's `top` beyond them."""
        return float(price.sum() + self._right[: len(self._kinds)] @ top)

    def _margins(self, k: int, price: Floats) -> tuple[float, Floats]:
        from .kernels import margins

        margin = np.empty(self.instance.jobs)
        given = self.instance
        return margins(
            given.speed, given.threads, self._kinds[k], price, self._core_prices[k], margin
        ), margin

    def _lines(self, price: Floats) -> Floats:
        """(kinds,) largest worth beyond its price of a set of jobs on one VM, by kind of VM; at
        least 0.
        """
        line = np.zeros(len(self._kinds))
        if self._worth:
            columns = list(self._worth)
            members = np.concatenate([np.array(jobs, dtype=np.int64) for _, jobs in columns])
            first = np.cumsum([0, *(len(jobs) for _, jobs in columns[:-1])])
            net = np.array(list(self._worth.values())) - np.add.reduceat(price[members], first)
            np.maximum.at(line, np.array([kind for kind, _ in columns]), net)
        return line

    def _sets(self, k: int, places: Iterable[int]) -> list[tuple[Column, float]]:
        """Columns of VMs of kind k: sets of jobs that a kernel has written, with total speed."""
        found = []
        for i in places:
            jobs = self._member[self._start[i] : self._start[i + 1]]
            found.append(((k, tuple(sorted(jobs.tolist()))), float(self._value[i])))
        return found

    def _append(self, found: Iterable[tuple[Column, float]]) -> int:
        """Add the new ones of the given sets of jobs to the master program; return their number."""
        new = {column: worth for column, worth in found if column not in self._worth}
        if new:
            self._worth |= new
            row, place = self._entries(list(new))
            starts = np.searchsorted(place, np.arange(len(new)))
            cost = -np.array(list(new.values())) / self.scale
            self._living.add_columns(
                cost, np.full(len(new), np.inf), starts, row, np.ones(len(row))
            )
        return len(new)

    def _entries(self, columns: list[Column]) -> tuple[Integers, Integers]:
        """Row and column indices of the nonzero entries of some columns, column by column."""
        row = [
            np.array([k, *(len(self._kinds) + j for j in jobs)], dtype=np.int64)
            for k, jobs in columns
        ]
        return np.concatenate(row), np.repeat(np.arange(len(columns)), [len(rows) for rows in row])

    def _columns_of(self, assignment: Assignment) -> list[tuple[Column, float]]:
        speeds = job_speeds(self.instance, assignment)
        found = []
        for v in np.unique(assignment.machine[assignment.assigned]).tolist():
            here = np.flatnonzero(assignment.machine == v)
            found.append(((int(self._kind[v]), tuple(here.tolist())), float(speeds[here].sum())))
        return found

    def _assignment(self, columns: list[Column]) -> Assignment:
        """Convert columns that respect the rows into an assignment, each on a VM of its kind."""
        machine = np.full(self.instance.jobs, -1)
        free = [np.flatnonzero(self._kind == k).tolist() for k in range(len(self._kinds))]
        for k, jobs in columns:
            machine[list(jobs)] = free[k].pop(0)
        return best_cores(self.instance, machine)


def good_prices(instance: Admission, clock: Clock) -> tuple[Floats, float]:
    """Prices (V, C) of cores, near the dual optimum of the linear relaxation, and the bound on
    total speed that they prove.

    Cutting planes of `solvers.prices`, in which each job is a part, or some jobs are where all of
    them would take too much memory; a round is O(J V C log C).

    Parameters
    ----------
    clock : stops early when its time is up.
    """
    shape, jobs = instance.cores.shape, np.arange(instance.jobs)
    groups = max(1, min(instance.jobs, _ENTRIES // instance.cores.size))
    group = jobs * groups // instance.jobs
    best, least = np.zeros(shape), float(speeds_on(instance, instance.cores).max(axis=1).sum())

    def replies(price: Floats) -> tuple[Floats, Floats]:
        nonlocal best, least
        prices = price.reshape(shape)
        gain, cores = gains_at_prices(instance, prices, lambda: clock.expired)
        chosen = gain.argmax(axis=1)
        gained = np.maximum(gain[jobs, chosen], 0.0)
        bound = float((prices * instance.cores).sum() + gained.sum())
        if bound < least:
            best, least = prices, bound
        use = np.zeros((groups, *shape))
        np.add.at(use, (group, chosen), cores)
        return np.bincount(group, gained, groups).astype(float), use.reshape(groups, -1)

    capacity = instance.cores.astype(float).ravel()
    most = np.full(capacity.size, float(instance.speed.max()))
    try:
        start = np.full(capacity.size, float(instance.speed.mean()) / 2)
        search(
            replies, capacity, most, start=start, tolerance=_TOLERANCE, rounds=_ROUNDS, clock=clock
        )
    except Stopped:  # the best prices so far, at first cores for nothing
        pass
    return best, least
