"""A table of bounds for people: on the terminal, and as one page that needs no network."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlencode

from ...instances.problem.files import write_text
from ..registry import analysis_of
from ..run.bounds import FILES, BoundRow, gap_of, is_closed
from .page import render_page, require_report
from .table import Column, Table
from .tables import figure, percent


@dataclass(frozen=True)
class BoundsPage:
    """What the page shows: how many rows of each set are closed, and the rows of each problem."""

    title: str
    about: str
    sets: Table
    parts: tuple[tuple[str, Table], ...]
    choices: str


def write_bounds_page(
    rows: Sequence[BoundRow], table: str | os.PathLike[str], path: str | os.PathLike[str],
    verifier: str = "verify.html",
) -> Path:  # fmt: skip
    """Write rows of a table as one HTML page; its links lead to the files of the table, and to the
    page that judges them in the browser.

    Parameters
    ----------
    rows, table : as `bounds.read_table` gives them, and the folder.
    path : of the page.
    verifier : the page that judges proofs, as seen from this one.
    """
    require_report(Path(path))
    start = Path(path).resolve().parent
    judge = (start / verifier).parent

    def links(row: BoundRow) -> dict[str, str]:
        paths = {name: Path(table).resolve() / row[name] for name in FILES if row[name]}
        found = {name: quote(os.path.relpath(file, start)) for name, file in paths.items()}
        if {"instance", "proof"} <= paths.keys():
            words = {name: os.path.relpath(paths[name], judge) for name in ("instance", "proof")}
            found = {"verify this here": f"{verifier}?{urlencode(words, safe='/')}", **found}
        return found

    parts: dict[str, list[BoundRow]] = {}
    for row in rows:
        parts.setdefault(row["problem"], []).append(row)
    axes = {axis for row in rows for axis in row["size"]}
    page = BoundsPage(
        "Instances, with the best answers and the best proved bounds",
        rows_table(rows).caption,
        sets_table(rows),
        tuple(
            (problem, rows_table(part, [links(row) for row in part]))
            for problem, part in parts.items()
        ),
        " ".join(["set", "objective", "status", *sorted(axes)]),
    )
    return write_text(path, render_page("bounds.html", page, []))


def rows_table(rows: Sequence[BoundRow], links: Sequence[dict[str, str]] = ()) -> Table:
    """The rows, one a line; with links to their files the sizes are columns of their own, too."""
    axes = list(dict.fromkeys(axis for row in rows for axis in row["size"])) if links else []
    columns = (
        Column("set", rank=2), Column("instance", bold=True),
        *([Column(axis, numeric=True) for axis in axes] or [Column("size", rank=4)]),
        Column("objective", rank=1),
        Column("value", numeric=True), Column("bound", numeric=True),
        Column("gap", percent, numeric=True), Column("status"), Column("date", rank=3),
        *([Column("files")] if links else []),
    )  # fmt: skip
    lines = []
    for place, row in enumerate(rows):
        metrics = {metric.name: metric for metric in analysis_of(row["problem"]).metric_table}
        metric = metrics[row["objective"]]
        options = "".join(f" {name}={value}" for name, value in row["options"].items())
        size = ", ".join(f"{n} {axis}" for axis, n in row["size"].items())
        lines.append((
            row["set"], row["name"], *([row["size"].get(axis) for axis in axes] or [size]),
            f"{row['objective']}{options}",
            *((row[name], figure(row[name], metric)) for name in ("value", "bound")),
            gap_of(row), status(row), row["date"], *([(links[place], " ")] if links else []),
        ))  # fmt: skip
    closed = sum(map(is_closed, rows))
    counts = f"{len(rows)} rows: {closed} closed, {len(rows) - closed} open"
    return Table("bounds", "", columns, tuple(lines), counts)


def status(row: BoundRow) -> str:
    """What is known of a row, in a word."""
    if not is_closed(row):
        return "open"
    return row["kind"] if row["kind"] in ("infeasible", "equilibrium") else "closed"


def sets_table(rows: Sequence[BoundRow]) -> Table:
    """How many rows of each set are closed."""
    counts = Counter((row["problem"], row["set"], is_closed(row)) for row in rows)
    numbers = (Column(name, numeric=True) for name in ("rows", "closed", "open"))
    lines = []
    for problem, name in dict.fromkeys(key[:2] for key in counts):
        closed, left = (counts[problem, name, done] for done in (True, False))
        lines.append((problem, name, closed + left, closed, left))
    return Table("sets", "", (Column("problem"), Column("set", bold=True), *numbers), tuple(lines))
