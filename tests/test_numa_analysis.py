"""The technology model, the thesis's figures, pictures and frontiers of NUMA."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import numpy as np
import pytest
from support.messages import approved
from support.oracles.fluid import least_power
from support.report_rows import recorded

import cotenant
from cotenant.analysis.numa.frontier import price_frontiers
from cotenant.analysis.numa.metrics import metrics
from cotenant.analysis.numa.pictures import pictures, record
from cotenant.analysis.numa.technology import (
    break_even,
    inter_blade_latency,
    link_energy_per_bit,
    migration_energy,
    recomputed,
    remote_energy,
)
from cotenant.analysis.report.picture import Chart
from cotenant.baselines.numa import local
from cotenant.instances.numa.instance import Simulation
from cotenant.papers.registry import experiment_named
from cotenant.solvers.engines import EngineAnswer
from cotenant.solvers.numa.fluid import fluid, fluid_power
from cotenant.solvers.outcome import Status, Stop

PRINTED = {
    "access one hop away": 150, "power of a path": 8.192, "PCIe energy": 37.5,
    "power of an inter-blade link": 9.8,
    "power of six links": 58.8, "its power": 128, "access on another blade": 405,
    "tasks of 256 cores": 6400,
    "HyperTransport energy": 40, "links' share of communication power": 30.31,
}  # fmt: skip
"""What the thesis's inputs give, worked by hand."""

INCONSISTENT = {
    "expected HyperTransport delay to and from bridges", "access on another blade",
    "data rate of a lane",
    "power of an 8 GB channel at 100 %, derived from 2 W/GB",
    "power of an 8 GB channel at 20 %, derived from 2 W/GB",
    "E_Mem@20", "HyperTransport lanes",
    "HyperTransport energy", "PCIe energy with its bridges",
    "the same, 40 W and 60 W added as printed",
    "the same at the clock of Table 4.3",
}  # fmt: skip


def test_numa_figures_follow_from_inputs() -> None:
    assert inter_blade_latency() == pytest.approx(405)
    assert link_energy_per_bit("another blade") == pytest.approx(109.5)
    ours = {row.what: row.ours for row in recomputed()}
    for what, value in PRINTED.items():
        assert ours[what] == pytest.approx(value, abs=0.005), what


def test_known_inconsistencies_of_thesis_are_found() -> None:
    assert {row.what for row in recomputed() if not row.agrees} == INCONSISTENT


@pytest.mark.parametrize(
    ("path", "value"), [("another blade", 2.2785), ("two hops", 2.9444), ("one hop", 4.8889)]
)
def test_migration_and_remote_access_have_equal_energy_at_break_even(
    path: str, value: float
) -> None:
    reuse = break_even(path)  # type: ignore[arg-type]
    assert reuse == pytest.approx(value, abs=5e-5)
    assert migration_energy(path, reuse) == pytest.approx(remote_energy(path, reuse))  # type: ignore[arg-type]


def verdicts(name: str, **options: object) -> dict[str, str]:
    return {
        finding.what: finding.verdict
        for finding in experiment_named(name).run(seed=0, **options).findings
    }


def test_migration_claims_of_section_4_5_3_have_expected_verdicts() -> None:
    # P12 over two hops: (140 + 72 + 110) / (72 + 110) = 1.769 of the energy, 1.507 of the delay:
    # 0.779 of ED^2
    found = verdicts("numa-figure-4.12")
    assert found["ED^2 prefers migration to access on another blade"] == "reproduced"
    assert found["ED^2 prefers remote access over HyperTransport"] == "differs"
    # read often enough, a page is better moved even within a blade
    often, rarely = (verdicts("numa-figure-4.12", reuse=reuse) for reuse in (5.0, 0.1))
    assert often["ED^2 prefers migration to access on another blade"] == "reproduced"
    assert rarely["ED^2 prefers migration to access on another blade"] == "differs"
    assert rarely["ED^2 prefers remote access over HyperTransport"] == "reproduced"


