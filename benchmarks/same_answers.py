"""Whether two checkouts answer the same: every bundled instance by every method that suits it,
comparisons, reports, experiments.

    python benchmarks/same_answers.py --out before.json      # in the checkout before a change
    python benchmarks/same_answers.py --against before.json  # in the one after it, some minutes;
                                                             # every difference is a line
    python benchmarks/same_answers.py --against before.json --quick   # tiny instances, and three
                                                                      # experiments

Only the public face and the command line are used, so that the checkouts may be laid out
differently. What is compared: values, bounds, statuses, metrics, digests of solutions, rows of
`compare`, its summaries, the page of `report` with its tables, the rows and tables of experiments,
and what `--help`, `methods`, `show` and `reproduce --list` print. Left out everywhere: seconds and
versions, and the paths of functions inside the package.

A run is left out when its time is up (where an exact method stops then depends on the machine), and
is listed as such; one that ended in time before and does not now is a difference. `TOO_SLOW` lists
what is not run. Exit code 1 when anything differs.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import cotenant

TIME_LIMIT = 40.0
"""Seconds for each run: what ends, ends far below."""

TOO_SLOW = {
    "colocation/cooper-1000": ["fair"],
    "colocation/cooper-beta-high-1000": ["fair"],
    "colocation/cooper-beta-low-1000": ["fair"],
    "colocation/cooper-gaussian-1000": ["fair"],
    "market/groups-100": ["leximin"],
    "market/pool-100": ["leximin"],
    "packing/few-types-6-300": ["min-servers", "cp-sat"],
    "scheduling/subset-sum": ["max-utility"],
    "scheduling/lpc-like": ["max-utilization", "max-utility"],
}
"""Instance -> methods that are not run: they take longer than the time limit, or about as long."""

INSTANCES = """
admission/tiny admission/hines-romano-I
colocation/tiny colocation/no-stable-4 colocation/preferences-100 colocation/cooper-1000
colocation/cooper-beta-high-1000
colocation/cooper-beta-low-1000 colocation/cooper-gaussian-1000
market/tiny market/groups-100 market/pool-100
numa/tiny numa/kmeans numa/kmeans-hot-blade numa/kmeans-hot-memory numa/table-4.2-hot-blade
packing/tiny packing/paper-example packing/vm-types-8 packing/few-types-6-300
packing/caprara-toth-1-40
scheduling/tiny scheduling/figure-2 scheduling/figure-7 scheduling/not-supermodular
scheduling/subset-sum scheduling/lpc-like
""".split()

EXPERIMENTS = """
colocation-figure-5 market-figure-3.12 colocation-figure-14 colocation-figure-12
market-figure-3.4
packing-figure-2 packing-figure-5 numa-table-4.1 scheduling-theorem-6.2 numa-figure-4.14
packing-figure-3 admission-claims
""".split()
"""They read no measured files and draw from given seeds only."""

COMPARED = """
admission/tiny colocation/tiny colocation/no-stable-4 market/tiny numa/tiny packing/tiny
packing/paper-example scheduling/tiny
scheduling/figure-7
""".split()

COMMANDS = (
    ["--help"],
    *(
        [name, "--help"]
        for name in "solve compare report check methods show generate convert fetch schema "
        "reproduce audit".split()
    ),
    ["methods", "--json"],
    ["methods"],
    ["show", "--json"],
    ["reproduce", "--list", "--json"],
    ["reproduce", "--list"],
    ["solve", "numa/tiny", "-m", "sustained"],
    ["solve", "market/tiny", "-m", "fisher", "--format", "csv", "-o", "no-such=1"],
    *(
        ["schema", problem]
        for problem in "admission colocation market numa packing scheduling".split()
    ),
)

LEFT_OUT = {"seconds", "versions", "function", "needs", "key"}
"""Fields of any row; `key` is made of the others and the version."""

_ENVIRONMENT = os.environ | {"COLUMNS": "200", "TERM": "dumb", "SOURCE_DATE_EPOCH": "0"}


def digest(value: Any) -> str:
    """Sixteen digits of a value's JSON, or of a text."""
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    return sha256(text.encode()).hexdigest()[:16]


