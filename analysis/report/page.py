"""Pages of results as data, and their HTML: one file that loads nothing from elsewhere."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from ...instances.problem.errors import InvalidOption, install
from ...instances.problem.files import write_text
from ...instances.problem.option_types import validate_options
from ...instances.problem.text import sanitize_for_terminal
from .console import require_writable
from .drawing import require_matplotlib, svg
from .picture import Picture, finding
from .table import Table, slug

_WIDE = 560
"""Pictures wider than this, in points, take the page's whole width."""
_ASSETS = Path(__file__).resolve().parent / "assets"
PAGE_STYLE = _ASSETS / "style.css"
"""The style of every page, with the colors of series in light and in dark."""


@dataclass(frozen=True)
class Part:
    """Section of a page: sentences, tables and pictures, then sections of its own.

    Attributes
    ----------
    title : its heading.
    sentences, tables, pictures : shown in this order.
    decision : sentence that decides, shown large above the tables; "" for none.
    answer : the whole answer behind the decision, collapsed, which a reader can copy as CSV.
    notes : what could not be shown, and why.
    folded : whether the section is collapsed at first.
    parts : sections inside this one.
    """

    title: str
    sentences: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    pictures: tuple[Picture, ...] = ()
    decision: str = ""
    answer: Table | None = None
    notes: tuple[str, ...] = ()
    folded: bool = False
    parts: tuple[Part, ...] = ()

    def every(self) -> Iterator[Part]:
        """The section, then all sections inside it, in the order of the page."""
        yield self
        for part in self.parts:
            yield from part.every()

    def drawn(self) -> list[Picture]:
        """Pictures of the section and of the sections inside it."""
        return [shown for part in self.every() for shown in part.pictures]


@dataclass(frozen=True)
class Page:
    """Page about a comparison, a cluster or a log of jobs, before it is written.

    Attributes
    ----------
    title, about : what was asked, and of what.
    parts : its sections, after those of the fields below.
    warnings : text and cure ("" for none) of whatever makes the answer one about something else
        than the user's data.
    numbers : the few that decide, each with the sentence that says what it is and what is proved.
    decision : sentences that have no number.
    lists : names that decide (nodes that are freed, or idle), by what they are.
    commands : what a person types to get the page again.
    notes : on the commands.
    versions : of the libraries that computed the answers.
    """

    title: str
    about: str
    parts: tuple[Part, ...] = ()
    warnings: tuple[tuple[str, str], ...] = ()
    numbers: tuple[tuple[str, str], ...] = ()
    decision: tuple[str, ...] = ()
    lists: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    commands: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    versions: Table | None = None

    def pictures(self) -> list[Picture]:
        """Every picture in the order of the page."""
        return [shown for part in self.parts for shown in part.drawn()]

    def tables(self) -> Iterator[Table]:
        """Every table of the sections, with the answers and the numbers of the pictures."""
        for part in (each for section in self.parts for each in section.every()):
            found = (*part.tables, part.answer, *(shown.table() for shown in part.pictures))
            yield from (table for table in found if table is not None)


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
def write_page(
    page: Page, path: str | os.PathLike[str], progress: Callable[[str], None] | None = None
) -> Path:
    """Write a page as one HTML file that needs no network, and return its path.

    Parameters
    ----------
    page : what it shows.
    path : of the file.
    progress : called with what is being drawn.

    Raises
    ------
    InvalidFile
        The page cannot be written.
    InvalidOption
        jinja2 or matplotlib is missing.
    """
    require_report(Path(path))
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup, escape

    drawn: dict[int, str] = {}  # 1. Draw the pictures.
    for number, shown in enumerate(page.pictures(), start=1):
        if progress is not None:
            progress(shown.title)
        drawn[id(shown)] = _svg(shown, f"p{number}-")
    style, script = ((_ASSETS / name).read_text("utf-8") for name in ("style.css", "script.js"))
    digest = base64.b64encode(sha256(script.encode()).digest()).decode()
    # Styles stay 'unsafe-inline': every mark of an SVG carries its own. Nothing else is allowed,
    # above all no address.
    policy = (  # 2. A content policy that allows the own script alone.
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src "
        "'unsafe-inline'; img-src data:"
    )
    environment = Environment(  # 3. Render the template.
        loader=FileSystemLoader(_ASSETS),
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
    rendered = environment.get_template("page.html").render(
        page=page,
        policy=f"{policy}; base-uri 'none'; form-action 'none'",
        style=Markup(style),
        script=Markup(script),
    )
    return write_text(path, rendered)


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
