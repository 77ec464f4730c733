"""Measure the share of a library of vector packing that `min-servers` proves, and its answers
relative to the best published heuristics.

    python benchmarks/bench_vector_packing.py FOLDER [--limit 60] [--sample K] [--largest N]
        [--only REGEX] [--table FOLDER/table.csv] [--out rows.jsonl] [--proofs FOLDER] [--all]
    python benchmarks/bench_vector_packing.py FOLDER --out rows.jsonl --summary

FOLDER holds `instances.tar.gz` unpacked (SET/INSTANCE.vbp) and `table.csv` with the columns set,
instance, lower_bound, optimum, best_heuristic. The open instances (no optimum, and a bound below
the best heuristic) are solved, or with --all every one, the small ones first and those of a size in
turns over sets, classes and dimensions; with --sample so many of each set, class, size and
dimension. Each ends with a JSON line in --out; what has a line there is not solved again, so that a
run goes on where it was stopped. With --proofs the answer of each instance that is closed is
written there with its proof, and judged by the verifier.

With --processor the limit is in processor seconds, so that what else runs does not count (a program
that HiGHS solves keeps its share of it in wall seconds).

An answer below, or a bound above, a published optimum ends the run. `seconds` are wall time, `cpu`
processor time with that of ended child processes.
"""

from __future__ import annotations

import csv
import json
import re
from argparse import Namespace
from collections import Counter, defaultdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from form import Rows, busy, parser, timed

import cotenant
from cotenant.instances.packing.formats import vbp
from cotenant.instances.packing.generators import caprara_toth
from cotenant.solvers import stopwatch

Row = dict[str, Any]


def rows_of(arguments: Namespace) -> list[Row]:
    """The instances to be solved, in the order of the run."""
    found: list[Row] = []
    with open(arguments.table or arguments.folder / "table.csv") as stream:
        for row in csv.DictReader(stream):
            label, size, dimension, _ = re.fullmatch(
                r"(\w+?)_(\d+)_(\d+)_(\w+)", row["instance"]
            ).groups()  # type: ignore[union-attr]
            numbers = {
                key: int(row[key]) if row[key] else None
                for key in ("lower_bound", "optimum", "best_heuristic")
            }
            is_open = row["optimum"] == "" and numbers["lower_bound"] < numbers["best_heuristic"]
            if arguments.only and not re.search(arguments.only, f"{row['set']}/{row['instance']}"):
                continue
            if (is_open or arguments.all) and int(size) <= arguments.largest:
                found.append(
                    {"set": row["set"], "instance": row["instance"], "class": label,
                     "n": int(size), "dimension": int(dimension), **numbers}
                )  # fmt: skip
    turn: Counter[tuple[Any, ...]] = Counter()
    for row in found:
        kind = tuple(row[key] for key in ("set", "class", "n", "dimension"))
        row["turn"] = turn[kind]
        turn[kind] += 1
    if arguments.sample:
        found = [row for row in found if row["turn"] < arguments.sample]
    early = 120  # the sizes up to this one are all solved before the larger ones
    return sorted(found, key=lambda row: (row["n"] > early, row["turn"], row["n"], row["instance"]))


def solve(row: Row, arguments: Namespace) -> Row:
    """The row with what `min-servers` found."""
    instance = vbp(arguments.folder / row["set"] / f"{row['instance']}.vbp")
    run = timed(lambda: cotenant.solve(instance, "min-servers", time_limit=arguments.limit))
    result = run.value
    value, bound = round(result.objective), int(np.ceil(result.bound - 1e-6))
    if row["optimum"] is not None and not bound <= row["optimum"] <= value:
        raise SystemExit(f"{row} against the published optimum: {value}, {bound}")
    if bound > row["best_heuristic"] or value < row["lower_bound"]:
        raise SystemExit(f"{row} against published bounds: {value}, {bound}")
    row = {
        **row, "limit": arguments.limit, "value": value, "bound": bound,
        "found_by": result.certificate["found_by"], "bound_by": result.certificate["bound_by"],
        "seconds": round(run.wall, 2), "cpu": round(run.cpu, 2),
    }  # fmt: skip
    if arguments.proofs and value == bound:
        folder = arguments.proofs / row["set"] / row["instance"]
        folder.mkdir(parents=True, exist_ok=True)
        proof = cotenant.prove(instance, result, folder, time_limit=arguments.limit)
        row["proof"] = proof.proof_status
    return row


def summary(done: list[Row], rows: Rows) -> None:
    """Tables by set, class, size and dimension."""
    for keys in (("set", "class", "n", "dimension"), ("n",), ("dimension",), ("set", "class"), ()):
        groups = defaultdict(list)
        for row in done:
            groups[" ".join(str(row[key]) for key in keys)].append(row)
        for name, group in sorted(groups.items(), key=lambda pair: _natural(pair[0])):
            gaps = [100 * (row["value"] - row["bound"]) / row["bound"] for row in group]
            rows.add(
                f"by {', '.join(keys)}" if keys else "in all", group=name or "all",
                instances=len(group), proved=sum(row["value"] == row["bound"] for row in group),
                behind=sum(row["value"] > row["best_heuristic"] for row in group),
                ahead=sum(row["value"] < row["best_heuristic"] for row in group),
                gap=float(np.mean(gaps)), servers=sum(row["value"] for row in group),
                cpu=float(np.median([row["cpu"] for row in group])),
            )  # fmt: skip


def _natural(text: str) -> list[Any]:
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", text)]


def main() -> None:
    """Solve what has no line yet, then sum up."""
    options = parser(__doc__)
    options.add_argument("folder", type=Path)
    options.add_argument("--table", type=Path)
    options.add_argument("--limit", type=float, default=60.0)
    options.add_argument("--sample", type=int, default=0)
    options.add_argument("--largest", type=int, default=10**9)
    options.add_argument("--only", help="of instances whose SET/NAME matches")
    options.add_argument("--all", action="store_true")
    options.add_argument("--out", type=Path)
    options.add_argument("--proofs", type=Path)
    options.add_argument("--summary", action="store_true")
    options.add_argument("--processor", action="store_true")
    arguments = options.parse_args()
    if arguments.processor:
        stopwatch.time = SimpleNamespace(perf_counter=busy)
    done: list[Row] = []
    if arguments.out and arguments.out.exists():
        done = [json.loads(line) for line in arguments.out.read_text().splitlines()]
    if not arguments.summary:
        # kernels are compiled now
        tiny = caprara_toth(number=1, items=10, rng=np.random.default_rng(0))
        cotenant.solve(tiny, "min-servers")
        solved = {(row["set"], row["instance"]) for row in done}
        for row in rows_of(arguments):
            if (row["set"], row["instance"]) not in solved:
                done.append(solve(row, arguments))
                line = json.dumps(done[-1])
                print(line, flush=True)
                if arguments.out:
                    with arguments.out.open("a") as stream:
                        stream.write(line + "\n")
    summary(done, Rows(arguments.json))


if __name__ == "__main__":
    main()