def bare(value: Any) -> Any:
    """Without what changes from run to run, all the way down."""
    if isinstance(value, dict):
        return {name: bare(entry) for name, entry in value.items() if name not in LEFT_OUT}
    return [bare(entry) for entry in value] if isinstance(value, list) else value


def command(arguments: list[str], folder: str) -> subprocess.CompletedProcess[str]:
    """Run `cotenant` of this checkout."""
    call = [sys.executable, "-c", "from cotenant.cli import main; main()", *arguments]
    return subprocess.run(call, cwd=folder, env=_ENVIRONMENT, capture_output=True, text=True)


def solved(quick: bool) -> Iterator[tuple[str, Any]]:
    """Every instance by every method that suits it."""
    for name in INSTANCES:
        if quick and not name.endswith("/tiny"):
            continue
        instance = cotenant.read(name)
        for method in cotenant.methods(instance.problem):
            if not method.applies_to(instance):
                continue
            label = f"solve {name} {method.name}"
            if method.name in TOO_SLOW.get(name, ()):
                yield label, {"left out": "too slow"}
                continue
            try:
                result = cotenant.solve(instance, method.name, seed=1, time_limit=TIME_LIMIT)
            except cotenant.CotenantError as error:
                yield label, {"error": f"{type(error).__name__}: {error}"}
                continue
            if result.stop.value == "time_limit":
                yield label, {"left out": "its time was up"}
                continue
            row = bare(result.summary())
            row["solution"] = (
                None if result.solution is None else digest(result.solution.document())
            )
            yield label, row


def compared(quick: bool) -> Iterator[tuple[str, Any]]:
    """Comparisons in Python and by the command line, and the report of their rows."""
    names = [name for name in COMPARED if not quick or name.endswith("/tiny")]
    for name in names:
        found = cotenant.compare(
            [cotenant.read(name)],
            seeds=[0, 1],
            time_limit=TIME_LIMIT,
            frontier="no-stable" not in name,
        )
        yield f"compare {name} rows", bare(found.rows)
        yield f"compare {name} summary", bare(found.summary())
        yield f"compare {name} columns", list(found.table.columns)
    tiny = [name for name in COMPARED if name.endswith("/tiny")]
    yield from reported("tiny", tiny)
    if not quick:
        yield from reported("others", [name for name in COMPARED if name not in tiny])


def reported(label: str, names: list[str]) -> Iterator[tuple[str, Any]]:
    """One comparison by the command line, and the report of its rows."""
    with tempfile.TemporaryDirectory() as folder:
        done = command(
            [
                "compare",
                *names,
                "--frontier",
                "--time-limit",
                "40",
                "--out",
                "rows.jsonl",
                "--json",
            ],
            folder,
        )
        yield (
            f"compare command, {label}",
            {"code": done.returncode, "errors": done.stderr if done.returncode else ""},
        )
        path = Path(folder, "rows.jsonl")
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        yield f"compare command, {label}, rows", bare(rows)
        # Seconds and versions are on the page: all are made equal first.
        same = [
            row | ({"seconds": 1.0} if "seconds" in row else {}) | {"versions": {"cotenant": "0"}}
            for row in rows
        ]
        path.write_text("".join(json.dumps(row) + "\n" for row in same))
        done = command(["report", "rows.jsonl", "--out", "page.html", "--tables", "tables"], folder)
        yield (
            f"report command, {label}",
            {"code": done.returncode, "errors": done.stderr if done.returncode else ""},
        )
        for file in sorted(Path(folder, "tables").glob("*")):
            yield f"report, {label}, {file.name}", file.read_text()
        page = Path(folder, "page.html").read_text()
        yield (
            f"report, {label}, text",
            re.sub(r"\s+", " ", re.sub(r"(?s)<(svg|script|style).*?</\1>|<[^>]*>", " ", page)),
        )
        yield f"report, {label}, page", digest(page)


def redone(quick: bool) -> Iterator[tuple[str, Any]]:
    """Experiments by the command line, each with its tables."""
    for name in EXPERIMENTS[:3] if quick else EXPERIMENTS:
        with tempfile.TemporaryDirectory() as folder:
            done = command(["reproduce", name, "--json", "--tables", "tables"], folder)
            yield (
                f"reproduce {name}",
                bare(json.loads(done.stdout))
                if done.returncode == 0
                else done.stdout + done.stderr,
            )
            for file in sorted(Path(folder, "tables").glob("*.csv")):
                yield f"reproduce {name} {file.name}", file.read_text()


