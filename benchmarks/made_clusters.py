"""Made-up records of a shared GPU cluster, drawn from a seed: a Kueue's objects, sacct's lines,
what kubectl lists of nodes and pods.
"""

from __future__ import annotations

import heapq
import json
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

BEGIN = 1_772_409_600
TYPES = ("a100", "h100")
GPU = "nvidia.com/gpu"


def jobs(
    number: int, seconds: int, accounts: int, gpus: int, load: float, seed: int
) -> list[tuple[int, int, int, int, int]]:
    """(account, submission, start, length, GPUs) of each job: arrivals by day and night, lengths
    log-normal, of 1, 2, 4 or 8 GPUs, served first in, first out.
    """
    rng = np.random.default_rng(seed)
    moment = np.sort(rng.random(4 * number)) * seconds
    kept = rng.random(4 * number) < 0.35 + 0.35 * np.sin(moment / 86_400 * 2 * np.pi)
    came = rng.choice(moment[kept], min(number, int(kept.sum())), replace=False)
    came = np.sort(np.append(came, rng.random(number - len(came)) * seconds)).astype(int)
    wide = rng.choice([1, 2, 4, 8], number, p=[0.5, 0.2, 0.2, 0.1])
    length = rng.lognormal(0, 1.4, number)
    length = np.maximum(1, length * load * gpus * seconds / (length * wide).sum()).astype(int)
    part = 1.0 / np.arange(1, accounts + 1)
    owner = rng.choice(accounts, number, p=part / part.sum())
    found, ends, free, now = [], list[tuple[int, int]](), gpus, 0
    for u, sent, run, width in zip(
        owner.tolist(), came.tolist(), length.tolist(), wide.tolist(), strict=True
    ):
        now = max(now, sent)
        while ends and (ends[0][0] <= now or free < width):
            end, back = heapq.heappop(ends)
            now, free = max(now, end), free + back
        free -= width
        heapq.heappush(ends, (now + run, width))
        found.append((u, sent, now, run, width))
    return found


def write_kueue(path: Path, number: int = 50_000, queues: int = 12, gpus: int = 960) -> None:
    """A week of workloads as kubectl lists them, each queue with the same quota."""
    end = BEGIN + 7 * 86_400

    def at(second: int) -> str:
        return datetime.fromtimestamp(BEGIN + second, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def made(kind: str, name: str, second: int = 0, **more: object) -> dict[str, object]:
        meta = {"name": name, "creationTimestamp": at(second)}
        meta |= {"namespace": "team"} if kind != "ClusterQueue" else {}
        return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind, "metadata": meta, **more}

    items = []
    for u in range(queues):
        entry = {"name": GPU, "nominalQuota": gpus // queues}
        group = {"coveredResources": [GPU], "flavors": [{"name": "a100", "resources": [entry]}]}
        items.append(
            made("ClusterQueue", f"q{u}", spec={"cohortName": "all", "resourceGroups": [group]})
        )
        items.append(made("LocalQueue", f"l{u}", spec={"clusterQueue": f"q{u}"}))
    for n, (u, sent, start, run, width) in enumerate(
        jobs(number, 7 * 86_400, queues, gpus, 1.0, 1)
    ):
        requests = {GPU: str(width)}
        container = {"name": "main", "image": "train:1", "resources": {"requests": requests}}
        pods = {"name": "main", "count": 1, "template": {"spec": {"containers": [container]}}}
        changes = [("QuotaReserved", start, True), ("Admitted", start, True)]
        if BEGIN + start + run < end:
            changes.append(("Finished", start + run, True))
        if BEGIN + start >= end:
            changes = [("QuotaReserved", sent, False)]
        conditions = [
            {"type": kind, "status": str(true), "reason": kind, "message": "",
             "lastTransitionTime": at(second)}
            for kind, second, true in changes
        ]  # fmt: skip
        status: dict[str, object] = {"conditions": conditions}
        if BEGIN + start < end:
            assigned = {
                "name": "main",
                "count": 1,
                "flavors": {GPU: "a100"},
                "resourceUsage": requests,
            }
            status["admission"] = {"clusterQueue": f"q{u}", "podSetAssignments": [assigned]}
        spec = {"queueName": f"l{u}", "active": True, "podSets": [pods]}
        items.append(made("Workload", f"w{n}", sent, spec=spec, status=status))
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))


