"""Pictures of one answer and of one search, as a notebook shows them."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from support.messages import refused

import cotenant
from cotenant import catalog
from cotenant.analysis.registry import analysis_of
from cotenant.analysis.report.plots import pictures_of
from cotenant.instances.problem import PROBLEM_NAMES, UnknownName
from cotenant.instances.problem.files import bundled

DRAWN = [name for name in PROBLEM_NAMES if analysis_of(name).answer_picture is not None]
BUNDLED = set(bundled())
EXACT = [method for method in catalog.METHODS if method.kind == "exact"]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("method", EXACT, ids=lambda method: f"{method.problem} {method.name}")
def test_trace_of_exact_method_ends_with_objective_and_bound(
    method: catalog.Method,
) -> None:
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
