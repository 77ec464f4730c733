"""The equilibrium over a horizon, certified, beside the program of Eisenberg and Gale in CVXPY.

    python benchmarks/bench_quanta.py [--draws 5] [--sizes 20x50 100x100 300x300] [--peer 100x100]

Draws are the generator's bursty users with shares of 10 slices, and demands drawn evenly from 0 to
20 slices. Seconds are of the processor: `solve` of `horizon`, `prove` its proof file, `verify` the
judge of it. Mark: 100 users x 100 quanta solved, proved and judged in 60 s. The peer is Clarabel,
handed the program by CVXPY, building included; `off` is how far its welfare is from ours.
"""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path

import numpy as np
from form import Rows, parser, timed

import cotenant
from cotenant.instances.quanta import Quanta, bursty
from cotenant.verify import verify

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from support.proved import proved


def drawn(kind: str, users: int, quanta: int, seed: int) -> Quanta:
    """One of the instances."""
    rng = np.random.default_rng(seed)
    if kind == "bursty":
        made: Quanta = bursty(users=users, quanta=quanta, rng=rng)
        return made
    return Quanta(rng.integers(0, 21, (users, quanta)), 10)


def with_cvxpy(instance: Quanta) -> float:
    """The Nash welfare that Clarabel finds."""
    import cvxpy

    slices = cvxpy.Variable(instance.demand.shape, nonneg=True)
    total = cvxpy.sum(slices, axis=1)
    limits = [slices <= instance.demand, cvxpy.sum(slices, axis=0) <= instance.capacity]
    problem = cvxpy.Problem(cvxpy.Maximize(cvxpy.sum(cvxpy.log(total))), limits)
    problem.solve(solver="CLARABEL")
    return float(np.exp(problem.value / len(instance.demand)))


def main() -> int:
    """Print the tables."""
    options = parser(__doc__)
    options.add_argument("--draws", type=int, default=5)
    options.add_argument("--sizes", nargs="+", default=["20x50", "100x100", "300x300"])
    options.add_argument("--peer", nargs="*", default=["20x50", "100x100"])
    given = options.parse_args()
    rows = Rows(given.json)
    for kind in ("bursty", "even"):
        for size in given.sizes:
            users, quanta = map(int, size.split("x"))
            for seed in range(given.draws):
                instance = drawn(kind, users, quanta, seed)
                solved = timed(partial(cotenant.solve, instance, "horizon"))
                made = timed(partial(proved, instance, "horizon", solved.value))
                text = json.dumps(made.value.document).encode()
                judged = timed(partial(verify, made.value.content, text))
                prices = {
                    name: cotenant.solve(instance, name).metrics["price_of_no_foresight"]
                    for name in ("Karma", "max-min", "strict")
                }
                rows.add(
                    "horizon", case=f"{kind} {size}, draw {seed}", status=str(solved.value.status),
                    solve=solved.cpu, prove=made.cpu - judged.cpu, verify=judged.cpu,
                    kilobytes=len(text) / 1000, mark=60.0 if size == "100x100" else None, **prices,
                )  # fmt: skip
    for size in given.peer:
        users, quanta = map(int, size.split("x"))
        for kind in ("bursty", "even"):
            instance = drawn(kind, users, quanta, 0)
            mine = timed(partial(cotenant.solve, instance, "horizon"), 3)
            peer = timed(partial(with_cvxpy, instance), 3)
            rows.add(
                "beside Clarabel", case=f"{kind} {size}", mine=mine.cpu, peer=peer.cpu,
                ratio=peer.cpu / mine.cpu, off=f"{peer.value / mine.value.objective - 1:.1e}",
            )  # fmt: skip
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
