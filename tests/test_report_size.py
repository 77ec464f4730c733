"""How much a page shows: the first instances, a summary, each picture once, lines that can be told
apart.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.messages import approved

import cotenant
from cotenant.analysis.report.content import MOST_PICTURED, build_page
from cotenant.analysis.report.glossary import WORDS, glossary, meaning
from cotenant.analysis.report.page import write_report
from cotenant.analysis.report.picture import Chart, HeatMap, Series, finding, once
from cotenant.analysis.report.plotting import MOST_LINES, chart_figure
from cotenant.analysis.run.rows import Row
from cotenant.instances.colocation.generators import population

pytest.importorskip("matplotlib", reason="the page needs matplotlib")
pytest.importorskip("jinja2", reason="the page needs jinja2")


@pytest.fixture(scope="module")
def twenty() -> list[Row]:
    """Rows of seven methods on twenty instances."""
    drawn = [population(agents=40, rng=np.random.default_rng(seed)) for seed in range(20)]
    named = [each.replace(name=f"draw-{place}") for place, each in enumerate(drawn)]
    methods = ["optimal", "GR", "SMR", "SMP", "CO", "SR", "threshold"]
    return cotenant.compare(named, methods, time_limit=5).rows


@pytest.mark.slow
def test_page_of_twenty_instances_is_below_a_megabyte(twenty: list[Row], tmp_path: Path) -> None:
    (page,) = write_report(twenty, tmp_path / "x.html")
    assert page.stat().st_size < 1e6
    text = page.read_text()
    assert all(f"draw-{place}<" in text for place in range(20)), "every instance has its table"
    assert f"Pictures are drawn for the first {MOST_PICTURED} of 20 instances" in text


@pytest.mark.slow
def test_page_draws_as_many_instances_as_the_options_say(twenty: list[Row], tmp_path: Path) -> None:
    made = build_page(twenty, shown=2)
    (problem,) = made.problems
    assert [bool(each.pictures) for each in problem.instances] == [True] * 2 + [False] * 18
    assert all(each.table is not None for each in problem.instances)
    approved(str(made.ran.rows[0][1]))
    (problem,) = build_page(twenty, shown=0).problems
    assert not any(each.pictures for each in problem.instances)
    (problem,) = build_page(twenty, summary_only=True).problems
    assert (problem.instances, problem.runs) == ((), None)
    assert problem.tables
    assert problem.pictures


LINE = Chart("a", "A", "x", "y", (Series("s", (0, 1), (1.0, 2.0)),), "Lines. Least: s with 1.")


def test_finding_is_last_sentence_of_alternative_text_and_short() -> None:
    assert finding(LINE) == "Least: s with 1."
    approved(finding(replace(LINE, alt="only words. And more.")))
    long = finding(replace(LINE, alt=f"Means: {'a long list, ' * 40}."))
    assert len(long) <= 180
    assert long.endswith("list ...")


def test_once_removes_equal_pictures() -> None:
    other = replace(LINE, name="b", title="B")
    moved = replace(LINE, name="c", series=(Series("s", (0, 1), (1.0, 3.0)),))
    kept = once([LINE, other, moved])
    assert [each.name for each in kept] == ["a", "c"]
    approved(kept[0].note)
    points = replace(LINE, metrics=("penalty", "slack"))
    again = replace(moved, metrics=("slack", "penalty"))
    assert [each.name for each in once([points, again])] == ["a"]
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


@pytest.mark.slow
def test_glossary_explains_terms_on_the_page(twenty: list[Row]) -> None:
    words = dict(glossary(build_page(twenty, summary_only=True)))
    assert {"penalty", "gap", "blocking pair"} <= set(words)
    assert "phi" not in words
    assert list(WORDS) == sorted(WORDS)
    approved(meaning("mean penalty: gap"))
    assert meaning("method") == ""
    assert all(re.fullmatch(r"[^\n]+\.", text) for text in WORDS.values())
