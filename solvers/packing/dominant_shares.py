"""Exact sharing of a fixed cluster: max-min-share (leximin dominant shares) and max-utilization."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import partial
from typing import Annotated, Any

import numpy as np

from ...instances.packing.game import FairShare
from ...instances.packing.instance import Integers, Packing, Placement, check, fits
from ...instances.problem.option_types import AtLeast, validate_options
from ...models.packing.dominant_shares import level_program, share_program, utilization_program
from ...models.program import LinearProgram
from ..engines import EngineAnswer, solve_in_subprocess, solve_program
from ..engines.cpsat import EXACT
from ..outcome import Clock, Outcome, Report, Status, Stop
from ..proofs.tree import integer_bound, nothing_below
from .fixed_servers import Cluster, combinations, evenly_filled, fixed_cluster

MOST_COLUMNS = 50_000
"""Maximal combinations of one server class; where there are more, no program is made."""

KEEPS_TIME = 2_000
"""Columns up to which HiGHS keeps its time limit."""

MOST_STEPS = 10**8
"""Combinations without the most frequent type that are looked at for a class, ten seconds or so."""

SECONDS = 30.0
"""To prove in integers what is the best, where time is not limited."""

NOT_LISTED = (
    f"none: a server has more than {MOST_COLUMNS} maximal combinations of VMs, or there "
    "was no time to list them; the answer is an even filling or the start, the bound that "
    "of requests and of what all servers hold together"
)
"""Text for the certificate: why the program was not built."""

Share = Annotated[float, AtLeast(0, "a dominant share")]

TOLERANCE = 1e-6
"""Sums of shares of the levels before may be missed by this part of themselves and of the least
share of one VM, in the program in floats.
"""


@validate_options
def max_utilization(
    instance: Packing,
    *,
    time_limit: float | None = None,
    start: Placement | None = None,
    report: Report | None = None,
    least_share: Share = 0.0,
) -> Outcome:
    """Maximize utilization: the mean over resources of the share in use.

    Parameters
    ----------
    least_share : dominant share that every user who wants something must have (see `vms_owed`); 0
        for whatever they get.

    Raises
    ------
    InvalidInstance
        Servers are not of fixed number, or a finite request must be served whole.
    InvalidOption
        `least_share` is no number of 0 or more.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("packing/paper-example"), "max-utilization")
    >>> print(result.status, round(result.objective, 3))
    optimal 0.985
    """
    clock = Clock(time_limit, report)
    search = _Utilization(instance, least_share)
    # 1. an answer and a bound before anything that may take long
    if start is not None:
        check(instance, start)
    for given in (start, evenly_filled(instance, search.cluster)):
        search.offer(given)
    top = search.together()
    if search.best is not None and search.worth(search.best) == top:
        return search.outcome(top, Status.OPTIMAL, Stop.FINISHED, "none")
    # 2. maximal combinations of VMs for each server class
    try:
        tables = maximal_combinations(instance, search.cluster, clock)
    except KeyboardInterrupt:
        tables = Stop.INTERRUPTED
    if isinstance(tables, Stop):
        return search.outcome(top, Status.UNKNOWN, tables, NOT_LISTED)
    # 3. a placement by the program in floats, whose bound counts for nothing
    answer = search.solved(tables, lambda program: _solved(program, clock, report))
    stop, trace = answer.stop, answer.trace
    # 4. that none is better, or a better one, by the program in whole steps
    if stop is not Stop.INTERRUPTED and search.whole_fits(tables):
        limit = clock.time_slice() or SECONDS
        if search.nothing_better(tables, Clock(limit)):
            assert search.best is not None
            top = search.worth(search.best)
        else:
            engine = partial(solve_program, engine="cp-sat", time_limit=limit)
            again = search.solved(tables, engine, whole=True)
            if search.best is None and again.status is Status.INFEASIBLE:
                return search.outcome(None, again.status, again.stop, again.message, trace)
            stop = again.stop
            if again.bound is not None:
                top = min(top, round(-again.bound) * search.step)
    # 5. what is proved
    known = Status.UNKNOWN
    if search.best is not None and search.worth(search.best) == top:
        known = Status.OPTIMAL
        stop = stop if stop is Stop.INTERRUPTED else Stop.FINISHED
    return search.outcome(top, known, stop, answer.message, trace)


class _Utilization:
    """Incumbent of `max_utilization`, with utilizations as exact fractions.

    Attributes
    ----------
    begin : utilization by what is in use before any VM is placed.
    weight : what a VM of each type adds to it.
    step : every placement is worth a whole number of these.
    unit : the largest weight, in which programs in floats count.
    """

    def __init__(self, instance: Packing, least_share: Share) -> None:
        self.instance = instance
        self.best: Placement | None = None
        self.cluster = fixed_cluster(instance)
        self.owed = vms_owed(instance, least_share)
        self.servers = instance.server_count.astype(np.int64)
        self._free = self._all(instance.capacity)
        self._space = self._all(instance.initial_capacity)
        self._there = [j for j, amount in enumerate(self._space) if amount > 0]
        self.begin = self._mean(np.subtract(self._space, self._free, dtype=object).tolist())
        self.weight = [self._mean(row) for row in instance.demand.tolist()]
        self.step = Fraction(
            math.gcd(*(part.numerator for part in self.weight)),
            math.lcm(*(part.denominator for part in self.weight)),
        )
        self.unit = max(self.weight)
        self._whole = [int(part / self.step) for part in self.weight]

    def _all(self, amount: Integers) -> list[int]:
        """Total of each resource over all servers, shape (k,)."""
        return [int(each) for each in (amount * self.servers[:, None]).sum(axis=0)]

    def _mean(self, amount: Sequence[int]) -> Fraction:
        """Mean over resources of the shares that amounts (k,) are of the totals."""
        shares = (Fraction(amount[j], self._space[j]) for j in self._there)
        return sum(shares, Fraction(0)) / len(self._there)

    def worth(self, placement: Placement) -> Fraction:
        """Utilization added by the VMs of a placement."""
        total = placement.totals(self.instance.types).tolist()
        return sum((n * part for n, part in zip(total, self.weight, strict=True)), Fraction(0))

    def offer(self, placement: Placement | None, *, ties: bool = False) -> None:
        """Keep a placement that gives every user its least share, if it has more utilization than
        the incumbent; with `ties` also at equal utilization.
        """
        if placement is None or (placement.totals(self.instance.types) < self.owed).any():
            return
        value = self.worth(placement)
        best = None if self.best is None else self.worth(self.best)
        if best is None or value > best or (ties and value == best):
            self.best = placement

    def together(self) -> Fraction:
        """Upper bound on the added utilization of all users together: for each resource, the
        smaller of the requests and the free amount.
        """
        cap, demand = self.cluster.cap, self.instance.demand
        asked = [
            sum(min(int(n), space + 1) * int(row[j]) for n, row in zip(cap, demand, strict=True))
            for j, space in enumerate(self._space)
        ]
        return self._mean([min(pair) for pair in zip(self._free, asked, strict=True)])

    def whole_fits(self, tables: list[Integers]) -> bool:
        """Whether all numbers of the integer program are exact in floats."""
        row = np.concatenate(tables).max(axis=0, initial=0).tolist()
        most = sum(n * vms for n, vms in zip(self._whole, row, strict=True))
        return bool(most * int(self.servers.sum()) < EXACT)

    def solved(
        self,
        tables: list[Integers],
        engine: Callable[[LinearProgram], EngineAnswer],
        *,
        whole: bool = False,
    ) -> EngineAnswer:
        """Answer of an engine to the program over maximal combinations, in integers if `whole`. Its
        placement is offered as incumbent.
        """
        program, number = self._program(tables, whole=whole)
        answer = engine(program)
        found = _placement(tables, number, answer, self.cluster)
        self.offer(found, ties=not whole)
        return answer

    def nothing_better(self, tables: list[Integers], clock: Clock) -> bool:
        """Whether a tree of cases proves that no placement is better than the incumbent."""
        if self.best is None:
            return False
        program = self._program(tables, whole=True)[0]
        return nothing_below(program, -int(self.worth(self.best) / self.step), clock)

    def _program(
        self, tables: list[Integers], *, whole: bool
    ) -> tuple[LinearProgram, list[Integers]]:
        shares = self._whole if whole else [float(part / self.unit) for part in self.weight]
        cap = self.instance.requested.astype(float)
        return utilization_program(
            tables, self.servers, cap, np.array(shares, dtype=float), self.owed, whole=whole
        )

    def outcome(
        self,
        bound: Fraction | None,
        status: Status,
        stop: Stop,
        engine: str,
        trace: tuple[tuple[float, float | None, float | None], ...] = (),
    ) -> Outcome:
        """Outcome of `max_utilization`, given an upper bound on the utilization that VMs add."""
        if self.best is not None and status is Status.UNKNOWN:
            status = Status.FEASIBLE
        known = None if bound is None else float(self.begin + bound)
        return Outcome(self.best, known, status, stop, {"engine": engine}, trace)


@validate_options
def max_min_share(
    instance: Packing,
    *,
    time_limit: float | None = None,
    start: Placement | None = None,
    report: Report | None = None,
    levels: Annotated[int, AtLeast(1, "levels to settle")] | None = None,
) -> Outcome:
    """Leximin dominant shares with integer VMs: maximize the least share, then the second least,
    and so on.

    The exact counterpart of `DRF`, which fills greedily. Shares are of what the cluster has free in
    all, and are compared as the rationals they are: a program over sums of shares leads to a
    placement and a bound, and where some user's whole VMs would make a share between the two, a
    program in whole numbers says whether that is possible. The bound belongs to the least share;
    the further levels (sums of the k least) stand in `certificate["levels"]`.

    Parameters
    ----------
    levels : how many of the least shares to settle, one after the other; all when not given.

    Raises
    ------
    InvalidInstance
        Servers are not of fixed number, or a finite request must be served whole.
    InvalidOption
        `levels` is no whole number of 1 or more.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("packing/paper-example"), "max-min-share")
    >>> print(result.status, round(result.objective, 3))
    optimal 0.25
    """
    clock = Clock(time_limit, report)
    search = _Leximin(instance, clock, start, report)
    users = len(search.users)
    level_facts: list[dict[str, Any]] = []
    bound = None
    for level in range(users if levels is None else min(levels, users)):
        # level after level: the largest next share that the ones settled before it allow
        highest = search.settle(level)
        settled = highest == search.shares[level]
        before = sum(search.shares[:level], Fraction(0))
        level_facts.append(
            {
                "objective": f"sum of the {level + 1} least dominant shares",
                "value": float(before + search.shares[level]),
                "bound": float(before + highest),
                "status": (Status.OPTIMAL if settled else Status.FEASIBLE).value,
            }
        )
        if level == 0:
            bound = float(highest)
        # a level that is not proved leaves those above it open
        if not settled:
            break
    # the status is that of the first level
    facts = {"engine": NOT_LISTED} if isinstance(search.tables, Stop) else {}
    complete = len(level_facts) == users and level_facts[-1]["status"] == Status.OPTIMAL
    status = Status(level_facts[0]["status"])
    stop = Stop.FINISHED if level_facts[-1]["status"] == Status.OPTIMAL else search.stop
    return Outcome(
        search.best, bound, status, stop, {"levels": level_facts, "leximin": complete, **facts},
        tuple(clock.trace),
    )  # fmt: skip


def least_first(instance: Packing, placement: Placement) -> tuple[Fraction, ...]:
    """Objective vector of `max_min_share`: negated dominant shares of users with requests, the
    least share first.
    """
    total, unit = placement.totals(instance.types).tolist(), FairShare.of(instance).unit
    users = np.flatnonzero(instance.requested > 0).tolist()
    return tuple(-share for share in sorted(total[user] * unit[user] for user in users))


def sharing_enough(
    instance: Packing, placement: Placement, *, least_share: Share = 0.0
) -> tuple[()] | None:
    """Return () if every user has a dominant share of `least_share` in a placement, or None."""
    enough = (placement.totals(instance.types) >= vms_owed(instance, least_share)).all()
    return () if enough else None


class _Leximin:
    """Incumbent of `max_min_share`, its shares in increasing order, and the programs that improve
    it level by level.
    """

    def __init__(
        self,
        instance: Packing,
        clock: Clock,
        start: Placement | None = None,
        report: Report | None = None,
    ) -> None:
        self.instance, self.clock, self.report = instance, clock, report
        self.cluster = fixed_cluster(instance)
        self.servers = instance.server_count.astype(np.int64)
        self.tables: list[Integers] | Stop = Stop.INTERRUPTED
        self.unit = FairShare.of(instance).unit
        self.users = np.flatnonzero(instance.requested > 0).tolist()
        self.smallest = min(self.unit[user] for user in self.users)
        self.cap = instance.requested.astype(float)
        self.stop = Stop.TIME_LIMIT
        # an answer before anything that may take long
        self.best = evenly_filled(instance, self.cluster)
        self.shares = self._shares(self.best)
        self._offer(start)
        with suppress(KeyboardInterrupt):
            self.tables = maximal_combinations(instance, self.cluster, clock)
        if isinstance(self.tables, Stop):
            self.stop = self.tables

    def settle(self, level: int) -> Fraction:
        """Maximize one level's dominant share with earlier levels fixed; return its upper bound."""
        highest = self._simple(level)
        if isinstance(self.tables, Stop) or self.shares[level] >= highest:
            return highest
        self._estimate(self.tables, self.shares[:level])
        while self.shares[level] < highest and not self.clock.expired:
            if self.stop is Stop.INTERRUPTED:
                break
            program, number = level_program(
                self.tables, self.servers, self.cap, self._steps(self.shares[: level + 1])
            )
            answer = self._solved(program)
            if answer.status is Status.INFEASIBLE:
                if integer_bound(program, answer, self.clock, SECONDS) != math.inf:
                    break
                highest = self.shares[level]
            elif not self._offer(_placement(self.tables, number, answer, self.cluster)):
                break
        return highest

    def _simple(self, level: int) -> Fraction:
        """Upper bound on the dominant share at a level of the leximin order, from the total
        capacity and the users with the smallest needs.
        """
        total = [int(amount) for amount in FairShare.of(self.instance).total]
        demand = self.instance.demand.tolist()
        sharing = len(self.users) - level  # users who have as large a share as this level's

        def possible(share: Fraction) -> bool:
            vms = {user: math.ceil(share / self.unit[user]) for user in self.users}
            able = [user for user in self.users if vms[user] <= self.cap[user]]
            return len(able) >= sharing and all(
                sum(sorted(vms[user] * demand[user][j] for user in able)[:sharing]) <= room
                for j, room in enumerate(total)
            )

        best = Fraction(0)
        for user in self.users:  # a share is of whole VMs of its user
            low, high = 0, 1
            while possible(high * self.unit[user]):
                low, high = high, 2 * high
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if possible(middle * self.unit[user]) else (low, middle)
            best = max(best, low * self.unit[user])
        return best

    def _estimate(self, tables: list[Integers], reached: list[Fraction]) -> None:
        """Maximize the next level's dominant share in floats; offer the placement that is found."""
        unit = np.zeros(self.instance.types)
        unit[self.users] = [float(self.unit[user] / self.smallest) for user in self.users]
        sums = [
            float(sum(reached[: index + 1], Fraction(0)) / self.smallest)
            for index in range(len(reached))
        ]
        slack = TOLERANCE * (1 + (sums[-1] if sums else 0.0))
        program, number = share_program(tables, self.servers, self.cap, unit, sums, slack)
        answer = self._solved(program)
        self._offer(_placement(tables, number, answer, self.cluster))

    def _steps(self, reached: list[Fraction]) -> list[tuple[Integers, int]]:
        """Conditions under which the sorted shares of a placement reach all levels of `reached`
        and exceed the last. Each is the VMs (s,) that users need for a share, and how many users
        must have them.
        """
        steps = []
        for index, share in enumerate(reached[:-1]):
            if index == 0 or share > reached[index - 1]:
                steps.append((self._vms(share), len(self.users) - index))
        return [*steps, (self._vms(reached[-1], above=True), len(self.users) - len(reached) + 1)]

    def _vms(self, share: Fraction, above: bool = False) -> Integers:
        """Fewest VMs that give each user this share, or (with `above`) more than it, shape (s,)."""
        owed = np.zeros(self.instance.types, dtype=np.int64)
        for user in self.users:
            owed[user] = (
                math.floor(share / self.unit[user]) + 1
                if above
                else math.ceil(share / self.unit[user])
            )
        return owed

    def _solved(self, program: LinearProgram) -> EngineAnswer:
        answer = _solved(program, self.clock, self.report)
        if answer.stop is Stop.INTERRUPTED:
            self.stop = Stop.INTERRUPTED
        return answer

    def _offer(self, placement: Placement | None) -> bool:
        """Keep a placement whose sorted shares are lexicographically larger; return whether."""
        if placement is None or (shares := self._shares(placement)) <= self.shares:
            return False
        self.best, self.shares = placement, shares
        return True

    def _shares(self, placement: Placement) -> list[Fraction]:
        """Dominant shares of the users, in increasing order."""
        total = placement.totals(self.instance.types).tolist()
        return sorted(total[user] * self.unit[user] for user in self.users)


