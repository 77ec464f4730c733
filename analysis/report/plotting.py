"""Charts and heat maps as matplotlib figures: axes, legends, markers, names of points."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

from ...instances.problem.text import sanitize_for_terminal
from .label_places import label_places
from .picture import Chart, HeatMap, Scale, Series

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

COLOURS = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#7F7F7F",
    "#A6761D",
    "#6A3D9A",
    "#B2182B",
)
"""Okabe and Ito's palette without black and yellow (unreadable on some pages), and more."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p")
"""A series is known by its marker too, for who does not see its color."""

DASHES: tuple[Any, ...] = (
    "-",
    (0, (5, 1.5)),
    (0, (1.2, 1.2)),
    (0, (6, 1.5, 1.2, 1.5)),
    (0, (3, 1)),
)
"""And lines without markers by their dashes."""

INK = "#010203"
"""The color of text and axes; in an SVG it becomes that of the page's text."""

_SIZE = (5.8, 3.7)
MOST_LINES = 8
"""Lines that can be distinguished in one frame; more get a frame each, the others gray behind
it."""
_MOST_LABELS = 60
"""Names beside points; the others are in the picture's table."""
_LEGEND = 70
"""Letters of a name in a legend: more would not fit; the picture's table has the whole."""
_MOST_NUMBERS = 16
"""A heat map with at most this many rows and columns says its values in its cells."""


