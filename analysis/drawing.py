"""Pictures drawn by matplotlib: PDF and PNG for papers, and SVG that takes the colours of the page it stands in."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ..instances.problem.errors import InvalidFile, InvalidOption
from ..instances.problem.files import write_bytes
from .label_places import label_places
from .picture import Chart, HeatMap, Picture, Scale, Series

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F7F7F", "#A6761D", "#6A3D9A", "#B2182B")
"""Okabe and Ito's palette without black and yellow (unreadable on a dark or a light page), and four more."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p")
"""A series is told by its marker too, for who does not see its colour."""

DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1.2, 1.2)), (0, (6, 1.5, 1.2, 1.5)), (0, (3, 1)))
"""And lines without markers by their dashes."""

INK = "#010203"
"""The colour of text and axes; in an SVG it becomes that of the page's text."""

FORMATS = ("pdf", "png", "svg")
_SIZE = (5.8, 3.7)
_MOST_LABELS = 60
"""Names beside points; the others are in the picture's table."""
_MOST_NUMBERS = 16
"""A heat map with at most this many rows and columns says its values in its cells."""


def require_matplotlib() -> None:
    """Refuse to draw without matplotlib, saying how to get it."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise InvalidOption("drawing needs matplotlib; pip install 'cotenant[plot]'") from None


def figure(picture: Picture) -> Figure:
    """The picture as a matplotlib figure; its title is left to the caption."""
    require_matplotlib()
    with _look(picture):
        if isinstance(picture, Chart):
            return _chart(picture)
        if isinstance(picture, HeatMap):
            return _heat_map(picture)
        return picture.draw()


def svg(picture: Picture, prefix: str = "") -> str:
    """The picture as an SVG element for a page: titled, described, in the page's own text colour.

    A page may give the colours of series as the custom properties `--series-1`, `--series-2`, ...; `--wide` of the element is
    its width at which text is as large as in print.

    Parameters
    ----------
    prefix : put before every id inside, so that several pictures can stand on one page.
    """
    drawn = figure(picture)
    stream = io.StringIO()
    with _look(picture):
        drawn.savefig(stream, format="svg", metadata={"Date": None}, transparent=True)
    text = stream.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r"<defs>\s*<style.*?</style>\s*</defs>", "", text, flags=re.DOTALL)  # a rule for the whole page, otherwise
    text = _tipped(text, picture)
    mark = f"{prefix}{picture.name}-"
    text = re.sub(r'\bid="([^"]+)"', rf'id="{mark}\1"', text)
    text = re.sub(r'(xlink:href="#|url\(#)', rf"\1{mark}", text)
    text = text.replace(INK, "currentColor").replace("#000000", "currentColor")
    for place, colour in enumerate(COLOURS, start=1):
        text = re.sub(rf": {colour}\b", f": var(--series-{place},{colour.lower()})", text, flags=re.IGNORECASE)
    text = re.sub(r"font: ([^;\"]*?)'DejaVu Sans'[^;\"]*", r"font: \1system-ui, sans-serif", text)
    text = re.sub(r' (?:d|x|y|width|height)="[^"]*"', _rounded, text)
    title, description = f"{mark}title", f"{mark}description"
    wide = re.search(r'width="([\d.]+)pt"', text[: text.index(">")])
    style = f"stroke-linejoin:round;--wide:{float(wide[1]) if wide else 72 * _SIZE[0]:.0f}px"
    label = f' role="img" aria-labelledby="{title} {description}" style="{style}"'
    inside = f'<title id="{title}">{escape(picture.title)}</title><desc id="{description}">{escape(picture.alt)}</desc>'
    opening = text[: text.index(">")]
    opening = re.sub(r' (width|height)="[^"]*"', "", opening)
    return f"{opening}{label}>{inside}{text[text.index('>') + 1 :]}"


def save(pictures: Iterable[Picture], folder: Path, formats: Sequence[str] = ("pdf", "png")) -> list[Path]:
    """Write each picture into `folder` as NAME.pdf, NAME.png (or .svg), each whole or not at all."""
    if unknown := [form for form in formats if form not in FORMATS]:
        raise InvalidOption(f"format is {unknown[0]!r}; expected one of {', '.join(FORMATS)}")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidFile(f"{folder} cannot be made: {error.strerror}; choose a folder that can be written") from None
    written = []
    for picture in pictures:
        drawn = figure(picture)
        for form in formats:
            stream = io.BytesIO()
            stamp: dict[str, Any] = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}.get(form, {})
            with _look(picture):
                drawn.savefig(stream, format=form, dpi=200, bbox_inches="tight", metadata=stamp, facecolor="white")
            written.append(write_bytes(folder / f"{picture.name}.{form}", stream.getvalue()))
    return written


def _look(picture: Picture) -> AbstractContextManager[None]:
    """The house's settings of matplotlib, for making a figure and for writing it."""
    import matplotlib as mpl

    ink: dict[Any, Any] = dict.fromkeys(("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), INK)
    look: dict[Any, Any] = {"font.size": 9, "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "grid.alpha": 0.18,
            "legend.frameon": False, "figure.facecolor": "none", "axes.facecolor": "none", "savefig.facecolor": "none",
            "grid.color": INK, "axes.axisbelow": True, "svg.fonttype": "none", "svg.hashsalt": picture.name,
            "pdf.fonttype": 42}  # fmt: skip
    return mpl.rc_context({**ink, **look})


def _tipped(text: str, picture: Picture) -> str:
    """What a pointer is told: a <title> in each marker of the groups that `_points` marked."""
    series = picture.series if isinstance(picture, Chart) else ()
    for place, entry in enumerate(series):
        start = text.find(f'id="tips-{place}"')
        if start < 0:
            continue
        tips = iter([tip for tip, x, y in zip(entry.tips, entry.x, entry.y, strict=True) if x is not None and y is not None])
        end = start + re.sub(r"<defs>.*?</defs>", lambda found: " " * len(found[0]), text[start:], flags=re.DOTALL).index(
            "</g>\n   </g>"
        )

        def told(found: re.Match[str], tips: Iterator[str] = tips) -> str:
            return f"<use{found[1]}><title>{escape(next(tips, ''))}</title></use>"

        text = text[:start] + re.sub(r"<use\b([^>]*)/>", told, text[start:end]) + text[end:]
    return text


def _rounded(found: re.Match[str]) -> str:
    """Numbers of an attribute to a hundredth of a point."""
    return re.sub(r"(\.\d\d)\d+", r"\1", found[0])


def _chart(chart: Chart) -> Figure:
    from matplotlib.figure import Figure

    longest = max((len(series.name) for series in chart.series), default=0)
    columns = max(1, min(4, len(chart.series), 80 // (longest + 6)))
    deep = -(-len(chart.series) // columns) if len(chart.series) > 1 else 0
    drawn = Figure(figsize=(_SIZE[0], _SIZE[1] + 0.18 * max(deep - 1, 0)), layout="constrained")
    axes = drawn.add_subplot()
    names = list(dict.fromkeys(x for series in chart.series for x in series.x if isinstance(x, str)))
    bars = [place for place, series in enumerate(chart.series) if series.style == "bars"]
    for place, series in enumerate(chart.series):
        x = [_number(names.index(value) if isinstance(value, str) else value) for value in series.x]
        colour = INK if series.strong else COLOURS[place % len(COLOURS)]
        if series.style == "bars":
            width = 0.8 / len(bars)
            x = [value + (bars.index(place) - (len(bars) - 1) / 2) * width for value in x]
            axes.bar(x, list(map(_number, series.y)), width, label=_said(series.name), color=colour, edgecolor=INK, linewidth=0.4)
        _points(axes, series, x, colour, place)
    if names:
        long = sum(map(len, names)) > 45
        axes.set_xticks(range(len(names)), map(_said, names), rotation=60 if long else 0, ha="right" if long else "center")
    axes.set_xlabel(_said(chart.x_label))
    axes.set_ylabel(_said(chart.y_label))
    if not names:
        _scale(axes, "x", chart.x_scale, [value for series in chart.series for value in series.x])
    _scale(axes, "y", chart.y_scale, [value for series in chart.series for value in series.y])
    if len(chart.series) > 1:
        drawn.legend(loc="outside upper center", ncols=columns, fontsize=8)
    if any(series.labels for series in chart.series):
        _name_points(drawn, axes, chart.series, names)
    return drawn


def _scale(axes: Axes, which: Literal["x", "y"], scale: Scale, values: Iterable[Any]) -> None:
    """Set an axis' scale; a logarithmic one that has to show zeros is linear up to the least positive value."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

    known = [float(value) for value in values if value is not None and math.isfinite(value)]
    positive = [value for value in known if value > 0]
    change, axis = getattr(axes, f"set_{which}scale"), getattr(axes, f"{which}axis")
    if scale == "linear" or not positive:
        return
    if scale == "symlog" or len(positive) < len(known):
        change("symlog", linthresh=1.0 if scale == "symlog" else min(positive))
        return
    change("log")
    if max(positive) / min(positive) < 30:  # ticks at powers of ten alone would be one or two
        low = math.floor(math.log10(min(positive)))
        ticks = [step * 10.0**power for power in range(low, low + 4) for step in (1, 1.5, 2, 3, 5, 7)]
        narrow = max(positive) < 2 * min(positive)
        axis.set_major_locator(MaxNLocator(5) if narrow else FixedLocator(ticks))
        axis.set_minor_locator(NullLocator())
    if 1e-4 < min(positive) and max(positive) < 1e5:
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def _points(axes: Axes, series: Series, x: Sequence[float], colour: str, place: int) -> None:
    """Everything of a series but its bars and names: line, markers, intervals, and what a pointer is told."""
    if series.style == "bars":
        _intervals(axes, series, x)
        return
    y = list(map(_number, series.y))
    marked = "points" in series.style
    look: dict[str, Any] = {"color": colour, "linewidth": 2.0 if series.strong else 1.5}
    look["linestyle"] = "" if series.style == "points" else "-" if series.strong or marked else DASHES[place % len(DASHES)]
    if series.style.startswith("step"):
        look["drawstyle"] = "steps-post"
    if marked:
        look |= {"marker": MARKERS[place % len(MARKERS)], "markersize": 5.5, "markeredgewidth": 0}
    shown = axes.plot(x, y, label=_said(series.name), **look)[0]
    if series.tips and marked:
        shown.set_gid(f"tips-{place}")
    _intervals(axes, series, x)


def _intervals(axes: Axes, series: Series, x: Sequence[float]) -> None:
    if not series.low:
        return
    y = list(map(_number, series.y))
    down = [max(value - _number(low), 0.0) for value, low in zip(y, series.low, strict=True)]
    above = [max(_number(high) - value, 0.0) for value, high in zip(y, series.high, strict=True)]
    axes.errorbar(x, y, yerr=[down, above], fmt="none", ecolor=INK, elinewidth=0.8, capsize=2)


def _name_points(drawn: Figure, axes: Axes, series: Sequence[Series], names: Sequence[str]) -> None:
    """Names beside points where they cover nothing, joined by a thin line to a point that is not next to them."""
    drawn.draw_without_rendering()  # settles the layout, and with it where the points are
    to_page = 72 / drawn.dpi
    named, bare = [], []
    for entry in series:
        labels = entry.labels or ("",) * len(entry.x)
        for label, x, y in zip(labels, entry.x, entry.y, strict=True):
            at = (_number(names.index(x) if isinstance(x, str) else x), _number(y))
            if all(map(math.isfinite, at)):
                (named if label and len(named) < _MOST_LABELS else bare).append((label, at))
    points = [axes.transData.transform(at) * to_page for _, at in [*named, *bare]]
    renderer = drawn._get_renderer()  # type: ignore[attr-defined]
    texts = [axes.annotate(_said(label), at, xytext=(0, 0), textcoords="offset points", fontsize=8) for label, at in named]
    boxes = [text.get_window_extent(renderer) for text in texts]
    frame = axes.get_window_extent(renderer)
    frame_box = (frame.x0 * to_page, frame.y0 * to_page, frame.x1 * to_page, frame.y1 * to_page)
    sizes = [(box.width * to_page, box.height * to_page) for box in boxes]
    lines = [place for line in axes.lines if line.get_linestyle() != "None" for place in _along(line, to_page)]
    places = label_places([(float(x), float(y)) for x, y in points], sizes, frame_box, lines)
    for text, place, (_, at), point in zip(texts, places, named, points, strict=False):
        text.remove()
        left, low = float(place[0] - point[0]), float(place[1] - point[1])
        far = math.dist(point, ((place[0] + place[2]) / 2, (place[1] + place[3]) / 2)) > 10 + (place[2] - place[0]) / 2
        line: dict[str, Any] = {"arrowstyle": "-", "color": INK, "linewidth": 0.5, "alpha": 0.5, "shrinkB": 3, "shrinkA": 0}
        axes.annotate(
            text.get_text(), at, xytext=(left, low), textcoords="offset points", fontsize=8, annotation_clip=False,
            arrowprops=line if far else None, in_layout=False,
        )  # fmt: skip


def _along(line: Line2D, to_page: float) -> list[tuple[float, float]]:
    """Places every few points along a line, on the page."""
    import numpy as np

    vertices = np.array(line.get_xydata(), dtype=float)
    if line.get_drawstyle() == "steps-post" and len(vertices):
        corners = np.column_stack([vertices[1:, 0], vertices[:-1, 1]])
        vertices = np.concatenate([np.stack([vertices[:-1], corners], 1).reshape(-1, 2), vertices[-1:]])
    corners = line.get_transform().transform(vertices) * to_page
    found: list[tuple[float, float]] = []
    for one, other in zip(corners[:-1], corners[1:], strict=True):
        far = math.dist(one, other)
        if math.isfinite(far):
            share = np.linspace(0, 1, max(2, min(200, int(far / 4))))[:, None]
            found += [(float(x), float(y)) for x, y in one + share * (other - one)]
    return found


def _number(value: Any) -> float:
    return math.nan if value is None else float(value)


def _said(text: str) -> str:
    """Text as it is: matplotlib takes what stands between dollars for mathematics, and hides legends that begin with "_"."""
    return ("\u200b" if text.startswith("_") else "") + text.replace("$", r"\$")


def _heat_map(chart: HeatMap) -> Figure:
    import numpy as np
    from matplotlib.colors import TwoSlopeNorm
    from matplotlib.figure import Figure

    values = np.array([[np.nan if value is None else value for value in row] for row in chart.values], dtype=float)
    if values.size == 0:
        values = np.full((max(len(chart.y_names), 1), max(len(chart.x_names), 1)), np.nan)
    rows, columns = values.shape
    drawn = Figure(
        figsize=(max(4.0, min(12.0, 1.6 + 0.5 * columns)), max(3.0, min(12.0, 1.0 + 0.4 * rows))), layout="constrained"
    )
    axes = drawn.add_subplot()
    axes.grid(False)
    norm = None
    least, most = (float(np.nanmin(values)), float(np.nanmax(values))) if np.isfinite(values).any() else (0.0, 1.0)
    if chart.centre is not None:
        spread = max(most - chart.centre, chart.centre - least, 1e-9)
        norm = TwoSlopeNorm(chart.centre, chart.centre - spread, chart.centre + spread)
    shown = axes.imshow(values, cmap="cividis" if norm is None else "PuOr", norm=norm, aspect="auto", interpolation="nearest")
    axes.set_xticks(
        range(len(chart.x_names)), map(_said, chart.x_names), rotation=60, ha="right", fontsize=7 if columns > 12 else 8
    )
    axes.set_yticks(range(len(chart.y_names)), map(_said, chart.y_names), fontsize=7 if rows > 12 else 8)
    axes.set_xlabel(_said(chart.x_label))
    axes.set_ylabel(_said(chart.y_label))
    drawn.colorbar(shown, ax=axes, label=_said(chart.value_label))
    if max(rows, columns) <= _MOST_NUMBERS:
        for (row, column), value in np.ndenumerate(values):
            if value == value:
                red, green, blue, _ = shown.cmap(shown.norm(value))
                dark = 0.3 * red + 0.59 * green + 0.11 * blue < 0.5
                axes.text(column, row, f"{value:.3g}", ha="center", va="center", fontsize=7, color="white" if dark else "#111111")
    return drawn
