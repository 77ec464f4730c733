"""Cards (GPUs) of the Alibaba trace of 2023: policies that place pods as they arrive, and max-gpus.

    python benchmarks/bench_cards.py DATA/gpu/fgd [--workloads default,gpushare100] [--draws 1]
        [--time-limit 60] [--json FILE]

FOLDER holds openb_node_list_gpu_node.csv.gz and openb_pod_list_*.csv.gz. Each row: pods that arrive
(1.3 times the cards are wanted), percent of all cards allocated, and processor seconds, the best of
the draws. The marks: a policy places 10,000 pods on 1,213 nodes within a second; max-gpus ends
within .1 point of its bound in 60 s.
"""

from __future__ import annotations

from argparse import Namespace
from functools import partial
from pathlib import Path

import numpy as np
from form import Rows, parser, timed

import cotenant
from cotenant.catalog import methods
from cotenant.instances.packing.formats import alibaba_openb


def main() -> None:
    """Every policy for arrivals, then the most possible."""
    given = parser(__doc__)
    given.add_argument("folder", type=Path)
    given.add_argument("--workloads", default="", help="all lists of pods when not given")
    given.add_argument("--draws", type=int, default=1)
    given.add_argument("--time-limit", type=float, default=60.0)
    arguments = given.parse_args()
    rows = Rows(arguments.json)
    names = [one.name for one in methods("packing") if one.objective == "cards_allocated"]
    tiny = cotenant.read("packing/cards")
    for name in names:  # kernels are compiled now
        cotenant.solve(tiny, name, time_limit=1)
    lists = sorted(arguments.folder.glob("openb_pod_list_*.csv.gz"))
    wanted = arguments.workloads.split(",") if arguments.workloads else None
    for path in lists:
        workload = path.name.removeprefix("openb_pod_list_").removesuffix(".csv.gz")
        if wanted is None or workload in wanted:
            one_list(path, workload, names, arguments, rows)


def one_list(path: Path, workload: str, names: list[str], arguments: Namespace, rows: Rows) -> None:
    """A row for each method on the draws of a list."""
    nodes = str(arguments.folder / "openb_node_list_gpu_node.csv.gz")
    seeds = range(42, 42 + arguments.draws)
    read = partial(alibaba_openb, path, nodes=nodes, cards=True, demand=1.3)
    draws = [timed(partial(read, seed=seed)) for seed in seeds]
    for name in names:
        solve = partial(cotenant.solve, method=name, time_limit=arguments.time_limit)
        runs = [timed(partial(solve, drawn.value)) for drawn in draws]
        bounds = [run.value.bound for run in runs if run.value.bound is not None]
        rows.add(
            "cards allocated [%]",
            workload=f"{workload}, {name}",
            pods=float(np.mean([len(drawn.value.arrival) for drawn in draws])),
            allocated=float(np.mean([run.value.objective for run in runs])),
            bound=float(np.mean(bounds)) if bounds else None,
            seconds=min(run.cpu for run in runs),
            read=min(drawn.cpu for drawn in draws),
        )


if __name__ == "__main__":
    main()
