"""The blade server as data: distances, penalties, files, and every kind of bad input, from code and
from a file.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.messages import approved, refused

import cotenant
from cotenant.instances.numa.bounds import link_energy, saturated_throughput
from cotenant.instances.numa.feasible import reach
from cotenant.instances.numa.generators import blade_server
from cotenant.instances.numa.technology import BENCHMARKS
from cotenant.instances.problem import InvalidFile, InvalidOption, read


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
