"""Every text of a picture is on its canvas, and profiles are drawn where ratios say something."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from test_pictures import drawn, having, runs

from cotenant.analysis.report.aggregate import has_ratios
from cotenant.analysis.report.drawing import LEAST_WIDTH, figure
from cotenant.analysis.report.picture import (
    Block,
    BlockChart,
    Chart,
    HeatMap,
    Picture,
    Series,
    Style,
)
from cotenant.analysis.report.plotting import MOST_LINES

WIDTHS = [LEAST_WIDTH, 8.5, None]
"""Centimeters: the least, a column, as they come."""

NAME = "a method whose name is as long as this one, module:function_of_mine"
LABEL = "at most this many times worse than the best method, of all that ran on it [seconds a job]"


def outside(picture: Picture, width: float | None) -> list[str]:
    """What is drawn beyond the canvas, every text among it; the figure and its worst side."""
    drawn = figure(picture, width)
    drawn.draw_without_rendering()
    box = drawn.get_tightbbox()
    wide, tall = drawn.get_size_inches()
    sides = {"left": box.x0, "below": box.y0, "right": wide - box.x1, "above": tall - box.y1}
    return [f"{picture.name} {side} {room:.2f}" for side, room in sides.items() if room < -0.02]


def chart(name: str, *series: Series, **scales: Any) -> Chart:
    return Chart(name, "title", LABEL, LABEL, series, alt="", **scales)


def lines(number: int, style: Style = "line") -> list[Series]:
    x: tuple[Any, ...] = (1.0, 2.0, 3.0) if style != "bars" else ("a", "b", NAME)
    return [Series(f"{n} {NAME}", x, (1.0, n + 2.0, 1e6), style) for n in range(number)]


def heat_map(number: int) -> HeatMap:
    names = tuple(f"{n} {NAME}" for n in range(number))
    values = tuple(tuple(float(a * b) for a in range(number)) for b in range(number))
    return HeatMap(f"heat {number}", "title", LABEL, LABEL, names, names, values, LABEL, "")


ROWS = tuple(f"{NAME} {n}" for n in range(12))
PICTURES: list[Picture] = [
    *(chart(style, *lines(3, style)) for style in get_args(Style)),
    chart("two bars", Series("m", ("a", "b"), (1.0, 2.0), "bars")),
    chart("many", *lines(MOST_LINES + 1)),
    chart("log", *lines(3, "points"), x_scale="log", y_scale="log"),
    chart("named", Series("m", (1.0, 2.0, 9.0), (1.0, 2.0, 3.0), "points", (NAME, "B", NAME))),
    chart("rows", *(Series(f"m{n}", ROWS, tuple(range(12)), "points", ROWS) for n in range(3))),
    heat_map(5), heat_map(30),
    BlockChart("blocks", "title", LABEL, LABEL, tuple(
        Block(f"{n} {NAME}", NAME, float(n), n + 3.0, f"{n} {NAME}") for n in range(6)
    ), ""),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: picture.name)
def test_picture_texts_are_inside_canvas(picture: Picture, width: float | None) -> None:
    assert outside(picture, width) == []


@pytest.mark.slow
@pytest.mark.parametrize("problem", having("pictures"))
def test_comparison_picture_texts_are_inside_canvas(problem: str) -> None:
    found = drawn(problem, runs(problem))
    assert found
    assert [it for each in found for width in WIDTHS for it in outside(each, width)] == []


def test_profile_has_no_ratios_if_best_values_are_zero() -> None:
    assert not has_ratios({"stable": [0.0, 0.0], "SMR": [634.0, 20.0]}, "min")
    assert has_ratios({"stable": [0.0, 1.0], "SMR": [634.0, 20.0]}, "min")
