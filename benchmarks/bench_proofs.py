"""What proofs cost: seconds to produce beyond the solve, kilobytes, seconds to verify, and what is
proved.

    python benchmarks/bench_proofs.py [--limit S] [--family F]... [--only PROBLEM]

Every row is an instance and a method: seconds of the solve, of the producer, and of the processor
in `python -I verify`, a process of its own; the size as written and gzipped; and how much is
left between value and bound of every level, relative to the value (0 is exactly 0). Then the marks
are compared.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from form import Rows, parser

import cotenant.verify
from cotenant import catalog
from cotenant.instances.admission.generators import table_i
from cotenant.instances.colocation.generators import (
    population,
    random_preferences,
    score_preferences,
)
from cotenant.instances.market.generators import population as market_population
from cotenant.instances.packing.generators import caprara_toth
from cotenant.instances.problem import Instance, InvalidOption, read, write
from cotenant.instances.problem.files import bundled, locate
from cotenant.instances.problem.proof import Proof
from cotenant.instances.problem.reading import read_bytes
from cotenant.instances.problem.registry import resolve
from cotenant.instances.scheduling.generators import workload
from cotenant.solvers.outcome import Clock
from cotenant.solvers.proofs import Claimed, Task


@dataclass(frozen=True)
class Mark:
    """What is to be reached: seconds to verify, kilobytes gzipped, whether no gap may be left, and
    how far off an equilibrium may be.
    """

    seconds: float | None = None
    kilobytes: float | None = None
    exact: bool = False
    epsilon: float = 1.0


Case = tuple[str, str, Callable[[], Path], Mark]
"""Family, method, how to get the instance's file, what is to be reached."""


def families(folder: Path) -> Iterator[Case]:
    """The instances and methods of the bench."""

    def drawn(name: str, make: Callable[..., Instance], seed: int, **options: object) -> Path:
        return write(make(rng=np.random.default_rng(seed), **options), folder / f"{name}.json")

    for name in bundled():
        problem = name.partition("/")[0]
        for method in catalog.methods(problem):
            if method.proof_producer and method.applies_to(read(name)):
                exact = (problem, method.name) == ("colocation", "optimal")
                yield "bundled", method.name, partial(locate, name), Mark(5.0, None, exact)
    different: dict[str, Callable[..., Instance]] = {
        "lists": random_preferences,
        "scores": score_preferences,
    }
    for agents in (100, 400, 1000):
        for label, make in different.items():
            yield (
                "different",
                "optimal",
                partial(drawn, f"{label}-{agents}", make, 1, agents=agents),
                Mark(2.0, None, True),
            )
    for number in range(1, 11):
        for items in (30, 60):
            name = f"caprara-toth-{number}-{items}"
            file = partial(drawn, name, caprara_toth, 1, number=number, items=items)
            yield "caprara", "min-servers", file, Mark(4.0, None, True)
    for comparison in ("I", "II", "III"):
        file = partial(drawn, f"table-{comparison}", table_i, 1, comparison=comparison)
        yield "hines", "optimal", file, Mark(5.0)
    yield "cooper", "stable", partial(locate, "colocation/cooper-1000"), Mark(1.0, 10, True)
    for seed in range(6):
        yield (
            "cooper",
            "stable",
            partial(drawn, f"population-{seed}", population, seed),
            Mark(1.0, 10),
        )
    for seed in range(4):
        for noise in (0.15, 0.05):
            name = f"scores-300-{noise}-{seed}"
            file = partial(drawn, name, score_preferences, seed, agents=300, noise=noise)
            yield "blocking", "stable", file, Mark(1.0, 1000)
    for work in ("one", "lognormal"):
        options = {"users": 1000, "servers": 1000, "jobs": 10, "work": work, "budgets": "equal"}
        file = partial(drawn, f"market-{work}", market_population, 0, **options)
        for name in ("fisher", "nash-welfare", "utilitarian"):
            yield "market", name, file, Mark(1.0, epsilon=1e-8)
    for number in (12, 14, 16):
        amounts = {"organizations": number, "machines": 2 * number, "jobs": 100, "horizon": 200}
        file = partial(drawn, f"ref-{number}", workload, 0, **amounts, load=1.2)
        yield "shapley", "REF", file, Mark(20.0)
    for users, servers, cores in ((8, 4, 12.0), (12, 6, 12.0)):
        options = {"users": users, "servers": servers, "jobs": 2, "work": "lognormal"}
        file = partial(drawn, f"few-{users}", market_population, 1, **options, cores=cores)
        yield "market", "leximin", file, Mark(5.0)


