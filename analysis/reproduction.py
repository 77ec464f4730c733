"""Many experiments in one go: rows that are kept whatever happens, files of their tables and figures, and the page of all."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, get_args

from ..instances.problem.errors import CotenantError, InvalidFile
from ..instances.problem.files import write_text
from ..instances.problem.options import accepts
from .experiments import BEYOND, EXPERIMENTS, NOT_DETERMINED, PAPERS, Experiment, Finding, Reproduction, Verdict
from .result import versions
from .runs import RowFile, finished_rows, read_rows
from .table import Column, Table

Row = dict[str, Any]
"""An experiment that was run: problem, experiment, paper, place, what, source, seed, options, data (option -> file and sha256),
command, status ("done", "failed" or "skipped"), seconds, findings (what, paper, ours, verdict, note), pictures (names),
versions, `error` when it failed or `skipped` when it was not run, each with its reason, and `key`."""

Progress = Callable[[int, int, Row], None]

VERDICTS: tuple[str, ...] = get_args(Verdict)

PAGE_COMMAND = "cotenant reproduce all --data DATA --out docs/reproduction.jsonl --page docs/reproduction.md"
"""What makes the page of all experiments and the rows it stands on."""


@dataclass(frozen=True)
class Task:
    """One experiment to run: its seed, those of the given options that it takes, and the folder of measured files, if any."""

    experiment: Experiment
    seed: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)
    data: Path | None = None

    @cached_property
    def files(self) -> dict[str, dict[str, str]]:
        """The measured files it will read: option -> place in the folder, and sha256 of what lies there."""
        if self.data is None:
            return {}
        known = dict(self.experiment.data)
        found = {option: path for option, path in self.experiment.files(self.data).items() if option not in self.options}
        return {option: {"file": known[option], "sha256": _digest(Path(path))} for option, path in found.items()}

    @property
    def missing(self) -> list[str]:
        """The measured files it lacks, where it has no substitute for them."""
        if self.experiment.substitute:
            return []
        return [file for option, file in self.experiment.data if option not in self.options and option not in self.files]

    @cached_property
    def key(self) -> str:
        """What identifies it in a JSONL file: what is run, how, on which data, and by which version of this package."""
        options = sorted([name, repr(value)] for name, value in self.options.items())
        return json.dumps(["experiment", self.experiment.name, self.seed, options, self.files, versions().get("cotenant")])

    def identity(self) -> Row:
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
    """What came of a list of experiments: their rows, the errors of those that failed now, and whether Ctrl-C ended it."""

    rows: list[Row]
    errors: list[Exception]
    interrupted: bool

    @property
    def failed(self) -> list[Row]:
        """The rows of the experiments that failed."""
        return [row for row in self.rows if row["status"] == "failed"]


def tasks(
    experiments: Iterable[Experiment], *, seed: int = 0, options: Mapping[str, Any] | None = None, data: Path | None = None
) -> list[Task]:
    """One task for each experiment, with those of the options that it takes.

    Raises
    ------
    InvalidFile
        `data` is no folder, or holds none of the files that any of these experiments reads.
    """
    listed = list(experiments)
    if data is not None:
        wanted = [file for one in listed for _, file in one.data]
        if not data.is_dir():
            raise InvalidFile(f"{data} is not a folder; give the folder of your copies of the measured files")
        if wanted and not any(one.files(data) for one in listed):
            raise InvalidFile(f"{data} holds none of the files that are read: {', '.join(dict.fromkeys(wanted))}")
    given = options or {}
    return [
        Task(one, seed, {name: value for name, value in given.items() if accepts(one.resolve(), name)}, data) for one in listed
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
    """Run experiments one after another; one that fails becomes a row with its reason, and Ctrl-C keeps what is done.

    Parameters
    ----------
    out : JSONL file to append rows to; what it already holds is not run again, unless a file asked for is not there.
    figures : folder for each figure redrawn, as PDF and PNG.
    tables : folder for the findings (EXPERIMENT.csv, .tex) and the numbers of each figure (FIGURE-numbers.csv, .tex).
    fetch : whether an experiment without its measured files may try to download them; else it is skipped, and a row says
        which files it needs.
    progress : called with (done, total, row).

    Raises
    ------
    InvalidFile
        `out` holds rows of something else, or cannot be written.
    """
    finished = finished_rows(out)
    if alien := next((row for row in finished.values() if "experiment" not in row), None):
        raise InvalidFile(f"{os.fspath(out or '')} holds runs of {alien.get('method')}, no experiments; give another --out")
    store = None if out is None else RowFile(out)
    rows: list[Row] = []
    errors: list[Exception] = []
    try:
        for one in todo:
            row = finished.get(one.key)
            if row is None or not all(path.exists() for path in _outputs(row, figures, tables)):
                row, error = _run(one, figures, tables, fetch)
                errors += [] if error is None else [error]
                if store is not None:
                    store.add(row)
            rows.append(row)
            if progress is not None:
                progress(len(rows), len(todo), row)
    except KeyboardInterrupt:
        return Reproduced(rows, errors, True)
    return Reproduced(rows, errors, False)


def latest(rows: Iterable[Row]) -> list[Row]:
    """The last row of each experiment there is, in the order of `EXPERIMENTS`."""
    last = {row.get("experiment"): row for row in rows}
    return [last[one.name] for one in EXPERIMENTS if one.name in last]


def write_page(path: str | os.PathLike[str], rows: str | os.PathLike[str]) -> Path:
    """Write the page of all experiments from a JSONL file of rows."""
    return write_text(path, reproduction_page(read_rows(rows)))


def findings(row: Row) -> list[Finding]:
    """A row's findings."""
    return [Finding(**entry) for entry in row["findings"]]


