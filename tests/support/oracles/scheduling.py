"""Schedules by the clock, moment by moment, as an oracle for the compiled event loop.

Written from the words of the documentation: no events, no polynomials, no heaps. Every unit of work
is put down with the moment in which it is done, and every utility and Shapley value is summed from
these afresh.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np

from cotenant.instances.scheduling import Scheduling

NEXT = ("REF-next", "RAND-next")


@dataclass
class Running:
    job: int
    owner: int
    left: int
    rate: int
    machines: list[int]


@dataclass
class Pool:
    """Simulated schedule of a coalition: its machines, queues, and units of work done so far."""

    members: tuple[int, ...]
    machines: list[int]
    rule: str
    queues: dict[int, list[int]]
    running: list[Running] = field(default_factory=list)
    units: list[tuple[int, int, int, int]] = field(default_factory=list)
    starts: dict[int, tuple[int, list[int]]] = field(default_factory=dict)
    turn: int = 0

    def free(self) -> list[int]:
        busy = {machine for run in self.running for machine in run.machines}
        return [machine for machine in self.machines if machine not in busy]

    def psi(self, t: int, who: int | None = None, lent: bool = False) -> int:
        """Utility at time t of an organization (of all if None), of its jobs or, if `lent`, on its
        machines.
        """
        return sum(
            (t - moment) * amount
            for moment, owner, lender, amount in self.units
            if moment < t and who in (None, lender if lent else owner)
        )


class Clockwork:
    """Simulation of all pools of a rule."""

    def __init__(self, given: Scheduling, rule: str, draws: Any = (), orders: Any = ()) -> None:
        self.given, self.rule, self.draws = given, rule, draws
        self.orders = [tuple(int(u) for u in order) for order in orders]
        everyone = tuple(range(given.organizations))
        self.pools: dict[frozenset[int], Pool] = {}
        if rule.startswith("REF"):
            sets = {frozenset(order[:size]) for order in permutations(everyone)
                    for size in range(1, len(everyone))}  # fmt: skip
        else:
            sets = {frozenset(order[:size]) for order in self.orders
                    for size in range(1, len(everyone) + 1)}  # fmt: skip
        for inside in sorted(sets, key=lambda inside: (len(inside), sorted(inside))):
            self.pools[inside] = self._pool(inside, rule if rule.startswith("REF") else "FIFO")
        self.whole = self._pool(frozenset(everyone), rule)
        if rule.startswith("REF"):
            self.pools[frozenset(everyone)] = self.whole
        for t in range(given.horizon):
            for pool in self.pools.values():
                self._moment(pool, t)
            if self.whole not in self.pools.values():
                self._moment(self.whole, t)

    def _pool(self, inside: frozenset[int], rule: str) -> Pool:
        members = tuple(sorted(inside))
        owner = np.repeat(range(self.given.organizations), self.given.machines).tolist()
        machines = [index for index, u in enumerate(owner) if u in inside]
        return Pool(members, machines, rule, {u: [] for u in members})

    def _moment(self, pool: Pool, t: int) -> None:
        given = self.given
        came = sum(not run.left for run in pool.running)
        pool.running = [run for run in pool.running if run.left]
        for job in range(given.jobs):
            u = int(given.organization[job])
            if (
                given.release[job] == t
                and u in pool.members
                and self._need(job) <= len(pool.machines)
            ):
                pool.queues[u].append(job)
                came += 1
        while came and (u := self._next(pool, t)) is not None:
            if self._need(pool.queues[u][0]) > len(pool.free()):
                break
            self._start(pool, u, t)
        for run in pool.running:
            amount = min(run.left, run.rate)
            run.left -= amount
            for machine in run.machines:
                lender = int(given.owner[machine])
                pool.units.append((t, run.owner, lender, amount // len(run.machines)))

    def _need(self, job: int) -> int:
        return 1 if self.given.processors is None else int(self.given.processors[job])

    def _pace(self, machine: int) -> int:
        return 1 if self.given.speed is None else int(self.given.speed[machine])

    def _start(self, pool: Pool, u: int, t: int) -> None:
        job, free = pool.queues[u].pop(0), pool.free()
        fastest = max(map(self._pace, free))
        free = [machine for machine in free if self._pace(machine) == fastest]
        if pool.rule == "DIRECTCONTR":
            first = int(self.draws[2 * len(pool.starts) + 1] * len(free))
            free = free[first:] + free[:first]
        machines = free[: self._need(job)]
        rate = fastest * len(machines)
        left = int(self.given.processing[job]) * len(machines)
        pool.running.append(Running(job, u, left, rate, machines))
        pool.starts[job] = (t, machines)
        pool.turn = u + 1

    def _next(self, pool: Pool, t: int) -> int | None:
        """Organization that is served next or that the rule waits for."""
        free = len(pool.free())
        waiting = [u for u in pool.members if pool.queues[u]]
        if self.given.backfilling:
            waiting = [u for u in waiting if self._need(pool.queues[u][0]) <= free]
        if not waiting or not free:
            return None
        if pool.rule == "random":
            return waiting[int(self.draws[2 * len(pool.starts)] * len(waiting))]
        keys = {u: self._key(pool, u, t) for u in waiting} if len(waiting) > 1 else {}
        return min(waiting, key=lambda u: (keys.get(u, 0), u))

    def _key(self, pool: Pool, u: int, t: int) -> Any:
        given, share = self.given, int(self.given.machines[u])
        if pool.rule == "FIFO":
            return int(given.release[pool.queues[u][0]])
        if pool.rule == "ROUNDROBIN":
            return (u - pool.turn) % given.organizations
        if pool.rule == "DIRECTCONTR":
            return pool.psi(t, u) - pool.psi(t, u, lent=True)
        if pool.rule.endswith("FAIRSHARE"):
            if pool.rule == "UTFAIRSHARE":
                used = pool.psi(t, u)
            elif pool.rule == "FAIRSHARE":
                used = sum(amount for *_, owner, _, amount in pool.units if owner == u)
            else:
                used = sum(min(run.left, run.rate) for run in pool.running if run.owner == u)
            return (share == 0, Fraction(used, share or 1))
        when = t + (pool.rule in NEXT)
        return self._soon(pool, when, t, u) - self._phi(pool, when, t, u)

    def _soon(self, pool: Pool, when: int, t: int, who: int | None = None) -> int:
        """Utility of an organization at t, or at t + 1 with the jobs that run now."""
        now = sum(min(run.left, run.rate) for run in pool.running if who in (None, run.owner))
        return pool.psi(when, who) + (when - t) * now

    def _worth(self, inside: frozenset[int], pool: Pool, when: int, t: int) -> int:
        if inside == frozenset(pool.members) and self.rule.startswith("REF"):
            return self._soon(pool, when, t)
        return self.pools[inside].psi(when) if inside else 0

    def _phi(self, pool: Pool, when: int, t: int, u: int) -> Fraction:
        """Mean contribution of an organization over the orders of joining (its Shapley value)."""
        orders = self.orders or list(permutations(pool.members))
        total = 0
        for order in orders:
            before = frozenset(order[: order.index(u)])
            total += self._worth(before | {u}, pool, when, t) - self._worth(before, pool, when, t)
        return Fraction(total, len(orders))
