"""Runs of many experiments: rows are kept after failures, with files of tables and figures."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
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
from .causes import explained
from .experiment import Experiment, Reproduction, Task
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
    """Stored row of a run without findings; its key is experiment, seed, options and data."""
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