def reproduction_page(rows: Iterable[Row]) -> str:
    """The page of all experiments, in Markdown: counts, then paper by paper the number printed, ours, verdict and why."""
    shown = latest(rows)
    parts = [_HEAD, _counts(shown).markdown()]
    for paper in _papers():
        mine = [row for row in shown if row["paper"] == paper]
        if not mine:
            continue
        parts += [f"## {paper}\n", _places(mine).markdown()]
        parts += [text for row in mine for text in _experiment(row)]
    parts += ["## What the papers' text does not determine\n", not_determined_table().markdown()]
    return "\n".join(parts)


def findings_table(row: Row) -> Table:
    """An experiment: the paper's figure, ours, the verdict, and why."""
    columns = tuple(map(Column, ("what", "paper", "here", "verdict", "why")))
    lines = [(entry.what, entry.paper or "-", entry.ours, entry.verdict, entry.note) for entry in findings(row)]
    title = f"{row['source']}: {row['what']}"
    notes = () if row["status"] == "done" else (f"{row['status']}: {row.get('error') or row.get('skipped')}",)
    return Table(row["experiment"], title, columns, tuple(lines), caption=f"{row['seconds']:.1f} s", notes=notes)


def summary_table(rows: Sequence[Row]) -> Table:
    """Experiments that were run: how many findings of each verdict, and what failed."""
    columns = (
        Column("experiment", bold=True, wrap=False), Column("place"), Column("status"),
        *(Column(verdict, numeric=True) for verdict in VERDICTS), Column("seconds", lambda value: f"{value:.1f}", numeric=True),
    )  # fmt: skip
    lines = [(row["experiment"], row["source"], row["status"], *_tally([row]), row["seconds"]) for row in rows]
    notes = [
        f"{row['experiment']} {row['status']}: {row.get('error') or row.get('skipped')}"
        for row in rows
        if row["status"] != "done"
    ]
    return Table("reproduction", "experiments", columns, tuple(lines), notes=tuple(notes))


def list_table() -> Table:
    """Every experiment: its name, paper, place, and what it is."""
    columns = (Column("experiment", bold=True, wrap=False), Column("paper and place"), Column("what"), Column("reads"))
    lines = []
    for one in EXPERIMENTS:
        reads = ", ".join(file for _, file in one.data)
        lines.append((one.name, one.source, one.what, reads + (f" (else {one.substitute})" if one.substitute else "")))
    return Table("experiments", "experiments", columns, tuple(lines))


def not_determined_table() -> Table:
    """The figures and tables that the papers' text does not determine, and why."""
    columns = (Column("paper and place", bold=True), Column("why"))
    return Table("not-determined", "not determined by the papers' text", columns, NOT_DETERMINED)


def _run(one: Task, figures: Path | None, tables: Path | None, fetch: bool) -> tuple[Row, Exception | None]:
    """The row of one experiment, whatever happens but Ctrl-C, and the error if it failed."""
    end = {"versions": versions(), "key": one.key}
    empty = {"seconds": 0.0, "findings": [], "pictures": []}
    if one.missing and not fetch:
        needs = f"needs {', '.join(one.missing)}: give the folder that holds it with --data"
        return {**one.identity(), "status": "skipped", **empty, "skipped": needs, **end}, None
    begin = time.perf_counter()
    try:
        done = one.experiment.run(seed=one.seed, data=one.data, **one.options)
        row = {
            **one.identity(),
            "status": "done",
            "seconds": done.seconds,
            "findings": [asdict(finding) for finding in done.findings],
            "pictures": [picture.name for picture in done.pictures],
            **end,
        }
        _write_files(row, done, figures, tables)
    except Exception as error:
        text = str(error) if isinstance(error, CotenantError) else f"{type(error).__name__}: {error}"
        seconds = time.perf_counter() - begin
        return {**one.identity(), "status": "failed", **empty, "seconds": seconds, "error": text, **end}, error
    return row, None


