"""Readers of Slurm's output: accounting (sacct), nodes (scontrol) and shares (sshare).

sacct puts bars between cells as they come, and leaves bars in the name of a job as they are; its
times have no zone. What a line does not say right is counted and listed, so that one bad line does
not cost a year's file.
"""

from __future__ import annotations

import csv
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction

import numpy as np

from ..problem.documents import shortened
from ..problem.errors import InvalidFile
from ..problem.reading import read_text, require_few
from ..problem.tables import LARGEST, CsvTable, PathLike
from .log import Log, Waiting, log_of, of_jobs
from .units import Amounts, gres, summed, tres

COMMAND = (
    "TZ=UTC sacct -a -X -D -P -S 2026-01-01 "
    "--format=JobIDRaw,JobID,User,Account,Partition,QOS,Submit,Eligible,Start,End,ElapsedRaw,Timelimit,AllocCPUS,ReqTRES,AllocTRES,NodeList,State,JobName"
)
"""The export that says all that is read here."""

NODES_COMMAND = "scontrol show node -o"
SHARES_COMMAND = "sshare -a -l -P"

LISTED = 5
"""Bad lines that are listed; the rest are counted."""

_COLUMNS = frozenset(
    "jobidraw jobid user account partition qos submit eligible start end elapsed elapsedraw state "
    "timelimit timelimitraw alloccpus ncpus reqcpus alloctres reqtres nodelist nnodes jobname "
    "exitcode group uid cluster priority cputimeraw suspended reserved planned".split()
)
_NEVER = ("", "unknown", "none", "n/a")
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}")
_CLOCK = re.compile(r"(?:([0-9]{1,7})-)?([0-9]{1,7}):([0-9]{2})(?::([0-9]{2}))?(?:\.[0-9]+)?")
_TASKS = re.compile(r"[0-9]+_\[([^\]]*)\]")


class _BadLine(Exception):
    """Message on an invalid line of sacct's output."""


@dataclass
class _Reading:
    """Jobs read so far from sacct's output, with counts and messages of the lines left out."""

    jobs: dict[object, tuple[object, ...]] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    bad: list[str] = field(default_factory=list)
    last: int = 0


def looks_like_sacct(text: str) -> bool:
    """Whether a text begins with a header of sacct's column names, whatever separates them."""
    header = re.split(r"[^A-Za-z]+", text.lstrip("\ufeff\r\n ").partition("\n")[0].lower())
    columns = _COLUMNS.intersection(header)
    return len(columns) >= 4 and bool(columns & {"jobid", "jobidraw", "account"})


def read_sacct(
    path: PathLike, *, delimiter: str = "", strict: bool = False, text: str | None = None
) -> Log:
    """Read a log of the jobs that started from sacct's output with a header, columns in any order;
    pending jobs are kept apart.

    A name of a job may hold bars where it is the last column, or the only free text. With
    duplicates (-D) each run of a requeued job is a job; a line that repeats another, as where two
    exports overlap, is read once, the later one. Steps are left out.

    Parameters
    ----------
    delimiter : between cells, one or more characters; what the header has when not given.
    strict : whether the first bad line is an error.
    text : the content, when it was read before.

    Raises
    ------
    InvalidFile
        It is no such output, the columns needed are missing, or no line, or less than half of the
        lines, can be read.
    """
    where = os.fspath(path)
    text = read_text(path) if text is None else text
    require_few(text, "\n", "lines", where)
    lines = ((n, line.rstrip("\r")) for n, line in enumerate(text.split("\n"), 1) if line.strip())
    number, header = next(lines, (1, ""))
    mark, names = _columns(where, header, delimiter)
    place = {name: column for column, name in enumerate(names)}
    _require(where, place)
    reading = _Reading()
    total = 0
    for number, line in lines:
        total += 1
        try:
            _read_line(_cells(line, mark, names, place), place, reading)
        except _BadLine as error:
            what = f"line {number}: {error}"
            if strict:
                raise InvalidFile(f"{where}, {what}") from None
            reading.bad.append(what)
    if not total:
        raise InvalidFile(f"{where} has no rows; expected some below the header")
    if 2 * len(reading.bad) > total:
        raise InvalidFile(
            f"{where}: {len(reading.bad)} of {total} lines cannot be read; the first is "
            f"{reading.bad[0]}. Make it with: {COMMAND}"
        )
    return _log_of(where, reading)


