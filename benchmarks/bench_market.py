"""Market equilibrium: seconds and certificate by size, beside Clarabel on the Eisenberg-Gale
program of the same market.

    python benchmarks/bench_market.py           # 1000 users and servers, the peer in the same run
    python benchmarks/bench_market.py --users 100000 --no-peer
    python benchmarks/bench_market.py --users 300000 --no-peer
    python benchmarks/bench_market.py --extremes   # the hard corners: f, cores, work at their ends
    python benchmarks/bench_market.py --grid       # 10,000 and 100,000 jobs, 100 to 10,000 servers
    python benchmarks/bench_market.py --users 100000 --servers 1000 --command    # file to answer

Jobs: ten a user, f uniform on (.55, .99), 24 cores a server (--work lognormal varies the work). The
first solve of a process also imports scipy and compiled loops; it is of another market and not
counted. Memory is the process's peak, imports included. Clarabel solves another problem (the most
Nash welfare); its time is what one program costs.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from form import Rows, Timed, parser, timed

import cotenant
from cotenant.instances.market.generators import population
from cotenant.instances.market.instance import Market
from cotenant.models.market.eisenberg_gale import eisenberg_gale
from cotenant.solvers.engines import solve_convex
from cotenant.solvers.market import fisher
from cotenant.solvers.market.scaled_market import COMPILED_FROM, LOADED_FROM


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


def drawn(args: argparse.Namespace) -> Market:
    """Random market of the command's size."""
    return population(
        users=args.users,
        servers=args.servers or args.users,
        jobs=args.jobs,
        work=args.work,
        rng=np.random.default_rng(args.seed),
    )


def sizes(args: argparse.Namespace, rows: Rows) -> None:
    """Measure the command's size `repeats` times, and the peer."""
    run = timed(partial(drawn, args))
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


def by_command(args: argparse.Namespace, rows: Rows) -> None:
    """`cotenant solve` of the market's file, by itself and with its result written."""
    with TemporaryDirectory() as scratch:
        file, out = Path(scratch) / "market.json", Path(scratch) / "result.json"
        cotenant.write(drawn(args), file)
        solve = [sys.executable, "-m", "cotenant", "solve", str(file), "--method", "fisher"]
        for label, options in (("file to answer", []), ("and to its file", ["--out", str(out)])):
            for repeat in range(args.repeats):
                run = timed(
                    partial(subprocess.run, solve + options, check=True, capture_output=True)
                )
                line(rows, f"{label}, run {repeat + 1}", run, {})


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


GRID_JOBS = (10_000, 100_000)
GRID_SERVERS = (100, 1_000, 10_000)


def grid(args: argparse.Namespace, rows: Rows) -> None:
    """Whether the cost grows evenly: jobs against servers, for three kinds of jobs."""
    kinds: dict[str, dict[str, Any]] = {
        "f .55 to .99": {},
        "f 0 to 1, lognormal": {"low": 0.0, "high": 1.0, "work": "lognormal"},
        "f .9 to .9999": {"low": 0.9, "high": 0.9999},
    }
    for label, options in kinds.items():
        for jobs in GRID_JOBS:
            for servers in GRID_SERVERS:
                rng = np.random.default_rng(args.seed)
                market: Market = population(users=jobs // 10, servers=servers, rng=rng, **options)
                runs = [timed(partial(fisher, market)) for _ in range(args.repeats)]
                best = min(runs, key=lambda run: run.cpu)
                line(rows, f"{label}: {jobs} jobs, {servers} servers", best, told(best.value))


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
    command.add_argument("--command", action="store_true", help="from a file, by the command")
    command.add_argument("--grid", action="store_true", help="jobs against servers")
    command.add_argument("--servers", type=int, help="as many as users when not given")
    args = command.parse_args()
    large = args.users * args.jobs >= COMPILED_FROM
    warm = LOADED_FROM // 10 if large else 20  # compiled loops are loaded too
    fisher(population(users=warm, servers=20, rng=np.random.default_rng(0)))
    tables = {"extremes": extremes, "grid": grid, "command": by_command}
    chosen = [table for name, table in tables.items() if getattr(args, name)]
    table = chosen[0] if chosen else sizes
    table(args, Rows(args.json))


if __name__ == "__main__":
    main()
