"""Readers: measured groups as a table, and the jobs of a colocation on machines of more seats."""

from __future__ import annotations

import os
from typing import Annotated, Literal

import numpy as np

from ..problem.errors import InvalidFile
from ..problem.files import read
from ..problem.plain import name_of, tables_of
from ..problem.rules import AtLeast, checked
from ..problem.tables import CsvTable, PathLike
from .conversion import groups_from
from .generators import Machines, Seats
from .instance import FORBIDDEN, UNIT, Groups
from .penalties import units


@checked
def colocation(path: PathLike, *, seats: Seats = 4, machines: Machines | None = None) -> Groups:
    """A colocation instance, its jobs on machines of more seats and penalties added up over the
    jobs beside.

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
    found = read(path)
    if found.problem != "colocation":
        raise InvalidFile(f"{os.fspath(path)} is a {found.problem} instance; expected a colocation")
    return groups_from(found, seats=seats, machines=machines)  # type: ignore[arg-type]


@checked
def groups_csv(
    path: PathLike,
    *,
    jobs: str | None = None,
    copies: Annotated[int, AtLeast(1, "the number of jobs of each name")] = 1,
    seats: Seats | None = None,
    machines: Machines | None = None,
    model: Literal["table", "additive"] = "table",
) -> Groups:
    """Measured groups: `group,job,penalty` or `group,job,slowdown`, where a group is names joined by
    " + " ("web + web + batch"), one row a run of a job in it; and perhaps a table `job,count`.

    Runs of one job in one group become their mean. A group without rows is forbidden by the table;
    a group of which a member was not measured is refused.

    Parameters
    ----------
    path : the table of groups, or a folder that holds `groups.csv` and perhaps `jobs.csv`.
    jobs : path of the table of jobs.
    copies : jobs of each name, when there is no table of jobs.
    seats : of each machine; as many as the largest measured group when not given.
    machines : how many there are ("inf" for as many as needed); just enough when not given.
    model : "table", or "additive": penalties of pairs are added up, and larger measured groups say
        by how much that misses (in the instance's source).

    Raises
    ------
    InvalidFile
        A table that cannot be read, with its line; members or pairs are missing.
    """
    main, others = tables_of(path, "groups.csv", jobs=jobs)
    table = CsvTable(main, "group", "job", lower=True)
    (what,) = [name for name in ("penalty", "slowdown") if name in table.places][:1] or [""]
    if not what:
        raise InvalidFile(
            f"{table.path}, line 1: the columns are {', '.join(table.columns)}; expected group, "
            "job, and penalty or slowdown"
        )
    place: dict[str, int] = {}
    count = []
    if "jobs" in others:
        for row in CsvTable(others["jobs"], "job", "count", lower=True):
            place[row.word("job")] = len(place)
            count.append(row.whole("count"))
    known = bool(place)
    runs: dict[tuple[int, ...], dict[int, list[float]]] = {}
    for row in table:
        words = [word.strip() for word in row.word("group").split("+")]
        for name in words:
            if known and name not in place:
                raise row.wrong("group", "names of the table of jobs")
            place.setdefault(name, len(place))
        group = tuple(sorted(place[name] for name in words))
        job = row.word("job")
        if job not in words:
            raise row.wrong("job", f"one of {', '.join(dict.fromkeys(words))}")
        value = row.number(what, None)
        if what == "slowdown":
            if value <= 0:
                raise row.wrong(what, "a number above 0: run time in the group over alone")
            value = 1 - 1 / value
        if not -1 <= value <= 1:
            raise row.wrong(what, "a share of throughput lost, from -1 to 1")
        runs.setdefault(group, {}).setdefault(place[job], []).append(value)
    if not runs:
        raise InvalidFile(f"{table.path} has no rows; expected one for each job of each group")
    names = tuple(place)
    width = max(map(len, runs))
    for group, measured in runs.items():
        if missing := sorted(set(group) - set(measured)):
            told = " + ".join(names[kind] for kind in group)
            raise InvalidFile(f"{table.path}: no row for {names[missing[0]]!r} in {told}")
    members = [[*group, *[-1] * (width - len(group))] for group in runs]
    losses = [
        [*(float(np.mean(runs[group][kind])) for kind in group), *[0.0] * (width - len(group))]
        for group in runs
    ]
    numbers = {
        "count": count or [copies] * len(names), "seats": [seats or width], "machines": machines,
        "names": names, "name": name_of(path),
    }  # fmt: skip
    said = f"{what}s of {main.name}{f'; {table.written}' if table.written else ''}"
    whole = Groups(members=members, losses=losses, source=said, **numbers)  # type: ignore[arg-type]
    if model == "table":
        return whole
    penalty = np.full((len(names), len(names)), np.nan)
    for group, measured in runs.items():
        if len(group) == 2:
            a, b = group
            penalty[a, b], penalty[b, a] = np.mean(measured[a]), np.mean(measured[b])
    if np.isnan(penalty).any():
        a, b = (names[kind] for kind in np.argwhere(np.isnan(penalty))[0].tolist())
        raise InvalidFile(
            f"{table.path}: the pair {a} + {b} was not measured, and the additive model adds up "
            "pairs; measure it, or keep model=table"
        )
    added = Groups(penalty=penalty, source=said, **numbers)  # type: ignore[arg-type]
    return added.replace(source=f"{said}; {residual_words(residuals(added, whole))}")


def residuals(instance: Groups, measured: Groups) -> np.ndarray:
    """What a model says of the members of measured groups, less what was measured: one entry a
    member of each group of three or more.

    Parameters
    ----------
    instance : with the model.
    measured : the same types, with a table.

    Raises
    ------
    InvalidFile
        `measured` has no table, or other types.
    """
    if measured.model != "table" or measured.names != instance.names:
        raise InvalidFile("residuals need a table of groups of the same types")
    assert measured.members is not None and measured.losses is not None
    large = (measured.members >= 0).sum(axis=1) > 2
    rows, lost = measured.members[large], measured.losses[large]
    said = units(instance, 0, rows)
    taken = (rows >= 0) & (said < FORBIDDEN)
    found: np.ndarray = said[taken] / UNIT - lost[taken]
    return found


def residual_words(found: np.ndarray) -> str:
    """What residuals say of a model, in words."""
    if not len(found):
        return "no group of three or more was measured: that penalties add is an assumption"
    return (
        f"adding up pairs misses {len(found)} measured penalties in larger groups by "
        f"{np.abs(found).mean():.3g} on average, {np.abs(found).max():.3g} at worst, and says "
        f"{abs(found.mean()):.3g} too {'much' if found.mean() > 0 else 'little'}"
    )
