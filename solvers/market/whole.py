"""Whole cores, exactly, for small markets: the most Nash welfare, and the leximin of the sharing ratios."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...instances.market.instance import Allocation, Floats, Integers, Market
from ...instances.market.sharing import sharing_ratios, static_utilities
from ...instances.market.utility import user_utilities
from ...instances.market.welfare import nash_welfare as welfare_of
from ...instances.problem.errors import InvalidOption
from ...models.market.whole_cores import CoreColumns, core_columns, require_small
from ...models.program import LinearProgram
from ..engines import EngineAnswer, solve_program
from ..outcome import Clock, Outcome, Report, Status, Stop
from .utilitarian import greedy_cores

_CLOSE = 1e-7  # welfare and bound, or two ratios, that differ relatively by less count as equal


def whole_nash_welfare(market: Market, *, time_limit: float | None = None, report: Report | None = None) -> Outcome:
    """The whole-core allocation with the most Nash welfare, by a MIP whose logarithms are cut by tangents.

    log u lies below each of its tangents, so the program with some tangents bounds the welfare from above, and its point
    bounds it from below; tangents at that point are added until the two meet. A market where no allocation gives every
    user a core has welfare 0, proved by the program without objective.
    """
    require_small(market, time_limit)
    clock = Clock(time_limit, report)
    users = np.flatnonzero(market.active)
    total = float(market.budget[users].sum())
    best = greedy_cores(market)
    if len(users) == 0:
        return Outcome(best, 1.0, Status.OPTIMAL)
    cuts = [np.maximum(user_utilities(market, best.cores)[users], 1e-3 * market.work.max())]
    value, bound, stop = welfare_of(market, user_utilities(market, best.cores)), np.inf, Stop.FINISHED
    try:
        for _ in range(200):
            columns, program = _tangent_program(market, users, cuts)
            answer = _solved(program, clock)
            if answer.status is Status.INFEASIBLE:
                return Outcome(best, 0.0, Status.OPTIMAL, certificate={"zero": "some user must go without a core"})
            stop = answer.stop
            if answer.bound is not None:
                bound = min(bound, float(np.exp(-answer.bound / total)))
            if answer.point is None:
                break
            cores = columns.cores(market, answer.point)
            utility = user_utilities(market, cores)
            if welfare_of(market, utility) > value:
                best, value = Allocation(cores), welfare_of(market, utility)
            clock.note(value, bound, f"{len(cuts)} tangents")
            if bound - value <= _CLOSE * max(value, 1e-12) or stop is not Stop.FINISHED:
                break
            cuts.append(utility[users])
    except KeyboardInterrupt:
        stop = Stop.INTERRUPTED
    proved = bound - value <= 1e-6 * value
    certificate = {"tangents": len(cuts)}
    known = float(max(bound, value)) if np.isfinite(bound) else None
    return Outcome(best, known, Status.OPTIMAL if proved else Status.FEASIBLE, stop, certificate, tuple(clock.trace))


def leximin(
    instance: Market,
    *,
    rng: np.random.Generator | None = None,
    time_limit: float | None = None,
    report: Report | None = None,
) -> Outcome:
    """Whole cores by leximin: the least sharing ratio as large as possible, then as few users there as possible, and so on.

    The ratio is a user's utility over that of its endowment (`sharing_index`). For each level one MIP finds the level and
    another the fewest users at it; users above a level exceed it by one part in ten million. Small cases: the program has
    a column for every core of every job, 50,000 at most, and beyond 500 a time limit must be given. The levels reached
    stand in `certificate["levels"]`.
    """
    require_small(instance, time_limit)
    clock = Clock(time_limit, report)
    static = static_utilities(instance)
    users = np.flatnonzero(static > 0)
    first = greedy_cores(instance)
    if len(users) == 0:
        raise InvalidOption("no user has a useful job, so there is nothing to share; use ES")
    state = _Levels(instance, users, static, first)
    status, stop = Status.OPTIMAL, Stop.FINISHED
    try:
        while sum(state.numbers) < len(users):
            answer = state.raise_level(clock)
            if answer.status is Status.OPTIMAL:
                answer = state.count(clock)
            if answer.status is not Status.OPTIMAL:
                status, stop = Status.FEASIBLE, answer.stop
                break
    except KeyboardInterrupt:
        status, stop = Status.FEASIBLE, Stop.INTERRUPTED
    certificate = {"levels": state.document()}
    least = float(np.nanmin(sharing_ratios(instance, state.best)))
    bound = max(least, state.bound) if state.bound is not None else None
    return Outcome(state.best, bound, status, stop, certificate, tuple(clock.trace))


@dataclass
class _Levels:
    """The levels found so far: value, how many users may stand there."""

    market: Market
    users: Integers
    static: Floats
    best: Allocation
    values: list[float] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    bound: float | None = None
    pending: float = 0.0

    def raise_level(self, clock: Clock) -> EngineAnswer:
        """The largest value that all users not at an earlier level can reach."""
        columns, level, program = self._program(counting=False)
        answer = _solved(program, clock)
        if answer.bound is not None and not self.values:
            self.bound = -answer.bound
        if answer.point is not None:
            self.best = Allocation(columns.cores(self.market, answer.point))
            self.pending = float(answer.point[level])
        return answer

    def count(self, clock: Clock) -> EngineAnswer:
        """The fewest users that must stand at the value found."""
        columns, _, program = self._program(counting=True)
        answer = _solved(program, clock)
        if answer.point is not None and answer.objective is not None:
            self.best = Allocation(columns.cores(self.market, answer.point))
            self.values.append(self.pending)
            self.numbers.append(max(round(answer.objective), 1))
            clock.note(self.values[0], self.bound, f"level {len(self.values)}")
        return answer

    def document(self) -> list[dict[str, Any]]:
        """The levels as JSON values."""
        pairs = zip(self.values, self.numbers, strict=True)
        return [{"objective": "sharing ratio", "value": v, "users": n, "bound": v, "status": "optimal"} for v, n in pairs]

    def _program(self, counting: bool) -> tuple[CoreColumns, int, Any]:
        columns = core_columns(self.market)
        builder = columns.builder
        number = len(self.users)
        top = float(np.max(self._most() / self.static[self.users]))
        level = int(builder.columns(1, upper=top, cost=0.0 if counting else -1.0)[0])
        at = [builder.columns(number, upper=1.0, integer=True) for _ in self.values]
        now = builder.columns(number, upper=1.0, integer=True, cost=1.0) if counting else None
        for marks, most in zip(at, self.numbers, strict=True):
            builder.row(marks, upper=float(most))
        for place, user in enumerate(self.users.tolist()):
            mine = np.flatnonzero(columns.user == user)
            own, gain = columns.column[mine], columns.gain[mine] / self.static[user]
            earlier = np.array([marks[place] for marks in at], dtype=np.int64)
            values = np.array(self.values)
            if len(earlier):
                builder.row(earlier, upper=1.0)
            if counting:
                assert now is not None
                above = self.pending * (1 + _CLOSE)
                low = self.pending * (1 - 1e-9)
                unit = self.pending if self.pending > 0 else 1.0  # a small level's entries would fall below the engine's least
                # ratio >= above, unless at this level (>= pending) or at an earlier one (>= its value)
                builder.row(
                    np.concatenate([own, [now[place]], earlier]),
                    np.concatenate([gain, [above - low], above - values * (1 - 1e-9)]) / unit,
                    lower=above / unit,
                )
            else:
                builder.row(
                    np.concatenate([own, [level], earlier]), np.concatenate([gain, [-1.0], np.full(len(earlier), top)]), lower=0.0
                )
                if len(earlier):
                    builder.row(np.concatenate([own, earlier]), np.concatenate([gain, -values * (1 - 1e-9)]), lower=0.0)
        return columns, level, builder.build()

    def _most(self) -> Floats:
        """(users,) utility with whole servers to itself."""
        whole = np.floor(self.market.capacity + 1e-9)[self.market.server]
        return user_utilities(self.market, np.where(self.market.useful, whole, 0.0))[self.users]


def _solved(program: LinearProgram, clock: Clock) -> EngineAnswer:
    """The engine's answer in the time that is left; without any time left, none."""
    left = clock.left
    if left == 0:
        return EngineAnswer(Status.UNKNOWN, Stop.TIME_LIMIT)
    return solve_program(program, time_limit=left)


def _tangent_program(market: Market, users: Integers, cuts: list[Floats]) -> tuple[CoreColumns, Any]:
    """Minimise -sum B_i t_i with t_i below the tangents of log u_i at the points given; everybody gets a core."""
    columns = core_columns(market)
    builder = columns.builder
    lowest, highest = np.log(market.work[market.useful].min()) - 50.0, np.log(market.work.sum() * market.capacity.max() + 1) + 1
    level = builder.columns(len(users), lower=lowest, upper=highest, cost=-market.budget[users])
    for place, user in enumerate(users.tolist()):
        mine = np.flatnonzero(columns.user == user)
        own, gain = columns.column[mine], columns.gain[mine]
        builder.row(own, lower=1.0)
        for point in {float(cut[place]) for cut in cuts if cut[place] > 0}:
            # t <= log v + (u - v) / v
            builder.row(
                np.concatenate([own, [level[place]]]), np.concatenate([gain / point, [-1.0]]), lower=1.0 - float(np.log(point))
            )
    return columns, builder.build()
