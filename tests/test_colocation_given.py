"""Inputs of colocation: the generators' claims, foreign formats and every kind of bad foreign file; and
the collaborative filter that fills penalties.
"""

from __future__ import annotations

import hashlib
import http.server
import json
import threading
from dataclasses import replace
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from support.files import text_file
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
from cotenant.instances.problem import InvalidFile, InvalidInstance, InvalidOption
from cotenant.instances.problem import datasets as data
from cotenant.models.colocation import gain_sets
from cotenant.solvers.filtering import fill, sample_mask, tau


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
        slowdown_csv(text_file(tmp_path, "x,a,b\na,1,0\nb,1,1\n", "m.csv"))
    with refused(InvalidFile):
        slowdown_csv(text_file(tmp_path, "x,a,b\na,.1,.2\nb,.1,.3\n", "m.csv"))
    with refused(InvalidInstance):  # and no warning
        slowdown_csv(text_file(tmp_path, "x,a,b\na,1,5e-324\nb,1,1\n", "m.csv"))
    with refused(InvalidFile):
        fair_co2(text_file(tmp_path, "w,a,b,nothing\na,1,2,1\nb,1,1,-1\n", "m.csv"))
    bandwidth = text_file(tmp_path, "name,bw\na,1\n", "bw.csv")
    with refused(InvalidFile):
        penalty_csv(
            text_file(tmp_path, "x,a,b\na,.1,.2\nb,.1,.2\n", "m.csv"), bandwidth=str(bandwidth)
        )


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
    instance = gavel(
        text_file(tmp_path, json.dumps({"v100": GAVEL}), "g.json"), copies=2, machines=4.0
    )
    assert instance.names == ("A", "B")
    assert instance.penalty.tolist() == [[0.6, 0.5], [0.5, np.inf]]
    with refused(InvalidFile):
        gavel(text_file(tmp_path, json.dumps({"v100": GAVEL}), "g.json"), gpu="k80")
    # keys that Python's own reader would evaluate, and tables of another form
    tables: list[Any] = [
        None,
        {"('a', 1)": 5},
        {"('a', 1)": {"null": []}},
        {"-" * 100_000 + "1": {}},
    ]
    for table in tables:
        with refused(InvalidFile):
            gavel(text_file(tmp_path, json.dumps({"v100": table}), "g.json"))
    for key in ("x", "('A', 1.5)", "('A', 1)" * 2, "('A' * 10**9, 1)"):
        with refused(InvalidFile, shown=key):
            gavel(text_file(tmp_path, json.dumps({"v100": {key: {"null": 1.0}}}), "g.json"))


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


def test_colocation_gains_ignore_forbidden_pairs_and_are_exact_at_float_limits() -> None:
    assert gains([0.5, 0.5, 0.5], [np.inf, 0.2, 0.5], 0.1).tolist() == [False, True, False]
    assert not gains(0.5, -0.5, 1e308).any()
    assert not gains(3e-323, 0.0, 3e-323).any()
    assert gains(3e-323, 0.0, 2.5e-323).all()


Floats = npt.NDArray[np.float64]


def accuracy(penalty: Floats, fraction: float, seeds: int = 10) -> float:
    scores = []
    for seed in range(seeds):
        rng, finite = np.random.default_rng(seed), np.isfinite(penalty)
        mask = sample_mask(penalty.shape, fraction, rng, finite)
        scores.append(tau(penalty, fill(np.where(mask | ~finite, penalty, np.nan), mask)))
    return float(np.mean(scores))


@pytest.mark.parametrize("model_seed", [2017, 1, 2, 3])
def test_collaborative_filtering_has_published_accuracy_on_drawn_penalties(model_seed: int) -> None:
    penalty = population(agents=200, model_seed=model_seed, rng=np.random.default_rng(0)).penalty
    assert accuracy(penalty, 0.25) >= 0.83  # Cooper fig. 12: 83 % at 25 %
    assert accuracy(penalty, 0.75) >= 0.95  # and 95 % at 75 %


