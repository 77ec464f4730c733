"""Drawing of pictures with matplotlib: PDF and PNG for papers, SVG in the colors of the page."""

from __future__ import annotations

import io
import math
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from hashlib import sha256
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...instances.problem.errors import InvalidOption, install
from ...instances.problem.files import require_folder, write_bytes
from ...instances.problem.option_types import validate_options
from ...instances.problem.text import sanitize_for_terminal
from .picture import BlockChart, Chart, HeatMap, Picture
from .plotting import COLOURS, INK, blocks_figure, chart_figure, heat_map_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = ("pdf", "png", "svg")

PAGE_WIDTH = 10.8
"""Centimeters of a chart on the page: its letters can be read where it is as wide as a phone."""

LEAST_WIDTH = 5.0
"""Centimeters of a picture whose letters and axes still have room."""


def require_matplotlib() -> None:
    """Refuse to draw without matplotlib, saying how to get it."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise InvalidOption(f"drawing needs matplotlib; {install('plot')}") from None


def figure(picture: Picture, width: float | None = None) -> Figure:
    """Picture as a matplotlib figure, `width` centimeters wide, without its title."""
    require_matplotlib()
    inches = None if width is None else width / 2.54
    with _look(picture):
        if isinstance(picture, Chart):
            return chart_figure(picture, inches)
        if isinstance(picture, HeatMap):
            return heat_map_figure(picture, inches)
        if isinstance(picture, BlockChart):
            return blocks_figure(picture, inches)
        drawn = picture.draw()
        if inches is not None and (scale := inches / drawn.get_figwidth()) < 1:
            drawn.set_size_inches(inches, scale * drawn.get_figheight())
            for text in drawn.findobj(lambda each: hasattr(each, "set_fontsize")):
                text.set_fontsize(scale * text.get_fontsize())  # type: ignore[attr-defined]
        return drawn


def svg(picture: Picture, prefix: str = "") -> str:
    """Picture as an SVG element for a page: with title and description, in the page's text color.

    A page may give the colors of series as the custom properties `--series-1`, `--series-2`, ...;
    `--wide` of the element is its width at which text is as large as in print.

    Parameters
    ----------
    prefix : put before every id inside, so that several pictures can stand on one page; made of
        the picture when not given.
    """
    drawn = figure(picture, PAGE_WIDTH if isinstance(picture, Chart | BlockChart) else None)
    stream = io.StringIO()  # 1. The SVG of matplotlib, without its style.
    with _look(picture):
        drawn.savefig(stream, format="svg", metadata={"Date": None}, transparent=True)
    text = stream.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    # a rule for the whole page, otherwise
    text = re.sub(r"<defs>\s*<style.*?</style>\s*</defs>", "", text, flags=re.DOTALL)
    text = _tipped(text, picture)
    own = sha256(text.encode()).hexdigest()[:8]  # two pictures of one name may share a notebook
    mark = prefix or f"{re.sub(r'[^A-Za-z0-9]+', '-', picture.name)}-{own}-"
    used = dict.fromkeys(re.findall(r'(?:xlink:href="#|url\(#)([^")]+)', text))
    ids = {name: f"{mark}{place}" for place, name in enumerate(used)}  # 2. Ids.
    text = re.sub(
        r' id="([^"]+)"',
        lambda found: f' id="{ids[found[1]]}"' if found[1] in ids else "",
        text,
    )
    text = re.sub(
        r'(xlink:href="#|url\(#)([^")]+)', lambda found: f"{found[1]}{ids[found[2]]}", text
    )
    text = text.replace(INK, "currentColor").replace("#000000", "currentColor")
    for place, color in enumerate(COLOURS, start=1):  # 3. Colors, fonts, shorter numbers.
        text = re.sub(
            rf": {color}\b", f": var(--series-{place},{color.lower()})", text, flags=re.IGNORECASE
        )
    # the element's own, and with it the reader's
    text = re.sub(r" font-family: [^;\"]*;", "", text)
    text = re.sub(r"font: ([^;\"]*?)'DejaVu Sans'[^;\"]*", r"font: \1system-ui, sans-serif", text)
    text = re.sub(r' transform="rotate\(-0 [^"]*"', "", text)
    # fewer letters, as a page of twenty instances is to stay small: a hundredth of a point will do
    text = re.sub(r">\s+<", "><", text)
    text = re.sub(r' (?:d|x|y|width|height|style)="[^"]*"', _shorter, text)
    title, description = f"{mark}title", f"{mark}description"  # 4. Title, description and size.
    wide = re.search(r'width="([\d.]+)pt"', text[: text.index(">")])
    width = float(wide[1]) if wide else 400
    style = f"font-family:system-ui,sans-serif;stroke-linejoin:round;--wide:{width:.0f}px"
    label = f' role="img" aria-labelledby="{title} {description}" style="{style}"'
    inside = (
        f'<title id="{title}">{_marked(picture.title)}</title><desc '
        f'id="{description}">{_marked(picture.alt)}</desc>'
    )
    opening = text[: text.index(">")]
    opening = re.sub(r' (width|height)="[^"]*"', "", opening)
    return f"{opening}{label}>{inside}{text[text.index('>') + 1 :]}"


def _shorter(attribute: re.Match[str]) -> str:
    """SVG attribute with its numbers rounded to 0.01 point and its style without spaces."""
    text = re.sub(r"(\.\d\d)\d+", r"\1", attribute[0]).replace("\n", "")
    return text.replace("; ", ";").replace(": ", ":")


@validate_options
def save(
    pictures: Iterable[Picture],
    folder: str | os.PathLike[str],
    formats: Sequence[str] = ("pdf", "png"),
    width: float | None = None,
) -> list[Path]:
    """Write each picture into `folder` as NAME.pdf, NAME.png (or .svg), each whole or not at all.

    Parameters
    ----------
    width : centimeters of the column it is for: charts and heat maps are made so wide, with letters
        of their usual size.

    Raises
    ------
    InvalidOption
        A format that is none, or a width below 5 cm.
    """
    _require_width(width)
    _require_formats(formats)
    require_folder(folder := Path(folder))
    written = []
    for picture in pictures:
        if not isinstance(picture, Picture):
            raise InvalidOption(f"pictures holds {picture!r:.40}; expected pictures")
        drawn = figure(picture, width)
        for form in formats:
            content = _encoded(drawn, picture, form, tight=width is None)
            written.append(write_bytes(folder / f"{picture.name}.{form}", content))
    return written


def save_pages(pictures: Iterable[Picture], file: Path, width: float | None = None) -> Path:
    """Write pictures as the pages of one PDF; see `save`."""
    from matplotlib.backends.backend_pdf import PdfPages

    _require_width(width)
    require_folder(file.parent)
    stream, box = io.BytesIO(), "tight" if width is None else None
    with PdfPages(stream, metadata={"CreationDate": None}) as pages:
        for picture in pictures:
            drawn = figure(picture, width)
            with _look(picture):
                pages.savefig(drawn, facecolor="white", bbox_inches=box)
    return write_bytes(file, stream.getvalue())


def save_as(picture: Picture, file: Path) -> Path:
    """Write a picture into a file whose name ends in .pdf, .png or .svg; see `save`."""
    form = file.suffix[1:].lower()
    _require_formats([form])
    return write_bytes(file, _encoded(figure(picture), picture, form))


def _require_width(width: float | None) -> None:
    if width is not None and not width >= LEAST_WIDTH:
        raise InvalidOption(f"width is {width:g}; expected centimeters, at least {LEAST_WIDTH:g}")


def _require_formats(formats: Sequence[str]) -> None:
    if unknown := [form for form in formats if form not in FORMATS]:
        raise InvalidOption(f"format is {unknown[0]!r}; expected one of {', '.join(FORMATS)}")


def _encoded(drawn: Figure, picture: Picture, form: str, tight: bool = True) -> bytes:
    """Content of a picture file, in the format of its ending, with the figure."""
    stream = io.BytesIO()
    stamp: dict[str, Any] = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}.get(form, {})
    with _look(picture):
        drawn.savefig(
            stream,
            format=form,
            dpi=200,
            bbox_inches="tight" if tight else None,
            metadata=stamp,
            facecolor="white",
        )
    return stream.getvalue()


def _look(picture: Picture) -> AbstractContextManager[None]:
    """Context with our matplotlib settings, for drawing a figure and for writing it."""
    import matplotlib as mpl

    ink: dict[Any, Any] = dict.fromkeys(
        ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), INK
    )
    look: dict[Any, Any] = {
        **dict.fromkeys(("figure.facecolor", "axes.facecolor", "savefig.facecolor"), "none"),
        **{
            "font.size": 9,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "legend.frameon": False,
        },
        **{"axes.grid": True, "axes.axisbelow": True, "grid.alpha": 0.18, "grid.color": INK},
        **{"svg.fonttype": "none", "svg.hashsalt": picture.name, "pdf.fonttype": 42},
        # a matplotlibrc of the current folder may set it: names of others would be run by TeX
        "text.usetex": False,
    }
    return mpl.rc_context({**ink, **look})


def _tipped(text: str, picture: Picture) -> str:
    """SVG with tooltips: a <title> in each marker of the groups that `_points` marked."""
    series = picture.series if isinstance(picture, Chart) else ()
    for place, entry in enumerate(series):
        start = text.find(f'id="tips-{place}"')
        drawn = [
            x is not None and y is not None and math.isfinite(y)
            for x, y in zip(entry.x, entry.y, strict=True)
        ]
        tips = iter([tip for tip, there in zip(entry.tips, drawn, strict=False) if there])
        if start < 0 or not any(drawn):
            continue

        def with_tip(found: re.Match[str], tips: Iterator[str] = tips) -> str:
            return f"<use{found[1]}><title>{_marked(next(tips, ''))}</title></use>"

        text = text[:start] + re.sub(r"<use\b([^>]*)/>", with_tip, text[start:], count=sum(drawn))
    return text


def _marked(text: str) -> str:
    """Text escaped for SVG."""
    return escape(sanitize_for_terminal(text))
