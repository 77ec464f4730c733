"""Fewest servers against CP-SAT and VPSolver, and the exact play of the game, in one run.

    python benchmarks/bench_packing.py servers [--files FOLDER/*.vbp] [--time-limit 10] \
        [--optima known_optima.csv]
    python benchmarks/bench_packing.py game [--large]
    python benchmarks/bench_packing.py clusters [--nodes 500 --time-limit 60 --seeds 3 --moves 360]
    python benchmarks/bench_packing.py clusters --nodes 60 --vms 570 --prices 7 --time-limit 20
    python benchmarks/bench_packing.py mig --files FOLDER

mig: the fewest cards for the six loads of ParvaGPU (a folder with its profiles and loads), and for
ten and fifty times their rates; processor seconds. The mark: 1 s each of the six.

game --large: three VM types on 300 servers (with 700: --nodes 700), with the peak of memory. The
marks: 3 s at eta 3, 60 s and 1.5 GB at eta 10; 700 servers at eta 10 in 30 minutes and 6 GB.

clusters: rules on where VMs may run, 20 VMs a server, 4 types to 5 servers (or to 100 VMs): the
bound of the aggregate program, the answers of min-servers within 2 % of it and at the end, and with
--moves the fewest moves to so many servers. With --prices so many types of servers have prices:
what min-cost ends with, its gap in percent, processor time and the peak of memory, and the fewest
moves at that cost and at 1 % more. The marks: 60 nodes, 570 VMs, 7 prices within 1 % in 20 s; 500
nodes, 11,000 VMs, 12 prices within 2 % in 60 s and 600 MB.

VPSolver (pip install pyvpsolver six future pympl, built with setuptools < 80; its programs must be
on the PATH) makes its arc-flow graph, which HiGHS solves with one thread and the same time limit;
both parts count. It runs in a process of its own that is ended 5 s after its limit. Seconds are
wall time; times of one run compare with each other and with nothing else.
"""

from __future__ import annotations

import argparse
import csv
import importlib.util
import json
import os
import resource
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from form import Rows, parser, timed

import cotenant
from cotenant.instances.packing import Packing, Placement
from cotenant.instances.packing.formats import vbp
from cotenant.instances.packing.generators import caprara_toth, cluster, few_types, vm_types
from cotenant.instances.packing.mig import mig
from cotenant.instances.packing.placement_constraints import stays
from cotenant.solvers.outcome import Clock
from cotenant.solvers.packing.aggregate import aggregate_bound
from cotenant.solvers.packing.bounds import best_bound
from cotenant.solvers.packing.game.play import fuga
from cotenant.solvers.packing.minimum import min_servers
from cotenant.solvers.packing.moves import fewest_moves
from cotenant.solvers.packing.presolve import presolve


def servers(arguments: argparse.Namespace, rows: Rows) -> None:
    """min-servers, cp-sat and VPSolver on the same instances, one after the other."""
    optima = {}
    if arguments.optima:
        with open(arguments.optima) as stream:
            optima = {row["instance"]: int(row["OPT"]) for row in csv.DictReader(stream)}
    peers = ["min-servers", *[peer for peer in arguments.peers.split(",") if peer]]
    if "vpsolver" in peers and importlib.util.find_spec("pyvpsolver") is None:
        print("pyvpsolver is not installed: left out")
        peers.remove("vpsolver")
    cotenant.solve(
        caprara_toth(number=1, items=10, rng=np.random.default_rng(0)), "min-servers"
    )  # kernels are compiled now
    total: dict[str, list[float]] = {peer: [0, 0, 0.0] for peer in peers}
    for instance in _instances(arguments):
        for peer in peers:
            value, bound, seconds = _run(peer, instance, arguments.time_limit)
            proved = value is not None and bound is not None and value == bound
            known = optima.get(instance.name)
            if known is not None and (
                (value is not None and value < known) or (bound is not None and bound > known)
            ):
                raise SystemExit(
                    f"{peer} contradicts the published optimum of {instance.name}: {value}, "
                    f"{bound}, {known}"
                )
            total[peer][0] += proved
            total[peer][1] += value is not None
            total[peer][2] += seconds
            rows.add(
                "fewest servers", instance=instance.name, peer=peer, servers=value, bound=bound,
                optimum=known, wall=seconds,
            )  # fmt: skip
    for peer, (done, answered, seconds) in total.items():
        rows.add("in all", peer=peer, proved=done, answered=answered, wall=seconds)


def _instances(arguments: argparse.Namespace) -> list[Packing]:
    if arguments.files:
        return [vbp(path) for path in sorted(arguments.files)]
    rng = np.random.default_rng(arguments.seed)
    made = [
        caprara_toth(number=number, items=items, rng=rng)
        for number in (1, 6, 7, 10)
        for items in (30, 60)
    ]
    return [*made, *(few_types(types=types, vms=400, capacity=40, rng=rng) for types in (4, 8))]