def write_sacct(
    path: Path, nodes: Path, number: int = 400_000, accounts: int = 9, gpus: int = 512
) -> None:
    """A year of jobs as sacct prints them, and the nodes: a quarter of the jobs holds no GPU."""
    rng = np.random.default_rng(2)
    lines = [
        "JobIDRaw|JobID|User|Account|Partition|QOS|Submit|Eligible|Start|End|ElapsedRaw|Timelimit|"
        "AllocCPUS|ReqTRES|AllocTRES|NodeList|State|JobName"
    ]

    def at(second: int) -> str:
        return datetime.fromtimestamp(BEGIN + second, UTC).strftime("%Y-%m-%dT%H:%M:%S")

    none, kind = rng.random(number) < 0.25, rng.integers(0, 2, number)
    for n, (u, sent, start, run, width) in enumerate(
        jobs(number, 365 * 86_400, accounts, gpus, 0.85, 2)
    ):
        held = f"billing={16 * width},cpu={16 * width},mem={128 * width}G,node=1"
        if not none[n]:
            held += f",gres/gpu={width},gres/gpu:{TYPES[kind[n]]}={width}"
        times = "|".join(map(at, (sent, sent, start, start + run)))
        lines.append(
            f"{n}|{n}|u{n % 90}|acc{u}|gpu|normal|{times}|{run}|2-00:00:00|"
            f"{16 * width}|{held}|{held}|n1|COMPLETED|train"
        )
    path.write_text("\n".join(lines) + "\n")
    nodes.write_text(
        "".join(
            f"NodeName=n{n} CPUTot=128 RealMemory=1031000 State=IDLE Partitions=gpu "
            f"Gres=gpu:{TYPES[n % 2]}:8(S:0-1)\n"
            for n in range(gpus // 8)
        )
    )


MIXES = {"small": (0.92, 0.05, 0.02, 0.01), "mixed": (0.6, 0.2, 0.15, 0.05)}
"""How often pods have 1, 2, 4 and 8 cards."""


def gpu_state(
    nodes: int = 500, pods: int = 3000, gang: int = 8, mix: str = "small", seed: int = 0
) -> dict[str, object]:
    """Nodes with 8 cards in racks of 8, pods of 40 workloads on random nodes with room (a fiftieth
    of them without a controller) until a thirtieth of the cards is free, and a pending gang of pods
    with 8 cards.
    """
    rng = np.random.default_rng(seed)
    items = [
        {
            "kind": "Node",
            "metadata": {"name": f"n{n}", "labels": {"rack": f"r{n // 8}"}},
            "spec": {},
            "status": {"allocatable": {"cpu": "128", "memory": "1024Gi", "pods": "110", GPU: "8"}},
        }
        for n in range(nodes)
    ]
    free = np.tile([128, 1024, 8], (nodes, 1))
    in_vain = 0
    while len(items) < nodes + pods and in_vain < 50 and 30 * free[:, 2].sum() > 8 * nodes:
        cards, kind = int(rng.choice([1, 2, 4, 8], p=MIXES[mix])), int(rng.integers(10))
        per_card = (4 + 4 * (kind % 3), 32 * (1 + kind % 3))
        asked = cards * np.array([*per_card, 1])
        able = np.flatnonzero((free >= asked).all(axis=1))
        in_vain = 0 if len(able) else in_vain + 1
        if len(able):
            place = int(rng.choice(able))
            free[place] -= asked
            owner = f"job-{cards}-{kind}" if rng.random() > 0.02 else ""
            items.append(_gpu_pod(f"p{len(items)}", f"n{place}", owner, *asked.tolist()))
    return {
        "apiVersion": "v1",
        "kind": "List",
        "items": [*items, *(_gpu_pod(f"g{n}", "", "gang", 64, 512, 8) for n in range(gang))],
    }


def _gpu_pod(
    name: str, node: str, owner: str, cpu: int, memory: int, cards: int
) -> dict[str, object]:
    meta: dict[str, object] = {"name": name, "namespace": "ml"}
    if owner:
        meta["ownerReferences"] = [{"kind": "Job", "name": owner, "controller": True}]
    requests = {"cpu": str(cpu), "memory": f"{memory}Gi", GPU: str(cards)}
    spec: dict[str, object] = {
        "containers": [{"name": "main", "resources": {"requests": requests}}]
    }
    spec |= {"nodeName": node} if node else {}
    phase = "Running" if node else "Pending"
    return {"kind": "Pod", "metadata": meta, "spec": spec, "status": {"phase": phase}}
