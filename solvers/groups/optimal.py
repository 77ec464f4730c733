"""Least mean penalty: column generation over the list of groups, whole prices as proof, and the
groups that the prices leave.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...instances.groups.conversion import scale
from ...instances.groups.instance import UNIT, Grouping, Groups, Integers, check
from ...instances.groups.stability import total_units
from ...instances.problem.base import Solution
from ...instances.problem.rules import checked
from ...models.groups.columns import Columns, columns_of
from ...models.program import ProgramBuilder
from ..engines import LivingProgram, solve_program
from ..outcome import Clock, Outcome, Report, Status, Stop, agree
from .common import mean_of, price_bound, reduced_costs
from .feasible import starting_grouping

ENTERING = 200
"""Columns that enter at a round of pricing, the cheapest."""

FIRST_COLUMNS = 1_500
"""Columns of least reduced cost among which the first integer program looks."""

FIRST_SECONDS = 2.0
"""Time for the best answer among the priced columns, without a limit."""

LISTED = 60_000
"""Columns that the prices may leave for the last program under a time limit."""


@checked
def optimal(
    instance: Groups,
    *,
    rng: np.random.Generator | None = None,
    time_limit: float | None = None,
    start: Solution | None = None,
    report: Report | None = None,
) -> Outcome:
    """The grouping of least mean penalty over jobs, proved.

    Column generation: the linear program over few kinds of groups gives prices of jobs, a scan of
    all kinds finds those that cost less than their members' prices, until there are none. Prices
    rounded to whole units prove a bound in whole numbers (`price_bound`); an integer program over
    the groups whose cost passes their prices by no more than the gap closes it: no others are in a
    better answer.

    Parameters
    ----------
    instance : what is given; its kinds of groups are listed.
    rng : not used; the method is deterministic.
    time_limit : seconds, more than 0.
    start : a grouping to begin with.
    report : progress.

    Returns
    -------
    Outcome
        Solution, bound on the mean penalty, and in the certificate the prices of jobs, in units of
        1e-12, that prove `price_bound`. Status infeasible without a solution when forbidden groups
        leave none.

    Raises
    ------
    InvalidOption
        There are more kinds of groups than are listed.

    Notes
    -----
    Source: Gilmore and Gomory (1961) for the scheme; Cooper section VII for the question.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("groups/tiny"), "optimal")
    >>> print(result.status, round(result.objective, 4))
    optimal 0.0625
    """
    clock = Clock(time_limit, report)
    columns = columns_of(instance)
    begin = starting_grouping(instance, columns, start, clock)
    if isinstance(begin, Outcome):
        return begin
    search = Search(instance, columns, begin, clock)
    try:
        search.relax()
        search.round()
        search.close()
    except KeyboardInterrupt:
        search.stop = Stop.INTERRUPTED
    return search.outcome()


class Search:
    """The best grouping so far, in units, and the prices that bound it."""

    def __init__(
        self, instance: Groups, columns: Columns, begin: Grouping, clock: Clock
    ) -> None:
        self.instance, self.columns, self.clock = instance, columns, clock
        self.best, self.value = begin, total_units(instance, begin)
        self.price: Integers = np.zeros(instance.types, dtype=np.int64)
        self.rent: Integers = np.zeros(len(columns.limits), dtype=np.int64)
        self.bound = price_bound(instance, columns, self.price)
        self.chosen = np.zeros(len(columns), dtype=bool)
        self.stop = Stop.FINISHED
        self.proof = "prices of jobs"
        self.note("start")

    @property
    def proved(self) -> bool:
        """Whether nothing loses less."""
        return self.value <= self.bound

    def note(self, text: str) -> None:
        """Progress."""
        jobs, bound = self.instance, min(self.bound, self.value)
        self.clock.note(self.value / UNIT / jobs.jobs, mean_of(jobs, bound), text)

    def offer(self, columns: Columns, point: np.ndarray) -> None:
        """Keep the grouping of a point if it is feasible and better."""
        found = columns.grouping(self.instance, np.rint(point).astype(np.int64))
        check(self.instance, found)
        if (value := total_units(self.instance, found)) < self.value:
            self.best, self.value = found, value

    def relax(self) -> None:
        """The linear program by pricing columns in."""
        instance, columns = self.instance, self.columns
        own = self._of(self.best)
        self.chosen[own] = True
        every = np.flatnonzero(self.chosen)
        types, classes = instance.types, len(columns.limits)
        count = instance.count.astype(float)
        builder = ProgramBuilder()
        # jobs that nothing holds yet cost more than any group
        dear = 2.0 * max(1.0, float(np.abs(columns.cost).max()) / UNIT)
        builder.columns(types, cost=dear)
        builder.block(np.arange(types), np.arange(types), 1.0, count, count)
        none = np.zeros(0, dtype=np.int64)
        builder.block(none, none, 1.0, np.full(classes, -np.inf), columns.limits.astype(float))
        living = LivingProgram(builder.build())
        cost = columns.cost / UNIT
        while not self.proved and not self.clock.over:
            self._enter(living, every, cost)
            answer = living.solve(self.clock.share())
            if answer.stop is Stop.INTERRUPTED:
                raise KeyboardInterrupt
            if answer.row_dual is None or answer.status is not Status.OPTIMAL:
                break
            price = np.rint(answer.row_dual[:types] * UNIT).astype(np.int64)
            rent = np.rint(answer.row_dual[types:] * UNIT).astype(np.int64)
            bound = price_bound(instance, columns, price)
            if bound > self.bound:
                self.bound, self.price, self.rent = bound, price, rent
                self.note("pricing")
            rest = reduced_costs(columns, price) - rent[columns.where]
            rest[self.chosen] = 0
            new = np.flatnonzero(rest < -UNIT // 10**9)
            if len(new) > ENTERING:
                new = new[np.argpartition(rest[new], ENTERING)[:ENTERING]]
            if not len(new):
                break
            self.chosen[new] = True
            every = new

    def round(self) -> None:
        """The best answer of the columns that were priced in."""
        if self.proved or self.clock.over:
            return
        rest = reduced_costs(self.columns, self.price) - self.rent[self.columns.where]
        near = min(len(rest), max(FIRST_COLUMNS, 20 * self.instance.types))
        self.chosen[np.argpartition(rest, near - 1)[:near]] = True
        part = self.columns.some(np.flatnonzero(self.chosen))
        start = self._point(part)
        limit = self.clock.share(2, FIRST_SECONDS)
        answer = solve_program(part.program(self.instance), time_limit=limit, start=start)
        if answer.point is not None:
            self.offer(part, answer.point)
            self.note("groups of the relaxation")
        if answer.stop is Stop.INTERRUPTED:
            raise KeyboardInterrupt

    def close(self) -> None:
        """The integer program over all groups that a better answer could hold."""
        gap = self.value - self.bound
        while not self.proved:
            if self.clock.over:
                self.stop = Stop.TIME_LIMIT
                return
            rest = reduced_costs(self.columns, self.price)
            least = np.zeros(len(self.columns.limits), dtype=np.int64)
            np.minimum.at(least, self.columns.where, rest)
            # an answer that holds this group costs at least the bound and what it is above r_c
            near = np.flatnonzero(rest - least[self.columns.where] < gap)
            part = self.columns.some(near)
            limit = self.clock.share()
            start = self._point(part)
            answer = solve_program(part.program(self.instance), time_limit=limit, start=start)
            if answer.point is not None:
                self.offer(part, answer.point)
            if answer.stop is Stop.INTERRUPTED:
                raise KeyboardInterrupt
            bound = None if answer.bound is None else int(np.floor(answer.bound * UNIT))
            if answer.status is Status.OPTIMAL or answer.status is Status.INFEASIBLE:
                # the engine says that no better one is among these, and there is none elsewhere
                bound = self.value
            if bound is not None and bound > self.bound:
                self.bound = min(bound, self.value)
                self.proof = "prices of jobs, and an integer program over the groups they leave"
            self.note("groups within the gap")
            if not self.proved:
                self.stop = answer.stop if answer.stop is not Stop.FINISHED else Stop.TIME_LIMIT
            return

    def outcome(self) -> Outcome:
        """The checked outcome."""
        check(self.instance, self.best)
        value = self.value / UNIT / self.instance.jobs
        bound = mean_of(self.instance, min(self.bound, self.value))
        met = self.proved or agree(value, bound, scale(self.instance, "penalty"))
        certificate: dict[str, Any] = {
            "proof": self.proof,
            "prices": self.price.tolist(),
            "price_bound": price_bound(self.instance, self.columns, self.price),
            "groups_listed": len(self.columns),
        }
        status = Status.OPTIMAL if met else Status.FEASIBLE
        stop = self.stop if not met or self.stop is Stop.INTERRUPTED else Stop.FINISHED
        return Outcome(self.best, bound, status, stop, certificate, tuple(self.clock.trace))

    def _enter(self, living: LivingProgram, new: Integers, cost: np.ndarray) -> None:
        rows = self.columns.members[new]
        starts, flat, values = [], [], []
        for row, place in zip(rows.tolist(), self.columns.where[new].tolist(), strict=True):
            starts.append(len(flat))
            types = sorted({kind for kind in row if kind >= 0})
            flat += [*types, self.instance.types + place]
            values += [*(float(row.count(kind)) for kind in types), 1.0]
        upper = np.full(len(new), np.inf)
        living.add_columns(cost[new], upper, starts, flat, np.array(values))

    def _of(self, grouping: Grouping) -> Integers:
        """The columns of a grouping."""
        width = self.columns.members.shape[1]
        alike = self.instance.alike()
        wide = ((0, 0), (0, width - grouping.members.shape[1]))
        rows = np.column_stack(
            [alike[grouping.where], np.pad(grouping.members, wide, constant_values=-1)]
        )
        known = {row.tobytes(): at for at, row in enumerate(
            np.ascontiguousarray(np.column_stack([self.columns.where, self.columns.members])))}  # fmt: skip
        return np.array([known[np.ascontiguousarray(row).tobytes()] for row in rows])

    def _point(self, part: Columns) -> np.ndarray | None:
        """The best grouping as a point of a part of the columns; None where it has others."""
        where = {
            (int(place), row.tobytes()): at
            for at, (place, row) in enumerate(
                zip(part.where.tolist(), np.ascontiguousarray(part.members), strict=True)
            )
        }
        width = part.members.shape[1]
        alike = self.instance.alike()
        point = np.zeros(len(part))
        for row, place, number in zip(
            self.best.members, self.best.where.tolist(), self.best.number.tolist(), strict=True
        ):
            wide = np.pad(row, (0, width - len(row)), constant_values=-1)
            at = where.get((int(alike[place]), wide.tobytes()))
            if at is None:
                return None
            point[at] += number
        return point