def _run(peer: str, instance: Packing, limit: float) -> tuple[int | None, int | None, float]:
    begin = time.perf_counter()
    if peer == "vpsolver":
        content = {
            "capacity": instance.capacity[0].tolist(),
            "demand": instance.demand.tolist(),
            "request": instance.requested.tolist(),
        }
        call = [sys.executable, __file__, "vpsolver", "--time-limit", str(limit)]
        try:
            done = subprocess.run(
                call,
                input=json.dumps(content),
                capture_output=True,
                text=True,
                timeout=limit + 5,
                check=False,
            )
            value, bound = json.loads(done.stdout.strip().splitlines()[-1])
        except (subprocess.TimeoutExpired, json.JSONDecodeError, IndexError):
            value, bound = None, None
        return value, bound, time.perf_counter() - begin
    result = cotenant.solve(instance, peer, time_limit=limit)
    seconds = time.perf_counter() - begin
    value = None if result.objective is None else int(result.objective)
    return value, None if result.bound is None else int(np.ceil(result.bound - 1e-6)), seconds


def vpsolver(arguments: argparse.Namespace, rows: Rows) -> None:
    """The child: one instance from stdin, value and bound to stdout."""
    import highspy
    from pyvpsolver import AFG, MPS, VBP  # type: ignore[import-not-found]

    begin = time.perf_counter()
    content = json.load(sys.stdin)
    model = VBP(
        content["capacity"],
        content["demand"],
        [int(number) for number in content["request"]],
        verbose=False,
    )
    program = MPS(AFG(model, verbose=False), verbose=False)
    solver = highspy.Highs()
    for name, value in (("output_flag", False), ("threads", 1), ("mip_rel_gap", 0.0)):
        solver.setOptionValue(name, value)
    solver.setOptionValue(
        "time_limit", max(0.1, arguments.time_limit - (time.perf_counter() - begin))
    )
    solver.readModel(program.filename)
    solver.run()
    info = solver.getInfo()
    found = solver.getSolution().value_valid and abs(info.objective_function_value) < 1e20
    bound = info.mip_dual_bound
    best = round(info.objective_function_value) if found else None
    print(json.dumps([best, int(np.ceil(bound - 1e-6)) if abs(bound) < 1e20 else None]))


def game(arguments: argparse.Namespace, rows: Rows) -> None:
    """The dynamic program: ten million leaves, and a hundred servers of four classes."""
    rng = np.random.default_rng(arguments.seed)
    small = vm_types(machines=10, resources=2, rng=rng).replace(
        capacity=[[16, 32768], [8, 16384], [4, 8192]], initial=None
    )
    large = Packing(
        capacity=[[16, 32, 30], [4, 8, 50], [4, 4, 20], [8, 16, 40]],  # type: ignore[arg-type]
        demand=[[1, 1, 1], [2, 6, 3], [1, 3, 2]],  # type: ignore[arg-type]
        servers=[25, 25, 25, 25],  # type: ignore[arg-type]
    )
    fuga(small)  # kernels are compiled now
    paper = vm_types(machines=arguments.nodes, resources=2, rng=rng)
    name = f"{arguments.nodes} servers, 3 VM types, 3 classes"
    for text, instance, eta, alpha in (
        [(name, paper, eta, 5.0) for eta in (3, 5, 10)]
        if arguments.large
        else [
            ("ten servers", small, 5, 2.0),
            ("100 servers, 3 VM types, 4 classes", large, 5, 2.0),
        ]
    ):
        run = timed(
            lambda instance=instance, eta=eta, alpha=alpha: fuga(instance, eta=eta, alpha=alpha),  # type: ignore[misc]
            1 if arguments.large else arguments.repeat,
        )
        facts = run.value.certificate
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        rows.add(
            "the game", instance=f"{text}, eta {eta}", leaves=facts["leaves"],
            states=facts["states"], wall=run.wall, cpu=run.cpu, peak_gb=peak / 1e6,
        )  # fmt: skip


