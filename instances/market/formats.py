"""Reader of foreign formats: a CSV of jobs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import numpy as np

from ..problem.errors import InvalidFile
from ..problem.reading import read_csv
from ..problem.rules import Above, checked
from .instance import Market
from .profile import float_cell, fraction_cell, karp_flatt

PathLike = str | os.PathLike[str]

_KNOWN = ("user", "server", "parallel_fraction", "work", "budget", "capacity")


@checked
def jobs_csv(path: PathLike, *, cores: Annotated[float, Above(0)] = 24.0) -> Market:
    """A CSV with one row per job: user, server, parallel_fraction or measured run times, and perhaps work, budget, capacity.

    Users and servers are any names, numbered in order of appearance. In place of `parallel_fraction` there may be columns
    `seconds@1`, `seconds@4`, ...: run times on so many cores, of which `seconds@1` and one more must be filled; the
    fraction is then the mean of Karp-Flatt's over core counts (thesis section 3.2), cut to [0, 1]. `work` is 1, `budget` 1
    and `capacity` (cores of the job's server) `cores` where there is no such column; a user's budget, and a server's
    capacity, must be the same in all its rows.

    Parameters
    ----------
    cores : of each server, when there is no column `capacity`.

    Raises
    ------
    InvalidFile
        A column that is missing or unknown, or a row that cannot be read, with its line number.
    """
    lines = read_csv(path)
    header = [cell.strip().lower() for cell in next(lines, (1, []))[1]]
    times = _time_columns(path, header)
    users: dict[str, int] = {}
    servers: dict[str, int] = {}
    budget: list[float] = []
    capacity: list[float] = []
    jobs: list[tuple[int, int, float, float]] = []
    for line, row in lines:
        if len(row) != len(header):
            raise InvalidFile(f"{os.fspath(path)}, line {line}: {len(row)} values; expected {len(header)}")
        cell = dict(zip(header, (value.strip() for value in row), strict=True))
        numbers = {
            name: float_cell(path, line, name, cell[name]) if name in cell else default
            for name, default in (("work", 1.0), ("budget", 1.0), ("capacity", cores))
        }
        user = _numbered(path, line, "user", cell["user"], users, budget, numbers["budget"], "budget")
        server = _numbered(path, line, "server", cell["server"], servers, capacity, numbers["capacity"], "capacity")
        if "parallel_fraction" in cell:
            fraction = fraction_cell(path, line, cell["parallel_fraction"])
        else:
            fraction = _measured(path, line, times, cell)
        jobs.append((user, server, fraction, numbers["work"]))
    if not jobs:
        raise InvalidFile(f"{os.fspath(path)} has no rows; expected one row per job after the header")
    table = np.array(jobs)
    return Market(
        capacity=np.array(capacity),
        budget=np.array(budget),
        user=table[:, 0],
        server=table[:, 1],
        parallel_fraction=table[:, 2],
        work=table[:, 3],
        name=Path(path).name.split(".")[0],
        source=f"jobs of {Path(path).name}" + (", fractions by Karp-Flatt from run times" if times else ""),
    )


def _time_columns(path: PathLike, header: list[str]) -> dict[str, float]:
    """Column -> core count of the run-time columns; checks that the header is usable."""
    if missing := [name for name in ("user", "server") if name not in header]:
        raise InvalidFile(f"{os.fspath(path)}, line 1: no column {missing[0]!r}; the columns are {', '.join(header) or 'none'}")
    times: dict[str, float] = {}
    for name in header:
        if name.startswith("seconds@"):
            times[name] = float_cell(path, 1, name, name.partition("@")[2])
        elif name not in _KNOWN:
            raise InvalidFile(f"{os.fspath(path)}, line 1: unknown column {name!r}; known: {', '.join(_KNOWN)}, seconds@CORES")
    if ("parallel_fraction" in header) == bool(times):
        raise InvalidFile(f"{os.fspath(path)}, line 1: give either the column parallel_fraction or columns seconds@CORES")
    if times and 1.0 not in times.values():
        raise InvalidFile(f"{os.fspath(path)}, line 1: no column seconds@1; speedups are relative to one core")
    return times


def _measured(path: PathLike, line: int, times: dict[str, float], cell: dict[str, str]) -> float:
    given = {times[name]: float_cell(path, line, name, cell[name]) for name in times if cell[name]}
    if 1.0 not in given or len(given) < 2 or min(given.values()) <= 0:
        raise InvalidFile(f"{os.fspath(path)}, line {line}: expected positive run times on 1 core and on at least one more")
    more = np.array([count for count in given if count > 1])
    if len(more) == 0:
        raise InvalidFile(f"{os.fspath(path)}, line {line}: expected a run time on more than 1 core")
    values = karp_flatt(more, np.array([given[1.0] / given[count] for count in more.tolist()]))
    return float(np.clip(values.mean(), 0.0, 1.0))


def _numbered(
    path: PathLike, line: int, what: str, name: str, known: dict[str, int], values: list[float], value: float, of: str
) -> int:
    """The number of a user or server, a new one when it appears first; its value must not change."""
    if not name:
        raise InvalidFile(f"{os.fspath(path)}, line {line}: no {what}")
    if name not in known:
        known[name] = len(known)
        values.append(value)
    elif values[known[name]] != value:
        raise InvalidFile(
            f"{os.fspath(path)}, line {line}: {of} of {what} {name!r} is {value:g}, but {values[known[name]]:g} in an earlier row"
        )
    return known[name]
