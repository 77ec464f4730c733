"""Solve and compare in Python: what is recomputed, how gaps are measured, what a failure leaves; the
user's own metrics and rules, with tests and diagrams of a comparison.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pytest
from support.messages import approved, refused
from support.report_rows import row
from support.terminal import run, settings_file

import cotenant
from cotenant import catalog
from cotenant.analysis.metric import Metric
from cotenant.analysis.registry import analysis_of
from cotenant.analysis.report.comparison_page import build_page
from cotenant.analysis.report.drawing import svg
from cotenant.analysis.report.overview import overview_tables
from cotenant.analysis.report.read_runs import gather
from cotenant.analysis.report.significance import require_against, significance
from cotenant.analysis.run.gaps import Comparison, gap_to, with_gaps
from cotenant.analysis.run.question import Question
from cotenant.analysis.run.rows import read_rows
from cotenant.analysis.run.solve import run as run_question
from cotenant.analysis.run.starts import Starts
from cotenant.instances.colocation import Colocation, Pairing
from cotenant.instances.problem import InfeasibleSolution, InvalidOption, UnknownName
from cotenant.solvers.outcome import Outcome, Status, Stop, gap, gap_absolute

TINY = cotenant.read("colocation/tiny")
OWN = """
from typing import Annotated

def largest(instance, result) -> Annotated[float, "max"]:
    return {value}

def no_regression(instance, pairing):
    return "x264 is beside regression" if pairing.first[0] == 0 {broken}else None