@dataclass(frozen=True)
class SlurmNode:
    """A node as scontrol shows it, with the CPUs that jobs may use."""

    name: str
    partitions: tuple[str, ...]
    state: str
    resources: Amounts


def read_nodes(path: PathLike) -> list[SlurmNode]:
    """The nodes that `scontrol show node` printed, on one line each or not; raises InvalidFile for
    other output, or a node without a number of CPUs.
    """
    where, text = os.fspath(path), read_text(path)
    nodes = []
    for entry in re.split(r"(?m)^(?=NodeName=)", text)[1:]:
        words = dict(re.findall(r"(?:^|\s)([A-Za-z]+)=(\S*)", entry))
        cpus = words.get("CPUEfctv") or words.get("CPUTot", "")
        if not cpus.isdecimal() or len(cpus) > 9:
            raise InvalidFile(
                f"{where}: node {shortened(words['NodeName'])} has CPUTot {shortened(cpus)}; "
                f"expected a number of CPUs. Make it with: {NODES_COMMAND}"
            )
        partitions = tuple(filter(None, words.get("Partitions", "").split(",")))
        memory = words.get("RealMemory", "")
        memory = int(memory) if memory.isdecimal() and len(memory) <= 12 else 0
        # accounting may not know the devices of a node, or their types
        resources = {**gres(words.get("Gres", "")), **tres(words.get("CfgTRES", ""))}
        resources = {"mem": memory << 20} | resources | {"cpu": 1000 * int(cpus)}
        nodes.append(SlurmNode(words["NodeName"], partitions, words.get("State", ""), resources))
    if not nodes:
        raise InvalidFile(
            f"{where} has no line that begins with NodeName=; expected the output of "
            f"`{NODES_COMMAND}`"
        )
    if len({node.name for node in nodes}) < len(nodes):
        raise InvalidFile(f"{where} names a node twice; expected every node once")
    return nodes


def read_shares(path: PathLike) -> tuple[dict[str, Fraction], dict[str, dict[str, str]]]:
    """Read each account's part of the machine from sshare's raw shares, summing to 1, and its Level
    FS and fair-tree factors.

    An account's part is divided among its own users and the accounts below it by their raw shares;
    what its users have is the account's own. The part of the users of root, the administrator's
    default, is left to the others.

    Raises
    ------
    InvalidFile
        It is no output of sshare, or no account has shares.
    """
    where = os.fspath(path)
    text = read_text(path)
    header = text.lstrip().partition("\n")[0]
    if not {"Account", "User", "RawShares"} <= {name.strip() for name in header.split("|")}:
        raise InvalidFile(
            f"{where}, line 1: {shortened(header[:60])} is not a header of sshare with Account, "
            f"User and RawShares between bars. Make it with: {SHARES_COMMAND}"
        )
    table = CsvTable(path, "Account", "User", "RawShares", delimiter="|", ragged=True, text=text)
    children: list[tuple[int, str, bool, Fraction]] = []  # depth, account, whether a user, shares
    printed: dict[str, dict[str, list[str]]] = {"Level FS": {}, "fair-tree factor": {}}
    for row in table:
        name = row.cells[table.places["Account"]]
        depth = len(name) - len(name.lstrip(" "))
        raw = row["RawShares"]
        if not row["Account"]:
            raise row.wrong("Account", "a name")
        # a child of the share of its parent counts as one share among its siblings
        value = 1.0 if raw in ("", "parent") else row.number("RawShares")
        if value < 0:
            raise row.wrong("RawShares", "a number, at least 0")
        children.append((depth, row["Account"], bool(row["User"]), Fraction(value)))
        # an account's row tells its Level FS, a user's row its fair-tree factor
        what, column = ("fair-tree factor", "FairShare") if row["User"] else ("Level FS", "LevelFS")
        short = len(row.cells) <= table.places.get(column, 0)
        if not short and re.fullmatch(r"inf|[0-9]+(\.[0-9]+)?", row[column]):
            printed[what].setdefault(row["Account"], []).append(row[column])
    shares: dict[str, Fraction] = {}
    _divide(children, 0, len(children), Fraction(1), shares)
    shares.pop("root", None)
    total = sum(shares.values())
    if total <= 0:
        raise InvalidFile(
            f"{where} has no account with shares; expected some. Make it with: {SHARES_COMMAND}"
        )
    said: dict[str, dict[str, str]] = {}  # by column and account: range of its users
    for what, of in printed.items():
        for name, each in of.items():
            span = dict.fromkeys((min(each, key=float), max(each, key=float)))
            said.setdefault(what, {})[name] = " to ".join(span)
    return {name: share / total for name, share in shares.items()}, said


