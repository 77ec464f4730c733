"""Charts and heat maps as matplotlib figures with axes, legends, markers and labels."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

from ...instances.problem.text import sanitize_for_terminal
from .picture import BlockChart, Chart, HeatMap, Scale, Series

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
_LETTERS = 12.4
"""Letters of a legend in an inch of a figure's width."""
_SHORT_NAMES = 7.8
"""Letters of all categories up to which they stand side by side under bars, in an inch."""

_ROW_NAME = 32
"""Letters of a category beside its row at most."""

_APART = 3.0
"""Pixels between the labels of two ticks."""
_LETTER = 5.4
"""Points that a letter takes on average."""
_MOST_NUMBERS = 16
"""A heat map with at most this many rows and columns says its values in its cells."""


def chart_figure(chart: Chart, width: float | None = None) -> Figure:
    """Matplotlib figure of a chart, `width` inches wide, with its legend above."""
    from matplotlib.figure import Figure

    across = width or _SIZE[0]
    letters = _LETTERS * across
    frames = 3 if across > 4 else 2 if across > 3 else 1
    room = (letters - 12) / frames - 2 if _many(chart) else letters - 6
    named = tuple(replace(each, name=_cut(each.name, room)) for each in chart.series)
    chart = replace(chart, series=named)
    if _many(chart):
        return _frames(chart, across, frames)
    names = list(
        dict.fromkeys(x for series in chart.series for x in series.x if isinstance(x, str))
    )
    lying = bool(names) and (_dots(chart) or sum(map(len, names)) > _SHORT_NAMES * across)
    tall = _SIZE[1] * max(min(across / _SIZE[0], 1.2), 0.7)
    if lying:
        rows = len(names) * (1 if _dots(chart) else max(1.0, 0.45 * len(chart.series)))
        tall = max(2.4, 0.9 + 0.24 * rows)
    longest = max((len(_said(series.name)) for series in chart.series), default=0)
    columns = max(1, min(4, len(chart.series), int(letters) // (longest + 7)))
    deep = -(-len(chart.series) // columns) if len(chart.series) > 1 else 0
    drawn = Figure(figsize=(across, tall + 0.2 * max(deep - 1, 0)), layout="constrained")
    axes = drawn.add_subplot()
    if names:
        _categories(axes, chart, names, lying, letters)
    else:
        for index, series in enumerate(chart.series):
            _points(axes, series, _places(chart, series), _color(series, index), index)
        _scale(axes, "x", chart.x_scale, [value for series in chart.series for value in series.x])
    values: Literal["x", "y"] = "x" if lying else "y"
    _label(axes, *((chart.y_label, chart.x_label) if lying else (chart.x_label, chart.y_label)))
    _scale(axes, values, chart.y_scale, [value for series in chart.series for value in series.y])
    if len(chart.series) > 1:
        drawn.legend(loc="outside upper center", ncols=columns)
    if any(series.labels for series in chart.series):
        _name_points(drawn, axes, chart.series, names, lying)
    _clear_ticks(drawn, axes, "" if not names else "y" if lying else "x")
    return drawn


def _dots(chart: Chart) -> bool:
    """Whether a chart over categories is drawn with points; lines never join categories."""
    return any(series.style != "bars" for series in chart.series)


def _categories(
    axes: Axes, chart: Chart, names: Sequence[str], lying: bool, letters: float
) -> None:
    """Draw bars or points over categories; `lying`: each category is a row, the first on top."""
    bars = [place for place, series in enumerate(chart.series) if series.style == "bars"]
    for place, series in enumerate(chart.series):
        at = [float(names.index(x)) for x in series.x]
        values, color = list(map(_number, series.y)), _color(series, place)
        if series.style == "bars":
            thick = 0.8 / len(bars)
            at = [value + (bars.index(place) - (len(bars) - 1) / 2) * thick for value in at]
            draw = axes.barh if lying else axes.bar
            draw(at, values, thick, label=_said(series.name), color=color)
        else:
            apart = 0.5 * (place / max(1, len(chart.series) - 1) - 0.5) if lying else 0.0
            at = [value + apart for value in at]
            x, y = (values, at) if lying else (at, values)
            marker = MARKERS[place % len(MARKERS)]
            look: dict[str, Any] = {
                "marker": marker,
                "markersize": 5.5,
                "markeredgewidth": 0,
                "linestyle": "",
            }
            shown = axes.plot(x, y, label=_said(series.name), color=color, **look)[0]
            if series.tips:
                shown.set_gid(f"tips-{place}")
        _intervals(axes, series, at, lying)
    axis, ticks = (axes.yaxis, axes.set_yticks) if lying else (axes.xaxis, axes.set_xticks)
    ticks(range(len(names)), [_said(_cut(name, min(_ROW_NAME, letters / 2.2))) for name in names])
    axis.grid(lying and _dots(chart))  # rows to follow with the eye; bars need none
    if lying:
        axes.invert_yaxis()


def _color(series: Series, place: int) -> str:
    return INK if series.strong else COLOURS[place % len(COLOURS)]


def _clear_ticks(drawn: Figure, axes: Axes, names: Literal["x", "y", ""]) -> None:
    """Hide every second tick as long as two labels overlap, except on an axis of names."""
    from matplotlib.ticker import FixedLocator

    for which, along in (("x", 0), ("y", 1)):
        axis = getattr(axes, f"{which}axis")
        for _ in range(0 if which == names else 4):
            drawn.draw_without_rendering()
            low, high = sorted(axis.get_view_interval())
            ticks = [tick for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
            boxes = [tick.label1.get_window_extent() for tick in ticks if tick.label1.get_text()]
            ends = sorted((box.min[along], box.max[along]) for box in boxes)
            if all(one[1] + _APART <= other[0] for one, other in pairwise(ends)):
                break
            axis.set_major_locator(FixedLocator([tick.get_loc() for tick in ticks][::2]))


def _many(chart: Chart) -> bool:
    """Whether a chart over numbers has too many lines to tell apart, and no labels at points."""
    lines = [series for series in chart.series if series.style not in ("bars", "points")]
    plain = not any(series.labels for series in chart.series)
    numbers = not any(isinstance(x, str) for series in chart.series for x in series.x)
    return len(lines) > MOST_LINES and len(lines) == len(chart.series) and plain and numbers


def _frames(chart: Chart, width: float, across: int) -> Figure:
    """Figure of many lines: a frame for each, on the same axes, with the others in gray."""
    from matplotlib.figure import Figure

    down = -(-len(chart.series) // across)
    drawn = Figure(figsize=(width, 0.5 + 1.35 * down), layout="constrained")
    grid = drawn.subplots(down, across, sharex=True, sharey=True, squeeze=False).reshape(-1)
    x, y = _one_line([replace(each, x=tuple(_places(chart, each))) for each in chart.series])
    for index, (axes, series) in enumerate(zip(grid, chart.series, strict=False)):
        axes.plot(x, y, color="#808080", alpha=0.3, linewidth=0.7)
        _points(axes, series, _places(chart, series), COLOURS[index % len(COLOURS)], index)
        axes.set_title(_said(series.name), loc="left")
        axes.tick_params(labelsize=9)
    for axes in grid[len(chart.series) :]:
        axes.set_visible(False)
    _scale(grid[0], "x", chart.x_scale, [x for series in chart.series for x in series.x])
    _scale(grid[0], "y", chart.y_scale, [y for series in chart.series for y in series.y])
    for axes in grid:
        axes.minorticks_off()
    drawn.supxlabel(_in_lines(chart.x_label, drawn.get_figwidth() * 10))
    drawn.supylabel(_in_lines(chart.y_label, drawn.get_figheight() * 12, _beside(drawn)))
    return drawn


def _one_line(lines: Sequence[Series]) -> tuple[list[float], list[float]]:
    """Points of many lines joined into one line with gaps; steps become their corners."""
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
    """Set the scale of an axis; a log scale with zeros is linear up to the least positive value."""
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
    in_words = FuncFormatter(lambda value, _: _tick_text(value))
    if scale == "linear" or not positive:
        if max(map(abs, known), default=0.0) >= 1e3:
            axis.set_major_formatter(in_words)
        return
    if scale == "symlog" or len(positive) < len(known):
        change("symlog", linthresh=1.0 if scale == "symlog" else min(positive))
        axis.set_major_formatter(in_words)
        return
    change("log")
    axis.set_major_formatter(in_words)
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


def _tick_text(value: float) -> str:
    """A number at a tick: prefixes of units from a million on, thousands set apart."""
    size = abs(value)
    for unit, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M")):
        if size >= unit:
            return f"{value / unit:z.4g}{letter}"
    if size >= 1e3:
        return f"{value:z,.10g}"
    return f"{value:z.6g}" if size >= 1e-4 or not value else f"{value:.1g}"


def _points(axes: Axes, series: Series, x: Sequence[float], color: str, place: int) -> None:
    """Draw a series on a numeric axis: line, markers, intervals and tooltips, but no labels."""
    if series.style == "bars":
        axes.bar(x, list(map(_number, series.y)), label=_said(series.name), color=color)
        _intervals(axes, series, x)
        return
    y = list(map(_number, series.y))
    marked = "points" in series.style
    look: dict[str, Any] = {"color": color, "linewidth": 2.0 if series.strong else 1.5}
    # another pattern when a color is used again
    dashes = DASHES[(place + place // len(COLOURS)) % len(DASHES)]
    plain = "-" if series.strong or marked else dashes
    look["linestyle"] = "" if series.style == "points" else plain
    if series.style.startswith("step"):
        look["drawstyle"] = "steps-post"
    if marked:
        look |= {"marker": MARKERS[place % len(MARKERS)], "markersize": 5.5, "markeredgewidth": 0}
    shown = axes.plot(x, y, label=_said(series.name), **look)[0]
    if series.tips and marked:
        shown.set_gid(f"tips-{place}")
    _intervals(axes, series, x)


def _intervals(axes: Axes, series: Series, x: Sequence[float], lying: bool = False) -> None:
    if not series.low:
        return
    y = list(map(_number, series.y))
    down = [max(value - _number(low), 0.0) for value, low in zip(y, series.low, strict=True)]
    above = [max(_number(high) - value, 0.0) for value, high in zip(y, series.high, strict=True)]
    look: dict[str, Any] = {"fmt": "none", "ecolor": INK, "elinewidth": 0.8, "capsize": 2}
    if lying:
        axes.errorbar(y, x, xerr=[down, above], **look)
    else:
        axes.errorbar(x, y, yerr=[down, above], **look)


def _name_points(
    drawn: Figure, axes: Axes, series: Sequence[Series], names: Sequence[str], lying: bool
) -> None:
    """Label points where labels overlap nothing, with a thin line to a distant point."""
    drawn.draw_without_rendering()  # settles the layout, and with it where the points are
    drawn.set_layout_engine("none")
    to_page = 72 / drawn.dpi  # 1. Points with and without a name.
    named: list[tuple[str, tuple[float, float]]] = []
    bare: list[tuple[str, tuple[float, float]]] = []
    for entry in series:
        labels = entry.labels or ("",) * len(entry.x)
        for label, x, y in zip(labels, entry.x, entry.y, strict=True):
            at = (_number(names.index(x) if isinstance(x, str) else x), _number(y))
            at = at[::-1] if lying else at
            if all(map(math.isfinite, at)):
                (named if label and len(named) < _MOST_LABELS else bare).append((label, at))
    points = [axes.transData.transform(at) * to_page for _, at in [*named, *bare]]
    renderer = drawn._get_renderer()  # type: ignore[attr-defined]
    room = drawn.get_figwidth() * _LETTERS / 2.5
    texts = [  # 2. Sizes of the labels.
        axes.annotate(_said(_cut(label, room)), at, xytext=(0, 0), textcoords="offset points")
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
        text.remove()  # 3. Draw each label at its place.
        if place[0] < 0 or place[2] > drawn.get_figwidth() * 72:
            continue  # there is no room for it: it is in the picture's table
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
            text.get_text(), at, xytext=(left, low), textcoords="offset points",
            va="bottom", annotation_clip=False,
            arrowprops=line if far else None, in_layout=False,
        )  # fmt: skip


def _along(line: Line2D, to_page: float) -> list[tuple[float, float]]:
    """Positions on the page every few points along a line."""
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


def _places(chart: Chart, series: Series) -> list[float]:
    """x coordinates of a series' points: matplotlib counts dates in days."""
    unit = 86_400.0 if chart.x_scale == "time" else 1.0
    return [_number(x) / unit for x in series.x]


def _number(value: Any) -> float:
    return math.nan if value is None else float(value)


def _cut(text: str, room: float) -> str:
    """Name cut to a number of letters; the picture's table has it in full."""
    most = max(int(room), 8)
    return text if len(text) <= most else f"{text[: most - 3]}..."


def _said(text: str) -> str:
    """Text escaped for matplotlib, which reads $...$ as mathematics and hides "_" in legends."""
    return ("\u200b" if text.startswith("_") else "") + sanitize_for_terminal(text).replace(
        "$", r"\$"
    )


def _in_lines(text: str, letters: float, most: int = 3) -> str:
    """Label of an axis in at most `most` lines of `letters` letters."""
    lines = textwrap.wrap(_said(text), int(letters), max_lines=most, placeholder=" ...")
    return "\n".join(lines)


def _label(axes: Axes, x_label: str, y_label: str) -> None:
    """Label the axes; a label longer than its axis is centered on the whole figure."""
    drawn: Any = axes.figure
    wide, tall = drawn.get_size_inches() * 10
    for text, most, short, long, lines in (
        (x_label, wide, axes.set_xlabel, drawn.supxlabel, 3),
        (y_label, tall, axes.set_ylabel, drawn.supylabel, _beside(drawn)),
    ):
        if len(text) <= most * 0.6:
            short(_said(text))
        else:
            long(_in_lines(text, most, lines), size="medium")


def _beside(drawn: Figure) -> int:
    """Number of lines of a label that fit beside an axis into a figure's width."""
    return max(1, min(3, int(drawn.get_figwidth() / 1.5)))


def heat_map_figure(chart: HeatMap, width: float | None = None) -> Figure:
    """Matplotlib figure of a heat map, with values in the cells where there are few."""
    import numpy as np
    from matplotlib.colors import TwoSlopeNorm
    from matplotlib.figure import Figure

    values = np.array(  # 1. Values, and a figure that they fit.
        [[np.nan if value is None else value for value in row] for row in chart.values], dtype=float
    )
    if values.size == 0:
        values = np.full((max(len(chart.y_names), 1), max(len(chart.x_names), 1)), np.nan)
    rows, columns = values.shape
    narrow = width is not None and width < 3  # the bar of colors lies above, where there is room
    drawn = Figure(
        figsize=(
            width or max(3.6, min(10.0, 2.0 + 0.38 * columns)),
            max(2.4, min(9.0, 1.1 + 0.27 * rows)) + 0.6 * narrow,
        ),
        layout="constrained",
    )
    axes = drawn.add_subplot()
    axes.grid(False)
    norm = None  # 2. Colors, around the center if there is one.
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
        # the bad end is dark: cividis begins there
        cmap=("cividis_r" if chart.worse == "high" else "cividis") if norm is None else "PuOr",
        norm=norm,
        aspect="auto",
        interpolation="nearest",
    )
    wide, tall = drawn.get_size_inches()  # 3. Names of rows and columns, and the color bar.
    room = wide * _LETTERS / (2 if narrow else 3)
    below = [_said(_cut(name, min(_ROW_NAME, tall * 6, wide * 8))) for name in chart.x_names]
    beside = [_said(_cut(name, min(_ROW_NAME, room))) for name in chart.y_names]
    axes.set_yticks(range(len(beside)), beside)
    _label(axes, chart.x_label, chart.y_label)
    darker = f"{chart.value_label}; darker is worse" if chart.worse else chart.value_label
    bar = drawn.colorbar(shown, ax=axes, location="top" if narrow else "right")
    flat = _fit_across(drawn, axes, columns, max(map(len, below), default=0))
    axes.set_xticks(
        range(len(below)),
        below,
        rotation=0 if flat else 60,
        ha="center" if flat else "right",
    )
    drawn.draw_without_rendering()  # how long it is depends on the names
    box = axes.get_window_extent()
    long = (box.width if narrow else box.height) / drawn.dpi
    bar.set_label(_in_lines(darker, max(long * 12, 8), 3 if narrow else _beside(drawn)))
    texts = {  # 4. Numbers in the cells, if they fit.
        place: f"{value:.2g}" if abs(value) < 100 else f"{value:.0f}"
        for place, value in np.ndenumerate(values)
        if value == value
    }
    longest = max(map(len, texts.values()), default=0)
    if max(rows, columns) <= _MOST_NUMBERS and _fit_across(drawn, axes, columns, longest):
        for (row, column), value in np.ndenumerate(values):
            if value == value:
                red, green, blue, _ = shown.cmap(shown.norm(value))
                dark = 0.3 * red + 0.59 * green + 0.11 * blue < 0.5
                axes.text(
                    column,
                    row,
                    texts[row, column],
                    ha="center",
                    va="center",
                    color="white" if dark else "#111111",
                )
    return drawn


def _fit_across(drawn: Figure, axes: Axes, columns: int, letters: int) -> bool:
    """Whether texts of `letters` letters fit side by side into the columns of a heat map."""
    drawn.draw_without_rendering()
    return axes.get_window_extent().width / columns * 72 / drawn.dpi >= letters * _LETTER + 3


def blocks_figure(chart: BlockChart, width: float | None = None) -> Figure:
    """Figure of rows of blocks with labels where they fit; legend for a few kinds."""
    from matplotlib.figure import Figure

    across = width or _SIZE[0]
    letters = across * _LETTERS
    rows = list(dict.fromkeys(each.row for each in chart.blocks))
    kinds = list(dict.fromkeys(each.kind or each.label for each in chart.blocks))
    named = 1 < len(kinds) <= len(COLOURS)
    columns = max(1, int(letters) // (max(map(len, kinds), default=0) + 7))
    deep = -(-len(kinds) // columns) if named else 0
    drawn = Figure(figsize=(across, 1.0 + 0.26 * len(rows) + 0.2 * deep), layout="constrained")
    axes = drawn.add_subplot()
    end = max((each.end for each in chart.blocks), default=1.0)
    axes.set(xlim=(0, end or 1.0), ylim=(len(rows) - 0.4, -0.6))
    beside = [_said(_cut(row, min(_ROW_NAME, letters / 2.2))) for row in rows]
    axes.set_yticks(range(len(rows)), beside)
    axes.yaxis.grid(False)
    _label(axes, chart.x_label, chart.y_label)
    drawn.draw_without_rendering()
    letter = _LETTER * drawn.dpi / 72
    for index, kind in enumerate(kinds):
        mine = [each for each in chart.blocks if (each.kind or each.label) == kind]
        axes.barh(
            [rows.index(each.row) for each in mine], [each.end - each.begin for each in mine],
            0.8, [each.begin for each in mine], color=COLOURS[index % len(COLOURS)], alpha=0.5,
            edgecolor=INK, linewidth=0.4, label=_said(_cut(kind, letters - 6)),
        )  # fmt: skip
    room = axes.get_window_extent().width / (end or 1.0)
    for each in chart.blocks:
        if (each.end - each.begin) * room >= len(each.label) * letter:
            axes.text(
                (each.begin + each.end) / 2, rows.index(each.row), _said(each.label),
                ha="center", va="center",
            )  # fmt: skip
    if named:
        drawn.legend(loc="outside upper center", ncols=columns)
    _scale(axes, "x", "linear", [each.end for each in chart.blocks])
    _clear_ticks(drawn, axes, "y")
    return drawn


Box = tuple[float, float, float, float]
"""Left, bottom, right, top."""

_NEAR = 5.0
"""Distance of a name from its point where there is room."""
_RINGS = (0.0, 5.0, 11.0, 18.0, 27.0, 38.0, 52.0)
"""How much further away it is tried."""
_DIRECTIONS = 16
_CLEAR = 1.5
"""Distance of a name from a line."""
_MARKER = 3.5
"""Half the side of a point's marker."""
_OVER_LABEL, _OVER_POINT, _OUTSIDE, _AWAY, _ON_LINE = 12.0, 6.0, 40.0, 3.0, 9.0
"""Cost of a unit of area over a name, a point, outside; of a unit of distance; of a line."""


def label_places(
    points: Sequence[tuple[float, float]],
    sizes: Sequence[tuple[float, float]],
    frame: Box,
    lines: Sequence[tuple[float, float]] = (),
) -> list[Box]:
    """Box for the label of each named point, in the unit of the points.

    Parameters
    ----------
    points : where the markers are, names or not; the first `len(sizes)` have names.
    sizes : width and height of each name.
    frame : what names should stay inside.
    lines : places along lines, which names had better not cross.
    """
    markers = [(x - _MARKER, y - _MARKER, x + _MARKER, y + _MARKER) for x, y in points]
    taken: dict[int, Box] = {}
    # The most crowded first: who has room can still move away.
    order = sorted(
        range(len(sizes)),
        key=lambda place: sum(math.dist(points[place], other) for other in points),
    )
    for place in order:
        options = _boxes(points[place], sizes[place])
        taken[place] = min(
            options,
            key=lambda option: option[0] + _cost(option[1], markers, taken.values(), frame, lines),
        )[1]
    return [taken[place] for place in range(len(sizes))]


def _boxes(point: tuple[float, float], size: tuple[float, float]) -> list[tuple[float, Box]]:
    """Candidate boxes for a point's label with costs of distance; above right comes first."""
    (x, y), (width, height) = point, size
    found = []
    for ring in _RINGS:
        for step in range(_DIRECTIONS):
            angle = math.pi / 8 + (step + 1) // 2 * (-1) ** step * 2 * math.pi / _DIRECTIONS
            across, up = math.cos(angle), math.sin(angle)
            center = x + across * (_NEAR + ring + width / 2), y + up * (_NEAR + ring + height / 2)
            box = (
                center[0] - width / 2,
                center[1] - height / 2,
                center[0] + width / 2,
                center[1] + height / 2,
            )
            found.append((_AWAY * ring + 0.01 * step, box))
    return found


def _cost(
    box: Box,
    markers: Sequence[Box],
    labels: Iterable[Box],
    frame: Box,
    lines: Sequence[tuple[float, float]],
) -> float:
    inside = _overlap(box, frame)
    outside = (box[2] - box[0]) * (box[3] - box[1]) - inside
    over = sum(_overlap(box, other) for other in labels)
    left, low, right, high = box[0] - _CLEAR, box[1] - _CLEAR, box[2] + _CLEAR, box[3] + _CLEAR
    crossed = sum(left <= x <= right and low <= y <= high for x, y in lines)
    points = sum(_overlap(box, other) for other in markers)
    return _OUTSIDE * outside + _OVER_LABEL * over + _OVER_POINT * points + _ON_LINE * crossed


def _overlap(one: Box, other: Box) -> float:
    """Area that two boxes share."""
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    return width * height if width > 0 and height > 0 else 0.0
