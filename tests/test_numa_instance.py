"""The blade server as data, invalid input, and numbers at the edge of what is valid."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.messages import approved, refused
from support.oracles.numa_events import simulate_plainly

import cotenant
from cotenant.instances.numa import Flow
from cotenant.instances.numa.bounds import link_energy, saturated_throughput
from cotenant.instances.numa.feasible import reach
from cotenant.instances.numa.generators import blade_server
from cotenant.instances.numa.technology import BENCHMARKS
from cotenant.instances.problem import InfeasibleSolution, InvalidFile, InvalidOption, read
from cotenant.solvers.engines import EngineAnswer, solve_refined
from cotenant.solvers.numa.engine import simulate
from cotenant.solvers.numa.fluid import fluid
from cotenant.solvers.numa.random_inputs import draw
from cotenant.solvers.outcome import Status, Stop


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


def test_saturated_throughput_of_local_policy_refuses_hot_memory() -> None:
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


def test_table_4_2_has_twenty_benchmarks_by_intensity() -> None:
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


HOT = blade_server(data="hot-memory", hot=0.25)


@pytest.mark.parametrize("unit", [1e-12, 1e-8, 1e-4, 1e4, 1e8])
def test_fluid_optimum_scales_with_time_unit(
    unit: float,
) -> None:
    most = fluid(HOT).bound
    scaled = fluid(HOT.replace(service_mean=HOT.service_mean * unit))
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
def test_fluid_at_time_limit_answers(stop: Stop, level: int, engines: Callable[..., None]) -> None:
    seen: list[int] = []

    def cut_short(program: Any, *, time_limit: float | None) -> EngineAnswer:
        seen.append(1)
        if len(seen) == level:
            return EngineAnswer(Status.UNKNOWN, stop)
        return solve_refined(program, time_limit=time_limit)

    engines(solve_refined=cut_short)
    outcome = fluid(HOT)
    assert outcome.stop is stop
    assert outcome.status is (Status.FEASIBLE if level == 1 else Status.OPTIMAL)
    assert outcome.bound == pytest.approx(6400 if level == 1 else 5752.04, rel=1e-5)
    cotenant.check(HOT, outcome.solution)  # type: ignore[arg-type]
    seen.clear()
    mixed = cotenant.solve(HOT, "mix", tasks=1000)
    assert mixed.stop is (Stop.INTERRUPTED if stop is Stop.INTERRUPTED else mixed.stop)
    assert stop is not Stop.INTERRUPTED or mixed.solution is None


def test_overloaded_flow_is_refused() -> None:
    flow = fluid(HOT).solution
    assert isinstance(flow, Flow)
    with refused(InfeasibleSolution):
        cotenant.check(HOT, Flow(1.001 * flow.throughput, 1.001 * flow.flow))
