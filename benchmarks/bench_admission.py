"""Admission: the schemes in milliseconds, the local search, and the optimum's gap after a time
limit.

Run from anywhere:  python benchmarks/bench_admission.py [--jobs 100 --machines 50 --types 10]
[--time-limit 60]

Peers in the same run: HiGHS on the plain assignment program with the same start and the same time,
and (with --cp-sat) CP-SAT on it. Each scheme is timed over several repetitions, the median printed.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from functools import partial

import numpy as np

from cotenant.baselines.admission import POLICIES
from cotenant.instances.admission import Admission, Assignment, total_speed
from cotenant.instances.admission.generators import uniform
from cotenant.solvers.admission.local_search import local_search
from cotenant.solvers.admission.optimal import optimal


def timed(function: Callable[[], Assignment], repetitions: int) -> tuple[float, Assignment]:
    """Median seconds of a call, and its answer."""
    seconds = []
    for _ in range(repetitions):
        begin = time.perf_counter()
        answer = function()
        seconds.append(time.perf_counter() - begin)
    return statistics.median(seconds), answer


def line(name: str, seconds: float, value: float, bound: float, extra: str = "") -> None:
    """One row of the table: the gap is to the best bound of all methods."""
    print(
        f"{name:28s} {1000 * seconds:12.1f} ms {value:14.1f} "
        f"{100 * (bound / value - 1):10.3f} %  {extra}",
        flush=True,
    )


def one(instance: Admission, limit: float, with_cp_sat: bool, repetitions: int) -> None:
    """Time everything on one instance."""
    local_search(
        uniform(machines=2, jobs=3, rng=np.random.default_rng(0)), kicks=1
    )  # compile outside the clock
    optimal(
        uniform(machines=4, jobs=8, rng=np.random.default_rng(0)), route="columns", time_limit=1
    )
    rows = [
        (name, *timed(partial(policy, instance), repetitions)) for name, policy in POLICIES.items()
    ]
    rows.append(("local-search", *timed(partial(local_search, instance, kicks=50), 1)))
    exact: dict[str, dict[str, str]] = {"optimal": {}, "plain program, HiGHS": {"route": "program"}}
    if with_cp_sat:
        exact["plain program, CP-SAT"] = {"route": "program", "engine": "cp-sat"}
    outcomes = []
    for name, options in exact.items():
        begin = time.perf_counter()
        outcome = optimal(
            instance, time_limit=limit, start=POLICIES["proposed"](instance), **options
        )  # type: ignore[arg-type]
        outcomes.append((name, time.perf_counter() - begin, outcome))
    best = min(outcome.bound for _, _, outcome in outcomes if outcome.bound is not None)
    print(f"{'method':28s} {'time':>15s} {'total speed':>14s} {'gap':>12s}")
    for name, seconds, answer in rows:
        line(name, seconds, total_speed(instance, answer), best)
    for name, seconds, outcome in outcomes:
        value = total_speed(instance, outcome.solution)
        own = 100 * (outcome.bound / value - 1)
        line(name, seconds, value, best, f"{outcome.status.value}, its own gap {own:.3f} %")


def main() -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--jobs", type=int, default=100)
    parser.add_argument("--machines", type=int, default=50)
    parser.add_argument("--types", type=int, default=10)
    parser.add_argument("--cores", type=int, default=50)
    parser.add_argument("--threads", type=int, default=200)
    parser.add_argument("--speed", type=float, default=200.0)
    parser.add_argument("--time-limit", type=float, default=60.0)
    parser.add_argument("--instances", type=int, default=1)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--cp-sat", action="store_true")
    given = parser.parse_args()
    for seed in range(1, given.instances + 1):
        instance = uniform(
            machines=given.machines, jobs=given.jobs, types=given.types, cores=given.cores,
            threads=given.threads,
            speed=given.speed, rng=np.random.default_rng(seed),
        )  # fmt: skip
        print(
            f"seed {seed}: {given.jobs} jobs x {given.machines} VMs x {given.types} core "
            f"types, limit {given.time_limit:g} s"
        )
        one(instance, given.time_limit, given.cp_sat, given.repetitions)


if __name__ == "__main__":
    main()
