"""Metrics and rules of the user's own, and the tests and diagrams of a comparison that show them."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import pytest
from support.messages import approved, refused
from support.report_rows import row
from support.terminal import run, settings_file

import cotenant
from cotenant.analysis.metric import Metric
from cotenant.analysis.report.comparison_page import build_page
from cotenant.analysis.report.drawing import svg
from cotenant.analysis.report.overview import overview_tables
from cotenant.analysis.report.read_runs import gather
from cotenant.analysis.report.significance import require_against, significance
from cotenant.analysis.run.gaps import Comparison
from cotenant.instances.problem import InvalidOption, UnknownName

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
def test_invalid_own_metrics_are_refused_first(given: dict[str, Any]) -> None:
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
