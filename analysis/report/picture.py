"""Pictures as data with a description in words, for pages, files and screen readers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

from ...instances.problem.option_types import validate_options
from .table import Column, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Scale = Literal["linear", "log", "symlog", "time"]
Style = Literal["line", "points", "line+points", "step", "step+points", "bars"]


@validate_options
@dataclass(frozen=True)
class Series:
    """One line, cloud of points or group of bars of a chart.

    Attributes
    ----------
    name : in the legend.
    x, y : equally long; x may be names (a categorical axis, the same for all series of a chart);
        None in y leaves a hole.
    style : "line", "points", "line+points", "step" (holds its value until the next point),
        "step+points" or "bars".
    labels : beside each point; () for none. `tips` are said when a pointer rests on a point, and in
        the table.
    low, high : ends of each point's interval; () for none.
    strong : drawn thick and dark: what is proved.
    """

    name: str
    x: tuple[Any, ...]
    y: tuple[float | None, ...]
    style: Style = "line"
    labels: tuple[str, ...] = ()
    tips: tuple[str, ...] = ()
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    strong: bool = False


@validate_options
@dataclass(frozen=True)
class Chart:
    """Chart of lines, points or bars over two axes.

    Attributes
    ----------
    name : of files it is written to: lower-case words joined by hyphens.
    title : one line.
    x_label, y_label : with units in brackets.
    series : what is drawn.
    alt : the picture in words, for who cannot see it: what it shows and the main finding.
    command : what draws it again; "" until it is known.
    x_scale, y_scale : of the axes; "time" (x alone): seconds since 1970 in UTC, shown as dates.
    note : what a reader must know to read it right.
    """

    name: str
    title: str
    x_label: str
    y_label: str
    series: tuple[Series, ...]
    alt: str
    command: str = ""
    x_scale: Scale = "linear"
    y_scale: Scale = "linear"
    note: str = ""

    def table(self) -> Table:
        """Table of the numbers of the chart."""
        rows = []
        for series in self.series:
            tips = series.tips or series.labels or ("",) * len(series.x)
            rows += [
                (series.name, x, y, tip) for x, y, tip in zip(series.x, series.y, tips, strict=True)
            ]
        known = _words(self.x_label, self.y_label)
        has_words = any(_words(row[3]) - known - _words(*map(_short, row[:3])) for row in rows)
        x_numeric = all(not isinstance(row[1], str) for row in rows)
        x_text = _date if self.x_scale == "time" else _short
        columns = (
            Column("series"), Column(self.x_label, numeric=x_numeric, text=x_text),
            Column(self.y_label, numeric=True, text=_short), Column("what"),
        )  # fmt: skip
        width = 4 if has_words else 3
        return Table(self.name, self.title, columns[:width], tuple(row[:width] for row in rows))


@dataclass(frozen=True)
class HeatMap:
    """Heat map of values over two lists of names.

    Attributes
    ----------
    name, title, x_label, y_label, alt, command, note : as of a Chart.
    x_names, y_names : of columns and rows.
    values : rows of columns; None leaves a hole.
    value_label : what a value is, with its unit.
    center : the value in the middle of a scale of two colors; None for a scale of one.
    worse : which end of a scale of one color is worse, "low" or "high"; it is drawn dark.
    """

    name: str
    title: str
    x_label: str
    y_label: str
    x_names: tuple[str, ...]
    y_names: tuple[str, ...]
    values: tuple[tuple[float | None, ...], ...]
    value_label: str
    alt: str
    command: str = ""
    center: float | None = None
    note: str = ""
    worse: Literal["", "low", "high"] = ""

    def table(self) -> Table:
        """Table of the numbers of the heat map."""
        columns = (
            Column(f"{self.y_label} / {self.x_label}"),
            *(Column(name, _short, numeric=True) for name in self.x_names),
        )
        return Table(
            self.name,
            self.title,
            columns,
            tuple((name, *row) for name, row in zip(self.y_names, self.values, strict=True)),
        )


@dataclass(frozen=True)
class Drawing:
    """Picture that a function of its own draws, such as a game tree.

    Attributes
    ----------
    name, title, alt, command, note : as of a Chart.
    draw : makes the matplotlib figure.
    numbers : the table that says the same, if there is one.
    """

    name: str
    title: str
    draw: Callable[[], Figure]
    alt: str
    command: str = ""
    note: str = ""
    numbers: Table | None = None

    def table(self) -> Table | None:
        """Table of the numbers of the drawing."""
        return self.numbers


@dataclass(frozen=True)
class Block:
    """Block within a row of a `BlockChart`, such as a VM on a server.

    Attributes
    ----------
    row, label : what it is on (a server), and what it is (its VMs).
    begin, end : along the row.
    kind : blocks of one kind have one color; the label when "".
    """

    row: str
    label: str
    begin: float
    end: float
    kind: str = ""


@dataclass(frozen=True)
class BlockChart:
    """Picture of an answer: rows (servers, machines) with the blocks that each holds.

    Attributes
    ----------
    name, title, x_label, y_label, alt, command, note : as of a Chart.
    blocks : of the rows, in the order in which rows are drawn.
    """

    name: str
    title: str
    x_label: str
    y_label: str
    blocks: tuple[Block, ...]
    alt: str
    command: str = ""
    note: str = ""

    def table(self) -> Table:
        """Table of the chart's blocks: row, label, begin and end."""
        columns = (
            Column(self.y_label), Column("what"), Column(f"{self.x_label}, from", _short, True),
            Column("to", _short, True),
        )  # fmt: skip
        rows = [(each.row, each.label, each.begin, each.end) for each in self.blocks]
        return Table(self.name, self.title, columns, tuple(rows))


