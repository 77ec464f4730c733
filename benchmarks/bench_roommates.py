"""Stable roommates: how fast the fewest blocking pairs are proved, and Irving's algorithm beside
other programs.

    python benchmarks/bench_roommates.py            # minutes; --quick for a glance
    python benchmarks/bench_roommates.py --irving   # seconds

One core; every kernel is compiled before a clock starts, and reading the matrix of ranks is part of
the time. Each row names its family:

uniform: lists drawn uniformly. scores .15: cost of j to i = s_i c_j + noise, uniform on 0 to .15 of
the range of s_i c_j. degree 8: each pair acceptable with probability 8 / (n - 1), costs uniform;
over perfect matchings where there are any.

The table with ties rounds the costs of a family to some decimals; its seconds are of the processor,
so that load does not count.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from form import Rows, parser, timed

from cotenant.instances.colocation.stability import better_partners
from cotenant.solvers.roommates import (
    fewest_blocking_pairs,
    fewest_with_ties,
    irving,
    ranks_from_cost,
    stable_partition,
    weak_lists,
)

# family, agents, seconds allowed, what is asked: (share proved, within how many seconds)
SEARCHES: list[tuple[str, int, float, tuple[float, float] | None]] = [
    ("uniform", 100, 60, (1.0, 0.5)),
    ("uniform", 200, 60, (1.0, 0.5)),
    ("uniform", 500, 60, (0.95, 5)),
    ("uniform", 1000, 60, (0.95, 5)),
    ("scores .15", 100, 60, (1.0, 0.5)),
    ("scores .15", 200, 60, (1.0, 0.5)),
    ("scores .15", 500, 60, (0.95, 5)),
    ("scores .15", 1000, 60, (0.95, 5)),
    ("scores .05", 100, 60, (1.0, 2)),
    ("scores .03", 100, 60, (1.0, 2)),
    ("scores .01", 100, 60, (1.0, 2)),
    ("scores .05", 300, 60, None),
    ("scores .03", 300, 60, None),
    ("scores .01", 300, 60, None),
    ("degree 20", 100, 60, None),
    ("degree 8", 100, 60, None),
]


# family, agents, decimals, least gain, what is asked: (share proved, within how many seconds)
TIED: list[tuple[str, int, int, float, tuple[float, float] | None]] = [
    ("uniform", 200, 6, 0, (1.0, 1)),
    ("uniform", 500, 6, 0, (1.0, 5)),
    ("uniform", 500, 4, 0, (1.0, 5)),
    ("uniform", 500, 3, 0, None),
    ("uniform", 500, 2, 0, None),
    ("uniform", 1000, 4, 0, None),
    ("scores .15", 200, 3, 0, None),
    ("scores .15", 500, 4, 0, None),
    ("scores .15", 500, 2, 0, None),
    ("scores .03", 100, 3, 0, None),
    ("scores .03", 300, 4, 0, None),
    ("scores .01", 300, 3, 0, None),
    ("uniform", 100, 9, 0.01, None),
    ("scores .15", 100, 9, 0.002, None),
    ("scores .03", 300, 9, 0.002, None),
]


def instance(family: str, agents: int, seed: int) -> Any:
    """The matrix of ranks of one instance."""
    return ranks_from_cost(costs(family, agents, seed))


def costs(family: str, agents: int, seed: int) -> Any:
    """The matrix of costs of one instance."""
    rng = np.random.default_rng([seed, agents])
    kind, _, number = family.partition(" ")
    if kind == "scores":
        cost = np.outer(rng.random(agents), rng.random(agents))
        cost = cost + float(number) * (cost.max() - cost.min()) * rng.random((agents, agents))
    else:
        cost = rng.random((agents, agents))
    if kind == "degree":
        allowed = np.triu(rng.random((agents, agents)) < float(number) / (agents - 1), 1)
        cost[~(allowed | allowed.T)] = np.inf
    return cost


def search_table(seeds: int, limit: float, only: str, rows: Rows) -> None:
    """One row per family and size."""
    title = f"fewest blocking pairs, {seeds} instances each, at most {limit:g} s each"
    for family, agents, allowed, asked in SEARCHES:
        if only not in family:
            continue
        seconds, above, proved, feasible = [], [], 0, 0
        for seed in range(seeds):
            rank = instance(family, agents, seed)
            began = time.perf_counter()
            found = fewest_blocking_pairs(rank, time_limit=min(allowed, limit))
            seconds.append(time.perf_counter() - began)
            feasible += found.feasible
            if found.feasible and found.proved and found.value is not None:
                proved += 1
                above.append(found.value - found.partition.bound())
        share, within = asked or (None, None)
        met = (
            None
            if within is None
            else bool(
                np.mean([second <= within for second in seconds]) >= share
                and proved >= share * feasible
            )
        )
        rows.add(
            title, family=family, agents=agents, feasible=feasible, proved=proved,
            most_above_bound=max(above, default=0), wall=np.median(seconds),
            wall_95=np.quantile(seconds, 0.95), most_wall=max(seconds), asked_share=share,
            asked_within=within, met=met,
        )  # fmt: skip


def ties_table(seeds: int, limit: float, only: str, rows: Rows) -> None:
    """One row per family, size and number of decimals."""
    title = f"fewest blocking pairs with ties, {seeds} instances each, at most {limit:g} s each"
    for family, agents, decimals, least, asked in TIED:
        if only not in family:
            continue
        seconds, ties, proved, values = [], [], 0, []
        for seed in range(seeds):
            cost = costs(family, agents, seed).round(decimals)
            began = time.process_time()
            lists = weak_lists(cost, partial(better_partners, alpha=least))
            found = fewest_with_ties(lists, time_limit=limit)
            seconds.append(time.process_time() - began)
            ties.append(np.count_nonzero(lists.better != lists.place))
            proved += found.proved
            values.append(int(found.value or 0))
        share, within = asked or (None, None)
        rows.add(
            title, family=family, agents=agents, decimals=decimals, alpha=least,
            ties=np.mean(ties), proved=proved, fewest=f"{min(values)}-{max(values)}",
            cpu=np.median(seconds), most_cpu=max(seconds), asked_share=share,
            asked_within=within,
            met=None if within is None else max(seconds) <= within and proved >= share * seeds,
        )  # fmt: skip


def peers_of_irving() -> dict[str, Callable[[dict[int, list[int]]], Any]]:
    """Other programs that are installed: lists of agents 1 to n -> a stable matching, or None."""
    found: dict[str, Callable[[dict[int, list[int]]], Any]] = {}
    try:
        from algmatch import StableRoommatesProblem

        found["algmatch"] = lambda lists: StableRoommatesProblem(
            dictionary=lists
        ).get_stable_matching()
    except ImportError:
        print("\nalgmatch is not installed: its column stays empty (pip install algmatch)")
    try:
        from matching.games import StableRoommates  # type: ignore[import-not-found]

        def by_matching(lists: dict[int, list[int]]) -> Any:
            sys.setrecursionlimit(100_000)  # it copies its players deeply
            with warnings.catch_warnings():  # it warns where there is no stable matching
                warnings.simplefilter("ignore")
                pairs = StableRoommates.create_from_dictionary(lists).solve()
            return pairs if pairs and None not in pairs.values() else None

        found["matching"] = by_matching
    except ImportError:
        print("\nmatching is not installed: its column stays empty (pip install matching)")
    return found


def irving_table(sizes: list[int], peer_most: int, rows: Rows) -> None:
    """Irving's algorithm here, and in algmatch and matching (pure Python) up to a size."""
    peers = peers_of_irving()
    title = "Irving's algorithm, uniform lists, processor seconds, in which peers read the lists"
    for agents in sizes:
        rank = instance("uniform", agents, 0)
        ours = timed(partial(irving, rank), 5)
        partition = timed(partial(stable_partition, rank), 5)
        theirs: dict[str, Any] = dict.fromkeys(("algmatch", "matching"))
        agree = None
        if agents <= peer_most:
            for name, call in peers.items():
                lists = {
                    i + 1: [int(j) + 1 for j in np.argsort(rank[i])[:-1]] for i in range(agents)
                }
                run = timed(partial(call, lists))
                theirs[name] = run.cpu
                agree = agree is not False and (run.value is not None) == ours.value.stable
        rows.add(
            title, agents=agents, stable=bool(ours.value.stable), cotenant=ours.cpu,
            partition=partition.cpu, **theirs, agree=agree, asked=0.2 if agents == 2000 else None,
        )  # fmt: skip


