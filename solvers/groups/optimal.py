"""Least mean penalty of groups: column generation, integer prices as proof, and a program over the
groups of small reduced cost.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...instances.groups.instance import FORBIDDEN, UNIT, Grouping, Groups, Integers
from ...instances.groups.penalties import groups_number, units
from ...instances.groups.stability import total_units
from ...instances.problem.base import Solution
from ...instances.problem.option_types import validate_options
from ...models.groups.columns import Columns, columns_of
from ...models.program import ProgramBuilder
from ..blossom import MATCHED_FROM, Blossoms, certificate, first_mates, parts
from ..engines import WarmStartedProgram, solve_program
from ..outcome import Clock, Outcome, Report, Status, Stop, raise_if_interrupted
from ..routes import Routed
from .common import (
    TotalLoss,
    engine_units,
    least_rests,
    mean_of,
    price_bound,
    prices_told,
    reduced_costs,
    starting_grouping,
)

BY_PROGRAM = "prices of jobs, and an integer program over the groups that they leave"

BLOCK = 5 * 10**6
"""Pairs whose costs are worked out at once."""

PAIR_SECONDS = 4e-7
"""That a pair takes before a search looks at a clock."""


@dataclass(frozen=True)
class GroupLimits(Routed):
    """Parameters of `optimal` for groups, and of the relaxation that `core` begins with.

    Attributes
    ----------
    entering : columns that enter at a round of pricing, the cheapest.
    near : so many columns a type, those of least reduced cost, are in the first integer program.
    step_seconds : time for an integer program that is not the last.
    column_seconds : seconds that an engine may take for a column before it looks at a clock.
    group_seconds : seconds that a kind of group takes to be listed, with what it costs.
    pairs : from how many jobs on, if all differ, they are paired by blossoms.
    """

    entering: int = 200
    near: int = 5
    step_seconds: float = 2.0
    column_seconds: float = 4e-4
    group_seconds: float = 2e-6
    pairs: int = MATCHED_FROM
    routes: frozenset[str] = frozenset({"pairs"})


GROUP_LIMITS = GroupLimits()


@validate_options
def optimal(
    instance: Groups,
    *,
    time_limit: float | None = None,
    start: Solution | None = None,
    report: Report | None = None,
    limits: GroupLimits | None = None,
) -> Outcome:
    """Minimize the mean penalty over jobs, with a proof.

    Column generation: the linear program over few kinds of groups gives prices of jobs, a scan of
    all kinds finds those that cost less than their members' prices, until there are none. Prices
    rounded to whole units prove a bound in whole numbers (`price_bound`); an integer program over
    the groups whose cost passes their prices by no more than the gap closes it: no others are in a
    better answer.

    Parameters
    ----------
    instance : what is given; its kinds of groups are listed.
    time_limit : seconds, more than 0.
    start : a grouping to begin with.
    report : progress.
    limits : what steers the search.

    Returns
    -------
    Outcome
        Solution, bound on the mean penalty, and in the certificate the prices of jobs, penalties of
        12 decimals a job of each type, that prove `price_bound` on the mean. Status infeasible
        without a solution when forbidden groups leave none.

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
    clock, limits = Clock(time_limit, report), limits or GroupLimits()
    if matched := least_loss_pairs(instance, start, clock, limits):
        return matched
    if clock.left is not None and limits.group_seconds * groups_number(instance) > clock.left:
        return too_large(instance, start, clock)
    columns = columns_of(instance)
    begin = starting_grouping(instance, columns, start, clock)
    if isinstance(begin, Outcome):
        return begin
    search = Search(instance, columns, begin, clock, limits)
    with search.keeping_best():
        search.relax()
        search.close()
    prices = prices_told(instance, search.price, search.priced)
    return search.finish({**prices, "groups_listed": len(columns)})


