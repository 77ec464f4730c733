"""Pool of patterns (what one server can hold) as columns, and the pricing search for new ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...instances.packing.instance import Floats, Integers, fits
from ...instances.problem.errors import InvalidInstance
from .presolve import UNLIMITED, Reduced

FINEST, COARSEST = 2**40, 2**20
"""Dual prices are rounded down to whole multiples of 1 / scale, so that every bound is exact
arithmetic.
"""

ACCURACY = 10**8
"""Patterns are priced to scale / ACCURACY, which is added where a bound rests on it."""


GRID = 1000
"""Units into which the room of a server is divided for the bounds of the search for patterns."""

MOST_CELLS = 10_000_000
"""Of these bounds, a whole number each: of more types fewer knapsacks are looked at, in coarser
units.
"""

SHORT = 3000
"""Nodes of a search for a pattern beside earlier ones."""

MOST_DEEP = 1_000_000
"""Where a server may hold more VMs, patterns are not searched for: the search goes VM by VM."""


class Pool:
    """Growing set of distinct patterns, each for a class of servers."""

    def __init__(self, types: int) -> None:
        self.types = types
        self._table = np.zeros((64, types), dtype=np.int64)
        self._kind = np.zeros(64, dtype=np.int64)
        self._known: set[tuple[int, bytes]] = set()

    @classmethod
    def of(cls, table: Integers, kind: Integers) -> Pool:
        """Pool of the given patterns without duplicates and empty ones."""
        pool = cls(table.shape[1])
        for row, c in zip(table, kind.tolist(), strict=True):
            pool.add(row, c)
        return pool

    def __len__(self) -> int:
        return len(self._known)

    def add(self, pattern: Integers, kind: int) -> bool:
        """Add a pattern unless it is known; return whether it is new."""
        key = (kind, pattern.astype(np.int64, copy=False).tobytes())
        if key in self._known or not pattern.any():
            return False
        index = len(self._known)
        if index == len(self._table):
            self._table = np.concatenate([self._table, np.zeros_like(self._table)])
            self._kind = np.concatenate([self._kind, np.zeros_like(self._kind)])
        self._known.add(key)
        self._table[index] = pattern
        self._kind[index] = kind
        return True

    def arrays(self, first: int = 0) -> tuple[Integers, Integers]:
        """Patterns (n, s) and classes (n,) from index `first` on, as read-only views."""
        return self._table[first : len(self)], self._kind[first : len(self)]


def penalty_of(problem: Reduced) -> int:
    """Penalty of leaving a VM out of the relaxation, above the cost of serving it."""
    unlimited = problem.servers >= UNLIMITED
    if unlimited.any() and fits(problem.demand, problem.capacity[unlimited]).any(axis=1).all():
        return int(problem.price.max()) + 1
    return problem.budget + 1


def most_of(problem: Reduced) -> int:
    """Upper bound on the number of VMs on one server."""
    needed = problem.demand.min(axis=0)
    most = problem.vms
    for j in np.flatnonzero(needed):
        most = min(most, int(problem.capacity[:, j].max() // needed[j]))
    return max(most, 1)


def scale_of(problem: Reduced) -> int:
    """Largest integer scale of prices at which no pattern's profit exceeds int64.

    Where the penalty of a VM left out is so large that no scale would do, the scale is chosen by
    the dearest server, and prices are cut to what fits (`dearest`), which leaves their bound valid.

    Raises
    ------
    InvalidInstance
        Costs are so large that not even a coarse scale fits.
    """
    most_vms = most_of(problem)
    for dear in (penalty_of(problem), 2 * int(problem.price.max())):
        scale = FINEST
        while scale * dear * most_vms >= 2**61:
            scale //= 2
        if scale >= COARSEST:
            return scale
    largest = dear * most_vms
    raise InvalidInstance(
        "cost",
        f"so large that one server may cost {largest}",
        "smaller costs",
        "Use a larger unit",
    )


def dearest(problem: Reduced, scale: int) -> int:
    """Largest price of a VM, relative to a server's cost, at which no pattern's profit exceeds
    int64.
    """
    return 2**61 // (scale * most_of(problem))


@dataclass(frozen=True, eq=False)
class Priced:
    """Result of pricing one class of servers.

    Attributes
    ----------
    patterns : (n, s) found, the best last.
    best : a proved upper bound on the profit of any pattern, in the profits' unit.
    exact : whether the search was exhaustive, so that `best` is tight up to the slack.
    """

    patterns: Integers
    best: int
    exact: bool


def price_patterns(
    problem: Reduced,
    kind: int,
    profit: Integers,
    least: int,
    *,
    slack: int = 0,
    nodes: int = 200_000,
    keep: int = 8,
    spread: bool = False,
) -> Priced:
    """Find the last `keep` patterns of a class with profit above `least`, best last, within
    `slack`. With `spread` only those are returned that are the best of these for some type.
    """
    ceiling, weight, order = _knapsacks(problem, kind, profit)
    if ceiling <= least:
        return Priced(np.zeros((0, problem.types), dtype=np.int64), least, True)
    if most_of(problem) > MOST_DEEP:
        return Priced(np.zeros((0, problem.types), dtype=np.int64), ceiling, False)
    order = order[profit[order] > 0]
    rows, found, best, exhaustive = _search(
        problem, kind, profit, weight, order, least, slack, nodes, keep, every=False, spread=spread
    )
    number = min(found, keep)
    recent = [(found - number + step) % keep for step in range(number)]
    patterns = np.zeros((number, problem.types), dtype=np.int64)
    patterns[:, order] = rows[recent]
    if spread:
        patterns = _best_of_types(patterns, profit)
    bound = min(best + (slack if exhaustive else 0), max(ceiling, least))
    return Priced(patterns, bound, exhaustive)


def _best_of_types(patterns: Integers, profit: Integers) -> Integers:
    """Keep the patterns that are the most profitable ones with some type, best last."""
    kept: list[int] = []
    seen = np.zeros(patterns.shape[1], dtype=bool)
    for index in np.argsort(-(patterns @ profit), kind="stable"):
        if (patterns[index] > 0)[~seen].any():
            kept.append(int(index))
            seen |= patterns[index] > 0
    return patterns[kept[::-1]]


def all_patterns(
    problem: Reduced, kind: int, profit: Integers, least: int, *, most: int, nodes: int = 20_000_000
) -> Integers | None:
    """List all maximal patterns of a class with profit at least `least`; None if there are more
    than `most` or the search is truncated.
    """
    if most_of(problem) > MOST_DEEP:
        return None
    _, weight, order = _knapsacks(problem, kind, profit)
    rows, found, _, whole = _search(
        problem, kind, profit, weight, order, max(least, 0), 0, nodes, most, every=True
    )
    if found < 0 or not whole:
        return None
    patterns = np.zeros((found, problem.types), dtype=np.int64)
    patterns[:, order] = rows[:found]
    return patterns


def _search(
    problem: Reduced, kind: int, profit: Integers, weight: Integers, order: Integers,
    least: int, slack: int, nodes: int, keep: int, *, every: bool, spread: bool = False,
) -> tuple[Integers, int, int, bool]:  # fmt: skip
    """Run the kernel `best_patterns` on VM types in the given order; return patterns, their number,
    the best profit, and whether the search was complete.
    """
    from .pattern_kernels import best_patterns, knapsack_bounds

    worth, copies = profit[order], problem.request[order]
    cells = (len(order) + 1) * (GRID + 1)
    coarse = -(-cells // MOST_CELLS)
    weight = np.ascontiguousarray(weight[: max(MOST_CELLS // cells, 1), order]) // coarse
    # a type that needs a resource which the class has not is in no pattern
    copies = np.where((problem.demand[order] > problem.capacity[kind]).any(axis=1), 0, copies)
    rows, found, best, _, exhaustive = best_patterns(
        worth, problem.demand[order], copies, problem.capacity[kind], weight,
        knapsack_bounds(worth, copies, weight, GRID // coarse), least, slack, nodes, keep, every,
        spread,
    )  # fmt: skip
    return rows, int(found), int(best), bool(exhaustive)


def disjoint_patterns(
    problem: Reduced, kind: int, profit: Integers, least: int, first: Integers
) -> list[Integers]:
    """Find further patterns from types that earlier ones do not use, to get many columns from one
    set of prices.
    """
    left = profit.copy()
    found: list[Integers] = []
    # one knapsack has to do: bounds by each resource take longer than so short a search
    _, weight, order = _knapsacks(problem, kind, profit)
    pattern = first
    while True:
        left[pattern > 0] = 0
        order = order[left[order] > 0]
        rows, number, _, _ = _search(
            problem, kind, left, weight[:1], order, least, 0, SHORT, 1, every=False
        )
        if not number:
            return found
        pattern = np.zeros(problem.types, dtype=np.int64)
        pattern[order] = rows[0]
        found.append(pattern)


def _knapsacks(problem: Reduced, kind: int, profit: Integers) -> tuple[int, Integers, Integers]:
    """Relaxed knapsacks of capacity `GRID` that every pattern satisfies: a surrogate constraint
    with a low Dantzig bound, and each resource.

    Returns that bound rounded up, weights (1 + resources, s) rounded down, and types by decreasing
    profit per weight in the first.
    """
    bound, mix, share, value = surrogate_mix(problem, kind, profit)
    weight = share @ mix
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(weight > 0, value / weight, np.where(value > 0, np.inf, 0.0))
    order = np.lexsort((-value, -ratio))
    present = problem.capacity[kind] > 0
    weights = np.vstack(
        [  # of the mix, less by more than floats can be wrong by
            np.floor(weight * (GRID * (1 - 1e-9))).astype(np.int64),
            (problem.demand[:, present] * GRID // problem.capacity[kind, present]).T,
        ]
    )
    weights = np.minimum(weights, GRID)
    return int(np.ceil(bound * (1 + 1e-9))) + 1, weights, order


def surrogate_mix(
    problem: Reduced, kind: int, profit: Integers
) -> tuple[float, Floats, Floats, Floats]:
    """Weights of the resources in a surrogate constraint with a low Dantzig bound.

    Returns the bound, the weights (of the resources the class has; they sum to 1), the sizes (s,
    resources) as shares of its capacity, and the profits (s,), 0 for what does not fit.
    """
    capacity = problem.capacity[kind].astype(float)
    present = capacity > 0
    share = problem.demand[:, present] / capacity[present]
    lacking = (
        (problem.demand[:, ~present] > 0).any(axis=1)
        if (~present).any()
        else np.zeros(problem.types, dtype=bool)
    )
    value = np.where(lacking, 0.0, profit.astype(float))
    copies = problem.request.astype(float)
    mix = np.full(int(present.sum()), 1.0 / present.sum())
    best = (np.inf, mix)
    for step in range(12 if len(mix) > 1 else 1):
        bound, taken = _dantzig(value, share @ mix, copies)
        if bound < best[0]:
            best = (bound, mix)
        excess = taken @ share - 1.0  # how far the relaxed choice overfills each resource
        mix = np.maximum(
            mix + 0.5 / (1 + step) * excess / max(float(np.abs(excess).max()), 1e-12), 0.0
        )
        mix = mix / mix.sum() if mix.sum() > 0 else np.full(len(excess), 1.0 / len(excess))
    return best[0], best[1], share, value


def _dantzig(value: Floats, weight: Floats, copies: Floats) -> tuple[float, Floats]:
    """Value and items of the fractional knapsack of capacity 1 (Dantzig bound)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(weight > 0, value / weight, np.where(value > 0, np.inf, 0.0))
    order = np.argsort(-ratio, kind="stable")
    full = np.cumsum(weight[order] * copies[order])
    before = full - weight[order] * copies[order]
    with np.errstate(divide="ignore", invalid="ignore"):
        part = np.where(weight[order] > 0, (1.0 - before) / weight[order], copies[order])
    taken = np.zeros_like(value)
    taken[order] = np.clip(part, 0.0, copies[order])
    taken[value <= 0] = 0.0
    return float(taken @ value), taken