def _divide(
    rows: list[tuple[int, str, bool, Fraction]], first: int, end: int, part: Fraction,
    shares: dict[str, Fraction],
) -> None:  # fmt: skip
    """Divide a part of the machine among the accounts of a share tree; add them to `shares`.

    The accounts are in the rows `first` to `end`, divided by raw shares, level by level.
    """
    todo = [(first, end, part)]  # rows first to end - 1, and the part that is theirs
    while todo:
        first, end, part = todo.pop()
        level = min((rows[n][0] for n in range(first, end)), default=0)
        heads = [n for n in range(first, end) if rows[n][0] == level]
        total = sum(rows[n][3] for n in heads) or Fraction(1)
        for head, following in zip(heads, [*heads[1:], end], strict=True):
            _, name, user, raw = rows[head]
            part_of_row = part * raw / total
            below = following > head + 1
            if user or not below:
                shares[name] = shares.get(name, Fraction(0)) + part_of_row
            if below:
                todo.append((head + 1, following, part_of_row))


def _columns(where: str, header: str, delimiter: str) -> tuple[str, list[str]]:
    """Separator of the cells, and the names of the columns in lower case."""
    bare = header.lstrip("\ufeff ").strip('"')
    if not delimiter:
        match = re.match(r"[A-Za-z]+(?:%-?[0-9]+)?([^A-Za-z0-9]+)[A-Za-z]", bare)
        delimiter = match[1] if match else ""
    if not looks_like_sacct(header):
        raise InvalidFile(
            f"{where}, line 1: {shortened(header[:60])} is not a header of sacct; expected column "
            f"names. Make it with: {COMMAND}"
        )
    if not delimiter or (delimiter.isspace() and delimiter != "\t"):
        raise InvalidFile(
            f"{where} has columns that are cut off to a width; expected sacct with "
            f"--parsable2. Make it with: {COMMAND}"
        )
    delimiter = delimiter.replace('"', "") or ","
    names = [name.strip(' "').lower() for name in header.split(delimiter)]
    if names[-1] == "":
        names.pop()
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidFile(f"{where}, line 1: column {shortened(twice)} is named twice")
    return delimiter, names


def _require(where: str, place: dict[str, int]) -> None:
    for needed in (
        ("jobid", "jobidraw"), ("account",), ("submit",), ("start",),
        ("elapsedraw", "elapsed", "end"),
    ):  # fmt: skip
        if not any(name in place for name in needed):
            raise InvalidFile(
                f"{where}, line 1: no column {' or '.join(needed)}. Make it with: {COMMAND}"
            )


def _cells(line: str, mark: str, names: list[str], place: dict[str, int]) -> list[str]:
    """Split a line of sacct's output into cells; surplus cells are joined to the job's name."""
    width = len(names)
    if '"' in line and mark in (",", ";", "\t"):
        quoted = next(csv.reader([line], delimiter=mark), [])
        if len(quoted) == width:
            return quoted
    cells = line.split(mark)
    extra = len(cells) - width
    if extra > 0 and cells[-1] == "":  # sacct -p ends its lines with a bar
        cells.pop()
        extra -= 1
    if extra > 0 and "jobname" in place:
        at = place["jobname"]
        cells[at : at + extra + 1] = [mark.join(cells[at : at + extra + 1])]
        extra = 0
    if extra:
        raise _BadLine(f"{len(cells)} cells; expected {width}, as the header has")
    return cells


