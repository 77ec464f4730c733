"""The page of all experiments, and the tables of their findings."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import get_args

from ...instances.problem.files import write_text
from ...instances.problem.text import all_printable
from ..report.table import Column, Table
from ..run.rows import read_rows
from .documents import require_experiments
from .registry import BEYOND, EXPERIMENTS, NOT_DETERMINED, PAPERS, ExperimentRow, Finding, Verdict

VERDICTS: tuple[str, ...] = get_args(Verdict)

PAGE_COMMAND = (
    "cotenant reproduce all --data DATA --out docs/reproduction.jsonl --page docs/reproduction.md"
)
"""What makes the page of all experiments and the rows it stands on."""


def latest(rows: Iterable[ExperimentRow]) -> list[ExperimentRow]:
    """The last row of each experiment there is, in the order of `EXPERIMENTS`."""
    last = {row.get("experiment"): row for row in rows}
    return [last[one.name] for one in EXPERIMENTS if one.name in last]


def write_page(path: str | os.PathLike[str], rows: str | os.PathLike[str]) -> Path:
    """Write the page of all experiments from a JSONL file of rows."""
    read = [row for row in read_rows(rows) if "experiment" in row]
    require_experiments(read, os.fspath(rows))
    return write_text(path, reproduction_page(map(all_printable, read)))


def findings(row: ExperimentRow) -> list[Finding]:
    """A row's findings."""
    return [Finding(**entry) for entry in row["findings"]]


def reproduction_page(rows: Iterable[ExperimentRow]) -> str:
    """The page of all experiments, in Markdown: counts, then paper by paper the number printed,
    ours, verdict and why.
    """
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


def findings_table(row: ExperimentRow) -> Table:
    """An experiment: the paper's figure, ours, the verdict, and why."""
    columns = tuple(map(Column, ("what", "paper", "here", "verdict", "why")))
    lines = [
        (entry.what, entry.paper or "-", entry.ours, entry.verdict, entry.why)
        for entry in findings(row)
    ]
    title = f"{row['source']}: {row['what']}"
    notes = (
        ()
        if row["status"] == "done"
        else (f"{row['status']}: {row.get('error') or row.get('skipped')}",)
    )
    return Table(
        row["experiment"],
        title,
        columns,
        tuple(lines),
        caption=f"{row['seconds']:.1f} s",
        notes=notes,
    )


def summary_table(rows: Sequence[ExperimentRow]) -> Table:
    """Experiments that were run: how many findings of each verdict, and what failed."""
    columns = (
        Column("experiment", bold=True, wrap=False), Column("place"), Column("status"),
        *(Column(verdict, numeric=True) for verdict in VERDICTS),
        Column("seconds", lambda value: f"{value:.1f}", numeric=True),
    )  # fmt: skip
    lines = [
        (row["experiment"], row["source"], row["status"], *_tally([row]), row["seconds"])
        for row in rows
    ]
    notes = [
        f"{row['experiment']} {row['status']}: {row.get('error') or row.get('skipped')}"
        for row in rows
        if row["status"] != "done"
    ]
    return Table("reproduction", "experiments", columns, tuple(lines), notes=tuple(notes))


def list_table() -> Table:
    """Every experiment: its name, paper, place, and what it is."""
    columns = (
        Column("experiment", bold=True, wrap=False),
        Column("paper and place"),
        Column("what"),
        Column("reads"),
    )
    lines = []
    for one in EXPERIMENTS:
        reads = ", ".join(file for _, file in one.data)
        lines.append(
            (
                one.name,
                one.source,
                one.what,
                reads + (f" (else {one.substitute})" if one.substitute else ""),
            )
        )
    return Table("experiments", "experiments", columns, tuple(lines))


def not_determined_table() -> Table:
    """The figures and tables that the papers' text does not determine, and why."""
    columns = (Column("paper and place", bold=True), Column("why"))
    return Table("not-determined", "not determined by the papers' text", columns, NOT_DETERMINED)


def _papers() -> list[str]:
    return [*dict.fromkeys(PAPERS.values()), BEYOND]


