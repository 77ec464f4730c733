"""Heuristic for answers at or near the bound of the aggregate program: its servers and VMs by
class, and ejections for the VMs that do not fit.
"""

from __future__ import annotations

import numpy as np

from ...instances.packing.instance import Floats, Integers
from ..outcome import Clock
from .presolve import Counts, Reduced
from .rule_arrays import NO_CAP, RuleArrays, empty_room

TIGHT = 0.9
"""Types that fill so much of what the limits of their classes allow are placed first."""

STEPS = 20
"""Of the search between two looks at the clock."""


class Filling:
    """Open servers, the VMs on them, and the VMs that are not placed yet.

    Parameters
    ----------
    kind : (n,) classes of the servers.
    count : (s, q) VMs of each type by class of `pooled`, not whole numbers: what zones get of those
        that are spread is rounded from them.
    shuffles : VMs moved at random after each ejection.
    """

    def __init__(
        self,
        problem: Reduced,
        kind: Integers,
        count: Floats,
        rng: np.random.Generator,
        shuffles: int = 20,
    ) -> None:
        from .fitting_kernels import open_server

        self.problem, self.rng, self.shuffles = problem, rng, shuffles
        self.rules = _with_caps(problem, count)
        self.room = empty_room(problem.arrays, problem.limit, len(kind))
        self.share = 1.0 / np.maximum(problem.capacity, 1)
        for m, c in enumerate(kind.tolist()):
            open_server(self.rules, self.room, m, c)
        self.used = len(kind)
        self.stack = np.zeros(problem.vms + 2, dtype=np.int64)
        self.waiting = 0
        self.penalty = np.ones(problem.types, dtype=np.int64)
        self.home = np.zeros((0, problem.types), dtype=np.int64)

    def place_evenly(self, count: Floats) -> None:
        """Place VMs by type and class of `pooled` (s, q) such that all servers of a class hold
        similar mixtures, including VMs placed before.
        """
        from .fitting_kernels import place_by_class

        problem = self.problem
        pooled = problem.pooled
        target, of = _rounded(count, problem), pooled.of[self.room.kind[: self.used]]
        for c in range(len(pooled.size)):
            target[:, c] -= self.room.vms[: self.used][of == c].sum(axis=0)
        target = np.maximum(target, 0)
        servers = np.bincount(of, minlength=len(pooled.size))
        most = pooled.most * np.where(pooled.size > 1, 1, servers)
        tight = (target / np.maximum(most, 1)).max(axis=1)
        alone = (problem.most > 0).sum(axis=1) == 1  # those that force servers into use
        order = np.lexsort((-self.size, -(tight > TIGHT).astype(int), ~alone))
        left = problem.request - target.sum(axis=1) - self.room.vms.sum(axis=0)
        for i in np.flatnonzero(left < 0).tolist():  # more stay in other classes
            for c in np.argsort(-target[i], kind="stable").tolist():
                cut = min(int(target[i, c]), -int(left[i]))
                target[i, c] -= cut
                left[i] += cut
        place_by_class(self.rules, self.room, self.used, target, order, pooled.of, self.share, left)
        self.wait()

    def place_now(self, placed: Integers, home: Integers) -> None:
        """Leave VMs (n, s) on their servers as far as the rules allow; the others become unplaced.
        Later moves count relative to `home` (n, s).
        """
        from .fitting_kernels import can, put

        self.home = home
        for m, i in np.argwhere(placed > 0).tolist():
            for _ in range(int(placed[m, i])):
                if can(self.rules, self.room, i, m):
                    put(self.rules, self.room, i, m, 1)
        self.wait()

    def wait(self) -> None:
        """Collect the VMs that are not placed yet, the largest first."""
        left = self.problem.request - self.room.vms.sum(axis=0)
        waiting = np.repeat(np.arange(self.problem.types), left)
        self.waiting = len(waiting)
        self.stack[: self.waiting] = waiting[np.argsort(self.size[waiting], kind="stable")]

    @property
    def size(self) -> Floats:
        """Largest share of a server that a VM of each type takes, shape (s,)."""
        problem = self.problem
        found: Floats = (problem.demand * self.share.min(axis=0)).max(axis=1)
        return found

    def mend(self, clock: Clock, until: float) -> bool:
        """Eject and place VMs until all are placed (True) or the time is up."""
        from .fitting_kernels import repair

        while self.waiting and clock.seconds < until and not clock.expired:
            seed = int(self.rng.integers(2**31))
            self.waiting = repair(
                self.rules, self.room, self.used, self.stack, self.waiting, self.penalty,
                self.share, STEPS, self.shuffles, seed, self.home,
            )  # fmt: skip
        return self.waiting == 0

    def bring_home(self, clock: Clock, until: float) -> None:
        """Move VMs back to their home servers while more come than leave and time is left."""
        from .fitting_kernels import bring_home

        gained = 1
        while gained:
            gained = 0
            for m in self.rng.permutation(self.used).tolist():
                if clock.expired or clock.seconds >= until:
                    return
                order = self.rng.permutation(self.problem.types)
                seed = int(self.rng.integers(2**31))
                gained += bring_home(self.rules, self.room, self.used, self.home, m, order, seed)

    def counts(self) -> Counts:
        """Number of VMs of each type on each server, if all VMs are placed."""
        vms, kind = self.room.vms[: self.used], self.room.kind[: self.used]
        full = vms.any(axis=1)
        return vms[full], kind[full]


def _rounded(count: Floats, problem: Reduced) -> Integers:
    """Round the program's VMs by class (s, q) to integers that add up to the requests."""
    whole = np.floor(count + 1e-6).astype(np.int64)
    for i in np.flatnonzero(whole.sum(axis=1) != problem.request).tolist():
        rest = count[i] - whole[i]
        for c in np.argsort(-rest, kind="stable")[
            : max(int(problem.request[i] - whole[i].sum()), 0)
        ]:
            whole[i, c] += 1
    return whole


def _with_caps(problem: Reduced, count: Floats) -> RuleArrays:
    """Replace each spread by a maximum for each zone from a point of the program; placements within
    these maxima satisfy the spread.
    """
    arrays = problem.arrays
    cap, skew = arrays.row_cap.copy(), np.full_like(arrays.row_skew, NO_CAP)
    place = len(problem.zone_limits)
    zone = np.where(problem.pooled.zone < 0, problem.zones, problem.pooled.zone)
    for group, largest, zones in problem.spreads:
        by_class = count[list(group)].sum(axis=0)
        share = np.bincount(zone, weights=by_class, minlength=cap.shape[1])
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
