"""How much a page shows: the first instances, a summary, each picture once, lines that can be told
apart.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.messages import approved

from cotenant.analysis.report.picture import Chart, HeatMap, Series, finding, once
from cotenant.analysis.report.plotting import MOST_LINES, chart_figure

pytest.importorskip("matplotlib", reason="the page needs matplotlib")
pytest.importorskip("jinja2", reason="the page needs jinja2")


LINE = Chart("a", "A", "x", "y", (Series("s", (0, 1), (1.0, 2.0)),), "Lines. Least: s with 1.")


def test_picture_finding_is_short_last_sentence_of_alternative_text() -> None:
    assert finding(LINE) == "Least: s with 1."
    approved(finding(replace(LINE, alt="only words. And more.")))
    long = finding(replace(LINE, alt=f"Means: {'a long list, ' * 40}."))
    assert len(long) <= 180
    assert long.endswith("list ...")


def test_pictures_with_equal_numbers_are_shown_once() -> None:
    other = replace(LINE, name="b", title="B")
    moved = replace(LINE, name="c", series=(Series("s", (0, 1), (1.0, 3.0)),))
    kept = once([LINE, other, moved])
    assert [each.name for each in kept] == ["a", "c"]
    approved(kept[0].note)
    cells = HeatMap("m", "M", "x", "y", ("a",), ("b",), ((1.0,),), "v", "map")
    assert len(once([cells, replace(cells, name="n"), replace(cells, values=((2.0,),))])) == 2


def test_chart_of_many_lines_has_one_frame_per_line() -> None:
    lines = [Series(f"line {k}", (0, 1, 2), (float(k), 1.5, 2.0)) for k in range(MOST_LINES + 1)]
    few = chart_figure(replace(LINE, series=tuple(lines[:-1])))
    assert len(few.axes) == 1
    many = chart_figure(replace(LINE, series=tuple(lines)))
    shown = [axes for axes in many.axes if axes.get_visible()]
    assert [axes.get_title("left") for axes in shown] == [line.name for line in lines]
    gray = [axes.lines[0] for axes in shown]
    assert all(len(axes.lines) == 2 for axes in shown), "the others gray behind it, in one line"
    assert [np.isnan(line.get_xdata()).sum() for line in gray] == [len(lines)] * len(lines)


def test_axis_of_integers_has_integer_ticks() -> None:
    counts = chart_figure(replace(LINE, series=(Series("s", (0, 1, 2), (0.0, 1.0, 1.0)),)))
    for axis in (counts.axes[0].xaxis, counts.axes[0].yaxis):
        assert all(tick == round(tick) for tick in axis.get_ticklocs())
    parts = chart_figure(replace(LINE, series=(Series("s", (0, 1, 2), (0.0, 0.5, 1.0)),)))
    assert any(tick % 1 for tick in parts.axes[0].yaxis.get_ticklocs())
