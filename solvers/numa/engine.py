"""Simulation of refusal scheduling as a function of random draws: rules, chunks, thresholds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ...instances.numa.instance import Floats, Integers, Numa
from .random_inputs import Draws

CHUNK = 100_000
"""Arrivals that take about 0.05 s."""

NO_LIMIT = 2**62


@dataclass(frozen=True, eq=False)
class Trajectory:
    """History of a simulation of n tasks: start, core and refusals of each, and how the run ended.

    Attributes
    ----------
    start : (n,) when each began [s]; -1 if it has not.
    core : (n,) where; -1 if it has not begun.
    refusals : (n,) offers it declined.
    arrived : how many of the n have arrived.
    reached : whether a threshold on the queue stopped the run.
    interrupted : whether Ctrl-C did.
    """

    start: Floats
    core: npt.NDArray[np.int32]
    refusals: npt.NDArray[np.int32]
    arrived: int
    reached: bool = False
    interrupted: bool = False

    def distance(self, instance: Numa, draws: Draws) -> Integers:
        """Distance from each task's data to its core, shape (n,); -1 if it has not started."""
        away = instance.distance[draws.location, self.core // instance.cores]
        return np.where(self.core >= 0, away, -1)

    def finish(self, instance: Numa, draws: Draws) -> Floats:
        """Completion time of each task [s], shape (n,); infinite if it has not started."""
        away = self.distance(instance, draws)
        return np.where(
            away >= 0, self.start + draws.service * instance.slowdown[draws.kind, away], np.inf
        )


def simulate(
    instance: Numa,
    draws: Draws,
    *,
    nearest: bool = True,
    stop_above: int | None = None,
    stop_below: int | None = None,
    watch_from: int = 0,
    go_on: Callable[[int], bool] | None = None,
    chunk: int = CHUNK,
) -> Trajectory:
    """Run tasks through a server under refusal scheduling (thesis section 4.3.2).

    An arriving task takes the nearest idle core that it accepts (any of the nearest alike;
    `nearest=False`: any that it accepts alike) and counts no refusal if there is none. A core that
    frees is offered to the waiting tasks, oldest first; each that declines counts one refusal; a
    task whose count has reached the limit accepts any core. Nobody else is asked once one has taken
    it; a core nobody takes stays idle. Events at one time: cores that free before arrivals, lower
    cores before higher.

    Parameters
    ----------
    draws : the tasks, and how far each accepts to be from its data.
    nearest : see above.
    stop_above, stop_below, watch_from : stop once so many tasks wait, or fewer, looked at from
        arrival `watch_from` on.
    go_on : called with the arrivals so far about every 0.05 s; False stops the run there, and so
        does Ctrl-C (without `go_on` that is the caller's business).
    chunk : arrivals between two looks at the clock and at Ctrl-C.

    Returns
    -------
    Trajectory
        Of all tasks; those that had arrived when it stopped have run to their start, unless a
        threshold stopped it.

    Notes
    -----
    O(log cores + log n) a task, however long the queue.
    """
    from .kernels import NEXT, REACHED, Rules, one_queue, processor_queues

    server, state = _server(instance, draws), _fresh(instance, draws.tasks)
    run = one_queue if instance.queues == "one" else processor_queues
    limit = (
        NO_LIMIT if instance.refusal_limit == np.inf else int(min(instance.refusal_limit, NO_LIMIT))
    )
    above = NO_LIMIT if stop_above is None else stop_above
    below = 0 if stop_below is None else stop_below
    track = bool((draws.reach < instance.blade_distance).any())
    interrupted = False
    try:
        while state.whole[NEXT] < draws.tasks and not state.whole[REACHED]:
            until = min(int(state.whole[NEXT]) + chunk, draws.tasks)
            run(
                draws,
                server,
                Rules(limit, nearest, until, False, above, below, watch_from, track),
                state,
            )
            if go_on is not None and not go_on(until):
                break
    except KeyboardInterrupt:  # a kernel is never cut in two: Ctrl-C comes before or after it
        if go_on is None:
            raise
        interrupted = True
    reached = bool(state.whole[REACHED])
    arrived = int(state.whole[NEXT])
    if not reached:
        run(draws, server, Rules(limit, nearest, arrived, True, NO_LIMIT, 0, 0, track), state)
    return Trajectory(state.start, state.core, state.refusals, arrived, reached, interrupted)


def _server(instance: Numa, draws: Draws) -> Any:
    from .kernels import Server

    ranks = instance.blade_distance + 1
    near = np.argsort(instance.distance, axis=1, kind="stable").astype(np.int64)
    edge = np.stack(
        [np.searchsorted(np.sort(row), np.arange(ranks + 1)) for row in instance.distance]
    )
    used = np.unique(draws.reach)
    lists = [
        np.concatenate([np.flatnonzero(instance.distance[:, p] <= r) * ranks + r for r in used])
        for p in range(instance.processors)
    ]
    asked = np.full((instance.processors, max(map(len, lists)) + 1), -1, dtype=np.int64)
    for p, entries in enumerate(lists):
        asked[p, : len(entries)] = entries
    return Server(np.ascontiguousarray(instance.slowdown), instance.distance, near, edge, asked)


def _fresh(instance: Numa, tasks: int) -> Any:
    from .kernels import State

    processors, per = instance.processors, instance.cores
    lists = processors * (instance.blade_distance + 1)
    return State(
        whole=np.zeros(6, dtype=np.int64),
        heap_time=np.zeros(instance.all_cores + 1),
        heap_core=np.zeros(instance.all_cores + 1, dtype=np.int64),
        idle=np.full(processors, per, dtype=np.int64),
        stack=np.arange(processors * per, dtype=np.int64).reshape(processors, per),
        head=np.full(lists, -1, dtype=np.int64),
        tail=np.full(lists, -1, dtype=np.int64),
        behind=np.full(tasks, -1, dtype=np.int32),
        base=np.zeros(tasks, dtype=np.int64),
        tree=np.zeros(tasks + 1, dtype=np.int32),
        start=np.full(tasks, -1.0),
        core=np.full(tasks, -1, dtype=np.int32),
        refusals=np.zeros(tasks, dtype=np.int32),
    )
