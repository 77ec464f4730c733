"""A table of bounds for people: on the terminal, and as one page that needs no network."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import quote, urlencode

from ...instances.problem.files import write_text
from ..metric import Metric
from ..registry import analysis_of
from ..run.bounds import BoundRow, file_of, known, read_table
from .page import render_page, require_report
from .table import Column, Table
from .tables import figure, percent


def write_bounds_page(
    table: str | os.PathLike[str], path: str | os.PathLike[str], verifier: str = "verify/index.html"
) -> Path:
    """Write a table as one HTML page. It links to the table's files by relative paths, and to the
    page that judges them in the browser: `verifier`, a path as seen from the page.
    """
    require_report(Path(path))
    rows = known(read_table(table))
    shown = rows_table(rows, partial(_links, Path(table), Path(path).resolve().parent, verifier))
    title = "Instances, with the best answers and the best proved bounds"
    page = SimpleNamespace(title=title, about=shown.caption, sets=sets_table(rows), rows=shown)
    return write_text(path, render_page("bounds.html", page, []))


def _links(table: Path, start: Path, verifier: str, row: BoundRow) -> dict[str, str]:
    """Words and addresses of what a row rests on."""
    digests = {"instance": row["sha256"], "answer": row["answer"], "proof": row["proof"]}
    paths = {name: table.resolve() / file_of(one) for name, one in digests.items() if one}
    paths = {name: path for name, path in paths.items() if path.exists()}
    found = {name: quote(os.path.relpath(path, start)) for name, path in paths.items()}
    if {"instance", "proof"} <= paths.keys():
        judge = (start / verifier).parent
        given = {name: os.path.relpath(paths[name], judge) for name in ("instance", "proof")}
        found = {"verify this here": f"{verifier}?{urlencode(given, safe='/')}", **found}
    return found


def rows_table(
    rows: Sequence[BoundRow], links: Callable[[BoundRow], dict[str, str]] | None = None
) -> Table:
    """What is known of each question, one a line; for a page with links to the files."""
    columns = (
        Column("set", rank=2), Column("instance", bold=True), Column("size", rank=4),
        Column("objective", rank=1), Column("value", numeric=True), Column("bound", numeric=True),
        Column("gap", percent, numeric=True), Column("status"), Column("date", rank=3),
        *([Column("files")] if links else []),
    )  # fmt: skip
    lines = []
    for row in rows:
        objective = row["levels"][0]["objective"]
        metrics = {metric.name: metric for metric in analysis_of(row["problem"]).metric_table}
        metric = metrics.get(objective) or Metric(objective, objective)
        value, bound = numbers = row["value"], row["bound"]
        lines.append((
            row["set"], row["name"], ", ".join(f"{n} {axis}" for axis, n in row["size"].items()),
            "".join([objective, *(f" {k}={v}" for k, v in row["options"].items())]),
            *((number, figure(number, metric)) for number in numbers),
            None if value is None or not bound else abs(value - bound) / abs(bound),
            row["status"], row["date"], *([(links(row), " ")] if links else []),
        ))  # fmt: skip
    left = sum(row["status"] == "open" for row in rows)
    words = f"{len(rows)} rows: {len(rows) - left} closed, {left} open"
    return Table("bounds", "", columns, tuple(lines), words)


def sets_table(rows: Sequence[BoundRow]) -> Table:
    """How many rows of each set are closed."""
    sets = Counter((row["problem"], row["set"]) for row in rows)
    left = Counter((row["problem"], row["set"]) for row in rows if row["status"] == "open")
    numbers = (Column(name, numeric=True) for name in ("rows", "closed", "open"))
    lines = tuple((*one, sets[one], sets[one] - left[one], left[one]) for one in sets)
    return Table("sets", "", (Column("problem"), Column("set", bold=True), *numbers), lines)
