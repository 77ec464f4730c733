"""Picture records of a comparison's rows by method, and charts and heat maps of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any, Literal

import numpy as np

from ..run.rows import Row
from .picture import Chart, HeatMap, Series, Style

Record = Mapping[str, Any]
Records = Mapping[str, Sequence[Record]]
"""Each method's records, one per seed."""

SHARES = tuple(round(step / 25, 2) for step in range(26))
"""Shares of agents or users at which sorted values are kept."""

_LEGEND = 20
"""Letters of a line's name: longer ones make a legend wider than its picture."""


def records_by_method(rows: Iterable[Row], needs: str) -> dict[str, list[Record]]:
    """Records of each method, one per seed, in the order of the rows; rows without a record are
    left out.

    A method that was run on predicted values, or with several sets of options, counts as several;
    its name says so.

    Parameters
    ----------
    needs : a key that a record must hold; that of a run that failed does not.
    """
    listed = [row for row in rows if _has_record(row, needs)]
    sets: dict[str, set[str]] = {}
    for row in listed:
        options = json.dumps(row.get("options") or {}, sort_keys=True, default=str)
        sets.setdefault(row["method"], set()).add(options)
    found: dict[str, list[Record]] = {}
    for row in listed:
        name = row["method"]
        if len(sets[name]) > 1 and row.get("options"):
            name += f" ({', '.join(f'{key}={value}' for key, value in row['options'].items())})"
        if (share := row.get("predict")) is not None:
            name += f" on {100 * share:g} % sampled"
        found.setdefault(name, []).append(row["record"] or {})
    return found


def over_seeds(
    values: Sequence[Sequence[float]],
) -> tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...]]:
    """Mean, minimum and maximum of lists by index; the last two empty for a single list."""
    columns = list(zip(*values, strict=True))
    mean = tuple(sum(column) / len(column) for column in columns)
    if len(values) == 1:
        return mean, (), ()
    return mean, tuple(map(min, columns)), tuple(map(max, columns))


def means(by_method: Records, name: str) -> dict[str, tuple[float, ...]]:
    """Means over seeds of the numbers that the records list under a name, by method."""
    return {
        method: over_seeds([record[name] for record in records])[0]
        for method, records in by_method.items()
    }


def mean(by_method: Records, name: str) -> dict[str, float]:
    """Mean over seeds of a recorded number, by method."""
    return {
        method: sum(record[name] for record in records) / len(records)
        for method, records in by_method.items()
    }


def evenly(number: int, most: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Indices of all of `number` items, or of `most` evenly spaced ones including both ends."""
    return np.linspace(0, number - 1, min(number, most)).round().astype(np.int64)


def extremes(values: Mapping[str, float], form: str = "g") -> str:
    """Text that names the methods with the least and largest value, for alternative text."""
    ends = [min(values.values()), max(values.values())]
    # a count in full, no power of ten
    least, most = (f"{end:,.0f}" if "e+" in f"{end:{form}}" else f"{end:{form}}" for end in ends)
    if ends[0] == ends[1]:
        return f"all the same, {least}" if len(values) > 1 else f"{next(iter(values))} has {least}"
    who = [[name for name, value in values.items() if value == end] for end in ends]
    return f"least {_listed(who[0])} with {least}, most {_listed(who[1])} with {most}"


@dataclass(frozen=True)
class Group:
    """Methods with equal values, drawn as one line.

    Attributes
    ----------
    methods : their names.
    value : what is drawn of each of them.
    """

    methods: tuple[str, ...]
    value: Any

    @property
    def name(self) -> str:
        """Name for a legend, short."""
        joined = ", ".join(self.methods)
        return joined if len(joined) < _LEGEND else f"{self.methods[0]} +{len(self.methods) - 1}"


def alike(values: Mapping[str, Any]) -> list[Group]:
    """Group methods by equal values, in the order of each group's first method."""
    groups: list[tuple[Any, list[str]]] = []
    for method, value in values.items():
        group = next((methods for known, methods in groups if known == value), None)
        if group is None:
            groups.append((value, [method]))
        else:
            group.append(method)
    return [Group(tuple(methods), value) for value, methods in groups]


def curves(
    by_method: Records, numbers: Callable[[Record], Sequence[float]]
) -> list[tuple[Group, tuple[float, ...], tuple[float, ...], tuple[float, ...]]]:
    """Mean, minimum and maximum over seeds of each method's numbers. Methods with equal numbers are
    together in one group.

    Minimum and maximum are empty where all seeds agree.
    """
    spread = {}
    for method, records in by_method.items():
        mean, low, high = over_seeds([numbers(record) for record in records])
        spread[method] = (mean, (), ()) if low == high else (mean, low, high)
    return [(group, *group.value) for group in alike(spread)]


def sharing(groups: Iterable[Group]) -> str:
    """Note on which methods share a line of a chart; "" when none do."""
    return " ".join(
        f"{', '.join(group.methods)} share a line." for group in groups if len(group.methods) > 1
    )


def shown_of(shown: int, total: int, words: str) -> str:
    """Note on how many of all items are shown, such as "3 of 7 users."; "" for all of them."""
    return f"{shown} of {total} {words}." if shown < total else ""


def joined(*sentences: str) -> str:
    """Join the nonempty sentences of a note."""
    return " ".join(sentence for sentence in sentences if sentence)


def rounded(values: Iterable[float], digits: int = 4) -> list[float]:
    """Floats rounded to `digits` significant digits, to keep a stored record small."""
    return [float(f"{value:.{digits}g}") for value in values]


def _listed(names: Sequence[str]) -> str:
    """The first three names of a list as text."""
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _has_record(row: Row, needs: str) -> bool:
    record = row.get("record")
    if row.get("error") or row.get("kind", "run") != "run" or not isinstance(record, Mapping):
        return False
    return needs in record


def sorted_curves(
    name: str, title: str, labels: tuple[str, str], x: Sequence[Any], found: Records,
    numbers: str | Callable[[Record], Any],
    alt: str, form: str = "", of: Callable[[Sequence[float]], float] = itemgetter(0), *,
    note: str = "", style: Style = "line", beside: Sequence[Series] = (),
) -> Chart:  # fmt: skip
    """Chart with a line over x for each method, from numbers of its records.

    Parameters
    ----------
    numbers : name of a list in the records, or a function of a record.
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


def map_by_name(
    name: str, title: str, axis: str, keys: tuple[str, str], by_method: Records,
    values: Mapping[str, Sequence[float | None]],
    what: str, alt: str, *, center: float | None = None,
) -> HeatMap:  # fmt: skip
    """Heat map of values of the users or organizations that a record names, a row per method.

    Parameters
    ----------
    keys : of the names in a record, and of the number that there are, of which the first are drawn.
    """
    first = next(iter(by_method.values()))[0]
    names, total = first[keys[0]], first[keys[1]]
    seeded = any(len(records) > 1 for records in by_method.values())
    left_out = f"The first {len(names)} of {total} {axis}s are drawn." if total > len(names) else ""
    note = joined("Means over the seeds." if seeded else "", left_out)
    return map_by_method(name, title, axis, names, values, what, alt, note, center=center)
