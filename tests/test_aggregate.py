"""Shifted geometric means, wins and performance profiles, against numbers worked by hand and the
properties they must have.
"""

from __future__ import annotations

import math
from typing import Any

import pytest
from support.messages import approved
from support.report_rows import failed, row, two_instances

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
