"""Names, sources and paths of others are printed as text: no command to a terminal, and nothing
read backwards.
"""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import subprocess
import sys
import unicodedata
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import report_rows
from support.messages import refused
from support.terminal import Terminal, run

import cotenant
from cotenant.analysis.report.drawing import svg
from cotenant.analysis.report.fitting import fitted
from cotenant.analysis.report.page import write_report
from cotenant.analysis.report.picture import Chart, HeatMap, Series
from cotenant.analysis.report.table import Column, Table
from cotenant.instances.problem.emitted import (
    command_line,
    comment,
    file_word,
    named_word,
    operand,
)
from cotenant.instances.problem.errors import InvalidOption
from cotenant.instances.problem.text import all_printable, sanitize_for_terminal

HOSTILE = "\x1b]0;owned\x07\x1b[2J\x9b31m\r\x08\u202etxet\u2066\u2028\u200f"
COMMANDS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""What no output may hold; ends of lines are ours."""


def tiny(**changes: Any) -> Any:
    return cotenant.read("colocation/tiny").replace(**changes)


@pytest.mark.slow
def test_every_control_and_turn_of_direction_is_written_as_its_escape() -> None:
    for point in range(sys.maxunicode + 1):
        letter = chr(point)
        kind = unicodedata.category(letter)
        if kind in ("Cc", "Cs", "Zl", "Zp") or unicodedata.bidirectional(letter) in (
            "LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI",
        ):  # fmt: skip
            assert sanitize_for_terminal(letter) == letter.encode("unicode_escape").decode()
    assert sanitize_for_terminal("a\x1b[31m\u202eb") == r"a\x1b[31m\u202eb"


@given(st.text())
def test_what_is_printable_stays_as_it_is(text: str) -> None:
    once = sanitize_for_terminal(text)
    assert sanitize_for_terminal(once) == once
    assert not COMMANDS.search(once)
    once.encode()  # no half of a surrogate pair
    if text.isprintable():
        assert once == text


def test_values_of_json_are_made_printable_at_every_depth() -> None:
    assert all_printable({"a\x1b": ["\x07", {"b": "\u202e"}, 1, None]}) == {
        r"a\x1b": [r"\x07", {"b": r"\u202e"}, 1, None]
    }


def test_a_table_is_printable_in_every_form() -> None:
    columns = (
        Column(f"name {HOSTILE}"),
        Column("value"),
        Column("joined", lambda values: ", ".join(values)),
    )
    table = Table(
        "t",
        HOSTILE,
        columns,
        ((HOSTILE, (1.5, HOSTILE), [HOSTILE]),),
        caption=HOSTILE,
        notes=(HOSTILE,),
    )
    from rich.console import Console

    stream = io.StringIO()
    Console(file=stream, width=400, markup=False).print(fitted(table, None).drawn)
    for form in (stream.getvalue(), table.csv(), table.latex(), table.markdown()):
        assert not COMMANDS.search(form)
        assert "x1b" in form, "it is shown, not dropped"


WORDS = (
    "a b", "*", "$(touch owned)", "`x`", "'", '"', ";", "#", "a\nb", "\t", "\\", "-x", "--wrap=x", "~",
    "\x1b[2J", "", "!!", "é", "{a,b}", "-", "\\'\x1b",
)  # fmt: skip


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_a_text_of_others_is_one_word_of_a_command() -> None:
    """Seen by what a shell makes of it: the text again, and nothing is run or listed."""
    line = command_line(["printf", "%s\\0", *WORDS])
    assert not COMMANDS.search(line)
    said = subprocess.run(["bash", "-c", line], capture_output=True, check=True).stdout
    assert said.decode().split("\0")[:-1] == list(WORDS)
    assert "\n" not in comment("a\nb\r\u2028c")


def test_no_name_and_no_file_of_others_is_an_option_of_a_command() -> None:
    assert [operand(path) for path in ("a", "-a", "--out=x", "-")] == [
        "a", "./-a", "./--out=x", "-",
    ]  # fmt: skip
    assert file_word("-a b") == "'./-a b'"
    assert named_word("a b") == "'a b'"
    for name in ("", "-A", "--all"):
        with refused(InvalidOption):
            named_word(name)


FORMULAS = ["=1+1", " =1+1", "+SUM(A1)", "-2+3|cmd", "@import", "\uff1dA1"]


def test_a_spreadsheet_takes_no_text_for_a_formula_and_numbers_stay_numbers() -> None:
    columns = (Column("=head"), Column("number"))
    table = Table(
        "t", "", columns, tuple((text, -1.5) for text in [*FORMULAS, "a=b", "-2.5", "+1e3", "\t=1"])
    )
    rows = list(csv.reader(io.StringIO(table.csv())))
    assert rows[0] == ["'=head", "number"]
    assert [row[0] for row in rows[1:]] == [
        *(f"'{text}" for text in FORMULAS),
        "a=b",
        "-2.5",
        "+1e3",
        r"\t=1",
    ]
    assert {row[1] for row in rows[1:]} == {"-1.5"}


@pytest.mark.usefixtures("in_this_process")
def test_no_command_prints_a_name_or_a_source_that_commands_a_terminal(
    tmp_path: Path,
) -> None:
    file, answer = tmp_path / "x.json", tmp_path / "answer.json"
    types = len(tiny().count)
    hostile = tiny(
        name=HOSTILE, source=HOSTILE, names=tuple(f"{HOSTILE}{place}" for place in range(types))
    )
    cotenant.write(hostile, file)
    cotenant.solve(hostile, "GR").write(answer)
    stored = json.loads(answer.read_text())
    stored["solution"]["pairs"][0] += 1
    answer.write_text(json.dumps(stored))
    runs = [
        *(["show", str(file), "--format", form] for form in ("table", "csv", "latex", "markdown")),
        ["solve", str(file), "-m", "GR"],
        ["compare", str(file), "-m", "GR"],
        ["check", str(file), str(answer)],
        ["show", str(tmp_path / f"{HOSTILE}.json")],
        ["solve", str(file), "-m", HOSTILE],
        ["show", str(file), HOSTILE],
    ]
    for arguments in runs:
        done = run(*arguments)
        assert done.stdout or done.stderr
        for stream in (done.stdout, done.stderr):
            assert not COMMANDS.search(stream), arguments


def test_names_that_look_like_markup_do_not_end_what_is_shown_while_waiting() -> None:
    """rich would take "[/x]" for the end of a style that never began."""
    from cotenant.analysis.report import console

    name = f"[/x]{HOSTILE}"
    with redirect_stderr(Terminal()) as stream, console.waiting(name, wait=0.0) as show:
        show(name)
    assert "\x1b]0;" not in stream.getvalue()
    assert "\u202e" not in stream.getvalue()


def test_a_page_and_its_pictures_hold_no_such_letter(tmp_path: Path) -> None:
    rows = [
        report_rows.row(instance=HOSTILE),
        report_rows.row("SMR", HOSTILE),
        report_rows.failed("GR", HOSTILE, error=HOSTILE),
    ]
    written = write_report(
        rows,
        tmp_path / "page.html",
        tables=tmp_path / "tables",
        command=f"cotenant report {HOSTILE}",
    )
    for path in written:
        assert not COMMANDS.search(path.read_text()), path


@pytest.mark.slow
def test_a_picture_by_itself_holds_none_and_runs_no_tex(monkeypatch: pytest.MonkeyPatch) -> None:
    import matplotlib as mpl

    series = Series(
        HOSTILE,
        (HOSTILE, "b"),
        (1.0, 2.0),
        style="line+points",
        labels=(HOSTILE, "b"),
        tips=(HOSTILE, "b"),
    )
    chart = Chart("chart", HOSTILE, HOSTILE, HOSTILE, (series, series), HOSTILE)
    names = ("\x1b[2J", "\u202e")
    heat = HeatMap(
        "heat", HOSTILE, HOSTILE, HOSTILE, names, names, ((1.0, 2.0), (3.0, 4.0)), HOSTILE, HOSTILE
    )
    with mpl.rc_context({"text.usetex": True}):  # as a matplotlibrc of the current folder may say
        for picture in (chart, heat):
            assert not COMMANDS.search(svg(picture))


def test_a_log_file_of_hostile_words_is_text(tmp_path: Path) -> None:
    from cotenant.analysis.report.console import progress

    with progress("solving", tmp_path / "log") as report:
        report(0.0, 1.0, None, HOSTILE)
    assert not COMMANDS.search((tmp_path / "log").read_text())
