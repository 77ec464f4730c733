"""Runs of many experiments: rows are kept after failures, with files of tables and figures.

A finding that differs gets its cause: the experiment is run again with one open choice changed.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from ..analysis.run.lock import locked
from ..analysis.run.result import versions
from ..analysis.run.rows import RowFile, finished_rows
from ..instances.problem.errors import CotenantError, InvalidFile
from ..instances.problem.files import write_text
from ..instances.problem.options import accepts
from ..solvers.interrupts import abandoning, deferred
from ..solvers.outcome import Clock
from .experiment import (
    ALL_OF_THEM,
    CURED,
    NUMBER,
    RULED_OUT,
    Experiment,
    Finding,
    Reproduction,
    Task,
    span,
)
from .page import ExperimentRow, findings_table, require_experiments


def tasks(
    experiments: Iterable[Experiment],
    *,
    seed: int = 0,
    options: Mapping[str, Any] | None = None,
    data: Path | None = None,
) -> list[Task]:
    """Runs of several experiments, each with those of the options that the experiment takes. Raises
    InvalidFile if `data` is no folder, or holds nothing that any of them reads.
    """
    listed = list(experiments)
    if data is not None:
        wanted = [file for one in listed for _, file in one.data]
        if not os.path.isdir(data):
            raise InvalidFile(
                f"{data} is not a folder; give the folder of your copies of the measured files"
            )
        if wanted and not any(Task(one, data=data).files for one in listed):
            raise InvalidFile(
                f"{data} holds none of the files that are read: {', '.join(dict.fromkeys(wanted))}"
            )
    given = (options or {}).items()
    return [
        Task(one, seed, {name: each for name, each in given if accepts(one.function, name)}, data)
        for one in listed
    ]


def run_tasks(
    todo: Iterable[Task],
    *,
    out: str | os.PathLike[str] | None = None,
    figures: Path | None = None,
    tables: Path | None = None,
    fetch: bool = False,
) -> Iterator[tuple[ExperimentRow, Exception | None, bool]]:
    """Run experiments one after the other; of each its row, its error if it failed, and whether
    the row was taken from `out`. Ctrl-C leaves `out` with every row that was handed over.

    Parameters
    ----------
    out : JSONL file to which rows are appended; finished rows that it holds are not run again,
        unless a file asked for is not there.
    figures : folder for each figure redrawn, as PDF and PNG.
    tables : folder for the findings (EXPERIMENT.csv, .tex) and the numbers of each figure
        (FIGURE-numbers.csv, .tex).
    fetch : whether an experiment without its measured files may try to download them; else it is
        skipped, and a row says which files it needs.

    Raises
    ------
    InvalidFile
        `out` holds rows of something else, cannot be written, or another process is adding rows to
        it.
    """
    with locked(out):
        finished = finished_rows(out)
        require_experiments(finished.values(), os.fspath(out or ""))
        store = None if out is None else RowFile(out)
        for task in todo:
            fresh = _row(task)
            row = finished.get(fresh["key"])
            if row is not None and all(map(os.path.exists, _outputs(row, figures, tables))):
                yield row, None, True
                continue
            with abandoning():  # a method that keeps its best answer makes no finding
                row, error = _run(task, fresh, figures, tables, fetch)
            with deferred():  # a row is in the file and handed over before Ctrl-C counts
                if store is not None:
                    store.add(row)
                yield row, error, False


def _row(task: Task) -> ExperimentRow:
    """Row that stores a run, without findings yet; its key is experiment, seed, options, data and
    version.
    """
    one, options = task.experiment, dict(task.options)
    files = {}
    for option, path in task.files.items():
        with path.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        files[option] = {"file": dict(one.data).get(option, option), "sha256": digest}
    given, there = sorted([name, repr(value)] for name, value in options.items()), versions()
    key = ["experiment", one.name, task.seed, given, files, there.get("cotenant")]
    return {
        "problem": one.paper.problem, "experiment": one.name, "seed": task.seed,
        "options": options, "data": files, "command": task.command, "status": "done",
        "seconds": 0.0, "findings": [], "pictures": [], "versions": there, "key": json.dumps(key),
    }  # fmt: skip


def _run(
    task: Task, fresh: ExperimentRow, figures: Path | None, tables: Path | None, fetch: bool
) -> tuple[ExperimentRow, Exception | None]:
    """Run one experiment: its stored row, and the error if it failed; Ctrl-C is passed on."""
    if task.missing and not fetch:
        needs = f"needs {', '.join(task.missing)}: give the folder that holds it with --data"
        return fresh | {"status": "skipped", "skipped": needs}, None
    clock = Clock()
    try:
        done = explained(task.run())
        row = fresh | {
            "seconds": done.seconds,
            "findings": [asdict(finding) for finding in done.findings],
            "pictures": [picture.name for picture in done.pictures],
        }
        _write_files(row, done, figures, tables)
    except Exception as error:
        kind = "" if isinstance(error, CotenantError) else f"{type(error).__name__}: "
        failed = {"status": "failed", "seconds": clock.seconds, "error": f"{kind}{error}"}
        return fresh | failed, error
    return row, None


def _write_files(
    row: ExperimentRow, done: Reproduction, figures: Path | None, tables: Path | None
) -> None:
    """Write the figures and tables of one experiment, each file whole or not at all."""
    if figures is not None:
        from ..analysis.report.drawing import save

        save(done.pictures, figures)
    if tables is not None:
        numbers = [table for picture in done.pictures if (table := picture.table()) is not None]
        numbers = [replace(table, name=f"{table.name}-numbers") for table in numbers]
        for table in (findings_table(row), *numbers):
            write_text(tables / f"{table.name}.csv", table.csv())
            write_text(tables / f"{table.name}.tex", table.latex())


def _outputs(row: ExperimentRow, figures: Path | None, tables: Path | None) -> list[Path]:
    """Paths of the files that a finished experiment has written to these folders."""
    drawn = [(name, form) for name in row["pictures"] for form in ("pdf", "png")]
    written = [(row["experiment"], form) for form in ("csv", "tex")]
    asked = ((figures, drawn), (tables, written))
    return [to / f"{name}.{form}" for to, names in asked if to for name, form in names]


Tried = Mapping[str, Mapping[str, Finding]]
"""What was changed -> how -> the finding that came out."""

SHORT = 40
"""A range this long is shown for each change; where one is longer, all share one."""

MOST_WORDS = 3
"""Before a number that is the paper's value; behind more of them it is part of a sentence."""