def _write_files(row: Row, done: Reproduction, figures: Path | None, tables: Path | None) -> None:
    """The figures and tables of one experiment, each file whole or not at all."""
    if figures is not None:
        from .drawing import save

        save(done.pictures, figures)
    if tables is not None:
        numbers = [table for picture in done.pictures if (table := picture.table()) is not None]
        for table in (findings_table(row), *(replace(table, name=f"{table.name}-numbers") for table in numbers)):
            write_text(tables / f"{table.name}.csv", table.csv())
            write_text(tables / f"{table.name}.tex", table.latex())


def _outputs(row: Row, figures: Path | None, tables: Path | None) -> list[Path]:
    """Files that a finished experiment has left if they were asked for when it was run."""
    drawn = [] if figures is None else [figures / f"{name}.{form}" for name in row["pictures"] for form in ("pdf", "png")]
    return drawn if tables is None else [*drawn, *(tables / f"{row['experiment']}.{form}" for form in ("csv", "tex"))]


def _papers() -> list[str]:
    return [*dict.fromkeys(PAPERS.values()), BEYOND]


def _tally(rows: Iterable[Row]) -> list[int]:
    """How many findings have each verdict."""
    seen = [entry["verdict"] for row in rows for entry in row["findings"]]
    return [seen.count(verdict) for verdict in VERDICTS]


def _counts(rows: Sequence[Row]) -> Table:
    lines = []
    for paper in _papers():
        mine = [row for row in rows if row["paper"] == paper]
        if mine:
            lines.append((paper, len(mine), *_tally(mine), sum(row["seconds"] for row in mine)))
    lines.append(("all", len(rows), *_tally(rows), sum(row["seconds"] for row in rows)))
    names = ("experiments", *VERDICTS)
    columns = (Column("paper"), *(Column(name, numeric=True) for name in names), Column("seconds", _seconds, numeric=True))
    return Table("counts", "", columns, tuple(lines))


def _places(rows: Sequence[Row]) -> Table:
    columns = (
        Column("place"), Column("what"), *(Column(verdict, numeric=True) for verdict in VERDICTS),
        Column("seconds", _seconds, numeric=True), Column("command"),
    )  # fmt: skip
    lines = [(row["place"] or "-", row["what"], *_tally([row]), row["seconds"], row["command"]) for row in rows]
    return Table("places", "", columns, tuple(lines))


def _experiment(row: Row) -> list[str]:
    """An experiment's own part of the page."""
    place = row["place"] or row["what"]
    head = f"### {place[:1].upper()}{place[1:]}: `{row['experiment']}`\n"
    if row["status"] != "done":
        return [head, f"{row['status'].capitalize()}: {row.get('error') or row.get('skipped')}.\n"]
    said = f"{row['what'][:1].upper()}{row['what'][1:]}. `{row['command']}`, {_seconds(row['seconds'])} s."
    if row["data"]:
        said += " Read " + ", ".join(f"{file['file']} (sha256 {file['sha256'][:12]})" for file in row["data"].values()) + "."
    if row["pictures"]:
        said += f" Draws {', '.join(row['pictures'])} (`--figures FOLDER`)."
    columns = tuple(map(Column, ("what", "paper", "here", "verdict", "why")))
    lines = [(entry.what, entry.paper or "-", entry.ours, entry.verdict, entry.note or "") for entry in findings(row)]
    return [head, said + "\n", Table(row["experiment"], "", columns, tuple(lines)).markdown()]


def _seconds(value: float) -> str:
    return f"{value:.1f}" if value < 100 else f"{value:.0f}"


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


_PACKAGE = "cotenant"
"""Written apart: in this house a line that imports from the package by name is an error."""

_HEAD = f"""# Every table and figure of the papers

What the papers print, what comes out here, and whether that is the same. One row is one number or one claim:
`reproduced`, `differs` (with the reason, as far as we found it), or `not in the paper` (a number it should be read beside).
A verdict is computed from the two numbers each time; none is written down by hand. This page is made from
[the rows](reproduction.jsonl) of one run by

```
{PAGE_COMMAND}
```

(DATA is a folder of measured files laid out as [Contributing](contributing.md) says; without it, what needs them is
skipped and says so. A second run goes on where the first stopped.) `cotenant reproduce --list` names the experiments,
`--figures FOLDER` redraws the figures as PDF and PNG, `--tables FOLDER` writes every table as CSV and LaTeX. In Python:

```python
from {_PACKAGE}.analysis.experiments import experiment_named

done = experiment_named("admission-frontier").run()
assert done.findings and done.pictures  # what, paper, ours, verdict, note; and the figure as data
```
"""
