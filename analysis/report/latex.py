"""A table as LaTeX that fits a page: smaller letters, then more lines, then fewer columns."""

from __future__ import annotations

from math import floor
from textwrap import wrap
from typing import Any

from ...instances.problem.errors import InvalidOption

PAGE = 12.1
"""Centimeters of a line of LaTeX's `article` on A4 paper; a column of two takes about 8.5."""

LEAST_PAGE = 3.0

_SIZES = {"": 0.19, r"\small": 0.172, r"\footnotesize": 0.155}
"""Centimeters that a letter takes on average, a little more than Computer Modern's."""

_GAP = 0.29
"""Between two columns, at 4pt on either side."""

_TEXT = 2.2
"""Centimeters below which a text is a tower of words."""

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


def latex(table: Any, width: float = PAGE) -> str:
    """A `table` with a `tabular` in booktabs' rules; everything is escaped. Its first line names
    the packages it needs.

    Parameters
    ----------
    table : a `table.Table`, whose own method this is.
    width : of the line it fits, in centimeters. Columns of a rank are left out where there is no
        room, the highest rank first, and the caption names them.

    Raises
    ------
    InvalidOption
        The width is below 3 cm.
    """
    if not width >= LEAST_PAGE:
        raise InvalidOption(f"width is {width:g}; expected centimeters, at least {LEAST_PAGE:g}")
    texts = table.texts()
    drawn = [
        _Drawn(column, [row[place] for row in texts], table.heading)
        for place, column in enumerate(table.headings)
    ]
    return _Page(table, drawn, width).text()


class _Drawn:
    """One column's texts, and the letters that it takes."""

    def __init__(self, column: Any, texts: list[str], heading: bool) -> None:
        self.column, self.texts = column, texts
        self.wraps = not column.numeric and column.wrap
        cells = max(map(len, texts), default=1)
        self.heading = _lines(column.name, cells) if heading else []
        self.letters = max([cells, *map(len, self.heading)])
        self.wide: float | None = None

    @property
    def align(self) -> str:
        """Its letter in the tabular's argument."""
        if self.wide is not None:
            return rf">{{\raggedright\arraybackslash}}p{{{floor(10 * self.wide) / 10:.1f}cm}}"
        return "r" if self.column.numeric else "l"

    @property
    def title(self) -> str:
        """Its heading, on several lines where it is longer than what stands below."""
        lines = [escaped(line) for line in self.heading]
        side = "r" if self.column.numeric else "l"
        stacked = r"\\".join(lines)
        return stacked if len(lines) == 1 else rf"\shortstack[{side}]{{{stacked}}}"


class _Page:
    """The columns that fit a width, and how."""

    def __init__(self, table: Any, drawn: list[_Drawn], width: float) -> None:
        self.table, self.width = table, width
        self.below = [each for each in drawn if each.column.below]
        self.shown = [each for each in drawn if not each.column.below]
        self.left_out = list[str]()
        self.size = next((size for size in _SIZES if self._fits(size)), list(_SIZES)[-1])
        while not self._wrapped() and len(self.shown) > 1:
            ranked = max(self.shown, key=lambda each: each.column.rank)
            if not ranked.column.rank:
                break
            self.shown.remove(ranked)
            self.left_out.append(ranked.column.name)
        self.shrunk = not self._wrapped()

    def _room(self, size: str) -> float:
        return self.width - _GAP * len(self.shown) - sum(
            _SIZES[size] * each.letters for each in self.shown if each.wide is None
        )  # fmt: skip

    def _fits(self, size: str) -> bool:
        return self._room(size) >= 0

    def _wrapped(self) -> bool:
        """Whether the columns fit when the texts too long are set on several lines."""
        for each in self.shown:
            each.wide = None
        if self._fits(self.size):
            return True
        texts = [each for each in self.shown if each.wraps and each.letters * 0.155 > _TEXT]
        natural = {id(each): _SIZES[self.size] * each.letters for each in texts}
        room = self._room(self.size) + sum(natural.values())
        if not texts or room < _TEXT * len(texts):
            return False
        for rank, each in enumerate(sorted(texts, key=lambda each: natural[id(each)])):
            each.wide = min(natural[id(each)], room / (len(texts) - rank))
            room -= each.wide
        return True

    def text(self) -> str:
        """The whole table."""
        needed = ["booktabs", *["array"] * any(each.wide is not None for each in self.shown)]
        needed += ["graphicx"] * self.shrunk
        lines = [f"% \\usepackage{{{','.join(needed)}}}", r"\begin{table}", r"\centering"]
        lines += [self.size] if self.size else []
        lines += [r"\setlength{\tabcolsep}{4pt}"]
        lines += [rf"\resizebox{{{self.width:.1f}cm}}{{!}}{{%"] if self.shrunk else []
        lines += [
            rf"\begin{{tabular}}{{{''.join(each.align for each in self.shown)}}}",
            r"\toprule",
        ]
        if self.table.heading:
            lines += [" & ".join(each.title for each in self.shown) + r" \\", r"\midrule"]
        whole = rf"\multicolumn{{{len(self.shown)}}}{{p{{{self.width - _GAP:.1f}cm}}}}"
        for number, row in enumerate(zip(*(each.texts for each in self.shown), strict=True)):
            lines.append(" & ".join(map(escaped, row)) + r" \\")
            texts = [each.texts[number] for each in self.below if each.texts[number]]
            lines += [
                rf"{whole}{{\raggedright\footnotesize {escaped(text)}}} \\[2pt]" for text in texts
            ]
        lines += [r"\bottomrule", r"\end{tabular}" + ("}" if self.shrunk else "")]
        table = self.table
        sentences = [table.title, table.caption, *table.notes]
        sentences += [f"Left out: {', '.join(self.left_out)}"] if self.left_out else []
        words = ". ".join(part.rstrip(".") for part in sentences if part)
        lines += [rf"\caption{{{escaped(words)}.}}"] if words else []
        return "\n".join([*lines, rf"\label{{tab:{table.name}}}", r"\end{table}", ""])


def escaped(text: str) -> str:
    """Text as pdflatex sets it; letters beyond Latin and the table of letters need lualatex."""
    return "".join(_LETTERS.get(letter, letter) for letter in " ".join(text.split())).replace(
        "--", "-{}-"
    )


def _lines(name: str, room: int) -> list[str]:
    """A heading on as few lines as its column's letters and its longest word allow."""
    room = max([room, *map(len, name.split())])
    while len(lines := wrap(name, room, break_on_hyphens=False) or [""]) > _MOST_LINES:
        room += 1
    return lines


_MOST_LINES = 3
"""Lines of a heading; a column is wider rather than its heading taller."""
