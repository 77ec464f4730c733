"""The page begins with the decision in words: what to do, how good it is, what it is better
than.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support import report_rows
from support.messages import approved, refused

import cotenant
from cotenant.analysis.registry import analysis_of
from cotenant.analysis.report.comparison_page import decision, write_report
from cotenant.analysis.run.documents import require_good
from cotenant.instances.problem import InvalidFile

METRICS = analysis_of("colocation").metric_table


def row(method: str, penalty: float, **changes: Any) -> Any:
    metrics = {"penalty": penalty, "blocking_pairs": 3.0}
    told = {"answer": "put web beside batch", "metrics": metrics, **changes}
    return report_rows.row(method, **told)


def sentence(rows: list[Any]) -> str:
    return decision(rows, METRICS)[0]


def test_decision_names_gap_and_best_policy() -> None:
    proved, policy = row("optimal", 0.02, bound=0.02, status="optimal"), row("GR", 0.02)
    several = [
        row("SMR", 0.04, objective_name="blocking_pairs"),
        row("GR", 0.025, answer="put web beside db"),
    ]
    approved(sentence([proved, *several]))
    approved(sentence([proved, policy]))
    for bound in (0.02, 0.0):
        approved(sentence([row("optimal", 0.022, bound=bound)]))


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [row("GR", 0.02)],
        [row("optimal", 0.02, bound=0.02, answer=None)],
        [row("optimal", 0.02, bound=0.02, predict=0.5)],
        [report_rows.failed("optimal")],
    ],
)
def test_decision_without_bound_or_answer_is_none(rows: list[Any]) -> None:
    assert decision(rows, METRICS) == ("", None)


def test_decision_from_bound_and_a_single_policy_names_no_best_method() -> None:
    rows = cotenant.compare([cotenant.read("numa/tiny")], ["fluid", "Local"], progress=False).rows
    approved(decision(rows, analysis_of("numa").metric_table)[0])


@pytest.mark.slow
def test_page_of_one_instance_begins_with_decision(tmp_path: Path) -> None:
    tiny = cotenant.read("colocation/tiny")
    names = ("web<b>", "batch", "db", "cache")
    done = cotenant.compare([tiny.replace(names=names)], ["optimal", "CO"])
    (made, *_) = write_report(done.rows, tmp_path / "page.html")
    text = made.read_text()
    decided = text.partition('class="decision">')[2][:200]
    assert decided.startswith("Put web&lt;b&gt;")
    assert "0.0425" in decided
    assert text.index("Put web") < text.index('<section id="what-was-run"')
    assert text.count("Put web") == 1
    answer = text.partition('<details id="colocation-tiny-answer"')[2].partition("</details>")[0]
    assert answer.count("web&lt;b&gt;") == 2, "in a cell, and in the CSV that is copied"
    two = [tiny.replace(names=names, name=name) for name in ("one", "two")]
    (made, *_) = write_report(cotenant.compare(two, ["optimal"]).rows, tmp_path / "page.html")
    assert made.read_text().count("Put web") == 2, "each with its instance"


def test_truncated_stored_answer_says_how_to_print_all() -> None:
    table = {"columns": ["job", "beside"], "rows": [["web", "db"]], "total": 3}
    _, answer = decision(
        [row("optimal", 0.02, bound=0.02, status="optimal", answer_table=table)], METRICS
    )
    assert answer is not None
    assert answer.csv().splitlines() == ["job,beside", "web,db"]
    approved(answer.title)


@pytest.mark.parametrize(
    "table",
    [
        {"columns": ["job"], "rows": [["web", 1]], "total": 1},
        {"columns": ["job"], "rows": [["web"]], "total": 0},
    ],
)
def test_inconsistent_stored_answer_is_refused(table: dict[str, Any]) -> None:
    with refused(InvalidFile):
        require_good([row("optimal", 0.02, answer_table=table)], "rows.jsonl")
