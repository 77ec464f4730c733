"""The collaborative filter: samples, filled penalties, and their accuracy."""

from __future__ import annotations

from functools import partial
from itertools import combinations

import numpy as np
import numpy.typing as npt
import pytest
from support.messages import refused

from cotenant.instances.colocation.generators import population
from cotenant.instances.problem import InvalidOption
from cotenant.solvers.filtering import fill, sample_mask, tau

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