HOT = cotenant.read("numa/kmeans-hot-memory")


@pytest.mark.parametrize("name", ["numa/tiny", "numa/kmeans-hot-memory", "numa/kmeans-hot-blade"])
def test_numa_frontier_equals_independent_program(name: str) -> None:
    instance = cotenant.read(name)
    (frontier,) = price_frontiers(instance, points=5)
    assert frontier.status is Status.OPTIMAL
    for point in frontier.points:
        expected = least_power(instance, point.limit * (1 - 1e-9))
        assert expected is not None
        assert point.value == pytest.approx(expected, rel=1e-5, abs=1e-7)
        assert point.bound == pytest.approx(expected, rel=1e-5, abs=1e-7)
        assert point.reached == pytest.approx(point.limit)
    assert least_power(instance, frontier.points[0].limit * 1.001) is None


def test_numa_frontier_includes_rate_of_instance_and_ends_at_zero_power() -> None:
    (frontier,) = price_frontiers(HOT)
    limits = [point.limit or 0.0 for point in frontier.points]
    assert len(limits) == 8
    assert HOT.rate in limits
    assert frontier.points[-1].value == 0
    own = frontier.points[limits.index(HOT.rate)]
    assert own.value == pytest.approx(fluid_power(HOT).bound)
    assert "5752.04" in frontier.note


def test_interrupted_frontier_keeps_finished_points(interrupt_at: Any) -> None:
    asked = interrupt_at("cotenant.analysis.numa.frontier.fluid_power", keeps=True)
    (frontier,) = price_frontiers(HOT)
    assert len(asked) == 1
    assert (frontier.stop, frontier.status) == (Stop.INTERRUPTED, Status.FEASIBLE)
    assert frontier.points[0].status is Status.OPTIMAL
    assert all(point.status is not Status.OPTIMAL for point in frontier.points[1:])


@pytest.fixture(scope="module")
def run() -> Simulation:
    """Local on the hot memory, a short run."""
    found: Simulation = local(HOT, rng=np.random.default_rng(1), tasks=20_000).solution
    return found


def test_simulation_record_agrees_with_metrics(run: Simulation) -> None:
    kept, measured = record(HOT, run), metrics(HOT, run)
    assert kept["served"] == pytest.approx(measured["served_rate"])
    names = ("share_local", "share_1hop", "share_2hop", "share_blade")
    assert kept["shares"] == pytest.approx([measured[name] for name in names], rel=1e-4)
    assert len(json.dumps(kept)) < 1000


row = partial(recorded, "numa")
"""A row of a comparison, as far as pictures look at it."""


def chart(name: str, rows: list[dict[str, Any]]) -> Chart:
    """The picture of that name."""
    found = next(
        picture for picture in pictures(json.loads(json.dumps(rows))) if picture.name == name
    )
    assert isinstance(found, Chart)
    return found


def test_numa_chart_notes_unstable_run_and_draws_no_curve_for_it(run: Simulation) -> None:
    grown = record(HOT, run.replace(stable=False))
    assert "curve" not in grown
    drawn = chart("response-times", [row("Local", record(HOT, run)), row("IB", grown)])
    assert [series.name for series in drawn.series] == ["Local"]
    approved(drawn.note)
    assert "IB" in drawn.alt


def test_unproved_maximum_rate_leaves_frontier_open(engines: Any) -> None:
    proved = fluid(HOT)
    (known,) = price_frontiers(HOT, points=3)
    engines(solve_refined=lambda *_, **__: EngineAnswer(Status.UNKNOWN, Stop.TIME_LIMIT))
    (unknown,) = price_frontiers(HOT, points=3)
    assert (known.status, unknown.status) == (Status.OPTIMAL, Status.FEASIBLE)
    assert unknown.points[0].value is None
    assert unknown.points[0].limit == fluid(HOT).bound > proved.bound
    assert "not known" in unknown.note
