"""Answers at or near the bound of the aggregate program: its servers, its VMs by class, and a
search that places what does not fit.
"""

from __future__ import annotations

import numpy as np

from ...instances.packing.instance import Floats, Integers
from ..outcome import Clock
from .fitting import Counts
from .ruled import NO_CAP, RuleArrays, Ruled
from .ruled_fitting import empty_room

STEPS = 20
"""Of the search between two looks at the clock."""


class Filling:
    """Servers that are open, VMs on them, and VMs that wait for a place."""

    def __init__(
        self, problem: Ruled, servers: Integers, count: Floats, rng: np.random.Generator
    ) -> None:
        from .ruled_kernels import open_server, place_by_class

        self.problem, self.rng = problem, rng
        self.rules = _with_caps(problem, count)
        self.room = empty_room(problem)
        self.share = 1.0 / np.maximum(problem.capacity, 1)
        self.used = 0
        for c in np.repeat(np.arange(len(servers)), servers).tolist():
            open_server(self.rules, self.room, self.used, c)
            self.used += 1
        target = _rounded(count, problem)
        size = (problem.demand / np.maximum(problem.capacity.max(axis=0), 1)).max(axis=1)
        tight = (target / np.maximum(problem.most * servers, 1)).max(axis=1)
        order = np.lexsort((-size, -(tight > 0.9).astype(int)))
        left = np.zeros(problem.types, dtype=np.int64)
        place_by_class(self.rules, self.room, self.used, target, order, self.share, left)
        self.stack = np.zeros(problem.vms + 2, dtype=np.int64)
        waiting = np.repeat(np.arange(problem.types), left)
        self.waiting = len(waiting)
        self.stack[: self.waiting] = waiting[np.argsort(size[waiting], kind="stable")]
        self.penalty = np.ones(problem.types, dtype=np.int64)

    def mend(self, clock: Clock, until: float) -> bool:
        """Search until all VMs have a place (True), or the time is up."""
        from .ruled_kernels import mend

        while self.waiting and clock.seconds < until and not clock.over:
            seed = int(self.rng.integers(2**31))
            self.waiting = mend(
                self.rules, self.room, self.used, self.stack, self.waiting, self.penalty,
                self.share, STEPS, seed,
            )  # fmt: skip
        return self.waiting == 0

    def counts(self) -> Counts:
        """The answer, when nothing waits."""
        return self.room.count[: self.used].copy(), self.room.kind[: self.used].copy()


def _rounded(count: Floats, problem: Ruled) -> Integers:
    """(s, p) whole VMs by class that add up to the requests, near those of the program."""
    whole = np.floor(count + 1e-6).astype(np.int64)
    for i in np.flatnonzero(whole.sum(axis=1) != problem.request).tolist():
        rest = count[i] - whole[i]
        for c in np.argsort(-rest, kind="stable")[: int(problem.request[i] - whole[i].sum())]:
            whole[i, c] += 1
    return whole


def _with_caps(problem: Ruled, count: Floats) -> RuleArrays:
    """The rules with a number of VMs for every zone of a spread instead of its skew: whoever places
    all VMs within these numbers keeps the skew.
    """
    arrays = problem.arrays
    cap, skew = arrays.row_cap.copy(), np.full_like(arrays.row_skew, NO_CAP)
    place = len(problem.zone_limits)
    for group, largest, zones in problem.spreads:
        by_class = count[list(group)].sum(axis=0)
        share = np.bincount(arrays.zone, weights=by_class, minlength=cap.shape[1])
        total = int(problem.request[list(group)].sum())
        numbers = np.floor(share + 1e-6).astype(np.int64)
        rest = np.argsort(-(share - numbers), kind="stable")
        numbers[rest[: total - int(numbers.sum())]] += 1
        counted = numbers[list(zones)]
        if counted.max() - counted.min() > largest:
            elsewhere = total - int(counted.sum())
            even, more = divmod(total - elsewhere, len(zones))
            order = np.argsort(-share[list(zones)], kind="stable")
            counted[:] = even
            counted[order[:more]] += 1
            numbers[list(zones)] = counted
        cap[place] = numbers
        place += 1
    return arrays._replace(row_cap=cap, row_skew=skew)
