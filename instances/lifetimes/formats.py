"""Readers of lists of VMs with a start and an end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from ..problem.csv_headers import name_of
from ..problem.errors import InvalidFile, InvalidOption
from ..problem.option_types import Above, AtLeast, validate_options
from ..problem.reading import read_text, require_regular
from ..problem.tables import AMOUNT, FINITE, CsvRow, CsvTable, PathLike
from . import Lifetimes

Until = Annotated[int | None, AtLeast(0)]

_PARTS = 10**6
"""Parts of a server in which Azure's list of 2020 is read."""


def lifetimes_of(
    path: PathLike,
    sizes: Sequence[tuple[int, ...]],
    times: Sequence[tuple[int, int | None]],
    capacity: Sequence[int],
    *,
    until: int | None = None,
    while_arriving: bool = False,
    **fields: Any,
) -> Lifetimes:
    """The VMs of a list that run before a time; equal sizes become one type.

    Parameters
    ----------
    sizes, times : of each VM; an end of None is not known, and taken to be when the list ends.
    capacity : of a server.
    until : when the list ends; the last time in it when not given.
    while_arriving : whether it ends at the first end after the last arrival, so that its tail is
        left out.
    """
    start = np.array([begin for begin, _ in times], dtype=np.int64)
    known = np.array([end is not None for _, end in times])
    end = np.array([begin if end is None else end for begin, end in times], dtype=np.int64)
    last = int(max(start.max() + 1, end.max()))
    if while_arriving:
        last = int(min(end[end > start.max()], default=last))
    stop = last if until is None else min(until, last)
    end = np.where(known, end, max(stop, int(end.max())))
    cut = end > stop
    runs = (np.minimum(end, stop) > start) & (start < stop)
    if not runs.any():
        raise InvalidFile(f"{path}: no VM ends after its start; expected an end above a start")
    order = {size: place for place, size in enumerate(dict.fromkeys(sizes))}
    kind = np.array([order[size] for size in sizes])[runs]
    here, kind = np.unique(kind, return_inverse=True)
    for name in ("predicted_end", "names"):
        if fields.get(name):
            fields[name] = [entry for entry, keep in zip(fields[name], runs, strict=True) if keep]
    return Lifetimes(
        np.array(list(order), dtype=np.int64)[here], np.array(capacity, dtype=np.int64),
        kind, start[runs], np.minimum(end, stop)[runs],
        dropped=int((~runs).sum()), censored=int(((cut | ~known) & runs).sum()),
        **{"name": name_of(path), "source": f"VMs of {Path(path).name}", **fields},
    )  # fmt: skip


@validate_options
def lifetimes_csv(
    path: PathLike, *, capacity: str, until: Until = None, while_arriving: bool = False
) -> Lifetimes:
    """A CSV table of VMs: `start`, `end`, perhaps `vm` and `predicted_end`, and a column for each
    resource.

    Times are whole numbers, or dates with a time ("2026-03-01T12:00:00Z"), all of one zone, which
    become seconds since 1970. An empty end is not known: the VM runs on.

    Parameters
    ----------
    path : the table, headers first.
    capacity : what a server has of each resource, in the order of their columns, such as "64,256".
    until : time at which the list ends; later lives are cut off.
    while_arriving : whether it ends at the first end after the last arrival.
    """
    table = CsvTable(path, "start", "end")
    own = ("vm", "start", "end", "predicted_end")
    resources = [name for name in table.columns if name not in own]
    room = capacity.split(",")
    if not resources or len(room) != len(resources) or not all(part.isdecimal() for part in room):
        raise InvalidOption(
            f"capacity is {capacity!r}; expected {len(resources)} whole numbers separated by "
            f"commas, one for each of the columns {', '.join(resources) or '(none)'}"
        )
    sizes, times, names, predicted = [], [], [], []
    dated = _Times()
    for row in table:
        size = tuple(row.whole(name) for name in resources)
        for name, amount, most in zip(resources, size, room, strict=True):
            if amount > int(most):
                raise row.wrong(name, f"at most what a server has, {most}")
        begin = dated.read(row, "start")
        end = dated.read(row, "end") if row["end"] else None
        if end is not None and end <= begin:
            raise row.wrong("end", f"later than the start, {row['start']}")
        sizes.append(size)
        times.append((begin, end))
        names.append(row["vm"])
        if row["predicted_end"]:
            predicted.append(dated.read(row, "predicted_end"))
    if predicted and len(predicted) < len(sizes):
        raise InvalidFile(
            f"{path}: {len(predicted)} of {len(sizes)} rows have a predicted_end; expected all"
        )
    return lifetimes_of(
        path, sizes, times, [*map(int, room)], until=until, while_arriving=while_arriving,
        resources=tuple(resources), names=tuple(names) if all(names) else (),
        predicted_end=predicted or None,
    )  # fmt: skip


