"""Pictures drawn by matplotlib: PDF and PNG for papers, and SVG that takes the colours of the page it stands in."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..instances.problem.errors import InvalidFile, InvalidOption
from ..instances.problem.files import write_bytes
from .picture import Chart, HeatMap, Picture, Series

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F7F7F", "#A6761D", "#6A3D9A", "#B2182B")
"""Okabe and Ito's palette without black and yellow (unreadable on a dark or a light page), and four more."""
DASHES = ("-", "--", "-.", ":")
"""Of lines; the next when the colours have been used once."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p")
"""A series is told by its marker too, for who does not see its colour."""

INK = "#010203"
"""The colour of text and axes; in an SVG it becomes that of the page's text."""

FORMATS = ("pdf", "png", "svg")
_SIZE = (6.4, 4.0)
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
    import matplotlib as mpl

    ink: dict[Any, Any] = dict.fromkeys(("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), INK)
    look: dict[Any, Any] = {
        **dict.fromkeys(("figure.facecolor", "axes.facecolor", "savefig.facecolor"), "none"),
        **{"font.size": 9, "axes.spines.top": False, "axes.spines.right": False, "legend.frameon": False},
        **{"axes.grid": True, "axes.axisbelow": True, "grid.alpha": 0.25, "grid.color": INK},
        **{"svg.fonttype": "none", "pdf.fonttype": 42},
    }
    with mpl.rc_context({**ink, **look}):
        if isinstance(picture, Chart):
            return _chart(picture)
        if isinstance(picture, HeatMap):
            return _heat_map(picture)
        return picture.draw()


def svg(picture: Picture, prefix: str = "") -> str:
    """The picture as an SVG element for a page: titled, described, in the page's own text colour.

    Parameters
    ----------
    prefix : put before every id inside, so that several pictures can stand on one page.
    """
    import matplotlib as mpl

    drawn = figure(picture)
    stream = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": picture.name}):
        drawn.savefig(stream, format="svg", metadata={"Date": None}, transparent=True)
    text = stream.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'<g id="tip:([^"]*)">', lambda found: f"<g><title>{escape(_from_hex(found[1]))}</title>", text)
    mark = f"{prefix}{picture.name}-"
    text = re.sub(r'\bid="([^"]+)"', rf'id="{mark}\1"', text)
    text = re.sub(r'(xlink:href="#|url\(#)', rf"\1{mark}", text)
    text = text.replace(INK, "currentColor").replace("#000000", "currentColor")
    title, description = f"{mark}title", f"{mark}description"
    label = f' role="img" aria-labelledby="{title} {description}"'
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
            drawn.savefig(stream, format=form, dpi=200, bbox_inches="tight", metadata=stamp, facecolor="white")
            written.append(write_bytes(folder / f"{picture.name}.{form}", stream.getvalue()))
    return written


def _chart(chart: Chart) -> Figure:
    from matplotlib.figure import Figure

    drawn = Figure(figsize=_SIZE, layout="constrained")
    axes = drawn.add_subplot()
    names = list(dict.fromkeys(x for series in chart.series for x in series.x if isinstance(x, str)))
    bars = [series for series in chart.series if series.style == "bars"]
    for place, series in enumerate(chart.series):
        x = [names.index(value) if isinstance(value, str) else value for value in series.x]
        colour = INK if series.strong else COLOURS[place % len(COLOURS)]
        if series.style == "bars":
            width = 0.8 / len(bars)
            x = [value + (bars.index(series) - (len(bars) - 1) / 2) * width for value in x]
            height = [float("nan") if value is None else value for value in series.y]
            axes.bar(x, height, width, label=series.name, color=colour, edgecolor=INK, linewidth=0.4)
        _points(axes, series, x, colour, place)
    if names:
        long = sum(map(len, names)) > 45
        axes.set_xticks(range(len(names)), names, rotation=60 if long else 0, ha="right" if long else "center")
    axes.set_xlabel(chart.x_label)
    axes.set_ylabel(chart.y_label)
    if chart.x_scale != "linear" and not names:
        axes.set_xscale(chart.x_scale, **({"linthresh": 1.0} if chart.x_scale == "symlog" else {}))
    if chart.y_scale != "linear":
        axes.set_yscale(chart.y_scale, **({"linthresh": 1.0} if chart.y_scale == "symlog" else {}))
    if len(chart.series) > 1:
        drawn.legend(loc="outside upper center", ncols=min(4, len(chart.series)), fontsize=8)
    return drawn


def _points(axes: Axes, series: Series, x: Sequence[float], colour: str, place: int) -> None:
    """Everything of a series but its bars: line, markers, intervals, labels, and what a pointer is told."""
    y = [float("nan") if value is None else value for value in series.y]
    wide, dash = 2.2 if series.strong else 1.4, DASHES[place // len(COLOURS) % len(DASHES)]
    if series.style in ("line", "line+points"):
        label = series.name if series.style == "line" else None
        axes.plot(x, y, dash, color=colour, linewidth=wide, label=label)
    elif series.style == "step":
        axes.step(x, y, dash, where="post", color=colour, linewidth=wide, label=series.name)
    marker = MARKERS[place % len(MARKERS)]
    if series.style in ("points", "line+points"):
        line = dash if series.style == "line+points" else ""
        axes.plot([], [], marker=marker, color=colour, linestyle=line, linewidth=wide, label=series.name)
        for number, (across, up) in enumerate(zip(x, y, strict=True)):
            shown = axes.scatter([across], [up], marker=marker, color=colour, s=26, zorder=3)
            if series.tips:
                shown.set_gid("tip:" + series.tips[number].encode().hex())
    if series.low:
        down = [max(value - low, 0.0) for value, low in zip(y, series.low, strict=True)]
        above = [max(high - value, 0.0) for value, high in zip(y, series.high, strict=True)]
        axes.errorbar(x, y, yerr=[down, above], fmt="none", ecolor=INK, elinewidth=0.8, capsize=2)
    for label, across, up in zip(series.labels, x, y, strict=False):
        if up == up:
            axes.annotate(label, (across, up), xytext=(4, 4), textcoords="offset points", fontsize=8)


def _heat_map(chart: HeatMap) -> Figure:
    import numpy as np
    from matplotlib.colors import TwoSlopeNorm
    from matplotlib.figure import Figure

    values = np.array([[np.nan if value is None else value for value in row] for row in chart.values], dtype=float)
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
    axes.set_xticks(range(columns), chart.x_names, rotation=60, ha="right", fontsize=7 if columns > 12 else 8)
    axes.set_yticks(range(rows), chart.y_names, fontsize=7 if rows > 12 else 8)
    axes.set_xlabel(chart.x_label)
    axes.set_ylabel(chart.y_label)
    drawn.colorbar(shown, ax=axes, label=chart.value_label)
    if max(rows, columns) <= _MOST_NUMBERS:
        for (row, column), value in np.ndenumerate(values):
            if value == value:
                red, green, blue, _ = shown.cmap(shown.norm(value))
                dark = 0.3 * red + 0.59 * green + 0.11 * blue < 0.5
                axes.text(column, row, f"{value:.3g}", ha="center", va="center", fontsize=7, color="white" if dark else "#111111")
    return drawn


def _from_hex(text: str) -> str:
    return bytes.fromhex(text).decode()