def left(proof: Proof) -> str:
    """The gap of every level."""
    parts = []
    for level in proof.levels:
        if level.epsilon is not None:
            parts.append(
                "epsilon " + " ".join(f"{float(value):.1e}" for value in level.epsilon.values())
            )
        elif level.value is None or level.bound is None:
            parts.append("infeasible" if level.infeasible else "open")
        else:
            off = abs(level.value - level.bound) / max(abs(level.value), abs(level.bound), 1)
            parts.append(f"{float(off):.1e}" if off else "0")
    return ", ".join(parts)


def _children() -> float:
    """Seconds of the processor of the processes that were started and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Run the families."""
    command = parser(__doc__)
    command.add_argument("--limit", type=float, default=20.0)
    command.add_argument(
        "--family",
        action="append",
        choices=[
            "bundled",
            "different",
            "caprara",
            "hines",
            "cooper",
            "blocking",
            "market",
            "shapley",
        ],
    )
    command.add_argument("--only")
    arguments = command.parse_args()
    rows = Rows(arguments.json)
    missed = []
    with tempfile.TemporaryDirectory() as folder:
        for family, name, make, mark in families(Path(folder)):
            if arguments.family and family not in arguments.family:
                continue
            path = make()
            instance, content = read(path), read_bytes(path)
            if arguments.only not in (None, instance.problem):
                continue
            method = catalog.find(instance.problem, name)
            label = f"{instance.problem}/{instance.name}"[:31]
            begun = time.perf_counter()
            try:
                result = cotenant.solve(instance, name, time_limit=arguments.limit)
            except InvalidOption:  # not for this instance
                continue
            solved = time.perf_counter()
            try:
                clock = Clock(arguments.limit)
                task = Task.of(content, instance, name, {}, result, clock)
                proof: Proof = resolve(method.proof_producer)(task)
            except Claimed as why:
                rows.add(
                    "proofs", instance=label, method=name, solve=solved - begun, prove=None,
                    verify=None, kilobytes=None, gzipped=None, left=f"claimed: {why}",
                )  # fmt: skip
                continue
            made = time.perf_counter()
            text = json.dumps(
                proof.document(instance.name, hashlib.sha256(content).hexdigest()),
                separators=(",", ":"),
            )
            file = Path(folder) / "proof.json"
            file.write_text(text)
            done = _children()
            program = [
                sys.executable,
                "-I",
                str(Path(cotenant.verify.__path__[0])),
                str(path),
                str(file),
            ]
            judged = subprocess.run(program, capture_output=True, text=True, check=False)
            seconds, packed = _children() - done, len(gzip.compress(text.encode())) / 1000
            gap = left(proof) if judged.returncode == 0 else judged.stdout.strip()[:100]
            rows.add(
                "proofs", instance=label, method=name, solve=solved - begun, prove=made - solved,
                verify=seconds, kilobytes=len(text) / 1000, gzipped=packed, left=gap,
            )  # fmt: skip
            if judged.returncode:
                missed.append(f"{label} {name}: {gap}")
            elif mark.exact and not proof.complete:
                missed.append(f"{label} {name}: a gap")
            elif any(level.epsilon and (level.value or 0) > mark.epsilon for level in proof.levels):
                missed.append(f"{label} {name}: {gap}")
            elif (mark.seconds or seconds) < seconds or (mark.kilobytes or packed) < packed:
                missed.append(f"{label} {name}: {seconds:.2f} s to verify, {packed:.1f} kB")
    print("every mark is reached" if not missed else "not reached:\n  " + "\n  ".join(missed))


if __name__ == "__main__":
    main()
