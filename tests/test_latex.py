"""LaTeX tables that fit a page, and figures as wide as a column."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from support.messages import refused
from support.report_rows import two_instances

from cotenant.analysis.report.page import write_report
from cotenant.analysis.report.table import PAGE, Column, Table
from cotenant.analysis.report.tables import facts_table
from cotenant.instances.problem.errors import InvalidOption, UnknownName

NARROW = Table("t", "T", (Column("method"), Column("value", numeric=True)), (("GR", 1.5),))
WIDE = Table(
    "wide",
    "Wide",
    (
        Column("method"),
        Column("what it does in the end", wrap=True),
        *(Column(f"measure number {k}", numeric=True, rank=k) for k in range(9)),
    ),
    tuple(("stable", "a sentence of several words " * 3, *([0.123456] * 9)) for _ in range(3)),
)


def test_wide_latex_table_wraps_and_notes_omissions() -> None:
    text = WIDE.latex()
    assert re.findall(r"p\{([\d.]+)cm\}", text) == ["4.7"]
    (left,) = re.findall(r"Left out: (.*?)\.\}", text)
    gone = left.split(", ")
    assert gone == [f"measure number {k}" for k in range(8, 8 - len(gone), -1)], "by rank"
    assert r"\shortstack[r]{measure\\number 0}" in text
    assert len(re.findall("measure", WIDE.latex(40).partition("caption")[0])) == 9, "all have room"
    narrow = WIDE.latex(8.5)
    assert len(narrow.partition("Left out: ")[2].split(",")) > len(gone)


def test_latex_text_row_spans_table() -> None:
    columns = (Column("what"), Column("paper"), Column("why", below=True))
    rows = (("speed", "780", "a cause & more " * 20), ("jobs", "25", ""))
    text = Table("t", "", columns, rows).latex()
    assert r"\begin{tabular}{ll}" in text
    (below,) = re.findall(r"\\multicolumn\{2\}\{p\{([\d.]+)cm\}\}", text)
    assert 0 <= PAGE - float(below) < 0.5
    assert text.count(r"a cause \& more") == 20


def test_latex_columns_are_selected_by_heading() -> None:
    text = WIDE.only(["measure number 8"]).latex()
    assert r"\begin{tabular}{lr}" in text
    assert "Left out" not in text
    with refused(InvalidOption):
        WIDE.latex(1)


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not at hand")
@pytest.mark.parametrize("width", [8.0, PAGE])
def test_latex_tables_compile_within_line_width(width: float, tmp_path: Path) -> None:
    long = "a sentence of several words " * 6
    facts = [facts_table({"name" + "s" * more: long}, "Facts") for more in range(6)]
    body = "".join(table.latex(width) for table in (NARROW, WIDE, *facts))
    packages = r"\usepackage{booktabs,array,graphicx}"
    page = rf"\documentclass{{article}}{packages}\textwidth {width}cm\begin{{document}}"
    (tmp_path / "t.tex").write_text(rf"{page}{body}\end{{document}}", encoding="utf-8")
    command = ["pdflatex", "-halt-on-error", "t.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:]
    assert "Overfull" not in done.stdout, done.stdout[-2000:]


@pytest.mark.slow
def test_report_tables_and_figures_take_width_and_columns(tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    rows = two_instances()
    tables = tmp_path / "tables"
    write_report(rows, tmp_path / "x.html", tables=tables, width=8.5, columns=["method", "seconds"])
    gaps = (tables / "colocation-mean-gaps.tex").read_text()
    assert r"\begin{tabular}{lr}" in gaps, "what was asked for"
    with refused(UnknownName):
        write_report(rows, tmp_path / "x.html", tables=tables, columns=["secnds"])
