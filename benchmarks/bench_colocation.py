"""Measure the time of `optimal` for different agents, beside PyMatching and rustworkx.

    python benchmarks/bench_colocation.py [--agents 5000]

Peers run in processes of their own, which 600 processor seconds end (--peer-seconds). The marks:
1,000 points of a plane in .3 s, 2,000 in 1 s, 5,000 in 10 s and 2 GB, never after a peer. The first
call is a warm-up, so imports are not counted.
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
from cotenant.instances.colocation.generators import score_preferences
from cotenant.instances.colocation.objective import mean_penalty
from cotenant.solvers.colocation import optimal

REPEATS = 3

SIZES = (500, 1_000, 2_000)
"""Numbers of agents."""


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
    """Result of `run` in a separate process; None if it exceeds the limit of processor seconds."""
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


def main() -> None:
    """Print a row for each number of agents and family."""
    command = parser(__doc__)
    command.add_argument("--agents", type=int, nargs="+", default=SIZES)
    command.add_argument("--peer", action="append", choices=list(MATCHERS), help="not all peers")
    command.add_argument("--peer-seconds", type=int, default=600)
    asked = command.parse_args()
    peers = asked.peer or tuple(MATCHERS)
    pairing(Rows(asked.json), asked.agents, peers, asked.peer_seconds)


if __name__ == "__main__":
    main()