MOST_ROWS = 40
"""Rows of an answer that are drawn: a page's height."""


def answer_blocks(
    title: str,
    x_label: str,
    y_label: str,
    parts: Iterable[tuple[str, str, float] | tuple[str, str, float, str]],
    order: Iterable[str] = (),
) -> BlockChart:
    """Block chart of an answer whose rows hold their parts one after the other.

    Parameters
    ----------
    parts : row, what it holds, how much of it, and its kind where that is not the label; in any
        order.
    order : of the rows; as they come when not given. Rows that hold nothing are left out.
    """
    rows: dict[str, list[Block]] = {row: [] for row in order}
    for row, label, amount, *kind in parts:
        blocks = rows.setdefault(row, [])
        begin = blocks[-1].end if blocks else 0.0
        blocks.append(Block(row, label, begin, begin + amount, *kind))
    return answer_rows(title, x_label, y_label, rows)


def answer_rows(
    title: str, x_label: str, y_label: str, rows: Mapping[str, Sequence[Block]]
) -> BlockChart:
    """Block chart of an answer given by rows, truncated to the first ones."""
    filled = [row for row in rows.values() if row]
    shown = filled[:MOST_ROWS]
    left = len(filled) - len(shown)
    first = shown[0] if shown else ()
    words = ", ".join(each.label for each in first[:6]) or "nothing"
    return BlockChart(
        "answer", title, x_label, y_label, tuple(block for row in shown for block in row),
        f"{title}, a row for each {y_label}. On {first[0].row if first else 'the first'}: {words}.",
        note=f"{left} more rows are not drawn." if left else "",
    )  # fmt: skip


Picture = Chart | HeatMap | Drawing | BlockChart

LONGEST_CAPTION = 180
"""Letters: two lines on a page."""


def finding(picture: Picture) -> str:
    """Main statement of a picture: its first sentence with values, in a line or two."""
    sentences = re.split(r"(?<=[.!?]) +", picture.alt)
    caption = next((sentence for sentence in sentences if ": " in sentence), sentences[0])
    caption = caption[:1].upper() + caption[1:]
    if len(caption) <= LONGEST_CAPTION:
        return caption
    return f"{caption[: LONGEST_CAPTION - 4].rpartition(' ')[0].rstrip(',;')} ..."


def once(pictures: Iterable[Picture]) -> list[Picture]:
    """Pictures without those whose numbers an earlier one has, which names them in its note."""
    kept: list[Picture] = []
    for picture in pictures:
        numbers = _numbers(picture)
        same = next((at for at, known in enumerate(kept) if _numbers(known) == numbers), None)
        if same is None:
            kept.append(picture)
        else:
            known = kept[same]
            if known.title.lower() != picture.title.lower():
                note = f"{known.note} The same picture: {picture.title}.".strip()
                kept[same] = replace(known, note=note)
    return kept


def _numbers(picture: Picture) -> Any:
    """Key that only equal pictures share: what a chart or heat map draws; for others, their id."""
    if isinstance(picture, Chart):
        return [(each.name, each.x, each.y, each.style) for each in picture.series]
    if isinstance(picture, HeatMap):
        return picture.x_names, picture.y_names, picture.values
    return id(picture)


def _words(*texts: str) -> set[str]:
    """Set of the words and numbers of some texts."""
    return set(re.findall(r"[^\s,:;()\[\]]+", " ".join(texts)))


def _date(second: float) -> str:
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%d %H:%M")


def _short(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:z.6g}" if isinstance(value, float) else str(value)
