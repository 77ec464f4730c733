"""Stored rows of experiments, their Markdown pages, and tables of their findings."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import BaseModel

from ..analysis.report.table import Column, Table
from ..analysis.report.tables import options_table
from ..analysis.run.documents import KEPT, Number, require_document
from ..analysis.run.rows import read_rows
from ..instances.problem.documents import Entries
from ..instances.problem.errors import InvalidFile
from ..instances.problem.files import write_text
from ..instances.problem.text import all_printable
from . import registry
from .experiment import ALL_OF_THEM, NUMBER, Experiment, Finding, Verdict, span

VERDICTS: tuple[str, ...] = get_args(Verdict)

ExperimentRow = dict[str, Any]
"""An experiment that was run, as a JSONL file keeps it: the fields of `ExperimentDocument`."""


class FileDocument(BaseModel):
    """Measured file that an experiment has read."""

    model_config = KEPT

    file: str
    sha256: str


class ExperimentDocument(BaseModel):
    """Row of an experiment that was run, as `cotenant reproduce --out` writes it.

    Attributes
    ----------
    data : option -> place in the folder and sha256 of the file that it read.
    findings : the paper's numbers beside ours.
    pictures : names.
    error, skipped : why it failed, or was skipped.
    """

    model_config = KEPT

    key: str
    problem: str
    experiment: str
    seed: int
    options: dict[str, Any]
    data: dict[str, FileDocument]
    command: str
    status: Literal["done", "failed", "skipped"]
    seconds: Number
    findings: Entries[Finding]
    pictures: Entries[str]
    versions: dict[str, str]
    error: str | None = None
    skipped: str | None = None


def require_experiments(rows: Iterable[ExperimentRow], where: str) -> None:
    """Raise InvalidFile, naming `where`, for the first row that is of no experiment, or not as this
    version writes it.
    """
    for row in rows:
        if "experiment" not in row:
            raise InvalidFile(
                f"{where} holds runs of {row.get('method')}, no experiments; give another --out"
            )
        require_document(ExperimentDocument, row, where)


def latest(rows: Iterable[ExperimentRow]) -> list[ExperimentRow]:
    """Last row of each experiment that was run, in the order of `EXPERIMENTS`."""
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
    """Folder of the papers' pages: beside the summary, with its name without the ending."""
    return page.with_suffix("") if page.suffix else page.with_name(f"{page.name}-papers")


def findings(row: ExperimentRow) -> list[Finding]:
    """Findings of an experiment's stored row."""
    return [Finding(**entry) for entry in row["findings"]]


def reproduction_pages(
    rows: Iterable[ExperimentRow], folder: str = "reproduction"
) -> dict[str, str]:
    """Pages of all experiments in Markdown by path: "" for the summary (verdicts counted by paper),
    `folder`/PAPER.md for each paper's findings.
    """
    shown = latest(rows)
    by_paper: dict[str, list[ExperimentRow]] = {name: [] for name in registry.TITLES}
    for row in shown:
        by_paper[registry.experiment_named(row["experiment"]).paper.name].append(row)
    by_paper = {name: mine for name, mine in by_paper.items() if mine}
    pages = {f"{folder}/{name}.md": _paper_page(name, mine) for name, mine in by_paper.items()}
    lines = tuple(
        (name, len(mine), *_tally(mine), float(sum(row["seconds"] for row in mine)))
        for name, mine in [*by_paper.items(), ("all", shown)]
    )
    columns = (Column("paper"), Column("experiments", numeric=True), *_TALLY, _SECONDS)
    counts = Table("counts", "", columns, lines).markdown()
    for name in by_paper:
        link = f"[{registry.TITLES[name]}]({folder}/{name}.md)"
        counts = counts.replace(f"| {name} |", f"| {link} |")
    listed = "\n".join(name.removesuffix(".md") for name in pages)
    contents = f"```{{toctree}}\n:hidden:\n\n{listed}\n```\n"
    return {"": "\n".join([_HEAD, counts, contents])} | pages


