"""Prices of machine time that bound the value of any schedule: cutting planes on the dual of the
time-indexed program, with prices that change at few times.

The theorem stands above `Scheduling.priced` in the verifier.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...instances.problem.proof import multipliers
from ...instances.scheduling import Scheduling
from ...models.program import Floats, Integers, ProgramBuilder
from ..engines import WarmStartedProgram
from ..outcome import Clock
from .rounding import on_grid

MOST_TIMES = 400
SECONDS = 8.0
NEAR = 1e-9
GRIDS = (1, 2, 6, 60, 10**9)


def machine_time_steps(
    given: Scheduling, start: Integers, clock: Clock, *, utility: bool
) -> list[dict[str, Any]]:
    """Proof steps with prices of machine time, coarse ones first; none without jobs or time."""
    problem = _Dual(given, start, utility)
    limit = clock.time_slice(most=SECONDS)
    prices = problem.solved(Clock(limit)) if len(problem.release) else None
    if prices is None:
        return []
    return [
        {
            "kind": "dual",
            "times": problem.times.tolist(),
            "prices": multipliers(on_grid(prices, over), over),
        }
        for over in GRIDS
    ]


class _Dual:
    """Dual linear program of a schedule's value: machine time at nonnegative prices, and each job's
    gain beyond the price of its machine time.
    """

    def __init__(self, given: Scheduling, start: Integers, utility: bool) -> None:
        self.horizon, self.machines, self.utility = given.horizon, given.total_machines, utility
        early = given.release < given.horizon
        self.release, self.length = given.release[early], given.processing[early]
        begin = start[early]
        ran = begin >= 0
        marks = np.concatenate([[0], self.release, begin[ran], (begin + self.length)[ran]])
        times = np.unique(marks[marks < self.horizon])
        if len(times) > MOST_TIMES:
            times = times[np.linspace(0, len(times) - 1, MOST_TIMES).round().astype(np.int64)]
        self.times = times
        self.ends = np.append(times[1:], self.horizon)
        knots = np.append(times, self.horizon)
        jobs = len(self.release)
        late = self.horizon - self.length
        candidates = [
            np.broadcast_to(knots, (jobs, len(knots))),
            knots - self.length[:, None],
            late[:, None],
            self.release[:, None],
        ]
        self.starts = np.clip(
            np.concatenate(candidates, axis=1), self.release[:, None], self.horizon - 1
        )
        self.worth = self._worth(self.starts, self.length[:, None])
        self.unit = float(self.worth.max(initial=1.0))

    def _worth(self, start: Integers, length: Integers) -> Floats:
        left = (self.horizon - start).astype(float)
        done = np.minimum(length, left)
        worth: Floats = done * (2 * left - done + 1) / 2 if self.utility else done
        return worth

    def solved(self, clock: Clock) -> Floats | None:
        """Best prices (times,) of machine time found until the time is up, in units of worth."""
        width, jobs = (self.ends - self.times).astype(float), len(self.release)
        rows = ProgramBuilder()
        rows.columns(len(width), cost=self.machines * width)
        gain = rows.columns(jobs, cost=1.0)
        rows.row(gain[:1], np.ones(1), lower=0.0)
        program = WarmStartedProgram(rows.build())
        prices, gains = np.zeros(len(width)), np.zeros(jobs)
        best, least = prices, np.inf
        while True:
            cost = self._until(prices, self.starts + self.length[:, None])
            net = self.worth / self.unit - cost + self._until(prices, self.starts)
            top = net.argmax(axis=1)
            net_gains = np.maximum(net[np.arange(jobs), top], 0.0)
            bound = float(self.machines * width @ prices + net_gains.sum())
            if bound < least:
                best, least = prices, bound
            lower = float(self.machines * width @ prices + gains.sum())
            broken = np.flatnonzero(net_gains > gains + NEAR)
            if not len(broken) or least - lower < NEAR * least or clock.expired:
                return best * self.unit
            program.add_rows(*self._cuts(broken, self.starts[broken, top[broken]]))
            answer = program.solve(clock.left)
            if answer.point is None:
                return best * self.unit
            prices = np.maximum(answer.point[: len(width)], 0.0)
            gains = answer.point[len(width) : len(width) + jobs]

    def _until(self, prices: Floats, time: Integers) -> Floats:
        """Price of a machine from time 0 to each given time."""
        paid = np.concatenate([[0.0], np.cumsum(prices * (self.ends - self.times))])
        time = np.minimum(time, self.horizon)
        at = np.searchsorted(self.times, time, side="right") - 1
        result: Floats = paid[at] + prices[at] * (time - self.times[at])
        return result

    def _cuts(self, jobs: Integers, start: Integers) -> tuple[Floats, list[int], list[int], Floats]:
        """Cuts, row by row, that bound the gains of jobs that start at given times from below."""
        first: list[int] = []
        columns: list[int] = []
        values: list[float] = []
        end = np.minimum(start + self.length[jobs], self.horizon)
        for job, begin, stop in zip(jobs.tolist(), start.tolist(), end.tolist(), strict=True):
            first.append(len(columns))
            busy = np.minimum(self.ends, stop) - np.maximum(self.times, begin)
            used = np.flatnonzero(busy > 0)
            columns += [*used.tolist(), len(self.times) + job]
            values += [*busy[used].astype(float).tolist(), 1.0]
        lower = self._worth(start, self.length[jobs]) / self.unit
        return lower, first, columns, np.array(values)
