"""How long the exact methods of colocation take.

    python benchmarks/bench_colocation.py [--only TABLE]
    python benchmarks/bench_colocation.py --only pairing --agents 5000

pairing: peers run in processes of their own, which 600 processor seconds end (--peer-seconds). The
marks: 1,000 points of a plane in .3 s, 2,000 in 1 s, 5,000 in 10 s and 2 GB, never after a peer.

The first call of each is a warm-up, so imports are not counted. Targets stand in the last column.
"""

from __future__ import annotations

import gc
import multiprocessing
import resource
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from importlib.util import find_spec

import numpy as np
from form import Rows, parser, timed

from cotenant.instances.colocation import Colocation
from cotenant.instances.colocation.generators import population, score_preferences
from cotenant.instances.colocation.objective import mean_penalty
from cotenant.models.colocation import penalty_program, stable_program
from cotenant.models.colocation.readable import predictor, stable_model
from cotenant.models.program import from_pyomo
from cotenant.solvers.colocation import find_stable, optimal
from cotenant.solvers.colocation.stable import stable

REPEATS = 3

SIZES = (500, 1_000, 2_000)
"""Agents of `pairing`."""


def types_with_counts(types: int, agents: int, seed: int = 0) -> Colocation:
    """More types than the paper's twenty: sensitivity times pressure with noise, counts at
    random.
    """
    rng = np.random.default_rng(seed)
    penalty = rng.uniform(0.2, 1, types)[:, None] * rng.uniform(0, 0.5, types) + rng.normal(
        0, 0.02, (types, types)
    )
    return Colocation(
        penalty.clip(-0.02, 0.9).round(4), rng.multinomial(agents, np.ones(types) / types)
    )


def different(agents: int, family: str, seed: int = 0) -> Colocation:
    """Agents that all differ."""
    rng = np.random.default_rng(seed)
    if family == "scores":
        return score_preferences(agents=agents, noise=0.15, rng=rng)
    place = rng.random((agents, 2))
    apart = np.hypot(*(place[:, None] - place).transpose(2, 0, 1)) / 2
    return Colocation(
        rng.random((agents, agents)) if family == "uniform" else apart, np.ones(agents, dtype=int)
    )


def twenty(agents: int) -> Colocation:
    """The paper's types."""
    return population(agents=agents, mix="uniform", rng=np.random.default_rng(0))


def stability(rows: Rows) -> None:
    """Is there a pairing without blocking pairs?"""
    for name, made, target in (
        ("20 types, 1,000 agents", twenty(1_000), 1.0),
        ("20 types, 1,000,000 agents", twenty(1_000_000), 1.0),
        ("100 types, 1,000 agents", types_with_counts(100, 1_000), 10.0),
    ):
        for engine in ("highs", "cp-sat"):
            run = partial(find_stable, made, engine=engine)
            run()
            found, wall, cpu = timed(run, REPEATS)
            rows.add(
                "find_stable", instance=name, engine=engine, status=found.status.value, wall=wall,
                cpu=cpu, target=target,
            )  # fmt: skip


def penalty(rows: Rows) -> None:
    """The least mean penalty: by types, and as a least matching of half a million pairs."""
    cases: list[tuple[str, Colocation, float | None]] = [
        (f"20 types, {agents:,} agents", twenty(agents), 0.1) for agents in (1_000, 1_000_000)
    ]
    cases += [
        (f"{agents} different, {family}", different(agents, family), None)
        for family in ("uniform", "scores", "plane")
        for agents in (200, 1_000)
    ]
    for name, made, target in cases:
        optimal(made)
        found, wall, cpu = timed(partial(optimal, made), REPEATS)
        rows.add(
            "optimal", instance=name, status=found.status.value, wall=wall, cpu=cpu, target=target
        )


def by_pymatching(weight: np.ndarray) -> float:
    """A least-weight matching by PyMatching, its graph of all pairs included."""
    import pymatching  # type: ignore[import-not-found]

    graph = pymatching.Matching()
    for a in range(len(weight)):
        for b in range(a):
            graph.add_edge(a, b, weight=weight[a, b])
    pairs = graph.decode_to_edges_array(np.ones(len(weight), dtype=np.uint8))
    return float(weight[pairs[:, 0], pairs[:, 1]].sum())


def by_rustworkx(weight: np.ndarray) -> float:
    """The same by rustworkx, which takes whole numbers: six decimals."""
    import rustworkx  # type: ignore[import-not-found]

    whole = np.round((weight.max() - weight) * 1e6).astype(int)
    graph = rustworkx.PyGraph()
    graph.add_nodes_from(range(len(weight)))
    graph.add_edges_from([(a, b, int(whole[a, b])) for a in range(len(weight)) for b in range(a)])
    pairs = rustworkx.max_weight_matching(graph, max_cardinality=True, weight_fn=int)
    return float(sum(weight[a, b] for a, b in pairs))


