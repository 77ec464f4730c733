"""Admission: the schemes in milliseconds, the local search, and the optimum's gap after a time
limit.

    python benchmarks/bench_admission.py [--jobs 100 --machines 50 --types 10] [--time-limit 60]

Peers in the same run: HiGHS on the plain assignment program with the same start and the same time,
and (with --cp-sat) CP-SAT on it. Each scheme is timed over several repetitions, the median printed.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from form import Rows, parser, timed

from cotenant.catalog import functions
from cotenant.instances.admission import Admission, total_speed
from cotenant.instances.admission.generators import uniform
from cotenant.solvers.admission.local_search import local_search
from cotenant.solvers.admission.optimal import optimal

SCHEMES = functions("admission", "SM", "DA1", "DA2", "proposed")


def one(instance: Admission, limit: float, with_cp_sat: bool, repetitions: int, rows: Rows) -> None:
    """Time everything on one instance; a gap is to the best bound of all methods."""
    small = uniform(machines=4, jobs=8, rng=np.random.default_rng(0))
    local_search(small, kicks=1)  # compile outside the clock
    optimal(small, route="columns", time_limit=1)
    runs = [
        (name, timed(partial(policy, instance), repetitions)) for name, policy in SCHEMES.items()
    ]
    runs.append(("local-search", timed(partial(local_search, instance, kicks=50))))
    exact: dict[str, dict[str, str]] = {"optimal": {}, "plain program, HiGHS": {"route": "program"}}
    if with_cp_sat:
        exact["plain program, CP-SAT"] = {"route": "program", "engine": "cp-sat"}
    start = SCHEMES["proposed"](instance)
    proved = [
        (name, timed(partial(optimal, instance, time_limit=limit, start=start, **options)))  # type: ignore[arg-type]
        for name, options in exact.items()
    ]
    best = min(run.value.bound for _, run in proved if run.value.bound is not None)
    table = (
        f"{instance.name}: {instance.jobs} jobs x {instance.machines} VMs x {instance.types} core "
        f"types, limit {limit:g} s"
    )
    outcomes = {name: run.value for name, run in proved}
    for name, run in [*runs, *proved]:
        outcome = outcomes.get(name)
        speed = total_speed(instance, run.value if outcome is None else outcome.solution)
        rows.add(
            table, method=name, wall=run.wall, cpu=run.cpu, speed=speed, gap=best / speed - 1,
            status="" if outcome is None else outcome.status.value,
            own_gap=None if outcome is None else outcome.bound / speed - 1,
        )  # fmt: skip


def main() -> None:
    """Read the command line and run."""
    command = parser(__doc__)
    command.add_argument("--jobs", type=int, default=100)
    command.add_argument("--machines", type=int, default=50)
    command.add_argument("--types", type=int, default=10)
    command.add_argument("--cores", type=int, default=50)
    command.add_argument("--threads", type=int, default=200)
    command.add_argument("--speed", type=float, default=200.0)
    command.add_argument("--time-limit", type=float, default=60.0)
    command.add_argument("--instances", type=int, default=1)
    command.add_argument("--repetitions", type=int, default=5)
    command.add_argument("--cp-sat", action="store_true")
    given = command.parse_args()
    rows = Rows(given.json)
    for seed in range(1, given.instances + 1):
        instance = uniform(
            machines=given.machines, jobs=given.jobs, types=given.types, cores=given.cores,
            threads=given.threads,
            speed=given.speed, rng=np.random.default_rng(seed),
        )  # fmt: skip
        one(
            instance.replace(name=f"seed {seed}"), given.time_limit, given.cp_sat,
            given.repetitions, rows,
        )  # fmt: skip


if __name__ == "__main__":
    main()
