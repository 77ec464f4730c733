"""HTML page of a comparison in one file: runs, gaps to proved bounds, and pictures."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from ...instances.problem.errors import InvalidOption, UnknownName, install
from ...instances.problem.files import require_folder, write_text
from ...instances.problem.option_types import validate_options
from ...instances.problem.text import all_printable, sanitize_for_terminal
from ..run.rows import Row
from .console import require_writable
from .content import MOST_PICTURED, ProblemPart, build_page
from .drawing import require_matplotlib, save_pages, svg
from .picture import Picture, finding
from .read_runs import require_answers
from .table import bare, escaped, slug, stacked

_WIDE = 560
"""Pictures wider than this, in points, take the page's whole width."""
_PAGE = Path(__file__).resolve().parent / "assets"
PAGE_STYLE = _PAGE / "style.css"
"""The style of every page, with the colors of series in light and in dark."""


def require_report(path: Path | None, *inputs: str | Path) -> None:
    """Refuse a page that could not be made, before any work: no library, or a bad path."""
    if path is None:
        return
    try:
        import jinja2  # noqa: F401
    except ImportError:
        raise InvalidOption(f"a report needs jinja2 and matplotlib; {install('plot')}") from None
    require_matplotlib()
    require_writable(path, *inputs)


@validate_options
def write_report(
    rows: Iterable[Row],
    path: str | os.PathLike[str],
    *,
    figures: str | os.PathLike[str] | None = None,
    tables: str | os.PathLike[str] | None = None,
    command: str = "",
    shown: int = MOST_PICTURED,
    summary_only: bool = False,
    width: float | None = None,
    columns: Sequence[str] = (),
    progress: Callable[[str], None] | None = None,
) -> list[Path]:
    """Write rows of comparisons as one self-contained HTML page; returns the files written.

    Parameters
    ----------
    rows : as `Comparison.rows` holds them or `read_runs.read_runs` reads them, of any problems.
    path : of the page.
    figures : folder for the pictures of each problem: one PDF, a page a picture, and the LaTeX that
        includes them.
    tables : folder for the tables of each problem as CSV and LaTeX: gaps, wins, tests, those of its
        instances in one file, and every run (CSV alone).
    command : what a person types to get the page again; the comparisons' own commands when not
        given.
    shown : instances of each problem whose pictures are drawn; the tables of all are there.
    summary_only : leave out the instances and the list of every run.
    width : centimeters that LaTeX tables and figures fit: a page's, or a column's.
    columns : of LaTeX tables, by their headings: of the others those that have any of them keep
        their first alone.
    progress : called with what is being drawn.

    Raises
    ------
    InvalidFile
        There is no row with an answer, or a path cannot be written; nothing half-written is left.
    InvalidOption
        jinja2 or matplotlib is missing.
    UnknownName
        No table has a column of a name given.
    """
    listed: list[Row] = []
    for row in rows:
        if not isinstance(row, Mapping):
            raise InvalidOption(
                f"rows holds {row!r:.40}; expected rows as Comparison.rows has them"
            )
        listed.append(all_printable(row))  # names of others stand everywhere on the page
    require_report(Path(path))
    require_answers(listed, "the report")
    for folder in (figures, tables):
        require_folder(None if folder is None else Path(folder))
    content = build_page(
        listed, sanitize_for_terminal(command), shown=shown, summary_only=summary_only
    )
    headings = {bare(column.name): None for table in content.tables() for column in table.headings}
    for name in columns:
        if bare(name).casefold() not in map(str.casefold, headings):
            raise UnknownName("column", name, headings)
    drawn = content.pictures()
    page = render_page("comparison.html", content, drawn, progress or (lambda words: None))
    written = [write_text(path, page)]
    for problem in content.problems:
        if figures is not None and problem.drawn():
            written += _write_pictures(problem, Path(figures), width)
        if tables is not None:
            written += _write_tables(problem, Path(tables), width, columns)
    return written