def _read_line(cells: list[str], place: dict[str, int], reading: _Reading) -> None:
    def cell(*names: str) -> str:
        """Text of the first of the named columns that is not empty."""
        for name in names:
            if name in place and (text := cells[place[name]].strip()):
                return text
        return ""

    job = cell("jobid", "jobidraw")  # 1. Steps of jobs are counted and left out.
    if not job:
        raise _BadLine("no JobID")
    if "." in job or "." in cell("jobidraw"):
        reading.counts["job steps"] += 1
        return
    state = cell("state").upper().partition(" ")[0]
    sent = _moment("Submit", cell("submit"))  # 2. Times and amounts.
    start, end = _moment("Start", cell("start")), _moment("End", cell("end"))
    if sent is None:
        raise _BadLine(f"Submit is {shortened(cell('submit'))}; expected a time")
    eligible = _moment("Eligible", cell("eligible")) if "eligible" in place else sent
    partition, account, user = cell("partition"), cell("account") or "(none)", cell("user")
    requested, allocated = tres(cell("reqtres")), tres(cell("alloctres"))
    asked, used = (
        _cpus(amounts, cell("alloccpus", "ncpus", "reqcpus")) for amounts in (requested, allocated)
    )
    for moment in (sent, start, end):
        reading.last = max(reading.last, moment or 0)
    if start is None:  # 3. A job that waits, or left the queue.
        if state in ("", "PENDING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT"):
            if (job, sent) in reading.jobs:
                reading.counts["repeated lines"] += 1
            reading.jobs[job, sent] = (
                job, account, user, partition, sent, eligible, asked * _tasks(job),
                {name: _tasks(job) * number for name, number in requested.items()},
            )  # fmt: skip
        else:
            reading.counts["jobs that left the queue before they started"] += 1
        return
    run = _run(cell("elapsedraw", "elapsed"), start, end)  # 4. A job that ran.
    reading.last = max(reading.last, start + run)
    if eligible is None:
        eligible = sent
    # what was true of the line, to be said once for all
    marks = (
        ("started before it was eligible or submitted", start < max(eligible, sent)),
        ("suspended", end is not None and end - start > run + 1),
        ("exclusive", used > asked > 0 and state != "PENDING"),
        ("running", state in ("RUNNING", "SUSPENDED") or end is None),
        ("devices", any(number for name, number in requested.items() if name[:5] == "gres/")),
    )
    key = (job, sent, start)
    if key in reading.jobs:
        reading.counts["repeated lines"] += 1
    reading.jobs[key] = (
        job, account, user, partition, min(sent, start), min(eligible, start), start, run,
        max(used, 1), tuple(name for name, true in marks if true), allocated or requested,
    )  # fmt: skip


def _log_of(where: str, reading: _Reading) -> Log:
    ran, waiting = [], []
    started = {key[:2] for key in reading.jobs if len(key) == 3}  # type: ignore[arg-type,index]
    for key, job in reading.jobs.items():
        if len(key) == 3:  # type: ignore[arg-type]
            ran.append(job)
        elif key in started:  # an older export of a job that has started since
            reading.counts["repeated lines"] += 1
        else:
            waiting.append(Waiting(*job))  # type: ignore[arg-type]
    if not ran:
        raise InvalidFile(
            f"{where} has no job that started; {len(waiting)} wait. Make it of a longer time: "
            f"{COMMAND}"
        )
    zero = sum(job[7] == 0 for job in ran)
    if zero == len(ran):
        raise InvalidFile(f"{where} has no job with a run time above 0")
    reading.counts["jobs with no run time above 0"] += zero
    log = log_of(
        where, sorted(ran, key=lambda job: job[4]), reading.counts,
        waiting=tuple(waiting), last=reading.last, bad=tuple(reading.bad),
    )  # fmt: skip
    return of_jobs(log, np.flatnonzero(log.run > 0))


