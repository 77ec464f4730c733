"""What is shown of a comparison while it runs."""

from __future__ import annotations

import io
import sys
from types import SimpleNamespace
from typing import Any

import pytest

import cotenant
from cotenant.analysis.run import progress

ROW: Any = {"method": "stable", "instance": "tiny"}


class Terminal(io.StringIO):
    """A stream that says that somebody watches."""

    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_one_line_after_a_while_that_is_gone_in_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    show = progress.watched()
    assert show is not None
    show(1, 3, ROW)
    assert screen.getvalue() == "", "a short wait needs no line"
    monkeypatch.setattr(progress, "WAIT_SECONDS", 0.0)
    show(2, 3, ROW)
    assert "\r2 of 3 runs in 0 s, last stable on tiny" in screen.getvalue()
    show(3, 3, ROW)
    assert screen.getvalue().endswith(" \r")


def test_a_notebook_gets_an_output_that_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []

    def display(content: dict[str, str], **_: object) -> Any:
        shown.append(content["text/plain"])
        return SimpleNamespace(update=lambda content, raw: shown.append(content["text/plain"]))

    shell = SimpleNamespace(kernel=object())
    notebook = SimpleNamespace(get_ipython=lambda: shell)
    monkeypatch.setitem(sys.modules, "IPython", notebook)
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display))
    monkeypatch.setattr(progress, "WAIT_SECONDS", 0.0)
    found = cotenant.compare([cotenant.read("colocation/tiny")], ["GR", "SMR"])
    assert len(found.rows) == 2
    assert [words[:12] for words in shown] == ["1 of 2 runs ", ""]


def test_nobody_is_told_where_nobody_watches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert progress.watched() is None
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(progress, "WAIT_SECONDS", 0.0)
    cotenant.compare([cotenant.read("colocation/tiny")], ["GR"], progress=False)
    assert sys.stderr.getvalue() == ""  # type: ignore[attr-defined]
