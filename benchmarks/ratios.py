"""A quick peer for each problem in the same run, as ratios that a stored baseline is compared with.

    python benchmarks/ratios.py                                   # the table, beside baseline.json
    python benchmarks/ratios.py --json now.json --only market     # ... and as JSON
    python benchmarks/ratios.py --json benchmarks/baseline.json   # a new baseline

Ours and the peer take turns, so that whatever else runs slows both; a ratio is the median of the
peer's processor seconds over the median of ours. Exits with 1 when a ratio fell below half of the
baseline's. The detailed tables are those of bench_*.py.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from form import parser, timed

import cotenant

BASELINE = Path(__file__).with_name("baseline.json")
LOST = 0.5
"""The part of a stored ratio below which something became slower."""

Pair = tuple[str, Callable[[], Any], Callable[[], Any]]
"""What the peer is, ours, the peer."""


def colocation() -> Pair:
    import networkx

    from cotenant.instances.colocation import Colocation
    from cotenant.solvers.colocation import optimal

    penalty = np.random.default_rng(0).random((120, 120)).round(6)
    graph = networkx.Graph()
    graph.add_weighted_edges_from(
        (a, b, penalty[a, b] + penalty[b, a]) for a in range(120) for b in range(a)
    )
    return (
        "networkx, least matching",
        lambda: optimal(Colocation(penalty, [1] * 120)),
        lambda: networkx.min_weight_matching(graph),
    )


def market() -> Pair:
    from cotenant.instances.market.generators import population
    from cotenant.models.market.eisenberg_gale import eisenberg_gale
    from cotenant.solvers.engines import solve_convex
    from cotenant.solvers.market import fisher

    given = population(users=200, servers=200, jobs=10, rng=np.random.default_rng(0))
    return (
        "Clarabel on Eisenberg-Gale",
        lambda: fisher(given),
        lambda: solve_convex(eisenberg_gale(given).problem),
    )


def packing() -> Pair:
    instance = cotenant.read("packing/few-types-6-300")
    return (
        "CP-SAT",
        lambda: cotenant.solve(instance, "min-servers"),
        lambda: cotenant.solve(instance, "cp-sat", time_limit=5),
    )


def admission() -> Pair:
    from cotenant.instances.admission.generators import uniform
    from cotenant.solvers.admission.optimal import optimal

    instance = uniform(machines=8, jobs=24, types=3, rng=np.random.default_rng(0))
    return (
        "HiGHS on the plain program",
        lambda: optimal(instance),
        lambda: optimal(instance, route="program", time_limit=10),
    )


def scheduling() -> Pair:
    from cotenant.instances.scheduling.generators import workload
    from cotenant.solvers.scheduling.ref_reference import plain_ref
    from cotenant.solvers.scheduling.shapley_schedule import play_ref

    made = workload(
        organizations=4,
        machines=6,
        jobs=40,
        horizon=60,
        batch=4,
        load=1.5,
        rng=np.random.default_rng(0),
    )
    return "REF in plain Python", lambda: play_ref(made), lambda: plain_ref(made)


def numa() -> Pair:
    from bench_numa import draw, reach, simpy_run  # type: ignore[import-not-found]

    from cotenant.solvers.numa.engine import simulate

    server = cotenant.read("numa/kmeans")
    reaches = reach(server, "IB")
    draws = draw(server, 20_000, reaches, np.random.default_rng(0))
    return "simpy", lambda: simulate(server, draws), lambda: simpy_run(server, draws)


PAIRS: tuple[Callable[[], Pair], ...] = (colocation, market, packing, admission, scheduling, numa)


def measured(pair: Callable[[], Pair], repeats: int) -> dict[str, Any]:
    """Medians of ours and the peer, in turns, after one warm-up of ours."""
    peer, ours, theirs = pair()
    ours()
    seconds: dict[str, list[float]] = {"ours": [], "peer": []}
    for _ in range(repeats):
        for name, call in (("ours", ours), ("peer", theirs)):
            seconds[name].append(timed(call).cpu)
    own, other = (statistics.median(each) for each in seconds.values())
    return {"name": pair.__name__, "peer": peer, "ours": own, "theirs": other, "ratio": other / own}


def main() -> int:
    """Measure, print, compare."""
    command = parser(__doc__)
    command.add_argument("--only", action="append", choices=[pair.__name__ for pair in PAIRS])
    command.add_argument("--repeats", type=int, default=5)
    command.add_argument("--baseline", type=Path, default=BASELINE)
    asked = command.parse_args()
    stored = (
        {row["name"]: row for row in json.loads(asked.baseline.read_text())}
        if asked.baseline.exists()
        else {}
    )
    rows, lost = [], []
    print(f"{'':11} {'ours s':>10} {'peer s':>10} {'ratio':>8} {'stored':>8}  peer")
    for pair in PAIRS:
        if asked.only and pair.__name__ not in asked.only:
            continue
        row = measured(pair, asked.repeats)
        before = stored.get(row["name"], {}).get("ratio")
        if before is not None and row["ratio"] < LOST * before:
            lost.append(row["name"])
        shown = "-" if before is None else f"{before:.1f}"
        print(
            f"{row['name']:11} {row['ours']:10.5f} {row['theirs']:10.5f} {row['ratio']:8.1f} "
            f"{shown:>8}  {row['peer']}",
            flush=True,
        )
        rows.append(row)
    if asked.json is not None:
        asked.json.write_text(json.dumps(rows, indent=1) + "\n")
    if lost:
        print(f"below {LOST:g} of the stored ratio: {', '.join(lost)}")
    return bool(lost)


if __name__ == "__main__":
    sys.exit(main())
