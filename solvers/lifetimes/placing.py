"""Answers for who knows all lives: whole lives placed one by one, then some of them anew."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...instances.lifetimes import Hosts, Integers, Lifetimes

BY_START = (1.0, 0.9, 0.5, 0.0)
"""Orders in which VMs are placed: by their starts, by their ends from the last on, and between."""

ROUNDS, RUIN = 5_000, 24
"""How often, and how many VMs at most, are placed anew."""

MOST_CELLS = 60_000_000
"""Loads that are kept; of longer traces intervals are joined, in which a VM counts throughout."""


class Placing:
    """VMs on servers, and the loads of these over the intervals."""

    def __init__(self, instance: Lifetimes, servers: int) -> None:
        n, k = instance.demand[instance.kind].shape
        step = -(-len(instance.times) * servers * (k + 1) // MOST_CELLS)
        times = np.append(instance.times[:-1:step], instance.times[-1])
        first = np.searchsorted(times, instance.start, "right") - 1
        last = np.searchsorted(times, instance.end)
        self.length, self.used, self.host = np.diff(times), 0, np.zeros(n, dtype=np.int64)
        self.load = np.zeros((servers, len(self.length), k), dtype=np.int64)
        self.on = np.zeros((servers, len(self.length)), dtype=np.int64)
        self.vms, self.state = (instance.demand[instance.kind], first, last), (self.load, self.on)
        self.capacity = instance.capacity

    def put(self, order: Integers) -> bool:
        """Place VMs where they add least, in an order; whether there was room."""
        from .kernels import place_all

        shape = self.length, self.capacity, self.host
        self.used = place_all(order, *self.vms, *shape, *self.state, self.used)
        return self.used >= 0

    def again(self, rng: np.random.Generator) -> bool:
        """Place the VMs of a server, around a time, and some beside them anew; whether it helped.

        The server is one with few VMs then; where server-time grows all are put back.
        """
        from .kernels import move_all

        # 1. VMs of the emptiest of a few servers at a time, and of another one
        _, first, last = self.vms
        t = int(rng.integers(len(self.length)))
        busy = rng.permutation(np.flatnonzero(self.on[:, t]))[:6]
        if len(busy) < 2 or self.used + RUIN > len(self.on):
            return False
        emptiest = busy[np.argmin(self.on[busy, t])]
        near = (first <= t + 2) & (last > t - 2) & np.isin(self.host, (emptiest, busy[-1]))
        vms = rng.permutation(np.flatnonzero(near))[:RUIN]
        # 2. the longest first, more or less; put back where that is not better
        before, host = self.time(), self.host[vms]
        move_all(vms, -1, *self.vms, self.host, *self.state)
        life = (last - first)[vms] * rng.uniform(0.5, 1.0, len(vms))
        if self.put(vms[np.argsort(-life)]) and self.time() <= before:
            return self.time() < before
        move_all(vms, -1, *self.vms, self.host, *self.state)
        self.host[vms] = host
        move_all(vms, 1, *self.vms, self.host, *self.state)
        return False

    def time(self) -> int:
        """The server-time, in joined intervals where these are."""
        return int((self.on > 0).sum(axis=0) @ self.length)


def clairvoyant(instance: Lifetimes, rng: np.random.Generator) -> Iterator[Hosts]:
    """Answers of VMs placed in several orders; then of the best of them made better, as long as it
    is asked for.
    """
    start, end = instance.start - instance.times[0], instance.end - instance.times[0]
    best: Placing | None = None
    servers = int(instance.volume.max() * 1.2) + 2 * RUIN
    for share in BY_START:
        key = share * start - (1 - share) * end
        order = np.lexsort((start, -end, key) if share < 1 else (-end, start))
        while not (placing := Placing(instance, servers)).put(order):
            servers = min(2 * servers, len(order) + 1)
        if best is None or placing.time() < best.time():
            best = placing
        yield Hosts(placing.host.copy())
    assert best is not None
    for turn in range(ROUNDS):
        if best.again(rng) or turn % 100 == 99:
            yield Hosts(best.host.copy())
