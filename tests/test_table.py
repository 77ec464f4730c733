"""A table in every form it is written in: what programs read is unrounded, what people read is
escaped.
"""

from __future__ import annotations

import csv
import io
import shutil
import subprocess
from functools import partial
from pathlib import Path

import pytest

from cotenant.analysis.metric import Metric
from cotenant.analysis.report.table import Column, Table
from cotenant.analysis.report.tables import figure, percent
from cotenant.instances.problem import InvalidOption

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


def test_csv_holds_values_as_they_are_and_nothing_for_none() -> None:
    rows = list(csv.reader(io.StringIO(TABLE.csv())))
    assert rows == [
        ["method", "penalty"],
        ["optimal", str(1 / 3)],
        ["[SR] a|b", ""],
        [SPECIAL, "0.5"],
    ]


def test_people_read_rounded_text_and_a_pair_says_its_own() -> None:
    assert [line[1] for line in TABLE.texts()] == ["0.3333", "-", "half"]


def test_a_terminal_shows_every_cell() -> None:
    from rich.console import Console

    stream = io.StringIO()
    Console(file=stream, width=200, markup=False).print(TABLE.rich())
    assert all(
        word in stream.getvalue() for word in ("optimal", "0.3333", "half", "Gaps", "*below*")
    )


def test_a_wide_table_closes_up_before_a_word_is_cut(capsys: pytest.CaptureFixture[str]) -> None:
    from cotenant.analysis.report.console import print_tables

    columns = (
        Column("method"),
        Column("status"),
        *(Column(f"metric-{n:02}", numeric=True) for n in range(12)),
    )
    print_tables([Table("wide", "", columns, (("IP-1", "feasible", *[1.25] * 12),))])
    printed = capsys.readouterr().out
    assert "feasible  " in printed
    assert all(column.name in printed for column in columns)
    narrow = (Column("word"), Column("metric", numeric=True))
    print_tables([Table("far-too-wide", "", narrow, (("x" * 200, 1.0),))])
    assert capsys.readouterr().out.count("x") == 200, "folded, nothing left out"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (0.0, "0 %"),
        (2e-9, "<0.01 %"),
        (-2e-9, ">-0.01 %"),
        (1e-4, "0.01 %"),
        (12.0, "12 times"),
    ],
)
def test_a_gap_that_is_not_zero_is_not_printed_as_zero(value: float | None, text: str) -> None:
    assert percent(value) == text


def test_latex_escapes_every_special_character() -> None:
    text = TABLE.latex()
    body = next(line for line in text.splitlines() if "half" in line)
    assert (
        r"a\textbackslash{}b \& 50\% \$x\$ \#1 a\_b \{c\} \textasciitilde{} \textasciicircum{}"
        in body
    )
    assert r"\textless{}script\textgreater{} \textbar{}" in body
    assert "{[}1{]} {*} -{}-" in body
    assert r"\begin{tabular}{lr}" in text
    assert r"\caption{Gaps: 100 \% \& more. {*}below{*}. SR\_2 failed.}" in text
    assert text.count(r" \\") == 4


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not at hand")
def test_latex_compiles(tmp_path: Path) -> None:
    document = rf"\documentclass{{article}}\usepackage{{booktabs}}\begin{{document}}{TABLE.latex()}\end{{document}}"
    (tmp_path / "t.tex").write_text(document, encoding="utf-8")
    done = subprocess.run(
        ["pdflatex", "-halt-on-error", "t.tex"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-2000:]


def test_markdown_escapes_what_would_be_a_mark_and_keeps_its_columns() -> None:
    lines = TABLE.markdown().splitlines()
    assert lines[0] == "**Gaps: 100 % & more**"
    assert lines[3] == "| --- | ---: |"
    assert r"\[SR\] a\|b" in lines[5]
    assert r"\<script\> \|" in lines[6]
    assert r"\*below\*" in lines
    assert r"SR\_2 failed" in lines
    unescaped = [line.replace(r"\|", "").count("|") for line in lines[2:7]]
    assert unescaped == [3] * 5


def test_an_unknown_form_is_refused() -> None:
    with pytest.raises(InvalidOption, match="one of csv, latex, markdown"):
        TABLE.write("xml")


def test_every_column_of_a_comparison_has_a_heading_of_its_own_for_programs() -> None:
    import cotenant
    from cotenant.analysis.report.tables import comparison_tables

    done = cotenant.compare([cotenant.read("colocation/tiny")], ["optimal", "stable", "GR"])
    (table,) = comparison_tables(done).values()
    header, *lines = list(csv.reader(io.StringIO(table.csv())))
    assert len(set(header)) == len(header)
    assert {"penalty", "gap_penalty", "gap_blocking_pairs"} <= set(header)
    assert all(len(line) == len(header) for line in lines)
