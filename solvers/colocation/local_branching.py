"""Fair attribution near its relaxation: pairs of types that cost little beyond the multipliers, a
few more or fewer of each, by small programs.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...instances.colocation.instance import (
    Booleans,
    Colocation,
    Floats,
    Integers,
    Pairing,
    check,
)
from ...instances.colocation.objective import mean_penalty, within_slack
from ...instances.problem.errors import InfeasibleSolution
from ...models.colocation import fair_program
from ...models.program import LinearProgram
from ..engines import solve_program
from ..outcome import LEAST_SECONDS, Clock, Stop
from .relaxation import Relaxation, relaxed

BOXES = ((3, 2), (4, 2), (3, 3), (4, 3), (5, 4), (5, 8))
"""Where a first pairing is looked for, around the relaxation's point: pairs of types for each type
that may grow, and how far in pairs of two types. Small boxes without a pairing are soon known to
have none.
"""

FIRST_SECONDS = 0.8
"""Time for each of them."""

BOTH_PER_TYPE, BOTH_SPREAD, BOTH_SECONDS = 3.5, 1.15, 1.0
"""The same numbers, and the time, for programs of all types that reach from the best pairing to a
point near the relaxation's.
"""

MORE, FEWER = 1.05, 1.08
"""By how much the first of these numbers grows with each that is solved in time, and shrinks with
each that is not: one that ends has found the best there is in it.
"""

SHIFT = 0.05
"""What a pair costs more on average where such a point is drawn, in mean costs of a pair."""

PARTS = 4
"""One program in so many is of a part of the types."""

PER_TYPE = 5
"""Pairs of types for each type that may grow: those of least price. More make a program slower than
they make its answer better.
"""

SPREAD = 1.5
"""That number is drawn anew for every part, up to so many times less or more."""

FEWEST, STEP = 8, 0.15
"""Types in the first parts; and by how much they grow with each that is solved in time."""

PART_SECONDS = 0.2
"""Time for one part; where it is not enough, the next are smaller."""

PATIENCE = 3.0
"""Seconds without a better pairing after which it ends; longer where the last one took longer."""


class LocalBranching:
    """The best pairing so far of no more slack than given, and the small programs near the
    relaxation that look for a better one.

    Parameters
    ----------
    instance : with bandwidth.
    begin : a feasible pairing. One of more slack counts for nothing, and stays the best until there
        is another.
    relaxation : of `fair_program` at this slack.
    """

    def __init__(
        self, instance: Colocation, begin: Pairing, relaxation: Relaxation, clock: Clock, *,
        slack: float, bound: float | None = None,
    ) -> None:  # fmt: skip
        self.instance, self.relaxation, self.clock = instance, relaxation, clock
        self.slack, self.bound = slack, bound
        self.made = fair_program(instance, slack)
        self.size = len(self.made.first) + len(self.made.alone)
        self.order = np.argsort(
            np.argsort(relaxation.price[: self.size], kind="stable"), kind="stable"
        )
        self.present = np.flatnonzero(instance.count > 0)
        self.best, self.value = begin, np.inf
        if within_slack(instance, begin, slack):
            self.value = mean_penalty(instance, begin)

    @property
    def found(self) -> bool:
        """Whether the best pairing has no more than the slack."""
        return bool(np.isfinite(self.value))

    def first(self, until: float) -> None:
        """Look for a pairing in boxes around the relaxation's point, the smallest first, until one
        is found that is better than what is known, or the clock says `until`.
        """
        point, before = self.relaxation.point[: self.size], self.value
        for per_type, reach in BOXES:
            if self.value < before or self.clock.expired or self.clock.seconds >= until:
                break
            low = np.ceil(np.maximum(point - reach, 0.0))
            self._solve(
                low,
                np.where(self._cheap(per_type), np.floor(point + reach), low),
                min(FIRST_SECONDS, until - self.clock.seconds),
                start=False,
            )

    def improve(self, until: float, rng: np.random.Generator) -> None:
        """Solve small programs around the best pairing until time is up, or none has been better
        for long.
        """
        types, last, number = float(FEWEST), self.clock.seconds, 0
        per_type = BOTH_PER_TYPE
        while not self.clock.expired and self.clock.seconds < min(
            until, last + max(PATIENCE, last)
        ):
            if self.bound is not None and self.value <= self.bound:
                break
            before, left, number = self.value, until - self.clock.seconds, number + 1
            if number % PARTS:  # all types, towards a point near the relaxation's
                cheap = self._cheap(per_type * BOTH_SPREAD ** rng.uniform(-1, 1))
                ends = self._between(self._moved(rng), cheap)
                stop = self._solve(*ends, min(BOTH_SECONDS, left))
                per_type *= MORE if stop is Stop.FINISHED else 1 / FEWER
            else:
                cheap = self._cheap(PER_TYPE * SPREAD ** rng.uniform(-1, 1))
                drawn = rng.choice(self.present, min(int(types), len(self.present)), replace=False)
                stop = self._solve(*self._part(drawn, cheap), min(PART_SECONDS, left))
                grown = types + (STEP if stop is Stop.FINISHED else -3 * STEP)
                types = min(max(float(FEWEST), grown), float(len(self.present)))
            last = self.clock.seconds if self.value < before else last

    def _cheap(self, per_type: float) -> Booleans:
        """The columns of least price, so many for each type."""
        return np.asarray(self.order < per_type * len(self.present))

    def _moved(self, rng: np.random.Generator) -> Floats:
        """An optimum of the relaxation with costs that are drawn somewhat higher."""
        program, point = self.made.program, self.relaxation.point[: self.size]
        cost = program.cost.copy()
        each = SHIFT * abs(float(cost[: self.size] @ point)) / max(float(point.sum()), 1.0)
        cost[: self.size] += each * rng.exponential(1.0, self.size)
        found = relaxed(replace(program, cost=cost), self.clock)
        return point if found is None else found.point[: self.size]

    def _between(self, point: Floats, cheap: Booleans) -> tuple[Floats, Floats]:
        """From the best pairing to a point, and one pair further."""
        now = self._now[: self.size]
        low = np.maximum(np.minimum(np.floor(point), now) - 1, 0.0)
        most = np.maximum(np.ceil(point), now)
        return low, np.where(cheap, most + 1, most)

    def _part(self, drawn: Integers, cheap: Booleans) -> tuple[Floats, Floats]:
        """Pairs among the types drawn may become one fewer, and the cheap ones one more."""
        ends = (self.made.first, self.made.second, self.made.alone)
        free = np.concatenate(
            [np.isin(ends[0], drawn) & np.isin(ends[1], drawn), np.isin(ends[2], drawn)]
        )
        now = self._now[: self.size]
        return np.where(free, now - 1, now), np.where(free & cheap, now + 1, now)

    @property
    def _now(self) -> Floats:
        return self.made.point(self.best)

    def _solve(self, low: Floats, high: Floats, seconds: float, start: bool = True) -> Stop:
        """The program with these ends of its first columns; keeps what is better."""
        answer = solve_program(
            _within(self.made.program, low, high), time_limit=max(LEAST_SECONDS, seconds),
            start=self._now if start else None, heuristics=False,
        )  # fmt: skip
        if answer.point is not None:
            found = self.made.pairing(answer.point)
            if _holds(self.instance, found, self.slack):
                cost = mean_penalty(self.instance, found)
                if cost < self.value:
                    self.best, self.value = found, cost
                    self.clock.note(cost, self.bound, "near the relaxation")
        if answer.stop is Stop.INTERRUPTED:
            raise KeyboardInterrupt
        return answer.stop


def search_near(
    instance: Colocation,
    begin: Pairing,
    relaxation: Relaxation,
    clock: Clock,
    seconds: float,
    rng: np.random.Generator,
    *,
    slack: float,
    bound: float | None = None,
    boxes: bool = True,
) -> tuple[Pairing, bool]:
    """Less mean penalty with no more than the slack given.

    Begins with the program in boxes around the relaxation's point. Then, again and again, a point
    is drawn near the relaxation's, and the program solved between it and the best pairing. Unlike
    parts of agents (`improve`), this moves agents between many types at once, which exact fairness
    asks for. One program in four is of some types that are drawn: their pairs with each other may
    become one more or fewer, those of small price at least.

    Parameters
    ----------
    instance : with bandwidth.
    begin : a feasible pairing with no more than `slack`.
    relaxation : of `fair_program` at this slack.
    seconds : time for it, besides the clock's.
    bound : what is proved of the mean penalty; the search ends there.
    boxes : whether to look around the relaxation's point first; `begin` is from there otherwise.

    Returns
    -------
    The pairing, and whether the search was interrupted.
    """
    near = LocalBranching(instance, begin, relaxation, clock, slack=slack, bound=bound)
    until = clock.seconds + seconds
    try:
        if boxes:
            near.first(until)
        near.improve(until, rng)
    except KeyboardInterrupt:
        return near.best, True
    return near.best, False


def _within(program: LinearProgram, low: Floats, high: Floats) -> LinearProgram:
    """The program with closer ends of its first columns."""
    lower, upper = program.lower.copy(), program.upper.copy()
    lower[: len(low)] = np.clip(low, lower[: len(low)], upper[: len(low)])
    upper[: len(low)] = np.clip(high, lower[: len(low)], upper[: len(low)])
    return replace(program, lower=lower, upper=upper)


def _holds(instance: Colocation, pairing: Pairing, slack: float) -> bool:
    """No solver is believed on its word."""
    try:
        check(instance, pairing)
    except InfeasibleSolution:
        return False
    return within_slack(instance, pairing, slack)
