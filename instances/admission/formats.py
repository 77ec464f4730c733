"""The reader of three CSV tables: cores of the VMs, jobs, and speeds."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from ..problem.base import repeated
from ..problem.errors import InvalidFile
from ..problem.reading import read_csv
from .instance import Admission

PathLike = str | os.PathLike[str]
Table = tuple[list[str], list[str], dict[tuple[str, str], float]]


def admission_csv(path: PathLike, *, jobs: str | None = None, speed: str | None = None) -> Admission:
    """Three CSV tables, headers first: the cores of each VM, the threads of each job, and the speeds.

    - cores: `vm, <type>, <type>, ...`: cores of each type on each VM;
    - jobs: `job, threads` and perhaps `length`;
    - speed: `job, <type>, <type>, ...`: speed of each job on one core of each type.

    Types and jobs are matched by name, in any order; the order of the cores' columns and of the jobs' rows is kept.

    Parameters
    ----------
    path : the table of cores, or a folder that holds `cores.csv`, `jobs.csv` and `speed.csv`.
    jobs, speed : paths of the other two tables; beside the first when not given.

    Raises
    ------
    InvalidFile
        A table is missing, a cell is no number, or names do not match.
    InvalidInstance
        A value breaks a rule of the problem.
    """
    first = Path(path) / "cores.csv" if os.path.isdir(path) else Path(path)
    second, third = (
        Path(given) if given else first.with_name(name) for given, name in ((jobs, "jobs.csv"), (speed, "speed.csv"))
    )
    machines, types, cores = _table(first)
    names, columns, facts = _table(second)
    if set(columns) not in ({"threads"}, {"threads", "length"}):
        raise InvalidFile(f"{second} has the columns {', '.join(columns)}; expected job, threads and perhaps length")
    rows, speed_types, speeds = _table(third)
    _same(third, "core types", speed_types, types, first)
    _same(third, "jobs", rows, names, second)
    folder = first.parent.resolve().name
    return Admission(
        cores=_matrix(cores, machines, types),
        threads=_matrix(facts, names, ["threads"])[:, 0],
        speed=_matrix(speeds, names, types),
        length=_matrix(facts, names, ["length"])[:, 0] if "length" in columns else None,
        name=folder if first.name == "cores.csv" else first.stem,
        source=f"CSV tables {first.name}, {second.name} and {third.name}",
    )


def _table(path: Path) -> Table:
    """Names of the rows, names of the columns, and the numbers."""
    lines = [row for _, row in read_csv(path)]
    if len(lines) < 2 or len(lines[0]) < 2:
        raise InvalidFile(f"{path} has no rows; expected a header, then one row per name")
    columns = [cell.strip() for cell in lines[0][1:]]
    names = [row[0].strip() for row in lines[1:]]
    for what, given in (("column", columns), ("row", names)):
        if (twice := repeated(given)) is not None:
            raise InvalidFile(f"{path} gives the {what} {twice!r} twice")
    values: dict[tuple[str, str], float] = {}
    for number, row in enumerate(lines[1:], start=2):
        if len(row) != len(lines[0]):
            raise InvalidFile(f"{path}, row {number}: {len(row)} columns; the header has {len(lines[0])}")
        for column, cell in zip(columns, row[1:], strict=True):
            values[names[number - 2], column] = _number(path, number, column, cell)
    return names, columns, values


def _number(path: Path, row: int, column: str, cell: str) -> float:
    try:
        value = float(cell)
    except ValueError:
        value = np.nan
    if np.isnan(value):
        raise InvalidFile(f"{path}, row {row}, column {column!r}: {cell.strip()!r} is no number")
    return value


def _same(path: Path, what: str, given: list[str], expected: list[str], elsewhere: Path) -> None:
    if odd := sorted(set(given) ^ set(expected)):
        raise InvalidFile(f"{path} and {elsewhere} do not name the same {what}: {', '.join(odd[:4])} stand in one only")


def _matrix(values: dict[tuple[str, str], float], rows: list[str], columns: list[str]) -> np.ndarray:
    return np.array([[values[row, column] for column in columns] for row in rows])
