"""What is given: the generators' claims, the foreign formats, and every kind of bad foreign
file.
"""

from __future__ import annotations

import hashlib
import http.server
import json
import threading
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.measured import DATA, needs_data
from support.messages import refused

import cotenant
from cotenant.instances.colocation import ALPHA_MODES, Colocation, gains
from cotenant.instances.colocation.formats import fair_co2, gavel, penalty_csv, slowdown_csv
from cotenant.instances.colocation.generators import (
    WORKLOADS,
    ContentionModel,
    population,
    random_preferences,
)
from cotenant.instances.colocation.stability import better_partners
from cotenant.instances.problem import InvalidFile, InvalidInstance
from cotenant.instances.problem import datasets as data
from cotenant.models.colocation import gain_sets


def put(folder: Path, text: str, name: str = "m.csv") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_cooper_generator_has_the_twenty_published_workloads() -> None:
    bandwidth = {name: value for name, _, value in WORKLOADS}
    assert len(WORKLOADS) == 20
    assert sum(suite == "Spark" for _, suite, _ in WORKLOADS) == 9
    assert (bandwidth["correlation"], bandwidth["vips"], bandwidth["x264"]) == (25.05, 0.05, 4.0)


def test_synthetic_penalties_follow_documented_formula() -> None:
    bandwidth = np.array([entry[2] for entry in WORKLOADS])
    for seed in (2017, 1, 2, 3):
        penalty = ContentionModel(seed=seed).penalties(bandwidth)
        heavy = bandwidth > 14
        assert (penalty < 0.10).mean() > 0.8, "most penalties are under 10 %"
        assert 0 < (penalty < 0).mean() < 0.10, "a few are negative"
        assert penalty.min() > -0.01, "and those only slightly"
        assert (
            penalty[np.ix_(heavy, heavy)].mean()
            > 2 * penalty[~np.ix_(heavy, heavy)[0].ravel()].mean()
        )
        assert heavy[np.argmax(penalty) // 20], "memory-heavy pairs are the worst"
        assert heavy[np.argmax(penalty) % 20]


def test_population_size_and_bandwidth_mix_follow_options() -> None:
    mean = {}
    for name in ("uniform", "beta-low", "gaussian", "beta-high"):
        made = population(agents=4000, mix=name, rng=np.random.default_rng(1))  # type: ignore[arg-type]
        assert made.agents == 4000
        assert "synthetic" in made.source
        mean[name] = float(made.count @ made.bandwidth / 4000)  # type: ignore[operator]
    assert mean["beta-low"] < mean["uniform"] < mean["beta-high"]


def test_random_preferences_are_permutations_of_ranks() -> None:
    instance = random_preferences(agents=20, rng=np.random.default_rng(0))
    rows = np.sort(np.where(np.isinf(instance.penalty), 0, instance.penalty), axis=1)
    assert np.allclose(rows, np.arange(20) / 20)
    sparse = random_preferences(agents=21, degree=4, rng=np.random.default_rng(0))
    assert sparse.unpaired == 1.0
    assert np.array_equal(np.isinf(sparse.penalty), np.isinf(sparse.penalty.T))


def test_impossible_run_times_and_slowdowns_are_refused(tmp_path: Path) -> None:
    with refused(InvalidFile):
        slowdown_csv(put(tmp_path, "x,a,b\na,1,0\nb,1,1\n"))
    with refused(InvalidFile):
        slowdown_csv(put(tmp_path, "x,a,b\na,.1,.2\nb,.1,.3\n"))
    with refused(InvalidInstance):  # and no warning
        slowdown_csv(put(tmp_path, "x,a,b\na,1,5e-324\nb,1,1\n"))
    with refused(InvalidFile):
        fair_co2(put(tmp_path, "w,a,b,nothing\na,1,2,1\nb,1,1,-1\n"))
    bandwidth = put(tmp_path, "name,bw\na,1\n", "bw.csv")
    with refused(InvalidFile):
        penalty_csv(put(tmp_path, "x,a,b\na,.1,.2\nb,.1,.2\n"), bandwidth=str(bandwidth))


GAVEL = {
    "('A', 1)": {"null": 10.0, "('A', 1)": [4.0, 4.0], "('B', 1)": [5.0, 2.0]},
    "('B', 1)": {"null": 4.0, "('A', 1)": [2.0, 5.0], "('B', 1)": [0.0, 0.0]},
    "('B', 2)": {"null": 8.0},
}


@pytest.mark.parametrize("twos", [1, 2])
def test_refusal_of_unpairable_jobs_names_least_number_of_machines(twos: int) -> None:
    penalty = [[np.inf, np.inf, np.inf], [np.inf, 0.1, 0.2], [np.inf, 0.3, 0.1]]
    count = [twos, 2, 4 - twos % 2]
    with refused(InvalidInstance) as found:
        Colocation(penalty, count)
    least = float(str(found.value).split("machines=")[1].split(")")[0])
    assert cotenant.solve(Colocation(penalty, count, machines=least), "optimal").status == "optimal"
    with refused(InvalidInstance):
        Colocation(penalty, count, machines=least - 1)


def test_gavel_reader_forbids_pairs_with_zero_throughput(tmp_path: Path) -> None:
    instance = gavel(put(tmp_path, json.dumps({"v100": GAVEL}), "g.json"), copies=2, machines=4.0)
    assert instance.names == ("A", "B")
    assert instance.penalty.tolist() == [[0.6, 0.5], [0.5, np.inf]]
    with refused(InvalidFile):
        gavel(put(tmp_path, json.dumps({"v100": GAVEL}), "g.json"), gpu="k80")
    # keys that Python's own reader would evaluate, and tables of another form
    tables: list[Any] = [
        None,
        {"('a', 1)": 5},
        {"('a', 1)": {"null": []}},
        {"-" * 100_000 + "1": {}},
    ]
    for table in tables:
        with refused(InvalidFile):
            gavel(put(tmp_path, json.dumps({"v100": table}), "g.json"))
    for key in ("x", "('A', 1.5)", "('A', 1)" * 2, "('A' * 10**9, 1)"):
        with refused(InvalidFile, shown=key):
            gavel(put(tmp_path, json.dumps({"v100": {key: {"null": 1.0}}}), "g.json"))


@needs_data
def test_colocation_optimum_of_fair_co2_run_times_is_known() -> None:
    instance = fair_co2(DATA / "interference" / "fairco2_runtime_colocation_matrix.csv", copies=4)
    best, stable = cotenant.solve(instance, "optimal"), cotenant.solve(instance, "SR")
    assert best.status.value == "optimal"
    assert best.objective == pytest.approx(0.1910, abs=5e-5)
    assert best.metrics["blocking_pairs"] == 140
    assert stable.metrics["blocking_pairs"] == 0


@pytest.mark.slow
def test_fetch_verifies_hash_and_caches_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = b"w,a,nothing\na,2,1\n"
    (tmp_path / "m.csv").write_bytes(content)
    serve: Any = partial(http.server.SimpleHTTPRequestHandler, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), serve) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/m.csv"
        good = data.Dataset("x", url, hashlib.sha256(content).hexdigest(), "fair-co2", "none")
        bad, gone = replace(good, sha256="0" * 64), replace(good, url=url + "x", sha256="0" * 64)
        monkeypatch.setattr(data, "DATASETS", {"good": good, "bad": bad, "gone": gone})
        assert data.fetch("good", tmp_path / "cache").read_bytes() == content
        for name in ("bad", "gone"):
            with refused(InvalidFile):
                data.fetch(name, tmp_path / "cache")
        server.shutdown()
    # from the cache, without the server
    assert data.fetch("good", tmp_path / "cache").read_bytes() == content


