"""What is shown while a command runs, and how it is printed."""

from __future__ import annotations

import io
import os
import pty
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.terminal import Terminal, sent_to

import cotenant
from cotenant.analysis.report.console import print_tables, quiet_stdout, say
from cotenant.analysis.report.table import Column, Table
from cotenant.analysis.run.progress import watched
from cotenant.instances.problem.text import in_ascii

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