def explained(done: Reproduction) -> Reproduction:
    """Find causes of the differences in a reproduction by rerunning its experiment with variations.
    Differences with a known cause keep it, and the seconds include the reruns. Variations of an
    option that the user gave, or that need a measured file which is missing, are left out.
    """
    task, clock = done.task, Clock()
    tried: dict[str, dict[str, dict[str, Finding]]] = {
        one.what: {} for one in done.findings if one.verdict == "differs" and not one.cause
    }
    for change, ways in task.experiment.variations.items() if tried else ():
        for how, changes in ways.items():
            # 1. Its own files, where the folder holds them; no change undoes the user's.
            files = {name: task.data and task.data / value
                     for name, value in changes.items() if isinstance(value, Path)}  # fmt: skip
            there = all(path and path.is_file() for path in files.values())
            if not there or next(iter(changes)) in task.options or changes.get("seed") == task.seed:
                continue
            paths = {name: str(path) for name, path in files.items()}
            given: dict[str, Any] = {"seed": task.seed, **changes, **paths, **task.options}
            # 2. What comes out of it; options that do not go together are left out.
            with suppress(CotenantError):
                for one in task.experiment.run(data=task.data, **given).findings:
                    if one.what in tried and one.verdict != "not in the paper":
                        tried[one.what].setdefault(change, {})[how] = one
    findings = (
        replace(one, cause=cause(one, tried[one.what]))
        if one.verdict == "differs" and not one.cause
        else one
        for one in done.findings
    )
    return done._replace(findings=tuple(findings), seconds=done.seconds + clock.seconds)


def cause(finding: Finding, tried: Tried) -> str:
    """Cause of a difference by its reruns: the changes that remove it, or that were ruled out, and
    how far it moves.
    """
    # 1. The changes under which it vanishes, or is undecided.
    for verdict, words in CURED.items():
        cures = []
        for change, runs in tried.items():
            good = [how for how, one in runs.items() if one.verdict == verdict]
            bad = [how for how in runs if how not in good]
            without = f", not with {_listed(bad, 'or')}" if bad else ""
            cures += [f"{change}{words} with {_listed(good)}{without}"] if good else []
        if cures:
            return "; ".join(cures)
    # 2. The changes that move it; a shorter run may leave out what stands behind a semicolon.
    ours = {change: [one.ours for one in runs.values()] for change, runs in tried.items()}
    moving = {
        change: texts
        for change, texts in ours.items()
        if not all(f"{finding.ours}; ".startswith(f"{text}; ") for text in texts)
    }
    if not moving:
        return f"{RULED_OUT} {_listed(list(ours))} (unchanged)" if tried else ""
    # 3. The changes around whose values the paper's lies, else how far all of them move it.
    around = [c for c, texts in moving.items() if _holds(finding.paper, [finding.ours, *texts])]
    moved = span([finding.ours, *(text for change in around or moving for text in moving[change])])
    if around:
        return f"{_listed(around)}: the paper's value lies within ours, {moved}"
    ranges = {change: span(texts) for change, texts in moving.items()}
    if all(len(text) <= SHORT for text in ranges.values()):
        each = (f"{change} ({text})" if text else change for change, text in ranges.items())
        return f"{RULED_OUT} {', '.join(each)}"
    return f"{RULED_OUT} {_listed(list(moving))}{moved and f'{ALL_OF_THEM} {moved}'}"


def _holds(paper: str, ours: Sequence[str]) -> bool:
    """Return whether the number in a paper's text lies within the range of our texts' numbers. The
    paper's is the only one of its text, near its beginning; each of ours begins its text.
    """
    printed, first = NUMBER.findall(paper), [NUMBER.match(text) for text in ours]
    if len(printed) != 1 or len(paper.partition(printed[0])[0].split()) > MOST_WORDS:
        return False
    values = [float(number.group()) for number in first if number]
    return len(values) == len(ours) and min(values) <= float(printed[0]) <= max(values)


def _listed(names: Sequence[str], word: str = "and") -> str:
    return f" {word} ".join(filter(None, (", ".join(names[:-1]), names[-1])))