def render_page(
    template: str,
    content: Any,
    pictures: Sequence[Picture],
    progress: Callable[[str], None] = lambda words: None,
    **values: Any,
) -> str:
    """Render a template of `assets` inside the frame of all pages.

    Parameters
    ----------
    template : its file.
    content : what the template and the frame call `made`; it has a title and says what it is about.
    pictures : those that the template draws.
    progress : called with what is being drawn.
    values : what else the template takes.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup, escape

    drawn: dict[int, str] = {}  # 1. Draw the pictures.
    for number, shown in enumerate(pictures, start=1):
        progress(shown.title)
        drawn[id(shown)] = _svg(shown, f"p{number}-")
    style, script = ((_PAGE / name).read_text("utf-8") for name in ("style.css", "script.js"))
    digest = base64.b64encode(sha256(script.encode()).digest()).decode()
    # Styles stay 'unsafe-inline': every mark of an SVG carries its own. Nothing else is allowed,
    # above all no address.
    policy = (  # 2. A content policy that allows the own script alone.
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src "
        "'unsafe-inline'; img-src data:"
    )
    environment = Environment(  # 3. Render the template.
        loader=FileSystemLoader(_PAGE),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        # names of others stand everywhere on a page
        finalize=lambda value: sanitize_for_terminal(value) if type(value) is str else value,
    )
    environment.globals |= {
        "csv": lambda table: escape(table.csv()),
        "draw": lambda shown: Markup(drawn[id(shown)]),
        "wide": lambda shown: _width(drawn[id(shown)]) > _WIDE,
        "slug": slug,
        "grouped": grouped,
        "plain": _plain,
        "finding": finding,
    }
    environment.filters["prose"] = _prose
    rendered: str = environment.get_template(template).render(
        made=content,
        policy=f"{policy}; base-uri 'none'; form-action 'none'",
        style=Markup(style),
        script=Markup(script),
        **values,
    )
    return rendered


def _svg(shown: Picture, prefix: str) -> str:
    from html import escape

    try:
        return svg(shown, prefix)
    except Exception as error:  # a picture that cannot be drawn never takes the page with it
        return (
            "<p class='problem'>This picture cannot be drawn: "
            f"{escape(f'{type(error).__name__}: {error}')}</p>"
        )


def _width(drawn: str) -> int:
    found = re.search(r"--wide:(\d+)px", drawn)
    return int(found[1]) if found else 0


def _plain(value: Any, text: str) -> str:
    """HTML attribute by which a numeric cell is sorted; "" where its text equals its value or it
    has none.
    """
    from markupsafe import Markup

    if not isinstance(value, int | float) or isinstance(value, bool):
        return ""
    try:
        same = float(text) == value
    except ValueError:
        same = False
    return "" if same else Markup(f' data-value="{float(value):.9g}"')


def grouped(text: str) -> str:
    """Text with thousands separators in long numbers (12,345); names and dates are unchanged."""
    return _LONG.sub(lambda found: f"{int(found[0]):,}", text)


_LONG = re.compile(r"(?<![\w.,/#])(?<!\w-)[1-9]\d{4,}(?!\w)")


def _prose(text: str) -> str:
    """Sentence as HTML: text between backticks as code, long numbers with separators."""
    from markupsafe import Markup, escape

    shown = str(escape(grouped(sanitize_for_terminal(text))))
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", shown))


def _unique(names: Sequence[str]) -> list[str]:
    taken: dict[str, int] = {}
    found = []
    for name in names:
        safe = re.sub(r"[^\w.-]+", "-", name).strip("-.")[:120] or "unnamed"
        taken[safe] = taken.get(safe, 0) + 1
        found.append(safe if taken[safe] == 1 else f"{safe}-{taken[safe]}")
    return found


def _write_pictures(problem: ProblemPart, folder: Path, width: float | None) -> list[Path]:
    """Write the pictures of a problem as pages of one PDF, with LaTeX of one figure a page."""
    pictures = problem.drawn()
    named = zip(pictures, _unique([picture.name for picture in pictures]), strict=True)
    figures = [
        f"\\begin{{figure}}\n\\centering\n\\includegraphics[page={number}]{{{problem.name}}}\n"
        f"\\caption{{{escaped(f'{picture.title}. {finding(picture)}')}}}\n"
        f"\\label{{fig:{name}}}\n\\end{{figure}}\n"
        for number, (picture, name) in enumerate(named, start=1)
    ]
    text = "\n".join(["% \\usepackage{graphicx}", *figures])
    file = folder / f"{problem.name}.pdf"
    return [save_pages(pictures, file, width), write_text(file.with_suffix(".tex"), text)]


def _write_tables(
    problem: ProblemPart, folder: Path, width: float | None, columns: Sequence[str]
) -> list[Path]:
    """Write the tables of a problem, those of one kind to one CSV and one LaTeX file."""
    written = []
    for kind, tables in problem.kinds().items():
        name = f"{problem.name}-{kind}"
        written.append(write_text(folder / f"{name}.csv", stacked(name, tables).csv()))
        if kind != "runs":
            pairs = zip(tables, _unique([table.name for table in tables]), strict=True)
            texts = [replace(each, name=one).only(columns).latex(width) for each, one in pairs]
            written.append(write_text(folder / f"{name}.tex", "\n".join(texts)))
    return written