def _paper_page(name: str, rows: Sequence[ExperimentRow]) -> str:
    """Page of a paper: the findings of each experiment, then what the paper's text leaves open."""
    parts_of_it = [paper for paper in registry.PAPERS if paper.name == name]
    guides = " ".join(paper.guide for paper in parts_of_it if paper.guide)
    parts = [
        f"# {registry.TITLES[name]}\n",
        f"[All papers](../reproduction.md), with what the verdicts mean. {guides}\n",
    ]
    parts += [text for row in rows for text in _experiment(row)]
    if left := tuple(entry for paper in parts_of_it for entry in paper.not_determined):
        parts += ["## What the text does not determine\n", left_open(left).markdown()]
    return "\n".join(parts)


def _experiment(row: ExperimentRow) -> list[str]:
    """Section of a page on one experiment: a table of the paper's numbers beside ours, then notes.
    Numbers that the paper does not print are shown only if it prints none of the experiment's.
    """
    one = registry.experiment_named(row["experiment"])
    place, what = (f"{text[:1].upper()}{text[1:]}" for text in (one.place or one.what, one.what))
    head = f"## {place}: `{one.name}`\n"
    if why := _not_done(row):
        return [head, f"{why[:1].upper()}{why[1:]}.\n"]
    read = ", ".join(entry["file"] for entry in row["data"].values())
    took = f"{_seconds(row['seconds'])} s" + (f"; reads {read}" if read else "")
    every = findings(row)
    shown = [entry for entry in every if entry.verdict != "not in the paper"]
    notes, refer = _notes(shown)
    lines: list[tuple[str, ...]] = [(entry.what, entry.ours) for entry in every]
    columns = [Column("what"), Column("here")]
    if shown:
        columns = [Column("what"), Column("paper"), Column("here"), Column("verdict")]
        lines = [(entry.what, entry.paper, entry.ours, f"{entry.verdict}{refer[entry]}")
                 for entry in shown]  # fmt: skip
    below = Table("notes", "", (Column(""), Column("note")), notes).markdown() if notes else ""
    text = Table(one.name, "", tuple(columns), tuple(lines)).markdown()
    text += below and "\n" + re.sub(r" *\| *", "|", below)
    typeset = _SYMBOL.sub(lambda found: f"${_LETTERS.get(found[0], found[0])}$", text)
    return [head, f"{what} ({took}).\n", typeset]


def _notes(entries: Sequence[Finding]) -> tuple[tuple[tuple[str, str], ...], dict[Finding, str]]:
    """Numbered notes and causes of findings, each kind once, and each finding's references."""
    kinds: dict[str, list[str]] = {}
    refer: dict[Finding, str] = {}
    for entry in entries:
        parts = {part: NUMBER.sub("#", part) for part in entry.note.split("; ") if part}
        reason = entry.reason.partition(ALL_OF_THEM)[0]
        parts |= {reason: reason} if reason else {}
        for part, kind in parts.items():
            kinds.setdefault(kind, []).append(part)
        numbers = ",".join(str(list(kinds).index(kind) + 1) for kind in parts.values())
        refer[entry] = f" ({numbers})" if numbers else ""
    lines = ((str(k), span(texts) or texts[0]) for k, texts in enumerate(kinds.values(), 1))
    return tuple(lines), refer


def findings_table(row: ExperimentRow) -> Table:
    """Table of an experiment's findings: the paper's number, ours, the verdict, and why."""
    columns = (
        *map(Column, ("what", "paper", "here")), Column("verdict", wrap=False),
        Column("why", below=True),
    )  # fmt: skip
    lines = tuple((entry.what, entry.paper or "-", entry.ours, entry.verdict, entry.why)
                  for entry in findings(row))  # fmt: skip
    one, why = registry.experiment_named(row["experiment"]), _not_done(row)
    return Table(one.name, f"{one.source}: {one.what}", columns, lines, f"{row['seconds']:.1f} s",
        notes=(why,) if why else ())  # fmt: skip


def summary_table(rows: Sequence[ExperimentRow]) -> Table:
    """Table of experiments that were run: findings by verdict, and what failed."""
    columns = (_NAME, Column("place"), Column("status"), *_TALLY, _SECONDS)
    lines = [
        (row["experiment"], registry.experiment_named(row["experiment"]).source, row["status"],
         *_tally([row]), row["seconds"])
        for row in rows
    ]  # fmt: skip
    notes = tuple(f"{row['experiment']} {why}" for row in rows if (why := _not_done(row)))
    return Table("reproduction", "experiments", columns, tuple(lines), notes=notes)


