"""Hostile files: every kind of document, every foreign format and broken surroundings. None may end
in a traceback.

Run from anywhere:  python benchmarks/fuzz_files.py [--mutations 10000] [--seed 0] [--only KIND]
[--show 20]

Good files of every kind are made first: the bundled instances of every problem, a result of
every method, rows of comparisons and experiments, and a file in every foreign format. Each mutation
changes one field (or a few bytes) of one of them, and the commands that take such a file read it in
a fork of this process, with 15 s of processor time and 2 GB of memory more than the process has.
Then special files (pipes, devices, bombs, closed streams) are given to the command in processes of
their own.

Prints what was found: tracebacks, hangs, too much memory, processes that died; and which warnings
of Python came through. Exit code 1 when there is any of them but warnings. The same seed makes the
same mutations.
"""

from __future__ import annotations

import argparse
import copy
import faulthandler
import gzip
import json
import os
import pickle
import random
import resource
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from special_files import specials

import cotenant
from cotenant import cli
from cotenant.analysis.frontier import PriceFrontier  # noqa: F401  (loaded before the forks, as all that follows)
from cotenant.analysis.report.comparison_page import build_page
from cotenant.analysis.report.overview import overview_tables
from cotenant.analysis.report.read_runs import gather
from cotenant.analysis.run.rows import finished_rows
from cotenant.catalog import METHODS
from cotenant.instances.market.profile import read_profile
from cotenant.instances.problem import PROBLEM_NAMES, CotenantError, problem_named
from cotenant.papers.page import findings_table, require_experiments, summary_table, write_page

CPU_SECONDS, WALL_SECONDS = 15, 60
MEMORY = 2 * 10**9
SHARES = {"instance": 0.25, "result": 0.3, "rows": 0.15, "experiments": 0.05, "foreign": 0.25}
ROOT = Path(cotenant.__path__[0])

DIGITS, EXPONENT, DEEP, NAN = "9" * 400, "1e400", "[" * 20_000 + "]" * 20_000, "NaN"
RAW = {
    f"@raw{place}@": text
    for place, text in enumerate((DIGITS, f"-{DIGITS}.5", EXPONENT, DEEP, NAN, "[" * 90 + "]" * 90))
}
"""Texts of JSON that `json.dumps` does not write, by the string that stands for each until then."""

NUMBERS = [
    0, 1, -1, 2, 0.5, -0.0, 1e-300, 5e-324, 1e18, 1e308, -1e308, 10**9, 10**12, 2**53, 2**63 - 1,
    2**63, -(2**63), 10**299,
]  # fmt: skip
TEXTS = [
    "", " ", "x", "\x1b[31m", "\u202e", "\ud800", "\0", "a" * 5000, "=1+1", "-", "nan", "inf", "1",
    "true", "__class__", "../x",
]  # fmt: skip
VALUES: list[Any] = [
    None, True, False, *NUMBERS, *TEXTS, *RAW, [], {}, [[]], [{}], {"": 0}, {"a": [1]}, [None],
    [1e308] * 3, [0] * 1000,
    ["x"] * 3, [[1, 2], [3]], {"a" * 5000: None},
]  # fmt: skip
CELLS = [
    *TEXTS, "-1", "0", "1e400", "-1e308", "1e308", "5e-324", "0.5", DIGITS, "9" * 18, str(2**53),
    str(2**63), "\t", '"', '""x',
    "a,b", "1,5", "x" * 131_073, "\r", "\x00", "2024-01-01T00:00:00", "0000-00-00T00:00:00",
    "9999-12-31T23:59:59", "99-99:99:99",
    "1:2:3:4", ";", "|", "\u0663", "\uff11", "\u00b2", "1_000", "+5", "0x10", "1 2",
]  # fmt: skip

Action = Callable[[Path], object]
Value = TypeVar("Value")


@dataclass(frozen=True)
class Subject:
    """A good file, what makes it a bad one, and what reads it."""

    kind: str
    name: str
    suffix: str
    good: Any
    actions: tuple[Action, ...]
    delimiter: str = ""


# --- what reads a file ----------------------------------------------------------------------------


