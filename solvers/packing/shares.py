"""Fixed servers shared exactly: max-min-share (leximin dominant shares) and max-utilization."""

from __future__ import annotations

import math
from contextlib import suppress
from fractions import Fraction
from typing import Annotated, Any

import numpy as np

from ...instances.packing.game import FairShare, scale
from ...instances.packing.instance import Integers, Packing, Placement
from ...instances.problem.rules import AtLeast, checked
from ...models.packing.shares import level_program, share_program, utilization_program
from ...models.program import LinearProgram
from ..engines import EngineAnswer, solve_apart, solve_program
from ..outcome import Clock, Outcome, Report, Status, Stop, agree
from .cluster import Cluster, evenly_filled, fixed_cluster

MOST_COLUMNS = 50_000
"""Maximal combinations of one server class; where there are more, no program is made."""

NOT_LISTED = (
    f"none: a server has more than {MOST_COLUMNS} maximal combinations of VMs, or there was no "
    "time to list them; the answer is an even filling or the start, the bound that of requests "
    "and of what all servers hold together"
)

KEEPS_TIME = 2_000
"""Columns up to which HiGHS keeps its time limit."""

MOST_STEPS, STEPS = 10**8, 10**6
"""Steps that the listing of one class's combinations may take, a few seconds, and those between two
looks at the clock.
"""

Share = Annotated[float, AtLeast(0, "a dominant share")]

TOLERANCE = 1e-6
"""Sums of shares that an engine reports may be wrong by this part of themselves and of the least
share of one VM.
"""

PRECISION = 1e-9
"""The utilization that HiGHS reports may be wrong by this part of itself and of what one VM adds at
most.
"""

MOST_SECONDS = 30.0
"""For CP-SAT to decide between utilizations that differ by less than that, where time is not
limited.
"""