def list_tables() -> Iterator[Table]:
    """Tables of all experiments by paper, with their time and what they are; then the figures and
    tables that the papers' text does not determine, and why.
    """
    columns = (_NAME, Column("time", wrap=False), Column("what"))
    for name, title in registry.TITLES.items():
        lines = []
        for one in (one for one in registry.EXPERIMENTS if one.paper.name == name):
            files = ", ".join(file for _, file in one.data)
            otherwise = f", else {one.substitute}" if one.substitute else ""
            reads = f" (reads {files}{otherwise})" if files else ""
            place = f"{one.place}: " if one.place else ""
            lines.append((one.name, about(one.seconds), f"{place}{one.what}{reads}"))
        if lines:
            yield Table(name, f"{name}: {title}", columns, tuple(lines))
    yield left_open(registry.NOT_DETERMINED, "not determined by the papers' text")


def listing() -> dict[str, Any]:
    """Content of `list_tables`, all experiments by paper, as JSON values."""
    names = ("name", "place", "what", "data", "substitute", "seconds")
    facts = [{name: getattr(one, name) for name in names} | {"paper": one.paper.title}
             for one in registry.EXPERIMENTS]  # fmt: skip
    return {"experiments": facts, "not_determined": [*map(list, registry.NOT_DETERMINED)]}


def about(seconds: float) -> str:
    """Text of a time: seconds below two minutes, else minutes."""
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def option_tables(experiments: Iterable[Experiment]) -> Iterator[Table]:
    """Tables of the options of experiments, with meaning, default and values."""
    for one in experiments:
        words = f"{one.source}: {one.what}; about {about(one.seconds)}"
        yield replace(options_table(one.function, one.name), caption=words)


def left_open(entries: tuple[tuple[str, str], ...], title: str = "") -> Table:
    """Table of the figures and tables that papers' texts do not determine, and why."""
    return Table("not-determined", title, (Column("paper and place", bold=True), Column("why")),
        entries)  # fmt: skip


def _tally(rows: Iterable[ExperimentRow]) -> list[int]:
    """Number of findings with each verdict."""
    seen = [entry["verdict"] for row in rows for entry in row["findings"]]
    return [seen.count(verdict) for verdict in VERDICTS]


def _not_done(row: ExperimentRow) -> str:
    """Reason why an experiment failed or was skipped; "" if it is done."""
    status = row["status"]
    return "" if status == "done" else f"{status}: {row.get('error') or row.get('skipped')}"


def _seconds(value: Any) -> str:
    return f"{value:.1f}" if value < 100 else f"{value:.0f}"


_LETTERS = {"psi": r"\psi", "tau": r"\tau", "dtau": r"\Delta\tau"}
_SYMBOL = re.compile(r"\b(?:psi|d?tau|v\([abc]+\)|[OU]\(\d\))(?!\w)")
"""The symbols of the papers' formulas in findings, and the letters that some of them are."""

_NAME = Column("experiment", bold=True, wrap=False)
_SECONDS = Column("seconds", _seconds, numeric=True)
_TALLY = tuple(Column(verdict, numeric=True) for verdict in VERDICTS)

_HEAD = """# Every table and figure of the papers

Each table and figure that a paper's text determines is computed again. A row has one number or one
claim: what the paper prints, what comes out here, and a verdict, which is computed from the two.

| verdict | meaning |
| --- | --- |
| `reproduced` | the number or the claim comes out here too |
| `differs` | it does not; the row names the cause, or the causes that were tested and ruled out |
| `undecided` | too few draws to tell |
| `not in the paper` | a number of ours beside the others, in the rows and by `--tables` |

To find a cause, the experiment is run again with one thing changed that the paper leaves open:
other random draws, another order, other penalties. The note of the row says under which change the
difference vanishes, or which were ruled out; the file of rows says how far the number moved.

The pages of all papers are made from [one file of rows](reproduction.jsonl) by this command:

```
cotenant reproduce all --data DATA --out docs/reproduction.jsonl --page docs/reproduction.md
```

DATA is a folder of measured files ([Contributing](contributing.md) says which). Without DATA,
experiments that need measured files are skipped and say so. If the command is stopped, the same
command runs what is missing.
"""
