"""Refusal scheduling: events a processor second beside simpy and ciw, in one run; how often
confidence intervals hold the truth.

    python benchmarks/bench_numa.py                 # a minute; --quick for a glance
    python benchmarks/bench_numa.py --coverage      # five minutes; --seeds 40 for a glance

One core; the kernel is compiled before a clock starts. An event is an arrival or a core that frees,
two a task, whatever a program does inside. The peers are optional (`pip install simpy ciw`); what
is not installed is left out.

M/M/256: the thesis's server without penalties under IB, one queue of 256 cores, which every program
can do. K-means: the thesis's server with penalties, refusal limit 100; simpy with the same rules,
ciw cannot.
"""

from __future__ import annotations

import sys
import warnings
from collections import deque
from pathlib import Path
from typing import Any

import numpy as np
from form import Rows, parser, timed

from cotenant.catalog import functions
from cotenant.instances.numa import Numa
from cotenant.instances.numa.feasible import reach
from cotenant.instances.numa.generators import blade_server
from cotenant.instances.numa.instance import LEVELS
from cotenant.solvers.numa.engine import simulate
from cotenant.solvers.numa.random_inputs import Draws, draw

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from support.oracles.numa_events import simulate_plainly

LOCAL = functions("numa", "Local")["Local"]

TARGET = 3e6
"""Events a second asked of the compiled simulation."""


def simpy_run(server: Numa, draws: Draws) -> np.ndarray:
    """The same rules as simpy processes: a queue in order of arrival, a core that frees asks it
    from the front.
    """
    import simpy

    world = simpy.Environment()
    idle = [server.cores] * server.processors
    queue: deque[list[int]] = deque()
    start = np.full(draws.tasks, -1.0)
    near = [
        [
            [p for p in range(server.processors) if row[p] == d]
            for d in range(server.blade_distance + 1)
        ]
        for row in server.distance
    ]
    slowdown, distance = server.slowdown.tolist(), server.distance.tolist()
    arrival, service, pick = draws.arrival.tolist(), draws.service.tolist(), draws.pick.tolist()
    location, kind, reaches = draws.location.tolist(), draws.kind.tolist(), draws.reach.tolist()

    def serve(task: int, p: int) -> Any:
        while True:
            start[task] = world.now
            yield world.timeout(service[task] * slowdown[kind[task]][distance[location[task]][p]])
            for entry in queue:
                if (
                    distance[location[entry[0]]][p] <= reaches[entry[0]]
                    or entry[1] >= server.refusal_limit
                ):
                    queue.remove(entry)
                    task = entry[0]
                    break
                entry[1] += 1
            else:
                idle[p] += 1
                return

    def place(task: int) -> int:
        for group in near[location[task]][: reaches[task] + 1]:
            free = sum(idle[p] for p in group)
            if free:
                left = int(pick[task] * free)
                for p in group:
                    left -= idle[p]
                    if left < 0:
                        return int(p)
        return -1

    def arrive() -> Any:
        for task, when in enumerate(arrival):
            yield world.timeout(when - world.now if when > world.now else 0.0)
            p = place(task)
            if p < 0:
                queue.append([task, 0])
            else:
                idle[p] -= 1
                world.process(serve(task, p))

    world.process(arrive())
    world.run()
    return start


def ciw_run(server: Numa, draws: Draws) -> None:
    """M/M/256 in ciw, which draws for itself."""
    import ciw

    network = ciw.create_network(
        arrival_distributions=[ciw.dists.Exponential(rate=server.rate)],
        service_distributions=[ciw.dists.Exponential(rate=1 / server.mean_service)],
        number_of_servers=[server.all_cores],
    )
    ciw.seed(0)
    ciw.Simulation(network).simulate_until_max_customers(draws.tasks, progress_bar=False)


