"""Reader of plain tables: jobs, and perhaps users and servers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np

from ..problem.errors import InvalidFile
from ..problem.option_types import Above, validate_options
from ..problem.tables import CsvRow, CsvTable, PathLike, name_of, tables_of
from .instance import Market
from .profile import FRACTION, karp_flatt

_KNOWN = ("user", "server", "parallel_fraction", "work", "budget", "capacity")


@validate_options
def jobs_csv(
    path: PathLike,
    *,
    cores: Annotated[float, Above(0)] = 24.0,
    users: str | None = None,
    servers: str | None = None,
) -> Market:
    """Read a CSV with one row per job: user, server, parallel_fraction or measured run times, and
    perhaps work, budget, capacity.

    Users and servers are any names, numbered in order of appearance. In place of
    `parallel_fraction` there may be columns `seconds@1`, `seconds@4`, ...: run times on so many
    cores, of which `seconds@1` and one more must be filled; the fraction is then the mean of
    Karp-Flatt's over core counts (thesis section 3.2), cut to [0, 1]. `work` is 1, `budget` 1 and
    `capacity` (cores of the job's server) `cores` where there is no such column; a user's budget,
    and a server's capacity, must be the same in all its rows. They may stand in tables of their own
    instead, `user,budget` and `server,cores`, whose order is then kept.

    Parameters
    ----------
    path : the table of jobs, or a folder that holds `jobs.csv` and perhaps `users.csv` and
        `servers.csv`.
    cores : of each server, when nothing else says it.
    users, servers : paths of these tables.

    Raises
    ------
    InvalidFile
        A column that is missing or unknown, or a row that cannot be read, with its line number.
    """
    main, others = tables_of(path, "jobs.csv", users=users, servers=servers)
    table = CsvTable(main, "user", "server", lower=True)
    times = _time_columns(table)  # 1. Tables of users and servers.
    known_users, budget = _amounts(others.get("users"), "user", "budget")
    known_servers, capacity = _amounts(others.get("servers"), "server", "cores")
    for file, column in (("users", "budget"), ("servers", "capacity")):
        if file in others and column in table.places:
            raise InvalidFile(
                f"{table.path}, line 1: {column} is here and in {others[file]}; expected it in one "
                "of the two"
            )
    jobs: list[tuple[int, int, float, float]] = []  # 2. Jobs, row by row.
    for row in table:
        work, money, size = (
            row.number(name) if name in table.places else default
            for name, default in (("work", 1.0), ("budget", 1.0), ("capacity", cores))
        )
        user = _numbered(row, "user", known_users, budget, money, "budget", others.get("users"))
        server = _numbered(
            row, "server", known_servers, capacity, size, "capacity", others.get("servers")
        )
        fraction = _measured(row, times) if times else row.number("parallel_fraction", FRACTION)
        jobs.append((user, server, fraction, work))
    columns = np.array(jobs)  # 3. The market of these jobs.
    return Market(
        capacity=np.array(capacity),
        budget=np.array(budget),
        user=columns[:, 0],
        server=columns[:, 1],
        parallel_fraction=columns[:, 2],
        work=columns[:, 3],
        names=tuple(known_users),
        server_names=tuple(known_servers),
        name=name_of(path),
        source="; ".join(
            [
                f"jobs of {main.name}"
                + (", fractions by Karp-Flatt from run times" if times else ""),
                *(f"{what} of {file.name}" for what, file in others.items()),
                *filter(None, [table.written]),
            ]
        ),
    )


def _amounts(path: Path | None, what: str, amount: str) -> tuple[dict[str, int], list[float]]:
    """Read the indices, and budgets or capacities, of the users or servers that a table names."""
    rows = {} if path is None else CsvTable(path, what, amount, lower=True).by_name(what)
    amounts = [row.number(amount, Above(0)) for row in rows.values()]
    return {name: index for index, name in enumerate(rows)}, amounts


def _time_columns(table: CsvTable) -> dict[str, float]:
    """Core count of each column of run times in a CSV table; checks the header."""
    where = f"{table.path}, line 1"
    times: dict[str, float] = {}
    for name in table.columns:
        if name.startswith("seconds@"):
            times[name] = CsvRow(table, 1, []).number(name, text=name.partition("@")[2])
        elif name not in _KNOWN:
            raise InvalidFile(
                f"{where}: unknown column {name!r}; known: {', '.join(_KNOWN)}, seconds@CORES"
            )
    if ("parallel_fraction" in table.places) == bool(times):
        raise InvalidFile(
            f"{where}: give either the column parallel_fraction or columns seconds@CORES"
        )
    if times and 1.0 not in times.values():
        raise InvalidFile(f"{where}: no column seconds@1; speedups are relative to one core")
    return times


def _measured(row: CsvRow, times: dict[str, float]) -> float:
    given = {times[name]: row.number(name) for name in times if row[name]}
    if 1.0 not in given or len(given) < 2 or min(given.values()) <= 0:
        raise row.error(": expected positive run times on 1 core and on at least one more")
    more = np.array([count for count in given if count > 1])
    if len(more) == 0:
        raise row.error(": expected a run time on more than 1 core")
    values = karp_flatt(more, np.array([given[1.0] / given[count] for count in more.tolist()]))
    return float(np.clip(values.mean(), 0.0, 1.0))


def _numbered(
    row: CsvRow, what: str, known: dict[str, int], values: list[float], value: float, of: str,
    table: Path | None,
) -> int:  # fmt: skip
    """Index of a user or server by name, added unless a table lists the names; raises if its amount
    changes.
    """
    name = row.word(what)
    if table is not None:
        if name not in known:
            raise row.wrong(what, f"a {what} of {table}")
        return known[name]
    if name not in known:
        known[name] = len(known)
        values.append(value)
    elif values[known[name]] != value:
        raise row.error(
            f": {of} of {what} {name!r} is {value:g}, but {values[known[name]]:g} in an earlier row"
        )
    return known[name]