def remarks(log: Log, nodes: Sequence[SlurmNode] = (), unit: str = "cpu") -> Iterator[str]:
    """Yield notes on how unusual jobs of a log were counted, and on needs of jobs that are not
    modeled.

    Parameters
    ----------
    nodes : those that the jobs can have, whose memory tells which jobs ask for more of it than
        comes with their CPUs.
    unit : what is counted; only of CPUs is it said that memory and devices are not seen.
    """
    words = {
        "started before it was eligible or submitted": "jobs that start before they were eligible "
        "or submitted: {}; they count as not waiting (a changed clock? export with TZ=UTC)",
        "suspended": "suspended jobs: {}; they count from their start, without the pause",
        "exclusive": "jobs that hold more CPUs than they asked for (whole nodes): {}; all count",
        "running": "jobs that still run: {}; they count up to the end of the export",
        "devices": "jobs that asked for GPUs or other devices, which are not seen: {}",
    }
    for mark, sentence in words.items():
        chosen = [n for n, marks in enumerate(log.marks) if mark in marks]
        if chosen and (mark not in ("devices", "exclusive") or unit == "cpu"):
            yield sentence.format(_these(log, chosen))
    there = summed(node.resources for node in nodes)
    if there.get("mem") and unit == "cpu":
        large = [
            job for job, amounts in enumerate(log.resources)
            if amounts.get("mem", 0) * there["cpu"] > 1010 * there["mem"] * int(log.processors[job])
        ]  # fmt: skip
        if large:
            yield (
                "jobs that hold more memory than comes with their CPUs, which is not seen: "
                f"{_these(log, large)}"
            )
    not_eligible = sum(job.eligible is None or job.eligible >= log.over for job in log.waiting)
    if not_eligible:
        yield f"jobs held, or not eligible yet: {not_eligible}; their users' own waiting"


def _these(log: Log, chosen: list[int]) -> str:
    """Number of the chosen jobs of a log and the names of the first three, as text."""
    names = ", ".join(log.jobs[n] for n in chosen[:3])
    return f"{len(chosen)} ({names}{', ...' if len(chosen) > 3 else ''})"


def _moment(column: str, text: str) -> int | None:
    """Seconds since 1970 of a time that Slurm prints, as if the clock were UTC; None where there is
    no time.
    """
    if text.lower() in _NEVER:
        return None
    if _TIME.fullmatch(text):
        try:
            return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp())
        except ValueError:
            pass
    elif text.isdecimal() and len(text) <= 12:
        return int(text) or None
    raise _BadLine(f"{column} is {shortened(text)}; expected YYYY-MM-DDTHH:MM:SS or seconds")


def _length(column: str, text: str) -> int | None:
    """Seconds of a duration [days-]HH:MM:SS, or of an integer."""
    if text.isdecimal() and len(text) <= 12:
        return int(text)
    if match := _CLOCK.fullmatch(text):
        days, one, two, three = (int(part or 0) for part in match.groups())
        clock = 3600 * one + 60 * two + three if match[4] else 60 * one + two
        return 86_400 * days + clock
    return None


def _run(text: str, start: int, end: int | None) -> int:
    if text:
        run = _length("Elapsed", text)
        if run is None:
            raise _BadLine(f"Elapsed is {shortened(text)}; expected seconds or [days-]HH:MM:SS")
    elif end is not None:
        run = end - start
        if run < 0:
            raise _BadLine("it ends before it starts")
    else:
        raise _BadLine("no Elapsed and no End")
    if start + run >= LARGEST:
        raise _BadLine(f"Elapsed is {shortened(text)}; expected a time")
    return run


def _cpus(amounts: Amounts, number: str) -> int:
    """Number of CPUs of a job by a TRES, else by a column of their number, else 1."""
    if "cpu" in amounts:
        return amounts["cpu"] // 1000
    if not number:
        return 1
    if not number.isdecimal() or len(number) > 9:
        raise _BadLine(f"AllocCPUS is {shortened(number)}; expected a whole number")
    return int(number)


def _tasks(job: str) -> int:
    """Number of tasks of a job array that one line of sacct stands for, as 2_[4-5%3] or
    7_[1,3,8-20:4].
    """
    match = _TASKS.match(job)
    if match is None:
        return 1
    number = 0
    for part in match[1].partition("%")[0].split(","):
        bounds = re.fullmatch(r"([0-9]{1,9})(?:-([0-9]{1,9})(?::([0-9]{1,9}))?)?", part)
        if bounds is None:
            return max(1, number)  # sacct cuts long lists with ...
        first, last = int(bounds[1]), int(bounds[2] or bounds[1])
        number += max(0, (last - first) // max(1, int(bounds[3] or 1)) + 1)
    return max(1, number)
