"""Accelerators by types of jobs beside the same program by jobs, and how long proofs take.

    python benchmarks/bench_accelerators.py [--data DIR] [--jobs 64 128 256] [--repeats 5]

The instance: 26 models on three GPUs, a third of the jobs' number of each, all that may share a GPU
sharing. With --data (or COTENANT_DATA) it is Gavel's table with the 2,048 jobs of POP's figure 2
(SOSP 2021), whose log has the optimum, 1.1109129; else one by chance of that size. The program by
jobs has a variable for each job, or pair of jobs, and GPU; CVXPY gives it to Clarabel and HiGHS.
Its size grows with the square of the jobs, that by types does not: the ratio is one of
formulations, not of solvers. Marks: 2,048 jobs in .1 s, a million in 1 s, a proof judged in 1 s.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from form import Rows, parser, timed

import cotenant
from cotenant.instances.accelerators import Accelerators
from cotenant.instances.accelerators.formats import gavel
from cotenant.instances.accelerators.generators import random
from cotenant.instances.accelerators.measures import entitlements
from cotenant.models.accelerators import share_program
from cotenant.solvers.engines import solve_program
from cotenant.verify import verify

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from support.proved import Proved, proved

FIGURE_2 = 1.1109129
"""The worst normalized throughput in POP's log of figure 2, exact."""

METHODS = ("max-min", "leximin", "makespan", "finish-time", "max-throughput", "min-cost")


def figure(data: Path | None) -> Accelerators:
    """The 2,048 jobs of POP's figure 2, or as many by chance."""
    rng, jobs = np.random.default_rng(0), 2048
    if data is None:
        made: Accelerators = random(types=26, kinds=3, jobs=jobs, devices=1536, rng=rng)
        return made
    folder, each = data / "gpu" / "pop", "v100:512,p100:512,k80:512"
    read = gavel(
        folder / "simulation_throughputs.json.gz",
        jobs=str(folder / "jobs_2048.json"),
        devices=each,
    )
    return read.replace(steps=np.round(10 ** rng.uniform(3, 6, read.types)))


def sized(instance: Accelerators, jobs: int) -> Accelerators:
    """About so many jobs, each type's part of them, and devices for a quarter of them a kind."""
    count = np.maximum(np.round(instance.count * (jobs / instance.jobs)), 1).astype(int)
    count[0] += jobs - count.sum()
    return instance.replace(count=count, devices=[jobs // 4] * len(instance.devices))


def by_jobs(instance: Accelerators) -> Accelerators:
    """The same with a type for each job."""
    kind = np.repeat(np.arange(instance.types), instance.count)
    assert instance.together is not None
    return Accelerators(
        instance.throughput[kind],
        np.ones(len(kind), dtype=int),
        instance.devices,
        instance.together[kind][:, kind],
        instance.workers[kind],
    )


def with_cvxpy(instance: Accelerators, solver: str) -> float:
    """The program by jobs, handed to a solver by CVXPY, building included."""
    import cvxpy

    program = share_program(instance, entitlements(instance)).program
    point = cvxpy.Variable(program.columns, nonneg=True)
    rows = program.matrix @ point == program.row_upper
    problem = cvxpy.Problem(cvxpy.Minimize(program.cost @ point), [rows])
    problem.solve(solver=solver)
    return -float(problem.value)


def with_highs(instance: Accelerators) -> float:
    """The program by jobs as arrays, handed to HiGHS, building included."""
    answer = solve_program(share_program(instance, entitlements(instance)).program)
    return -float(answer.objective or 0)


def types_only(rows: Rows, instance: Accelerators, repeats: int) -> None:
    """Every method on 2,048 jobs and on a million."""
    for jobs, most in ((2048, 0.1), (1_000_000, 1.0)):
        given = instance if jobs == 2048 else sized(instance, jobs)
        for method in METHODS:
            ran = timed(partial(cotenant.solve, given, method), repeats)
            rows.add(
                "by types", case=f"{method}, {given.jobs} jobs of {given.types} types",
                status=str(ran.value.status), objective=ran.value.objective, gap=ran.value.gap,
                cpu=ran.cpu, wall=ran.wall, mark=most if method == "max-min" else None,
            )  # fmt: skip


def proofs(rows: Rows, instance: Accelerators) -> None:
    """Making and judging a proof."""
    for method in METHODS:
        outcome = cotenant.solve(instance, method)
        made = timed(partial(proved, instance, method, outcome))
        proof: Proved = made.value
        text = json.dumps(proof.document).encode()
        judged = timed(partial(verify, proof.content, text))
        rows.add(
            "proofs", case=method, bytes=len(text), made=made.cpu, judged=judged.cpu, mark=1.0,
        )  # fmt: skip


def peers(rows: Rows, instance: Accelerators, sizes: list[int], repeats: int) -> None:
    """The same question job by job."""
    runs: tuple[tuple[str, Callable[[Accelerators], float]], ...] = (
        ("CVXPY, Clarabel", partial(with_cvxpy, solver="CLARABEL")),
        ("CVXPY, HiGHS", partial(with_cvxpy, solver="HIGHS")),
        ("arrays, HiGHS", with_highs),
    )
    for jobs in sizes:
        given = sized(instance, jobs)
        ours = timed(partial(cotenant.solve, given, "max-min"), repeats)
        each = by_jobs(given)
        for name, run in runs:
            peer: Any = timed(partial(run, each))
            off = abs(peer.value / ours.value.objective - 1)
            rows.add(
                "by jobs", case=f"{name}, {jobs} jobs", columns=len(each.placements.first),
                cpu=peer.cpu, ours=ours.cpu, ratio=peer.cpu / ours.cpu, off=f"{off:.1e}",
            )  # fmt: skip


def main() -> None:
    """Print the tables."""
    options = parser(__doc__)
    usual = os.environ.get("COTENANT_DATA")
    options.add_argument("--data", type=Path, default=Path(usual) if usual else None)
    options.add_argument("--jobs", type=int, nargs="*", default=[64, 128, 256])
    options.add_argument("--repeats", type=int, default=5)
    given = options.parse_args()
    rows, instance = Rows(given.json), figure(given.data)
    cotenant.solve(sized(instance, 64), "max-min")  # libraries are loaded
    if given.data is not None:
        found = cotenant.solve(instance, "max-min").objective
        off = found / FIGURE_2 - 1
        rows.add("POP, figure 2", case="2,048 jobs", objective=f"{found:.8f}", off=f"{off:.1e}")
    types_only(rows, instance, given.repeats)
    proofs(rows, instance)
    peers(rows, instance, given.jobs, given.repeats)


if __name__ == "__main__":
    main()
