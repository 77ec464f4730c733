"""Records, pictures and frontiers of every problem, pictures of one answer, texts on canvases."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from support.messages import refused

import cotenant
from cotenant import catalog
from cotenant.analysis.admission import pictures as admission
from cotenant.analysis.colocation import pictures as colocation
from cotenant.analysis.frontier import PriceFrontier
from cotenant.analysis.market import pictures as market
from cotenant.analysis.registry import analysis_of
from cotenant.analysis.report.aggregate import has_ratios
from cotenant.analysis.report.drawing import LEAST_WIDTH, figure
from cotenant.analysis.report.picture import (
    Block,
    BlockChart,
    Chart,
    Drawing,
    HeatMap,
    Picture,
    Series,
    Style,
)
from cotenant.analysis.report.picture_data import curves, records_by_method
from cotenant.analysis.report.plots import pictures_of
from cotenant.analysis.report.plotting import MOST_LINES
from cotenant.analysis.run.rows import Row
from cotenant.instances.colocation import Colocation
from cotenant.instances.market import Market
from cotenant.instances.problem import PROBLEM_NAMES, UnknownName
from cotenant.instances.problem.files import bundled
from cotenant.instances.problem.registry import resolve
from cotenant.solvers.outcome import Status

MOST_BYTES = 8_000
"""Of a record in JSON: a sweep of thousands of runs must stay a file that opens."""

QUICK = {
    "colocation": ("GR", ("colocation/cooper-1000", "colocation/preferences-100")),
    "admission": ("DA1", ("admission/hines-romano-I",)),
    "market": ("ES", ("market/groups-100", "market/pool-100")),
    "packing": ("FFD", ("packing/few-types-6-300",)),
    "scheduling": ("FIFO", ("scheduling/lpc-like",)),
    "numa": ("fluid", ("numa/kmeans",)),
    "groups": ("GR", ("groups/cooper-4-seats",)),
    "accelerators": ("max-min", ("accelerators/tiny",)),
    "lifetimes": ("best-fit", ("lifetimes/arrivals-500",)),
}
"""For each problem a method that takes no time, and the larger bundled instances to run it on."""

SMALL = {"packing": "packing/paper-example"}
"""The instance that all methods run on, where it is not the problem's tiny one (whose requests
leave nothing to trade).
"""

FEWER = {"numa": {"tasks": 5000}}
"""Options that make a run shorter."""

SAME = 1e-6
"""Relative: a policy's value and a bound are both rounded on their way."""


def having(offer: str) -> list[str]:
    """The problems whose analysis offers this."""
    return [name for name in PROBLEM_NAMES if getattr(analysis_of(name), offer)]


def function(problem: str, place: str) -> Callable[..., Any]:
    """A function of the problem's analysis, "module:name"."""
    found: Callable[..., Any] = resolve(f"analysis.{problem}.{place}")
    return found


@cache
def compared(problem: str) -> tuple[Row, ...]:
    """Every method of the catalogue with two seeds on a small instance, and the problem's frontiers
    if it has them.
    """
    frontier = problem in having("frontiers")
    found = cotenant.compare(
        [cotenant.read(SMALL.get(problem, f"{problem}/tiny"))],
        seeds=(0, 1),
        time_limit=600,
        frontier=frontier,
        options=FEWER.get(problem),
    )
    return tuple(found.rows)


def runs(problem: str) -> list[Row]:
    """The rows of methods."""
    return [row for row in compared(problem) if row["kind"] == "run"]


def frontiers(problem: str) -> list[PriceFrontier]:
    """As they come back from a file."""
    (row,) = (row for row in compared(problem) if row["kind"] == "frontier")
    assert "error" not in row, row["error"]
    documents = json.loads(json.dumps(row["frontiers"], allow_nan=False))
    return [PriceFrontier.from_document(document) for document in documents]


def valid(picture: Picture) -> None:
    """Names, words and numbers are there, and the lists fit one another."""
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9.]+)*", picture.name)
    assert picture.title
    assert not picture.title.endswith(".")
    assert len(picture.alt) > 40, picture.name
    assert "nan" not in re.split(r"\W+", picture.alt.lower())
    if isinstance(picture, Chart):
        assert picture.series
        assert len({series.name for series in picture.series}) == len(picture.series)
        for series in picture.series:
            assert len(series.x) == len(series.y) > 0, (picture.name, series.name)
            for beside in (series.labels, series.tips, series.low, series.high):
                assert len(beside) in (0, len(series.x)), (picture.name, series.name)
            assert all(value is None or value == value for value in series.y), (
                picture.name,
                series.name,
            )
    elif isinstance(picture, HeatMap):
        assert len(picture.values) == len(picture.y_names) > 0
        assert all(len(row) == len(picture.x_names) > 0 for row in picture.values), picture.name
        assert all(value is None or value == value for row in picture.values for value in row), (
            picture.name
        )
    else:
        assert isinstance(picture, Drawing)
    table = picture.table()
    assert table is None or table.csv()


