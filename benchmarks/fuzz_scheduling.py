"""Small instances of every kind of scheduling, at random: the event loop against the clock.

    python benchmarks/fuzz_scheduling.py --count 10000 [--seed 0] [--optimum]

For each instance (sequential, parallel without and with backfilling, related machines) and all
rules: starts, utilities, values of all coalitions and, of DIRECTCONTR, machines are those of
`tests/support/oracles/scheduling.py`, and the checker passes the schedule. With --optimum besides:
both optima are the enumerated ones, no rule passes them, and the fluid bound is not below them.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.scheduling_cases import KINDS, best_of_all, small_instance, wrongs

from cotenant.models.scheduling import fluid_bound
from cotenant.solvers.scheduling import simulate
from cotenant.solvers.scheduling.optimum import max_utility, max_utilization, worth_of

METHODS = {"utilization": max_utilization, "utility": max_utility}


def wrong_optima(seed: int) -> Iterator[str]:
    """What is wrong with the optima of one instance."""
    kind = KINDS[seed % len(KINDS)]
    instance = small_instance(np.random.default_rng(seed), kind, tiny=True)
    for objective, method in METHODS.items():
        most = best_of_all(instance, objective)
        if fluid_bound(instance, objective) < most:
            yield f"{kind}: fluid bound below the most {objective}, {most}"
        for engine in ("highs", "cp-sat")[: 1 if kind == "related" else 2]:
            found = method(instance, engine=engine, time_limit=30)
            value = worth_of(instance, found.solution, objective)
            if value != most or found.status.value != "optimal":
                yield f"{kind}, {engine}: {found.status} {objective} {value}, enumerated {most}"
        if worth_of(instance, simulate(instance, "FIFO").schedule, objective) > most:
            yield f"{kind}: FIFO has more {objective} than the enumerated {most}"


def main() -> int:
    """Run the instances and print what is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--optimum", action="store_true", help="the optima too")
    options = parser.parse_args()
    began, bad = time.perf_counter(), 0
    for seed in range(options.seed, options.seed + options.count):
        found = itertools.chain(wrongs(seed), wrong_optima(seed) if options.optimum else ())
        for text in itertools.islice(found, 20):
            bad += 1
            print(f"seed {seed}: {text}", flush=True)
    seconds = time.perf_counter() - began
    print(f"{options.count} instances, {bad} wrong, {seconds:.0f} s")
    return int(bad > 0)


if __name__ == "__main__":
    raise SystemExit(main())