def clusters(arguments: argparse.Namespace, rows: Rows) -> None:
    """Bound and answers of clusters with rules on where VMs may run."""
    nodes, limit = arguments.nodes, arguments.time_limit
    cotenant.solve(cotenant.read("packing/cluster-12-40"), "fewest-moves")  # kernels are compiled
    filled = cluster(nodes=20, vms=300, types=20, rng=np.random.default_rng(0))
    cotenant.solve(filled, "min-servers", time_limit=5)
    for seed in range(arguments.seed, arguments.seed + arguments.seeds):
        rng = np.random.default_rng(seed)
        instance = cluster(nodes=nodes, vms=20 * nodes, types=4 * nodes // 5, rng=rng)
        problem = presolve(instance)
        bound = timed(lambda problem=problem: aggregate_bound(problem, Clock()))  # type: ignore[misc]
        begin = time.perf_counter()
        result = cotenant.solve(instance, "min-servers", time_limit=limit, seed=seed)
        seconds = time.perf_counter() - begin
        near = next(
            (at for at, value, low in result.trace if value and low and value <= 1.02 * low), None
        )
        rows.add(
            "fewest servers of a cluster", instance=instance.name, seed=seed,
            vms=int(instance.requested.sum()), volume=best_bound(problem)[0],
            bound=bound.value.bound, closed=bound.value.closed, bound_wall=bound.wall,
            servers=result.objective, proved=result.bound, within_2_percent=near, wall=seconds,
        )  # fmt: skip
        if arguments.moves:
            begin = time.perf_counter()
            result = cotenant.solve(
                instance, "fewest-moves", time_limit=limit, seed=seed, servers=arguments.moves
            )
            rows.add(
                "fewest moves", instance=instance.name, seed=seed, servers=arguments.moves,
                moves=result.objective, proved=result.bound, wall=time.perf_counter() - begin,
            )  # fmt: skip


def slices(arguments: argparse.Namespace, rows: Rows) -> None:
    """Fewest cards for services on MIG slices."""
    [folder] = arguments.files
    min_servers(mig(folder))  # kernels are compiled
    for load in range(1, 7):
        for times in (1, 10, 50):
            given = mig(folder, load=load)
            more = [replace(service, rate=service.rate * times) for service in given.services]
            begin = time.process_time()
            found = min_servers(given.replace(services=more), time_limit=arguments.time_limit)
            rows.add(
                "fewest cards", load=load, rates=times, proved=found.bound,
                servers=found.solution and found.solution.servers, by=found.certificate["bound_by"],
                cpu=time.process_time() - begin,
            )  # fmt: skip


def prices(arguments: argparse.Namespace, rows: Rows) -> None:
    """Least cost of clusters whose servers have prices, and the fewest moves at about that cost."""
    nodes, limit = arguments.nodes, arguments.time_limit
    vms = arguments.vms or 20 * nodes
    cotenant.solve(cotenant.read("packing/cluster-12-40"), "fewest-moves")  # kernels are compiled
    for seed in range(arguments.seed, arguments.seed + arguments.seeds):
        rng = np.random.default_rng(seed)
        made = cluster(nodes=nodes, vms=vms, types=4 * nodes // 5, rng=rng)
        base = made.capacity[:, 0] / 1000 * 0.04 + made.capacity[:, 1] / 1024 * 0.005
        factor = rng.uniform(0.7, 1.4, arguments.prices)[np.arange(made.classes) % arguments.prices]
        instance = made.replace(cost=np.round(10_000 * base * factor).astype(np.int64))
        assert instance.placed is not None
        now = instance.server_class[np.unique(instance.placed[:, 0])]
        begin, load = time.process_time(), os.getloadavg()[0]
        result = cotenant.solve(instance, "min-cost", time_limit=limit, seed=seed)
        assert result.objective is not None
        assert result.bound is not None
        rows.add(
            "least cost of a cluster", instance=instance.name, seed=seed, vms=vms,
            now=int(instance.server_cost[now].sum()), cost=int(result.objective),
            proved=int(result.bound), gap=round(100 * (result.objective / result.bound - 1), 2),
            found_by=result.certificate.get("answer_by") or result.certificate["found_by"],
            cpu=time.process_time() - begin, load=load,
            megabytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        )  # fmt: skip
        for more in (1.0, 1.01):
            begin = time.process_time()
            moves = fewest_moves(
                instance, time_limit=limit / 2, cost=int(more * result.objective),
                start=result.solution,
            )  # fmt: skip
            assert isinstance(moves.solution, Placement)
            _, left = stays(instance, moves.solution.count, moves.solution.server_class)
            rows.add(
                "fewest moves at a cost", instance=instance.name, seed=seed, of_least=more,
                moves=left, proved=moves.bound, cpu=time.process_time() - begin,
            )  # fmt: skip


def main() -> None:
    """Parse and run."""
    command = parser(__doc__)
    command.add_argument("what", choices=["servers", "game", "clusters", "vpsolver", "mig"])
    command.add_argument("--files", nargs="*", type=Path, default=[])
    command.add_argument("--optima", type=Path)
    command.add_argument("--peers", default="cp-sat,vpsolver")
    command.add_argument("--time-limit", type=float, default=10.0)
    command.add_argument("--seed", type=int, default=0)
    command.add_argument("--repeat", type=int, default=7)
    command.add_argument("--nodes", type=int)
    command.add_argument("--large", action="store_true")
    command.add_argument("--seeds", type=int, default=3)
    command.add_argument("--moves", type=int)
    command.add_argument("--prices", type=int)
    command.add_argument("--vms", type=int)
    arguments = command.parse_args()
    arguments.nodes = arguments.nodes or (300 if arguments.what == "game" else 500)
    runs = {"servers": servers, "game": game, "clusters": clusters, "vpsolver": vpsolver}
    runs["mig"] = slices
    run = prices if arguments.prices else runs[arguments.what]
    run(arguments, Rows(arguments.json))


if __name__ == "__main__":
    main()
