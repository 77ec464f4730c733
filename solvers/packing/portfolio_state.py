"""Where the portfolio for the fewest servers stands: what each of its parts reads and improves."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...instances.packing.instance import Integers
from ..engines import EngineName
from ..outcome import Clock
from .fitting import Counts, recolored
from .generation import Relaxation
from .patterns import Pool
from .presolve import Reduced

FEW_TYPES = 64
"""Types up to which equal servers of an answer are found all at once."""

MOST_POOLED = 20_000_000
"""Entries of the pool of patterns, a count for each type, from which greedy answers after the first
no longer join it.
"""


@dataclass
class PortfolioState:
    """Where the portfolio stands: the best answer, the best bound, and who found them.

    Attributes
    ----------
    servers : (q,) servers of each class of `Ruled.pooled` at the bound of the aggregate program,
        where it was solved to its optimum.
    """

    problem: Reduced
    clock: Clock
    rng: np.random.Generator
    master: EngineName = "highs"
    best: Counts | None = None
    upper: int = 0
    lower: int = 1
    found_by: str = ""
    bound_by: str = "a server at least"
    proof: dict[str, Any] = field(default_factory=dict)
    pool: Pool = field(init=False)
    relaxation: Relaxation | None = None
    servers: Integers | None = None

    def __post_init__(self) -> None:
        self.pool = Pool(self.problem.types)
        self.upper = self.problem.budget + 1  # no answer costs more than all servers

    @property
    def open(self) -> bool:
        """Whether there is anything left to decide, and time to do it."""
        return self.lower < self.upper and not self.clock.expired

    def offer(self, counts: Counts | None, by: str) -> None:
        """Keep an answer if it is the best so far; its patterns join the pool, unless that is large
        already.
        """
        if counts is None:
            return
        counts = recolored(self.problem, counts)
        cost = self.problem.cost(counts[1])
        rows = len(self.pool) + len(counts[1])
        if not len(self.pool) or rows * self.problem.types <= MOST_POOLED:
            patterns, kinds = np.minimum(counts[0], self.problem.request), counts[1]
            if self.problem.types <= FEW_TYPES:
                _, first = np.unique(np.column_stack([kinds, patterns]), axis=0, return_index=True)
                patterns, kinds = patterns[np.sort(first)], kinds[np.sort(first)]
            for row, kind in zip(patterns, kinds.tolist(), strict=True):
                self.pool.add(row, kind)
        if cost < self.upper:
            self.best, self.upper, self.found_by = counts, cost, by
            self._note(by)

    def raise_bound(self, value: int, by: str, proof: dict[str, Any] | None = None) -> None:
        """Keep a bound if it is the best so far."""
        if value > self.lower:
            self.lower, self.bound_by, self.proof = value, by, proof or {}
            self._note(by)

    def slice(self, share: float, least: float = 1.0) -> float | None:
        """Seconds for one part: a share of what is left, at least `least`; None without a limit."""
        left = self.clock.left
        return None if left is None else min(left, max(least, share * left))

    def _note(self, by: str) -> None:
        value = None if self.best is None else float(self.upper)
        self.clock.note(value, float(min(self.lower, self.upper)), by)