def available(name: str) -> bool:
    """Whether an optional peer can be imported."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            __import__(name)
    except ImportError:
        return False
    return True


def table(
    title: str,
    server: Numa,
    policy: str,
    tasks: int,
    peer_tasks: int,
    repeats: int,
    peers: dict[str, Any],
    rows: Rows,
) -> None:
    """Events a processor second of every program on one system."""
    server = server.replace(name=title)
    reaches = reach(server, policy)
    draws = draw(server, tasks, reaches, np.random.default_rng(0))
    few = draw(server, peer_tasks, reaches, np.random.default_rng(0))
    whole = np.random.default_rng
    runs = [
        ("cotenant, compiled", tasks, lambda: simulate(server, draws)),
        (
            "cotenant, with its draws",
            tasks,
            lambda: simulate(server, draw(server, tasks, reaches, whole(0))),
        ),
        ("cotenant, plain Python", peer_tasks, lambda: simulate_plainly(server, few)),
        *((name, peer_tasks, lambda run=run: run(server, few)) for name, run in peers.items()),
    ]
    own = None
    for name, number, run in runs:
        took = timed(run, repeats)
        speed = 2 * number / took.cpu
        own = own or speed
        rows.add(
            f"{title}: {policy}, {server.rate:g} tasks/s, median of {repeats}", program=name,
            wall=took.wall, cpu=took.cpu, events_per_s=speed, compiled_is=own / speed,
            target=TARGET if name == "cotenant, compiled" else None,
        )  # fmt: skip


COVERAGE = (
    (16, 0.9, 10_000), (16, 0.9, 50_000), (16, 0.9, 200_000), (16, 0.5, 10_000), (16, 0.8, 10_000),
    (16, 0.95, 10_000), (16, 0.95, 50_000), (4, 0.9, 40_000), (1, 0.5, 10_000), (1, 0.9, 50_000),
    (256, 0.95, 100_000),
)  # fmt: skip
"""Cores, load, tasks."""

MEASURED = ("mean", "wait", "p50", "p95", "p99")


def erlang(cores: int, load: float, service: float) -> list[float]:
    """Mean response, mean wait, and the quantiles of the response at LEVELS of M/M/c, by Erlang's
    formulas.
    """
    blocked = 1.0
    for k in range(1, cores + 1):
        blocked = load * cores * blocked / (k + load * cores * blocked)
    waits = blocked / (1 - load + load * blocked)
    drain, work = cores * (1 - load) / service, 1 / service

    def longer(time: float) -> float:
        """Probability of a longer response time, over tasks that wait and tasks that do not."""
        if np.isclose(drain, work):
            late = (1 + work * time) * np.exp(-work * time)
        else:
            late = (drain * np.exp(-work * time) - work * np.exp(-drain * time)) / (drain - work)
        return float((1 - waits) * np.exp(-work * time) + waits * late)

    from scipy.optimize import brentq

    levels = [
        brentq(lambda time, level=level: longer(time) - (1 - level), 0.0, 1e4 * service)
        for level in LEVELS
    ]
    return [waits / drain + service, waits / drain, *levels]


def coverage(cores: int, load: float, tasks: int, seeds: int, rows: Rows) -> None:
    """The share of runs whose intervals hold the closed forms of M/M/c, and how wide the intervals
    are.
    """
    service = 0.04
    server = blade_server(
        benchmark="M11",
        rate=load * cores / service,
        refusal_limit=None,
        blades=1,
        rows=1,
        columns=1,
        cores=cores,
    )
    truth = np.array(erlang(cores, load, service))
    held, width = [], []
    for seed in range(seeds):
        run = LOCAL(server, rng=np.random.default_rng(seed), tasks=tasks).solution
        value = np.array([run.mean_response, run.mean_wait, *run.response])
        error = np.array([run.mean_response_error, run.mean_wait_error, *run.response_error])
        held.append(np.abs(value - truth) <= error)
        width.append(error / truth)
    name = f"M/M/{cores} at {load:g}, {tasks} tasks"
    title = f"share of {seeds} runs whose interval holds the truth; its median half width"
    shares = dict(zip(MEASURED, np.mean(held, axis=0), strict=True))
    halves = dict(zip((f"{what}_half" for what in MEASURED), np.median(width, axis=0), strict=True))
    rows.add(title, system=name, **shares, **halves)


def main() -> None:
    """Print the tables."""
    command = parser(__doc__)
    command.add_argument("--quick", action="store_true", help="a tenth of the tasks, one repeat")
    command.add_argument(
        "--coverage",
        action="store_true",
        help="only how often 95 %% confidence intervals hold the closed form",
    )
    command.add_argument("--seeds", type=int, default=200, help="runs a row of --coverage")
    arguments = command.parse_args()
    rows = Rows(arguments.json)
    if arguments.coverage:
        for cores, load, tasks in COVERAGE:
            coverage(cores, load, tasks, arguments.seeds, rows)
        return
    tasks, few, repeats = (100_000, 5_000, 1) if arguments.quick else (1_000_000, 30_000, 3)
    simulate(blade_server(), draw(blade_server(), 100, 0, np.random.default_rng(0)))  # compile
    simpy_there, ciw_there = available("simpy"), available("ciw")
    alone = {"simpy": simpy_run} if simpy_there else {}
    both = {**alone, "ciw": ciw_run} if ciw_there else alone
    table(
        "M/M/256",
        blade_server(benchmark="M11", rate=6000.0, refusal_limit=None),
        "IB",
        tasks,
        few,
        repeats,
        both,
        rows,
    )
    for policy, rate in (("Local", 5800.0), ("IP-1", 5300.0), ("IP-2", 5200.0), ("IB", 4500.0)):
        table("K-means", blade_server(rate=rate), policy, tasks, few, repeats, alone, rows)
    if simpy_there:
        server = blade_server(rate=5800.0)
        draws = draw(server, few, 0, np.random.default_rng(1))
        same = np.allclose(simpy_run(server, draws), simulate(server, draws).start, atol=1e-9)
        rows.add("simpy and the compiled simulation", what="every task starts at once", holds=same)


if __name__ == "__main__":
    main()
