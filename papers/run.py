"""Many experiments in one go: rows kept whatever happens, files of tables and figures."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
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
from .documents import require_experiments
from .page import findings_table
from .registry import Experiment, ExperimentRow, Reproduction

Progress = Callable[[int, int, ExperimentRow], None]


@dataclass(frozen=True)
class Task:
    """One experiment to run: its seed, options that it takes, and folder of files, if any."""

    experiment: Experiment
    seed: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)
    data: Path | None = None

    @cached_property
    def files(self) -> dict[str, dict[str, str]]:
        """The measured files to be read: option -> place in the folder, and sha256."""
        if self.data is None:
            return {}
        known = dict(self.experiment.data)
        found = {
            option: path
            for option, path in self.experiment.files(self.data).items()
            if option not in self.options
        }
        read = {option: (known[option], Path(path)) for option, path in found.items()}
        read |= {
            file: (file, self.data / file)
            for file in self.experiment.also_read
            if (self.data / file).is_file()
        }
        return {
            option: {"file": file, "sha256": _digest(path)} for option, (file, path) in read.items()
        }

    @property
    def missing(self) -> list[str]:
        """The measured files it lacks, where it has no substitute for them."""
        if self.experiment.substitute:
            return []
        return [
            file
            for option, file in self.experiment.data
            if option not in self.options and option not in self.files
        ]

    @cached_property
    def key(self) -> str:
        """What identifies it in a JSONL file: what runs, how, on which data and version."""
        options = sorted([name, repr(value)] for name, value in self.options.items())
        return json.dumps(
            [
                "experiment",
                self.experiment.name,
                self.seed,
                options,
                self.files,
                versions().get("cotenant"),
            ]
        )

    def identity(self) -> ExperimentRow:
        """What is known of its row before it is run."""
        one = self.experiment
        return {
            "problem": one.problem,
            "experiment": one.name,
            "paper": one.paper,
            "place": one.place,
            "what": one.what,
            "source": one.source,
            "seed": self.seed,
            "options": dict(self.options),
            "data": self.files,
            "command": one.command(seed=self.seed, data=bool(self.files), **self.options),
        }


@dataclass(frozen=True)
class Reproduced:
    """What came of a list of experiments: their rows, the errors of those that failed now, whether
    Ctrl-C ended it, and how many rows were taken from the file.
    """

    rows: list[ExperimentRow]
    errors: list[Exception]
    interrupted: bool
    reused: int

    @property
    def failed(self) -> list[ExperimentRow]:
        """The rows of the experiments that failed."""
        return [row for row in self.rows if row["status"] == "failed"]


def tasks(
    experiments: Iterable[Experiment],
    *,
    seed: int = 0,
    options: Mapping[str, Any] | None = None,
    data: Path | None = None,
) -> list[Task]:
    """One task for each experiment, with those of the options that it takes. Raises InvalidFile
    when `data` is no folder, or holds nothing that any of them reads.
    """
    listed = list(experiments)
    if data is not None:
        wanted = [file for one in listed for _, file in one.data]
        if not os.path.isdir(data):
            raise InvalidFile(
                f"{data} is not a folder; give the folder of your copies of the measured files"
            )
        if wanted and not any(one.files(data) for one in listed):
            raise InvalidFile(
                f"{data} holds none of the files that are read: {', '.join(dict.fromkeys(wanted))}"
            )
    given = options or {}
    return [
        Task(
            one,
            seed,
            {name: value for name, value in given.items() if accepts(one.resolve(), name)},
            data,
        )
        for one in listed
    ]


def run_tasks(
    todo: Sequence[Task],
    *,
    out: str | os.PathLike[str] | None = None,
    figures: Path | None = None,
    tables: Path | None = None,
    fetch: bool = False,
    progress: Progress | None = None,
) -> Reproduced:
    """Run experiments one after another; one that fails becomes a row with its reason, and Ctrl-C
    keeps what is done.

    Parameters
    ----------
    out : JSONL file to append rows to; what it already holds is not run again, unless a file asked
        for is not there.
    figures : folder for each figure redrawn, as PDF and PNG.
    tables : folder for the findings (EXPERIMENT.csv, .tex) and the numbers of each figure
        (FIGURE-numbers.csv, .tex).
    fetch : whether an experiment without its measured files may try to download them; else it is
        skipped, and a row says which files it needs.
    progress : called with (done, total, row).

    Raises
    ------
    InvalidFile
        `out` holds rows of something else, cannot be written, or another process is adding rows to
        it.
    """
    with locked(out):
        return _run_all(todo, out, figures, tables, fetch, progress)


def _run_all(
    todo: Sequence[Task],
    out: str | os.PathLike[str] | None,
    figures: Path | None,
    tables: Path | None,
    fetch: bool,
    progress: Progress | None,
) -> Reproduced:
    """`run_tasks`, under its lock."""
    finished = finished_rows(out)
    if alien := next((row for row in finished.values() if "experiment" not in row), None):
        raise InvalidFile(
            f"{os.fspath(out or '')} holds runs of {alien.get('method')}, no experiments; "
            "give another --out"
        )
    require_experiments(finished.values(), str(out))
    store = None if out is None else RowFile(out)
    rows: list[ExperimentRow] = []
    errors: list[Exception] = []
    reused, interrupted = 0, False
    try:
        for one in todo:
            row = finished.get(one.key)
            if row is None or not all(
                os.path.exists(path) for path in _outputs(row, figures, tables)
            ):
                with abandoning():  # a method in it that keeps its best answer makes no finding
                    row, error = _run(one, figures, tables, fetch)
                with deferred():
                    errors += [] if error is None else [error]
                    if store is not None:
                        store.add(row)
                    rows.append(row)
            else:
                rows.append(row)
                reused += 1
            if progress is not None:
                progress(len(rows), len(todo), row)
    except KeyboardInterrupt:
        interrupted = True
    return Reproduced(rows, errors, interrupted, reused)


def _run(
    one: Task, figures: Path | None, tables: Path | None, fetch: bool
) -> tuple[ExperimentRow, Exception | None]:
    """The row of one experiment, whatever happens but Ctrl-C, and the error if it failed."""
    end: ExperimentRow = {"versions": versions(), "key": one.key}
    empty: ExperimentRow = {"seconds": 0.0, "findings": [], "pictures": []}
    if one.missing and not fetch:
        needs = f"needs {', '.join(one.missing)}: give the folder that holds it with --data"
        return {**one.identity(), "status": "skipped", **empty, "skipped": needs, **end}, None
    clock = Clock()
    try:
        done = one.experiment.run(seed=one.seed, data=one.data, **one.options)
        done = explained(done, seed=one.seed, data=one.data, **one.options)
        row: ExperimentRow = {
            **one.identity(),
            "status": "done",
            "seconds": done.seconds,
            "findings": [asdict(finding) for finding in done.findings],
            "pictures": [picture.name for picture in done.pictures],
            **end,
        }
        _write_files(row, done, figures, tables)
    except Exception as error:
        text = (
            str(error) if isinstance(error, CotenantError) else f"{type(error).__name__}: {error}"
        )
        return {
            **one.identity(),
            "status": "failed",
            **empty,
            "seconds": clock.seconds,
            "error": text,
            **end,
        }, error
    return row, None


def _write_files(
    row: ExperimentRow, done: Reproduction, figures: Path | None, tables: Path | None
) -> None:
    """The figures and tables of one experiment, each file whole or not at all."""
    if figures is not None:
        from ..analysis.report.drawing import save

        save(done.pictures, figures)
    if tables is not None:
        numbers = [table for picture in done.pictures if (table := picture.table()) is not None]
        for table in (
            findings_table(row),
            *(replace(table, name=f"{table.name}-numbers") for table in numbers),
        ):
            write_text(tables / f"{table.name}.csv", table.csv())
            write_text(tables / f"{table.name}.tex", table.latex())


def _outputs(row: ExperimentRow, figures: Path | None, tables: Path | None) -> list[Path]:
    """Files that a finished experiment has left if they were asked for when it was run."""
    drawn = (
        []
        if figures is None
        else [figures / f"{name}.{form}" for name in row["pictures"] for form in ("pdf", "png")]
    )
    return (
        drawn
        if tables is None
        else [*drawn, *(tables / f"{row['experiment']}.{form}" for form in ("csv", "tex"))]
    )


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
