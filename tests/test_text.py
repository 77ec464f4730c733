"""Names, sources and paths of others are printed as text; progress of a command; and approved messages:
what differs fails, and every entry is of a test.
"""

from __future__ import annotations

import ast
import csv
import io
import json
import os
import pty
import re
import shutil
import subprocess
import sys
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console
from support import messages, report_rows
from support.messages import Messages, approved, normalized, refused
from support.terminal import Terminal, run, sent_to

import cotenant
from cotenant.analysis.report.comparison_page import write_report
from cotenant.analysis.report.console import print_tables, progress, quiet_stdout, say, waiting
from cotenant.analysis.report.drawing import svg
from cotenant.analysis.report.fitting import fitted
from cotenant.analysis.report.picture import Chart, HeatMap, Series
from cotenant.analysis.report.table import Column, Table
from cotenant.analysis.run.progress import watched
from cotenant.instances.problem.emitted import command_line, comment, file_word, named_word, operand
from cotenant.instances.problem.errors import InvalidInstance, InvalidOption
from cotenant.instances.problem.text import all_printable, in_ascii, sanitize_for_terminal

HOSTILE = "\x1b]0;owned\x07\x1b[2J\x9b31m\r\x08\u202etxet\u2066\u2028\u200f"
COMMANDS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""What no output may hold; ends of lines are ours."""


def tiny(**changes: Any) -> Any:
    return cotenant.read("colocation/tiny").replace(**changes)


def test_control_and_bidirectional_characters_are_escaped() -> None:
    turns = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
    for letter in map(chr, (*range(0x2100), *range(0xD800, 0xE000), 0xE0001, sys.maxunicode)):
        kind = unicodedata.category(letter)
        once = sanitize_for_terminal(letter)
        assert sanitize_for_terminal(once) == once
        assert not COMMANDS.search(once)
        once.encode()  # no half of a surrogate pair
        if kind in ("Cc", "Cs", "Zl", "Zp") or unicodedata.bidirectional(letter) in turns:
            assert once == letter.encode("unicode_escape").decode()
        elif letter.isprintable():
            assert once == letter
    assert sanitize_for_terminal("a\x1b[31m\u202eb") == r"a\x1b[31m\u202eb"
    assert all_printable({"a\x1b": ["\x07", {"b": "\u202e"}, 1, None]}) == {
        r"a\x1b": [r"\x07", {"b": r"\u202e"}, 1, None]
    }


def test_table_of_hostile_text_is_printable_in_every_format() -> None:
    columns = (Column(f"name {HOSTILE}"), Column("value"), Column("joined", ", ".join))
    cells = (HOSTILE, (1.5, HOSTILE), [HOSTILE])
    table = Table("t", HOSTILE, columns, (cells,), caption=HOSTILE, notes=(HOSTILE,))
    stream = io.StringIO()
    Console(file=stream, width=400, markup=False).print(fitted(table, None)[0])
    for form in (stream.getvalue(), table.csv(), table.latex(), table.markdown()):
        assert not COMMANDS.search(form)
        assert "x1b" in form, "it is shown, not dropped"


WORDS = (
    "a b", "*", "$(touch owned)", "`x`", "'", '"', ";", "#", "a\nb", "\t", "\\", "-x", "--wrap=x", "~",
    "\x1b[2J", "", "!!", "é", "{a,b}", "-", "\\'\x1b",
)  # fmt: skip


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_quoted_text_is_one_shell_word() -> None:
    """Seen by what a shell makes of it: the text again, and nothing is run or listed."""
    line = command_line(["printf", "%s\\0", *WORDS])
    assert not COMMANDS.search(line)
    said = subprocess.run(["bash", "-c", line], capture_output=True, check=True).stdout
    assert said.decode().split("\0")[:-1] == list(WORDS)
    assert "\n" not in comment("a\nb\r\u2028c")


def test_emitted_names_and_files_are_never_options() -> None:
    assert [operand(path) for path in ("a", "-a", "--out=x", "-")] == [
        "a", "./-a", "./--out=x", "-",
    ]  # fmt: skip
    assert file_word("-a b") == "'./-a b'"
    assert named_word("a b") == "'a b'"
    for name in ("", "-A", "--all"):
        with refused(InvalidOption, shown=name):
            named_word(name)


FORMULAS = ["=1+1", " =1+1", "+SUM(A1)", "-2+3|cmd", "@import", "\uff1dA1"]


def test_csv_quotes_formulas_and_keeps_numbers() -> None:
    texts = [*FORMULAS, "a=b", "-2.5", "+1e3", "\t=1"]
    columns = (Column("=head"), Column("number"))
    table = Table("t", "", columns, tuple((text, -1.5) for text in texts))
    head, *rows = csv.reader(io.StringIO(table.csv()))
    assert head == ["'=head", "number"]
    quoted = [f"'{text}" for text in FORMULAS]
    assert [row[0] for row in rows] == [*quoted, "a=b", "-2.5", "+1e3", r"\t=1"]
    assert {row[1] for row in rows} == {"-1.5"}


@pytest.mark.usefixtures("in_this_process")
def test_commands_print_no_control_characters_of_instances(tmp_path: Path) -> None:
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
        ["show", str(file)],
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


def test_report_and_log_of_hostile_names_have_no_control_characters(tmp_path: Path) -> None:
    rows = [
        report_rows.row(instance=HOSTILE),
        report_rows.row("SMR", HOSTILE),
        report_rows.failed("GR", HOSTILE, error=HOSTILE),
    ]
    command, name = f"cotenant report {HOSTILE}", f"[/x]{HOSTILE}"
    pages = write_report(rows, tmp_path / "a.html", tables=tmp_path / "tables", command=command)
    with progress("solving", tmp_path / "log") as report:
        report(0.0, 1.0, None, HOSTILE)
    for path in (*pages, tmp_path / "log"):
        assert not COMMANDS.search(path.read_text()), path
    # rich would take "[/x]" for the end of a style that never began
    with redirect_stderr(Terminal()) as stream, waiting(name, wait=0.0) as show:
        show(name)
    assert not re.search("\x1b]0;|\u202e", stream.getvalue())


@pytest.mark.slow
def test_picture_of_hostile_names_has_no_control_characters() -> None:
    import matplotlib as mpl

    labels, names = (HOSTILE, "b"), ("\x1b[2J", "\u202e")
    series = Series(HOSTILE, labels, (1.0, 2.0), style="line+points", labels=labels, tips=labels)
    chart = Chart("chart", HOSTILE, HOSTILE, HOSTILE, (series, series), HOSTILE)
    heat = HeatMap(
        "heat", HOSTILE, HOSTILE, HOSTILE, names, names, ((1.0, 2.0), (3.0, 4.0)), HOSTILE, HOSTILE
    )
    with mpl.rc_context({"text.usetex": True}):  # as a matplotlibrc of the current folder may say
        for picture in (chart, heat):
            assert not COMMANDS.search(svg(picture))


ROW: Any = {"method": "stable", "instance": "tiny"}
TINY = cotenant.read("colocation/tiny")


def test_terminal_progress_line_is_erased_at_end() -> None:
    with redirect_stderr(Terminal()) as screen:
        later, now = watched(), watched(wait=0.0)
        assert later is not None
        assert now is not None
        later(1, 3, ROW)
        assert screen.getvalue() == "", "a short wait needs no line"
        now(2, 3, ROW)
        assert "\r2 of 3 runs in 0 s, last stable on tiny" in screen.getvalue()
        now(3, 3, ROW)
        assert screen.getvalue().endswith(" \r")


def test_notebook_progress_updates_one_output(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []

    def display(content: dict[str, str], **_: object) -> Any:
        shown.append(content["text/plain"])
        return SimpleNamespace(update=lambda content, raw: shown.append(content["text/plain"]))

    shell = SimpleNamespace(kernel=object())
    notebook: Any = SimpleNamespace(get_ipython=lambda: shell)
    modules = {"IPython": notebook, "IPython.display": SimpleNamespace(display=display)}
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    found = cotenant.compare([TINY], ["GR", "SMR"], progress=watched(wait=0.0))
    assert len(found.rows) == 2
    assert [words[:12] for words in shown] == ["1 of 2 runs ", ""]


def test_progress_without_terminal_or_if_disabled_prints_nothing() -> None:
    with redirect_stderr(io.StringIO()):
        assert watched() is None
    with redirect_stderr(Terminal()) as screen:
        cotenant.compare([TINY], ["GR"], progress=False)
    assert screen.getvalue() == ""


def test_terminal_without_unicode_gets_ascii() -> None:
    assert in_ascii("1 \u00b12 \u2264 \u03c8, caf\u00e9 \u65e5") == "1 +-2 <= psi, cafe ?"
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii", errors="strict", write_through=True)
    columns = (Column("\u03c4"), Column("b", numeric=True))
    with redirect_stdout(stream), redirect_stderr(stream):
        print_tables([Table("t", "\u03a3", columns, (("1 \u00b12", 1.0),), notes=("\u2265",))])
        say("\u2192 done")
    printed = raw.getvalue().decode("ascii")
    for words in ("tau", "1 +-2", "sum", ">=", "-> done"):
        assert words in printed


def test_ascii_fallback_applies_to_terminals_only(tmp_path: Path) -> None:
    original = io.TextIOWrapper(io.BytesIO(), encoding="latin-1")
    master, terminal = pty.openpty()
    with open(tmp_path / "out", "wb") as file:
        for target, encoding in ((terminal, "ascii"), (file.fileno(), "utf-8")):
            with sent_to(target, 1, "stdout"), redirect_stdout(original), quiet_stdout():
                assert sys.stdout.encoding == encoding
    os.close(master)
    os.close(terminal)


TESTS = Path(__file__).parent
MOST_SENTENCES = 100


@contextmanager
def only(*texts: str) -> Iterator[None]:
    """Have these texts alone be approved, for the test that runs; nothing of it is written."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(messages, "current", Messages(set(texts)))
        yield


