"""Charts and heat maps of a recorded entry, with a line or a row for each method."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import Any, Literal

import numpy as np

from .picture import Chart, HeatMap, Series, Style
from .picture_data import SHARES, Record, Records, curves, extremes, joined, sharing


def sorted_curves(
    name: str, title: str, labels: tuple[str, str], x: Sequence[Any], found: Records,
    numbers: str | Callable[[Record], Any],
    alt: str, form: str = "", of: Callable[[Sequence[float]], float] = itemgetter(0), *,
    note: str = "", style: Style = "line", beside: Sequence[Series] = (),
) -> Chart:  # fmt: skip
    """Chart of a recorded list over x by method, or of what `numbers` computes from the record.

    Parameters
    ----------
    alt, form, of : with a form, `extremes` of what `of` takes of each curve end the text.
    note : its first sentences; who shares a line follows.
    style : with points, the least and the most over the seeds are drawn too.
    beside : lines to compare with.
    """
    drawn = curves(found, itemgetter(numbers) if isinstance(numbers, str) else numbers)
    spread = "points" in style
    series = [
        Series(group.name, tuple(x), mean, style, low=low * spread, high=high * spread)
        for group, mean, low, high in drawn
    ]
    ends = (
        f": {extremes({group.name: of(mean) for group, mean, _, _ in drawn}, form)}."
        if form
        else ""
    )
    note = joined(note, sharing(group for group, *_ in drawn))
    return Chart(name, title, *labels, (*series, *beside), alt + ends, note=note)


def distribution(
    name: str, title: str, labels: tuple[str, str], found: Records, numbers: str, alt: str,
    beside: Sequence[Series] = (),
) -> Chart:  # fmt: skip
    """Chart of quantiles of one answer's values, at `SHARES`; its text ends with the last one."""
    return sorted_curves(
        name, title, labels, SHARES, found, numbers, alt, ".3g", itemgetter(-1),
        note="Means over seeds at each share.", beside=beside,
    )  # fmt: skip


def blocking_by_alpha(
    name: str, title: str, labels: tuple[str, str], found: Records, alt: str, note: str
) -> Chart:
    """Chart of blocking pairs or groups by alpha; its text ends with their number at alpha 0."""
    chart = sorted_curves(
        name, title, labels, next(iter(found.values()))[0]["alphas"], found, "blocking",
        f"{alt} at rising alpha. At alpha 0", ".6g", note=note, style="line+points",
    )  # fmt: skip
    return replace(chart, y_scale="symlog")


def map_by_method(
    name: str, title: str, x_label: str, x_names: Sequence[str],
    values: Mapping[str, Sequence[float | None]],
    what: str, alt: str, note: str = "", *, center: float | None = None,
    worse: Literal["", "low", "high"] = "",
) -> HeatMap:  # fmt: skip
    """Heat map with a row of values, named `what`, per method; None and NaN are left blank."""
    cells = tuple(
        tuple(None if value is None or np.isnan(value) else value for value in row)
        for row in values.values()
    )
    return HeatMap(
        name, title, x_label, "method", tuple(x_names), tuple(values), cells, what, alt,
        center=center, note=note, worse=worse,
    )  # fmt: skip


def bars_by_method(
    name: str, title: str, labels: tuple[str, str], x: Sequence[str],
    values: Mapping[str, Sequence[float]], alt: str, note: str = "",
) -> Chart:  # fmt: skip
    """Bar chart with a group at each name of the axis and a bar for each method."""
    series = tuple(Series(method, tuple(x), tuple(row), "bars") for method, row in values.items())
    return Chart(name, title, *labels, series, alt, note=note)


def first_drawn(by_method: Records, shown: int, total: int, what: str) -> str:
    """Note on which of several seeds a map shows, and what is left out."""
    seeded = any(len(records) > 1 for records in by_method.values())
    left_out = f"The first {shown} of {total} {what} are drawn." if total > shown else ""
    return joined("Means over the seeds." if seeded else "", left_out)
