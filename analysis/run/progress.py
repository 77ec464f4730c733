"""Progress line of a running comparison, in a terminal or a notebook."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

from ...instances.problem.text import sanitize_for_terminal
from .rows import Row

Progress = Callable[[int, int, Row], None]
"""Called with (done, total, row)."""

WAIT_SECONDS = 2.0
"""Shorter comparisons say nothing."""

LONGEST = 78
"""Letters of the line: what wraps cannot be written over."""


def watched(wait: float = WAIT_SECONDS) -> Progress | None:
    """Progress line that appears after some seconds; None where stderr is no terminal."""
    if _in_notebook():
        return _Line(_NotebookOutput(), wait)
    return _Line(_terminal, wait) if sys.stderr.isatty() else None


class _Line:
    """Terminal line that is overwritten by the next one and removed at the end."""

    def __init__(self, write: Callable[[str], None], wait: float) -> None:
        self._write, self._wait = write, wait
        self._start, self._shown = time.perf_counter(), False

    def __call__(self, done: int, total: int, row: Row) -> None:
        seconds = time.perf_counter() - self._start
        if done >= total:
            if self._shown:
                self._write("")
        elif seconds >= self._wait:
            self._shown = True
            what = f"{row['method']} on {row['instance']}"
            words = sanitize_for_terminal(f"{done} of {total} runs in {seconds:.0f} s, last {what}")
            self._write(words if len(words) <= LONGEST else f"{words[: LONGEST - 3]}...")


def _terminal(words: str) -> None:
    try:
        sys.stderr.write(f"\r{words:<{LONGEST}}" if words else f"\r{'':<{LONGEST}}\r")
        sys.stderr.flush()
    except OSError:  # the terminal went away: no reason to end a comparison
        return


class _NotebookOutput:
    """Output of a notebook cell, one line that changes."""

    def __init__(self) -> None:
        self._handle: Any = None

    def __call__(self, words: str) -> None:
        display = import_module("IPython.display").display
        content = {"text/plain": words}
        if self._handle is None:
            self._handle = display(content, raw=True, display_id=True)
        else:
            self._handle.update(content, raw=True)


def _in_notebook() -> bool:
    """Whether this process is a Jupyter kernel; nothing is imported to find out."""
    module = sys.modules.get("IPython")
    shell = None if module is None else module.get_ipython()
    return getattr(shell, "kernel", None) is not None