@checked
def max_utilization(
    instance: Packing,
    *,
    rng: np.random.Generator | None = None,
    time_limit: float | None = None,
    start: Placement | None = None,
    report: Report | None = None,
    least_share: Share = 0.0,
) -> Outcome:
    """The placement that uses most of the cluster: the mean over resources of the share in use.

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
    # the cluster, and what users are owed
    clock = Clock(time_limit, report)
    cluster = fixed_cluster(instance)
    owed = vms_owed(instance, least_share)
    servers, cap = instance.available.astype(np.int64), instance.wanted.astype(float)
    # what a VM of each type adds to utilization, exactly; every answer is worth whole steps
    space = [int(amount) for amount in (instance.start * servers[:, None]).sum(axis=0)]
    busy = [
        int(amount)
        for amount in ((instance.start - instance.capacity) * servers[:, None]).sum(axis=0)
    ]
    there = [j for j, amount in enumerate(space) if amount > 0]
    weight = [
        sum((Fraction(int(row[j]), space[j]) for j in there), Fraction(0)) / len(there)
        for row in instance.demand
    ]
    step = Fraction(
        math.gcd(*(part.numerator for part in weight)),
        math.lcm(*(part.denominator for part in weight)),
    )
    begin = sum((Fraction(busy[j], space[j]) for j in there), Fraction(0)) / len(there)
    unit = max(weight)

    def worth(placement: Placement) -> Fraction:
        return sum(
            (
                n * part
                for n, part in zip(placement.totals(instance.types).tolist(), weight, strict=True)
            ),
            Fraction(0),
        )

    shares = np.array([float(part / unit) for part in weight])
    # an answer before anything that may take long: the better of the start and an even filling
    best = None
    for given in (start, evenly_filled(instance, cluster)):
        if (
            given is not None
            and (given.totals(instance.types) >= owed).all()
            and (best is None or worth(given) > worth(best))
        ):
            best = given
    # at most all that is asked for, or all there is, of each resource
    free = [int(amount) for amount in (instance.capacity * servers[:, None]).sum(axis=0)]
    asked = [
        sum(
            min(int(n), space[j] + 1) * int(row[j])
            for n, row in zip(cluster.cap, instance.demand, strict=True)
        )
        for j in range(len(space))
    ]
    top = sum((Fraction(min(free[j], asked[j]), space[j]) for j in there), Fraction(0)) / len(there)
    if best is not None and worth(best) == top:
        return Outcome(best, float(begin + top), Status.OPTIMAL, certificate={"engine": "none"})
    # maximal combinations of VMs for each server class
    try:
        tables = combinations(instance, cluster, clock)
    except KeyboardInterrupt:
        tables = Stop.INTERRUPTED
    if isinstance(tables, Stop):
        found = Status.UNKNOWN if best is None else Status.FEASIBLE
        return Outcome(best, float(begin + top), found, tables, {"engine": NOT_LISTED})
    # the program in floats
    program, number, _ = utilization_program(tables, servers, cap, shares, owed)
    answer = _solved(program, clock, report)
    status, stop = answer.status, answer.stop
    # the better of its answer and that in hand, compared exactly
    reached = _placement(instance, tables, number, answer, cluster)
    best = reached if best is None or (reached and worth(reached) >= worth(best)) else best
    certificate = {"engine": answer.message}
    if answer.bound is None or best is None:
        known = (
            None
            if status is Status.INFEASIBLE
            else float(begin + top)
            if answer.bound is None
            else float(begin - Fraction(answer.bound) * unit)
        )
        return Outcome(
            best,
            known,
            status if best is None else Status.FEASIBLE,
            stop,
            certificate,
            answer.trace,
        )
    # its bound, rounded down to whole steps
    near = Fraction(-answer.bound) * unit
    highest = (
        (near + Fraction(PRECISION * (1 + abs(answer.bound))) * unit) // step * step
    )  # whole VMs are worth whole steps
    whole = [int(part / step) for part in weight]
    most = sum(
        n * int(row.max(initial=0)) for n, row in zip(whole, np.concatenate(tables).T, strict=True)
    ) * int(servers.sum())
    if (
        worth(best) < highest and most < 2**53 and stop is Stop.FINISHED
    ):  # too near for floats: once more in whole numbers
        program, number, _ = utilization_program(
            tables, servers, cap, np.array(whole, dtype=float), owed, whole=True
        )
        answer = solve_program(program, engine="cp-sat", time_limit=clock.share() or MOST_SECONDS)
        better, stop = _placement(instance, tables, number, answer, cluster), answer.stop
        best = best if better is None or worth(better) <= worth(best) else better
        if answer.bound is not None:
            most_whole = math.floor(-answer.bound + 0.5) * step
            near, highest = min(near, most_whole), min(highest, most_whole)
    # what is proved
    value = worth(best)
    bound = value if highest <= value else max(near, value)
    met = agree(float(begin + value), float(begin + bound), scale(instance, "utilization"))
    proved = highest <= value or (status is Status.OPTIMAL and met)
    stop = Stop.FINISHED if proved and stop is not Stop.INTERRUPTED else stop
    return Outcome(
        best,
        float(begin + bound),
        Status.OPTIMAL if proved else Status.FEASIBLE,
        stop,
        certificate,
        answer.trace,
    )


@checked
def max_min_share(
    instance: Packing,
    *,
    rng: np.random.Generator | None = None,
    time_limit: float | None = None,
    start: Placement | None = None,
    report: Report | None = None,
    levels: Annotated[int, AtLeast(1, "levels to settle")] | None = None,
) -> Outcome:
    """Leximin dominant shares on whole VMs: the least share as large as can be, then the second
    least, and so on.

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
    told: list[dict[str, Any]] = []
    bound = None
    for level in range(users if levels is None else min(levels, users)):
        # level after level: the largest next share that the ones settled before it allow
        highest = search.settle(level)
        settled = highest == search.shares[level]
        before = sum(search.shares[:level], Fraction(0))
        told.append(
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
    complete = len(told) == users and told[-1]["status"] == Status.OPTIMAL
    status = Status(told[0]["status"])
    stop = Stop.FINISHED if told[-1]["status"] == Status.OPTIMAL else search.stop
    return Outcome(
        search.best, bound, status, stop, {"levels": told, "leximin": complete, **facts},
        tuple(clock.trace),
    )  # fmt: skip


def least_first(instance: Packing, placement: Placement) -> tuple[Fraction, ...]:
    """What `max_min_share` compares: the dominant shares of the users who want something, the least
    first, negative so that less is better.
    """
    total, unit = placement.totals(instance.types).tolist(), FairShare.of(instance).unit
    users = np.flatnonzero(instance.wanted > 0).tolist()
    return tuple(-share for share in sorted(total[user] * unit[user] for user in users))


def sharing_enough(
    instance: Packing, placement: Placement, *, least_share: Share = 0.0
) -> tuple[()] | None:
    """Whether a placement does for `max_utilization`: nothing to compare, or None where a user has
    less than the `least_share`.
    """
    enough = (placement.totals(instance.types) >= vms_owed(instance, least_share)).all()
    return () if enough else None


class _Leximin:
    """The best placement so far, its shares in increasing order, and the programs that improve on
    it level by level.
    """

    def __init__(
        self, instance: Packing, clock: Clock, start: Placement | None, report: Report | None
    ) -> None:
        self.instance, self.clock, self.report = instance, clock, report
        self.cluster = fixed_cluster(instance)
        self.servers = instance.available.astype(np.int64)
        self.tables: list[Integers] | Stop = Stop.INTERRUPTED
        self.unit = FairShare.of(instance).unit
        self.users = np.flatnonzero(instance.wanted > 0).tolist()
        self.smallest = min(self.unit[user] for user in self.users)
        self.cap = instance.wanted.astype(float)
        self.stop = Stop.TIME_LIMIT
        # an answer before anything that may take long
        self.best = evenly_filled(instance, self.cluster)
        self.shares = self._shares(self.best)
        self._offer(start)
        with suppress(KeyboardInterrupt):
            self.tables = combinations(instance, self.cluster, clock)
        if isinstance(self.tables, Stop):
            self.stop = self.tables

    def settle(self, level: int) -> Fraction:
        """Improve the share of this level, those before it kept; returns what it cannot pass."""
        highest = self._simple(level)
        if isinstance(self.tables, Stop) or self.shares[level] >= highest:
            return highest
        estimate = self._estimate(self.tables, self.shares[:level])
        highest = highest if estimate is None else min(highest, estimate)
        while self.shares[level] < highest and not self.clock.over:
            if self.stop is Stop.INTERRUPTED:
                break
            program, number, _ = level_program(
                self.tables, self.servers, self.cap, self._steps(self.shares[: level + 1])
            )
            answer = self._solved(program)
            if answer.status is Status.INFEASIBLE:
                highest = self.shares[level]
            elif not self._offer(
                _placement(self.instance, self.tables, number, answer, self.cluster)
            ):
                break
        return highest

    def _simple(self, level: int) -> Fraction:
        """A bound on the share of this level: what the users with the smallest needs may ask for,
        and what all servers together hold.
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

    def _estimate(self, tables: list[Integers], reached: list[Fraction]) -> Fraction | None:
        """A placement by the program over sums of shares; returns the most its bound leaves for the
        next share.
        """
        unit = np.zeros(self.instance.types)
        unit[self.users] = [float(self.unit[user] / self.smallest) for user in self.users]
        sums = [
            float(sum(reached[: place + 1], Fraction(0)) / self.smallest)
            for place in range(len(reached))
        ]
        slack = TOLERANCE * (1 + (sums[-1] if sums else 0.0))
        program, number, _ = share_program(tables, self.servers, self.cap, unit, sums, slack)
        answer = self._solved(program)
        self._offer(_placement(self.instance, tables, number, answer, self.cluster))
        if answer.bound is None:
            return None
        most = Fraction(-answer.bound + TOLERANCE * (1 + abs(answer.bound))) * self.smallest - sum(
            reached, Fraction(0)
        )
        return max(
            math.floor(most / self.unit[user]) * self.unit[user] for user in self.users
        )  # shares are of whole VMs

    def _steps(self, reached: list[Fraction]) -> list[tuple[Integers, int]]:
        """What users must have for shares as large as these in order, and a larger one in the place
        of the last.
        """
        steps = []
        for place, share in enumerate(reached[:-1]):
            if place == 0 or share > reached[place - 1]:
                steps.append((self._vms(share), len(self.users) - place))
        return [*steps, (self._vms(reached[-1], above=True), len(self.users) - len(reached) + 1)]

    def _vms(self, share: Fraction, above: bool = False) -> Integers:
        """(s,) the fewest VMs that give a user this share, or more than it."""
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
        """Keep a placement whose shares are the larger in the order of leximin."""
        if placement is None or (shares := self._shares(placement)) <= self.shares:
            return False
        self.best, self.shares = placement, shares
        return True

    def _shares(self, placement: Placement) -> list[Fraction]:
        """The users' dominant shares, in increasing order."""
        total = placement.totals(self.instance.types).tolist()
        return sorted(total[user] * self.unit[user] for user in self.users)


@checked
def vms_owed(instance: Packing, least_share: Share) -> Integers:
    """(s,) fewest VMs that give every user who wants something a dominant share.

    A share is large enough when the float it rounds to is: 3 of 10 VMs are .3 of them.

    Raises
    ------
    InvalidOption
        The share is no number of 0 or more.
    """
    owed = np.zeros(instance.types, dtype=np.int64)
    for user, unit in enumerate(FairShare.of(instance).unit):
        if instance.wanted[user] > 0:
            vms = math.ceil(Fraction(least_share) / unit)
            owed[user] = min(vms - (vms > 0 and float((vms - 1) * unit) >= least_share), 2**53)
    return owed


def _solved(program: LinearProgram, clock: Clock, report: Report | None) -> EngineAnswer:
    """What HiGHS makes of a program; in a process of its own where it may look at no clock for
    long.
    """
    if program.columns > KEEPS_TIME:
        return solve_apart(program, time_limit=clock.share())
    return solve_program(program, time_limit=clock.share(), report=report)


def combinations(instance: Packing, cluster: Cluster, clock: Clock) -> list[Integers] | Stop:
    """Maximal combinations per class; or why not: the time is up, or there are more than
    `MOST_COLUMNS` for a class, or than `MOST_STEPS` can list.
    """
    from .combination_kernels import maximal_combinations

    # the type that fits least often is counted first, the most frequent one is filled in at once
    reach = np.array([(instance.capacity // np.maximum(row, 1)).max() for row in instance.demand])
    order = np.argsort(np.minimum(reach, cluster.cap), kind="stable")
    demand, cap, tables = instance.demand[order], cluster.cap[order], []
    for c in range(instance.classes):
        count, left = np.zeros(instance.types, dtype=np.int64), instance.capacity[c].copy()
        table = np.zeros((MOST_COLUMNS + 1, instance.types), dtype=np.int64)
        number, whole, steps = 0, False, 0
        while not whole:
            if clock.over:
                return Stop.TIME_LIMIT
            number, whole = maximal_combinations(demand, cap, count, left, table, number, STEPS)
            steps += STEPS
            if number > MOST_COLUMNS or (steps > MOST_STEPS and not whole):
                return Stop.ITERATION_LIMIT
        listed = np.zeros((number, instance.types), dtype=np.int64)
        listed[:, order] = table[:number]
        listed = listed[listed.any(axis=1)]
        tables.append(listed[np.lexsort(listed.T[::-1])])
    return tables


def _placement(
    instance: Packing,
    tables: list[Integers],
    number: list[Integers],
    answer: EngineAnswer,
    cluster: Cluster,
) -> Placement | None:
    """The servers a point stands for, without VMs beyond the requests."""
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
