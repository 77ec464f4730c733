"""How long programs within intervals take, and the least alpha at which a pairing survives them.

    python benchmarks/bench_robust.py [--seeds N] [--limit S]

Twenty types, a thousand and a million agents, half widths of half a point to three points. Every
row: seconds (median and most over the seeds, one warm-up before) of `robust_alpha`; of the
programs of least penalty without possibly and without certainly blocking pair at that alpha; the
mean penalty of the optimum and of the robust pairing; and of each the pairs that block by the true
penalties, which the generator hides in the intervals.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
from form import Rows, parser

from cotenant.instances.colocation import Pairing, blocking_pairs
from cotenant.instances.colocation.generators import population
from cotenant.instances.colocation.objective import mean_penalty
from cotenant.solvers.colocation import find_stable, optimal
from cotenant.solvers.colocation.robust import robust_alpha

HALF_WIDTHS = (0.005, 0.01, 0.02, 0.03)


def main() -> None:
    """Run every size and half width."""
    command = parser(__doc__)
    command.add_argument("--seeds", type=int, default=4)
    command.add_argument("--limit", type=float, default=30.0)
    chosen = command.parse_args()
    rows = Rows(chosen.json)
    robust_alpha(population(agents=100, error=0.01, rng=np.random.default_rng(0)))
    for agents in (1000, 1_000_000):
        for error in HALF_WIDTHS:
            found = [_measured(agents, error, seed, chosen.limit) for seed in range(chosen.seeds)]
            rows.add(
                "robust", agents=agents, half_width=error,
                proved=sum(one["proved"] for one in found),
                **{name: median(one[name] for one in found) for name in ("alpha", "wall")},
                most_wall=max(one["wall"] for one in found),
                most_program=max(one["program"] for one in found),
                **{name: median(one[name] for one in found)
                   for name in ("optimum", "robust", "true_optimum", "true_robust")},
            )  # fmt: skip


def _measured(agents: int, error: float, seed: int, limit: float) -> dict[str, Any]:
    """One instance."""
    given = population(agents=agents, error=error, rng=np.random.default_rng(seed))
    truth = population(agents=agents, rng=np.random.default_rng(seed))
    wall, least = _timed(lambda: robust_alpha(given, time_limit=limit))
    seconds = [
        _timed(
            lambda kind=kind: find_stable(given, least.alpha, uncertainty=kind, time_limit=limit)  # type: ignore[misc]
        )[0]
        for kind in ("possible", "certain")
    ]
    cheapest = optimal(given, time_limit=limit).solution
    assert isinstance(cheapest, Pairing)
    return {
        "proved": least.status.value == "optimal",
        "alpha": least.alpha,
        "wall": wall,
        "program": max(seconds),
        "optimum": mean_penalty(given, cheapest),
        "robust": least.penalty,
        "true_optimum": blocking_pairs(truth, cheapest, least.alpha).count,
        "true_robust": blocking_pairs(truth, least.pairing, least.alpha).count,
    }


def _timed(run: Callable[[], Any]) -> tuple[float, Any]:
    begun = time.perf_counter()
    value = run()
    return time.perf_counter() - begun, value


if __name__ == "__main__":
    main()