def test_penalties_are_compared_as_exact_decimals() -> None:
    assert gains(0.3, 0.3 - 1e-10)
    assert gains(0.8, 0.7 + 0.1), "0.7999999999999999 was given, which is less"
    assert not gains(0.3, 0.25, alpha=0.05), "though the floats say that it is more"
    assert not gains(0.3, 0.1, alpha=0.2)
    assert gains(0.3, 0.0999999999999999, alpha=0.2)
    assert not gains(0.5, 0.15, 0.7, "relative-penalty")
    assert not gains(0.9, 0.88, 0.2, "relative-throughput")
    assert gains(0.9, 0.8799999999999999, 0.2, "relative-throughput")


def least_gain(old: np.ndarray, alpha: float, mode: str) -> Any:
    """For which agents of these penalties move, in floats."""
    return {
        "penalty-points": alpha,
        "relative-penalty": alpha * abs(old),
        "relative-throughput": alpha * (1 - old),
    }[mode]


def edge_cases(rng: np.random.Generator, mode: str) -> tuple[np.ndarray, float]:
    """Penalties with one to seventeen digits, many of them the least gain apart or all but."""
    alpha = float(rng.choice([0.0, 0.05, 0.1, 0.3, 0.1 + 0.2, 1 / 3, 1e-9]))
    old = (
        np.round(rng.uniform(-0.3, 1.0, 5), int(rng.integers(1, 4)))
        if rng.random() < 0.7
        else rng.uniform(-0.3, 1.0, 5)
    )
    least = least_gain(old, alpha, mode)
    return np.minimum(
        np.concatenate([old, old - least, np.round(old - least, 12), [0.0, -0.0, 1.0]]), 1.0
    ), alpha


@pytest.mark.slow
@pytest.mark.parametrize("mode", ALPHA_MODES)
def test_agent_gains_and_better_partners_equal_exact_decimals(mode: str, reference: Any) -> None:
    rng = np.random.default_rng(len(mode))
    floats_wrong = 0
    for _ in range(60):
        values, alpha = edge_cases(rng, mode)
        expected = np.array(
            [[reference.leaves(old, new, alpha, mode) for new in values] for old in values]
        )
        assert np.array_equal(gains(values[:, None], values, alpha, mode), expected)
        order = np.argsort(values, kind="stable")
        assert np.array_equal(
            better_partners(values[order], alpha, mode), expected[np.ix_(order, order)].sum(axis=1)
        )
        sets = gain_sets(
            Colocation(np.tile(values, (len(values), 1)), np.full(len(values), 2)), alpha, mode
        )
        assert np.array_equal(sets.size[0], expected.sum(axis=0))
        for c, size in enumerate(sets.size[0].tolist()):
            assert set(sets.order[0][:size].tolist()) == set(
                np.flatnonzero(expected[:, c]).tolist()
            )
        old = values[:, None]
        floats_wrong += int((expected != (old - values > least_gain(old, alpha, mode))).sum())
    assert floats_wrong > 50, "cases that floats get wrong"


def test_gains_ignore_forbidden_pairs_and_float_extremes() -> None:
    assert gains([0.5, 0.5, 0.5], [np.inf, 0.2, 0.5], 0.1).tolist() == [False, True, False]
    assert not gains(0.5, -0.5, 1e308).any()
    assert not gains(3e-323, 0.0, 3e-323).any()
    assert gains(3e-323, 0.0, 2.5e-323).all()
