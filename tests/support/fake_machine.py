"""A machine on paper: jobs of known length and penalties, noise, a clock, and no processes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from cotenant.cluster.measure.jobs import Job
from cotenant.cluster.measure.measurement import JobRuns, Measurement, MeasurementRequest, Run


class SimulatedMachine:
    """Runs jobs named "0", "1", ...; see `cotenant.cluster.measure.measurement.Machine`.

    Parameters
    ----------
    penalty : (T, T) true losses.
    work : (T,) seconds of each job alone.
    noise : standard deviation of the logarithm of one run.
    gap : seconds that a restart leaves the other alone.
    drift : by which every job slows down, a share an hour.
    pressure, error : of a visit, by its number and members.
    """

    def __init__(
        self,
        penalty: np.ndarray,
        work: Sequence[float],
        *,
        noise: float = 0.0,
        gap: float = 0.0,
        drift: float = 0.0,
        seed: int = 0,
        pressure: Callable[[int], float] = lambda number: 0.0,
        error: Callable[[int, list[int | None]], str] = lambda number, members: "",
    ) -> None:
        self.penalty, self.work = np.asarray(penalty), list(work)
        self.noise, self.gap, self.drift = noise, gap, drift
        self.rng = np.random.default_rng(seed)
        self.clock, self.visits = 1e9, 0
        self.asked: list[list[int | None]] = []
        self._pressure, self._error = pressure, error

    def now(self) -> float:
        return self.clock

    def visit(self, order: MeasurementRequest) -> Measurement:
        places = [None if job is None else int(job.name) for job in order.members]
        self.asked.append(places)
        self.visits += 1
        begin = self.clock
        if why := self._error(self.visits, places):
            self.clock += 1.0
            return Measurement((JobRuns(error=why), *(JobRuns() for _ in places[1:])), begin, 1.0)
        slow = 1 + self.drift * (self.clock - 1e9) / 3600
        alone = [0.0 if p is None else self.work[p] * slow for p in places]
        loss = [
            self.penalty[p, places[1 - at]]
            if len(places) == 2 and p is not None and places[1 - at] is not None
            else 0.0
            for at, p in enumerate(places)
        ]
        spent = [seconds / (1 - lost) for seconds, lost in zip(alone, loss, strict=True)]
        longest = max(spent)
        made = []
        for at, place in enumerate(places):
            if place is None:
                made.append(JobRuns())
                continue
            covered, seconds, runs = float(len(places) == 2), spent[at], 1
            if len(places) == 2 and places[1 - at] is not None and spent[1 - at] < seconds:
                covered = spent[1 - at] / (spent[1 - at] + self.gap)
                seconds = alone[at] / (1 - loss[at] * covered)
            elif len(places) == 2:
                runs = max(1, int(longest / (seconds + self.gap)))
            noisy = seconds * np.exp(self.rng.normal(0, self.noise, runs))
            made.append(JobRuns(tuple(Run(begin, float(t), float(t), covered) for t in noisy)))
        self.clock += longest
        return Measurement(tuple(made), begin, longest, self._pressure(self.visits))


def simulated_jobs(count: int, agents: int = 2) -> list[Job]:
    """Jobs for the simulated machine, with `agents` agents each."""
    return [Job(str(index), ("true",), count=agents) for index in range(count)]
