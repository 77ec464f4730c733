"""The benchmarks of a release: every problem's marks and peers in one table, and its page.

    python benchmarks/release.py                        # the table, beside release.json; 10 minutes
    python benchmarks/release.py --only market          # the questions of one problem
    python benchmarks/release.py --json now.json        # ... into a file of its own
    python benchmarks/release.py --store                # keeps them, also in docs/peers.md

Each question is solved once before a clock starts; then ours and the peers take turns, so that
whatever else runs slows both, and the medians of processor seconds of this process and its
children count. A ratio is a peer's seconds over ours. Exits with 1 when a ratio fell below half of
the stored one, or a mark is missed. More instances and sizes are in bench_*.py.
"""

from __future__ import annotations

import json
import platform
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from bench_colocation import by_pymatching, by_rustworkx, different, pair_weights
from form import Rows, parser, timed

import cotenant
from cotenant.instances.problem import problem_named
from cotenant.instances.problem.base import Instance
from cotenant.instances.problem.registry import resolve
from cotenant.solvers.admission.optimal import optimal
from cotenant.solvers.admission.search import AdmissionLimits

STORED = Path(__file__).with_name("release.json")
PAGE = Path(__file__).parents[1] / "docs" / "peers.md"
BEGIN, END = "<!-- rows of benchmarks/release.py -->\n", "<!-- end of the rows -->\n"
LOST = 0.5
"""The part of a stored ratio below which something became slower."""

Peers = Mapping[str, Callable[[Any], Any]]
"""Functions of an instance by the name of a peer, which is the module that has to be there."""


class Question(NamedTuple):
    """An instance and a method; `mark` is the most processor seconds of ours."""

    problem: str
    name: str
    make: Callable[[], Instance[Any]]
    method: str
    limit: float | None = None
    mark: float | None = None
    peers: Peers = MappingProxyType({})
    options: Mapping[str, Any] = MappingProxyType({})
    proved: bool = False


def drawn(problem: str, kind: str, seed: int = 0, **options: Any) -> Callable[[], Instance[Any]]:
    """An instance of a generator."""
    function = resolve(problem_named(problem).generators[kind])
    return lambda: function(rng=np.random.default_rng(seed), **options)


def bundled(name: str) -> Callable[[], Instance[Any]]:
    """A bundled instance."""
    return lambda: cotenant.read(name)


def by_method(method: str, **options: Any) -> Callable[[Instance[Any]], Any]:
    """A declarative model of the catalog, or another route, as a peer."""
    return lambda instance: cotenant.solve(instance, method, **options)


def by_program(instance: Any) -> Any:
    """The assignment program of admission alone."""
    return optimal(instance, time_limit=10, limits=AdmissionLimits(small=10**6))


def by_networkx(instance: Any) -> Any:
    """A least matching by networkx."""
    import networkx

    weight, graph = pair_weights(instance), networkx.Graph()
    agents = range(len(weight))
    graph.add_weighted_edges_from((a, b, weight[a, b]) for a in agents for b in range(a))
    return networkx.min_weight_matching(graph)


def by_clarabel(instance: Any) -> Any:
    """The program of Eisenberg and Gale, built by CVXPY; its optimum is another question's."""
    from cotenant.models.market.eisenberg_gale import eisenberg_gale
    from cotenant.solvers.engines import solve_convex

    return solve_convex(eisenberg_gale(instance).problem)


def slices_by_clarabel(instance: Any) -> Any:
    """The most Nash welfare over a horizon."""
    import cvxpy

    slices = cvxpy.Variable(instance.demand.shape, nonneg=True)
    limits = [slices <= instance.demand, cvxpy.sum(slices, axis=0) <= instance.capacity]
    welfare = cvxpy.sum(cvxpy.log(cvxpy.sum(slices, axis=1)))
    return cvxpy.Problem(cvxpy.Maximize(welfare), limits).solve(solver="CLARABEL")


def plain_ref(instance: Any) -> Any:
    """REF in plain Python."""
    from cotenant.solvers.scheduling.ref_reference import plain_ref

    return plain_ref(instance)


def by_simpy(instance: Any) -> Any:
    """One run of 20,000 tasks, by simpy's processes."""
    from bench_numa import draw, reach, simpy_run  # type: ignore[import-not-found]

    return simpy_run(
        instance, draw(instance, 20_000, reach(instance, "IB"), np.random.default_rng(0))
    )


