"""Markets: generators, limits of memory, measured profiles, predictor and experiments."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.measured import DATA as MEASURED
from support.messages import refused

import cotenant
from cotenant.analysis.market.profiles import fit, prediction_errors
from cotenant.instances.market import instance as market_instance
from cotenant.instances.market.generators import population
from cotenant.instances.market.profile import (
    WORKLOADS,
    Profile,
    fractions,
    read_profile,
    synthetic_fractions,
)
from cotenant.instances.problem import InvalidInstance, InvalidOption

DATA = MEASURED / "speedup"


def put(folder: Path, text: str, name: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


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
    wrong: list[dict[str, Any]] = [{"jobs": 11}, {"low": 0.9, "high": 0.5}, {"groups": 6}]
    for options in wrong:
        with refused(InvalidOption):
            population(users=5, servers=10, rng=np.random.default_rng(0), **options)


def test_market_pool_has_published_workloads_and_range() -> None:
    table = synthetic_fractions()
    assert list(table) == [name for name, _ in WORKLOADS]
    assert len(table) == 22
    assert min(table.values()) == 0.55
    assert max(table.values()) == 0.99
    market = cotenant.read("market/pool-100", cotenant.Market)
    assert set(market.parallel_fraction.tolist()) <= set(table.values())


def test_market_beyond_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with refused(InvalidInstance):
        population(users=10**8, servers=100, jobs=10, rng=np.random.default_rng(0))
    monkeypatch.setattr(market_instance, "available_memory", lambda: 1000)
    with refused(InvalidInstance):
        cotenant.solve(cotenant.read("market/tiny"), "fisher")


def test_parallel_fractions_of_profile_have_mean_and_variance(tmp_path: Path) -> None:
    # speedups 2 on 4 cores and 3 on 8: F = (1 - 1/2)/(1 - 1/4) = 2/3 and (1 - 1/3)/(1 - 1/8) =
    # 16/21
    text = "workload,cores,seconds\na,1,12\na,4,6\na,8,4\n"
    (entry,) = fractions(read_profile(put(tmp_path, text, "p.csv")))
    assert entry.mean == pytest.approx((2 / 3 + 16 / 21) / 2)
    assert entry.variance == pytest.approx(((16 / 21 - 2 / 3) / 2) ** 2)
    assert entry.counts == 2


def test_published_parsec_profile_gives_known_fractions() -> None:
    path = DATA / "p3arsec_speedup.csv"
    if not path.exists():
        pytest.skip("measured data of others is not at hand")
    profile = read_profile(path, where="platform=xeon_server,implementation=Pthreads")
    found: dict[str, list[float]] = {}
    for entry in fractions(profile, most_cores=24):
        found.setdefault(entry.workload, []).append(entry.mean)
    record = {
        "blackscholes": 0.9789,
        "bodytrack": 0.8889,
        "canneal": 0.9099,
        "ferret_alt_1": 0.9806,
        "vips": 0.9756,
    }
    for name, value in record.items():
        assert np.mean(found[name]) == pytest.approx(value, abs=1e-3)


def amdahl_profile(fraction: float = 0.9, base: float = 5.0, slope: float = 2.0) -> Profile:
    """Run times that follow Amdahl's law and a line in data size exactly."""
    rows = [(size, cores) for size in (1.0, 2.0, 6.0, 24.0) for cores in (1.0, 4.0, 12.0, 48.0)]
    seconds = [(base + slope * size) * (1 - fraction + fraction / cores) for size, cores in rows]
    return Profile(
        ("svm",) * len(rows),
        np.array([r[0] for r in rows]),
        np.array([r[1] for r in rows]),
        np.array(seconds),
    )


def test_speedup_predictor_is_exact_under_its_models() -> None:
    profile = amdahl_profile()
    (learnt,) = fit(profile.only(profile.size < 24))
    assert learnt.fraction == pytest.approx(0.9)
    assert learnt.cores == 48
    assert learnt.seconds(24, 12) == pytest.approx((5 + 48) * (0.1 + 0.9 / 12))  # thesis eq. 3.3
    errors = prediction_errors(profile)
    assert len(errors) == 4
    assert (errors["size"] == 24).all()
    assert errors["error"].max() < 1e-9


def test_every_other_core_count_can_be_held_out() -> None:
    profile = amdahl_profile()
    errors = prediction_errors(profile.only(profile.size == 1), holdout="every-other-count")
    assert errors["cores"].tolist() == [12]
    assert errors["error"].max() < 1e-9
    with refused(InvalidOption):
        prediction_errors(profile.only(profile.size == 1))
    with refused(InvalidOption):
        prediction_errors(profile, holdout="all")


def test_predictions_of_the_measured_profile_are_worst_for_canneal() -> None:
    path = DATA / "p3arsec_speedup.csv"
    if not path.exists():
        pytest.skip("measured data of others is not at hand")
    profile = read_profile(path, where="platform=xeon_server,implementation=Pthreads")
    errors = (
        prediction_errors(profile, holdout="every-other-count", most_cores=24)
        .groupby("workload")["error"]
        .mean()
    )
    assert errors.median() < 0.10
    assert errors.idxmax() == "canneal"  # as the thesis says of memory-bound applications
