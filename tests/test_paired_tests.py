"""Tests of which methods differ: published numbers, scipy, enumeration, and their errors."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
import scipy.stats
from support.seeds import seeds

from cotenant.analysis.report.significance import (
    hodges_lehmann,
    holm,
    rank_methods,
    signed_rank_test,
)

# Demsar (2006), Table 6: AUC on 14 data sets. Rows as C4.5, C4.5+m, C4.5+cf, C4.5+m+cf. On voting
# the last two are printed alike and have the ranks 2 and 3: one has a digit more here.
DEMSAR = {
    "C4.5": "763 599 954 628 882 936 661 583 775 1000 940 619 972 957",
    "C4.5+m": "768 591 971 661 888 931 668 583 838 1000 962 666 981 978",
    "C4.5+cf": "771 590 968 654 886 916 609 563 866 1000 965 614 975.1 946",
    "C4.5+m+cf": "798 569 967 657 898 931 685 625 875 1000 962 669 975 970",
}
AUC: dict[str, list[float | None]] = {
    name: [float(each) / 1000 for each in row.split()] for name, row in DEMSAR.items()
}


def test_mean_ranks_and_critical_difference_equal_demsar_example() -> None:
    found = rank_methods(AUC, "max")
    ranks = {name: round(rank, 3) for name, rank in found.mean_ranks.items()}
    assert ranks == {"C4.5+m+cf": 1.964, "C4.5+m": 2.0, "C4.5+cf": 2.893, "C4.5": 3.143}
    assert found.critical == pytest.approx(1.25, abs=0.005)
    assert found.groups == [list(ranks)], "no difference of 1.25: the paper's conclusion too"
    squares = sum(rank**2 for rank in found.mean_ranks.values())
    assert 12 * 14 / 20 * (squares - 4 * 25 / 4) == pytest.approx(9.28, abs=0.01)
    columns = np.array(list(AUC.values()), float)
    assert found.friedman == pytest.approx(scipy.stats.friedmanchisquare(*columns).pvalue)


def test_wilcoxon_rank_sums_equal_demsar_example() -> None:
    """R+ = 93 and R- = 12, with half of the ranks of two zeros (1.5 each) in either sum."""
    (pair,) = rank_methods({name: AUC[name] for name in ("C4.5", "C4.5+m")}, "max", "C4.5").pairs
    assert pair.effect == pytest.approx((93 - 12) / (14 * 15 / 2))
    assert (pair.better, pair.worse) == (10, 2)
    assert pair.difference is not None
    assert pair.difference > 0


def test_holm_correction_on_published_example_gives_published_p_values() -> None:
    """Against C4.5: p = 0.016, 0.019 and 0.607, of which the first two are significant."""
    assert holm([0.016, 0.607, 0.019]) == pytest.approx([0.048, 0.607, 0.048])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


@pytest.mark.parametrize("count", [6, 9, 20, 50, 201])
def test_wilcoxon_p_values_equal_scipy(count: int) -> None:
    differences = np.random.default_rng(count).normal(0.3, size=count)
    expected = scipy.stats.wilcoxon(differences, zero_method="pratt")
    p_value, effect = signed_rank_test(differences)
    assert p_value == pytest.approx(expected.pvalue)
    signed = scipy.stats.rankdata(abs(differences)) * np.sign(differences)
    assert effect == pytest.approx(-signed.sum() / (count * (count + 1) / 2))


@pytest.mark.parametrize("seed", seeds(40, 4))
def test_p_values_with_ties_and_zeros_equal_enumeration_and_scipys(seed: int) -> None:
    draws = np.random.default_rng(seed)
    differences = draws.integers(-3, 6, size=8).astype(float)
    differences[: seed % 3] = 0  # these have ranks, which are in neither sum
    ranks = scipy.stats.rankdata(abs(differences))[differences != 0]
    sums = np.array([np.dot(signs, ranks) for signs in product((-1, 1), repeat=len(ranks))])
    seen = abs(np.dot(np.sign(differences[differences != 0]), ranks))
    p_value = signed_rank_test(differences)[0]
    assert p_value == pytest.approx(np.mean(abs(sums) >= seen - 1e-9))
    expected = scipy.stats.wilcoxon(differences, zero_method="pratt").pvalue
    assert p_value == pytest.approx(expected)


def test_hodges_lehmann_interval_inverts_test() -> None:
    differences = np.random.default_rng(3).normal(1.0, size=9)
    middle, low, high = hodges_lehmann(differences)
    assert low is not None
    assert middle is not None
    assert high is not None
    assert low < middle < high
    for end, side in ((low, 1), (high, -1)):
        assert signed_rank_test(differences - end - side * 1e-9)[0] > 0.05
        assert signed_rank_test(differences - end + side * 1e-9)[0] <= 0.05
    assert hodges_lehmann(differences[:5])[1:] == (None, None)
    assert hodges_lehmann(differences[:0]) == (None, None, None)


def test_paired_test_ranks_failed_run_last_and_counts_noise_as_tie() -> None:
    values: dict[str, list[float | None]] = {
        "sure": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0],
        "noisy": [1.0 + 1e-12, 2.0, 3.0, 4.0, 5.0, 6.0 - 1e-9, 7.0],
        "lucky": [0.9, 1.9, 2.9, 3.9, None, None, None],
    }
    found = rank_methods(values, "min", "sure")
    noisy, lucky = sorted(found.pairs, key=lambda pair: pair.method, reverse=True)
    assert noisy[1:5] == (0, 0, 0.0, 1.0)
    assert (lucky.better, lucky.worse) == (4, 3)
    assert lucky.effect == pytest.approx(-(5 + 6 + 7 - 1 - 2 - 3 - 4) / 28)
    assert lucky.difference == pytest.approx(-0.1)
    assert lucky.low is None, "both answered 4 instances"
    assert found.mean_ranks == pytest.approx({"lucky": 13 / 7, "sure": 14.5 / 7, "noisy": 14.5 / 7})


def test_holm_correction_covers_all_pairs_unless_reference_is_given() -> None:
    draws = np.random.default_rng(0)
    values: dict[str, Any] = {
        name: list(draws.normal(index, size=12)) for index, name in enumerate("abcd")
    }
    free, chosen = rank_methods(values, "min"), rank_methods(values, "min", "a")
    assert (free.reference, free.tests, chosen.tests) == ("a", 6, 3)
    for one, other in zip(free.pairs, chosen.pairs, strict=True):
        assert one.p_value >= other.p_value
        assert one[:4] == other[:4]


def test_nemenyi_groups_are_maximal_below_critical_difference() -> None:
    order = "abcdef"
    values: dict[str, Any] = {name: [float(index)] * 8 for index, name in enumerate(order)}
    found = rank_methods(values, "min")
    across = int(found.critical)
    expected = [list(order[low : low + across + 1]) for low in range(len(order) - across)]
    assert found.groups == expected
