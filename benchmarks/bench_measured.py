"""Measure the gap of `stable` on measured tables of pairs, beside the policies.

    python benchmarks/bench_measured.py DATA [--limit S] [--seeds N] [--only TEXT]...

DATA is a folder with `gavel_pairs.json` (throughputs of training jobs in pairs on one GPU: Gavel,
OSDI 2020), `fairco2_runtime_colocation_matrix.csv` (run times of pairs on one server: Fair-CO2,
ISCA 2025), or one of them. Every CSV file in it that is a square matrix of slowdowns, with names in
its first row and column, is a table too. A row holds the medians over the seeds, and the most
seconds of the processor, solvers' processes included. Everything is compiled before a clock starts.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

from form import Rows, busy, parser

import cotenant
from cotenant.instances.colocation import Colocation
from cotenant.instances.colocation.formats import fair_co2, gavel, slowdown_csv
from cotenant.instances.problem.errors import CotenantError

COPIES = (1, 2, 4, 6, 8, 20)
FAIR_CO2 = "fairco2_runtime_colocation_matrix.csv"
POLICIES = ("SR", "SMR", "GR")


def with_room(
    read: Callable[..., Colocation], path: Path, copies: int, **options: str
) -> Colocation:
    """Table with the fewest machines that its forbidden pairs and an odd number of jobs allow."""
    try:
        return read(path, copies=copies, **options)
    except CotenantError:
        roomy = read(path, copies=copies, machines=math.inf, **options)
        alone = int(roomy.count[~roomy.allowed.any(axis=1)].sum())
        return roomy.replace(machines=alone + math.ceil((roomy.agents - alone) / 2))


def tables(folder: Path) -> Iterator[tuple[str, Colocation]]:
    """Each table with each number of copies, by name."""
    for copies in COPIES:
        if (path := folder / "gavel_pairs.json").exists():
            for gpu in ("k80", "p100", "v100"):
                yield f"Gavel {gpu.upper()} x {copies}", with_room(gavel, path, copies, gpu=gpu)
        for path in sorted(folder.glob("*.csv")):
            read = fair_co2 if path.name == FAIR_CO2 else slowdown_csv
            yield f"{path.stem[:24]} x {copies}", with_room(read, path, copies)


def main() -> None:
    """One row a table."""
    command = parser(__doc__)
    command.add_argument("data", type=Path)
    command.add_argument("--limit", type=float, default=30.0)
    command.add_argument("--seeds", type=int, default=1)
    command.add_argument("--only", action="append", default=[])
    asked = command.parse_args()
    rows = Rows(asked.json)
    cotenant.solve(cotenant.read("colocation/gavel-v100"), "stable", time_limit=2.0)
    for name, instance in tables(asked.data):
        if asked.only and not any(text in name for text in asked.only):
            continue
        policies = [
            cotenant.solve(instance, policy).metrics["blocking_pairs"] for policy in POLICIES
        ]
        values, bounds, wall, cpu = [], [], [], []
        for seed in range(asked.seeds):
            began, before = time.perf_counter(), busy()
            result = cotenant.solve(instance, "stable", seed=seed, time_limit=asked.limit)
            wall.append(time.perf_counter() - began)
            cpu.append(busy() - before)
            values.append(int(result.objective or 0))
            bounds.append(int(result.bound or 0))
        rows.add(
            f"stable, {asked.limit:g} s", measured=name, jobs=instance.agents,
            policies=int(min(policies)), value=int(median(values)), bound=int(median(bounds)),
            wall=median(wall), most_cpu=max(cpu),
        )  # fmt: skip


if __name__ == "__main__":
    main()