"""


@pytest.fixture
def folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files_as_before: None
) -> Iterator[Path]:
    """A folder with a metric and a rule, as if they had been there before this process began."""
    write(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    sys.modules.pop("own_measures", None)


def write(folder: Path, value: str = "result.seconds * 0 + 7", broken: str = "") -> Any:
    """The module with another value or rule, imported as by a new process."""
    (folder / "own_measures.py").write_text(OWN.format(value=value, broken=broken))
    sys.modules.pop("own_measures", None)
    shutil.rmtree(folder / "__pycache__", ignore_errors=True)


def measures() -> dict[str, Any]:
    import own_measures  # type: ignore[import-not-found]

    return {"metrics": [own_measures.largest], "rules": [own_measures.no_regression]}


def rows_of(count: int, *, lacking: bool = False) -> Comparison:
    """Three methods on so many instances: GR is the worst on all, SMR the best on all but one."""
    rows = []
    for place in range(count):
        for method, penalty in (("optimal", 2.0), ("SMR", 1.0 if place else 3.5), ("GR", 3.0)):
            changes: dict[str, Any] = {"metrics": {"penalty": penalty + place / 8}}
            if lacking and (method, place) == ("SMR", 1):
                changes["broken"] = {"fair": "it is not"}
            rows.append(row(method, f"i{place}", **changes))
    return Comparison(rows)


def test_comparison_tables_have_significance_and_effect() -> None:
    tables = {table.name: table for table in overview_tables(rows_of(9, lacking=True), {}, "GR")}
    tests = tables["colocation-tests-penalty"]
    approved(tests.markdown() + tables["colocation-critical-difference-penalty"].markdown())
    approved(tests.csv().splitlines()[0])
    keys = [column.key or column.name for column in tests.columns]
    by_method = {line[0]: dict(zip(keys, line, strict=True)) for line in tests.rows}
    optimal, smr = by_method["optimal"], by_method["SMR"]
    assert optimal["better significantly"] == "optimal"
    assert optimal["effect"][0] == 1.0
    assert (optimal["low"], optimal["high"]) == (-1.0, -1.0)
    assert smr["better / worse"] == "7 / 2", "worse where its answer breaks a rule"
    tests = next(table for table in overview_tables(rows_of(9)) if "-tests-" in table.name)
    verdicts = {line[0]: line[-1] for line in tests.rows}
    assert verdicts == {"optimal": "neither", "GR": "SMR"}, "the reference is SMR, the best"


def test_significance_tests_need_at_least_six_instances() -> None:
    for count, tested in ((5, 0), (6, 1)):
        comparison = rows_of(count)
        assert sum("-tests-" in table.name for table in overview_tables(comparison)) == tested
        part, _ = build_page(comparison.rows).parts
        assert sum("-tests-" in table.name for table in part.tables) == tested
    few = next(t for t in overview_tables(rows_of(5)) if t.name == "colocation-mean-gaps")
    approved(few.notes[-1])
    with refused(InvalidOption):
        require_against("GR", ["colocation"] * 5, ["GR"])
    with refused(UnknownName):
        require_against("GRR", ["colocation"] * 6, ["GR", "SMR"])
    require_against(None, ["colocation"], None)


def diagram() -> Any:
    lines = rows_of(9).summary()
    metrics = [Metric("penalty", "mean penalty", digits=3)]
    ((table, drawing),) = significance("colocation", lines, metrics)
    assert drawing is not None
    return table, drawing


def test_critical_difference_diagram_has_names_bars_and_text() -> None:
    pytest.importorskip("matplotlib")
    _, drawing = diagram()
    approved(f"{drawing.alt}\n{drawing.note}")
    text = svg(drawing)
    for word in ("optimal", "SMR", "GR", "CD = ", "currentColor", 'role="img"'):
        assert word in text
    thick = [line for line in drawing.draw().axes[0].lines if line.get_linewidth() == 3]
    bars = [group for group in drawing.numbers.rows if " " in group[2]]
    assert len(thick) == 2
    assert len(bars) == 1, "the method in the middle is in both groups"


def test_own_metrics_and_rules_appear_in_tables_and_rows(
    folder: Path, in_this_process: None
) -> None:
    own = {"metrics": ["own_measures:largest"], "rules": ["own_measures:no_regression"]}
    words = ("compare", "colocation/tiny", "-m", "optimal", "-m", "GR", "--out", "r.jsonl")
    command = (*words, *settings_file(folder, **own))
    done = run(*command, "--format", "wide")
    assert done.returncode == 0, done.stderr
    approved("\n".join(line for line in done.stdout.splitlines() if "rule" in line))
    rows = {each["method"]: each for each in gather(["r.jsonl"])}
    assert [*rows["optimal"]["broken"]] == ["no_regression"]
    assert rows["optimal"]["own_metrics"] == {"largest": "max"}
    assert {each["metrics"]["largest"] for each in rows.values()} == {7}
    page = build_page(list(rows.values()))
    approved(page.commands[0])
    part, _ = page.parts
    table = part.parts[0].tables[0]
    assert "largest" in [column.name for column in table.columns]
    assert run(*words, *settings_file(folder, **own, columns=["largest"])).returncode == 0


def test_answer_that_breaks_a_user_rule_is_no_best_answer(folder: Path) -> None:
    found = cotenant.compare([TINY], ["optimal", "GR"], progress=False, **measures())
    lines = {line["method"]: line for line in found.summary()}
    assert lines["optimal"]["broken"]
    assert list(found.table["broken"]) == ["no_regression"] * 2
    assert lines["GR"]["bounds"]["penalty"] == pytest.approx(0.0425), "it holds with the rule too"
    part, _ = build_page(found.rows).parts
    assert "optimal" not in part.parts[0].decision
    write(folder, broken="and False ")
    obeyed = cotenant.compare([TINY], ["optimal"], progress=False, **measures())
    assert obeyed.rows[0]["broken"] == {}
    assert obeyed.rows[0]["status"] == "optimal"


@pytest.mark.parametrize("jobs", [None, pytest.param(1, marks=pytest.mark.slow)])
def test_comparison_reruns_rows_of_edited_metric_or_rule(folder: Path, jobs: int | None) -> None:
    def reused() -> int:
        return cotenant.compare(
            [TINY], ["GR"], out="r.jsonl", jobs=jobs, progress=False, **measures()
        ).reused

    assert [reused(), reused()] == [0, 1]
    write(folder, value="8")
    assert [reused(), reused()] == [0, 1]
    write(folder, value="8", broken="and False ")
    assert [reused(), reused()] == [0, 1]
    cotenant.compare([TINY], ["GR"], out="r.jsonl", progress=False)
    assert len(Path("r.jsonl").read_text().splitlines()) == 4
    (last,) = gather(["r.jsonl"])
    assert "largest" not in last["metrics"], "the last run of a method is what a page shows"


def test_solve_and_check_exit_with_one_if_user_rule_is_broken(folder: Path) -> None:
    rule = ("--rule", "own_measures:no_regression")
    done = run("solve", "colocation/tiny", "-m", "optimal", "--out", "r.json", *rule)
    assert done.returncode == 1
    approved(done.stderr)
    done = run("check", "colocation/tiny", "r.json", *rule)
    assert done.returncode == 1
    approved(done.stdout)
    write(folder, broken="and False ")
    assert run("solve", "colocation/tiny", "-m", "optimal", *rule).returncode == 0
    done = run("check", "colocation/tiny", "r.json", *rule)
    assert done.returncode == 0
    approved(done.stdout.splitlines()[0])


def penalty(instance: Any, result: Any) -> Annotated[float, "min"]:
    """Has the name of a metric of the problem."""
    return 1.0


def shapeless(instance: Any, result: Any) -> float:
    """Does not say which way is better."""
    return 1.0


def text(instance: Any, result: Any) -> Annotated[float, "min"]:
    """Returns no number."""
    return "many"  # type: ignore[return-value]


def doubtful(instance: Any, answer: Any) -> bool:
    """Neither None nor a text."""
    return True


@pytest.mark.parametrize(
    "given", [{"metrics": [3]}, {"metrics": [penalty]}, {"metrics": [shapeless]},
              {"rules": [doubtful, doubtful]}],
)  # fmt: skip
def test_compare_refuses_invalid_metrics_and_rules_of_the_user(given: dict[str, Any]) -> None:
    with refused(InvalidOption):
        cotenant.compare([TINY], ["GR"], progress=False, **given)


def test_failing_own_metric_is_an_error_of_its_row(folder: Path, in_this_process: None) -> None:
    for given in ({"metrics": [text]}, {"rules": [doubtful]}):
        (failed,) = cotenant.compare([TINY], ["GR"], progress=False, **given).rows
        approved((failed["error"] or "").rpartition(": ")[2])
    write(folder, value="1 / 0")
    (failed,) = cotenant.compare([TINY], ["GR"], progress=False, **measures()).rows
    approved(failed["error"] or "")
    for name in ("largest", "own_measures.py:largest"):
        done = run("compare", "colocation/tiny", "-m", "GR", *settings_file(folder, metrics=[name]))
        assert done.returncode == 2
        approved(done.stderr)


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
    run_question(question, starts)
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