@pytest.fixture(params=having("pictures"))
def problem(request: pytest.FixtureRequest) -> str:
    """A problem that has pictures."""
    name: str = request.param
    return name


def drawn(problem: str, rows: list[Row]) -> list[Picture]:
    """The pictures of these rows, each of them valid, as they come after a detour through a
    file.
    """
    found: list[Picture] = function(problem, "pictures:pictures")(json.loads(json.dumps(rows)))
    for picture in found:
        valid(picture)
    assert len({picture.name for picture in found}) == len(found)
    return found


@pytest.mark.slow
def test_every_method_leaves_picture_record_on_small_instance(problem: str) -> None:
    missing = {
        row["method"]: row["record"]
        for row in runs(problem)
        if not row.get("error") and row.get("status") != "infeasible"
    }
    assert missing
    for method, record in missing.items():
        assert isinstance(record, dict), method
        assert "error" not in record, (method, record)


def test_picture_record_is_small_valid_json(problem: str) -> None:
    method, instances = QUICK[problem]
    for name in instances:
        instance = cotenant.read(name)
        solution = cotenant.solve(instance, method, time_limit=20).solution
        record = function(problem, "pictures:record")(instance, solution)
        assert len(json.dumps(record, allow_nan=False)) <= MOST_BYTES, name


@pytest.mark.slow
def test_pictures_of_all_methods_and_seeds_are_valid(problem: str) -> None:
    assert drawn(problem, runs(problem))


def test_pictures_skip_rows_without_record(problem: str) -> None:
    good = runs(problem)
    bad: list[Row] = [
        good[0]
        | {
            "method": "failed",
            "error": "it broke",
            "status": "error",
            "metrics": {},
            "record": None,
        },
        good[0] | {"method": "no record", "record": None},
        good[0] | {"method": "old", "record": {}},
        good[0] | {"method": "unmeasured", "record": {"error": "ValueError: no"}},
    ]
    without: Row = {key: value for key, value in good[0].items() if key != "record"}
    assert drawn(problem, [*bad, without, *good]) == drawn(problem, good)
    drawn(problem, bad)
    drawn(problem, [])


