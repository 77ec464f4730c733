"""Text of others as it is handed to other programs: words of a shell's commands, and cells of CSV.

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
    """The text as one word of a shell's command, or the rest of one: nothing in it is special."""
    if sanitize_for_terminal(text) == text:
        return shlex.quote(text)
    escaped = sanitize_for_terminal(text.replace("\\", r"\\").replace("'", r"\'"))
    return f"$'{escaped}'"


def operand(path: str) -> str:
    """The path of a file as no program takes it for an option; "-" stays standard input."""
    return f"./{path}" if path.startswith("-") and path != "-" else path


def file_word(path: str | os.PathLike[str]) -> str:
    """The path of a file as a word of a command, quoted."""
    return quoted(operand(os.fspath(path)))


def command_line(words: Iterable[str]) -> str:
    """A command as a person types it."""
    return " ".join(map(quoted, words))


def named_word(name: str) -> str:
    """The name of a thing as a word of a command, quoted; raises InvalidOption when it is empty or
    begins with a hyphen, as an option does.
    """
    if not name or name.startswith("-"):
        raise InvalidOption(
            f"a name is {name!r}, which no command can be given; expected one that begins with a "
            "letter or a digit. Rename it, or leave out emit"
        )
    return quoted(name)


def comment(text: str) -> str:
    """A line of a shell's script that does nothing, whatever stands in it."""
    return f"# {sanitize_for_terminal(text)}"


def csv_text(rows: Iterable[Sequence[Any]]) -> str:
    """Rows as comma-separated values: all printable, no formula, an empty cell for None."""
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows(
        [_cell(value) for value in row] for row in rows
    )
    return stream.getvalue()


_FORMULA = tuple("=+-@\uff1d\uff0b\uff0d\uff20")
"""What a formula begins with, in wide forms too; tabs and ends of lines are not printable."""


def _cell(value: Any) -> Any:
    """A cell as CSV holds it: text that would be a formula begins with a quote."""
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
