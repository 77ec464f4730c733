"""Tables fitted to the width of a terminal: columns left out by rank, or rows stacked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from rich.cells import cell_len, chop_cells

from .table import Column, Table

if TYPE_CHECKING:
    from rich.table import Table as RichTable

LONGEST_WORD = 40
"""Letters of what may be cut in two: a path or a list without spaces, no word."""

READABLE = 20
"""Columns of the terminal below which a sentence becomes a tower; its rows are stacked then."""

_GLUED = "\u00a0"
"""Holds a number and its unit together while lines are made."""


def fitted(
    table: Table, width: int | None, letters: Callable[[str], str] = lambda text: text
) -> tuple[RichTable, tuple[str, ...]]:
    """Fit a table to `width` terminal columns, and return it with the headings of the columns left
    out; without a width it keeps its natural size.

    Columns with a rank are left out first, the highest rank before the others; what is still too
    wide then is stacked: each row becomes a block of names and values. `letters` writes a text in
    those that the terminal has. The caption is not part of it: it may be wider than the table.
    """
    texts = [[letters(text) for text in line] for line in table.texts()]
    columns = [replace(column, name=letters(column.name)) for column in table.headings]
    table = replace(table, title=letters(table.title))
    cells = [
        _Cells(column, [column.name] if table.heading else [], [line[number] for line in texts])
        for number, column in enumerate(columns)
    ]
    if width is None:
        return _drawn(table, cells, [cell.natural for cell in cells], tight=False), ()
    shown, left_out = list(cells), []
    while sum(cell.least for cell in shown) + _overhead(len(shown), tight=True) > width:
        ranked = max(shown, key=lambda cell: cell.column.rank, default=None)
        if ranked is None or not ranked.column.rank:
            break
        shown.remove(ranked)
        left_out.append(ranked.column.name)
    ranked_any = any(cell.column.rank for cell in cells)
    needed = sum(cell.least if ranked_any else cell.readable for cell in shown)
    if needed + _overhead(len(shown), tight=True) > width and table.heading and len(shown) > 1:
        return _stacked(table, shown, width), tuple(left_out)
    in_order = tuple(cell.column.name for cell in cells if cell.column.name in left_out)
    natural = [cell.natural for cell in shown]
    tight = sum(natural) + _overhead(len(shown), tight=False) > width
    widths = _shared(shown, width - _overhead(len(shown), tight=tight)) if tight else natural
    return _drawn(table, shown, widths, tight=tight), in_order


class _Cells:
    """Texts of one column and their widths."""

    def __init__(self, column: Column, heading: list[str], texts: list[str]) -> None:
        self.column, self.heading = column, heading
        self.texts = [_glued(text) for text in texts]
        whole = column.numeric or not column.wrap
        words = [
            word for text in (*heading, *([] if whole else self.texts)) for word in text.split(" ")
        ]
        longest = max(map(cell_len, self.texts), default=0)
        self.natural = max([longest, *map(cell_len, heading)], default=0)
        self.least = max(
            [min(cell_len(word), LONGEST_WORD) for word in words] + ([longest] if whole else []),
            default=0,
        )
        self.readable = self.least if whole else max(self.least, min(self.natural, READABLE))


def _shared(cells: Sequence[_Cells], room: int) -> list[int]:
    """Widths of columns that fill the available width: each gets its longest word, then the short
    columns get their whole texts first.
    """
    widths = [cell.least for cell in cells]
    spare = max(room - sum(widths), 0)
    order = sorted(range(len(cells)), key=lambda place: cells[place].natural - widths[place])
    for rank, place in enumerate(order):
        more = min(cells[place].natural - widths[place], spare // (len(order) - rank))
        widths[place] += more
        spare -= more
    over = max(sum(widths) - room, 0)
    if over and widths:  # no column has a rank, and nothing could be stacked: long texts fold
        widest = widths.index(max(widths))
        widths[widest] = max(widths[widest] - over, 1)
    return widths


def _overhead(columns: int, *, tight: bool) -> int:
    """Number of terminal columns taken by rules and gaps of a table."""
    return 2 + 2 * columns + (0 if tight else columns - 1)


def _drawn(
    table: Table, cells: Sequence[_Cells], widths: Sequence[int], *, tight: bool
) -> RichTable:
    from rich import box
    from rich.table import Table as RichTable

    drawn = RichTable(
        title=table.title or None,
        box=box.SIMPLE_HEAD,
        show_header=table.heading,
        collapse_padding=tight,
    )
    for index, (cell, width) in enumerate(zip(cells, widths, strict=True)):
        drawn.add_column(
            "\n".join(_lines(cell.column.name, width)),
            style="bold" if cell.column.bold else None,
            justify="right" if cell.column.numeric else "left",
            # rich takes the first column's left gap, which it keeps, out of its width
            width=max(width, 1) + (tight and not index),
            no_wrap=True,
        )
    for row in zip(*(cell.texts for cell in cells), strict=True):
        drawn.add_row(
            *("\n".join(_lines(text, width)) for text, width in zip(row, widths, strict=True))
        )
    return drawn


def _stacked(table: Table, cells: Sequence[_Cells], width: int) -> RichTable:
    """Table with each row as a block of names and values, separated by empty lines."""
    rows: list[tuple[str, str]] = []
    for row in zip(*(cell.texts for cell in cells), strict=True):
        rows += [("", "")] if rows else []
        named = zip(cells, row, strict=True)
        rows += [(cell.column.name, text) for cell, text in named if text]
    columns = (Column("name", bold=True, wrap=False), Column("value"))
    stack = Table(table.name, table.title, columns, tuple(rows), heading=False)
    return fitted(stack, width)[0]


def _glued(text: str) -> str:
    """Text in which a space before a unit is no line break."""
    words = text.split(" ")
    glue = [
        _GLUED if left[-1:].isdigit() and right[:1] in ("%", "±") else " "
        for left, right in pairwise(words)
    ]
    return words[0] + "".join(space + word for space, word in zip(glue, words[1:], strict=True))


def _lines(text: str, width: int) -> list[str]:
    """Text in lines of at most `width` columns, broken between words; longer words are cut."""
    lines = [""]
    for word in text.split(" "):
        joined = f"{lines[-1]} {word}" if lines[-1] else word
        if cell_len(joined) <= width:
            lines[-1] = joined
            continue
        if lines[-1]:
            lines.append("")
        lines[-1:] = chop_cells(word, width) if cell_len(word) > width > 0 else [word]
    return [line.replace(_GLUED, " ") for line in lines]