def said(quick: bool) -> Iterator[tuple[str, Any]]:
    """Outputs of the command line about itself: help, lists and completions."""
    for arguments in COMMANDS[:1] if quick else COMMANDS:
        with tempfile.TemporaryDirectory() as folder:
            done = command(list(arguments), folder)
            text = (
                bare(json.loads(done.stdout))
                if "--json" in arguments and done.returncode == 0
                else done.stdout
            )
            yield (
                f"cotenant {' '.join(arguments)}",
                {"code": done.returncode, "out": text, "errors": done.stderr},
            )


PARTS: tuple[Callable[[bool], Iterator[tuple[str, Any]]], ...] = (said, redone, compared, solved)


def differences(before: Any, after: Any, where: str) -> Iterator[str]:
    """One line for each place where two values are not equal."""
    if isinstance(before, dict) and isinstance(after, dict):
        for name in dict.fromkeys([*before, *after]):
            if name not in before or name not in after:
                yield f"{where}.{name}: only {'after' if name in after else 'before'}"
            else:
                yield from differences(before[name], after[name], f"{where}.{name}")
    elif isinstance(before, list) and isinstance(after, list):
        if len(before) != len(after):
            yield f"{where}: {len(before)} entries before, {len(after)} after"
        for place, (one, other) in enumerate(zip(before, after, strict=False)):
            yield from differences(one, other, f"{where}[{place}]")
    elif (
        isinstance(before, str)
        and isinstance(after, str)
        and before != after
        and len(before + after) > 200
    ):
        place = next(
            (i for i, (one, other) in enumerate(zip(before, after, strict=False)) if one != other),
            len(before),
        )
        begin = max(0, place - 30)
        yield (
            f"{where}: before ...{before[begin : place + 70]!r}, after "
            f"...{after[begin : place + 70]!r}"
        )
    elif before != after and not (
        isinstance(before, float)
        and isinstance(after, float)
        and math.isnan(before)
        and math.isnan(after)
    ):
        yield f"{where}: {before!r} before, {after!r} after"


def main() -> None:
    """Write what this checkout answers, or compare it with what another wrote."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, help="write the answers here")
    parser.add_argument(
        "--against", type=Path, help="compare with the answers that --out wrote elsewhere"
    )
    parser.add_argument(
        "--quick", action="store_true", help="the tiny instances and three experiments"
    )
    args = parser.parse_args()
    if args.out is None and args.against is None:
        parser.error("give --out FILE or --against FILE")
    print(f"cotenant of {Path(cotenant.__file__).parent}", flush=True)
    found: dict[str, Any] = {}
    for part in PARTS:
        for label, value in part(args.quick):
            if label in found:
                raise ValueError(f"{label} is there twice")
            found[label] = json.loads(json.dumps(value))
            if isinstance(value, dict) and "left out" in value:
                print(f"left out: {label}: {value['left out']}", flush=True)
        print(f"{len(found)} answers after {part.__name__}", flush=True)
    if args.out is not None:
        args.out.write_text(json.dumps(found, indent=1) + "\n")
    if args.against is None:
        return
    before = json.loads(args.against.read_text())
    if args.quick:
        before = {label: value for label, value in before.items() if label in found}
    lines, left = [], 0
    for label in dict.fromkeys([*before, *found]):
        if label not in before or label not in found:
            lines.append(f"{label}: only {'after' if label in found else 'before'}")
        elif "left out" in before[label] or found[label] == {"left out": "too slow"}:
            left += 1
        elif "left out" in found[label]:
            lines.append(f"{label}: ended in time before, {found[label]['left out']} now")
        else:
            lines += differences(before[label], found[label], label)
    print(
        *lines,
        f"{len(before) - left} answers compared, {left} left out, {len(lines)} differences",
        sep="\n",
    )
    sys.exit(1 if lines else 0)


if __name__ == "__main__":
    main()
