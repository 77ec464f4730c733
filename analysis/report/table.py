"""Tables as data, written as terminal text, CSV, LaTeX and Markdown."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from textwrap import wrap
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
        """Texts of the cells of every row, in the columns that people see."""
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
        """Table as comma-separated values: unrounded, None as empty cells, without formulas."""
        head = [column.key or column.name for column in self.columns]
        return csv_text(
            [
                head,
                *([self.value(row, n) for n in range(len(self.columns))] for row in self.rows),
            ]
        )

    def latex(self, width: float | None = None) -> str:
        """A `table` with a `tabular` in booktabs' rules; everything is escaped. Its first line
        names the packages it needs.

        Parameters
        ----------
        width : of the line it fits, in centimeters; a page's when None. Columns of a rank are left
            out where there is no room, the highest rank first, and the caption names them; what is
            still wider is scaled.

        Raises
        ------
        InvalidOption
            The width is below 3 cm.
        """
        width = PAGE if width is None else width
        if not width >= LEAST_PAGE:
            raise InvalidOption(
                f"width is {width:g}; expected centimeters, at least {LEAST_PAGE:g}"
            )

        # 1. The columns that have room.
        def wide() -> bool:
            return sum(_GAP + _LETTER * each.letters for each in shown) > width

        every = [
            _Drawn(column, texts, self.heading)
            for column, *texts in zip(self.headings, *self.texts(), strict=True)
        ]
        shown, left_out = [each for each in every if not each.column.below], list[str]()
        for each in shown if wide() else ():
            each.wrap()
        while wide():
            ranked = max(shown, key=lambda each: each.column.rank)
            if not ranked.column.rank:
                break
            shown.remove(ranked)
            left_out.append(ranked.column.name)
        # 2. Rows, each with the texts that stand below it.
        rows = [[escaped(each.texts[index]) for each in shown] for index in range(len(self.rows))]
        lines = [" & ".join(row) + r" \\" for row in rows]
        for each in every:
            for number, text in enumerate(each.texts):
                if each.column.below and text:
                    whole = rf"\multicolumn{{{len(shown)}}}{{p{{{width - _GAP:.1f}cm}}}}"
                    lines[number] += f"\n{whole}{{\\raggedright {escaped(text)}}} \\\\[2pt]"
        if self.heading:
            lines = [" & ".join(each.title for each in shown) + r" \\", r"\midrule", *lines]
        # 3. The whole, with its caption.
        sentences = [self.title, self.caption, *self.notes]
        sentences += [f"Left out: {', '.join(left_out)}"] * bool(left_out)
        words = ". ".join(part.rstrip(".") for part in sentences if part)
        return "\n".join([
            r"% \usepackage{booktabs,array,graphicx}", r"\begin{table}", r"\centering",
            r"\setlength{\tabcolsep}{4pt}",
            # scaled only where it is wider than its line
            rf"\resizebox{{\ifdim\width>{width:.1f}cm {width:.1f}cm\else\width\fi}}{{!}}{{%",
            rf"\begin{{tabular}}{{{''.join(each.align for each in shown)}}}",
            r"\toprule", *lines, r"\bottomrule", r"\end{tabular}}",
            *[rf"\caption{{{escaped(words)}.}}"] * bool(words),
            rf"\label{{tab:{self.name}}}", r"\end{table}", "",
        ])  # fmt: skip

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
    """Heading of a column without its unit in brackets and without "(bound 0)"."""
    return re.sub(r" *(\[[^]]*\]|\(bound 0\))", "", heading)


def _pipe(text: str) -> str:
    """Text escaped for a cell of a Markdown table."""
    return "".join(
        f"\\{letter}" if letter in "\\`*_[]<>|" else letter for letter in " ".join(text.split())
    )


PAGE = 12.1
"""Centimeters of a line of LaTeX's `article` on A4 paper; a column of two takes about 8.5."""

LEAST_PAGE = 3.0

_LETTER, _GAP = 0.155, 0.29
"""Centimeters that a letter of a small font takes on average, and the gap of two columns at 4pt."""

_TEXT = 30
"""Letters of a text that may be set on several lines, and of a line of it."""

_MOST_LINES = 3
"""Lines of a heading."""

_LETTERS = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}",
    ">": r"\textgreater{}", "|": r"\textbar{}",
    "[": "{[}", "]": "{]}", "*": "{*}", '"': "{''}", "`": r"\textasciigrave{}", "\u00a0": "~",
    "\u2026": r"\ldots{}",
    "\u00d7": r"$\times$", "±": r"$\pm$", "≤": r"$\leq$", "≥": r"$\geq$", "τ": r"$\tau$",
    "\u03b1": r"$\alpha$", "∞": r"$\infty$",
    "ψ": r"$\psi$", "φ": r"$\phi$", "λ": r"$\lambda$", "η": r"$\eta$", "⟨": r"$\langle$",
    "⟩": r"$\rangle$",
    "\u03b5": r"$\varepsilon$", "Δ": r"$\Delta$", "Σ": r"$\Sigma$", "→": r"$\rightarrow$",
    "²": r"$^2$", "\u2212": "$-$",
}  # fmt: skip
"""Brackets and stars too: after the end of a row LaTeX would take them for an argument."""


class _Drawn:
    """Texts of one column and its width in letters."""

    def __init__(self, column: Column, texts: list[str], heading: bool) -> None:
        self.column, self.texts = column, texts
        cells = max(map(len, texts), default=1)
        lines = _lines(column.name, cells) if heading else []
        self.letters = max([cells, *map(len, lines)])
        self.align, stacked = "r" if column.numeric else "l", r"\\".join(map(escaped, lines))
        self.title = stacked if len(lines) < 2 else rf"\shortstack[{self.align}]{{{stacked}}}"

    def wrap(self) -> None:
        """Wrap a long text over several lines."""
        if self.letters > _TEXT and self.column.wrap and not self.column.numeric:
            self.letters = _TEXT
            self.align = rf">{{\raggedright\arraybackslash}}p{{{_TEXT * _LETTER:.1f}cm}}"


def _lines(name: str, room: int) -> list[str]:
    """Heading of a column on at most three lines, as few as its width and its longest word
    allow.
    """
    room = max([room, *map(len, name.split())])
    while len(lines := wrap(name, room, break_on_hyphens=False) or [""]) > _MOST_LINES:
        room += 1
    return lines


def escaped(text: str) -> str:
    """Text escaped for pdflatex; letters beyond Latin and the table of letters need lualatex."""
    letters = "".join(_LETTERS.get(letter, letter) for letter in " ".join(text.split()))
    return letters.replace("--", "-{}-")