def command(*arguments: str | Path) -> None:
    """The command line, in this process; it leaves by SystemExit."""
    sys.argv = ["cotenant", *map(str, arguments)]
    cli.main()


def reported(path: Path) -> None:
    """What a report says of rows, up to the drawing."""
    made = build_page(gather([path]))
    for table in made.tables():
        for form in ("csv", "latex", "markdown"):
            table.write(form)


def gone_on_with(instance: Any, methods: list[str], path: Path) -> None:
    """A comparison that finds its rows there already, and its tables."""
    found = cotenant.compare(
        [instance], methods, time_limit=60.0, frontier=instance.problem != "quanta", out=path
    )
    for table in overview_tables(found):
        table.write("markdown")


def redone(path: Path) -> None:
    """The page of experiments that are there already."""
    rows = list(finished_rows(path).values())
    require_experiments(rows, str(path))
    write_page(path.with_suffix(".md"), path)
    for row in rows:
        findings_table(row).write("latex")
    summary_table(rows).write("csv")


# --- good files -----------------------------------------------------------------------------------


def subjects(folder: Path) -> list[Subject]:
    """Good files of every kind, and what reads each."""
    found: list[Subject] = []
    answers: dict[str, Path] = {}
    for problem in PROBLEM_NAMES:
        for method in (entry for entry in METHODS if entry.problem == problem):
            for name in (f"{problem}/tiny", "packing/paper-example", "packing/cluster-12-40"):
                instance = cotenant.read(name)
                if instance.problem != problem or not method.applies_to(instance):
                    continue
                result = cotenant.solve(instance, method.name, time_limit=10)
                path = result.write(folder / f"{problem}-{method.name}.json")
                answers.setdefault(name, path)
                act = partial(_checked, name)
                found.append(
                    Subject(
                        "result",
                        f"{problem} {method.name}",
                        ".json",
                        json.loads(path.read_text()),
                        (act,),
                    )
                )
                break
    for name in cotenant.instances.problem.bundled():
        path = next(ROOT.glob(f"instances/data/{name}.json*"))
        if path.suffix == ".gz" or path.stat().st_size > 50_000:
            continue
        actions: list[Action] = [partial(command, "show")]
        if name in answers:
            actions.append(partial(_checked_against, answers[name]))
        found.append(
            Subject("instance", name, ".json", json.loads(path.read_text()), tuple(actions))
        )
    found += [*_rows(folder), *_foreign(folder)]
    lines = (ROOT / "docs" / "reproduction.jsonl").read_text().splitlines()
    experiments = [json.loads(line) for line in lines[:: max(1, len(lines) // 8)]]
    found.append(Subject("experiments", "experiments", ".jsonl", experiments, (redone,)))
    return found


def _checked(instance: str, path: Path) -> None:
    command("check", instance, path)


def _checked_against(answer: Path, path: Path) -> None:
    command("check", path, answer)


def _rows(folder: Path) -> Iterator[Subject]:
    methods = {
        "colocation": ["optimal", "SMR"], "market": ["utilitarian", "ES"],
        "packing": ["min-servers", "FFD"],
        "admission": ["optimal", "SM"], "scheduling": ["REF", "ROUNDROBIN"],
        "numa": ["fluid", "Local"], "groups": ["optimal", "GR"],
        "accelerators": ["max-min", "hierarchical"], "quanta": ["horizon", "Karma"],
    }  # fmt: skip
    for problem in PROBLEM_NAMES:
        instance, path = cotenant.read(f"{problem}/tiny"), folder / f"{problem}.jsonl"
        cotenant.compare(
            [instance],
            methods[problem],
            time_limit=60.0,
            frontier=instance.problem != "quanta",
            out=path,
        )
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        again = partial(gone_on_with, instance, methods[problem])
        yield Subject("rows", f"{problem} rows", ".jsonl", rows, (reported, again))


FOREIGN: dict[str, tuple[str, str, str]] = {
    "penalty-csv": (".csv", ",", "job,a,b,c\na,0.1,0.2,0.3\nb,0.2,,0.1\nc,inf,0.4,0.5\n"),
    "slowdown-csv": (".csv", ",", "job,a,b\na,1.1,1.2\nb,1.2,1.0\n"),
    "fair-co2": (".csv", ",", "job,a,b,alone\na,11,12,10\nb,22,21,20\n"),
    "jobs-csv": (
        ".csv",
        ",",
        "user,server,seconds@1,seconds@4,budget,work\nu,s,100,30,1,1\nv,s,80,25,2,1\n",
    ),
    "vbp": (".vbp", " ", "2\n10 20\n2\n3 4 5\n6 7 8\n"),
    "vbp of BPPLIB": (".bpp", " ", "3\n10\n6\n4\n4\n"),
    "vbp of VPSolver": (".mvp", " ", "1\n2\n2 10 -1\n14 13 4\n2\n1 2\n6\n1 1\n9\n"),
    "azure-vm": (".csv", ",", "vm,cpu_cores,mem_gb,start_s,end_s_lo\na,2,4,0,10\nb,4,8,5,20\n"),
    "admission-csv": (".csv", ",", "vm,fast,slow\na,2,4\nb,1,0\n"),
    "swf": (
        ".swf",
        " ",
        "; MaxProcs: 4\n1 0 5 20 1 -1 -1 -1 -1 -1 1 7 1 -1 1 1 -1 -1\n2 4 1 10 2 -1 -1 3 -1 "
        "-1 1 8 2 -1 1 1 -1 -1\n",
    ),
    "swf with fractions": (
        ".swf",
        " ",
        "1 0.5 5.25 20.5 1 -1 -1 -1 -1 -1 1 7 1 -1 1 1 -1 -1\n2 4 1 0.2 2 -1 -1 3 -1 -1 1 8 2 -1 1 "
        "1 -1 -1\n",
    ),
    "pairs-csv": (
        ".csv",
        ",",
        "service,beside,slowdown\nx,x,1.05\nx,x,1.07\nx,y,1.3\ny,x,1.1\ny,y,1.2\n",
    ),
    "vms-csv": (
        ".csv",
        ",",
        "name,cpu,mem,count,allowed,most_per_server,apart,skew,server\na,2,4,3,h;k,1,,1,\n"
        "b,1,1,2,,2,a,,h/1;h/2\n",
    ),
    "groups-csv": (
        ".csv",
        ",",
        "group,job,penalty\nx + x,x,0.1\nx + y,x,0.2\nx + y,y,0.1\ny + y,y,0.3\nx,x,0\ny,y,0\n",
    ),
    "curves-csv": (
        ".csv",
        ",",
        "job,pressure,penalty\nx,0,0\nx,2,0.1\nx,5,0.3\ny,0,0\ny,2,0.2\ny,5,0.25\n",
    ),
    "accelerators-csv": (
        ".csv",
        ",",
        "job,device,throughput\nx,V100,2\nx,K80,1.5\ny,K80,0.5\n",
    ),
    "mig": (
        ".csv",
        ",",
        "Mig instance,Batch size,Workload Number,Throughput,Latency\n1,1,1,30,0.02\n"
        "3,4,2,90,0.04\n",
    ),
    "quanta-csv": (".csv", ",", "user,mon,tue\nann,3,0\nbob,1,4\n"),
    "organizations-csv": (".csv", ",", "organization,release,processing\nA,0,3\nB,1,2\n"),
    "classes-csv": (
        ".csv",
        ",",
        "class,share,service_mean,ht1,pcie,bandwidth\na,1,0.04,1.1,1.2,1.5\nb,2,0.02,1.1,1.3,2\n",
    ),
    "sacct": (
        ".txt",
        "|",
        "JobID|Account|Submit|Eligible|Start|End|ElapsedRaw|AllocCPUS|State|JobName\n"
        "1|g|2024-01-01T00:00:00|2024-01-01T00:00:00|2024-01-01T00:01:00|Unknown|600|2|RUNNING|a|b\n"
        "2_[1-3]|h|2024-01-01T00:00:30|2024-01-01T00:00:30|Unknown|Unknown|0|1|PENDING|c\n",
    ),
}
PODS = (
    "cpu_milli,memory_mib,num_gpu,gpu_milli,creation_time,deletion_time\n"
    "1000,512,1,500,0,10\n2000,1024,0,0,5,\n"
)
NODES = "cpu_milli,memory_mib,gpu\n32000,65536,4\n64000,131072,0\n"
GAVEL = {
    "v100": {
        "jobs": ["a", "b"],
        "isolated_throughput": [10.0, 20.0],
        "corun_throughput_of_row": [[5.0, 6.0], [7.0, 0.0]],
    }
}
GAVEL_RAW = {
    "v100": {
        "('a', 1)": {"null": 3.0, "('a', 1)": [1.0, 1.0], "('b', 1)": [2.0, 1.0]},
        "('b', 1)": {"null": 2.0},
    }
}
PREFERENCES = {"a": ["b", "c"], "b": ["a", "c"], "c": ["b"]}
TABLES: dict[str, tuple[str, str]] = {
    "devices": (",", "device,count,cost\nV100,1,3\nK80,2,1\n"),
    "mapping": (",", "user,organization\n7,one\n8,two\n"),
    "bandwidth": (",", "name,GB/s\na,1\nb,2\nc,3\n"),
    "nodes": (",", NODES),
    "jobs": (",", "job,threads,length\nx,2,5\ny,1,4\n"),
    "speed": (",", "job,fast,slow\nx,2,1\ny,3,1.5\n"),
    "services": (",", "service,count,bandwidth\nx,4,2\ny,2,3\n"),
    "hosts": (",", "name,cpu,mem,count,cost,zone\nh,8,16,2,1,z1\nk,8,8,2,2,z2\n"),
    "organizations": (",", "organization,machines\nA,1\nB,2\n"),
    "memories": (",", "memory,share\n0,1\n3,2\n"),
}
"""Tables that are given by an option: its name -> delimiter, text."""
OWNERS = {
    "mapping": "swf",
    "bandwidth": "penalty-csv",
    "nodes": "alibaba-openb",
    "jobs": "admission-csv",
    "speed": "admission-csv",
    "services": "pairs-csv",
    "hosts": "vms-csv",
    "organizations": "organizations-csv",
    "memories": "classes-csv",
    "devices": "accelerators-csv",
}
LOADS = {"SLO_req_rate.csv": b"100\n", "SLO_latency.csv": b"200\n"}
MEMBERS = "job,count,pressure\nx,3,2\ny,2,1\n"
PROFILE = (
    "workload,size,cores,seconds\na,1,1,100\na,1,4,30\na,2,1,200\na,2,4,70\nb,1,1,50\nb,1,8,10\n"
)


def _foreign(folder: Path) -> Iterator[Subject]:
    texts = {**FOREIGN, "alibaba-openb": (".csv", ",", PODS)}
    for option, (_, text) in TABLES.items():
        (folder / f"{option}.csv").write_text(text)
    (folder / "members.csv").write_text(MEMBERS)
    needed = {
        "alibaba-openb": [f"nodes={folder}/nodes.csv"],
        "admission-csv": [f"jobs={folder}/jobs.csv", f"speed={folder}/speed.csv"],
        "accelerators-csv": [f"jobs={folder}/members.csv", f"devices={folder}/devices.csv"],
        "vms-csv": [f"hosts={folder}/hosts.csv"],
        "organizations-csv": [f"organizations={folder}/organizations.csv", "horizon=20"],
        "classes-csv": ["rate=1000"],
        "quanta-csv": ["share=2"],
        "curves-csv": [f"jobs={folder}/members.csv"],
    }
    for name, (suffix, delimiter, text) in texts.items():
        form = name.partition(" ")[0]  # what follows tells its good files apart
        (folder / f"good-{name}").write_text(text)
        convert = partial(_converted, form, tuple(needed.get(form, ())))
        judge = (partial(command, "advise", "fairness"),) if form in ("swf", "sacct") else ()
        yield Subject("foreign", name, suffix, text, (convert, *judge), delimiter)
    for option, (delimiter, text) in TABLES.items():
        form = OWNERS[option]
        others = tuple(
            entry for entry in needed.get(form, ()) if not entry.startswith(f"{option}=")
        )
        act = partial(_option, form, option, folder / f"good-{form}", others)
        yield Subject("foreign", f"{form} {option}", ".csv", text, (act,), delimiter)
    paired = json.loads((ROOT / "instances" / "data" / "colocation" / "tiny.json").read_text())
    for name, made in (
        ("gavel", GAVEL), ("gavel", GAVEL_RAW), ("preferences", PREFERENCES),
        ("colocation", paired),
    ):  # fmt: skip
        yield Subject("foreign", name, ".json", made, (partial(_converted, name, ()),))
    shop = (ROOT / "cluster" / "state" / "data" / "shop.json").read_text()
    advised = (partial(command, "advise", "nodes"),)
    yield Subject("foreign", "kubernetes", ".json", json.loads(shop), advised)
    yield Subject("foreign", "profile", ".csv", PROFILE, (read_profile,), ",")
    missing = {form for problem in PROBLEM_NAMES for form in problem_named(problem).formats} - {
        *texts,
        "gavel",
        "preferences",
        "colocation",
    }
    if missing:
        raise SystemExit(f"no good file of the formats {', '.join(missing)} is here; add one")


def _converted(form: str, options: tuple[str, ...], path: Path) -> None:
    given = [part for option in options for part in ("-o", option)]
    if form == "mig":  # a folder: the table beside loads that are good
        folder = path.with_name("mig")
        folder.mkdir(exist_ok=True)
        for name, text in (("bert.csv", path.read_bytes()), *LOADS.items()):
            (folder / name).write_bytes(text)
        path = folder
    command("convert", path, "--from", form, "--out", path.with_name("out.json"), *given)


def _option(form: str, option: str, good: Path, others: tuple[str, ...], path: Path) -> None:
    given = [part for entry in (f"{option}={path}", *others) for part in ("-o", entry)]
    command("convert", good, "--from", form, "--out", path.with_name("out.json"), *given)


# --- mutations ------------------------------------------------------------------------------------


def mutated(subject: Subject, draw: random.Random, turn: int) -> tuple[str, bytes]:
    """Description of a mutation and the resulting bytes: mutations of fields in turn, sometimes of
    bytes.
    """
    if draw.random() < 0.08:
        return _bytes_changed(_written(subject, subject.good), draw)
    if isinstance(subject.good, str):
        return _cell_changed(subject, draw)
    document = copy.deepcopy(subject.good)
    places = list(_places(document, draw))
    place = places[turn % len(places)]
    said = _changed(document, place, draw)
    return f"{'.'.join(map(str, place))} {said}", _written(subject, document)


def _written(subject: Subject, good: Any) -> bytes:
    """A document, or the lines of several, as bytes of a file."""
    if isinstance(good, str):
        return good.encode("utf-8", "surrogatepass")
    parts = good if subject.suffix == ".jsonl" and isinstance(good, list) else [good]
    text = "\n".join(json.dumps(part) for part in parts) + "\n"
    for mark, raw in RAW.items():
        text = text.replace(json.dumps(mark), raw)
    return text.encode()


def _places(
    value: Any, draw: random.Random, before: tuple[Any, ...] = ()
) -> Iterator[tuple[Any, ...]]:
    """Every field of a document; of a long list some entries."""
    if before:
        yield before
    if isinstance(value, dict):
        for key in value:
            yield from _places(value[key], draw, (*before, key))
    elif isinstance(value, list):
        size = len(value)
        for index in range(size) if size <= 4 else {0, 1, size - 1, draw.randrange(size)}:
            yield from _places(value[index], draw, (*before, index))


def _changed(document: Any, place: tuple[Any, ...], draw: random.Random) -> str:
    """Change one field of a document."""
    holder = document
    for part in place[:-1]:
        holder = holder[part]
    key, old = place[-1], holder[place[-1]]
    how = draw.choices(
        ["value", "delete", "add", "wrap", "text", "scale", "swap", "grow"],
        [12, 3, 1, 1, 1, 3, 2, 1],
    )[0]
    if how == "value":
        holder[key] = draw.choice(VALUES)
        return f"= {str(holder[key])[:40]!r}"
    if how == "delete":
        del holder[key]
    elif how == "add" and isinstance(holder, dict):
        holder[f"{key}s"] = old
    elif how == "wrap":
        holder[key] = [old]
    elif how == "text":
        holder[key] = str(old)
    elif how == "scale" and isinstance(old, int | float):
        holder[key] = draw.choice([-old, old * 10**6, old * 1e-12, old + 1, old + 0.5])
    elif how == "swap":
        other = draw.choice(list(_places(document, draw)))
        source = document
        for part in other:
            source = source[part]
        holder[key] = copy.deepcopy(source)
        return f"= {'.'.join(map(str, other))}"
    elif isinstance(old, list):
        holder[key] = old + old[-1:] if draw.random() < 0.5 else old[:-1]
    return how


def _cell_changed(subject: Subject, draw: random.Random) -> tuple[str, bytes]:
    """Change one cell or line of a table."""
    lines = subject.good.split("\n")
    row = draw.randrange(len(lines))
    cells = lines[row].split(subject.delimiter)
    place = draw.randrange(len(cells))
    how = draw.choices(
        ["cell", "no cell", "more cells", "no line", "line twice", "many lines"],
        [14, 2, 2, 1, 1, 1],
    )[0]
    if how == "cell":
        cells[place] = draw.choice(CELLS)
        how = f"cell {row}, {place} = {cells[place][:30]!r}"
    elif how == "no cell":
        del cells[place]
    elif how == "more cells":
        cells.insert(place, draw.choice(CELLS))
    lines[row] = subject.delimiter.join(cells)
    if how == "no line":
        del lines[row]
    elif how == "line twice":
        lines.insert(row, lines[row])
    elif how == "many lines":
        lines[row:row] = [lines[row]] * 3000
    return how, "\n".join(lines).encode("utf-8", "surrogatepass")


def _bytes_changed(data: bytes, draw: random.Random) -> tuple[str, bytes]:
    """Change some bytes of a file."""
    at, to = sorted(draw.randrange(len(data) + 1) for _ in range(2))
    ways: dict[str, bytes] = {
        "cut": data[:at],
        "hole": data[:at] + data[to:],
        "twice": data[:to] + data[at:to] + data[to:],
        "byte": data[:at] + bytes([draw.randrange(256)]) + data[at + 1 :],
        "noise": data[:at] + draw.randbytes(8) + data[at:],
        "mark": b"\xef\xbb\xbf" + data,
        "wide": data.decode("utf-8", "replace").encode("utf-16"),
        "returns": data.replace(b"\n", b"\r"),
        "packed": gzip.compress(data)[: draw.randrange(10, 200)],
        "nothing": b"",
    }
    how = draw.choice(list(ways))
    return f"bytes: {how}", ways[how]


# --- running them ---------------------------------------------------------------------------------


class Hang(BaseException):
    """The time of one mutation is up."""


def run_all(todo: list[tuple[Subject, str, bytes]], folder: Path) -> list[dict[str, Any]]:
    """Outcomes of all mutations; if a fork dies, the next one continues."""
    found: list[dict[str, Any]] = []
    while len(found) < len(todo):
        found += _forked(todo[len(found) : len(found) + 250], folder)
        print(f"\r{len(found)} of {len(todo)}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return found


def _forked(batch: list[tuple[Subject, str, bytes]], folder: Path) -> list[dict[str, Any]]:
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        try:
            _work(batch, folder, writer)
        finally:
            os._exit(0)
    os.close(writer)
    text, alive = b"", True
    while alive:
        ready, _, _ = select.select([reader], [], [], WALL_SECONDS)
        part = os.read(reader, 1 << 16) if ready else b""
        text += part
        alive = bool(part)
    os.close(reader)
    finished = text.rfind(b"\n") + 1
    results: list[dict[str, Any]] = [json.loads(line) for line in text[:finished].splitlines()]
    over, status = (
        os.waitpid(child, os.WNOHANG) if len(results) < len(batch) else os.waitpid(child, 0)
    )
    if len(results) < len(batch):
        if over == 0:
            os.kill(child, signal.SIGKILL)
            _, status = os.waitpid(child, 0)
            results.append({"what": "hang", "why": f"nothing for {WALL_SECONDS} s"})
        else:
            results.append({"what": "died", "why": f"status {status}"})
    return results


def _work(batch: list[tuple[Subject, str, bytes]], folder: Path, writer: int) -> None:
    """Run mutations in a fork, a line of JSON for each."""
    place = folder / f"work-{os.getpid()}"
    place.mkdir()
    os.chdir(place)
    errors = os.open("errors", os.O_RDWR | os.O_CREAT | os.O_APPEND)
    os.dup2(errors, 2)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
    signal.signal(signal.SIGPROF, _up)
    faulthandler.disable()
    for subject, _, data in batch:
        os.ftruncate(errors, 0)
        path = place / f"x{subject.suffix}"
        path.write_bytes(data)
        came: dict[str, Any] = {"what": "refused", "why": ""}
        for action in subject.actions:
            came = _one(action, path)
            if came["what"] not in ("read", "refused"):
                break
        came["said"] = os.pread(errors, 4000, 0).decode(errors="replace")
        came["peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        if "not enough memory" in came["said"]:
            came["what"] = "memory"
        elif came["what"] == "refused" and came["said"].count("\n") > 2:
            came["what"] = "unclear"
        os.write(writer, json.dumps(came).encode() + b"\n")
        for other in place.iterdir():
            if other.is_dir():
                shutil.rmtree(other)
            elif other.name != "errors":
                other.unlink()
    shutil.rmtree(place)


def _one(action: Action, path: Path) -> dict[str, Any]:
    signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
    try:
        action(path)
    except CotenantError as error:
        return {"what": "refused", "why": str(error)[:200]}
    except SystemExit as leaving:
        known = leaving.code in (None, 0, 1, 2)
        return {
            "what": ("refused" if leaving.code else "read") if known else "traceback",
            "why": f"exit code {leaving.code}",
        }
    except Hang:
        return {"what": "hang", "why": f"{CPU_SECONDS} s of processor time"}
    except MemoryError:
        return {"what": "memory", "why": _where()}
    except BaseException as error:
        return {
            "what": "traceback",
            "why": f"{type(error).__name__}: {str(error)[:100]} ({_where()})",
        }
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return {"what": "read", "why": ""}


def _up(number: int, frame: object) -> None:
    raise Hang


def _where() -> str:
    """The last lines of this package in a traceback."""
    frames = traceback.extract_tb(sys.exc_info()[2])
    ours = [frame for frame in frames if frame.filename.startswith(str(ROOT))]
    return " < ".join(
        f"{Path(frame.filename).relative_to(ROOT)}:{frame.lineno}" for frame in reversed(ours[-3:])
    )


# --- special files --------------------------------------------------------------------------------


def special(line: str, folder: Path) -> dict[str, Any]:
    """Outcome of a shell line: memory, time and output of its processes, run in a fork."""
    script = (
        f"cotenant() {{ '{sys.executable}' -c 'from cotenant.cli import main; main()' "
        f'"$@"; }}\n{line}'
    )
    environment = {**os.environ, "F": str(folder), "L": "x" * 300}
    resource.setrlimit(
        resource.RLIMIT_AS, (8 * 10**9, 8 * 10**9)
    )  # of the machine that others use too
    begin = time.monotonic()
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            ["bash", "-c", script], stdout=subprocess.DEVNULL, stderr=said,
            stdin=subprocess.DEVNULL, env=environment,
            start_new_session=True,
        )  # fmt: skip
        try:
            code = process.wait(timeout=2 * WALL_SECONDS)
        except subprocess.TimeoutExpired:
            code = -1
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        said.seek(0)
        words = said.read(100_000).decode(errors="replace")
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent, peak = used.ru_utime + used.ru_stime, used.ru_maxrss // 1024
    what = "refused" if code else "read"
    if code == -1 or spent > CPU_SECONDS:
        what = "hang"
    elif peak > MEMORY / 1e6 or "not enough memory" in words:
        what = "memory"
    elif "Traceback" in words or "Exception ignored" in words or code not in (0, 1, 2):
        what = "traceback"
    why = (
        f"exit code {code}, {time.monotonic() - begin:.1f} s, {spent:.1f} s of processor "
        f"time, {peak} MB"
    )
    return {"what": what, "why": why, "said": words, "peak": peak}


# --- the command ----------------------------------------------------------------------------------


def main() -> int:
    """Make the mutations, run them and the special files, and print what was found."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mutations", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=[*SHARES, "special"], help="one kind of file")
    parser.add_argument("--show", type=int, default=20, help="how many findings are told in full")
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="cotenant-fuzz-"))
    try:
        counts: Counter[str] = Counter()
        bad: list[str] = []
        if given.only != "special":
            counts += _mutations(given, folder, bad)
        if given.only in (None, "special"):
            counts += _specials(folder, bad)
    finally:
        shutil.rmtree(folder)
    for line, times in Counter(bad).most_common(given.show):
        print(f"{times:5d} x {line}")
    print(
        ", ".join(
            f"{name} {counts[name]}" for name in ("mutations", "special files", *NAMES.values())
        )
    )
    return int(any(counts[name] for name in NAMES.values()))


NAMES = {
    "traceback": "tracebacks",
    "hang": "hangs",
    "memory": "over memory",
    "died": "died",
    "unclear": "errors of more than two lines",
}


def _mutations(given: argparse.Namespace, folder: Path, bad: list[str]) -> Counter[str]:
    made = _in_a_fork(partial(subjects, folder))
    every = [subject for subject in made if given.only in (None, subject.kind)]
    draw = random.Random(given.seed)
    todo: list[tuple[Subject, str, bytes]] = []
    share = {kind: SHARES[kind] for kind in {subject.kind for subject in every}}
    for kind, part in sorted(share.items()):
        mine = [subject for subject in every if subject.kind == kind]
        number = round(given.mutations * part / sum(share.values()))
        turns = {id(subject): draw.randrange(1000) for subject in mine}
        for turn in range(number):
            subject = mine[turn % len(mine)]
            turns[id(subject)] += 1
            todo.append((subject, *mutated(subject, draw, turns[id(subject)])))
    found = run_all(todo, folder)
    counts: Counter[str] = Counter({"mutations": len(found)})
    warned: Counter[str] = Counter()
    for (subject, how, _), came in zip(todo, found, strict=True):
        if came["what"] in NAMES:
            counts[NAMES[came["what"]]] += 1
            bad.append(
                f"{came['what']}: {came['why']}; such as {subject.name}"
                if came["what"] == "traceback"
                else f"{came['what']}: {subject.name}, {how}: {came['why']} "
                f"{came.get('said', '')[:200]}"
            )
        warned.update(
            line.partition("Warning: ")[2]
            for line in came.get("said", "").splitlines()
            if "Warning: " in line
        )
    for kind in sorted(share):
        here = [
            came for (subject, *_), came in zip(todo, found, strict=True) if subject.kind == kind
        ]
        names = len({subject.name for subject in every if subject.kind == kind})
        print(
            f"{kind}: {len(here)} mutations of {names} files: "
            f"{dict(Counter(came['what'] for came in here))}"
        )
    print(
        f"peak memory {max(came.get('peak', 0) for came in found)} MB, the libraries' own included"
    )
    for words, times in warned.most_common(10):
        print(f"{times:5d} warnings: {words}")
    return counts


def _specials(folder: Path, bad: list[str]) -> Counter[str]:
    counts: Counter[str] = Counter()
    peak = 0
    for what, line in specials(folder):
        came = _in_a_fork(partial(special, line, folder))
        counts["special files"] += 1
        peak = max(peak, came["peak"])
        if came["what"] in NAMES:
            counts[NAMES[came["what"]]] += 1
            bad.append(f"{came['what']}: {what}: {came['why']}: {came['said'][-300:]}")
        print(
            f"{what:40.40} {came['what']:9} {came['why']:60} {came['said'].strip()[:100]!r}",
            file=sys.stderr,
        )
    print(f"special files: peak memory {peak} MB")
    return counts


def _in_a_fork(make: Callable[[], Value]) -> Value:
    """Value of a function computed in a fork, since processes whose solvers left threads must not
    fork.
    """
    with tempfile.NamedTemporaryFile() as note:
        child = os.fork()
        if child == 0:
            try:
                Path(note.name).write_bytes(pickle.dumps(make()))
                os._exit(0)
            except BaseException:
                traceback.print_exc()
                os._exit(1)
        _, status = os.waitpid(child, 0)
        if status:
            raise SystemExit("the good files could not be made")
        made: Value = pickle.loads(Path(note.name).read_bytes())
    return made


if __name__ == "__main__":
    sys.exit(main())
