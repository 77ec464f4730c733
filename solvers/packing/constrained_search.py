"""Routes of `min_servers` and `min_cost` for instances with placement rules: the aggregate program,
fillings of its servers with ejections for the VMs that do not fit, and CP-SAT.
"""

from __future__ import annotations

import math

import numpy as np

from ...instances.packing.instance import Floats, Integers
from ...models.packing.assignment import assignment_model
from ..engines import solve_cp_sat
from ..outcome import Clock, Status, raise_if_interrupted
from .aggregate import aggregate_bound, spread_room
from .fitting import large, trimmed
from .portfolio_state import PortfolioState
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
        """Place `count` (types, classes of `pooled`) VMs such that all servers of a class hold
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
        """Place waiting VMs by ejecting others until all are placed (True) or the time is up."""
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
        """VMs (n, s) and classes (n,) of the servers that hold any."""
        vms, kind = self.room.vms[: self.used], self.room.kind[: self.used]
        full = vms.any(axis=1)
        return vms[full], kind[full]


def _rounded(count: Floats, problem: Reduced) -> Integers:
    """Round numbers of VMs by class (s, q) to integers that add up to the requests."""
    rounded = np.floor(count + 1e-6).astype(np.int64)
    for i in np.flatnonzero(rounded.sum(axis=1) != problem.request).tolist():
        rest = count[i] - rounded[i]
        for c in np.argsort(-rest, kind="stable")[
            : max(int(problem.request[i] - rounded[i].sum()), 0)
        ]:
            rounded[i, c] += 1
    return rounded


def _with_caps(problem: Reduced, count: Floats) -> RuleArrays:
    """Replace each rule that spreads VMs evenly over zones by a maximum for each zone, from a point
    of the program. Placements within these maxima keep the rule.
    """
    arrays = problem.arrays
    cap, skew = arrays.row_cap.copy(), np.full_like(arrays.row_skew, NO_CAP)
    row = len(problem.zone_limits)
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
        cap[row] = numbers
        row += 1
    return arrays._replace(row_cap=cap, row_skew=skew)


def aggregate(search: PortfolioState, effort: float = 0.0) -> None:
    """Raise the lower bound by the aggregate program; where servers differ in cost, briefly at
    effort 0 and for longer later.
    """
    upper = None if search.best is None else search.value
    seconds = search.slice(0.5, least=2.0)
    if _cost_differs(search):
        share, most = (0.3, 10.0 * effort) if effort else (0.1, 5.0)
        seconds = search.slice(share, least=0.2) or most
    found = aggregate_bound(search.problem, search.clock, upper=upper, seconds=seconds)
    search.raise_bound(found.bound, "aggregate program", {"leaves": found.leaves})
    search.servers = found.servers


def prove(search: PortfolioState) -> None:
    """Alternate between filling the servers of the aggregate program and CP-SAT, with increasing
    time.
    """
    problem, effort = search.problem, 1.0
    kind = _servers(search)
    if len(kind) * problem.types <= search.limits.first_counts:
        _by_cp_sat(search, 3.0)
    while search.open:
        _fillings(search, effort)
        missing = _cost_differs(search) and search.servers is None
        if search.open and missing and "aggregate" in search.limits.routes:
            aggregate(search, effort)
        if search.open:
            _by_cp_sat(search, effort)
        effort *= 2


def _fillings(search: PortfolioState, effort: float) -> None:
    """Place all VMs on servers whose total cost, found by bisection, is above the bound and below
    the incumbent's.
    """
    if large(search.problem) or "fillings" not in search.limits.routes:
        return
    failed, above = -1, math.ceil(search.limits.allowed_above * search.bound)
    grain = max(int(search.problem.price.min()) // 8, 1)  # what is less than a server is no step
    while search.open and failed + grain < search.value - search.bound:
        above = min(above, search.value - search.bound - 1)
        if not _filled(search, search.bound + above, effort):
            failed = above
        above = (failed + search.value - search.bound) // 2


def _filled(search: PortfolioState, cost: int, effort: float) -> bool:
    """Return whether all VMs are placed on servers of the given cost that the aggregate program
    chooses.
    """
    problem, clock = search.problem, search.clock
    spread = spread_room(problem, cost, clock)
    if spread is None and search.servers is not None:
        spread = spread_room(problem, cost, clock, search.servers)
    if spread is None:
        found = aggregate_bound(
            problem, clock, least=cost, upper=search.value,
            seconds=search.slice(0.05 if _cost_differs(search) else 0.2),
        )  # fmt: skip
        if found.servers is None or found.count is None:
            return False
        spread = found.servers, found.count
    servers, count = spread
    pooled = problem.pooled
    number = np.where(pooled.size[pooled.of] > 1, 1, servers[pooled.of])
    kind = np.repeat(np.arange(len(number)), number)
    filling = Filling(problem, kind, count, search.rng)
    filling.place_evenly(count)
    # a step of the search by halves is a server of the cheapest class at least
    steps = ((search.value - search.bound) // int(problem.price.min())).bit_length()
    seconds = max(4.0 * effort, search.slice(0.15) or 0.0) / max(steps, 1)
    if not filling.mend(clock, clock.seconds + seconds):
        return False
    search.offer(filling.counts(), "fillings of the aggregate program's servers")
    return True


def _by_cp_sat(search: PortfolioState, effort: float) -> None:
    """Solve by CP-SAT with all servers that a better answer could use."""
    problem, kind, limits = search.problem, _servers(search), search.limits
    many = len(kind) * problem.types > limits.constrained_counts * effort
    if many or "cp-sat" not in limits.routes:
        return
    built = assignment_model(problem, kind)
    cost = [int(problem.price[c]) for c in kind]
    used = [built.model.get_bool_var_from_proto_index(int(place)) for place in built.used]
    total = sum(c * flag for c, flag in zip(cost, used, strict=True))
    built.model.add(total >= search.bound)
    built.model.add(total <= search.value - 1)
    answer = solve_cp_sat(built.model, time_limit=search.clock.time_slice(most=3.0 * effort))
    raise_if_interrupted(answer.stop)
    if answer.status is Status.INFEASIBLE:
        search.raise_bound(search.value, "CP-SAT")
    if answer.values is not None:
        search.offer(trimmed(built.counts(answer.values), kind, problem.request), "CP-SAT")
    if answer.integer_bound is not None and answer.values is not None:
        search.raise_bound(min(answer.integer_bound, search.value), "CP-SAT")


def _servers(search: PortfolioState) -> np.ndarray:
    """Class of each server that a better answer could use, shape (n,)."""
    problem = search.problem
    most = (search.value - 1) // problem.price
    return np.repeat(np.arange(len(problem.price)), np.minimum(problem.limit, most))


def _cost_differs(search: PortfolioState) -> bool:
    return bool((search.problem.price != search.problem.price[0]).any())
