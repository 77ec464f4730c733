"""Simulated annealing for fewer servers: all VMs are placed, some servers are overloaded, and moves
reduce the overload.
"""

from __future__ import annotations

import numpy as np

from .fitting import runs
from .portfolio_state import PortfolioState

HOTTEST, COOLEST = 0.02, 0.0005
"""Temperatures, as parts of a server's capacity."""

COOLER = 10.0
"""Later efforts begin at temperatures up to so many times lower, where answers of dives keep much
of their shape.
"""

MOVED_ALONE = 0.15
"""Steps that move a VM alone; the others swap two."""

TURNS, MOST_STEPS = 20, 1_000_000
"""Looks at the clock on the way at least, and steps between two of them at most."""


def anneal_steps(
    search: PortfolioState, effort: float, seconds: float | None, tries: int = 1
) -> None:
    """Anneal on fewer servers than the incumbent has: at effort 1 their cost is bisected, later one
    server less is tried until `tries` attempts fail.

    Steps grow with the VMs and the effort. Servers that are not overloaded join the pool of
    patterns, whether it succeeds or not.
    """
    problem, until = search.problem, search.clock.seconds + (np.inf if seconds is None else seconds)
    if problem.vms > search.limits.annealed_vms:
        return
    failed, cheapest = search.bound - int(problem.price.min()), int(problem.price.min())
    while search.open and search.best is not None and search.clock.seconds < until:
        target = search.value - cheapest
        if effort == 1:
            target = min(target, (failed + search.value + 1) // 2)
        if target <= failed or (effort > 1 and tries <= 0):
            return
        hottest = HOTTEST if tries == 1 else HOTTEST * COOLER ** -search.rng.random()
        if not _annealed(search, target, effort, hottest, until):
            tries -= 1
            failed = target if effort == 1 else failed


def _annealed(
    search: PortfolioState, target: int, effort: float, hottest: float, until: float
) -> bool:
    """Return whether annealing places all VMs on some servers of the incumbent that cost at most
    `target`.
    """
    from .pattern_kernels import anneal

    problem, rng = search.problem, search.rng
    assert search.best is not None
    count, kind = search.best
    # 1. the servers, and on each of them VMs: those of servers that go are drawn to others
    servers = rng.permutation(len(kind))
    servers = servers[np.cumsum(problem.price[kind[servers]]) <= target]
    if not len(servers):
        return False
    each = runs(problem)
    place, i = np.nonzero(count)
    where = np.repeat(place, count[place, i])[np.argsort(np.repeat(i, count[place, i]))]
    now = np.full(len(kind), -1)
    now[servers] = np.arange(len(servers))
    server = now[where[: len(each)]]
    gone = np.flatnonzero(server < 0)
    server[gone] = rng.integers(len(servers), size=len(gone))
    size = problem.demand[each].astype(float)
    capacity = problem.capacity[kind[servers]].astype(float)
    load = np.zeros_like(capacity)
    np.add.at(load, server, size)
    # 2. anneal: the temperature falls by equal factors, with looks at the clock
    total = int(search.limits.annealing_steps * problem.vms * effort)
    turns = max(TURNS, -(-total // MOST_STEPS))
    heat = hottest * (COOLEST / hottest) ** (np.arange(turns + 1) / turns)
    bad, turn = 1, 0
    while bad and turn < turns and search.clock.seconds < until and not search.clock.expired:
        seed = int(rng.integers(2**31))
        bad = anneal(
            size, capacity, 1.0 / np.maximum(capacity, 1.0), server, load, total // turns + 1,
            float(heat[turn]), float(heat[turn + 1]), MOVED_ALONE, seed,
        )  # fmt: skip
        turn += 1
    # 3. the servers that are not overloaded
    rows = np.zeros((len(servers), problem.types), dtype=np.int64)
    np.add.at(rows, (server, each), 1)
    fine = (load <= capacity).all(axis=1) & rows.any(axis=1)
    answer = rows[fine], kind[servers][fine]
    if bad:
        search.pooled(answer)
        return False
    return search.offer(answer, "annealing")
