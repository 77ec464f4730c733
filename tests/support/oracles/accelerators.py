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
    """Sharing of devices among the jobs of an instance, as linear programs in fractions."""

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
        """Throughput of a job whose time is divided over device kinds in proportion to their
        numbers.
        """
        t, given = self.type[job], self.given
        total = Fraction(0)
        for kind, devices in enumerate(given.devices.tolist()):
            if given.workers[t] <= devices:
                total += written(given.throughput[t, kind]) * devices
        return total / int(given.devices.sum())

    def isolated(self, job: int) -> Fraction:
        """Throughput of a job in 1/n of the cluster, n being the number of jobs."""
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
        """Minimum sum of `cost` over placements minus `top` times theta such that each job has at
        least its floor plus theta times `raised`, with the throughputs; None if infeasible.
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
        """Maximum theta such that the throughput of every job is at least theta times its unit."""
        found = self.solve(lambda *_: Fraction(0), [Fraction(0)] * self.number, unit, 1)
        assert found is not None
        return -found[0]

    def max_min(self) -> Fraction:
        """Maximum of the least normalized throughput."""
        return self.most_ratio([self.due(job) for job in range(self.number)])

    def hierarchical(self) -> Fraction:
        """Maximum of the least throughput relative to the share of each job in its entity's weight."""
        return self.most_ratio([self.due_by_entity(job) for job in range(self.number)])

    def due_by_entity(self, job: int) -> Fraction:
        """Throughput that a job is due by its part of its entity's weight."""
        given, t = self.given, self.type[job]
        assert given.entity is not None
        assert given.entity_weight is not None
        mates = [u for u in self.type if given.entity[u] == given.entity[t]]
        total = sum((written(given.weight[u]) for u in mates), Fraction(0))
        return self.due(job) * written(given.entity_weight[given.entity[t]]) / total

    def makespan(self) -> Fraction:
        """Least makespan of all jobs."""
        assert self.given.steps is not None
        return 1 / self.most_ratio([written(self.given.steps[t]) for t in self.type])

    def within(self, ratio: Fraction) -> bool:
        """Whether a division gives all jobs a finish-time ratio of at most `ratio`."""
        given = self.given
        assert given.steps is not None
        asked = []
        for job, t in enumerate(self.type):
            steps, elapsed = written(given.steps[t]), written(given.elapsed[t])
            left = ratio * (elapsed + steps / self.isolated(job)) - elapsed
            if left <= 0:
                return False
            asked.append(steps / left)
        return self.most_ratio(asked) >= 1

    def most_total(self, least: Fraction) -> Fraction | None:
        """Maximum mean normalized throughput if every job has at least `least`; None if infeasible."""
        floors = [least * self.due(job) for job in range(self.number)]
        each = [
            Fraction(int(self.given.workers[t])) / (self.proportional(job) * self.number)
            for job, t in enumerate(self.type)
        ]

        def loss(kind: int, rates: dict[int, Fraction]) -> Fraction:
            return -sum((each[job] * rate for job, rate in rates.items()), Fraction(0))

        found = self.solve(loss, floors, [Fraction(0)] * self.number)
        return None if found is None else -found[0]

    def least_cost(self, least: Fraction) -> Fraction | None:
        """Minimum cost at which every job has `least` times its throughput in 1/n of the
        cluster.
        """
        floors = [least * self.isolated(job) for job in range(self.number)]

        def cost(kind: int, rates: dict[int, Fraction]) -> Fraction:
            workers = int(self.given.workers[self.type[next(iter(rates))]])
            return written(self.given.device_cost[kind]) * workers

        found = self.solve(cost, floors, [Fraction(0)] * self.number)
        return None if found is None else found[0]

    def leximin(self) -> list[Fraction]:
        """Normalized throughputs of the leximin answer by job: the minimum is raised until some job
        is at its maximum, which is then fixed, and so on.
        """
        due, jobs = [self.due(job) for job in range(self.number)], range(self.number)
        done: dict[int, Fraction] = {}
        while len(done) < self.number:
            floors = [done.get(job, Fraction(0)) * due[job] for job in jobs]
            raised = [Fraction(0) if job in done else due[job] for job in jobs]
            found = self.solve(lambda *_: Fraction(0), floors, raised, 1)
            assert found is not None
            value = -found[0]
            floors = [done.get(job, value) * due[job] for job in jobs]
            for job in [job for job in jobs if job not in done]:
                single = [due[job] if other == job else Fraction(0) for other in jobs]
                found = self.solve(lambda *_: Fraction(0), floors, single, 1)
                assert found is not None
                if found[0] == 0:
                    done[job] = value
        return [done[job] for job in jobs]
