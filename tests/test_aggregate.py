"""Means, wins, profiles and paired tests of methods, against published and hand-worked numbers."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
import scipy.stats
from support.messages import approved
from support.report_rows import failed, row, two_instances
from support.seeds import seeds

from cotenant.analysis.registry import analysis_of
from cotenant.analysis.report import aggregate
from cotenant.analysis.report.aggregate import (
    profiles,
    proof_profile,
    ratio,
    shifted_geometric_mean,
    wins,
)
from cotenant.analysis.report.overview import mean_gaps, overview_tables, profile_charts, win_table
from cotenant.analysis.report.significance import (
    hodges_lehmann,
    holm,
    rank_methods,
    signed_rank_test,
)
from cotenant.analysis.report.tables import comparison_tables
from cotenant.analysis.run.gaps import Comparison
from cotenant.analysis.run.rows import Line

METRICS = analysis_of("colocation").metric_table


def lines_of(rows: list[dict[str, Any]]) -> list[Line]:
    return Comparison(rows).summary()


def test_shifted_geometric_mean_equals_hand_calculation() -> None:
    assert shifted_geometric_mean([1.0, 7.0], 1.0) == pytest.approx(math.sqrt(2 * 8) - 1)
    assert shifted_geometric_mean([0.0, 0.0], 1.0) == 0.0
    assert shifted_geometric_mean([], 1.0) is None


def test_wins_count_ties_and_exclude_failures() -> None:
    values = {"A": [1.0, 2.0, None], "B": [1.0 + 1e-12, 3.0, None], "C": [2.0, None, None]}
    assert wins(values, "min") == {"A": 2, "B": 1, "C": 0}
    assert wins(values, "max") == {"A": 0, "B": 1, "C": 1}


def test_performance_ratio_with_best_zero_needs_equality() -> None:
    assert ratio(0.0, 0.0, "min") == 1.0
    assert ratio(5.0, 0.0, "min") == math.inf
    assert ratio(-1.0, -1.0, "min") == 1.0
    assert ratio(0.5, -1.0, "min") == math.inf
    assert ratio(0.0, 3.0, "max") == math.inf
    assert ratio(-2.0, 3.0, "max") == math.inf
    assert ratio(-2.0, -1.0, "max") == math.inf


def test_performance_profiles_equal_hand_calculation() -> None:
    values = {"A": [1.0, 4.0, 3.0], "B": [2.0, 2.0, None]}
    assert profiles(values, "min") == {
        "A": [(1.0, 2 / 3), (2.0, 1.0)],
        "B": [(1.0, 1 / 3), (2.0, 2 / 3)],
    }


def test_proofs_over_time_curve_ends_at_proved_share() -> None:
    assert proof_profile({"A": [3.0, None, 1.0, None]}) == {"A": [(1.0, 0.25), (3.0, 0.5)]}


def test_method_scores_count_answers_proofs_and_failures() -> None:
    rows = [*two_instances(), failed("SMR", "two", 1)]
    scores = {score.method: score for score in aggregate.scores(lines_of(rows), METRICS)}
    assert (scores["optimal"].proved, scores["optimal"].answered, scores["optimal"].failed) == (
        2,
        2,
        0,
    )
    assert (
        scores["SMR"].proved,
        scores["SMR"].answered,
        scores["SMR"].failed,
        scores["SMR"].runs,
    ) == (0, 1, 1, 3)
    gap = scores["GR"].gaps["penalty"]
    assert gap.value == pytest.approx(math.sqrt((1.0 + 0.01) * (0.25 + 0.01)) - 0.01)
    assert gap.count == 2


def test_method_with_failed_seed_has_no_mean() -> None:
    rows = [*two_instances(), failed("SMR", "two", 1)]
    assert aggregate.values_of(lines_of(rows), "penalty")["SMR"] == [0.03, None]


def test_gap_to_zero_bound_is_absolute_difference() -> None:
    stable = row(
        "stable",
        objective_name="blocking_pairs",
        bound=0.0,
        status="optimal",
        metrics={"blocking_pairs": 0.0},
    )
    lines = lines_of([stable, row("GR", metrics={"blocking_pairs": 8.0, "penalty": 0.1})])
    assert aggregate.in_units(lines, "blocking_pairs")
    assert not aggregate.in_units(lines, "penalty")
    scores = {score.method: score for score in aggregate.scores(lines, METRICS)}
    assert scores["GR"].gaps["blocking_pairs"].value == pytest.approx(8.0)
    table = mean_gaps("colocation", lines, METRICS)
    approved([column.name for column in table.columns])
    approved("\n".join(table.notes))


def test_values_better_than_bound_are_reported() -> None:
    rows = [
        *two_instances(),
        row("SMP", metrics={"penalty": 0.01}),
        row("SMP", "two", metrics={"penalty": 0.08}),
    ]
    table = mean_gaps("colocation", lines_of(rows), METRICS)
    cell = next(line for line in table.rows if line[0] == "SMP")[4]
    assert cell[1].endswith("*")
    assert cell[0] == pytest.approx(math.sqrt(0.01 * 1.01) - 0.01)
    approved("\n".join(table.notes))


def test_equilibria_are_not_counted_as_optimality_proofs() -> None:
    lines = lines_of(
        [
            row(
                "fisher",
                problem="market",
                objective_name="equilibrium_error",
                status="optimal",
                tolerance=1e-9,
                metrics={"total_utility": 2.0},
            )
        ]
    )
    assert aggregate.proof_seconds(lines) == {}
    assert aggregate.scores(lines, analysis_of("market").metric_table)[0].equilibrium


def test_equal_profile_curves_share_one_label() -> None:
    charts = {
        chart.name: chart
        for chart in profile_charts("colocation", lines_of(two_instances()), METRICS)
    }
    names = [series.name for series in charts["colocation-profile-blocking-pairs"].series]
    approved(names)
    chart = charts["colocation-profile-penalty"]
    assert chart.series[0].x[0] == 1.0
    assert all(series.x[-1] == chart.series[0].x[-1] for series in chart.series)
    approved(chart.alt)
    assert charts["colocation-proofs"].series[0].y[-1] == 1.0
    assert profile_charts("colocation", lines_of(two_instances()[:3]), METRICS) == []


def test_comparison_notes_methods_that_ran_on_fewer_instances() -> None:
    lines = lines_of([*two_instances(), row("CO", metrics={"penalty": 0.1})])
    chart = next(
        c
        for c in profile_charts("colocation", lines, METRICS)
        if c.name == "colocation-profile-penalty"
    )
    approved(chart.note)
    approved(win_table("colocation", lines, METRICS).notes[-1])
    assert len(win_table("colocation", lines_of(two_instances()), METRICS).notes) == 1


def test_many_instances_print_one_overview() -> None:
    few, many = (
        Comparison([row(m, f"i{n}") for n in range(size) for m in ("GR", "CO")]) for size in (3, 9)
    )
    assert len(overview_tables(few)) == 3 + 2
    shown = overview_tables(many)
    assert len(shown) == 2
    approved(shown[-1].notes[-1])
    alone = Comparison([row()])
    assert [table.csv() for table in overview_tables(alone)] == [
        table.csv() for table in comparison_tables(alone).values()
    ]


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
