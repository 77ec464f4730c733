"""What a progress bar tells: what runs now, and how long the rest may take at most."""

from __future__ import annotations

import io
import os
import pty
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from support.messages import approved
from support.terminal import Terminal, sent_to

import cotenant
from cotenant.analysis.report import console
from cotenant.analysis.report.console import clock_text, print_tables, quiet_stdout, say
from cotenant.analysis.report.table import Column, Table
from cotenant.analysis.run.cell import Cell
from cotenant.analysis.run.compare import compare
from cotenant.analysis.run.time_estimate import Outlook, outlook
from cotenant.instances.problem.text import in_ascii

TINY = cotenant.read("colocation/tiny")


def cell(method: str, seed: int = 0, time_limit: float | None = 10.0, **changes: Any) -> Cell:
    return Cell(TINY, method, seed, time_limit, {}, **changes)


def row(of: Cell, seconds: float) -> Any:
    told = {"key": of.key, "problem": "colocation", "method": of.name}
    return {**told, "seconds": seconds}


def test_what_runs_is_what_comes_next_in_each_process() -> None:
    cells = [cell("optimal"), cell("stable"), cell("GR"), cell("SMR")]
    approved(outlook(cells, [], 1).now)
    told = outlook(cells, [row(cells[1], 1.0)], 2)
    approved(told.now)
    assert (told.done, told.total) == (1, 4)
    assert outlook(cells, [], None) == Outlook((), None, 0, 4), "a cluster has an order of its own"


def test_exact_methods_may_use_their_limit_and_heuristics_take_what_they_took() -> None:
    cells = [cell("optimal"), cell("stable"), cell("SMR"), cell("SMR", 1), cell("SMR", 2)]
    assert outlook(cells, [], 1).most == 20.0
    assert outlook(cells, [row(cells[0], 0.1), row(cells[2], 4.0)], 1).most == 18.0
    assert outlook(cells, [row(each, 1.0) for each in cells], 1).most == 0.0
    assert outlook([cell("optimal", prove="x")], [], 1).most == 20.0, "a proof may take as long"


def test_processes_share_the_work_and_the_last_run_may_begin_late() -> None:
    cells = [cell("optimal"), cell("stable"), cell("fair")]
    assert outlook(cells, [], 2).most == 20.0


def test_without_a_limit_nobody_knows() -> None:
    assert outlook([cell("optimal", time_limit=None)], [], 1).most is None


def test_a_comparison_tells_what_runs_before_and_after_each_run() -> None:
    told: list[Outlook] = []
    compare([TINY], ["GR", "CO"], running=told.append)
    approved(str([each.now for each in told]))
    assert [each.done for each in told] == [0, 1, 2]


@pytest.mark.parametrize(
    ("seconds", "text"), [(7.4, "0:07"), (750.0, "12:30"), (3600.0, "1:00:00")]
)
def test_time_is_told_as_a_clock_does(seconds: float, text: str) -> None:
    assert clock_text(seconds) == text


def test_the_bar_names_what_runs_and_what_may_be_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    with redirect_stderr(Terminal()) as stream, console.counter("comparing") as step:
        assert step is not None
        step.running(Outlook(("fair on tiny", "GR on tiny"), 75.0, 1, 5))
    shown = stream.getvalue()
    for words in ("fair on tiny and 1 more", "1/5", "at most 1:1", "left"):
        assert words in shown


def test_a_terminal_without_unicode_gets_signs_in_words() -> None:
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


def test_only_a_terminal_is_spared_letters_that_it_lacks(tmp_path: Path) -> None:
    original = io.TextIOWrapper(io.BytesIO(), encoding="latin-1")
    master, terminal = pty.openpty()
    with open(tmp_path / "out", "wb") as file:
        for target, encoding in ((terminal, "ascii"), (file.fileno(), "utf-8")):
            with sent_to(target, 1, "stdout"), redirect_stdout(original), quiet_stdout():
                assert sys.stdout.encoding == encoding
    os.close(master)
    os.close(terminal)
