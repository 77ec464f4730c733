"""Market, Allocation, check, files, generators, formats and profiles: what is given and what is
refused.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.measured import DATA as MEASURED
from support.messages import refused
from support.terminal import piped

import cotenant
from cotenant.instances.market import Allocation, Market, memory
from cotenant.instances.market.formats import jobs_csv
from cotenant.instances.market.generators import population
from cotenant.instances.market.profile import (
    fractions,
    karp_flatt,
    pool,
    read_pool,
    read_profile,
)
from cotenant.instances.market.utility import speedup
from cotenant.instances.market.workloads import WORKLOADS, synthetic_fractions
from cotenant.instances.problem import (
    InfeasibleSolution,
    InvalidInstance,
    InvalidOption,
)

DATA = MEASURED / "speedup"


def put(folder: Path, content: Any, name: str = "instance.json") -> Path:
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content, indent=1))
    return path


@pytest.mark.parametrize(
    ("cores", "price"),
    [
        ([1.0], None),
        ([-1.0, 1.0], None),
        ([np.nan, 1.0], None),
        ([6.0, 5.0], None),
        ([5.0, 5.0], [1.0, 1.0]),
        ([5.0, 5.0], [-1.0]),
    ],
)
def test_allocation_check_names_broken_rule(cores: list[float], price: list[float] | None) -> None:
    market = Market([10], [1, 1], [0, 1], [0, 0], [0.5, 0.9], [1, 1])
    with refused(InfeasibleSolution):
        cotenant.check(market, Allocation(cores, price))
    cotenant.check(market, Allocation([5.0, 5.0], [0.2]))


def test_market_population_follows_its_options() -> None:
    market = population(users=100, servers=100, groups=10, rng=np.random.default_rng(0))
    assert (market.users, market.servers, market.jobs) == (100, 100, 1000)
    assert (market.capacity == 24).all()
    assert market.parallel_fraction.min() >= 0.55
    assert market.parallel_fraction.max() <= 0.99
    places = market.server.reshape(100, 10)
    assert all(len(set(row)) == 10 for row in places.tolist())
    for group in range(10):  # users of a group share the same servers
        assert (places[10 * group : 10 * group + 10] == places[10 * group]).all()


def test_market_pool_has_published_workloads_and_range() -> None:
    table = synthetic_fractions()
    assert list(table) == [name for name, _ in WORKLOADS]
    assert len(table) == 22
    assert min(table.values()) == 0.55
    assert max(table.values()) == 0.99
    market = population(
        users=10, servers=10, jobs=5, fractions="pool", rng=np.random.default_rng(0)
    )
    assert set(market.parallel_fraction.tolist()) <= set(table.values())


@pytest.mark.parametrize(
    "options",
    [
        {"jobs": 11, "servers": 10},
        {"low": 0.9, "high": 0.5},
    ],
)
def test_market_population_refuses_inconsistent_options(options: dict[str, Any]) -> None:
    with refused(InvalidOption):
        population(
            **({"users": 5, "servers": 10, "jobs": 2} | options), rng=np.random.default_rng(0)
        )


def test_market_beyond_memory_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with refused(InvalidInstance):
        population(users=10**8, servers=100, jobs=10, rng=np.random.default_rng(0))
    monkeypatch.setattr(memory, "available_memory", lambda: 1000)
    with refused(InvalidInstance):
        cotenant.solve(cotenant.read("market/tiny"), "fisher")


def test_jobs_csv_is_read_with_budgets_and_cores(tmp_path: Path) -> None:
    text = "user,server,parallel_fraction,work,budget\nann,s1,0.5,1,2\nbob,s1,0.9,3,1\nann,s2,0.7,1,2\n"
    market = jobs_csv(put(tmp_path, text, "jobs.csv"), cores=16)
    assert market.user.tolist() == [0, 1, 0]
    assert market.server.tolist() == [0, 0, 1]
    assert market.budget.tolist() == [2, 1]
    assert market.capacity.tolist() == [16, 16]
    assert market.work.tolist() == [1, 3, 1]


def test_jobs_csv_seconds_give_parallel_fractions(tmp_path: Path) -> None:
    # Amdahl with f = .8: 100 s on one core, 60 s on two, 40 s on four
    text = "user,server,seconds@1,seconds@2,seconds@4\na,x,100,60,40\na,y,100,,40\n"
    market = jobs_csv(put(tmp_path, text, "jobs.csv"))
    assert market.parallel_fraction == pytest.approx([0.8, 0.8])


def test_karp_flatt_inverts_amdahl_and_is_undefined_on_one_core() -> None:
    cores = np.array([1.0, 2, 8, 48])
    values = karp_flatt(cores, speedup(cores, np.full(4, 0.9)))
    assert values[1:] == pytest.approx([0.9, 0.9, 0.9])
    assert np.isnan(values[0])


def test_profile_fractions_have_mean_and_variance(tmp_path: Path) -> None:
    # speedups 2 on 4 cores and 3 on 8: F = (1 - 1/2)/(1 - 1/4) = 2/3 and (1 - 1/3)/(1 - 1/8) =
    # 16/21
    text = "workload,cores,seconds\na,1,12\na,4,6\na,8,4\n"
    (entry,) = fractions(read_profile(put(tmp_path, text, "p.csv")))
    assert entry.mean == pytest.approx((2 / 3 + 16 / 21) / 2)
    assert entry.variance == pytest.approx(((16 / 21 - 2 / 3) / 2) ** 2)
    assert entry.counts == 2
    assert read_pool(tmp_path / "p.csv") == {"a": pytest.approx(entry.mean)}


def test_profile_is_read_from_pipe() -> None:
    text = "workload,cores,seconds,,\na,1,100,,\na,4,40,,\n"
    assert read_pool(piped(text.encode())) == {"a": pytest.approx(0.8)}


def test_market_generator_reads_pool_file(tmp_path: Path) -> None:
    path = put(tmp_path, "workload,parallel_fraction\na,0.6\nb,0.7\n", "pool.csv")
    market = population(
        users=9,
        servers=9,
        jobs=3,
        fractions="pool",
        pool_file=str(path),
        rng=np.random.default_rng(0),
    )
    assert set(market.parallel_fraction.tolist()) == {0.6, 0.7}


def test_published_parsec_profile_gives_known_fractions() -> None:
    path = DATA / "p3arsec_speedup.csv"
    if not path.exists():
        pytest.skip("measured data of others is not at hand")
    profile = read_profile(path, where="platform=xeon_server,implementation=Pthreads")
    found = pool(profile, most_cores=24)
    record = {
        "blackscholes": 0.9789,
        "bodytrack": 0.8889,
        "canneal": 0.9099,
        "ferret_alt_1": 0.9806,
        "vips": 0.9756,
    }
    for name, value in record.items():
        assert found[name] == pytest.approx(value, abs=1e-3)
