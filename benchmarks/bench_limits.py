"""How far every method passes its time limit, and how much memory it takes, on instances far larger
than the default ones.

    python benchmarks/bench_limits.py [--problem P]... [--method M]... [--size NAME]... \
        [--time-limit 3] [--json FILE]

The sizes are those that `cotenant generate` makes by default, times a hundred, and some that were
seen to overrun. Every run has a process of its own: it makes the instance, runs the method for a
second on the default size (so that little is imported or compiled in the run that is measured),
then solves. `over` is the wall time of `cotenant.solve` less `start`, what it took to load
libraries, compile kernels and start processes, and less the limit; a method may pass it by ALLOWED
seconds. `peak` is the most memory the process held in the run, with the instance; `base` what it
held before it. A clear refusal is as good as an answer. Other work on the machine lengthens the
wall time: `cpu` says what the run itself took. Exits with 1 when a run passes a mark.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from form import parser

import cotenant
from cotenant.instances.problem import Instance
from cotenant.instances.problem.registry import problem_named, resolve
from cotenant.solvers.stopwatch import start_seconds

ALLOWED = 1.5
"""Seconds a run may pass its time limit."""

MOST_MEMORY = 2.0
"""GB a run may hold at its peak."""

KILLED_AFTER, KILLED_AT = 60.0, 8.0
"""Seconds past its limit, and GB, at which a run is ended, so that one method cannot take the
machine with it.
"""


@dataclass(frozen=True)
class Size:
    """An instance to run on: a generator of its problem with options, and the options of a small
    one to warm up with.
    """

    problem: str
    name: str
    generator: str
    options: dict[str, Any]
    small: dict[str, Any]

    def make(self, options: dict[str, Any]) -> Instance:
        """The instance."""
        if self.generator in OWN:
            return OWN[self.generator](np.random.default_rng(0), **options)
        made: Instance = resolve(problem_named(self.problem).generators[self.generator])(
            rng=np.random.default_rng(0), **options
        )
        return made


def types_with_counts(rng: np.random.Generator, *, types: int, agents: int) -> Instance:
    """Many types of many agents: sensitivity times pressure with noise, and counts at random."""
    from cotenant.instances.colocation import Colocation

    penalty = rng.uniform(0.2, 1, types)[:, None] * rng.uniform(0, 0.5, types) + rng.normal(
        0, 0.02, (types, types)
    )
    count = rng.multinomial(agents, np.ones(types) / types)
    return Colocation(
        penalty.clip(-0.02, 0.9).round(4),
        count,
        rng.uniform(0, 25, types),
        name=f"{types}-types-{agents}",
    )


OWN: dict[str, Callable[..., Instance]] = {"types": types_with_counts}
"""Kinds of instances that `generate` does not make."""

SIZES = (
    Size("colocation", "population-100k", "population", {"agents": 100_000}, {}),
    Size(
        "colocation",
        "types-100x10k",
        "types",
        {"types": 100, "agents": 10_000},
        {"types": 10, "agents": 100},
    ),
    Size(
        "colocation",
        "types-100x1M",
        "types",
        {"types": 100, "agents": 1_000_000},
        {"types": 10, "agents": 100},
    ),
    Size("colocation", "preferences-10k", "preferences", {"agents": 10_000}, {}),
    Size("colocation", "scores-10k", "scores", {"agents": 10_000}, {}),
    Size("colocation", "scores-400", "scores", {"agents": 400}, {}),
    Size(
        "market",
        "many-users-100k",
        "population",
        {"users": 10_000, "servers": 1000, "jobs": 10},
        {"users": 10},
    ),
    Size(
        "market",
        "many-jobs-100k",
        "population",
        {"users": 1000, "servers": 1000, "jobs": 100},
        {"users": 10},
    ),
    Size("packing", "vm-types-800", "vm-types", {"machines": 800}, {}),
    Size(
        "packing", "vm-types-wanted-2000", "vm-types", {"machines": 800, "vms": 2000}, {"vms": 20}
    ),
    Size("packing", "caprara-toth-5000", "caprara-toth", {"items": 5000}, {}),
    Size("packing", "few-types-8x100k", "few-types", {"vms": 100_000}, {}),
    Size("packing", "few-types-800x100k", "few-types", {"types": 800, "vms": 100_000}, {}),
    Size("admission", "uniform-5000x20", "uniform", {"jobs": 5000}, {}),
    Size("admission", "uniform-5000x2000", "uniform", {"jobs": 5000, "machines": 2000}, {}),
    Size("scheduling", "workload-50k", "workload", {"jobs": 50_000}, {}),
    Size(
        "scheduling",
        "workload-50k-machines-7000",
        "workload",
        {"jobs": 50_000, "machines": 7000, "organizations": 10},
        {},
    ),
    Size("scheduling", "unit-jobs-10k", "unit-jobs", {"jobs": 10_000}, {}),
    Size(
        "scheduling",
        "unit-jobs-10k-machines-800",
        "unit-jobs",
        {"jobs": 10_000, "machines": 800},
        {},
    ),
    Size("numa", "blades-400", "blade-server", {"blades": 400, "rate": 400_000.0}, {}),
)


def main() -> None:
    """Run what is asked for and print a line for each."""
    command = parser(__doc__)
    command.add_argument("--problem", action="append", help="only this problem; repeat for more")
    command.add_argument("--method", action="append", help="only this method; repeat for more")
    command.add_argument(
        "--size",
        action="append",
        choices=[size.name for size in SIZES],
        help="only this size; repeat for more",
    )
    command.add_argument("--time-limit", type=float, default=3.0)
    command.add_argument("--child", nargs=2, metavar=("SIZE", "METHOD"), help=argparse.SUPPRESS)
    asked = command.parse_args()
    if asked.child:
        print(
            json.dumps(
                measured(
                    next(size for size in SIZES if size.name == asked.child[0]),
                    asked.child[1],
                    asked.time_limit,
                )
            )
        )
        return
    problems = asked.problem or list(dict.fromkeys(size.problem for size in SIZES))
    lines: list[dict[str, Any]] = []
    print(
        f"{'size':28} {'method':18} {'outcome':24} {'wall':>7} {'start':>6} {'over':>7} "
        f"{'cpu':>7} {'base':>6} {'peak':>6}"
    )
    for size in (
        size
        for size in SIZES
        if size.problem in problems and size.name in (asked.size or [size.name])
    ):
        for method in cotenant.methods(size.problem):
            if asked.method and method.name not in asked.method:
                continue
            line = run_apart(size, method.name, asked.time_limit)
            if line["outcome"] == "not meant":
                continue
            lines.append(line)
            print(shown(line), flush=True)
    if asked.json:
        asked.json.write_text(json.dumps(lines, indent=1) + "\n")
    bad = [line for line in lines if marks(line)]
    print(f"{len(lines)} runs, {len(bad)} past a mark (limit + {ALLOWED} s, {MOST_MEMORY} GB)")
    sys.exit(1 if bad else 0)


def run_apart(size: Size, method: str, limit: float) -> dict[str, Any]:
    """One run in a process of its own, ended when it takes far too long or too much."""
    line = {"size": size.name, "problem": size.problem, "method": method, "limit": limit}
    command = [sys.executable, __file__, "--child", size.name, method, "--time-limit", str(limit)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    begin, most = time.monotonic(), 0.0
    while process.poll() is None:
        time.sleep(0.1)
        most = max(most, memory_now(process.pid))
        seconds = time.monotonic() - begin
        why = (
            "ended: memory"
            if most > KILLED_AT
            else "ended: time"
            if seconds > limit + 2 * KILLED_AFTER
            else ""
        )
        if why:
            process.kill()
            process.communicate()
            return line | {
                "outcome": why,
                "wall": seconds,
                "start": None,
                "over": seconds - limit,
                "cpu": None,
                "base": None,
                "peak": most,
            }
    stdout, stderr = process.communicate()
    if process.returncode != 0 or not stdout.strip():
        last = (stderr.strip().splitlines() or ["no word"])[-1]
        return line | {
            "outcome": f"died: {last}",
            "wall": None,
            "start": None,
            "over": None,
            "cpu": None,
            "base": None,
            "peak": most,
        }
    found: dict[str, Any] = json.loads(stdout.strip().splitlines()[-1])
    return line | found


def memory_now(process: int) -> float:
    """GB that a process holds now; 0 where the system does not say."""
    with suppress(OSError, IndexError, ValueError):
        pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
        return pages * resource.getpagesize() / 1e9
    return 0.0


def measured(size: Size, name: str, limit: float) -> dict[str, Any]:
    """The run itself, in the process that is for it alone."""
    method = next(method for method in cotenant.methods(size.problem) if method.name == name)
    small = size.make(size.small)
    with suppress(cotenant.CotenantError):  # what the method says of the large one is what counts
        cotenant.solve(small, name, time_limit=1.0)
    instance = size.make(size.options)
    if not method.applies_to(instance):
        return {"outcome": "not meant"}
    base = forget_peak()
    begin, cpu, started = time.perf_counter(), time.process_time(), start_seconds()
    try:
        result = cotenant.solve(instance, name, time_limit=limit)
        outcome = (
            result.status.value
            if result.stop.value == "finished"
            else f"{result.status.value}, {result.stop.value}"
        )
    except cotenant.CotenantError as error:
        outcome = f"refused: {error}"
    except MemoryError:
        outcome = "MemoryError"
    wall, cpu, started = (
        time.perf_counter() - begin,
        time.process_time() - cpu,
        start_seconds() - started,
    )
    # A method without a time limit of its own is measured too: the mark is for the user who waits.
    return {
        "outcome": outcome,
        "wall": wall,
        "start": started,
        "over": wall - started - limit,
        "cpu": cpu,
        "base": base,
        "peak": peak(),
    }


def forget_peak() -> float:
    """Have the system count the peak anew, where it can, so that what making the instance took is
    not the run's; GB held now.
    """
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return memory_now(os.getpid()) or peak()


def peak() -> float:
    """The most GB that this process held since `forget_peak`, or that one which it started ever
    held.
    """
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 / 1e9
    with suppress(OSError, StopIteration):
        lines = Path("/proc/self/status").read_text().splitlines()
        return max(
            children,
            next(int(line.split()[1]) * 1024 / 1e9 for line in lines if line.startswith("VmHWM")),
        )
    return max(children, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9)


def marks(line: dict[str, Any]) -> list[str]:
    """What a line fails."""
    late = line["over"] is None or line["over"] > ALLOWED
    large = line["peak"] > MOST_MEMORY
    return [word for word, fails in (("late", late), ("large", large)) if fails]


def shown(line: dict[str, Any]) -> str:
    """A line of the table."""
    cells = " ".join(
        "-".rjust(width) if line[name] is None else f"{line[name]:{width}.{digits}f}"
        for name, width, digits in (
            ("wall", 7, 2),
            ("start", 6, 2),
            ("over", 7, 2),
            ("cpu", 7, 2),
            ("base", 6, 2),
            ("peak", 6, 2),
        )
    )
    return (
        f"{line['size']:28} {line['method']:18} {line['outcome'][:24]:24} {cells}  "
        f"{' '.join(marks(line))}"
    ).rstrip()


if __name__ == "__main__":
    main()
