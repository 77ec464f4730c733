"""Readers of lists of VMs with start and end times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np

from ..problem.errors import InvalidFile, InvalidOption
from ..problem.option_types import Above, AtLeast, validate_options
from ..problem.reading import read_text, require_regular
from ..problem.tables import AMOUNT, FINITE, CsvRow, CsvTable, PathLike, name_of
from . import Lifetimes

Until = Annotated[int | Literal["last-arrival"] | None, AtLeast(0)]

_PARTS = 10**6
"""Parts of a server in which Azure's list of 2020 is read."""


def lifetimes_of(
    path: PathLike, sizes: Sequence[tuple[int, ...]], times: Sequence[tuple[int, int | None]],
    until: int | str | None, **fields: Any,
) -> Lifetimes:  # fmt: skip
    """Instance of the VMs in a list that run before it ends; VMs of equal size become one type.

    Parameters
    ----------
    sizes, times : of each VM; an end of None is not known, and taken to be when the list ends.
    until : when the list ends: by its last time when None; "last-arrival" for the first end after
        that, so that its tail is left out.
    """
    start = np.array([begin for begin, _ in times])
    known = np.array([end is not None for _, end in times])
    end = np.array([begin if end is None else end for begin, end in times])
    stop = int(max(start.max() + 1, end.max()))
    if until == "last-arrival":
        stop = int(min(end[end > start.max()], default=stop))
    elif until is not None:
        stop = min(int(until), stop)
    censored = ~known | (end > stop)
    end = np.where(censored, stop, end)
    runs = end > start
    if not runs.any():
        raise InvalidFile(f"{path}: no VM ends after its start and starts before {stop}")
    demand, kind = np.unique(np.array(sizes)[runs], axis=0, return_inverse=True)
    for name in ("predicted_end", "names"):
        if fields.get(name):
            fields[name] = [entry for entry, keep in zip(fields[name], runs, strict=True) if keep]
    fields |= {"name": name_of(path), "source": f"VMs of {Path(path).name}"}
    fields |= {"dropped": int((~runs).sum()), "censored": int((censored & runs).sum())}
    fields |= {"kind": kind.reshape(-1), "start": start[runs], "end": end[runs]}
    return Lifetimes(demand=demand, **fields)


@validate_options
def lifetimes_csv(path: PathLike, *, capacity: str, until: Until = None) -> Lifetimes:
    """Read a CSV table of VMs: `start`, `end`, perhaps `vm` and `predicted_end`, and a column for
    each resource.

    Times are integers, or dates with a time ("2026-03-01T12:00:00Z"), all of one zone, which become
    seconds since 1970. An empty end is not known: the VM runs on.

    Parameters
    ----------
    path : the table, headers first.
    capacity : what a server has of each resource, in the order of their columns, such as "64,256".
    until : time at which the list ends; later lives are cut off. "last-arrival": no tail.
    """
    table = CsvTable(path, "start", "end")
    own, room = ("vm", "start", "end", "predicted_end"), capacity.split(",")
    resources = tuple(name for name in table.columns if name not in own)
    if len(room) != len(resources) or not all(part.isdecimal() for part in room):
        raise InvalidOption(
            f"capacity is {capacity!r}; expected whole numbers with commas between them, one for "
            f"each of the columns of resources: {', '.join(resources) or '(none)'}"
        )
    rows, form = list(table), ""
    sizes, times, predicted = [], [], []
    for row in rows:
        sizes.append(
            _size(row, {name: (int(most), 1) for name, most in zip(resources, room, strict=True)})
        )
        begin, form = _time(row, "start", form)
        end, form = _time(row, "end", form) if row["end"] else (None, form)
        if end is not None and end <= begin:
            raise row.wrong("end", f"later than the start, {row['start']}")
        times.append((begin, end))
        if "predicted_end" in table.columns:
            expected, form = _time(row, "predicted_end", form)
            predicted.append(expected)
    names = [row["vm"] for row in rows]
    return lifetimes_of(
        path, sizes, times, until, capacity=[*map(int, room)], resources=resources,
        names=names if all(names) else (), predicted_end=predicted or None,
    )  # fmt: skip


def _size(row: CsvRow, server: Mapping[str, tuple[int, int]]) -> tuple[int, ...]:
    """Read the amount of each resource of a VM from its row, in integer units."""
    size = tuple(row.whole(name, parts) for name, (_, parts) in server.items())
    for amount, (name, (most, parts)) in zip(size, server.items(), strict=True):
        if amount > most or not any(size):
            raise row.wrong(name, f"more than 0 in all, and at most {most / parts:g}, a server's")
    return size