MATCHERS = {"pymatching": (by_pymatching, 1_000), "rustworkx": (by_rustworkx, 500)}
"""Each peer's function, and the agents up to which it is run three times: for more it takes seconds
or minutes, and is run once.
"""


def pair_weights(made: Colocation) -> np.ndarray:
    """(n, n) what pairs cost, all raised alike: peers take none below 0."""
    weight: np.ndarray = made.penalty + made.penalty.T + 4.0
    return weight


def limited(run: Callable[[], float], seconds: int) -> float | None:
    """What `run` gives in a process of its own; None where so many processor seconds end it."""
    receiver, sender = multiprocessing.Pipe(duplex=False)

    def child() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        sender.send(run())

    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    process.join()
    return receiver.recv() if process.exitcode == 0 else None


def memory_of(made: Colocation) -> float:
    """The most memory of this process when it has paired, the instance in it, in GB."""
    optimal(made)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def pairing(
    rows: Rows, sizes: Sequence[int] = SIZES, asked: Sequence[str] = tuple(MATCHERS),
    seconds: int = 600,
) -> None:  # fmt: skip
    """Different agents, with PyMatching and rustworkx where they are installed: their times include
    the graph. All find the same total, which rustworkx knows to six decimals a pair.
    """
    found_here = [name for name in asked if find_spec(name)]
    for name in found_here:
        import_module(name)
    for agents in sizes:
        for family in ("uniform", "plane", "scores"):
            made = different(agents, family)
            optimal(made)
            found, _, cpu = timed(partial(optimal, made), REPEATS)
            gc.collect()
            memory = limited(partial(memory_of, made), seconds)
            peers: dict[str, str | float | None] = {}
            least = mean_penalty(made, found.solution) * agents + 2 * agents
            for name, (matched, most) in MATCHERS.items():
                repeats = REPEATS if agents <= most else 1
                if name not in found_here:
                    peers[name] = None
                    continue
                total, _, spent = timed(
                    partial(limited, partial(matched, pair_weights(made)), seconds), repeats
                )
                peers[name] = spent if total else f"> {spent:.0f}"
                assert total is None or abs(total - least) < 1e-6 * agents, (name, total, least)
            rows.add(
                "pairing", instance=f"{agents} different, {family}", status=found.status.value,
                cpu=cpu, memory_GB=memory, **peers,
            )  # fmt: skip


def building(rows: Rows) -> None:
    """The readable statement against the arrays that solvers are given, at 20 types."""
    made = twenty(1_000)
    for name, arrays, readable in (
        ("penalty", penalty_program, predictor),
        ("stable", stable_program, stable_model),
    ):
        arrays(made), from_pyomo(readable(made))
        ours = timed(partial(arrays, made), REPEATS)
        pyomo = timed(lambda readable=readable: from_pyomo(readable(made)), REPEATS)
        rows.add("building a program", program=name, arrays=ours.cpu, pyomo=pyomo.cpu)


def levels(rows: Rows) -> None:
    """The fewest blocking pairs of many types, and the least penalty then: are both proved?"""
    for seed in range(REPEATS):
        run = timed(partial(stable, types_with_counts(100, 1_000, seed), time_limit=60))
        first, second = run.value.certificate["levels"]
        rows.add(
            "stable, both levels", instance="100 types, 1,000 agents", seed=seed,
            blocking_pairs=first["value"], first=first["status"], second=second["status"],
            wall=run.wall, cpu=run.cpu, target=8.0,
        )  # fmt: skip


TABLES = {
    "levels": levels,
    "stability": stability,
    "penalty": penalty,
    "pairing": pairing,
    "building": building,
}


def main() -> None:
    """Run the tables asked for."""
    command = parser(__doc__)
    command.add_argument("--only", action="append", choices=list(TABLES))
    command.add_argument("--agents", type=int, nargs="+", default=SIZES, help="of pairing")
    command.add_argument("--peer", action="append", choices=list(MATCHERS), help="not all peers")
    command.add_argument("--peer-seconds", type=int, default=600)
    asked = command.parse_args()
    rows = Rows(asked.json)
    matchers = partial(pairing, sizes=asked.agents, asked=asked.peer or tuple(MATCHERS))
    tables: dict[str, Callable[[Rows], None]] = {
        **TABLES,
        "pairing": partial(matchers, seconds=asked.peer_seconds),
    }
    for name in asked.only or tables:
        tables[name](rows)


if __name__ == "__main__":
    main()
