"""NUMA: the technology model, the thesis's figures, pictures and frontiers; the blade server as data,
and invalid input.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.messages import approved, refused
from support.oracles.fluid import least_power
from support.oracles.numa_events import simulate_plainly
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
from cotenant.instances.numa import Flow
from cotenant.instances.numa.bounds import link_energy, saturated_throughput
from cotenant.instances.numa.feasible import reach
from cotenant.instances.numa.generators import blade_server
from cotenant.instances.numa.instance import Simulation
from cotenant.instances.numa.technology import BENCHMARKS
from cotenant.instances.problem import InfeasibleSolution, InvalidFile, InvalidOption, read
from cotenant.papers.registry import experiment_named
from cotenant.solvers.engines import EngineAnswer, solve_refined
from cotenant.solvers.numa.engine import simulate
from cotenant.solvers.numa.fluid import fluid, fluid_power
from cotenant.solvers.numa.random_inputs import draw
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


def test_numa_latency_and_energy_from_inputs_equal_published_numbers() -> None:
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


def test_blade_server_default_has_published_distances_and_cores() -> None:
    server = blade_server()
    assert server.all_cores == 256
    assert server.distance[0].tolist() == [0, 1, 1, 2] + [3] * 12
    assert (server.distance == server.distance.T).all()
    assert server.load == pytest.approx(4000 / 6400)


def test_blade_mesh_distances_count_row_and_column_hops() -> None:
    server = blade_server(blades=1, rows=2, columns=3).replace(ht1=[1.2])
    assert server.distance[0].tolist() == [0, 1, 2, 1, 2, 3]
    assert server.slowdown[0, 3] == pytest.approx(1 + 0.2 * 1.6)
    assert server.blade_distance == 4


@pytest.mark.parametrize(
    ("policy", "farthest", "rate"),
    [("Local", 0, 6400), ("IP-1", 1, 5581), ("IP-2", 2, 5417), ("IB", 3, 3962)],
)
def test_numa_policy_has_published_farthest_distance_and_throughput(
    policy: str, farthest: int, rate: float
) -> None:
    assert reach(blade_server(), policy) == farthest
    assert saturated_throughput(blade_server(benchmark="S6"), policy) == pytest.approx(
        rate, abs=0.5
    )


def test_saturated_throughput_of_local_policy_is_refused_for_hot_memory() -> None:
    hot = blade_server(data="hot-memory")
    with refused(InvalidOption):
        saturated_throughput(hot, "Local")
    assert saturated_throughput(hot, "IB") == pytest.approx(
        3962, rel=0.005
    )  # a little more: the hot memory's cores are fast


def test_link_energy_follows_from_local_service_time() -> None:
    energy = link_energy(blade_server(benchmark="S6"))[0]
    bits = 283e6 * 8 * 0.04
    assert energy.tolist() == pytest.approx([0, 36e-12 * bits, 72e-12 * bits, 109.5e-12 * bits])


def test_thesis_table_4_2_has_twenty_benchmarks_by_memory_intensity() -> None:
    kinds = [entry.intensity for entry in BENCHMARKS]
    assert (kinds.count("EMI"), kinds.count("MI"), kinds.count("CI")) == (1, 7, 12)
    assert all(entry.pcie >= entry.ht1 >= 1 for entry in BENCHMARKS)


def test_blade_server_divides_cold_data_equally_among_other_memories() -> None:
    memory, blade = (
        blade_server(data="hot-memory", hot=0.4),
        blade_server(data="hot-blade", hot=0.5),
    )
    assert memory.location_share.tolist() == pytest.approx([0.4] + [0.04] * 15)
    assert blade.location_share.tolist() == pytest.approx([0.125] * 4 + [0.5 / 12] * 12)


def test_result_with_answer_of_other_problem_is_refused(tmp_path: Path) -> None:
    path = cotenant.solve(read("numa/tiny"), "fluid").write(tmp_path / "result.json")
    path.write_text(json.dumps(json.loads(path.read_text()) | {"answer": "Pairing"}))
    with refused(InvalidFile):
        cotenant.Result.read(path)


def test_documented_numa_example_is_valid(tmp_path: Path) -> None:
    page = (Path(__file__).resolve().parents[1] / "docs" / "numa.md").read_text()
    path = tmp_path / "example.json"
    path.write_text(page.partition("```json\n")[2].partition("```")[0])
    approved(read(path, cotenant.Numa).summary()["classes"])


BLADE = blade_server(data="hot-memory", hot=0.25)


@pytest.mark.parametrize("unit", [1e-12, 1e-8, 1e-4, 1e4, 1e8])
def test_fluid_optimum_scales_with_time_unit(unit: float) -> None:
    most = fluid(BLADE).bound
    scaled = fluid(BLADE.replace(service_mean=BLADE.service_mean * unit))
    assert most is not None
    assert scaled.status is Status.OPTIMAL
    assert scaled.bound == pytest.approx(most / unit, rel=1e-9)


def test_link_energies_beyond_floats_are_refused() -> None:
    with refused(InvalidOption):
        link_energy(blade_server(), ht_energy=1e308)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"rate": 1e-90}, "lost in rounding"),
        ({"rate": 1e-308}, "add up to"),
        ({"service_mean": [1e-300]}, "lost in rounding"),
        ({"service_mean": [1e200]}, "add up to"),
        ({"pcie": [1e300]}, "add up to"),
        ({"arrival_law": "gamma", "arrival_scv": 1e9}, "at one moment"),
    ],
)
def test_simulation_beyond_float_resolution_is_refused(changes: dict[str, Any], why: str) -> None:
    result = cotenant.solve(blade_server().replace(**changes), "IB", tasks=2000)
    assert (result.status, result.solution) == (Status.UNKNOWN, None)
    assert why in result.certificate["run"]


def _stops_after(calls: int, error: type[BaseException] | None = None) -> Any:
    left = [calls]

    def go_on(_: int) -> bool:
        left[0] -= 1
        if left[0] == 0 and error is not None:
            raise error
        return left[0] > 0

    return go_on


@pytest.mark.parametrize("error", [None, KeyboardInterrupt])
@pytest.mark.parametrize("run", [simulate, simulate_plainly])
def test_stopped_simulation_is_prefix_of_complete_run(
    run: Any, error: type[BaseException] | None
) -> None:
    server = blade_server(rate=5500.0)
    draws = draw(server, 5000, 0, np.random.default_rng(0))
    part = run(server, draws, go_on=_stops_after(2, error), chunk=1000)
    whole = run(server, draws)
    assert part.arrived == 2000
    assert part.interrupted == (error is not None)
    early = whole.start < draws.arrival[2000]
    assert np.array_equal(part.start[early], whole.start[early])
    assert (part.start[:2000] >= 0).all()
    assert (part.start[2000:] < 0).all()


@pytest.mark.parametrize("stop", [Stop.TIME_LIMIT, Stop.INTERRUPTED])
@pytest.mark.parametrize("level", [1, 2])
def test_stopped_numa_fluid_program_returns_answer_and_bound(
    stop: Stop, level: int, engines: Callable[..., None]
) -> None:
    seen: list[int] = []

    def cut_short(program: Any, *, time_limit: float | None) -> EngineAnswer:
        seen.append(1)
        if len(seen) == level:
            return EngineAnswer(Status.UNKNOWN, stop)
        return solve_refined(program, time_limit=time_limit)

    engines(solve_refined=cut_short)
    outcome = fluid(BLADE)
    assert outcome.stop is stop
    assert outcome.status is (Status.FEASIBLE if level == 1 else Status.OPTIMAL)
    assert outcome.bound == pytest.approx(6400 if level == 1 else 5752.04, rel=1e-5)
    cotenant.check(BLADE, outcome.solution)  # type: ignore[arg-type]
    seen.clear()
    mixed = cotenant.solve(BLADE, "mix", tasks=1000)
    assert mixed.stop is (Stop.INTERRUPTED if stop is Stop.INTERRUPTED else mixed.stop)
    assert stop is not Stop.INTERRUPTED or mixed.solution is None


def test_overloaded_flow_is_refused() -> None:
    flow = fluid(BLADE).solution
    assert isinstance(flow, Flow)
    with refused(InfeasibleSolution):
        cotenant.check(BLADE, Flow(1.001 * flow.throughput, 1.001 * flow.flow))
