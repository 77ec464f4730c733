"""Answer on Kubernetes states of the shape that packing's `cluster` draws.

    python benchmarks/bench_advice.py [--nodes 500] [--time-limit 60] [--seeds 3] [--pinned 0.02]
    python benchmarks/bench_advice.py --write state.json    # for `cotenant advise nodes`
    python benchmarks/bench_advice.py --gpus                # gangs of 64 cards on 500 nodes of 8

20 pods and 4 services to 5 nodes (or to 100 pods), four pools, three zones; required anti-affinity
by node, spreads over zones, selectors. Besides: two DaemonSets, budgets that allow a tenth, pods
without controller (`--pinned`: this share of all) and with volumes that are not in the file (as
many), some pods that finished or wait. Every row: seconds of reading and of advice (everything
after reading, which is what the time limit is of) and their processor time, the nodes in use,
enough and needed (in any case, and while the pinned stay), moves and the bound on them, waves, and
the peak of memory of the process so far. The marks: within the time limit; up to 100 nodes within
one node of the bound while the pinned stay (in 10 s), above within 2 % of it (in 60 s).
"""

from __future__ import annotations

import json
import resource
import tempfile
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from form import Rows, parser
from made_clusters import MIXES, gpu_state

from cotenant.cluster.judge.default_scheduler import SCORINGS, left_pending
from cotenant.cluster.plan.buy import buy
from cotenant.cluster.plan.fit import fit
from cotenant.cluster.plan.gpus import gpus
from cotenant.cluster.plan.nodes import advise
from cotenant.cluster.plan.safe import safe
from cotenant.cluster.state.kubernetes import kubernetes_state
from cotenant.cluster.state.new_pods import with_shape
from cotenant.cluster.state.node_types import NodeType
from cotenant.cluster.state.reading import read_state
from cotenant.cluster.state.state import ClusterState, Node, Pod, Role
from cotenant.instances.packing.generators import cluster

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
DAEMONS = {"network": (100, 128), "logs": (50, 200)}
"""CPU [m] and memory [MiB] of what runs on every node."""