def raised() -> None:
    raise InvalidInstance("count", 0, "at least 1")


def test_refused_test_helper_compares_error_with_approved_message() -> None:
    fails = pytest.raises(pytest.fail.Exception, match="not approved")
    with only(), fails, refused(InvalidInstance):
        raised()
    with only("count is 0; expected at least 1"):
        with refused(InvalidInstance, field="count"):
            raised()
        with pytest.raises(AssertionError), refused(InvalidInstance, field="other"):
            raised()
        with pytest.raises(pytest.fail.Exception), refused(InvalidInstance):
            pass


def test_message_difference_shows_both_texts() -> None:
    with only("one line of words"), pytest.raises(pytest.fail.Exception) as caught:
        approved("one\nline  of worms")
    assert "- one line of words\n?" in str(caught.value)
    assert "+ one line of worms\n?" in str(caught.value)


def test_machine_dependent_parts_of_messages_are_masked(tmp_path: Path) -> None:
    text = (
        f"{tmp_path}/a.json, {Path.home()}/b, {messages.ROOT}/c: cotenant 1.2.0, pid 71, 0x7f00aa11"
    )
    masked = "<tmp>/a.json, <home>/b, <root>/c: cotenant <version>, pid <pid>, <address>"
    assert normalized(text) == masked


