"""Every text of a picture is on its canvas, and profiles are drawn where ratios say something."""

from __future__ import annotations

import pytest
from matplotlib.figure import Figure

from cotenant.analysis.report import plotting
from cotenant.analysis.report.aggregate import has_ratios
from cotenant.analysis.report.latex import _lines
from cotenant.analysis.report.picture import Chart, Series

NARROW = 8.5 / 2.54
"""Inches of `report --width 8.5`."""


def fits(figure: Figure) -> bool:
    """Whether all that is drawn, every text among it, is on the canvas."""
    figure.draw_without_rendering()
    drawn = figure.get_tightbbox()
    wide, tall = figure.get_size_inches()
    return bool(
        min(drawn.x0, drawn.y0) > -0.01 and drawn.x1 < wide + 0.01 and drawn.y1 < tall + 0.01
    )


def profile() -> Chart:
    names = ("optimal", "stable", "SR", "threshold")
    series = tuple(Series(name, (1.0, 2.0 + place), (0.5, 1.0)) for place, name in enumerate(names))
    return Chart(
        "p", "profile", "at most this many times worse than the best method",
        "share of instances", series, alt="", x_scale="log",
    )  # fmt: skip


@pytest.mark.parametrize("width", [NARROW, 16 / 2.54, None])
def test_every_text_of_a_profile_is_on_its_canvas(width: float | None) -> None:
    assert fits(plotting.chart_figure(profile(), width))


def test_ratios_to_a_best_of_0_say_nothing() -> None:
    assert not has_ratios({"stable": [0.0, 0.0], "SMR": [634.0, 20.0]}, "min")
    assert has_ratios({"stable": [0.0, 1.0], "SMR": [634.0, 20.0]}, "min")


def test_a_heading_has_three_lines_at_most() -> None:
    assert len(_lines("a b c d e f g (h 0)", 3)) == 3
    assert _lines("mean penalty", 40) == ["mean penalty"]