def relaxed_by_highs(instance: Any) -> Any:
    """The linear relaxation of elastic jobs, which is the bound of ours."""
    from cotenant.models.elastic import configuration_program
    from cotenant.solvers.engines import solve_program

    worth = np.where(instance.utility > 0, instance.utility, -np.inf)
    program = configuration_program(instance, worth)[0]
    return solve_program(replace(program, integer=np.zeros_like(program.integer)))


def different_jobs(jobs: int) -> Instance[Any]:
    """Jobs that all differ on three kinds of devices, and share none."""
    from cotenant.instances.accelerators import Accelerators

    throughput = np.random.default_rng(0).uniform(1, 10, (jobs, 3)).round(2)
    return Accelerators(throughput, np.ones(jobs, dtype=int), [jobs // 4] * 3)


MATCHERS: Peers = {
    "pymatching": lambda instance: by_pymatching(pair_weights(instance)),
    "rustworkx": lambda instance: by_rustworkx(pair_weights(instance)),
}

QUESTIONS = (
    Question("colocation", "1,000 jobs of 20 types", bundled("colocation/cooper-1000"),
             "stable", 20, 0.3, proved=True),
    Question("colocation", "120 different jobs", partial(different, 120, "uniform"),
             "optimal", peers={"networkx": by_networkx}),
    Question("colocation", "1,000 points of a plane", partial(different, 1000, "plane"),
             "optimal", None, 0.3, MATCHERS),
    Question("groups", "1,000 jobs in fours", drawn("groups", "additive", 1), "optimal", 10, 3.0),
    Question("market", "200 users, 2,000 jobs",
             drawn("market", "population", users=200, servers=200, jobs=10),
             "fisher", peers={"cvxpy": by_clarabel}, proved=True),
    Question("market", "10^5 users, 10^6 jobs",
             drawn("market", "population", users=10**5, servers=1000, jobs=10),
             "fisher", None, 0.5),
    Question("packing", "300 VMs of 6 types", bundled("packing/few-types-6-300"),
             "min-servers", peers={"ortools": by_method("cp-sat", time_limit=5)}, proved=True),
    Question("packing", "nine types, a million VMs",
             drawn("packing", "few-types", types=9, vms=10**6), "min-servers", 10, 2.0),
    Question("packing", "300 servers, eta 10",
             drawn("packing", "vm-types", machines=300, resources=2),
             "FUGA", 60, 10.0, options={"eta": 10}),
    Question("admission", "24 jobs, 8 VMs",
             drawn("admission", "uniform", machines=8, jobs=24, types=3), "optimal",
             peers={"highspy": by_program}, proved=True),
    Question("admission", "Hines and Romano, table I", bundled("admission/hines-romano-I"),
             "optimal", 60),
    Question("scheduling", "4 organizations",
             drawn("scheduling", "workload", organizations=4, machines=6, jobs=40, horizon=60,
                   batch=4, load=1.5), "REF", peers={"plain Python": plain_ref}, proved=True),
    Question("scheduling", "16 organizations",
             drawn("scheduling", "workload", organizations=16, machines=32, jobs=100, horizon=200,
                   load=1.2), "REF", None, 25.0),
    Question("numa", "20,000 tasks", bundled("numa/kmeans"), "IB",
             peers={"simpy": by_simpy}, options={"tasks": 20_000}),
    Question("accelerators", "10^6 jobs of 26 types",
             drawn("accelerators", "random", types=26, jobs=10**6, devices=750_000),
             "max-min", None, 1.0),
    Question("accelerators", "2,000 different jobs", partial(different_jobs, 2000),
             "leximin", None, 0.3, proved=True),
    Question("elastic", "10^4 jobs, 21 configurations",
             drawn("elastic", "random", jobs=10_000), "optimal", None, 0.2,
             {"highspy": relaxed_by_highs}, proved=True),
    Question("quanta", "100 users, 100 slices of time",
             drawn("quanta", "bursty", users=100, quanta=100), "horizon",
             peers={"cvxpy": slices_by_clarabel}, proved=True),
    Question("lifetimes", "500 VMs that come and go", bundled("lifetimes/arrivals-500"),
             "hindsight", 10, proved=True),
)  # fmt: skip
"""What a release is measured by."""


def measured(question: Question, repeats: int) -> dict[str, Any]:
    """The answer, its proof, and medians of processor seconds."""
    instance = question.make()
    ours = partial(
        cotenant.solve, instance, question.method, time_limit=question.limit, **question.options
    )
    first = timed(ours)
    peers = {name: run for name, run in question.peers.items() if " " in name or find_spec(name)}
    seconds: dict[str, list[float]] = {name: [] for name in ("ours", *peers)}
    for _ in range(repeats if first.cpu < 5 else 1):
        seconds["ours"].append(timed(ours).cpu)
        for name, peer in peers.items():
            seconds[name].append(timed(partial(peer, instance)).cpu)
    medians = {name: statistics.median(each) for name, each in seconds.items()}
    own, result = medians.pop("ours"), first.value
    proof: dict[str, Any] = {"proof_kb": None, "proof_seconds": None}
    if question.proved:
        with tempfile.TemporaryDirectory() as folder:
            made = timed(partial(cotenant.prove, instance, result, folder))
            proof = {"proof_kb": (made.value.size or 0) / 1e3, "proof_seconds": made.cpu}
    return {
        "question": question.name, "problem": question.problem, "method": question.method,
        "status": str(result.status.value), "value": result.objective, "bound": result.bound,
        "seconds": own, "mark": question.mark, **proof,
        "peers": {name: median / own for name, median in medians.items()},
    }  # fmt: skip


def page_of(rows: list[dict[str, Any]]) -> str:
    """The rows as a table in Markdown, below what they were measured with."""
    command = ["git", "rev-parse", "--short", "HEAD"]
    commit = subprocess.check_output(command, cwd=PAGE.parent, text=True).strip()
    libraries = (
        "highspy",
        "ortools",
        "cvxpy",
        "clarabel",
        "networkx",
        "pymatching",
        "rustworkx",
        "simpy",
    )
    there = [f"{name} {version(name)}" for name in libraries if find_spec(name)]
    lines = [
        f"Measured on {date.today().isoformat()}, commit {commit}, Python "
        f"{platform.python_version()}; {', '.join(there)}.",
        "",
        "| problem | instance | method | status | value | bound | seconds | mark | proof [kB] "
        "| times as long |",
        "|---|---|---|---|---:|---:|---:|---:|---:|---|",
    ]
    for row in rows:
        peers = ", ".join(f"{name} {ratio:.3g}" for name, ratio in row["peers"].items())
        digits = {"value": 8, "bound": 8, "seconds": 2, "mark": 2, "proof_kb": 3}
        cells = ["" if row[key] is None else f"{row[key]:.{n}g}" for key, n in digits.items()]
        words = [row["problem"], row["question"], f"`{row['method']}`", row["status"]]
        lines.append(f"| {' | '.join([*words, *cells, peers])} |")
    return "\n".join([*lines, ""])


def main() -> int:
    """Measure all marks, print them, and compare them with the stored ones."""
    command = parser(__doc__)
    command.add_argument("--only", action="append", help="questions of this problem")
    command.add_argument("--repeats", type=int, default=3)
    command.add_argument(
        "--store", action="store_true", help="keep the rows, and write them into the page"
    )
    asked = command.parse_args()
    if asked.store and asked.only:
        command.error("--store keeps the rows of all questions; leave out --only")
    stored = (
        {row["question"]: row for row in json.loads(STORED.read_text())} if STORED.exists() else {}
    )
    printed, rows, worse = Rows(asked.json), list[dict[str, Any]](), list[str]()
    for question in QUESTIONS:
        if asked.only and question.problem not in asked.only:
            continue
        row = measured(question, asked.repeats)
        before = stored.get(question.name, {}).get("peers", {})
        slower = [
            name for name, ratio in row["peers"].items() if ratio < LOST * before.get(name, 0)
        ]
        worse += [
            f"{question.name}: {name} was {before[name]:.3g} times as long" for name in slower
        ]
        if question.mark is not None and row["seconds"] > question.mark:
            worse.append(f"{question.name}: {row['seconds']:.2f} s, mark {question.mark:g} s")
        peers = ", ".join(f"{name} {ratio:.3g}" for name, ratio in row["peers"].items())
        printed.add("processor seconds", **row | {"peers": peers})
        rows.append(row)
    if asked.store:
        STORED.write_text(json.dumps(rows, indent=1) + "\n")
        head, _, rest = PAGE.read_text().partition(BEGIN)
        PAGE.write_text(head + BEGIN + page_of(rows) + END + rest.partition(END)[2])
    print(*(worse or ["every mark is met, and no ratio was lost"]), sep="\n")
    return bool(worse)


if __name__ == "__main__":
    sys.exit(main())