@validate_options
def vms_owed(instance: Packing, least_share: Share) -> Integers:
    """Fewest VMs that give every user with requests the least dominant share, shape (s,).

    A share is large enough when the float it rounds to is: 3 of 10 VMs are .3 of them.

    Raises
    ------
    InvalidOption
        The share is no number of 0 or more.
    """
    owed = np.zeros(instance.types, dtype=np.int64)
    for user, unit in enumerate(FairShare.of(instance).unit):
        if instance.requested[user] > 0:
            vms = math.ceil(Fraction(least_share) / unit)
            owed[user] = min(vms - (vms > 0 and float((vms - 1) * unit) >= least_share), 2**53)
    return owed


def _solved(program: LinearProgram, clock: Clock, report: Report | None) -> EngineAnswer:
    """Solution of a program by HiGHS, in a child process if it may ignore the clock for long."""
    if program.columns > KEEPS_TIME:
        return solve_in_subprocess(program, time_limit=clock.time_slice())
    return solve_program(program, time_limit=clock.time_slice(), report=report)


def maximal_combinations(
    instance: Packing, cluster: Cluster, clock: Clock
) -> list[Integers] | Stop:
    """Maximal combinations of VMs by class; or the reason for stopping: time limit, more than
    `MOST_COLUMNS` for a class, or more than `MOST_STEPS` of work.
    """
    # the type that fits least often is counted first, the most frequent one is filled in at once
    reach = np.array([(instance.capacity // np.maximum(row, 1)).max() for row in instance.demand])
    order = np.argsort(np.minimum(reach, cluster.cap), kind="stable")
    demand, cap, tables = instance.demand[order], cluster.cap[order], []
    for free in instance.capacity:
        maximal, number, steps = [np.zeros((0, instance.types), dtype=np.int64)], 0, 0
        for table in combinations(demand[:-1], cap[:-1], free):
            if clock.expired:
                return Stop.TIME_LIMIT
            left, needs = free - table @ demand[:-1], demand[-1] > 0
            last = (left[:, needs] // demand[-1, needs]).min(axis=1, initial=cap[-1])
            left -= last[:, None] * demand[-1]
            open_types = fits(demand[:-1], left).T & (table < cap[:-1])
            maximal.append(np.column_stack([table, last])[~open_types.any(axis=1)])
            number, steps = number + len(maximal[-1]), steps + len(table)
            if number > MOST_COLUMNS or steps > MOST_STEPS:
                return Stop.ITERATION_LIMIT
        listed = np.concatenate(maximal)[:, np.argsort(order)]
        listed = listed[listed.any(axis=1)]
        tables.append(listed[np.lexsort(listed.T[::-1])])
    return tables


def _placement(
    tables: list[Integers],
    number: list[Integers],
    answer: EngineAnswer,
    cluster: Cluster,
) -> Placement | None:
    """Placement of a point of the program, without VMs beyond the requests."""
    if answer.point is None:
        return None
    rows, kinds = [], []
    for c, (table, columns) in enumerate(zip(tables, number, strict=True)):
        times = np.round(answer.point[columns]).astype(np.int64)
        rows.append(np.repeat(table, times, axis=0))
        kinds.append(np.full(int(times.sum()), c, dtype=np.int64))
    count, kind = np.concatenate(rows), np.concatenate(kinds)
    before = np.cumsum(count, axis=0) - count
    return Placement(np.clip(np.minimum(cluster.cap, 2**53) - before, 0, count), kind)