class Search(TotalLoss):
    """Incumbent grouping, and the bound that dual prices prove.

    Attributes
    ----------
    price, priced : whole prices of jobs, and the bound that they prove.
    rest : (N,) the columns' reduced costs by these prices, less the least of their class: a
        grouping that holds the group costs at least `priced` and this.
    """

    def __init__(
        self,
        instance: Groups,
        columns: Columns,
        begin: Grouping,
        clock: Clock,
        limits: GroupLimits = GROUP_LIMITS,
    ) -> None:
        self.columns, self.limits = columns, limits
        self.price: Integers = np.zeros(instance.types, dtype=np.int64)
        self.priced = price_bound(instance, columns, self.price)
        super().__init__(instance, begin, clock, self.priced)
        self.rest = self._rest(self.price)
        self.certificate["proof"] = "prices of jobs"
        self.report("start")

    def relax(self) -> None:
        """Solve the program over kinds of groups by column generation; keep the best prices."""
        instance, columns = self.instance, self.columns
        types, classes = instance.types, len(columns.limits)
        builder = ProgramBuilder()
        # jobs that nothing holds yet cost more than any group
        count, dear = instance.count.astype(float), 2.0 * max(1, instance.seats.max())
        lacking = builder.columns(types, cost=dear)
        builder.sums(types, (np.arange(types), lacking, 1.0), lower=count, upper=count)
        builder.sums(classes, upper=columns.limits)
        living = WarmStartedProgram(builder.build())
        new = np.unique(columns.find(instance, self.best))
        chosen = np.zeros(0, dtype=np.int64)
        while self.open:
            self._enter(living, new)
            chosen = np.concatenate([chosen, new])
            answer = living.solve(self.clock.time_slice())
            raise_if_interrupted(answer.stop)
            if (
                answer.row_dual is None or answer.point is None
                or answer.status is not Status.OPTIMAL
            ):  # fmt: skip
                break
            price = np.rint(answer.row_dual[:types] * UNIT).astype(np.int64)
            rent = np.rint(answer.row_dual[types:] * UNIT).astype(np.int64)
            priced = price_bound(instance, columns, price)
            if priced > self.priced:
                self.price, self.priced, self.rest = price, priced, self._rest(price)
                self.raise_bound(priced, "pricing")
            rest = reduced_costs(columns, price) - rent[columns.where]
            rest[chosen] = 0
            new = np.flatnonzero(rest < -UNIT // 10**9)
            if len(new) > self.limits.entering:
                new = new[np.argpartition(rest[new], self.limits.entering)[: self.limits.entering]]
            if not len(new):
                break

    def close(self) -> None:
        """Solve integer programs over the groups of least reduced cost, up to all that a better
        answer could use.
        """
        limits = self.limits
        near, before = limits.near * self.instance.types, 0
        while not self.closed:
            possible = np.flatnonzero(self.rest < self.value - self.priced)
            if self.clock.left is not None:  # as many as there is time for
                near = int(min(near, self.clock.left / limits.column_seconds))
            some = self.nearest(possible, near)
            last = len(some) == len(possible)
            if self.clock.expired or (len(some) <= before and not last):
                self.stop = Stop.TIME_LIMIT
                return
            before, beyond = len(some), self.value
            if not last:
                beyond = self.priced + int(np.delete(self.rest, some).min())
            some = np.union1d(some, own := self.columns.find(self.instance, self.best))
            start = np.zeros(len(some))
            np.add.at(start, np.searchsorted(some, own), self.best.number)
            limit = self.clock.time_slice()
            if not last:
                limit = self.clock.time_slice(2, limits.step_seconds)
            program = self.columns.some(some).program(self.instance)
            answer = solve_program(program, time_limit=limit, start=start)
            if answer.point is not None:
                number = np.zeros(len(self.columns), dtype=np.int64)
                number[some] = np.rint(answer.point).astype(np.int64)
                self.offer(self.columns.grouping(self.instance, number))
            if answer.bound is not None and answer.status is not Status.INFEASIBLE:
                reached = min(engine_units(self.columns, answer.bound), beyond, self.value)
                self.raise_bound(reached, proof=BY_PROGRAM)
            self.report(f"{len(some)} kinds of groups")
            raise_if_interrupted(answer.stop)
            if last and not self.closed:
                self.stop = answer.stop if answer.stop is not Stop.FINISHED else Stop.TIME_LIMIT
                return
            near *= 4

    def _rest(self, price: Integers) -> Integers:
        rest = reduced_costs(self.columns, price)
        rest -= least_rests(self.columns, rest)[self.columns.where]
        return rest

    def nearest(self, among: Integers, many: int) -> Integers:
        """The `many` columns of least reduced cost among the given ones, ascending."""
        if len(among) <= many:
            return among
        return np.sort(among[np.argpartition(self.rest[among], many)[:many]])

    def _enter(self, living: WarmStartedProgram, new: Integers) -> None:
        part = self.columns.some(new)
        starts: list[int] = []
        rows: list[int] = []
        values: list[float] = []
        for row, place in zip(part.members.tolist(), part.where.tolist(), strict=True):
            starts.append(len(rows))
            types = sorted({kind for kind in row if kind >= 0})
            rows += [*types, self.instance.types + place]
            values += [*(float(row.count(kind)) for kind in types), 1.0]
        upper = np.full(len(new), np.inf)
        living.add_columns(part.cost / UNIT, upper, starts, rows, np.array(values))


def too_large(
    instance: Groups, start: Solution | None, clock: Clock, bound: float | None = None
) -> Outcome:
    """Feasible outcome without a proof, if listing the groups would exceed the time limit."""
    begin = starting_grouping(instance, None, start, clock)
    if isinstance(begin, Outcome):
        return begin
    clock.note(mean_of(instance, total_units(instance, begin)), None, "start")
    why = {"proof": "none: there is no time to list the kinds of groups"}
    return Outcome(begin, bound, Status.FEASIBLE, Stop.TIME_LIMIT, why, tuple(clock.trace))


def least_loss_pairs(
    instance: Groups, start: Solution | None, clock: Clock, limits: GroupLimits
) -> Outcome | None:
    """Outcome of pairing jobs by a minimum-weight matching, where many jobs all differ, machines
    have two seats, and no job loses anything alone; None for other instances, or where too little
    time is left or another method is faster.
    """
    jobs, place = instance.jobs, int(np.argmax(instance.limits > 0))
    alike = (instance.alike == instance.alike[place]) | (instance.limits == 0)
    lone = np.column_stack([instance.present, np.full(len(instance.present), -1)])
    if (
        "pairs" not in limits.routes or jobs < limits.pairs or len(instance.present) < jobs
        or instance.seats[place] != 2 or not alike.all()
        or (clock.left is not None and PAIR_SECONDS * jobs**2 > clock.left)
        or units(instance, place, lone).any()
    ):  # fmt: skip
        return None
    most_alone = min(jobs, instance.spare)
    over = parts(jobs, most_alone)
    cost = pair_costs(instance, place, over)
    begin = starting_grouping(instance, None, start, clock)
    mate = mates(instance, begin) if isinstance(begin, Grouping) else first_mates(cost)
    if np.count_nonzero(mate < 0) > most_alone:
        return None
    search = TotalLoss(instance, grouping_of(instance, mate), clock)
    search.report("start")
    blossoms = Blossoms(
        cost, 0, most_alone, mate, clock,
        offer=lambda mate: search.offer(grouping_of(instance, mate), "blossoms"),
        prove=lambda bound: search.raise_bound(-(-bound // over), "pricing"),
    )  # fmt: skip
    with search.keeping_best():
        blossoms.search()
    return search.finish(certificate(blossoms)) if blossoms.suited else None


def pair_costs(instance: Groups, place: int, over: int) -> Integers:
    """Total penalty of each two jobs on a class of machines, shape (n, n), in units of 1e-12 /
    `over`.
    """
    from ..blossom_kernels import FORBIDDEN as NEVER

    here, jobs = instance.present, instance.jobs
    cost = np.full((jobs, jobs), NEVER)
    for rows in np.array_split(np.arange(jobs), 1 + jobs**2 // BLOCK):
        one, two = np.nonzero(rows[:, None] < np.arange(jobs))
        one = rows[one]
        lost = units(instance, place, np.column_stack([here[one], here[two]]))
        both = np.where(lost.max(axis=1) < FORBIDDEN, over * lost.sum(axis=1), NEVER)
        cost[one, two] = cost[two, one] = both
    return cost


def mates(instance: Groups, grouping: Grouping) -> Integers:
    """Partner of each job (n,), both as indices into `instance.present`; -1 for a job alone."""
    pairs = grouping.members[(grouping.members >= 0).sum(axis=1) == 2]
    one, two = np.searchsorted(instance.present, pairs[:, [0, -1]]).T
    mate: Integers = np.full(instance.jobs, -1)
    mate[one], mate[two] = two, one
    return mate


def grouping_of(instance: Groups, mate: Integers) -> Grouping:
    """Grouping of the jobs and their partners; machines of equal classes are filled in order."""
    one = np.flatnonzero((mate < 0) | (mate > np.arange(len(mate))))
    two = np.where(mate[one] < 0, -1, instance.present[mate[one]])
    used = np.repeat(np.arange(len(instance.limits)), instance.limits)[: len(one)]
    return Grouping(np.column_stack([instance.present[one], two]), used, np.ones(len(one), int))