class _Times:
    """Times of one table, of one form and one zone."""

    def __init__(self) -> None:
        self.form: object = None

    def read(self, row: CsvRow, column: str) -> int:
        """A cell that is a whole number, or a date with a time."""
        text = row.word(column)
        try:
            date = datetime.fromisoformat(text) if text[4:5] == "-" else None
        except ValueError:
            date = None
        if date is None:
            value, form = row.number(column, FINITE), "a number"
        else:
            form = "a date without zone" if date.tzinfo is None else f"a date at {date:%z}"
            value = (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
        if value % 1:
            raise row.wrong(column, "a whole time", "Use a smaller unit, such as milliseconds")
        if self.form not in (None, form):
            raise row.wrong(column, f"{self.form}, as above it")
        self.form = form
        return int(value)


@validate_options
def azure_2017(
    path: PathLike,
    *,
    cores: Annotated[int, AtLeast(1)] = 64,
    memory: Annotated[float, Above(0, "GB")] = 192.0,
    until: Until = None,
    while_arriving: bool = False,
) -> Lifetimes:
    """Azure's list of VMs of 2017: cpu_cores, mem_gb, start_s, end_s_lo, and perhaps censored.

    The list tells an end as an interval; its lower end is taken, so that VMs whose interval is
    empty never run and are dropped.

    Parameters
    ----------
    cores, memory : of a server [GB].
    until : second at which the list ends; later lives are cut off.
    while_arriving : whether it ends at the first end after the last arrival.
    """
    sizes, times, censored = [], [], 0
    for row in CsvTable(path, "cpu_cores", "mem_gb", "start_s", "end_s_lo", ragged=True):
        sizes.append((row.whole("cpu_cores"), row.whole("mem_gb", 1024)))
        times.append((int(row.number("start_s", AMOUNT)), int(row.number("end_s_lo", AMOUNT))))
        censored += row["censored"] == "1"
    made = lifetimes_of(
        path, sizes, times, (cores, int(memory * 1024)), until=until,
        while_arriving=while_arriving, resources=("CPU cores", "memory [MiB]"),
    )  # fmt: skip
    return made.replace(censored=max(made.censored, censored))


@validate_options
def azure_2020(
    path: PathLike, *, machine: Annotated[int, AtLeast(0)] = 0, until: Until = None,
    while_arriving: bool = False,
) -> Lifetimes:  # fmt: skip
    """Azure's trace for packing of 2020, a file of sqlite: tables vm and vmType.

    Times in it are parts of days, and become seconds. Sizes are parts of a machine, and become
    millionths. A VM without an end runs on.

    Parameters
    ----------
    machine : machineId of the servers; VM types that it cannot run are dropped.
    until : second at which the list ends; later lives are cut off.
    while_arriving : whether it ends at the first end after the last arrival.
    """
    import sqlite3

    require_regular(path)
    resources = ("core", "memory", "hdd", "ssd", "nic")
    query = (
        f"select vm.starttime, vm.endtime, {', '.join(f't.{name}' for name in resources)} from vm "
        "join vmType t on t.vmTypeId = vm.vmTypeId and t.machineId = ? order by vm.starttime, vmId"
    )
    try:
        with sqlite3.connect(f"file:{Path(path).as_posix()}?mode=ro", uri=True) as base:
            rows = base.execute(query, (machine,)).fetchall()
            (every,) = base.execute("select count(*) from vm").fetchone()
    except sqlite3.Error as error:
        raise InvalidFile(f"{path} is no packing trace of Azure: {error}") from None
    if not rows:
        raise InvalidOption(f"machine is {machine}; no VM of {path} can run on it")
    made = lifetimes_of(
        path, [tuple(round((part or 0) * _PARTS) for part in row[2:]) for row in rows],
        [(_seconds(row[0]), None if row[1] is None else _seconds(row[1])) for row in rows],
        [_PARTS] * len(resources), until=until, while_arriving=while_arriving,
        resources=resources,
    )  # fmt: skip
    return made.replace(dropped=made.dropped + every - len(rows))


def _seconds(days: float) -> int:
    return round(days * 86_400)


@validate_options
def temporal_bin_packing(path: PathLike) -> Lifetimes:
    """A temporal bin packing file: the number of items and the capacity; then a line of each item
    with its number, start, end (excluded) and size.
    """
    lines = [line.split() for line in read_text(path).splitlines() if line.strip()]
    try:
        number, capacity = (int(float(word)) for word in lines[0][:2])
        rows = [tuple(map(int, line[:4])) for line in lines[1:]]
    except (ValueError, IndexError, OverflowError):
        raise InvalidFile(f"{path}: expected whole numbers, n and the capacity first") from None
    wrong: Iterable[str] = (
        f"line {place}: expected an item, its start, a later end, and a size of 1 to {capacity}"
        for place, row in enumerate(rows, 2)
        if len(row) != 4 or row[2] <= row[1] or not 0 < row[3] <= capacity
    )
    for words in wrong:
        raise InvalidFile(f"{path}, {words}")
    if len(rows) != number or not rows:
        raise InvalidFile(f"{path} announces {number} items; it has {len(rows)}")
    return lifetimes_of(
        path, [row[3:] for row in rows], [(row[1], row[2]) for row in rows], [capacity],
        resources=("size",),
    )  # fmt: skip
