"""Pictures: described, in the page's ink, the same every time, and never in the way of what they
show.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.messages import approved

from cotenant.analysis.report import drawing
from cotenant.analysis.report.picture import Chart, HeatMap, Series, Style
from cotenant.analysis.report.plotting import label_places

pytest.importorskip("matplotlib", reason="drawing needs matplotlib")

STYLES: tuple[Style, ...] = ("line", "points", "line+points", "step", "step+points", "bars")


def chart(*series: Series, name: str = "map", **changes: Any) -> Chart:
    return Chart(
        name, "A <title> & more", "x", "y [s]", series, "What it shows: <nothing> & more", **changes
    )


def heat_map(values: Sequence[Sequence[float | None]], **changes: Any) -> HeatMap:
    columns = len(values[0]) if values else 0
    names = tuple(f"c{n}" for n in range(columns)), tuple(f"r{n}" for n in range(len(values)))
    return HeatMap(
        "heat", "Heat", "to", "from", *names, tuple(map(tuple, values)), "envy", "a map", **changes
    )


POINTS = Series(
    "methods",
    (1.0, 2.0, 3.0),
    (1.0, None, 2.0),
    "points",
    ("A", "B", "C"),
    ("tip <A>", "tip B", "tip C"),
)
PICTURES: list[Any] = [
    chart(
        POINTS,
        Series("proved", (1, 2, 3), (1, 2, 3), "step+points", tips=("p", "q", "r"), strong=True),
    ),
    chart(*(Series(style, (1, 2, 3), (1, 2, 3), style) for style in STYLES if style != "bars")),
    chart(
        Series("bars", ("a", "b"), (1, None), "bars", low=(0.5, 0), high=(2, 0)),
        Series("b2", ("b", "c"), (2, 3), "bars"),
    ),
    chart(Series("names", ("a", "b", "a"), (1, 2, 3), "line+points")),
    heat_map([[1.0, None], [2.0, 3.0]]),
    heat_map([[-1.0, 2.0]], center=0.0),
]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("picture", PICTURES)
def test_svg_has_title_description_and_page_color(picture: Any) -> None:
    text = drawing.svg(picture, "p1-")
    root = ElementTree.fromstring(text)
    space = "{http://www.w3.org/2000/svg}"
    title, description = root.find(f"{space}title"), root.find(f"{space}desc")
    assert title is not None
    assert description is not None
    assert (title.text, description.text) == (picture.title, picture.alt)
    assert root.get("aria-labelledby") == f"{title.get('id')} {description.get('id')}"
    assert root.get("role") == "img"
    assert "width" not in root.attrib
    assert root.get("viewBox")
    assert "currentColor" in text
    assert not re.search(r"#000000|#010203|: black", text)
    assert "<style" not in text
    assert "http" not in re.sub(r'xmlns(:xlink)?="[^"]*"', "", text)


@pytest.mark.slow
def test_svg_ids_of_two_pictures_are_disjoint() -> None:
    one, two = (drawing.svg(chart(Series("s", (1, 2), (y, 2.0)))) for y in (0.0, 1.0))
    alike = [set(re.findall(r'\bid="([^"]+)"', text)) for text in (one, two)]
    assert not alike[0] & alike[1], "of one name, in one notebook"
    one, two = (drawing.svg(PICTURES[0], prefix) for prefix in ("p1-", "p2-"))
    ids = [re.findall(r'\bid="([^"]+)"', text) for text in (one, two)]
    assert len(ids[0]) == len(set(ids[0]))
    assert not set(ids[0]) & set(ids[1])
    for text, own in zip((one, two), ids, strict=True):
        assert set(re.findall(r'(?:xlink:href="#|url\(#)([^")]+)', text)) <= set(own)


@pytest.mark.slow
def test_picture_is_deterministic() -> None:
    assert drawing.svg(PICTURES[0], "a-") == drawing.svg(PICTURES[0], "a-")


def test_svg_points_have_tooltips() -> None:
    text = drawing.svg(PICTURES[0])
    approved(re.findall(r"<use[^>]*><title>([^<]*)</title></use>", text))


@pytest.mark.slow
@pytest.mark.parametrize("scale", ["linear", "log", "symlog"])
def test_chart_draws_zeros_and_missing_values_on_every_scale(scale: Any) -> None:
    for x, y in (
        ((1, 2), (0.0, 3.0)),
        ((0, 5), (-1.0, None)),
        ((1, 2), (None, None)),
        ((), ()),
        ((1,), (0.0,)),
    ):
        series = [Series(style, x, y, style) for style in STYLES]
        assert "<svg" in drawing.svg(chart(*series, x_scale=scale, y_scale=scale))
    assert "<svg" in drawing.svg(chart(x_scale=scale))


def test_names_in_pictures_are_plain_text() -> None:
    text = drawing.svg(
        chart(
            Series("_$a$ <b>", (1, 2), (1, 2), "line"),
            Series("$", (1,), (1,), "points", labels=("$x$ &",)),
        )
    )
    assert "_$a$ &lt;b&gt;" in text
    assert "$x$ &amp;" in text


@pytest.mark.slow
def test_picture_files_are_valid_in_every_format(tmp_path: Path) -> None:
    heads = {"pdf": b"%PDF", "png": b"\x89PNG", "svg": b"<?xml"}
    written = drawing.save(
        [PICTURES[0], heat_map([[1.0]])], tmp_path / "new", ("pdf", "png", "svg")
    )
    assert sorted(path.name for path in written) == sorted(
        f"{name}.{form}" for name in ("map", "heat") for form in heads
    )
    for path in written:
        assert path.read_bytes().startswith(heads[path.suffix[1:]])
    assert sorted((tmp_path / "new").iterdir()) == sorted(written)
    assert written[0].read_bytes().rstrip().endswith(b"%%EOF")


boxes = st.lists(st.tuples(st.floats(0, 300), st.floats(0, 200)), min_size=1, max_size=12)


@pytest.mark.slow
@settings(max_examples=50)
@given(boxes)
def test_point_labels_stay_in_frame_at_constant_size(points: list[tuple[float, float]]) -> None:
    sizes = [(30.0, 9.0)] * len(points)
    found = label_places(points, sizes, (-40.0, -20.0, 340.0, 220.0))
    assert all(
        box[2] - box[0] == pytest.approx(30) and box[3] - box[1] == pytest.approx(9)
        for box in found
    )
    assert all(box[0] >= -41 and box[2] <= 341 and box[1] >= -21 and box[3] <= 221 for box in found)
