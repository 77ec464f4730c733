"""Parameters and search state of `min_servers` and `min_cost`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...instances.packing.instance import Integers
from ..distinct_rows import distinct_rows
from ..incumbent import Incumbent
from ..outcome import Clock
from ..routes import Routed
from .fitting import recolored
from .generation import Relaxation
from .patterns import Pool
from .presolve import Counts, Reduced


@dataclass(frozen=True)
class PortfolioLimits(Routed):
    """Parameters of `min_servers` and `min_cost`; no proof depends on them.

    Attributes
    ----------
    merged_types : types up to which equal servers of an answer are found all at once.
    pooled_entries : entries of the pool of patterns, a count for each type, from which greedy
        answers after the first no longer join it.
    greedy_steps : VMs times types up to which all greedy rules are tried.
    annealed_vms, annealing_steps : VMs up to which annealing is tried, and its steps for each VM at
        effort 1.
    annealed_longer : VMs from which it is tried longer before columns are generated.
    dives : drawn where time is not limited.
    listed_patterns, listing_nodes : patterns that are listed for one program at effort 1, and nodes
        of the search for them.
    listed_mixes : of VMs that give services their rates, in one program.
    few_types : VM types up to which columns are generated before any annealing.
    first_counts, constrained_counts : with rules on where VMs may run, servers x types up to which
        CP-SAT comes before fillings, and up to which it comes at all, at effort 1.
    allowed_above : fillings are first searched for with this part of servers more than the bound.
    """

    merged_types: int = 64
    pooled_entries: int = 20_000_000
    greedy_steps: int = 50_000_000
    annealed_vms: int = 20_000
    annealing_steps: int = 4_000
    annealed_longer: int = 100
    dives: int = 12
    listed_patterns: int = 6_000
    listing_nodes: int = 3_000_000
    listed_mixes: int = 2_000
    few_types: int = 24
    first_counts: int = 400
    constrained_counts: int = 30_000
    allowed_above: float = 0.02
    routes: frozenset[str] = frozenset({
        "aggregate", "annealing", "bounds", "cp-sat", "dives", "enumeration", "fillings",
        "whole parts",
    })  # fmt: skip


LIMITS = PortfolioLimits()


class PortfolioState(Incumbent[Counts, int]):
    """Search state of `min_servers` and `min_cost`: incumbent, bound, and the pool of patterns.

    Attributes
    ----------
    value : the cost of the best answer; one more than all servers cost without one.
    proof : what the certificate holds of what proved the bound.
    pool, relaxation : the patterns met, and the relaxation over them once it is solved.
    servers : (q,) servers of each class of `Reduced.pooled` at the bound of the aggregate program,
        where it was solved to its optimum.
    """

    def __init__(
        self,
        problem: Reduced,
        clock: Clock,
        rng: np.random.Generator,
        limits: PortfolioLimits = LIMITS,
    ) -> None:
        super().__init__(None, clock, lambda counts: int(problem.price[counts[1]].sum()), bound=1)
        self.value = problem.budget + 1
        self.problem, self.rng, self.limits = problem, rng, limits
        self.bound_by = "a server at least"
        self.proof: dict[str, Any] = {}
        self.pool = Pool(problem.types)
        self.relaxation: Relaxation | None = None
        self.servers: Integers | None = None

    def offer(self, answer: Counts | None, text: str = "") -> bool:
        """Keep an answer, on the cheapest servers that hold it, if it is better than the incumbent;
        add its patterns to the pool unless the pool is full.
        """
        if answer is None:
            return False
        answer = recolored(self.problem, answer)
        self.pooled(answer)
        return super().offer(answer, text)

    def raise_bound(self, bound: int, text: str = "", proof: dict[str, Any] | None = None) -> bool:  # type: ignore[override]
        """Raise the lower bound if the given one is larger, with its proof for the certificate."""
        if bound > self.bound:
            self.proof = proof or {}
        return super().raise_bound(bound, text)

    def slice(self, share: float, least: float = 1.0) -> float | None:
        """Seconds for one route: a share of the remaining time, at least `least`; None without a
        limit.
        """
        left = self.clock.left
        return None if left is None else min(left, max(least, share * left))

    def pooled(self, counts: Counts) -> None:
        """Add the patterns of servers to the pool unless it is full."""
        types = self.problem.types
        rows = len(self.pool) + len(counts[1])
        if not len(self.pool) or rows * types <= self.limits.pooled_entries:
            patterns, kinds = np.minimum(counts[0], self.problem.request), counts[1]
            if types <= self.limits.merged_types:
                first = np.sort(distinct_rows(np.column_stack([kinds, patterns]))[0])
                patterns, kinds = patterns[first], kinds[first]
            for row, kind in zip(patterns, kinds.tolist(), strict=True):
                self.pool.add(row, kind)
