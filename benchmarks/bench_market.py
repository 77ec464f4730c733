"""Market equilibrium: seconds and certificate by size, beside Clarabel on the Eisenberg-Gale
program of the same market.

    python benchmarks/bench_market.py           # 1000 users and servers, the peer in the same run
    python benchmarks/bench_market.py --users 100000 --no-peer
    python benchmarks/bench_market.py --users 300000 --no-peer
    python benchmarks/bench_market.py --extremes   # the hard corners: f, cores, work at their ends

Jobs: ten a user, f uniform on (.55, .99), 24 cores a server (--work lognormal varies the work). The
first solve of a process also imports scipy; it is made on a small market and not counted. Memory is
the process's peak, imports included. Clarabel solves another problem (the most Nash welfare); its
time is what one program costs, and fisher-convex needs about eight.
"""

from __future__ import annotations

import argparse
import resource
from functools import partial
from typing import Any

import numpy as np
from form import Rows, Timed, parser, timed

from cotenant.instances.market.generators import population
from cotenant.instances.market.instance import Market
from cotenant.models.market.eisenberg_gale import eisenberg_gale
from cotenant.solvers.engines import solve_convex
from cotenant.solvers.market import fisher


def line(rows: Rows, label: str, run: Timed, told: dict[str, Any]) -> None:
    """One row of the table."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    empty = dict.fromkeys(("status", "regret", "excess_demand", "steps"))
    rows.add("market", what=label, wall=run.wall, cpu=run.cpu, peak_gb=peak, **empty | told)


def told(outcome: Any) -> dict[str, Any]:
    """An equilibrium's certificate."""
    c = outcome.certificate
    steps = ", ".join(f"{rung['rung']} {rung['steps']}" for rung in c["rungs"])
    return {
        "status": outcome.status.value,
        "regret": c["regret"],
        "excess_demand": c["excess_demand"],
        "steps": steps,
    }


def sizes(args: argparse.Namespace, rows: Rows) -> None:
    """The size asked for, `repeats` times, and the peer."""
    run = timed(
        lambda: population(
            users=args.users,
            servers=args.users,
            jobs=args.jobs,
            work=args.work,
            rng=np.random.default_rng(args.seed),
        )
    )
    market: Market = run.value
    line(rows, f"generate {market.users} users, {market.jobs} jobs", run, {})
    for repeat in range(args.repeats):
        run = timed(lambda: fisher(market))
        line(rows, f"fisher, run {repeat + 1}", run, told(run.value))
    if args.peer:
        built = timed(lambda: eisenberg_gale(market))
        line(rows, "Eisenberg-Gale, built", built, {})
        run = timed(lambda: solve_convex(built.value.problem))
        line(rows, "Eisenberg-Gale, CVXPY and Clarabel", run, {"status": run.value.message})


def extremes(args: argparse.Namespace, rows: Rows) -> None:
    """Every corner of fractions, cores and work, at 200 users."""
    for low, high in ((0.0, 0.0), (0.0, 1e-6), (0.55, 0.99), (0.999, 0.999999), (1.0, 1.0)):
        for cores in (0.01, 24.0, 1e6):
            for work in ("one", "lognormal"):
                rng = np.random.default_rng(args.seed)
                market: Market = population(
                    users=200, servers=200, low=low, high=high, cores=cores, work=work, rng=rng
                )
                run = timed(partial(fisher, market))
                label = f"f {low:g} to {high:g}, {cores:g} cores, {work}"
                line(rows, label, run, told(run.value))


def main() -> None:
    """Read the arguments and print the table."""
    command = parser(__doc__)
    command.add_argument("--users", type=int, default=1000, help="users, and as many servers")
    command.add_argument("--jobs", type=int, default=10, help="jobs of each user")
    command.add_argument("--work", choices=("one", "lognormal"), default="one")
    command.add_argument("--repeats", type=int, default=3)
    command.add_argument("--seed", type=int, default=0)
    command.add_argument("--peer", action=argparse.BooleanOptionalAction, default=True)
    command.add_argument("--extremes", action="store_true")
    args = command.parse_args()
    fisher(population(users=20, servers=20, rng=np.random.default_rng(0)))
    (extremes if args.extremes else sizes)(args, Rows(args.json))


if __name__ == "__main__":
    main()
