"""Market equilibrium: seconds and certificate by size, beside Clarabel on the Eisenberg-Gale
program of the same market.

    python benchmarks/bench_market.py                      # 1000 users and servers, the peer in the
    same run python benchmarks/bench_market.py --users 100000 --no-peer python
    benchmarks/bench_market.py --users 300000 --no-peer python benchmarks/bench_market.py --extremes
    # the hard corners: f, cores and work at their ends

Jobs: ten a user, f uniform on (.55, .99), 24 cores a server (--work lognormal varies the work). The
first solve of a process also imports scipy; it is made on a small market and not counted. Memory is
the process's peak, imports included. Clarabel solves another problem (the most Nash welfare); its
time is what one program costs, and fisher-convex needs about eight.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from cotenant.instances.market.generators import population
from cotenant.instances.market.instance import Market
from cotenant.models.market.eisenberg_gale import eisenberg_gale
from cotenant.solvers.engines import solve_convex
from cotenant.solvers.market import fisher


def timed(function: Callable[[], Any]) -> tuple[Any, float]:
    """The value and its wall time."""
    begin = time.perf_counter()
    value = function()
    return value, time.perf_counter() - begin


def line(label: str, seconds: float, text: str) -> None:
    """One row of the table."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"{label:<34}{seconds:>10.3f} s   peak {peak:5.2f} GB   {text}", flush=True)


def told(outcome: Any) -> str:
    """An equilibrium's certificate in one line."""
    c = outcome.certificate
    steps = ", ".join(f"{rung['rung']} {rung['steps']}" for rung in c["rungs"])
    return (
        f"{outcome.status.value}; regret {c['regret']:.1e}, excess demand "
        f"{c['excess_demand']:.1e}; {steps}"
    )


def sizes(args: argparse.Namespace) -> None:
    """The size asked for, `repeats` times, and the peer."""
    market, seconds = timed(
        lambda: population(
            users=args.users,
            servers=args.users,
            jobs=args.jobs,
            work=args.work,
            rng=np.random.default_rng(args.seed),
        )
    )
    line("generate", seconds, f"{market.users} users, {market.servers} servers, {market.jobs} jobs")
    for repeat in range(args.repeats):
        outcome, seconds = timed(lambda: fisher(market))
        line(f"fisher, run {repeat + 1}", seconds, told(outcome))
    if args.peer:
        program, seconds = timed(lambda: eisenberg_gale(market))
        line("Eisenberg-Gale, built", seconds, "")
        answer, seconds = timed(lambda: solve_convex(program.problem))
        line("Eisenberg-Gale, CVXPY and Clarabel", seconds, answer.message)


def extremes(args: argparse.Namespace) -> None:
    """Every corner of fractions, cores and work, at 200 users."""
    for low, high in ((0.0, 0.0), (0.0, 1e-6), (0.55, 0.99), (0.999, 0.999999), (1.0, 1.0)):
        for cores in (0.01, 24.0, 1e6):
            for work in ("one", "lognormal"):
                rng = np.random.default_rng(args.seed)
                market: Market = population(
                    users=200, servers=200, low=low, high=high, cores=cores, work=work, rng=rng
                )
                outcome, seconds = timed(partial(fisher, market))
                line(f"f {low:g} to {high:g}, {cores:g} cores, {work}", seconds, told(outcome))


def main() -> None:
    """Read the arguments and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--users", type=int, default=1000, help="users, and as many servers")
    parser.add_argument("--jobs", type=int, default=10, help="jobs of each user")
    parser.add_argument("--work", choices=("one", "lognormal"), default="one")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--peer", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--extremes", action="store_true")
    args = parser.parse_args()
    fisher(population(users=20, servers=20, rng=np.random.default_rng(0)))
    if args.extremes:
        extremes(args)
    else:
        sizes(args)


if __name__ == "__main__":
    main()
