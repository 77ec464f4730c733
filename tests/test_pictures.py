"""What every problem's records, pictures and frontiers keep to, whatever the problem."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

import cotenant
from cotenant.analysis.frontier import PriceFrontier
from cotenant.analysis.registry import analysis_of
from cotenant.analysis.report.picture import Chart, Drawing, HeatMap, Picture
from cotenant.analysis.run.rows import Row
from cotenant.instances.problem import PROBLEM_NAMES
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
