"""Tables as data, written as terminal text, CSV, LaTeX and Markdown."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ...instances.problem.emitted import csv_text
from ...instances.problem.errors import InvalidOption
from ...instances.problem.option_types import validate_options
from ...instances.problem.text import sanitize_for_terminal


def slug(text: str) -> str:
    """Text as a file name: lower-case letters and digits joined by hyphens."""
    return "-".join(re.findall(r"[^\W_]+", text.lower())) or "unnamed"


def words(value: Any) -> str:
    """Value of a cell as text: "-" for None, everything else unchanged."""
    return "-" if value is None else str(value)


@validate_options
@dataclass(frozen=True)
class Column:
    """Column of a table: heading, format of its values, and how it is shown.

    Attributes
    ----------
    name : heading.
    text : value -> what people read; programs (CSV, sorting) get the value itself.
    numeric : set to the right and sorted by value.
    bold, wrap : how it is set on a terminal.
    key : heading for programs (CSV), where every column needs one of its own; the name when empty.
    rank : when a narrow terminal leaves it out: never at 0, the highest first.
    people : whether people see it, or CSV alone has it.
    below : in LaTeX its texts stand below their row, over the whole width.
    """

    name: str
    text: Callable[[Any], str] = words
    numeric: bool = False
    bold: bool = False
    wrap: bool = True
    key: str = ""
    rank: int = 0
    people: bool = True
    below: bool = False


@validate_options
@dataclass(frozen=True)
class Table:
    """Rows of values under columns. Names from instances and files occur in it, so its output is
    made printable.

    Attributes
    ----------
    name : of files it is written to: lower-case words joined by hyphens.
    title : above it; "" for none.
    columns, rows : as many values in a row as there are columns. A value may be a pair (value,
        text) where one row's text differs from what its column would give.
    caption : below it.
    notes : sentences after it, one a line (a failure and its reason).
    heading : whether the columns' names are shown.
    """

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Any, ...], ...]
    caption: str = ""
    notes: tuple[str, ...] = field(default=())
    heading: bool = True

    def __post_init__(self) -> None:
        columns = tuple(
            replace(
                column,
                name=sanitize_for_terminal(column.name),
                key=sanitize_for_terminal(column.key),
            )
            for column in self.columns
        )
        words = {
            "title": sanitize_for_terminal(self.title),
            "caption": sanitize_for_terminal(self.caption),
            "notes": tuple(map(sanitize_for_terminal, self.notes)),
        }
        for name, value in {**words, "columns": columns}.items():
            object.__setattr__(self, name, value)

    def value(self, row: Sequence[Any], column: int) -> Any:
        """Value of a row's cell for a program that reads the table."""
        found = row[column][0] if isinstance(row[column], tuple) else row[column]
        return sanitize_for_terminal(found) if isinstance(found, str) else found

    def text(self, row: Sequence[Any], column: int) -> str:
        """Text of a row's cell for a person who reads the table."""
        found = (
            str(row[column][1])
            if isinstance(row[column], tuple)
            else self.columns[column].text(row[column])
        )
        return sanitize_for_terminal(found)

    def texts(self) -> list[list[str]]:
        """Texts of every row for people."""
        places = [place for place, column in enumerate(self.columns) if column.people]
        return [[self.text(row, place) for place in places] for row in self.rows]

    def only(self, names: Sequence[str]) -> Table:
        """Table with the name column and the given columns, in that order; unchanged if it has none
        of them.

        `names` are headings, with or without their unit, or the keys that programs read.
        """
        known: dict[str, int] = {}
        for place, column in enumerate(self.columns):
            for name in (*((bare(column.name),) if column.people else ()), column.key):
                known.setdefault(name.casefold(), place)
        found = [place for name in names if (place := known.get(bare(name).casefold(), -1)) >= 0]
        chosen = dict.fromkeys([0, *found])
        if not found:
            return self
        # what is asked for is never left out: rows are stacked where it finds no room
        columns = tuple(
            replace(column, rank=0, people=True, name=column.name if column.people else column.key)
            for column in (self.columns[place] for place in chosen)
        )
        rows = tuple(tuple(row[place] for place in chosen) for row in self.rows)
        return replace(self, columns=columns, rows=rows)

    @property
    def headings(self) -> tuple[Column, ...]:
        """Headings of the columns that people see."""
        return tuple(column for column in self.columns if column.people)

    def write(self, form: str) -> str:
        """Table as text in one of the formats "csv", "latex" or "markdown"."""
        writers: dict[str, Callable[[], str]] = {
            "csv": self.csv,
            "latex": self.latex,
            "markdown": self.markdown,
        }
        if form not in writers:
            raise InvalidOption(f"format is {form!r}; expected one of {', '.join(writers)}")
        return writers[form]()

    def csv(self) -> str:
        """Comma-separated values: unrounded, an empty cell for none; no text is a formula."""
        head = [column.key or column.name for column in self.columns]
        return csv_text(
            [
                head,
                *([self.value(row, n) for n in range(len(self.columns))] for row in self.rows),
            ]
        )

    def latex(self, width: float | None = None) -> str:
        """Table in LaTeX for a line of so many centimeters, or for the width of a page. See
        `latex.latex`.
        """
        from .latex import PAGE, latex

        return latex(self, PAGE if width is None else width)

    def markdown(self) -> str:
        """Table in Markdown with pipes, the title above it, caption and notes below."""
        rule = ["---:" if column.numeric else "---" for column in self.headings]
        body = [[column.name for column in self.headings], rule, *self.texts()]
        lines = ["| " + " | ".join(_pipe(text) for text in line) + " |" for line in body]
        before = [f"**{_pipe(self.title)}**", ""] if self.title else []
        after = [
            entry for note in (self.caption, *self.notes) if note for entry in ("", _pipe(note))
        ]
        return "\n".join([*before, *lines, *after, ""])


def stacked(name: str, tables: Sequence[Table]) -> Table:
    """Join several tables for programs: rows below each other, after their titles if there are
    several; equal columns are merged, missing cells empty.
    """
    keys = dict.fromkeys(one.key or one.name for table in tables for one in table.columns)
    rows: list[tuple[Any, ...]] = []
    for table in tables:
        places = {one.key or one.name: index for index, one in enumerate(table.columns)}
        for row in table.rows:
            cells = [table.value(row, places[key]) if key in places else None for key in keys]
            rows.append((table.title, *cells) if len(tables) > 1 else tuple(cells))
    columns = [*(("table",) if len(tables) > 1 else ()), *keys]
    return Table(name, "", tuple(map(Column, columns)), tuple(rows))


def bare(heading: str) -> str:
    """Heading of a column without its unit, or the bound that it names."""
    return re.sub(r" *(\[[^]]*\]|\(bound 0\))", "", heading)


def _pipe(text: str) -> str:
    """Text escaped for a cell of a Markdown table."""
    return "".join(
        f"\\{letter}" if letter in "\\`*_[]<>|" else letter for letter in " ".join(text.split())
    )
