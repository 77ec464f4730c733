"""Tables as LaTeX that fits a page: by fewer columns, wrapped texts, or scaling."""

from __future__ import annotations

from textwrap import wrap
from typing import Any

from ...instances.problem.errors import InvalidOption

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

    def __init__(self, column: Any, texts: list[str], heading: bool) -> None:
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


def latex(table: Any, width: float = PAGE) -> str:
    """A `table` with a `tabular` in booktabs' rules; everything is escaped. Its first line names
    the packages it needs.

    Parameters
    ----------
    table : a `table.Table`, whose own method this is.
    width : of the line it fits, in centimeters. Columns of a rank are left out where there is no
        room, the highest rank first, and the caption names them; what is still wider is scaled.

    Raises
    ------
    InvalidOption
        The width is below 3 cm.
    """
    if not width >= LEAST_PAGE:
        raise InvalidOption(f"width is {width:g}; expected centimeters, at least {LEAST_PAGE:g}")

    # 1. The columns that have room.
    def wide() -> bool:
        return sum(_GAP + _LETTER * each.letters for each in shown) > width

    every = [
        _Drawn(column, texts, table.heading)
        for column, *texts in zip(table.headings, *table.texts(), strict=True)
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
    rows = [[escaped(each.texts[index]) for each in shown] for index in range(len(table.rows))]
    lines = [" & ".join(row) + r" \\" for row in rows]
    for each in every:
        for number, text in enumerate(each.texts):
            if each.column.below and text:
                whole = rf"\multicolumn{{{len(shown)}}}{{p{{{width - _GAP:.1f}cm}}}}"
                lines[number] += f"\n{whole}{{\\raggedright {escaped(text)}}} \\\\[2pt]"
    if table.heading:
        lines = [" & ".join(each.title for each in shown) + r" \\", r"\midrule", *lines]
    # 3. The whole, with its caption.
    sentences = [table.title, table.caption, *table.notes]
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
        rf"\label{{tab:{table.name}}}", r"\end{table}", "",
    ])  # fmt: skip


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
