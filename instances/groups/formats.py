"""Readers: measured groups and curves as tables, and a colocation on more seats."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb, inf
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np

from ..colocation.instance import Colocation
from ..problem.errors import InvalidFile, InvalidOption
from ..problem.files import read
from ..problem.option_types import AtLeast, validate_options
from ..problem.tables import AMOUNT, CsvRow, CsvTable, PathLike, name_of, tables_of
from .conversion import groups_from, residual_words, residuals
from .generators import Machines, Seats
from .instance import Groups, Runs, table_fields, unmeasured
from .penalties import rising

Copies = Annotated[int, AtLeast(1, "the number of jobs of each name")]
_GROUPS = "groups.csv"
_MEASURES = {"penalty": "penalties", "slowdown": "slowdowns"}
_MANY = {"": inf, "inf": inf}
"""Machines that a table of classes does not count."""


@validate_options
def colocation(path: PathLike, *, seats: Seats = 4, machines: Machines | None = None) -> Groups:
    """Convert a colocation instance to machines of more seats, adding up pairwise penalties.

    Parameters
    ----------
    path : the colocation's file, or a bundled instance.
    seats : of each machine.
    machines : how many there are ("inf" for as many as needed); just enough when not given.

    Raises
    ------
    InvalidFile
        It is an instance of another problem.
    """
    return groups_from(read(path, Colocation), seats=seats, machines=machines)


@validate_options
def groups_csv(
    path: PathLike,
    *,
    jobs: str | None = None,
    classes: str | None = None,
    copies: Copies = 1,
    seats: Seats | None = None,
    machines: Machines | None = None,
    model: Literal["table", "additive"] = "table",
) -> Groups:
    """Read measured groups: what each job loses in each group of jobs on a machine.

    The table of groups is `group,job,penalty` or `group,job,slowdown`, one row a run of a job in a
    group, names joined by " + " ("web + web + batch"), perhaps with the `class` of machines. There
    may be tables of jobs, `job,count` and perhaps `pressure`, and of machines,
    `class,seats,machines`.

    Runs of one job in one group become their mean. A group without rows is forbidden by the table;
    a group of which a member was not measured is refused. A row without a class holds on all of
    them.

    Parameters
    ----------
    path : the table of groups, or a folder that holds `groups.csv` and perhaps `jobs.csv` and
        `classes.csv`.
    jobs, classes : paths of the tables of jobs and of machines.
    copies : jobs of each name, when there is no table of jobs.
    seats : of each machine, when there is no table of them; as many as the largest measured group
        when not given.
    machines : how many there are ("inf" for as many as needed), when there is no table of them;
        just enough when not given.
    model : "table", or "additive": penalties of pairs are added up, and larger measured groups say
        by how much that misses (in the instance's source).

    Raises
    ------
    InvalidFile
        A table that cannot be read, with its line; members or pairs are missing.
    InvalidOption
        Options that a table answers already.
    """
    main, others = tables_of(path, _GROUPS, jobs=jobs, classes=classes)
    given = _Given.of(others, copies, seats, machines)
    runs, what, written = _runs(main, given)
    width = max(len(group) for _, group in runs)
    names = given.names
    remark = f"{_MEASURES[what]} of {main.name}{f'; {written}' if written else ''}"
    common = given.fields(width) | {"name": name_of(path)}
    whole = Groups(**common, **table_fields(runs), source=remark)
    if model == "table":
        listed = len({group for _, group in runs if len(group) > 1})
        every = sum(comb(len(names) + size - 1, size) for size in range(2, width + 1))
        unlisted = f"; {every - listed} of {every} kinds of groups have no row, and are forbidden"
        return whole.replace(source=f"{remark}{unlisted}") if listed < every else whole
    penalty = np.full((max(1, len(given.classes)), len(names), len(names)), np.nan)
    for (place, group), measured in runs.items():
        if len(group) == 2:
            a, b = group
            here = slice(None) if place < 0 else place
            penalty[here, a, b], penalty[here, b, a] = np.mean(measured[a]), np.mean(measured[b])
    alone = np.flatnonzero(whole.count < 2)  # such a job is never beside one of its own type
    penalty[:, alone, alone] = np.nan_to_num(penalty[:, alone, alone])
    if np.isnan(penalty).any():
        a, b = (names[kind] for kind in np.argwhere(np.isnan(penalty))[0, 1:].tolist())
        raise InvalidFile(
            f"{main}: the pair {a} + {b} was not measured, and the additive model adds up pairs; "
            "measure it, or keep model=table"
        )
    added = Groups(penalty=penalty if len(penalty) > 1 else penalty[0], **common)
    return added.replace(source=f"{remark}; {residual_words(residuals(added, whole))}")


@validate_options
def curves_csv(
    path: PathLike,
    *,
    jobs: str | None = None,
    classes: str | None = None,
    groups: str | None = None,
    copies: Copies = 1,
    seats: Seats = 4,
    machines: Machines | None = None,
) -> Groups:
    """Read measured sensitivity curves: what each job loses at each pressure beside it.

    The table of curves is `job,pressure,penalty` or `job,pressure,slowdown`, one row per run of a
    job beside a bubble of that pressure, optionally with the `class` of machines. The table of
    jobs, `job,pressure` and optionally `count`, states the pressure that each job exerts.

    Runs of one job at one pressure become their mean, and a curve that falls is made to rise
    (`rising`); between its points it is a straight line.

    Parameters
    ----------
    path : the table of curves, or a folder that holds `curves.csv`, `jobs.csv`, and perhaps
        `classes.csv` and `groups.csv`.
    jobs, classes : paths of the tables of jobs and of machines, see `groups_csv`.
    groups : path of a table of measured groups, which say by how much the curves miss them (in the
        instance's source).
    copies : jobs of each name, where the table of jobs does not count them.
    seats, machines : of each machine, and how many there are ("inf" for as many as needed), when
        there is no table of them.

    Raises
    ------
    InvalidFile
        A table that cannot be read, with its line; a job without a curve or a pressure.
    InvalidOption
        Options that a table answers already.
    """
    main, others = tables_of(path, "curves.csv", jobs=jobs, classes=classes, groups=groups)
    table = CsvTable(main, "job", "pressure", lower=True)
    what = _measure(table)
    if "jobs" not in others:
        raise InvalidFile(
            f"{main}: no table of jobs; expected job,pressure: what each puts on the jobs beside "
            "it, in the unit of the curves"
        )
    given = _Given.of(others, copies, None if "classes" in others else seats, machines)
    if given.pressure is None:
        raise InvalidFile(f"{others['jobs']}, line 1: no column 'pressure'; expected job,pressure")
    points: dict[tuple[int, int], dict[float, list[float]]] = {}  # by class and job: losses
    for row in table:
        where = (given.place(row), given.kind(row, row.word("job"), "job"))
        at = row.number("pressure", AMOUNT)
        points.setdefault(where, {}).setdefault(at, []).append(_lost(row, what))
    knots = np.unique([at for curve in points.values() for at in curve])
    by_class = any(place >= 0 for place, _ in points)
    curves = np.zeros((max(1, len(given.classes)) if by_class else 1, len(given.names), len(knots)))
    for place in range(len(curves)):
        for kind, name in enumerate(given.names):
            curve = points.get((place, kind)) or points.get((-1, kind))
            if curve is None:
                on = f" on class {given.classes[place]}" if by_class else ""
                raise InvalidFile(f"{main}: no row for {name!r}{on}; expected its curve")
            loads = sorted(curve)
            means = rising([float(np.mean(curve[load])) for load in loads])
            curves[place, kind] = np.interp(knots, loads, means)
    remark = f"{_MEASURES[what]} of {main.name}{f'; {table.written}' if table.written else ''}"
    common = given.fields(seats) | {"name": name_of(path)}
    found = Groups(
        knots=knots, sensitivity=curves if by_class else curves[0], source=remark, **common
    )
    if "groups" not in others:
        return found
    runs, _, _ = _runs(others["groups"], given)
    whole = Groups(**common, **table_fields(runs))
    least = residual_words(residuals(found, whole, least=2), "curves over pressure", 2)
    return found.replace(source=f"{remark}; {least}")


@dataclass
class _Given:
    """Jobs and machines named by tables and options; job names are added when first met if no table
    lists them.
    """

    known: dict[str, int]
    closed: bool
    count: list[int]
    pressure: list[float] | None
    copies: int
    classes: list[str]
    seats: list[int] | None
    machines: list[float] | float | None

    @classmethod
    def of(
        cls, tables: dict[str, Path], copies: int, seats: int | None, machines: float | None
    ) -> _Given:
        found = cls({}, False, [], None, copies, [], None if seats is None else [seats], machines)
        if "jobs" in tables:
            found.closed = True
            table = CsvTable(tables["jobs"], "job", lower=True)
            rows = table.by_name("job")
            found.known = {name: index for index, name in enumerate(rows)}
            counted = "count" in table.places
            found.count = [row.whole("count") if counted else copies for row in rows.values()]
            if "pressure" in table.places:
                found.pressure = [row.number("pressure", AMOUNT) for row in rows.values()]
        if "classes" in tables:
            if seats is not None or machines is not None:
                name = "machines" if seats is None else "seats"
                raise InvalidOption(
                    f"{name} is given beside {tables['classes'].name}, which gives it for each "
                    "class; leave it out"
                )
            table = CsvTable(tables["classes"], "class", "seats", "machines", lower=True)
            rows = table.by_name("class")
            found.classes = list(rows)
            found.seats = [row.whole("seats") for row in rows.values()]
            found.machines = [row.number("machines", AMOUNT, _MANY) for row in rows.values()]
        return found

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.known)

    def kind(self, row: CsvRow, name: str, column: str) -> int:
        """Index of a job's type by its name; a new name is added if no table lists the names."""
        if name not in self.known:
            if self.closed:
                raise row.wrong(column, "names of the table of jobs")
            self.known[name] = len(self.known)
        return self.known[name]

    def place(self, row: CsvRow) -> int:
        """Index of the class of machines that a CSV row names; -1 for all classes."""
        if not row["class"]:
            return -1
        if row["class"] not in self.classes:
            raise row.wrong("class", ", ".join(self.classes) or "no class without a table of them")
        return self.classes.index(row["class"])

    def fields(self, width: int) -> dict[str, Any]:
        """Fields of `Groups` from the jobs and machines read; `width` seats if none are given."""
        return {
            "count": self.count or [self.copies] * len(self.known),
            "seats": self.seats or [width],
            "machines": self.machines,
            "pressure": self.pressure,
            "names": self.names,
            "classes": tuple(self.classes),
        }


def _runs(path: Path, given: _Given) -> tuple[Runs, str, str]:
    """Read measured groups, the name of the measured quantity, and the CSV form from a table."""
    table = CsvTable(path, "group", "job", lower=True)
    what = _measure(table)
    runs: Runs = {}
    for row in table:
        words = [word.strip() for word in row.word("group").split("+")]
        group = tuple(sorted(given.kind(row, name, "group") for name in words))
        if (job := row.word("job")) not in words:
            raise row.wrong("job", f"one of {', '.join(dict.fromkeys(words))}")
        members = runs.setdefault((given.place(row), group), {})
        members.setdefault(given.known[job], []).append(_lost(row, what))
    if lacking := unmeasured(runs):
        group_names = " + ".join(given.names[kind] for kind in lacking[1])
        raise InvalidFile(f"{path}: no row for {given.names[lacking[0]]!r} in {group_names}")
    return runs, what, table.written


def _measure(table: CsvTable) -> str:
    """Name of the column with the measured quantity in a table: penalty or slowdown."""
    found = [name for name in _MEASURES if name in table.places]
    if not found:
        raise InvalidFile(
            f"{table.path}, line 1: the columns are {', '.join(table.columns)}; expected also "
            "penalty or slowdown"
        )
    return found[0]


def _lost(row: CsvRow, what: str) -> float:
    """Throughput loss that a row of measurements states."""
    value = row.number(what, None)
    if what == "slowdown":
        if value <= 0:
            raise row.wrong(what, "a number above 0: run time beside the others over alone")
        value = 1 - 1 / value
    if not -1 <= value <= 1:
        raise row.wrong(what, "a share of throughput lost, from -1 to 1")
    return value