def chart_figure(chart: Chart, width: float | None = None) -> Figure:
    """A chart, `width` inches wide: series over two axes, the legend above, names of points."""
    from matplotlib.figure import Figure

    if _many(chart):
        return _frames(chart, width or _SIZE[0])
    across = width or _SIZE[0]
    tall = _SIZE[1] * max(min(across / _SIZE[0], 1.2), 0.7)
    longest = max((len(_named(series)) for series in chart.series), default=0)
    columns = max(1, min(4, len(chart.series), int(80 * across / _SIZE[0]) // (longest + 6)))
    deep = -(-len(chart.series) // columns) if len(chart.series) > 1 else 0
    drawn = Figure(figsize=(across, tall + 0.18 * max(deep - 1, 0)), layout="constrained")
    axes = drawn.add_subplot()
    names = list(
        dict.fromkeys(x for series in chart.series for x in series.x if isinstance(x, str))
    )
    bars = [place for place, series in enumerate(chart.series) if series.style == "bars"]
    for place, series in enumerate(chart.series):
        x = _places(chart, series, names)
        color = INK if series.strong else COLOURS[place % len(COLOURS)]
        if series.style == "bars":
            width = 0.8 / len(bars)
            x = [value + (bars.index(place) - (len(bars) - 1) / 2) * width for value in x]
            axes.bar(
                x,
                list(map(_number, series.y)),
                width,
                label=_named(series),
                color=color,
                edgecolor=INK,
                linewidth=0.4,
            )
        _points(axes, series, x, color, place)
    if names:
        long = sum(map(len, names)) > 45
        axes.set_xticks(
            range(len(names)),
            map(_said, names),
            rotation=60 if long else 0,
            ha="right" if long else "center",
        )
    axes.set_xlabel(_said(chart.x_label))
    axes.set_ylabel(_upright(chart.y_label, tall * 10))
    if not names:
        _scale(axes, "x", chart.x_scale, [value for series in chart.series for value in series.x])
    _scale(axes, "y", chart.y_scale, [value for series in chart.series for value in series.y])
    if len(chart.series) > 1:
        drawn.legend(loc="outside upper center", ncols=columns, fontsize=8)
    if any(series.labels for series in chart.series):
        _name_points(drawn, axes, chart.series, names)
    return drawn


def _many(chart: Chart) -> bool:
    """Whether a chart has too many lines to distinguish, over numbers, and no named points."""
    lines = [series for series in chart.series if series.style not in ("bars", "points")]
    plain = not any(series.labels for series in chart.series)
    numbers = not any(isinstance(x, str) for series in chart.series for x in series.x)
    return len(lines) > MOST_LINES and len(lines) == len(chart.series) and plain and numbers


def _frames(chart: Chart, width: float) -> Figure:
    """A chart of many lines: a frame for each, on the same axes, with the others gray behind it."""
    from matplotlib.figure import Figure

    across = 3 if width > 4 else 2
    down = -(-len(chart.series) // across)
    drawn = Figure(figsize=(width, 0.5 + 1.35 * down), layout="constrained")
    grid = drawn.subplots(down, across, sharex=True, sharey=True, squeeze=False).reshape(-1)
    x, y = _one_line([replace(each, x=tuple(_places(chart, each))) for each in chart.series])
    for place, (axes, series) in enumerate(zip(grid, chart.series, strict=False)):
        axes.plot(x, y, color="#808080", alpha=0.3, linewidth=0.7)
        _points(axes, series, _places(chart, series), COLOURS[place % len(COLOURS)], place)
        axes.set_title(_named(series), fontsize=8, loc="left")
        axes.tick_params(labelsize=8)
    for axes in grid[len(chart.series) :]:
        axes.set_visible(False)
    _scale(grid[0], "x", chart.x_scale, [x for series in chart.series for x in series.x])
    _scale(grid[0], "y", chart.y_scale, [y for series in chart.series for y in series.y])
    for axes in grid:
        axes.minorticks_off()
    drawn.supxlabel(_said(chart.x_label), fontsize=9)
    drawn.supylabel(_upright(chart.y_label, drawn.get_figheight() * 12), fontsize=9)
    return drawn


def _one_line(lines: Sequence[Series]) -> tuple[list[float], list[float]]:
    """All lines as one with gaps between them, which a page holds once; steps as their corners."""
    x: list[float] = []
    y: list[float] = []
    for line in lines:
        places, values = list(map(_number, line.x)), list(map(_number, line.y))
        if line.style.startswith("step"):
            places = [place for place in places for _ in range(2)][1:]
            values = [value for value in values for _ in range(2)][:-1]
        x += [*places, math.nan]
        y += [*values, math.nan]
    return x, y


def _scale(axes: Axes, which: Literal["x", "y"], scale: Scale, values: Iterable[Any]) -> None:
    """Set an axis' scale; a log one with zeros is linear up to the least positive value."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

    if scale == "time":
        from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

        dates = AutoDateLocator(minticks=3, maxticks=6)  # type: ignore[no-untyped-call]
        axes.xaxis.set_major_locator(dates)
        shown = ConciseDateFormatter(dates)  # type: ignore[no-untyped-call]
        axes.xaxis.set_major_formatter(shown)
        return
    known = [float(value) for value in values if value is not None and math.isfinite(value)]
    positive = [value for value in known if value > 0]
    change, axis = getattr(axes, f"set_{which}scale"), getattr(axes, f"{which}axis")
    if scale == "linear" and known and all(value == int(value) for value in known):
        axis.set_major_locator(MaxNLocator("auto", integer=True, min_n_ticks=1))
    if scale == "linear" or not positive:
        return
    if scale == "symlog" or len(positive) < len(known):
        change("symlog", linthresh=1.0 if scale == "symlog" else min(positive))
        return
    change("log")
    if max(positive) / min(positive) < 30:  # ticks at powers of ten alone would be one or two
        low = math.floor(math.log10(min(positive)))
        ticks = [
            step * 10.0**power for power in range(low, low + 4) for step in (1, 1.5, 2, 3, 5, 7)
        ]
        narrow = max(positive) < 2 * min(positive)
        axis.set_major_locator(
            MaxNLocator(5, steps=[1, 2, 5, 10]) if narrow else FixedLocator(ticks)
        )
        axis.set_minor_locator(NullLocator())
    if min(positive) > 1e-4 and max(positive) < 1e5:
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def _points(axes: Axes, series: Series, x: Sequence[float], color: str, place: int) -> None:
    """Everything of a series but its bars and names: line, markers, intervals, and tooltips."""
    if series.style == "bars":
        _intervals(axes, series, x)
        return
    y = list(map(_number, series.y))
    marked = "points" in series.style
    look: dict[str, Any] = {"color": color, "linewidth": 2.0 if series.strong else 1.5}
    look["linestyle"] = (
        "" if series.style == "points" else "-" if series.strong or marked else _dash(place)
    )
    if series.style.startswith("step"):
        look["drawstyle"] = "steps-post"
    if marked:
        look |= {"marker": MARKERS[place % len(MARKERS)], "markersize": 5.5, "markeredgewidth": 0}
    shown = axes.plot(x, y, label=_named(series), **look)[0]
    if series.tips and marked:
        shown.set_gid(f"tips-{place}")
    _intervals(axes, series, x)


def _dash(place: int) -> Any:
    """Another one for each line, and another one when a color comes round again."""
    return DASHES[(place + place // len(COLOURS)) % len(DASHES)]


def _intervals(axes: Axes, series: Series, x: Sequence[float]) -> None:
    if not series.low:
        return
    y = list(map(_number, series.y))
    down = [max(value - _number(low), 0.0) for value, low in zip(y, series.low, strict=True)]
    above = [max(_number(high) - value, 0.0) for value, high in zip(y, series.high, strict=True)]
    axes.errorbar(x, y, yerr=[down, above], fmt="none", ecolor=INK, elinewidth=0.8, capsize=2)


def _name_points(drawn: Figure, axes: Axes, series: Sequence[Series], names: Sequence[str]) -> None:
    """Names beside points where they cover nothing, with a thin line to a point far off."""
    drawn.draw_without_rendering()  # settles the layout, and with it where the points are
    drawn.set_layout_engine("none")
    to_page = 72 / drawn.dpi
    named: list[tuple[str, tuple[float, float]]] = []
    bare: list[tuple[str, tuple[float, float]]] = []
    for entry in series:
        labels = entry.labels or ("",) * len(entry.x)
        for label, x, y in zip(labels, entry.x, entry.y, strict=True):
            at = (_number(names.index(x) if isinstance(x, str) else x), _number(y))
            if all(map(math.isfinite, at)):
                (named if label and len(named) < _MOST_LABELS else bare).append((label, at))
    points = [axes.transData.transform(at) * to_page for _, at in [*named, *bare]]
    renderer = drawn._get_renderer()  # type: ignore[attr-defined]
    texts = [
        axes.annotate(_said(label), at, xytext=(0, 0), textcoords="offset points", fontsize=8)
        for label, at in named
    ]
    boxes = [text.get_window_extent(renderer) for text in texts]
    frame = axes.get_window_extent(renderer)
    frame_box = (frame.x0 * to_page, frame.y0 * to_page, frame.x1 * to_page, frame.y1 * to_page)
    sizes = [(box.width * to_page, box.height * to_page) for box in boxes]
    lines = [
        place
        for line in axes.lines
        if line.get_linestyle() != "None"
        for place in _along(line, to_page)
    ]
    places = label_places([(float(x), float(y)) for x, y in points], sizes, frame_box, lines)
    for text, place, (_, at), point in zip(texts, places, named, points, strict=False):
        text.remove()
        left, low = float(place[0] - point[0]), float(place[1] - point[1])
        far = (
            math.dist(point, ((place[0] + place[2]) / 2, (place[1] + place[3]) / 2))
            > 10 + (place[2] - place[0]) / 2
        )
        line: dict[str, Any] = {
            "arrowstyle": "-",
            "color": INK,
            "linewidth": 0.5,
            "alpha": 0.5,
            "shrinkB": 3,
            "shrinkA": 0,
        }
        axes.annotate(
            text.get_text(), at, xytext=(left, low), textcoords="offset points", fontsize=8,
            annotation_clip=False,
            arrowprops=line if far else None, in_layout=False,
        )  # fmt: skip


def _along(line: Line2D, to_page: float) -> list[tuple[float, float]]:
    """Places every few points along a line, on the page."""
    import numpy as np

    vertices = np.array(line.get_xydata(), dtype=float)
    if line.get_drawstyle() == "steps-post" and len(vertices):
        corners = np.column_stack([vertices[1:, 0], vertices[:-1, 1]])
        vertices = np.concatenate(
            [np.stack([vertices[:-1], corners], 1).reshape(-1, 2), vertices[-1:]]
        )
    corners = line.get_transform().transform(vertices) * to_page
    found: list[tuple[float, float]] = []
    for one, other in pairwise(corners):
        far = math.dist(one, other)
        if math.isfinite(far):
            share = np.linspace(0, 1, max(2, min(200, int(far / 4))))[:, None]
            found += [(float(x), float(y)) for x, y in one + share * (other - one)]
    return found


def _places(chart: Chart, series: Series, names: Sequence[str] = ()) -> list[float]:
    """Where a series' points are on the x axis: matplotlib counts dates in days."""
    unit = 86_400.0 if chart.x_scale == "time" else 1.0
    return [_number(names.index(x) if isinstance(x, str) else x) / unit for x in series.x]


def _number(value: Any) -> float:
    return math.nan if value is None else float(value)


def _named(series: Series) -> str:
    """A series as its legend calls it."""
    return _said(series.name if len(series.name) <= _LEGEND else f"{series.name[: _LEGEND - 3]}...")


def _said(text: str) -> str:
    """Text as it is: matplotlib reads mathematics between dollars, and hides "_" in legends."""
    return ("\u200b" if text.startswith("_") else "") + sanitize_for_terminal(text).replace(
        "$", r"\$"
    )


def _upright(text: str, letters: float) -> str:
    """A label beside an upright axis, in lines of at most so many letters where words allow it."""
    return "\n".join(textwrap.wrap(_said(text), int(letters), break_long_words=False))


def heat_map_figure(chart: HeatMap, width: float | None = None) -> Figure:
    """A heat map, with its values in the cells where they are few."""
    import numpy as np
    from matplotlib.colors import TwoSlopeNorm
    from matplotlib.figure import Figure

    values = np.array(
        [[np.nan if value is None else value for value in row] for row in chart.values], dtype=float
    )
    if values.size == 0:
        values = np.full((max(len(chart.y_names), 1), max(len(chart.x_names), 1)), np.nan)
    rows, columns = values.shape
    drawn = Figure(
        figsize=(
            width or max(3.6, min(10.0, 2.0 + 0.38 * columns)),
            max(2.4, min(9.0, 1.1 + 0.27 * rows)),
        ),
        layout="constrained",
    )
    axes = drawn.add_subplot()
    axes.grid(False)
    norm = None
    least, most = (
        (float(np.nanmin(values)), float(np.nanmax(values)))
        if np.isfinite(values).any()
        else (0.0, 1.0)
    )
    if chart.center is not None:
        spread = max(most - chart.center, chart.center - least, 1e-9)
        norm = TwoSlopeNorm(chart.center, chart.center - spread, chart.center + spread)
    shown = axes.imshow(
        values,
        cmap="cividis" if norm is None else "PuOr",
        norm=norm,
        aspect="auto",
        interpolation="nearest",
    )
    axes.set_xticks(
        range(len(chart.x_names)),
        map(_said, chart.x_names),
        rotation=60,
        ha="right",
        fontsize=8,
    )
    axes.set_yticks(range(len(chart.y_names)), map(_said, chart.y_names), fontsize=8)
    axes.set_xlabel(_said(chart.x_label))
    room = drawn.get_figheight() * 8  # the names below, on their slant, take a good part
    axes.set_ylabel(_upright(chart.y_label, room))
    drawn.colorbar(shown, ax=axes, label=_upright(chart.value_label, room))
    if max(rows, columns) <= _MOST_NUMBERS:
        for (row, column), value in np.ndenumerate(values):
            if value == value:
                red, green, blue, _ = shown.cmap(shown.norm(value))
                dark = 0.3 * red + 0.59 * green + 0.11 * blue < 0.5
                axes.text(
                    column,
                    row,
                    f"{value:.3g}",
                    ha="center",
                    va="center",
                    fontsize=8,
                    color="white" if dark else "#111111",
                )
    return drawn
