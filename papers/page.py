"""The page of all experiments, and the tables of their findings."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import get_args

from ..analysis.report.table import Column, Table
from ..analysis.report.tables import options_table
from ..analysis.run.rows import read_rows
from ..instances.problem.files import write_text
from ..instances.problem.text import all_printable
from . import registry
from .documents import require_experiments
from .registry import (
    BEYOND,
    NOT_DETERMINED,
    PAPERS,
    Experiment,
    ExperimentRow,
    Finding,
    Verdict,
    paper_of,
)

VERDICTS: tuple[str, ...] = get_args(Verdict)

PAGE_COMMAND = (
    "cotenant reproduce all --data DATA --out docs/reproduction.jsonl --page docs/reproduction.md"
)
"""What makes the pages of all experiments and the rows they stand on."""


def latest(rows: Iterable[ExperimentRow]) -> list[ExperimentRow]:
    """The last row of each experiment there is, in the order of `EXPERIMENTS`."""
    last = {row.get("experiment"): row for row in rows}
    return [last[one.name] for one in registry.EXPERIMENTS if one.name in last]


def write_page(path: str | os.PathLike[str], rows: str | os.PathLike[str]) -> list[Path]:
    """Write the summary of all experiments from a JSONL file of rows, and beside it, in the folder
    of its name, a page for each paper; returns what was written, the summary first.
    """
    read = [row for row in read_rows(rows) if "experiment" in row]
    require_experiments(read, os.fspath(rows))
    first = Path(path)
    paper_folder(first).mkdir(exist_ok=True)
    pages = reproduction_pages(map(all_printable, read), paper_folder(first).name)
    return [
        write_text(first.parent / name if name else first, text) for name, text in pages.items()
    ]


def paper_folder(page: Path) -> Path:
    """Where the pages of the papers lie: beside the summary, under its name without the ending."""
    return page.with_suffix("") if page.suffix else page.with_name(f"{page.name}-papers")


def findings(row: ExperimentRow) -> list[Finding]:
    """A row's findings."""
    return [Finding(**entry) for entry in row["findings"]]


def reproduction_pages(
    rows: Iterable[ExperimentRow], folder: str = "reproduction"
) -> dict[str, str]:
    """The pages of all experiments, in Markdown, by their path: "" for the summary (verdicts
    counted by paper), `folder`/PAPER.md for each paper's numbers, ours, verdicts and why.
    """
    shown = latest(rows)
    pages = {}
    for paper in _FILES:
        mine = [row for row in shown if row["paper"] == paper]
        if mine:
            pages[f"{folder}/{_FILES[paper]}.md"] = _paper_page(paper, mine)
    names = "\n".join(name.removesuffix(".md") for name in pages)
    contents = f"```{{toctree}}\n:hidden:\n\n{names}\n```\n"
    return {"": "\n".join([_HEAD, _counts(shown, folder), contents])} | pages


def _paper_page(paper: str, rows: Sequence[ExperimentRow]) -> str:
    """A paper: the verdicts by experiment, then each number, then what its text leaves open."""
    head = "[All papers](../reproduction.md), with what the verdicts mean. "
    parts = [f"# {paper}\n", f"{head}{_GUIDES[_FILES[paper]]}\n", _places(rows).markdown()]
    parts += [text for row in rows for text in _experiment(row)]
    left = tuple(entry for entry in NOT_DETERMINED if paper_of(entry[0]) == paper)
    if left:
        parts += ["## What the text does not determine\n", _left_open(left).markdown()]
    return "\n".join(parts)


def findings_table(row: ExperimentRow) -> Table:
    """An experiment: the paper's figure, ours, the verdict, and why."""
    columns = (
        *map(Column, ("what", "paper", "here")), Column("verdict", wrap=False),
        Column("why", below=True),
    )  # fmt: skip
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


def list_tables() -> Iterator[Table]:
    """The experiments of each paper: their names, about how long they take, and what they are."""
    columns = (
        Column("experiment", bold=True, wrap=False),
        Column("time", wrap=False),
        Column("what"),
    )
    for paper, short in _FILES.items():
        lines = []
        for one in (one for one in registry.EXPERIMENTS if one.paper == paper):
            files = ", ".join(file for _, file in one.data)
            otherwise = f", else {one.substitute}" if one.substitute else ""
            reads = f" (reads {files}{otherwise})" if files else ""
            place = f"{one.place}: " if one.place else ""
            lines.append((one.name, about(one.seconds), f"{place}{one.what}{reads}"))
        if lines:
            yield Table(short, f"{short}: {paper}", columns, tuple(lines))


def about(seconds: float) -> str:
    """A time in words: seconds below two minutes, else minutes."""
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def option_tables(experiments: Iterable[Experiment]) -> Iterator[Table]:
    """The options of experiments, with meaning, default and values; last, those without any."""
    none = []
    for one in experiments:
        words = f"{one.source}: {one.what}; about {about(one.seconds)}"
        table = options_table(one.resolve(), one.name)
        if table.rows:
            yield replace(table, caption=words)
        else:
            none.append((one.name, words))
    if none:
        columns = (Column("experiment", bold=True, wrap=False), Column("what"))
        yield Table("no-options", "experiments without options", columns, tuple(none))