def _time(row: CsvRow, column: str, form: str) -> tuple[int, str]:
    """Read a time, an integer or a date in the form of earlier cells; returns also the form."""
    text = row[column]
    try:
        date = datetime.fromisoformat(text) if text[4:5] == "-" else None
    except ValueError:
        date = None
    if date is None:
        value, own = row.number(column, FINITE), "a number"
    else:
        own = f"a date at {date:%z}" if date.tzinfo else "a date without zone"
        value = (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
    if value % 1:
        raise row.wrong(column, "a whole time", "Use a smaller unit, such as milliseconds")
    if form not in ("", own):
        raise row.wrong(column, f"{form}, as above it")
    return int(value), own


@validate_options
def azure_2017(
    path: PathLike, *, cores: Annotated[int, AtLeast(1)] = 64,
    memory: Annotated[float, Above(0, "GB")] = 192.0, until: Until = None,
) -> Lifetimes:  # fmt: skip
    """Read Azure's list of VMs of 2017: cpu_cores, mem_gb, start_s, end_s_lo, and perhaps censored.

    The list tells an end as an interval; its lower end is taken, so that VMs whose interval is
    empty never run and are dropped.

    Parameters
    ----------
    cores, memory : of a server [GB].
    until : second at which the list ends; "last-arrival" leaves out its tail.
    """
    rows = list(CsvTable(path, "cpu_cores", "mem_gb", "start_s", "end_s_lo", ragged=True))
    server = {"cpu_cores": (cores, 1), "mem_gb": (int(memory * 1024), 1024)}
    sizes = [_size(row, server) for row in rows]
    times = [(int(row.number("start_s", AMOUNT)), int(row.number("end_s_lo", AMOUNT)))
             for row in rows]  # fmt: skip
    capacity, resources = [room for room, _ in server.values()], ("CPU cores", "memory [MiB]")
    made = lifetimes_of(path, sizes, times, until, capacity=capacity, resources=resources)
    return made.replace(censored=max(made.censored, sum(row["censored"] == "1" for row in rows)))


@validate_options
def azure_2020(
    path: PathLike, *, machine: Annotated[int, AtLeast(0)] = 0, until: Until = None
) -> Lifetimes:
    """Read Azure's trace for packing of 2020, an sqlite file with tables vm and vmType.

    Times in it are parts of days, and become seconds. Sizes are parts of a machine, and become
    millionths. A VM without an end runs on.

    Parameters
    ----------
    machine : machineId of the servers; VMs that it cannot run are dropped.
    until : second at which the list ends; "last-arrival" leaves out its tail.
    """
    import sqlite3

    require_regular(path)
    resources = ("core", "memory", "hdd", "ssd", "nic")
    query = (
        f"select starttime, endtime, {', '.join(resources)} from vm left join vmType t "
        "on t.vmTypeId = vm.vmTypeId and machineId = ? order by starttime, vmId"
    )
    try:
        with sqlite3.connect(f"file:{Path(path).as_posix()}?mode=ro", uri=True) as base:
            every = base.execute(query, (machine,)).fetchall()
    except sqlite3.Error as error:
        raise InvalidFile(f"{path} is no packing trace of Azure: {error}") from None
    if not (rows := [row for row in every if row[2] is not None]):
        raise InvalidOption(f"machine is {machine}; no VM of {path} can run on it")
    sizes = [tuple(round((part or 0) * _PARTS) for part in row[2:]) for row in rows]
    times: Any = [[None if day is None else round(day * 86_400) for day in row[:2]] for row in rows]
    server: Any = {"capacity": [_PARTS] * len(resources), "resources": resources}
    made = lifetimes_of(path, sizes, times, until, **server)
    return made.replace(dropped=made.dropped + len(every) - len(rows))


@validate_options
def temporal_bin_packing(path: PathLike) -> Lifetimes:
    """Read a temporal bin packing file: the number of items and the capacity; then a line of each
    item with its number, start, end (excluded) and size.
    """
    lines = [line.split() for line in read_text(path).splitlines() if line.strip()]
    try:
        number, capacity = (int(float(word)) for word in lines[0][:2])
        rows = [tuple(map(int, line)) for line in lines[1:]]
    except (ValueError, IndexError, OverflowError):
        raise InvalidFile(f"{path}: expected whole numbers, n and the capacity first") from None
    if len(rows) != number or not rows:
        raise InvalidFile(f"{path} announces {number} items; it has {len(rows)}")
    for place, row in enumerate(rows, 2):
        if len(row) != 4 or row[2] <= row[1] or not 0 < row[3] <= capacity:
            item = f"an item, its start, a later end, and a size of 1 to {capacity}"
            raise InvalidFile(f"{path}, line {place}: expected {item}")
    sizes, times = [row[3:] for row in rows], [(row[1], row[2]) for row in rows]
    return lifetimes_of(path, sizes, times, None, capacity=[capacity], resources=("size",))