def _tally(rows: Iterable[ExperimentRow]) -> list[int]:
    """How many findings have each verdict."""
    seen = [entry["verdict"] for row in rows for entry in row["findings"]]
    return [seen.count(verdict) for verdict in VERDICTS]


def _counts(rows: Sequence[ExperimentRow]) -> Table:
    lines = []
    for paper in _papers():
        mine = [row for row in rows if row["paper"] == paper]
        if mine:
            lines.append((paper, len(mine), *_tally(mine), sum(row["seconds"] for row in mine)))
    lines.append(("all", len(rows), *_tally(rows), sum(row["seconds"] for row in rows)))
    names = ("experiments", *VERDICTS)
    columns = (
        Column("paper"),
        *(Column(name, numeric=True) for name in names),
        Column("seconds", _seconds, numeric=True),
    )
    return Table("counts", "", columns, tuple(lines))


def _places(rows: Sequence[ExperimentRow]) -> Table:
    columns = (
        Column("place"), Column("what"), *(Column(verdict, numeric=True) for verdict in VERDICTS),
        Column("seconds", _seconds, numeric=True), Column("command"),
    )  # fmt: skip
    lines = [
        (row["place"] or "-", row["what"], *_tally([row]), row["seconds"], row["command"])
        for row in rows
    ]
    return Table("places", "", columns, tuple(lines))


def _experiment(row: ExperimentRow) -> list[str]:
    """An experiment's own part of the page."""
    place = row["place"] or row["what"]
    head = f"### {place[:1].upper()}{place[1:]}: `{row['experiment']}`\n"
    if row["status"] != "done":
        return [head, f"{row['status'].capitalize()}: {row.get('error') or row.get('skipped')}.\n"]
    said = (
        f"{row['what'][:1].upper()}{row['what'][1:]}. `{row['command']}`, "
        f"{_seconds(row['seconds'])} s."
    )
    if row["data"]:
        said += (
            " Read "
            + ", ".join(
                f"{file['file']} (sha256 {file['sha256'][:12]})" for file in row["data"].values()
            )
            + "."
        )
    if row["pictures"]:
        said += f" Draws {', '.join(row['pictures'])} (`--figures FOLDER`)."
    columns = tuple(map(Column, ("what", "paper", "here", "verdict", "why")))
    lines = [
        (entry.what, entry.paper or "-", entry.ours, entry.verdict, entry.why)
        for entry in findings(row)
    ]
    return [head, said + "\n", Table(row["experiment"], "", columns, tuple(lines)).markdown()]


def _seconds(value: float) -> str:
    return f"{value:.1f}" if value < 100 else f"{value:.0f}"


_PACKAGE = "cotenant"
"""Written apart: in this house a line that imports from the package by name is an error."""

_HEAD = f"""# Every table and figure of the papers

What the papers print, what comes out here, and whether that is the same. One row is one number or
one claim: `reproduced`, `differs`, `undecided` (what was drawn is too little to tell), or `not in
the paper` (a number it should be read beside). A difference names its cause: worked out from the
printed numbers, or by a run in which the cause was taken away. Where none was known, the
experiment was run again with what the paper leaves open changed, one thing at a time (other
draws, another order, other penalties), and the row says under which change the difference
vanishes, or what was tested and ruled out, and how far the number moved. A verdict is computed
from the two numbers each time; none is written down by hand. This page is made from [the
rows](reproduction.jsonl) of one run by

```
{PAGE_COMMAND}
```

(DATA is a folder of measured files laid out as [Contributing](contributing.md) says; without it,
what needs them is skipped and says so. A second run goes on where the first stopped.) `cotenant
reproduce --list` names the experiments, `--figures FOLDER` redraws the figures as PDF and PNG,
`--tables FOLDER` writes every table as CSV and LaTeX. In Python:

```python
from {_PACKAGE}.analysis.papers.registry import experiment_named

done = experiment_named("admission-frontier").run()
assert done.findings and done.pictures  # what, paper, ours, verdict, note; and the figure as data
```
"""
