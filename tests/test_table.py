"""Tables in every form: unrounded for programs, escaped for people, LaTeX that fits a page."""

from __future__ import annotations

import csv
import io
import re
import shutil
import statistics
import subprocess
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from support.messages import approved, refused
from support.report_rows import two_instances
from support.terminal import run, settings_file

import cotenant
from cotenant.analysis.metric import Metric
from cotenant.analysis.registry import analysis_of
from cotenant.analysis.report.comparison_page import write_report
from cotenant.analysis.report.console import Form, print_tables
from cotenant.analysis.report.table import PAGE, Column, Table
from cotenant.analysis.report.tables import (
    comparison_tables,
    facts_table,
    figure,
    proved,
    result_tables,
)
from cotenant.instances.problem.errors import InvalidOption, UnknownName

SPECIAL = r"""a\b & 50% $x$ #1 a_b {c} ~ ^ <script> | "q" `t` [1] * -- 'x' τ ≤ → ψ ⟨1⟩ ε Δ 2² … é"""
PENALTY = Column("penalty", partial(figure, metric=Metric("penalty", "penalty")), numeric=True)
TABLE = Table(
    "gaps",
    "Gaps: 100 % & more",
    (Column("method", bold=True), PENALTY),
    (("optimal", 1 / 3), ("[SR] a|b", None), (SPECIAL, (0.5, "half"))),
    caption="*below*",
    notes=("SR_2 failed",),
)


def test_negative_zero_is_printed_without_sign() -> None:
    for digits, text in ((0, "0"), (1, "0.0"), (4, "0.0000")):
        assert figure(-0.0, Metric("m", "M", digits=digits)) == text
    assert figure(-1e-9, Metric("m", "M", digits=4, unit="W")) == "0.0000 W"
    done = cotenant.solve(cotenant.read("market/tiny"), "PRD")
    signless = replace(done, certificate={"unspent": -0.0, "list": [-0.0, -1.5]})
    metrics = analysis_of("market").metric_table
    *_, last = result_tables(signless, metrics, None)
    facts = dict(last.rows)
    assert facts["certificate: unspent"][1] == "0.0"
    assert facts["certificate: list"][1] == "[0.0, -1.5]"


def test_csv_keeps_exact_values_and_text_rounds_them() -> None:
    rows = list(csv.reader(io.StringIO(TABLE.csv())))
    exact = [["optimal", str(1 / 3)], ["[SR] a|b", ""], [SPECIAL, "0.5"]]
    assert rows == [["method", "penalty"], *exact]
    assert [line[1] for line in TABLE.texts()] == ["0.3333", "-", "half"]


@pytest.fixture
def shown(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., str]:
    """Show a table on a terminal of so many columns, or none; what is printed."""

    def show(table: Table, width: int | None = 80, form: Form = Form.TABLE) -> str:
        monkeypatch.delenv("COLUMNS", raising=False)
        if width is not None:
            monkeypatch.setenv("COLUMNS", str(width))
        print_tables([table], form)
        return capsys.readouterr().out

    return show


def test_latex_escapes_every_special_character() -> None:
    text = TABLE.latex(40)
    approved(text)
    assert text.count(r" \\") == 4
    with refused(InvalidOption):
        TABLE.write("xml")


def test_markdown_escapes_marks_and_keeps_columns() -> None:
    lines = TABLE.markdown().splitlines()
    assert lines[0] == "**Gaps: 100 % & more**"
    assert lines[3] == "| --- | ---: |"
    assert r"\[SR\] a\|b" in lines[5]
    assert r"\<script\> \|" in lines[6]
    assert r"\*below\*" in lines
    assert r"SR\_2 failed" in lines
    unescaped = [line.replace(r"\|", "").count("|") for line in lines[2:7]]
    assert unescaped == [3] * 5