@pytest.mark.parametrize("problem", having("frontiers"))
def test_frontier_is_monotone_in_limit_and_its_points_keep_limit_and_bound(problem: str) -> None:
    senses = {metric.name: metric.sense for metric in analysis_of(problem).metric_table}
    for frontier in frontiers(problem):
        assert senses[frontier.fairness] in ("min", "max") or (problem, frontier.fairness) == (
            "numa",
            "served_rate",
        )
        better = {"min": -1.0, "max": 1.0}[senses[frontier.efficiency]]
        tighter = 1.0 if senses[frontier.fairness] == "min" else -1.0
        limits = [point.limit for point in frontier.points]
        assert None not in limits[:-1], "only the loosest may have no limit"
        known = [tighter * limit for limit in limits if limit is not None]
        assert known == sorted(set(known))
        for of in ("value", "bound"):
            found = [
                better * getattr(point, of)
                for point in frontier.points
                if getattr(point, of) is not None
            ]
            assert found == sorted(found), (frontier.efficiency, frontier.fairness, of)
        assert frontier.points
        for point in frontier.points:
            if point.value is None:
                assert point.status in (Status.INFEASIBLE, Status.UNKNOWN)
                continue
            assert point.reached is not None
            assert within(point.reached, point.limit, senses[frontier.fairness])
            if point.bound is not None:
                assert better * (point.bound - point.value) >= -SAME * max(1.0, abs(point.value))
            if point.status is Status.OPTIMAL:
                assert point.bound == pytest.approx(point.value, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("problem", having("frontiers"))
def test_policies_respect_frontier_bounds(problem: str) -> None:
    senses = {metric.name: metric.sense for metric in analysis_of(problem).metric_table}
    held = 0
    for frontier in frontiers(problem):
        better = {"min": -1.0, "max": 1.0}[senses[frontier.efficiency]]
        for row in runs(problem):
            value, fairness = (
                row["metrics"].get(name) for name in (frontier.efficiency, frontier.fairness)
            )
            if value is None or fairness is None or row["options"]:
                continue
            for point in frontier.points:
                if not within(fairness, point.limit, senses[frontier.fairness], 0.0):
                    continue
                assert point.status is not Status.INFEASIBLE, (row["method"], point)
                if point.bound is not None:
                    held += 1
                    assert better * (point.bound - value) >= -SAME * max(1.0, abs(value)), (
                        row["method"],
                        point,
                    )
    assert held


def within(fairness: float, limit: float | None, sense: str, noise: float = 1e-9) -> bool:
    """Whether a fairness keeps a limit."""
    if limit is None:
        return True
    allowed = noise * max(1.0, abs(limit))
    return fairness <= limit + allowed if sense == "min" else fairness >= limit - allowed


DRAWN = [name for name in PROBLEM_NAMES if analysis_of(name).answer_picture is not None]
BUNDLED = set(bundled())
EXACT = [method for method in catalog.METHODS if method.kind == "exact"]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("method", EXACT, ids=lambda method: f"{method.problem} {method.name}")
def test_trace_of_exact_method_ends_with_objective_and_bound(method: catalog.Method) -> None:
    small = ("tiny", "two-sides-6", "cards", "paper-example", "cluster-12-40")
    given = [f"{method.problem}/{name}" for name in small if f"{method.problem}/{name}" in BUNDLED]
    instance = next(found for found in map(cotenant.read, given) if method.applies_to(found))
    result = cotenant.solve(instance, method.name, time_limit=20)
    assert result.trace[-1][1:] == (result.objective, result.bound)
    seconds = [row[0] for row in result.trace]
    assert seconds == sorted(seconds)
    shown = cotenant.plot_trace(result)
    assert [series.name for series in shown.picture.series] == ["best answer", "proved bound"]  # type: ignore[union-attr]
    assert all(series.x[-1] >= seconds[-1] for series in shown.picture.series)  # type: ignore[union-attr]


@pytest.mark.slow
@pytest.mark.parametrize("problem", DRAWN)
def test_plot_draws_answer_of_every_problem(problem: str, tmp_path: Path) -> None:
    instance = cotenant.read(f"{problem}/tiny")
    suited = [entry for entry in catalog.methods(problem) if entry.applies_to(instance)]
    method = next(entry for entry in suited if entry.kind != "exact")
    result = cotenant.solve(instance, method.name)
    shown = cotenant.plot(instance, result)
    assert shown._repr_svg_().startswith("<svg")
    assert shown.figure.axes
    files = shown.save(tmp_path, ["svg"])
    assert files == [tmp_path / f"{shown.picture.name}.svg"]
    names = [picture.name for picture in pictures_of(instance, result.solution)]
    assert cotenant.plot(instance, result.solution, names[-1]).picture.name == names[-1]
    with refused(UnknownName):
        cotenant.plot(instance, result, "xyz")


def test_answer_picture_equals_answer() -> None:
    tiny = cotenant.read("scheduling/tiny")
    schedule = cotenant.solve(tiny, "FIFO").solution
    drawn = cotenant.plot(tiny, schedule).picture
    starts = sorted(float(start) for start in schedule.start if start >= 0)
    assert sorted(block.begin for block in drawn.blocks) == starts
    packing = cotenant.read("packing/cluster-12-40")
    placed = cotenant.solve(packing, "FF").solution
    blocks = cotenant.plot(packing, placed).picture.blocks
    used = (placed.count @ packing.demand).sum(axis=0)
    assert sum(block.end - block.begin for block in blocks) in used.tolist()
    assert len({block.row for block in blocks}) == int((placed.count.sum(axis=1) > 0).sum())
    for one, other in pairwise(blocks):
        assert one.row != other.row or one.end == other.begin, "one behind the other"


DIGITS = 1e-3
"""Records hold four digits."""


def row(method: str, record: Any, **fields: Any) -> Row:
    given = {"method": method, "kind": "run", "record": record, "options": {}, "predict": None}
    return {**given, **fields}  # type: ignore[typeddict-item]


def named(pictures: list[Picture], name: str) -> Any:
    (found,) = (picture for picture in pictures if picture.name == name)
    return found


def test_picture_records_are_grouped_by_method_and_options() -> None:
    rows = [
        row("a", {"x": 1}, options={"alpha": 0.1}),
        row("a", {"x": 2}, options={"alpha": 0.2}),
        row("a", {"x": 3}, options={"alpha": 0.2}),
        row("b", {"x": 4}, options={"alpha": 0.1}),
        row("b", {"x": 5}, options={"alpha": 0.1}, predict=0.25),
        row("c", {"y": 1}),
        row("d", None),
    ]
    assert records_by_method(rows, "x") == {
        "a (alpha=0.1)": [{"x": 1}],
        "a (alpha=0.2)": [{"x": 2}, {"x": 3}],
        "b": [{"x": 4}],
        "b on 25 % sampled": [{"x": 5}],
    }


def test_methods_of_equal_picture_records_share_one_curve() -> None:
    kept = {
        "a": [{"x": [1.0]}],
        "b": [{"x": [1.0]}, {"x": [1.0]}],
        "c": [{"x": [0.0]}, {"x": [2.0]}],
    }
    found = [
        (group.methods, mean, low, high)
        for group, mean, low, high in curves(kept, lambda record: record["x"])
    ]
    assert found == [(("a", "b"), (1.0,), (), ()), (("c",), (1.0,), (0.0,), (2.0,))]


def test_pairing_record_agrees_with_metrics() -> None:
    instance = cotenant.read("colocation/cooper-1000")
    assert isinstance(instance, Colocation)
    for method in ("GR", "CO"):
        result = cotenant.solve(instance, method)
        record = colocation.record(instance, result.solution)
        assert record["blocking"][0] == result.metrics["blocking_pairs"]
        at = record["alphas"].index(0.05)
        assert (
            record["blocking"][at]
            == cotenant.solve(instance, method, alpha=0.05).metrics["blocking_pairs"]
        )
        assert record["blocking"] == sorted(record["blocking"], reverse=True)
        assert record["quantiles"][-1] == pytest.approx(result.metrics["worst_penalty"], rel=DIGITS)
        assert record["quantiles"] == sorted(record["quantiles"])
        shares = (
            instance.count[[instance.names.index(name) for name in record["names"]]]
            / instance.agents
        )
        assert shares @ record["penalty"] == pytest.approx(result.metrics["penalty"], rel=DIGITS)
        assert record["bandwidth"] == sorted(record["bandwidth"])


def test_fair_pairing_record_has_no_rank_violation() -> None:
    record = {
        "quantiles": [0.0] * 26,
        "alphas": [0.0],
        "alpha_mode": "penalty-points",
        "blocking": [0],
        "types": 3,
        "names": ["a", "b", "c"],
        "bandwidth": [1.0, 2.0, 3.0],
        "penalty": [0.1, 0.2, 0.3],
    }
    heat = named(
        colocation.pictures(
            [row("fair", record), row("unfair", record | {"penalty": [0.3, 0.2, 0.1]})]
        ),
        "colocation-penalty-ranks",
    )
    assert isinstance(heat, HeatMap)
    assert heat.values == ((0.0, 0.0, 0.0), (2.0, 0.0, -2.0))


def test_assignment_record_agrees_with_metrics() -> None:
    instance = cotenant.read("admission/hines-romano-I")
    for method in ("SM", "DA1"):
        result = cotenant.solve(instance, method)
        record = admission.record(instance, result.solution)  # type: ignore[arg-type]
        assert sum(record["speeds"]) == pytest.approx(result.metrics["total_speed"], rel=DIGITS)
        assert record["refused"] == sum(speed == 0 for speed in record["speeds"])
        assert np.mean(record["vm_fill"]) == pytest.approx(result.metrics["cores_used"], rel=1e-2)
        assert all(
            speed <= best * (1 + DIGITS)
            for speed, best in zip(record["speeds"], record["alone"], strict=True)
        )


def test_allocation_record_agrees_with_metrics() -> None:
    instance = cotenant.read("market/pool-100")
    assert isinstance(instance, Market)
    for method in ("ES", "XC", "utilitarian"):
        result = cotenant.solve(instance, method)
        record = market.record(instance, result.solution)
        assert record["sharing"]["endowment"][0] == pytest.approx(
            result.metrics["sharing_index"], rel=DIGITS
        )
        assert record["sharing"]["tenants"][0] == pytest.approx(
            result.metrics["sharing_index_tenants"], rel=DIGITS
        )
        assert record["envy"][0] == pytest.approx(result.metrics["envy_index"], rel=DIGITS)
        worst = np.array(record["envy_matrix"]).min() / 100
        assert worst <= result.metrics["envy_index"] + 1e-6 < worst + 0.0101
        assert len(record["envy_users"]) == market.MOST_USERS
        assert ("price" in record) == (result.solution.price is not None)


def test_envy_picture_shows_methods_with_worst_pairs() -> None:
    instance = cotenant.read("market/tiny")
    rows = []
    for method in ("fisher", "utilitarian", "PF"):
        record = market.record(instance, cotenant.solve(instance, method).solution)  # type: ignore[arg-type]
        rows.append(row(method, record))
    drawn = market.pictures(rows)
    maps = [picture.name for picture in drawn if isinstance(picture, HeatMap)]
    assert maps[0] == "market-envy-utilitarian"
    assert "market-envy-fisher" not in maps
    curves = named(drawn, "market-sharing-endowment")
    assert isinstance(curves, Chart)
    assert [series.name for series in curves.series] == ["fisher", "utilitarian", "PF", "no gain"]


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


def test_performance_profile_has_no_ratios_if_best_values_are_zero() -> None:
    assert not has_ratios({"stable": [0.0, 0.0], "SMR": [634.0, 20.0]}, "min")
    assert has_ratios({"stable": [0.0, 1.0], "SMR": [634.0, 20.0]}, "min")
