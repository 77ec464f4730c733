"""Answers for who knows all lives: whole lives placed one by one, then some of them anew."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...instances.lifetimes import Hosts, Integers, Lifetimes
from ..incumbent import Incumbent

MOST_CELLS = 60_000_000
"""Loads that are kept, a number each; of longer traces intervals are joined."""


class Grid:
    """Loads of servers over the intervals, of which some are joined where they are too many: a VM
    then counts from the beginning of its first to the end of its last.
    """

    def __init__(self, instance: Lifetimes, servers: int) -> None:
        k, times = len(instance.capacity), instance.times
        most = max(MOST_CELLS // (servers * (k + 1)), 2)
        step = -(-len(times) // most)
        ends = np.append(times[:-1:step], times[-1])
        self.first = np.searchsorted(ends, instance.start, "right") - 1
        self.last = np.searchsorted(ends, instance.end)
        self.length = np.diff(ends)
        self.host = np.zeros(len(instance.kind), dtype=np.int64)
        self.load = np.zeros((servers, len(self.length), k), dtype=np.int64)
        self.busy = np.zeros((servers, len(self.length)), dtype=np.int64)
        self.share = instance.demand / np.maximum(instance.capacity, 1)
        self.instance = instance

    def place(self, order: Integers) -> bool:
        """Put all VMs where they add least to server-time, in an order; whether they found room."""
        from .kernels import place_all

        given = self.instance
        used = place_all(
            order, given.demand, self.share, given.kind, self.first, self.last, self.length,
            given.capacity, self.host, self.load, self.busy, 0,
        )  # fmt: skip
        return bool(used >= 0)


def clairvoyant(instance: Lifetimes) -> Hosts:
    """Whole lives, the last end first, each where it adds least to server-time."""
    order = np.lexsort((instance.start, -instance.end))
    servers = min(int(instance.volume.max() * 1.2) + 10, len(instance.kind) + 1)
    while True:
        grid = Grid(instance, servers)
        if grid.place(order):
            return Hosts(grid.host)
        servers = min(2 * servers, len(instance.kind) + 1)


def improved(
    instance: Lifetimes, incumbent: Incumbent[Hosts, int], rng: np.random.Generator
) -> Iterator[Hosts]:
    """Better answers, as they are found."""
    yield from ()
