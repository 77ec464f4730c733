"""Readers of logs (the Standard Workload Format, and what kind of log a file is), and of plain
tables.
"""

from __future__ import annotations

import math
import os
import re
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Literal

import numpy as np

from ..problem.documents import shortened
from ..problem.errors import InvalidFile, InvalidOption, spelled
from ..problem.files import bundled, locate
from ..problem.option_types import AtLeast, validate_options
from ..problem.reading import hint, parse_any_json, read_lines, read_text
from ..problem.settings import with_settings
from ..problem.tables import LARGEST, CsvTable, PathLike, name_of, tables_of
from .instance import MOST_MACHINES, Integers, Scheduling
from .kueue import looks_like_kueue, read_kueue
from .log import Log, Settings, labeled, window
from .slurm import COMMAND, NODES_COMMAND, SHARES_COMMAND, looks_like_sacct, read_sacct

_FIELDS = 18
_JOB, _SUBMIT, _WAIT, _RUN, _USED, _ASKED, _USER, _GROUP = 0, 1, 2, 3, 4, 7, 11, 12
_WANTED = (_JOB, _SUBMIT, _WAIT, _RUN, _USED, _ASKED, _USER, _GROUP)
_MISSING = -1


WINDOW = Settings()
"""The window that is taken when nothing else is said."""


@validate_options
@with_settings(hide={"shares"})
def swf(path: PathLike, *, settings: Settings = WINDOW) -> Scheduling:
    """A window of a log in the Standard Workload Format (.swf or .swf.gz).

    Jobs without a run time above 0 are left out (canceled before they ran); -1 is "not known": then
    the processors asked for stand for those used, 1 when neither is known. Submissions, starts and
    ends with fractions of a second are rounded to the nearest second, before that is asked.

    Parameters
    ----------
    settings : see `log.Settings`.
    """
    return window(read_swf(path), settings).instance


Form = Literal["auto", "sacct", "swf", "kueue"]


def read_log(
    path: PathLike, form: Form = "auto", *, delimiter: str = "", strict: bool = False
) -> Log:
    """Read a log of jobs by its format: output of sacct, Standard Workload Format, or Kueue's
    objects.

    Parameters
    ----------
    form : the kind; "auto" looks at the content.
    delimiter, strict : of what sacct prints, see `slurm.read_sacct`.

    Raises
    ------
    InvalidFile
        It is none of these, and what makes one.
    """
    text = read_text(locate(path) if os.fspath(path) in bundled() else path)
    if form == "auto":
        form = _form_of(path, text)
    if form == "kueue":
        return read_kueue(path, strict=strict, text=text)
    if form == "sacct":
        return read_sacct(path, delimiter=delimiter, strict=strict, text=text)
    return read_swf(path, text)


