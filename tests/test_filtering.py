"""The collaborative filter: what it keeps, what it falls back on, and how many preferences it gets
right.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import numpy.typing as npt
import pytest
from support.measured import DATA, needs_data
from support.messages import refused

from cotenant.instances.colocation.formats import fair_co2, gavel
from cotenant.instances.colocation.generators import population
from cotenant.instances.problem import InvalidOption
from cotenant.solvers.filtering import fill, sample_mask, tau

INTERFERENCE = DATA / "interference"
MIXES = ("uniform", "beta-low", "gaussian", "beta-high")

Floats = npt.NDArray[np.float64]


def accuracy(penalty: Floats, fraction: float, seeds: int = 10) -> float:
    scores = []
    for seed in range(seeds):
        rng, finite = np.random.default_rng(seed), np.isfinite(penalty)
        mask = sample_mask(penalty.shape, fraction, rng, finite)
        scores.append(tau(penalty, fill(np.where(mask | ~finite, penalty, np.nan), mask)))
    return float(np.mean(scores))


# --- accuracy -------------------------------------------------------------------------------------


@pytest.mark.parametrize("model_seed", [2017, 1, 2, 3])
def test_filtering_reaches_published_accuracy_on_synthetic_penalties(model_seed: int) -> None:
    penalty = population(agents=200, model_seed=model_seed, rng=np.random.default_rng(0)).penalty
    assert accuracy(penalty, 0.25) >= 0.83  # Cooper fig. 12: 83 % at 25 %
    assert accuracy(penalty, 0.75) >= 0.95  # and 95 % at 75 %


@needs_data
def test_filtering_is_less_accurate_on_measured_matrices() -> None:
    pairs = INTERFERENCE / "gavel_pairs.json"
    for instance, quarter, most in (
        (fair_co2(INTERFERENCE / "fairco2_runtime_colocation_matrix.csv", copies=4), 0.75, 0.90),
        (gavel(pairs, gpu="v100", copies=4), 0.72, 0.87),
        (gavel(pairs, gpu="p100", copies=4), 0.84, 0.94),
    ):
        assert accuracy(instance.penalty, 0.25) >= quarter, instance.name
        assert accuracy(instance.penalty, 0.75) >= most, instance.name


def test_neighbors_add_to_the_baseline_when_columns_come_in_families() -> None:
    # Two families of columns that hurt opposite halves of the rows: no rank-one baseline can tell
    # them apart.
    rng = np.random.default_rng(4)
    half = np.repeat([0, 1], 12)
    penalty = np.where(half[:, None] == half[None, :], 0.3, 0.1) + 0.02 * rng.random((24, 24))
    mask = sample_mask(penalty.shape, 0.5, rng)
    alone = fill(penalty, mask, shrinkage=1e9)
    assert tau(penalty, fill(penalty, mask)) > tau(penalty, alone) + 0.05


# --- what is kept, and fallbacks ------------------------------------------------------------------


def test_filtering_keeps_samples_and_ignores_the_rest() -> None:
    penalty = population(agents=200, rng=np.random.default_rng(0)).penalty.copy()
    penalty[3, 5] = np.inf
    mask = sample_mask(penalty.shape, 0.3, np.random.default_rng(1), np.isfinite(penalty))
    filled = fill(penalty, mask)
    assert (filled[mask] == penalty[mask]).all()
    assert filled[3, 5] == np.inf
    assert np.isfinite(np.delete(filled, 3 * 20 + 5)).all()
    hidden = np.where(mask | np.isinf(penalty), penalty, np.nan)
    assert np.array_equal(fill(hidden, mask), filled)


def test_filtering_of_empty_row_uses_other_rows() -> None:
    penalty = np.outer([1.0, 2.0, 3.0, 4.0], [0.1, 0.2, 0.3, 0.4])
    mask = np.ones((4, 4), dtype=bool)
    mask[2] = False
    mask[:, 1] = False
    filled = fill(penalty, mask)
    # columns keep the order that the other rows give them
    assert filled[2, 0] < filled[2, 2] < filled[2, 3]
    assert filled[0, 1] < filled[1, 1] < filled[3, 1]  # so do rows
    assert penalty.min() < filled[2, 1] < penalty.max()


def test_one_sample_is_enough_and_constant_matrices_stay_constant() -> None:
    mask = np.zeros((3, 3), dtype=bool)
    mask[1, 1] = True
    assert fill(np.full((3, 3), 0.2), mask) == pytest.approx(np.full((3, 3), 0.2))
    assert fill(np.zeros((3, 3)), mask).tolist() == np.zeros((3, 3)).tolist()


def test_filtering_is_scale_invariant() -> None:
    penalty = population(agents=200, rng=np.random.default_rng(0)).penalty
    mask = sample_mask(penalty.shape, 0.3, np.random.default_rng(1))
    for scale in (1e-7, 1e7):
        assert fill(scale * penalty, mask) == pytest.approx(scale * fill(penalty, mask), rel=1e-9)


def test_rectangular_matrices_and_few_neighbors_are_filled() -> None:
    rng = np.random.default_rng(0)
    matrix = rng.random((6, 9))
    filled = fill(matrix, sample_mask((6, 9), 0.5, rng), neighbors=2, iterations=3)
    assert filled.shape == (6, 9)
    assert np.isfinite(filled).all()


# --- sampling -------------------------------------------------------------------------------------


def test_a_sample_has_the_size_asked_for_and_follows_its_seed() -> None:
    masks = [sample_mask((20, 20), 0.25, np.random.default_rng(seed)) for seed in (1, 1, 2)]
    assert [int(mask.sum()) for mask in masks] == [100, 100, 100]
    assert (masks[0] == masks[1]).all()
    assert (masks[0] != masks[2]).any()


def test_only_eligible_entries_are_sampled() -> None:
    eligible = ~np.eye(6, dtype=bool)
    mask = sample_mask((6, 6), 1.0, np.random.default_rng(0), eligible)
    assert (mask == eligible).all()
    assert sample_mask((6, 6), 0.001, np.random.default_rng(0), eligible).sum() == 1


# --- tau ------------------------------------------------------------------------------------------


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
        ([0.1, 0.2, 0.3, 0.4], [0.1, 0.2, 0.3, 0.4], 1),
        ([0.1, 0.2, 0.3, 0.4], [-0.1, -0.2, -0.3, -0.4], 0),
        ([0.1, 0.2, 0.3, 0.4], [0.1, 0.2, 0.4, 0.3], 5 / 6),
        ([0.1, 0.1], [0.3, 0.2], 0.5),  # ties count one half on either side
        ([0.1, 0.1], [0.2, 0.2], 0.5),
        ([0.1, 0.2], [0.2, 0.2], 0.5),
        ([0.1, 0.7 + 0.1], [0.1, 0.8], 1),
        ([0.1, 0.2], [0.7 + 0.1, 0.8], 0.5),  # predicted: a tie but for the rounding of floats
        ([0.5, 0.5000000001], [0.1, 0.2], 1),  # given: no tie
    ],
)
def test_tau_counts_pairs_as_equation_2_does(
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


def test_tau_without_pairs_is_defined() -> None:
    assert tau([[0.1], [0.2]], [[0.3], [0.4]]) == 1.0


# --- bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize("fraction", [0, -0.1, 1.1, float("nan"), True])
def test_a_fraction_out_of_range_is_refused(fraction: float) -> None:
    with refused(InvalidOption):
        sample_mask((3, 3), fraction, np.random.default_rng(0))


def test_samples_that_cannot_be_used_are_refused() -> None:
    two, rng = np.ones((2, 2)), np.random.default_rng(0)
    for wrong in (
        lambda: fill(two, np.zeros((2, 2), dtype=bool)),
        lambda: fill(two * np.nan, two > 0),
        lambda: fill(two, np.ones((2, 3), dtype=bool)),
        lambda: sample_mask((2, 2), 0.5, rng, np.zeros((2, 2))),
        lambda: fill(two, two > 0, neighbors=0),
        lambda: fill(two, two > 0, iterations=0),
        lambda: fill(two, two > 0, shrinkage=0.0),
        lambda: tau(two, np.ones((2, 3))),
        lambda: tau(two, two * np.nan),
    ):
        with refused(InvalidOption):
            wrong()