def test_approved_messages_belong_to_existing_test_files() -> None:
    assert {name for name in messages.read_approved() if not (TESTS / name).exists()} == set()


def sentences(path: Path) -> int:
    """Assertions of a file on three words of English or more."""

    def is_sentence(node: ast.AST) -> bool:
        text = getattr(node, "value", None)
        if not isinstance(text, str) or re.match(r"[A-Z]{4,} ", text):  # SQL
            return False
        if re.search(r"[<>{}|\\]|--|=|; ?$|^(from|import) ", text):  # markup, commands, patterns
            return False
        return " " in text and len(re.findall("[A-Za-z']{2,}", text)) >= 3

    def has_sentence(node: ast.AST) -> bool:
        if isinstance(node, ast.Subscript):  # a name of a column or a finding
            return has_sentence(node.value)
        return is_sentence(node) or any(map(has_sentence, ast.iter_child_nodes(node)))

    return sum(
        has_sentence(node.test if isinstance(node, ast.Assert) else node.value)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Assert) or (isinstance(node, ast.keyword) and node.arg == "match")
    )


def test_few_assertions_are_on_english_sentences() -> None:
    found = {path.name: sentences(path) for path in TESTS.rglob("*.py")}
    assert sum(found.values()) <= MOST_SENTENCES, {n: k for n, k in found.items() if k}