FEW = {
    "admission": ["optimal", "SM", "local-search"],
    "colocation": ["optimal", "stable", "SMR", "GR"],
    "market": ["fisher", "nash-welfare", "utilitarian", "G-I"],
    "numa": ["fluid", "Local"],
    "packing": ["min-servers", "FF", "random-fit"],
    "scheduling": ["REF", "RAND", "max-utilization", "random"],
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("problem", FEW)
def test_comparison_on_narrow_terminal_breaks_no_word(
    problem: str, shown: Callable[..., str]
) -> None:
    done = cotenant.compare([cotenant.read(f"{problem}/tiny")], FEW[problem], seeds=range(2))
    (table,) = comparison_tables(done).values()
    names = [column.name for column in table.headings]
    assert len(set(names)) == len(names)
    texts = [*names, table.title, table.caption, *(text for line in table.texts() for text in line)]
    known = {word for text in texts for word in text.split()}
    for width in (60, 80, 120):
        printed = shown(table, width)
        assert max(map(len, printed.splitlines())) <= width
        body, _, notes = printed.partition("\nRows of several seeds are means")
        assert set(body.split()) <= known | {"─" * n for n in range(width)}
        assert all(method in body for method in FEW[problem])
        assert all(name.split()[0] in body + notes for name in names)
    printed = shown(table, None, Form.WIDE)
    assert "left out" not in printed
    assert all(name in printed for name in names)


def test_narrow_table_omits_columns_of_highest_rank_and_says_so(shown: Callable[..., str]) -> None:
    numbers = [Column(f"number-{n}", numeric=True, rank=5 - n) for n in range(5)]
    approved(shown(Table("ranked", "", (Column("method"), *numbers), (("a", *[1.25] * 5),)), 48))


def test_too_wide_table_without_column_ranks_is_printed_by_rows(shown: Callable[..., str]) -> None:
    columns = tuple(Column(f"number-{n}", numeric=True) for n in range(8))
    printed = shown(Table("stacked", "", columns, ((*[1.25] * 8,), (*[2.5] * 8,))), 40)
    lines = [line.split() for line in printed.splitlines() if line.strip()]
    assert lines == [[f"number-{n}", value] for value in ("1.25", "2.5") for n in range(8)]


def test_comparison_table_gives_mean_seed_count_and_standard_deviation() -> None:
    done = cotenant.compare([cotenant.read("packing/tiny")], ["FF", "random-fit"], seeds=range(3))
    drawn_rows = [row for row in done.rows if row["method"] == "random-fit"]
    values = [float(row["metrics"]["servers"] or 0) for row in drawn_rows]
    (table,) = comparison_tables(done).values()
    assert "means" in table.notes[0]
    fixed, drawn = csv.DictReader(io.StringIO(table.csv()))
    assert int(drawn["seeds"]) == 3
    assert float(drawn["servers"]) == pytest.approx(statistics.mean(values))
    assert float(drawn["sd_servers"]) == pytest.approx(statistics.stdev(values))
    assert any("±" in text for text in table.texts()[1])
    assert fixed["sd_servers"] in ("", "0.0")


def test_status_shows_gap_of_unproved_level() -> None:
    level = {"objective": "slack", "value": 0.0, "bound": 0.0, "status": "optimal"}
    second = {"objective": "penalty", "value": 0.022, "bound": 0.02, "status": "feasible"}
    for later in (second, second | {"bound": None}):
        approved(proved({"status": "optimal", "levels": [level, later]}))
    assert proved({"status": "optimal", "levels": [level, level]}) == "optimal"


def test_table_columns_are_selected_in_the_given_order_after_row_names() -> None:
    columns = (
        Column("method", bold=True), Column("slack (bound 0)", numeric=True, key="slack", rank=1),
        Column("mean [s]", numeric=True, key="mean_response"),
        Column("difference", numeric=True, key="difference_mean", people=False),
    )  # fmt: skip
    table = Table("t", "", columns, (("GR", 1.0, 2.0, 3.0),))
    chosen = table.only(["Mean", "SLACK"])
    assert [column.name for column in chosen.headings] == ["method", "mean [s]", "slack (bound 0)"]
    assert chosen.texts() == [["GR", "2.0", "1.0"]]
    assert not any(column.rank for column in chosen.columns), "none is left out for want of room"
    assert table.only(["difference_mean", "mean_response"]).csv() == (
        "method,difference_mean,mean_response\nGR,3.0,2.0\n"
    )
    assert table.only(["utility"]) is table, "a table that has none of them stays whole"


@pytest.mark.usefixtures("in_this_process")
def test_compare_shows_selected_columns_and_refuses_unknown_headers(tmp_path: Path) -> None:
    def compared(*words: str, **settings: Any) -> subprocess.CompletedProcess[str]:
        given = ("compare", "colocation/tiny", "-m", "GR", "-m", "optimal")
        return run(*given, *settings_file(tmp_path, **settings), *words)

    done = compared("--format", "latex", columns=["attribution", "gap_penalty"], width=8.5)
    assert done.returncode == 0, done.stderr
    approved(done.stdout)
    assert "seconds" not in done.stdout
    done = compared(columns=["gap_slack", "slack"])
    assert done.returncode == 0
    approved(done.stderr)
    for wrong in ({"columns": ["slak"]}, {"columns": ["slack"], "width": 8.5}):
        done = compared(**wrong)
        assert (done.returncode, done.stdout) == (2, "")
        approved(done.stderr)


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
