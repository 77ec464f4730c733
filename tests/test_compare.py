"""Solve and compare in Python: what is recomputed, what is withdrawn, how gaps are measured, what a
failure leaves.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.messages import refused

import cotenant
from cotenant import catalog
from cotenant.analysis.metric import Metric
from cotenant.analysis.registry import analysis_of
from cotenant.analysis.run.gaps import gap_to, with_gaps
from cotenant.analysis.run.question import Question
from cotenant.analysis.run.rows import read_rows
from cotenant.analysis.run.solve import run
from cotenant.analysis.run.starts import Starts
from cotenant.instances.colocation import Colocation, Pairing
from cotenant.instances.problem import InfeasibleSolution, InvalidOption, UnknownName
from cotenant.solvers.outcome import Outcome, Status, Stop, gap, gap_absolute

TINY = cotenant.read("colocation/tiny")


def cheat(instance: Colocation) -> Pairing:
    """Places one agent twice."""
    return Pairing([0], [1], [2], np.zeros(4))  # type: ignore[arg-type]


def test_infeasible_answer_of_a_method_is_an_error() -> None:
    with refused(InfeasibleSolution):
        cotenant.solve(TINY, cheat)


@pytest.mark.parametrize("name", ["colocation/tiny", "admission/hines-romano-I"])
def test_exact_method_starts_from_best_policy_by_its_objective(name: str) -> None:
    """`proposed` counts blocking pairs, where less is better: as a start of most speed only its
    speed matters.
    """
    instance = cotenant.read(name)
    entry = catalog.find(instance.problem, "optimal")
    seen: list[Any] = []

    def spy(instance: Any, *, start: Any = None) -> Any:
        seen.append(start)
        return start

    metrics = analysis_of(instance.problem).metrics
    question = replace(Question.of(instance, "optimal", {}), function=spy)
    starts = Starts(question, seed=0)
    run(question, starts)
    values = [cotenant.solve(instance, one.name).metrics[entry.objective] for one in entry.starts]
    best = min(values) if entry.objective == "penalty" else max(values)
    assert metrics(instance, seen[0])[entry.objective] == best
    assert starts.best is not None
    assert best == values[[one.name for one in entry.starts].index(starts.best.policy)]


@pytest.mark.parametrize(
    ("value", "bound", "expected"),
    [
        (2.0, 1.0, 0.5), (1.0, 1.0 + 5e-10, 0.0), (0.0, -1.0, None), (1.0, 0.0, None),
        (0.0, 0.0, 0.0), (None, 1.0, None), (1.0, None, None),
    ],
)  # fmt: skip
def test_result_gap_is_relative_to_objective(
    value: float, bound: float, expected: float | None
) -> None:
    assert gap(value, bound) == pytest.approx(expected)
    if None not in (value, bound):
        difference = 0.0 if expected == 0 else abs(value - bound)
        assert gap_absolute(value, bound) == pytest.approx(difference)


def test_table_gap_is_relative_to_best_bound_and_signed() -> None:
    less, more = Metric("cost", "cost"), Metric("speed", "speed", "max")
    assert gap_to(less, 1.2, 1.0) == pytest.approx(0.2)
    assert gap_to(less, 0.8, 1.0) == pytest.approx(-0.2)
    assert gap_to(more, 0.8, 1.0) == pytest.approx(0.2)
    assert gap_to(less, 1.0 + 1e-10, 1.0) == 0.0
    assert gap_to(Metric("x", "x", ""), 1.0, 0.5) is None


def test_gaps_use_only_bounds_of_the_same_alpha() -> None:
    rows = cotenant.compare([TINY], ["stable", "GR"], options={"alpha": 0.05}).rows
    rows += cotenant.compare([TINY], ["GR"]).rows
    gaps = [row["gaps"].get("gap_blocking_pairs") for row in with_gaps(rows)]
    assert gaps[0] == 0.0
    assert gaps[2] is None


def test_failed_method_is_a_row_and_does_not_stop_comparison() -> None:
    comparison = cotenant.compare([TINY], ["threshold", cheat, "optimal"])
    status = {row["method"]: (row["status"], row.get("error")) for row in comparison.rows}
    assert status["optimal"] == ("optimal", None)
    assert "not feasible" in (status["cheat"][1] or "")
    assert {"penalty", "gap_penalty", "seconds", "error"} <= set(comparison.table.columns)


def test_comparison_table_has_fixed_columns_without_bounds() -> None:
    bare, bounded = (
        cotenant.compare([TINY], methods).table for methods in (["GR"], ["GR", "optimal"])
    )
    assert list(bare.columns) == list(bounded.columns)
    missing = bare[["bound", "gap", "gap_penalty", "difference_penalty"]]
    assert missing.isna().all(axis=None)
    assert set(missing.dtypes.astype(str)) == {"float64"}
    assert bounded["gap_penalty"].notna().all()
    assert bounded["error"].isna().all()


def test_policies_on_predictions_are_measured_on_true_penalties() -> None:
    instance = cotenant.read("colocation/cooper-1000")
    comparison = cotenant.compare([instance], ["optimal", "SMP"], predict=0.25, time_limit=600)
    rows = {(row["method"], row["predict"]): row for row in with_gaps(comparison.rows)}
    truth, blind = rows["optimal", None], rows["optimal", 0.25]
    assert (truth["status"], blind["bound"]) == ("optimal", None)
    assert blind["metrics"]["penalty"] >= truth["bound"] - 1e-9
    assert truth["gaps"]["gap_penalty"] == 0.0
    assert all(row["gaps"]["gap_penalty"] >= 0 for row in rows.values())
    summary = [(line["method"], line["predict"]) for line in comparison.summary()]
    assert summary == list(rows), "truth and prediction are not mixed"


def test_interrupted_cell_is_run_again_later(tmp_path: Path) -> None:
    stops, out = [Stop.INTERRUPTED, Stop.FINISHED], tmp_path / "rows.jsonl"

    def interrupted(instance: Colocation) -> Outcome:
        pairing = Pairing([0, 1], [2, 3], [1, 1], np.zeros(4))  # type: ignore[arg-type]
        return Outcome(pairing, None, Status.FEASIBLE, stops.pop(0))

    first, second = (cotenant.compare([TINY], [interrupted, "GR"], out=out) for _ in range(2))
    assert (first.interrupted, len(first.rows)) == (True, 1)
    assert (second.interrupted, len(second.rows), stops) == (False, 2, [])


def test_row_is_rerun_if_any_of_its_inputs_differs(tmp_path: Path) -> None:
    out, rows = tmp_path / "rows.jsonl", 0
    halved = TINY.replace(penalty=TINY.penalty / 2)  # type: ignore[attr-defined]
    runs: list[tuple[Any, Any, dict[str, Any], bool]] = [
        (TINY, "SMR", {}, True),
        (TINY, "SMR", {"options": {"alpha": 0.02}}, True),
        (TINY, "SMR", {"time_limit": 7.0}, True),
        (TINY, "SMR", {"seeds": [1]}, True),
        (halved, "SMR", {}, True),
        (TINY, "SMR", {}, False),
        (TINY, cheat, {}, True),
        (TINY, cheat, {}, True),  # failed rows
    ]
    for instance, method, settings, again in runs:
        cotenant.compare([instance], [method], out=out, **settings)
        rows += again
        assert len(read_rows(out)) == rows


def test_gaps_use_best_of_several_bounds() -> None:
    rows = cotenant.compare([TINY], ["optimal", "fair"]).rows
    worse = dict(rows[0], bound=0.01)
    gaps = [row["gaps"]["gap_penalty"] for row in with_gaps([worse, *rows])]
    assert gaps[1] == 0.0


@pytest.mark.parametrize(
    "call",
    [
        lambda: cotenant.solve(TINY, None),
        lambda: cotenant.compare([TINY], []),
        lambda: cotenant.compare([TINY], ["GR"], seeds=[]),
        lambda: cotenant.compare([TINY], ["GR"], seeds=[0, -1]),
        lambda: cotenant.compare([], ["optimal"]),
        lambda: cotenant.compare([TINY, cotenant.read("admission/tiny")], ["optimal"], predict=0.5),
        lambda: cotenant.compare([TINY], ["optimal"], predict=0.0),
        lambda: cotenant.compare([TINY], ["GR"], options={"engine": "highs"}),
        lambda: cotenant.compare([TINY], ["GR"], job=1),
        lambda: cotenant.compare([TINY], [lambda instance: None, lambda instance: 0]),
        lambda: cotenant.compare([TINY], ["optimial"]),
    ],
)
def test_compare_refuses_invalid_arguments(call: Any) -> None:
    with refused((InvalidOption, UnknownName)):
        call()


def test_integer_alpha_equals_decimal_alpha() -> None:
    shared = {"problem": "colocation", "fingerprint": "f"}
    first = shared | {
        "options": {"alpha": 0}, "objective_name": "penalty", "bound": 0.1,
        "metrics": {"penalty": 0.1},
    }  # fmt: skip
    second = shared | {
        "options": {}, "objective_name": None, "bound": None, "metrics": {"penalty": 0.2}
    }  # fmt: skip
    assert with_gaps([first, second])[1]["gaps"] == {"gap_penalty": pytest.approx(1.0)}


def test_equilibrium_residual_is_not_used_as_bound() -> None:
    row = {
        "problem": "market",
        "fingerprint": "f",
        "options": {},
        "metrics": {"regret": 0.25, "total_utility": 2.0},
    }
    certified = row | {"objective_name": "regret", "bound": 0.0, "tolerance": 1e-6}
    assert [each["gaps"] for each in with_gaps([certified, row])] == [{}, {}]
