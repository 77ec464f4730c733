"""Charts of numbers by name, with a description in words made of the numbers."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from ..analysis.report.picture import Chart, Series, Style

Rows = Mapping[Any, Mapping[Any, Any]] | Mapping[Any, Sequence[Any]]
"""Series -> value by place on the axis, or the values at the places that are given apart."""

MOST_SAID = 8
"""Values of a series that are said one by one; of more the least and the most are said."""

_DRAWN: dict[Style, str] = {"bars": "Bars", "points": "Points"}


def chart(
    name: str,
    title: str,
    x_label: str,
    y_label: str,
    values: Rows,
    *,
    x: Sequence[Any] = (),
    style: Style = "bars",
    styles: Mapping[str, Style] | None = None,
    strong: Collection[str] = (),
    ends: Mapping[str, tuple[Sequence[float], Sequence[float]]] | None = None,
    levels: Mapping[str, float] | None = None,
    words: str = "",
    **more: Any,
) -> Chart:
    """Chart of numbers by series, with an alternative text made of the numbers.

    Parameters
    ----------
    name, title, x_label, y_label, more : as of a Chart.
    values, x : what is not finite, or None, leaves a hole; `x` are the places where the rows of
        `values` do not name them.
    style, styles, strong : how series are drawn, some of them otherwise, and which of them thick.
    ends : the lower and upper ends of a series' intervals.
    levels : drawn as lines across.
    words : what the numbers do not say by themselves.
    """
    series = []
    for label, row in values.items():
        places, numbers = (row.keys(), row.values()) if isinstance(row, Mapping) else (x, row)
        y = tuple(None if one is None or not np.isfinite(one) else one for one in numbers)
        low, high = (tuple(one) for one in (ends or {}).get(label, ((), ())))
        kind, thick = (styles or {}).get(label, style), label in strong
        series.append(Series(label, tuple(places), y, kind, low=low, high=high, strong=thick))
    summary = "; ".join(f"{one.name}: {in_words(one)}" for one in series)
    across = series[0].x
    for label, level in (levels or {}).items():
        series.append(Series(label, across, (level,) * len(across), "line"))
    alt = (
        f"{_DRAWN.get(style, 'Lines')} of {y_label} by {x_label}. {summary}.{words and ' '}{words}"
    )
    return Chart(name, title, x_label, y_label, tuple(series), alt, **more)


def in_words(series: Series) -> str:
    """Text of the values of a chart's series, or of their minimum and maximum if there are many."""
    there = [(y, x) for x, y in zip(series.x, series.y, strict=True) if y is not None]
    if not there:
        return "none"
    if len(there) <= MOST_SAID:
        return ", ".join(
            f"{x} {short(y)}" if isinstance(x, str) else f"{short(y)} at {short(x)}"
            for y, x in there
        )
    (least, first), (most, last) = (of(there, key=lambda one: one[0]) for of in (min, max))
    if least == most:
        return f"{short(least)} throughout"
    return f"{short(least)} ({short(first)}) to {short(most)} ({short(last)})"


def short(value: Any) -> str:
    """Format a number with three significant digits, or from 1000 on as an integer."""
    if isinstance(value, str):
        return value
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"
