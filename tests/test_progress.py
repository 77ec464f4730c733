"""What is shown of a comparison while it runs."""

from __future__ import annotations

import io
import sys
from contextlib import redirect_stderr
from types import SimpleNamespace
from typing import Any

import pytest
from support.terminal import Terminal

import cotenant
from cotenant.analysis.run.progress import watched

ROW: Any = {"method": "stable", "instance": "tiny"}
TINY = cotenant.read("colocation/tiny")


def test_a_terminal_gets_one_line_after_a_while_that_is_gone_in_the_end() -> None:
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


def test_a_notebook_gets_an_output_that_changes(monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_nothing_is_shown_where_nobody_watches_or_none_is_wanted() -> None:
    with redirect_stderr(io.StringIO()):
        assert watched() is None
    with redirect_stderr(Terminal()) as screen:
        cotenant.compare([TINY], ["GR"], progress=False)
    assert screen.getvalue() == ""