def main() -> None:
    """Parse the options and print the tables."""
    command = parser(__doc__)
    command.add_argument("--seeds", type=int, default=20, help="instances per line (default 20)")
    command.add_argument(
        "--limit", type=float, default=60.0, help="seconds per instance (default 60)"
    )
    command.add_argument("--family", default="", help="only families whose name contains this")
    command.add_argument(
        "--peer-most",
        type=int,
        default=500,
        help="largest instance given to algmatch and matching (default 500)",
    )
    command.add_argument("--quick", action="store_true", help="5 instances, 5 seconds")
    command.add_argument(
        "--irving", action="store_true", help="only Irving's algorithm beside other programs"
    )
    options = command.parse_args()
    rows = Rows(options.json)
    if options.quick:
        options.seeds, options.limit, options.peer_most = 5, 5.0, 200
    fewest_blocking_pairs(instance("uniform", 20, 0))  # kernels are compiled now
    irving(instance("uniform", 4, 0))
    if options.irving:
        irving_table([100, 200, 500], options.peer_most, rows)
        return
    search_table(options.seeds, options.limit, options.family, rows)
    fewest_with_ties(weak_lists(np.ones((4, 4)), better_partners))
    ties_table(options.seeds, options.limit, options.family, rows)
    if not options.family:
        irving_table([100, 200, 500, 1000, 2000], options.peer_most, rows)


if __name__ == "__main__":
    main()
