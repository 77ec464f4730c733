"""Quoting of untrusted text for other programs: words of shell commands, and cells of CSV.

A name or a path of others is one word of a command, never an option of it, a second command or a
wildcard; and no cell is a formula.
"""

from __future__ import annotations

import csv
import io
import os
import shlex
from collections.abc import Iterable, Sequence
from typing import Any

from .errors import InvalidOption
from .text import sanitize_for_terminal


def quoted(text: str) -> str:
    """Text quoted as one word of a shell command."""
    if sanitize_for_terminal(text) == text:
        return shlex.quote(text)
    escaped = sanitize_for_terminal(text.replace("\\", r"\\").replace("'", r"\'"))
    return f"$'{escaped}'"


def operand(path: str) -> str:
    """Path in a form that no program takes for an option; "-" stays standard input."""
    return f"./{path}" if path.startswith("-") and path != "-" else path


def file_word(path: str | os.PathLike[str]) -> str:
    """Path of a file, quoted as a word of a shell command."""
    return quoted(operand(os.fspath(path)))


def command_line(words: Iterable[str]) -> str:
    """Shell command of some words, each quoted if needed."""
    return " ".join(map(quoted, words))


def named_word(name: str) -> str:
    """Name quoted as a word of a shell command; raises InvalidOption if it is empty or begins with
    a hyphen.
    """
    if not name or name.startswith("-"):
        raise InvalidOption(
            f"a name is {name!r}, which no command can be given; expected one that begins with a "
            "letter or a digit. Rename it, or leave out emit"
        )
    return quoted(name)


def comment(text: str) -> str:
    """Comment line of a shell script that holds any text."""
    return f"# {sanitize_for_terminal(text)}"


def csv_text(rows: Iterable[Sequence[Any]]) -> str:
    """Format rows as CSV: printable text, no formulas, an empty cell for None."""
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows(
        [_cell(value) for value in row] for row in rows
    )
    return stream.getvalue()


_FORMULA = tuple("=+-@\uff1d\uff0b\uff0d\uff20")
"""What a formula begins with, in wide forms too; tabs and ends of lines are not printable."""


def _cell(value: Any) -> Any:
    """Format a value as a CSV cell; text that a spreadsheet would evaluate begins with a quote."""
    if not isinstance(value, str):
        return value
    text = sanitize_for_terminal(value)
    if not text.lstrip().startswith(_FORMULA):
        return text
    try:
        float(text)
    except ValueError:
        return f"'{text}"
    return text