def test_filled_matrix_keeps_samples_and_ignores_values_outside_the_mask() -> None:
    penalty = population(agents=200, rng=np.random.default_rng(0)).penalty.copy()
    penalty[3, 5] = np.inf
    mask = sample_mask(penalty.shape, 0.3, np.random.default_rng(1), np.isfinite(penalty))
    filled = fill(penalty, mask)
    assert (filled[mask] == penalty[mask]).all()
    assert filled[3, 5] == np.inf
    assert np.isfinite(np.delete(filled, 3 * 20 + 5)).all()
    hidden = np.where(mask | np.isinf(penalty), penalty, np.nan)
    assert np.array_equal(fill(hidden, mask), filled)


def test_penalty_filling_of_row_without_samples_uses_other_rows() -> None:
    penalty = np.outer([1.0, 2.0, 3.0, 4.0], [0.1, 0.2, 0.3, 0.4])
    mask = np.ones((4, 4), dtype=bool)
    mask[2] = False
    mask[:, 1] = False
    filled = fill(penalty, mask)
    # columns keep the order that the other rows give them
    assert filled[2, 0] < filled[2, 2] < filled[2, 3]
    assert filled[0, 1] < filled[1, 1] < filled[3, 1]  # so do rows
    assert penalty.min() < filled[2, 1] < penalty.max()


def test_sample_mask_holds_only_eligible_matrix_entries() -> None:
    eligible = ~np.eye(6, dtype=bool)
    mask = sample_mask((6, 6), 1.0, np.random.default_rng(0), eligible)
    assert (mask == eligible).all()
    assert sample_mask((6, 6), 0.001, np.random.default_rng(0), eligible).sum() == 1


def brute_tau(truth: Floats, predicted: Floats) -> float:
    right, pairs = 0.0, 0
    for true, guess in zip(truth, predicted, strict=True):
        for i, j in combinations(range(len(true)), 2):
            if not np.isfinite([true[i], true[j]]).all():
                continue
            pairs += 1
            signs = (
                np.sign(true[i] - true[j]),
                0 if abs(guess[i] - guess[j]) <= 1e-9 else np.sign(guess[i] - guess[j]),
            )
            right += 0.5 if 0 in signs else float(signs[0] == signs[1])
    return right / pairs


@pytest.mark.parametrize(
    ("truth", "guess", "share"),
    [
        ([0.1, 0.2, 0.3, 0.4], [0.1, 0.2, 0.4, 0.3], 5 / 6),
        ([0.1, 0.1], [0.3, 0.2], 0.5),  # ties count one half on either side
        ([0.1, 0.2], [0.7 + 0.1, 0.8], 0.5),  # predicted: a tie but for the rounding of floats
        ([0.5, 0.5000000001], [0.1, 0.2], 1),  # given: no tie
        ([], [], 1),
    ],
)
def test_filtering_accuracy_is_share_of_pairs_predicted_in_order(
    truth: list[float], guess: list[float], share: float
) -> None:
    assert tau([truth], [guess]) == pytest.approx(share)


def test_tau_equals_its_definition_with_ties_and_forbidden_entries() -> None:
    for seed in range(30):
        rng = np.random.default_rng(seed)
        truth = rng.integers(0, 4, (5, 6)) / 10
        truth[rng.random(truth.shape) < 0.2] = np.inf
        guess = rng.integers(0, 4, (5, 6)) / 10
        assert tau(truth, guess) == pytest.approx(brute_tau(truth, guess))


def test_penalty_filling_and_sampling_refuse_invalid_masks_and_shares() -> None:
    two, rng = np.ones((2, 2)), np.random.default_rng(0)
    for wrong in (
        *(partial(sample_mask, (3, 3), share, rng) for share in (0, -0.1, 1.1, np.nan, True)),
        lambda: fill(two, np.zeros((2, 2), dtype=bool)),
        lambda: fill(two * np.nan, two > 0),
        lambda: fill(two, np.ones((2, 3), dtype=bool)),
        lambda: sample_mask((2, 2), 0.5, rng, np.zeros((2, 2))),
        lambda: tau(two, np.ones((2, 3))),
        lambda: tau(two, two * np.nan),
    ):
        with refused(InvalidOption):
            wrong()
