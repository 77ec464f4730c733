"""Sharing accelerators job by job, in fractions: a variable for each job, pair of jobs and kind of
device, and the simplex method of `rational_program`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations

from cotenant.instances.accelerators import Accelerators
from support.oracles.rational_program import least

Placement = tuple[int, dict[int, Fraction]]
"""The kind of device, and the throughput of each job on it."""


def written(value: float) -> Fraction:
    """The decimal that a float prints as."""
    return Fraction(repr(float(value)))


class Jobs:
    """An instance of few jobs, one by one."""

    def __init__(self, instance: Accelerators) -> None:
        self.given = instance
        self.type = [t for t, n in enumerate(instance.count.tolist()) for _ in range(n)]
        self.number = len(self.type)
        self.placements: list[Placement] = []
        for kind, devices in enumerate(instance.devices.tolist()):
            for job, t in enumerate(self.type):
                rate = written(instance.throughput[t, kind])
                if rate and instance.workers[t] <= devices:
                    self.placements.append((kind, {job: rate}))
            for one, two in combinations(range(self.number), 2):
                if (rates := self._pair(one, two, kind)) is not None:
                    self.placements.append((kind, rates))

    def _pair(self, one: int, two: int, kind: int) -> dict[int, Fraction] | None:
        a, b, given = self.type[one], self.type[two], self.given
        if given.together is None or given.workers[a] != given.workers[b]:
            return None
        rates = given.together[a, b, kind], given.together[b, a, kind]
        if given.workers[a] > given.devices[kind] or float("inf") in rates:
            return None
        return {one: written(rates[0]), two: written(rates[1])}

    def proportional(self, job: int) -> Fraction:
        """Throughput in time divided over the kinds as devices are."""
        t, given = self.type[job], self.given
        total = Fraction(0)
        for kind, devices in enumerate(given.devices.tolist()):
            if given.workers[t] <= devices:
                total += written(given.throughput[t, kind]) * devices
        return total / int(given.devices.sum())

    def isolated(self, job: int) -> Fraction:
        """Throughput in 1/n of the cluster."""
        workers = int(self.given.workers[self.type[job]])
        part = Fraction(int(self.given.devices.sum()), self.number * workers)
        return min(part, Fraction(1)) * self.proportional(job)

    def due(self, job: int) -> Fraction:
        """Throughput that is a normalized throughput of 1."""
        t = self.type[job]
        weight = written(self.given.weight[t])
        return self.proportional(job) * weight / int(self.given.workers[t])

    def solve(
        self,
        cost: Callable[[int, dict[int, Fraction]], Fraction],
        floors: Sequence[Fraction],
        raised: Sequence[Fraction],
        top: int = 0,
    ) -> tuple[Fraction, list[Fraction]] | None:
        """The least sum of `cost` (of a placement) less `top` theta such that each job has at least
        its floor plus theta times what is `raised`, and the throughputs; None if it has none.
        """
        given, width = self.given, len(self.placements)
        rows, right = list[list[Fraction]](), list[Fraction]()
        kinds = len(given.devices)
        slack = kinds + 2 * self.number
        every = width + 1 + slack

        def row(entries: dict[int, Fraction], spare: int, sign: int, value: Fraction) -> None:
            line = [Fraction(0)] * every
            for column, entry in entries.items():
                line[column] = entry
            line[width + 1 + spare] = Fraction(sign)
            rows.append(line)
            right.append(value)

        for kind in range(kinds):
            used = {
                c: Fraction(int(given.workers[self.type[next(iter(rates))]]))
                for c, (at, rates) in enumerate(self.placements)
                if at == kind
            }
            row(used, kind, 1, Fraction(int(given.devices[kind])))
        for job in range(self.number):
            there = {c: Fraction(1) for c, (_, rates) in enumerate(self.placements) if job in rates}
            row(there, kinds + job, 1, Fraction(1))
            progress = {c: self.placements[c][1][job] for c in there}
            progress[width] = -raised[job]
            row(progress, kinds + self.number + job, -1, floors[job])
        costs = [cost(*placement) for placement in self.placements]
        found = least([*costs, Fraction(-top), *[Fraction(0)] * slack], rows, right)
        if found is None:
            return None
        value, point = found
        throughput = [Fraction(0)] * self.number
        for share, (_, rates) in zip(point, self.placements, strict=False):
            for job, rate in rates.items():
                throughput[job] += share * rate
        return value, throughput

    def most_ratio(self, unit: Sequence[Fraction]) -> Fraction:
        """The most theta such that each job has theta times its unit."""
        found = self.solve(lambda *_: Fraction(0), [Fraction(0)] * self.number, unit, 1)
        assert found is not None
        return -found[0]

    def max_min(self) -> Fraction:
        """The most that the worst normalized throughput can be."""
        return self.most_ratio([self.due(job) for job in range(self.number)])
