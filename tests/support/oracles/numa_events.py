"""The event simulation once more, in plain Python and as literally as the rules are written: every
offer asks every task.

It is what the compiled one is held against, task by task, on the same draws.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable

import numpy as np

from cotenant.instances.numa.instance import Numa
from cotenant.solvers.numa.engine import Trajectory
from cotenant.solvers.numa.random_inputs import Draws

CHUNK = 1000
"""Arrivals between two looks at the clock."""


class _Waiting:
    """A task in the queue and the offers it has declined."""

    def __init__(self, task: int) -> None:
        self.task = task
        self.refused = 0


def simulate_plainly(
    instance: Numa,
    draws: Draws,
    *,
    nearest: bool = True,
    go_on: Callable[[int], bool] | None = None,
    chunk: int = CHUNK,
) -> Trajectory:
    """Simulate all tasks of `random_inputs` in plain Python, by the rules of
    `solvers.numa.engine.simulate`.

    Notes
    -----
    O(n x tasks waiting): for tests and small systems.
    """
    run = _Run(instance, draws, nearest)
    last, asked = draws.tasks, 0
    interrupted = False
    while run.following < last or run.busy:
        if go_on is not None and run.following >= asked + chunk:
            asked = run.following
            try:
                if not go_on(asked):
                    last = asked
            except KeyboardInterrupt:
                last, interrupted = asked, True
        if run.following < last and (not run.busy or draws.arrival[run.following] < run.busy[0][0]):
            run.arrive()
        else:
            run.free()
    return Trajectory(run.start, run.core, run.refusals, last, interrupted=interrupted)


class _Run:
    def __init__(self, instance: Numa, draws: Draws, nearest: bool) -> None:
        self.instance, self.draws, self.nearest = instance, draws, nearest
        tasks, per = draws.tasks, instance.cores
        self.start = np.full(tasks, -1.0)
        self.core = np.full(tasks, -1, dtype=np.int32)
        self.refusals = np.zeros(tasks, dtype=np.int32)
        self.following = 0
        self.busy: list[tuple[float, int]] = []
        self.idle = [list(range(p * per, (p + 1) * per)) for p in range(instance.processors)]
        lines = 1 if instance.queues == "one" else instance.processors
        self.queues: list[list[_Waiting]] = [[] for _ in range(lines)]

    def arrive(self) -> None:
        """Start the next arriving task on an idle core that it accepts, or add it to a queue."""
        i = self.following
        self.following += 1
        if not self.placed(i, float(self.draws.arrival[i])):
            self.queues[i % len(self.queues)].append(_Waiting(i))

    def placed(self, i: int, now: float) -> bool:
        """Start task i on an idle core whose distance it accepts, and tell whether there was one."""
        away = self.instance.distance[self.draws.location[i]]
        groups = [
            [p for p in range(len(away)) if away[p] == d]
            for d in range(int(self.draws.reach[i]) + 1)
        ]
        if not self.nearest:
            near = np.argsort(away, kind="stable")
            groups = [[int(p) for p in near if away[p] <= self.draws.reach[i]]]
        for group in groups:
            free = [p for p in group for _ in self.idle[p]]
            if free:
                p = free[int(self.draws.pick[i] * len(free))]
                self.begin(i, self.idle[p].pop(), now)
                return True
        return False

    def begin(self, i: int, core: int, now: float) -> None:
        """Start task i on a core at a given time."""
        instance, draws = self.instance, self.draws
        away = instance.distance[draws.location[i], core // instance.cores]
        self.start[i], self.core[i] = now, core
        heapq.heappush(
            self.busy, (now + draws.service[i] * instance.slowdown[draws.kind[i], away], core)
        )

    def free(self) -> None:
        """Complete the next task and offer its core to waiting tasks."""
        now, core = heapq.heappop(self.busy)
        p = core // self.instance.cores
        taker = (
            self.offered_to_all(p) if self.instance.queues == "one" else self.offered_to_heads(p)
        )
        if taker is None:
            self.idle[p].append(core)
            return
        self.refusals[taker.task] = taker.refused
        self.begin(taker.task, core, now)
        self.next_heads(now)

    def willing(self, waiting: _Waiting, p: int) -> bool:
        """Whether a waiting task accepts a core of processor p."""
        away = self.instance.distance[self.draws.location[waiting.task], p]
        return bool(
            waiting.refused >= self.instance.refusal_limit or away <= self.draws.reach[waiting.task]
        )

    def offered_to_all(self, p: int) -> _Waiting | None:
        """Offer a processor to waiting tasks, oldest first; return the one that accepts it, or
        None.
        """
        queue = self.queues[0]
        for index, waiting in enumerate(queue):
            if self.willing(waiting, p):
                return queue.pop(index)
            waiting.refused += 1
        return None

    def offered_to_heads(self, p: int) -> _Waiting | None:
        """Offer a processor to the first task of each queue; the oldest task that accepts
        gets it.
        """
        heads = sorted((queue[0].task, line) for line, queue in enumerate(self.queues) if queue)
        taker = None
        for _, line in heads:
            waiting = self.queues[line][0]
            if not self.willing(waiting, p):
                waiting.refused += 1
            elif taker is None:
                taker = line
        return None if taker is None else self.queues[taker].pop(0)

    def next_heads(self, now: float) -> None:
        """Start every task that has become head of a queue on an idle core that it accepts."""
        if self.instance.queues == "one":
            return
        for queue in self.queues:
            while queue and queue[0].refused == 0 and self.placed(queue[0].task, now):
                queue.pop(0)