def state(nodes: int, pinned: float, seed: int) -> dict[str, Any]:
    """A mixed List, as kubectl prints it."""
    rng = np.random.default_rng(seed)
    drawn = cluster(nodes=nodes, vms=20 * nodes, types=max(4 * nodes // 5, 1), rng=rng)
    assert drawn.allowed is not None
    assert drawn.placed is not None
    assert drawn.most_per_server is not None
    assert drawn.skew is not None
    of, names = drawn.server_class, drawn.server_names
    extra = np.sum(list(DAEMONS.values()), axis=0)
    items = [
        {
            "kind": "Node",
            "metadata": {
                "name": name,
                "labels": {
                    HOST: name,
                    ZONE: drawn.zone[c],
                    "pool": drawn.class_names[c].rpartition("-")[0],
                },
            },
            "status": {
                "allocatable": {
                    "cpu": f"{drawn.capacity[c, 0] + extra[0]}m",
                    "memory": f"{drawn.capacity[c, 1] + extra[1]}Mi",
                    "pods": str(drawn.capacity[c, 2] + len(DAEMONS)),
                },
                "conditions": [{"type": "Ready", "status": "True"}],
            },
        }
        for name, c in zip(names, of.tolist(), strict=True)
    ]
    for daemon, (cpu, memory) in DAEMONS.items():
        items += [
            _pod(f"{daemon}-{name}", "DaemonSet", daemon, name, cpu, memory) for name in names
        ]
    specs = [_rules(drawn, i) for i in range(drawn.types)]
    number = [0] * drawn.types
    for server, i, vms in drawn.placed.tolist():
        for _ in range(vms):
            service, (cpu, memory, _) = drawn.names[i], drawn.demand[i].tolist()
            kind, spec = "ReplicaSet", dict(specs[i])
            draw = rng.random()
            if draw < pinned:
                kind = ""
            elif draw < 2 * pinned:
                claim = {"claimName": f"{service}-{number[i]}"}
                spec["volumes"] = [{"name": "data", "persistentVolumeClaim": claim}]
            name = f"{service}-{number[i]}"
            items.append(_pod(name, kind, service, names[server], cpu, memory, **spec))
            number[i] += 1
    for place in range(nodes // 10):
        items.append(_pod(f"job-{place}", "Job", "job", names[0], 100, 100, phase="Succeeded"))
        items.append(_pod(f"next-{place}", "Job", "next", "", 1000, 1000, phase="Pending"))
    items += [
        {
            "kind": "PodDisruptionBudget",
            "metadata": {"name": service, "namespace": "default"},
            "spec": {"selector": {"matchLabels": {"app": service}}},
            "status": {"disruptionsAllowed": -(-number[i] // 10)},
        }
        for i, service in enumerate(drawn.names)
        if number[i] > 1
    ]
    for item in items:
        item["apiVersion"] = "policy/v1" if item["kind"] == "PodDisruptionBudget" else "v1"
    return {"apiVersion": "v1", "kind": "List", "items": items}


def _rules(drawn: Any, i: int) -> dict[str, Any]:
    """Placement constraints in the pod template of a service."""
    mine = {"labelSelector": {"matchLabels": {"app": drawn.names[i]}}}
    spec: dict[str, Any] = {}
    if drawn.most_per_server[i] == 1:
        required = "requiredDuringSchedulingIgnoredDuringExecution"
        term = mine | {"topologyKey": HOST}
        spec["affinity"] = {"podAntiAffinity": {required: [term]}}
    if np.isfinite(drawn.skew[i]):
        spread = {"maxSkew": int(drawn.skew[i]), "topologyKey": ZONE}
        spec["topologySpreadConstraints"] = [mine | spread | {"whenUnsatisfiable": "DoNotSchedule"}]
    there = np.flatnonzero(drawn.allowed[i])
    zones = {drawn.zone[c] for c in there}
    pools = {drawn.class_names[c].rpartition("-")[0] for c in there}
    if len(zones) == 1:
        spec["nodeSelector"] = {ZONE: zones.pop()}
    elif len(pools) == 1:
        spec["nodeSelector"] = {"pool": pools.pop()}
    return spec


def _pod(
    name: str, owner: str, app: str, node: str, cpu: int, memory: int, phase: str = "Running",
    **spec: Any,
) -> dict[str, Any]:  # fmt: skip
    about: dict[str, Any] = {"name": name, "namespace": "default", "labels": {"app": app}}
    if owner:
        about["ownerReferences"] = [{"kind": owner, "name": app, "controller": True}]
    requests = {"cpu": f"{cpu}m", "memory": f"{memory}Mi"}
    containers = [{"name": "main", "resources": {"requests": requests}}]
    return {
        "kind": "Pod",
        "metadata": about,
        "spec": {"containers": containers, **({"nodeName": node} if node else {}), **spec},
        "status": {"phase": phase},
    }


def capacity(rows: Rows, nodes: int, seed: int) -> None:
    """Whether 300 pods fit, in 10 s; and the cheapest nodes for 10,000 pods, in 60 s."""
    for shape in ("cpu=6,memory=8Gi", "cpu=10,memory=8Gi", "cpu=14,memory=20Gi"):
        read = kubernetes_state({"state.json": state(nodes, 0.02, seed)})
        begin = time.process_time()
        found = fit(with_shape(read, shape, 300), time_limit=10)
        rows.add(
            "fit", nodes=nodes, seed=seed, shape=shape, pods=len(found.pods), fits=found.status,
            now=len(found.arrivals), most_now=found.fits.bound,
            most=len(found.pods) - found.waits.bound,
            moves=len(found.plan.targets) if found.plan else None,
            processor=time.process_time() - begin,
        )  # fmt: skip
    rng = np.random.default_rng(seed)
    sizes = [
        {"cpu": int(rng.choice([100, 250, 500, 1000, 2000, 4000])),
         "memory": int(rng.integers(1, 65)) * 2**28, "pods": 1}
        for _ in range(100)
    ]  # fmt: skip
    pods = tuple(Pod("ns", f"p{n}", "", sizes[n % 100], Role.PENDING) for n in range(10_000))
    types = [
        NodeType(
            Node(
                f"{name}.{cpu}",
                {"cpu": 1000 * cpu - 200, "memory": (cpu * ratio - 1) * 2**30, "pods": 110},
                price=Fraction(round(price * cpu * (1 + 0.01 * rng.random()), 4)).limit_denominator(
                    10**4
                ),
            )
        )
        for name, ratio, price in (
            ("c", 2, 0.0425),
            ("m", 4, 0.048),
            ("r", 8, 0.063),
            ("t", 4, 0.038),
        )
        for cpu in (2, 4, 8, 16, 32)
    ]
    begin = time.process_time()
    bought = buy(ClusterState("kubernetes", "state", (), pods), types, time_limit=60)
    assert bought.cost is not None
    gap = float(bought.cost.value / bought.cost.bound - 1)
    rows.add(
        "buy", seed=seed, pods=10_000, types=20, waiting=len(bought.waiting),
        cost=float(bought.cost.value), gap=gap, mark=gap <= 0.01,
        processor=time.process_time() - begin,
    )  # fmt: skip


def room_for_gangs(rows: Rows, nodes: int, seeds: range, seconds: float) -> None:
    """The fewest moves that admit a gang of 64 cards, anywhere and in one rack: in 60 s, proved."""
    for seed in seeds:
        for mix in MIXES:
            read = kubernetes_state({"state.json": gpu_state(nodes, 6 * nodes, mix=mix, seed=seed)})
            for topology in ("", "rack"):
                begin, wall = time.process_time(), time.perf_counter()
                found = gpus(read, topology=topology, time_limit=seconds)
                wall = time.perf_counter() - wall
                [gang], [use] = found.steps, found.room
                plan = gang.plan
                moves = None if plan is None else len(plan.targets)
                waves = None if plan is None else len(plan.order.waves)
                rows.add(
                    "gpus", nodes=nodes, seed=seed, mix=mix, topology=topology,
                    pods=len(read.pods), free=use.free, moves=moves,
                    fewest=None if plan is None else plan.moves.bound,
                    fewest_pinned=None if plan is None else plan.moves.pinned,
                    impossible=gang.impossible, waves=waves,
                    wall=wall, processor=time.process_time() - begin, in_time=wall <= seconds,
                    mark=bool(gang.impossible) or (
                        plan is not None and moves == plan.moves.pinned
                    ),
                    memory_mb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
                )  # fmt: skip


def main() -> None:
    """Advise on states of one size, or write one."""
    command = parser(__doc__)
    command.add_argument("--nodes", type=int, default=500)
    command.add_argument("--time-limit", type=float, help="10 up to 100 nodes, 60 above")
    command.add_argument("--pinned", type=float, default=0.02)
    command.add_argument("--seed", type=int, default=0)
    command.add_argument("--seeds", type=int, default=3)
    command.add_argument("--write", type=Path)
    command.add_argument("--gpus", action="store_true", help="room for gangs of GPUs")
    command.add_argument("--capacity", action="store_true", help="room for pods, nodes to buy")
    asked = command.parse_args()
    if asked.write is not None:
        asked.write.write_text(json.dumps(state(asked.nodes, asked.pinned, asked.seed)))
        return
    few = asked.nodes <= 100
    if asked.capacity:
        capacity(Rows(asked.json), asked.nodes, asked.seed)
        return
    seconds = asked.time_limit or (10.0 if few else 60.0)
    if asked.gpus:
        seeds = range(asked.seed, asked.seed + asked.seeds)
        room_for_gangs(Rows(asked.json), asked.nodes, seeds, seconds)
        return
    rows = Rows(asked.json)
    advise(read_state(["state/shop"]))  # kernels are compiled
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(asked.seed, asked.seed + asked.seeds):
            file = Path(folder) / "state.json"
            file.write_text(json.dumps(state(asked.nodes, asked.pinned, seed)))
            begin, processor = time.perf_counter(), time.process_time()
            given = read_state([str(file)])
            read = time.perf_counter()
            found = advise(given, time_limit=seconds)
            wall = time.perf_counter() - read
            over = found.nodes.value - found.nodes.pinned
            rows.add(
                "advice", nodes=asked.nodes, seed=seed, pods=len(given.pods),
                pinned=len(found.pinned), read=read - begin, wall=wall,
                processor=time.process_time() - processor,
                in_use=len(found.in_use), enough=found.nodes.value, needed=found.nodes.bound,
                needed_pinned=found.nodes.pinned, moves=len(found.targets),
                fewest=found.moves.bound,
                fewest_pinned=found.moves.pinned, waves=len(found.order.waves),
                stuck=len(found.order.stuck), in_time=wall <= seconds,
                mark=over <= (1 if few else 0.02 * found.nodes.pinned), over=over,
                memory_mb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
            )  # fmt: skip
            processor = time.process_time()
            for scoring in SCORINGS:
                left_pending(given, found.order.waves, found.freed, scoring)
            rows.add(
                "default scheduler", nodes=asked.nodes, seed=seed, moves=len(found.targets),
                waves=len(found.order.waves), processor=time.process_time() - processor,
            )  # fmt: skip
            begin = time.perf_counter()
            losses = safe(given, time_limit=seconds).steps
            wall = time.perf_counter() - begin
            rows.add(
                "safe", nodes=asked.nodes, seed=seed, losses=len(losses), wall=wall,
                safe=sum(loss.status is True for loss in losses),
                unknown=sum(loss.status is None for loss in losses), in_time=wall <= seconds,
            )  # fmt: skip


if __name__ == "__main__":
    main()