def not_determined_table() -> Table:
    """The figures and tables that the papers' text does not determine, and why."""
    return _left_open(NOT_DETERMINED, "not determined by the papers' text")


def _left_open(entries: tuple[tuple[str, str], ...], title: str = "") -> Table:
    columns = (Column("paper and place", bold=True), Column("why"))
    return Table("not-determined", title, columns, entries)


def _tally(rows: Iterable[ExperimentRow]) -> list[int]:
    """How many findings have each verdict."""
    seen = [entry["verdict"] for row in rows for entry in row["findings"]]
    return [seen.count(verdict) for verdict in VERDICTS]


def _counts(rows: Sequence[ExperimentRow], folder: str) -> str:
    """The summary's table, in Markdown; a paper's name leads to its page."""
    lines = []
    for paper in _FILES:
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
    text = Table("counts", "", columns, tuple(lines)).markdown()
    for paper, name in _FILES.items():
        text = text.replace(f"| {paper} |", f"| [{paper}]({folder}/{name}.md) |")
    return text


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
    head = f"## {place[:1].upper()}{place[1:]}: `{row['experiment']}`\n"
    if row["status"] != "done":
        return [head, f"{row['status'].capitalize()}: {row.get('error') or row.get('skipped')}.\n"]
    summary = (
        f"{row['what'][:1].upper()}{row['what'][1:]}. `{row['command']}`, "
        f"{_seconds(row['seconds'])} s."
    )
    if row["data"]:
        summary += (
            " Read "
            + ", ".join(
                f"{file['file']} (sha256 {file['sha256'][:12]})" for file in row["data"].values()
            )
            + "."
        )
    if row["pictures"]:
        summary += f" Draws {', '.join(row['pictures'])} (`--figures FOLDER`)."
    return [head, summary + "\n", replace(findings_table(row), title="", caption="").markdown()]


def _seconds(value: float) -> str:
    return f"{value:.1f}" if value < 100 else f"{value:.0f}"


_PACKAGE = "cotenant"
"""Written apart: in this house a line that imports from the package by name is an error."""

_GUIDES = {
    "cooper": "Guide: [colocation](../colocation.md), and [where the text cannot be followed]"
    "(../errata.md#cooper-colocation).",
    "thesis": "Guides: [market](../market.md) and [NUMA](../numa.md); where the text cannot be "
    "followed: [market](../errata.md#thesis-chapter-3-the-fisher-market), "
    "[refusal scheduling](../errata.md#thesis-chapter-4-refusal-scheduling). Chapter 2 is Cooper, "
    "which has [a page of its own](cooper.md).",
    "fair-scheduling": "Guide: [scheduling](../scheduling.md), and [where the text cannot be "
    "followed](../errata.md#non-monetary-fair-scheduling).",
    "matching": "Guide: [admission](../admission.md), and [where the text cannot be followed]"
    "(../errata.md#matching-jobs-to-virtual-machines).",
    "fuga": "Guide: [packing](../packing.md), and [where the text cannot be followed]"
    "(../errata.md#fuga-the-fairness-utilization-game).",
    "parvagpu": "Guide: [GPUs](../howto/cards.md#mig-slices).",
    "pop": "Guide: [accelerators](../accelerators.md).",
    "gavel": "Guide: [accelerators](../accelerators.md).",
    "fgd": "Guide: [packing](../packing.md#vms-that-arrive-on-servers-with-cards).",
    "beyond": "Tables that no paper has. Guide: [NUMA](../numa.md).",
}

"""The name of a paper's page -> what else to read, in the order of `PAPERS`."""

_FILES = dict(zip((*dict.fromkeys(PAPERS.values()), BEYOND), _GUIDES, strict=True))
"""A paper in full -> the name of its page."""

PAPER_NAMES: Mapping[str, str] = {short: paper for paper, short in _FILES.items()}
"""The short name of a paper, which its page has too -> the paper in full."""

_HEAD = f"""# Every table and figure of the papers

Each table and figure that a paper's text determines is computed again. A row has one number or one
claim: what the paper prints, what comes out here, and a verdict, which is computed from the two.

| verdict | meaning |
| --- | --- |
| `reproduced` | the number or the claim comes out here too |
| `differs` | it does not; the row names the cause, or the causes that were tested and ruled out |
| `undecided` | too few draws to tell |
| `not in the paper` | a number of ours that helps to read the others |

To find a cause, the experiment is run again with one thing changed that the paper leaves open:
other random draws, another order, other penalties. The row says under which change the difference
vanishes, or how far the number moved.

All of it is made from [one file of rows](reproduction.jsonl) by

```
{PAGE_COMMAND}
```

DATA is a folder of measured files ([Contributing](contributing.md) says which). Without it, the
experiments that need them are skipped and say so. If the command is stopped, the same command runs
what is missing. `cotenant reproduce --list` names the experiments, `--figures FOLDER` draws the
figures as PDF and PNG, `--tables FOLDER` writes the tables as CSV and LaTeX. In Python:

```python
from {_PACKAGE}.papers.registry import experiment_named

done = experiment_named("admission-frontier").run()
assert done.findings and done.pictures  # what, paper, ours, verdict, note; and the figure as data
```
"""