def _form_of(path: PathLike, text: str) -> Form:
    """Format of a log, by its first nonempty line."""
    where = os.fspath(path)
    if looks_like_sacct(text):
        return "sacct"
    if looks_like_kueue(text):
        return "kueue"
    lines = (line.strip() for line in text.splitlines())
    first = next((line for line in lines if line), "")
    if first.startswith(";") or (len(first.split()) == _FIELDS and "|" not in first):
        return "swf"
    if first[:1] in ("{", "["):
        content = parse_any_json(text, path)
        if isinstance(content, dict) and "jobs" in content and "meta" in content:
            what = "what `sacct --json` prints, which changes with versions"
        elif isinstance(content, dict) and "cotenant" in content:
            what = "an instance or a result of this package"
        else:
            what = hint(content) or "JSON"
        cure = (
            f"Make one with: {COMMAND}"
            if "package" not in what
            else "Judge an instance with its answer: cotenant advise fairness I.json R.json"
        )
        raise InvalidFile(f"{where} holds {what}; expected a log. {cure}")
    for sign, program, option in (
        ("NodeName=", NODES_COMMAND, "nodes"), ("RawShares", SHARES_COMMAND, "shares"),
    ):  # fmt: skip
        if sign in first:
            raise InvalidFile(
                f"{where} is what `{program}` prints; give it as --{option}, and the log first. "
                f"Make that with: {COMMAND}"
            )
    if re.search(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:", first):
        raise InvalidFile(
            f"{where}, line 1: {shortened(first[:60])} is a job; expected the names of the columns "
            f"first. Make it without -n: {COMMAND}"
        )
    raise InvalidFile(
        f"{where}, line 1: {shortened(first[:60])} is not the beginning of a log that is known; "
        f"expected sacct's column names, or {_FIELDS} numbers (SWF). Make one with: {COMMAND}"
    )


@validate_options
def read_swf(path: PathLike, text: str | None = None) -> Log:
    """The jobs of a Standard Workload Format log that ran, in order of submission. Raises
    InvalidFile, naming the line, for what does not parse, a time below -1, or no submission time.
    """
    header: dict[str, str] = {}  # 1. Header and cells.
    cells: list[list[str]] = []
    numbers: list[int] = []
    for number, line in enumerate(read_lines(path, text), start=1):
        line = line.strip()
        if line.startswith(";"):
            key, colon, value = line.lstrip("; ").partition(":")
            if colon and key.strip() not in header:
                header[key.strip()] = value.strip()
        elif line:
            row = line.split()
            if len(row) != _FIELDS:
                raise InvalidFile(
                    f"{os.fspath(path)}, line {number}: {len(row)} fields; expected {_FIELDS} "
                    "numbers"
                )
            cells.append([row[column] for column in _WANTED])
            numbers.append(number)
    if not cells:
        raise InvalidFile(f"{os.fspath(path)} has no jobs; expected lines of {_FIELDS} numbers")
    table = _swf_table(path, cells, numbers)  # 2. Numbers within their ranges.
    for column, name, least in (
        (_SUBMIT, "submit time", 0),
        (_WAIT, "wait time", -1),
        (_RUN, "run time", -1),
    ):
        for index in np.flatnonzero(table[:, column] < least)[:1].tolist():
            meaning = "0 or more" if least == 0 else "0 or more, or -1 for not known"
            raise InvalidFile(
                f"{os.fspath(path)}, line {numbers[index]}: the {name} is {table[index, column]}; "
                f"expected {meaning}"
            )
    used = np.where(table[:, _USED] > 0, table[:, _USED], table[:, _ASKED])
    submit, wait, run = table[:, _SUBMIT], table[:, _WAIT], table[:, _RUN]
    ran = run > 0  # 3. Jobs that ran, in order of submission.
    if not ran.any():
        raise InvalidFile(f"{os.fspath(path)} has no job with a run time above 0")
    order = np.flatnonzero(ran)[np.argsort(submit[ran], kind="stable")]
    users, user = labeled(table[:, _USER].tolist())
    groups, group = labeled(table[:, _GROUP].tolist())
    return Log(
        name=Path(path).name.partition(".swf")[0],
        submit=submit[order], wait=wait[order], run=run[order],
        processors=np.maximum(used[order], 1),
        user=user[order], group=group[order], users=users, groups=groups, header=header,
        dropped={"no run time above 0": int((~ran).sum())},
        jobs=tuple(map(str, table[order, _JOB].tolist())),
    )  # fmt: skip


def _swf_table(path: PathLike, cells: list[list[str]], numbers: list[int]) -> Integers:
    """Requested fields of each job of a Standard Workload Format log, as arrays."""
    table = np.full((len(cells), _FIELDS), _MISSING, dtype=np.int64)
    try:
        table[:, _WANTED] = np.array(cells, dtype=np.int64)
        fits = bool((np.abs(table) < LARGEST).all() and (table > -LARGEST).all())
    except (ValueError, OverflowError):
        fits = False
    if not fits:
        for index, (number, row) in enumerate(zip(numbers, cells, strict=True)):
            exact = {c: _exact(path, number, c, cell) for c, cell in zip(_WANTED, row, strict=True)}
            clock, rounded = Fraction(0), 0
            for column in (_SUBMIT, _WAIT, _RUN):  # moments are rounded, not what lies between
                if exact[column] >= 0:
                    clock += exact[column]
                    now = math.floor(clock + Fraction(1, 2))
                    exact[column], rounded = Fraction(now - rounded), now
            table[index, list(exact)] = list(map(int, exact.values()))
    return table


def _exact(path: PathLike, number: int, column: int, text: str) -> Fraction:
    """Parse a field of a line of a Standard Workload Format log: an integer, or for submission,
    wait and run time also a nonnegative decimal number.
    """
    value = Fraction(text) if re.fullmatch(r"[+-]?[0-9]{1,16}(\.[0-9]{0,30})?", text) else None
    timed = column in (_SUBMIT, _WAIT, _RUN)
    if value is None or abs(value) >= LARGEST or (value % 1 and (value < 0 or not timed)):
        raise InvalidFile(
            f"{os.fspath(path)}, line {number}, field {column + 1}: {text!r} is not a "
            f"{'number' if timed else 'whole number'} below 2**53"
        )
    return value


@validate_options
def organizations_csv(
    path: PathLike,
    *,
    organizations: str | None = None,
    horizon: Annotated[int, AtLeast(1, "the end of time")] | None = None,
    backfilling: bool = False,
) -> Scheduling:
    """Jobs as `organization,release,processing`, one row each, and organizations as
    `organization,machines`; times in whole units. Jobs may have a column `processors`, machines
    taken at once, and organizations a column `speed`, of each of their machines.

    Parameters
    ----------
    path : the table of jobs, or a folder that holds `jobs.csv` and `organizations.csv`.
    organizations : path of the table of organizations; one without jobs only lends its machines.
    horizon : the end of time: only work done before it counts.
    backfilling : whether jobs of several processors may pass one that does not fit.

    Raises
    ------
    InvalidOption
        No table of organizations, or no horizon.
    InvalidFile
        A table that cannot be read, with its line; an organization that no table names.
    """
    main, others = tables_of(path, "jobs.csv", organizations=organizations)
    table = CsvTable(main, "organization", "release", "processing", lower=True)
    if "organizations" not in others:  # 1. Organizations with their machines.
        raise InvalidOption(
            f"{main} has jobs only; expected organizations as well: write "
            f"{spelled('-o organizations=PATH')} of a table organization,machines"
        )
    lenders = CsvTable(others["organizations"], "organization", "machines", lower=True)
    rows = lenders.by_name("organization")
    known = {name: index for index, name in enumerate(rows)}
    machines = [row.whole("machines") for row in rows.values()]
    fast = "speed" in lenders.columns
    speeds = [row.whole("speed") for row in rows.values()] if fast else []
    jobs = []  # 2. Jobs of known organizations.
    for row in table:
        if (owner := row.word("organization")) not in known:
            raise row.wrong("organization", f"an organization of {others['organizations']}")
        processors = row.whole("processors") if "processors" in table.columns else 1
        jobs.append((known[owner], row.whole("release"), row.whole("processing"), processors))
    owner_of, release, processing, width = np.array(jobs, dtype=np.int64).T
    if horizon is None:  # 3. Refuse a missing horizon.
        enough = int(release.max()) + sum(processing.tolist())
        raise InvalidOption(
            f"horizon is not given; expected the end of time, before which work counts: write "
            f"{spelled(f'-o horizon={enough}')}, by which all jobs are done whatever the order"
        )
    remarks = [f"jobs of {main.name}, machines of {others['organizations'].name}", table.written]
    return Scheduling(
        machines=np.array(machines),
        organization=owner_of,
        release=release,
        processing=processing,
        horizon=horizon,
        names=tuple(known),
        processors=width,
        backfilling=backfilling,
        # too many machines are refused by name before their speeds would be listed
        speed=np.repeat(speeds, machines)
        if speeds and 0 < sum(machines) <= MOST_MACHINES
        else None,
        name=name_of(path),
        source="; ".join(filter(None, remarks)),
    )
