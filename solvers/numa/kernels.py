"""Compiled event simulation of refusal scheduling.

Two events exist: a task arrives, a core frees. The queue is kept as one list of waiting tasks for
each (memory, reach), oldest first, so that the oldest task willing to run on a processor is found
among the heads of a few lists, not by asking everyone. Refusals need no counter either. A task
older than another has declined every offer the other declined, so counts do not increase along the
queue and only the oldest can be at its limit; of the cores that freed since task i arrived, each
either passed i, or was taken by one of the tasks then ahead of it, so with F the cores freed so far

    refusals(i) = F - F(at its arrival) - ahead(at its arrival) + older tasks waiting now,

where the last term, 0 for the oldest, comes from a Fenwick tree over the waiting tasks.

`whole` holds the state between calls: next arrival, busy cores, waiting tasks, cores freed, a lower
bound on the oldest waiting task, and whether a threshold was reached. A simulation can so be
stopped and gone on with.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from numpy.typing import NDArray

from ..compiled import compiled
from ..heap_kernels import drop_first, push, replace_first

Ints = NDArray[Any]
Reals = NDArray[Any]

NEXT, BUSY, WAITING, FREED, OLDEST, REACHED = 0, 1, 2, 3, 4, 5
"""Places in `State.whole`."""


class Server(NamedTuple):
    """Processors and cores on which tasks run.

    slowdown (K, D); distance (L, P); near (L, P) processors by distance from a memory, edge (L, D +
    1) where those at each distance begin; asked (P, .) the lists (memory x D + reach) whose tasks
    accept a processor, -1 after the last.
    """

    slowdown: Reals
    distance: Ints
    near: Ints
    edge: Ints
    asked: Ints


class Rules(NamedTuple):
    """Rules of a NUMA simulation, and when it ends: at the arrival of task `until` (with `drain`,
    once the queue is empty too). From arrival `watch_from` on it also ends when `stop_above` or
    more tasks wait, or fewer than `stop_below`.
    """

    limit: int
    nearest: bool
    until: int
    drain: bool
    stop_above: int
    stop_below: int
    watch_from: int
    track: bool


class State(NamedTuple):
    """State of the simulation, and the history of each task (start -1 while it waits)."""

    whole: Ints
    heap_time: Reals
    heap_core: Ints
    idle: Ints
    stack: Ints
    head: Ints
    tail: Ints
    behind: Ints
    base: Ints
    tree: Ints
    start: Reals
    core: Ints
    refusals: Ints


@compiled
def count_older(tree: Ints, task: int) -> int:
    """Number of waiting tasks older than `task`."""
    total = 0
    at = task
    while at > 0:
        total += tree[at]
        at -= at & -at
    return total


@compiled
def mark(tree: Ints, task: int, change: int) -> None:
    """Add a waiting task to the Fenwick tree, or remove it."""
    at = task + 1
    while at < len(tree):
        tree[at] += change
        at += at & -at


@compiled
def idle_processor(
    idle: Ints, near: Ints, edge: Ints, reach: int, nearest: bool, pick: float
) -> int:
    """Processor whose idle core an arriving task takes; -1 if none is within reach.

    `near` lists the processors by distance from the task's memory; `edge[d]` is where those at
    distance d begin.
    """
    first = 0
    last = edge[reach + 1]
    if nearest:
        for d in range(reach + 1):
            free = 0
            for at in range(edge[d], edge[d + 1]):
                free += idle[near[at]]
            if free > 0:
                first, last = edge[d], edge[d + 1]
                break
        else:
            return -1
    free = 0
    for at in range(first, last):
        free += idle[near[at]]
    if free == 0:
        return -1
    left = int(pick * free)
    for at in range(first, last):
        left -= idle[near[at]]
        if left < 0:
            return int(near[at])
    return int(near[last - 1])


@compiled
def idle_for(tasks: Any, server: Any, rules: Any, state: Any, i: int) -> int:
    """Processor whose idle core task i takes; -1 if it accepts none."""
    place = tasks.location[i]
    near, edge = server.near[place], server.edge[place]
    return int(idle_processor(state.idle, near, edge, tasks.reach[i], rules.nearest, tasks.pick[i]))


@compiled
def begin(tasks: Any, server: Any, state: Any, i: int, p: int, now: float, busy: int) -> int:
    """Start task i on an idle core of processor p; return the number of busy cores."""
    state.idle[p] -= 1
    c = state.stack[p, state.idle[p]]
    state.start[i], state.core[i] = now, c
    length = (
        tasks.service[i] * server.slowdown[tasks.kind[i], server.distance[tasks.location[i], p]]
    )
    push(state.heap_time, state.heap_core, 0, busy, now + length, c)
    return busy + 1


@compiled
def replace(tasks: Any, server: Any, state: Any, i: int, p: int, now: float, busy: int) -> None:
    """Start task i on the core of processor p that is first in the heap."""
    c = state.heap_core[0]
    state.start[i], state.core[i] = now, c
    length = (
        tasks.service[i] * server.slowdown[tasks.kind[i], server.distance[tasks.location[i], p]]
    )
    replace_first(state.heap_time, state.heap_core, 0, busy, now + length, c)


@compiled
def rest(state: Any, p: int, busy: int) -> int:
    """Leave the freed core of processor p idle; return the number of busy cores."""
    c = state.heap_core[0]
    busy -= 1
    drop_first(state.heap_time, state.heap_core, 0, busy)
    state.stack[p, state.idle[p]] = c
    state.idle[p] += 1
    return busy


@compiled
def append(state: Any, q: int, i: int) -> None:
    """Append task i to list q."""
    if state.head[q] < 0:
        state.head[q] = i
    else:
        state.behind[state.tail[q]] = i
    state.tail[q] = i


@compiled
def one_queue(tasks: Any, server: Any, rules: Any, state: Any) -> None:
    """Continue the simulation with one queue: a freed core is offered to the waiting tasks, oldest
    first.
    """
    ranks, per = server.slowdown.shape[1], state.stack.shape[1]
    whole = state.whole
    following, busy, waiting, freed, oldest = (
        whole[NEXT],
        whole[BUSY],
        whole[WAITING],
        whole[FREED],
        whole[OLDEST],
    )
    while following < rules.until or (rules.drain and waiting > 0):
        # 1. the backlog has left its limits: whoever watches it is notified
        if following >= rules.watch_from and (
            waiting >= rules.stop_above or waiting < rules.stop_below
        ):
            whole[REACHED] = 1
            break
        # 2. the next event is an arrival: an idle core that is near enough, or the queue
        if following < rules.until and (busy == 0 or tasks.arrival[following] < state.heap_time[0]):
            i, following = following, following + 1
            p = idle_for(tasks, server, rules, state, i)
            if p >= 0:
                busy = begin(tasks, server, state, i, p, tasks.arrival[i], busy)
                continue
            append(state, tasks.location[i] * ranks + tasks.reach[i], i)
            state.base[i] = freed + waiting
            if waiting == 0:
                oldest = i
            waiting += 1
            if rules.track:
                mark(state.tree, i, 1)
            continue
        # 3. the next event frees a core: it rests where nobody waits
        p = state.heap_core[0] // per
        if waiting == 0:
            busy = rest(state, p, busy)
            continue
        # 4. who takes it: the oldest when it has refused enough, else the oldest near enough
        while state.start[oldest] >= 0:
            oldest += 1
        taker = -1
        if freed - state.base[oldest] >= rules.limit:
            taker = oldest
        else:
            for at in range(server.asked.shape[1]):
                q = server.asked[p, at]
                if q < 0:
                    break
                if state.head[q] >= 0 and (taker < 0 or state.head[q] < taker):
                    taker = state.head[q]
        if taker < 0:
            busy = rest(state, p, busy)
        else:
            # 5. the taker leaves its list and runs
            state.refusals[taker] = freed - state.base[taker]
            if rules.track:
                state.refusals[taker] += count_older(state.tree, taker)
                mark(state.tree, taker, -1)
            state.head[tasks.location[taker] * ranks + tasks.reach[taker]] = state.behind[taker]
            waiting -= 1
            replace(tasks, server, state, taker, p, state.heap_time[0], busy)
        freed += 1
    whole[NEXT], whole[BUSY], whole[WAITING], whole[FREED], whole[OLDEST] = (
        following,
        busy,
        waiting,
        freed,
        oldest,
    )


@compiled
def processor_queues(tasks: Any, server: Any, rules: Any, state: Any) -> None:
    """Continue the simulation with one queue per processor, filled in turn: a freed core is offered
    to every head.

    Each head that declines counts a refusal, the oldest that does not runs. Whoever becomes head
    looks for an idle core as if it arrived: without that, tasks behind a head could wait for ever
    beside idle cores of their own memory.
    """
    queues, per = len(state.idle), state.stack.shape[1]
    whole = state.whole
    following, busy, waiting = whole[NEXT], whole[BUSY], whole[WAITING]
    while following < rules.until or (rules.drain and waiting > 0):
        # 1. the backlog has left its limits: whoever watches it is notified
        if following >= rules.watch_from and (
            waiting >= rules.stop_above or waiting < rules.stop_below
        ):
            whole[REACHED] = 1
            break
        # 2. the next event is an arrival: an idle core that is near enough, or its turn's queue
        if following < rules.until and (busy == 0 or tasks.arrival[following] < state.heap_time[0]):
            i, following = following, following + 1
            p = idle_for(tasks, server, rules, state, i)
            if p >= 0:
                busy = begin(tasks, server, state, i, p, tasks.arrival[i], busy)
            else:
                append(state, i % queues, i)
                waiting += 1
            continue
        # 3. the next event frees a core: every head declines, at a refusal, or may run
        p, now = state.heap_core[0] // per, state.heap_time[0]
        taker = -1
        for q in range(queues):
            i = state.head[q]
            if i < 0:
                continue
            if (
                state.refusals[i] < rules.limit
                and server.distance[tasks.location[i], p] > tasks.reach[i]
            ):
                state.refusals[i] += 1
            elif taker < 0 or i < taker:
                taker = i
        if taker < 0:
            busy = rest(state, p, busy)
            continue
        # 4. the oldest that may runs
        replace(tasks, server, state, taker, p, now, busy)
        waiting -= 1
        # 5. who stands behind it looks for an idle core as if it arrived
        q = taker % queues
        i = state.behind[taker]
        while i >= 0:
            p = idle_for(tasks, server, rules, state, i)
            if p < 0:
                break
            busy = begin(tasks, server, state, i, p, now, busy)
            waiting -= 1
            i = state.behind[i]
        state.head[q] = i
    whole[NEXT], whole[BUSY], whole[WAITING] = following, busy, waiting
