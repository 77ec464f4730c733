"""The page: the decision in words, rows, commands, the map of fairness, sections, escapes, refusals,
how much it shows.
"""

from __future__ import annotations

import base64
import json
import re
import shlex
import sys
from dataclasses import replace
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from support import report_rows
from support.browser import Tags
from support.messages import approved, refused
from support.report_rows import failed, frontier, row, two_instances
from typer.testing import CliRunner

import cotenant
from cotenant.analysis.frontier import PriceFrontier, PricePoint
from cotenant.analysis.registry import analysis_of
from cotenant.analysis.report.comparison_page import (
    MOST_PICTURED,
    build_page,
    decision,
    write_report,
)
from cotenant.analysis.report.picture import Chart, HeatMap, Series, finding, once
from cotenant.analysis.report.plotting import MOST_LINES, chart_figure
from cotenant.analysis.report.price_chart import price_chart
from cotenant.analysis.report.read_runs import compare_commands, distinguish, gather, run_command
from cotenant.analysis.run.documents import require_good
from cotenant.analysis.run.gaps import Comparison
from cotenant.cli.commands import app
from cotenant.instances.problem import InvalidFile, InvalidOption
from cotenant.solvers.outcome import Status

pytest.importorskip("matplotlib", reason="the page needs matplotlib")
pytest.importorskip("jinja2", reason="the page needs jinja2")

METRICS = {metric.name: metric for metric in analysis_of("colocation").metric_table}
NASTY = "<script>alert(\"x\")</script> & 'q' $x$ _a_"


def written(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(each) + "\n" for each in rows))
    return path


# Rows


def test_report_joins_files_and_keeps_last_row_of_key(tmp_path: Path) -> None:
    one = written(tmp_path / "1.jsonl", [failed("GR", key="k"), row("SMR")])
    two = written(tmp_path / "2.jsonl", [row("GR", key="k")])
    assert [(each["method"], each["status"]) for each in gather([one, two])] == [
        ("SMR", "feasible"),
        ("GR", "feasible"),
    ]


BAD_FILES: list[tuple[str, str]] = [
    ("empty", ""),
    ("only failures", json.dumps(failed("GR", error="no memory")) + "\n"),
    ("a key and nothing else", '{"key": "k"}\n'),
    ("a strange problem", json.dumps(row(problem="tsp")) + "\n"),
    ("a strange metric", json.dumps(row(objective_name="beauty")) + "\n"),
    ("a broken frontier", json.dumps(frontier(frontiers=[{"points": []}])) + "\n"),
    (
        "a strange frontier",
        json.dumps(frontier(frontiers=[{"efficiency": "x", "fairness": "slack", "points": []}]))
        + "\n",
    ),
]


@pytest.mark.parametrize("text", dict(BAD_FILES).values(), ids=dict(BAD_FILES))
def test_report_without_rows_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "runs.jsonl").write_text(text)
    with refused(InvalidFile):
        gather([tmp_path / "runs.jsonl"])
    found = CliRunner().invoke(
        app, ["report", str(tmp_path / "runs.jsonl"), "--out", str(tmp_path / "p.html")]
    )
    assert isinstance(found.exception, InvalidFile)
    assert not (tmp_path / "p.html").exists()


def test_report_keeps_different_options_separate() -> None:
    rows = [
        row("GR"),
        row("GR", options={"alpha": 0.05}),
        row("stable"),
        row("stable", time_limit=5.0),
        row("SMR", instance="two", versions={"cotenant": "9"}),
        row("SMR", instance="two"),
    ]
    names = [(each["instance"], each["method"]) for each in distinguish(rows)]
    assert names == [
        ("one (alpha=0.0)", "GR"),
        ("one (alpha=0.05)", "GR"),
        ("one (alpha=0.0)", "stable (60 s)"),
        ("one (alpha=0.0)", "stable (5 s)"),
        ("two", "SMR (version=9)"),
        ("two", "SMR (version=0.1.0)"),
    ]
    assert [line["runs"] for line in Comparison(distinguish(rows)).summary()] == [1] * 6


# Commands


def test_report_command_is_quoted_and_reproducible() -> None:
    made = row("SMR", seed=3, time_limit=2.5, options={"alpha": 0.05}, file="my runs/a b.json")
    approved(run_command(made))
    command = run_command(
        row("stable", file="colocation/tiny", options={"alpha": 0.05}, time_limit=5.0)
    )
    found = CliRunner().invoke(app, [*shlex.split(command)[1:], "--json"])
    assert found.exit_code == 0
    assert json.loads(found.stdout)["result"]["options"] == {"alpha": 0.05}


def test_commands_in_report_repeat_the_runs_of_their_rows() -> None:
    approved(run_command(row("GR", file=None, time_limit=None)))
    assert "'predict = 0.25'" in run_command(row("SMR", predict=0.25, seed=1))
    approved(run_command(frontier()))
    own = row(
        "mine", key=json.dumps(["run", "colocation", "one", "m", "mine", "my_module.mine", 0])
    )
    assert run_command(own) == "cotenant solve colocation/one -m my_module:mine --time-limit 60"
    approved(run_command(row("GR", file="--out=x", time_limit=None)))
    assert compare_commands([own]) == [
        "cotenant compare colocation/one -m my_module:mine --time-limit 60"
    ]
    for where in ("__main__.mine", "my_module.<lambda>", "my_module.mine unknown-12345678"):
        unnamed = {**own, "key": json.dumps(["run", "colocation", "one", "m", "mine", where, 0])}
        assert run_command(unnamed) == ""
        assert compare_commands([unnamed]) == []


def test_compare_commands_are_one_per_problem_and_time_limit() -> None:
    rows = [
        *two_instances(),
        row("GR", seed=1),
        row("fisher", problem="market", instance="m", time_limit=5.0),
    ]
    assert compare_commands(rows) == [
        "cotenant compare colocation/one colocation/two -m optimal -m SMR -m GR --seeds 2 "
        "--time-limit 60",
        "cotenant compare colocation/m -m fisher --time-limit 5",
    ]


# The map of fairness


def map_of(
    points: list[tuple[Any, ...]], efficiency: str = "penalty", fairness: str = "blocking_pairs"
) -> dict[str, Any]:
    made = tuple(
        PricePoint(values[0], values[1], values[2], values[3], Status(values[4]))
        for values in points
    )
    lines = Comparison(
        [row("GR", metrics={"penalty": 0.05, "blocking_pairs": 20.0, "within_tolerance": 0.1})]
    ).summary()
    drawn = price_chart(PriceFrontier(efficiency, fairness, made, "so"), lines, METRICS, "m", "t")
    return {series.name.partition(":")[0].partition(",")[0]: series for series in drawn.series} | {
        "note": drawn.note
    }


def test_price_chart_has_separate_series_for_bounds_and_answers() -> None:
    found = map_of([
        (0.0, 0.04, 0.04, 0.0, "optimal"), (5.0, 0.03, 0.025, 4.0, "feasible"),
        (None, 0.02, 0.02, 9.0, "optimal"), (7.0, None, None, None, "unknown"),
    ])  # fmt: skip
    assert (found["found"].x, found["found"].y) == ((0.0, 4.0, 9.0), (0.04, 0.03, 0.02))
    assert (found["proved"].x, found["proved"].y) == ((20.0, 5.0, 0.0), (0.02, 0.025, 0.04))
    assert found["proved"].strong
    assert found["found and proved best"].x == (0.0, 9.0)
    assert (found["methods"].labels, found["methods"].x, found["methods"].y) == (
        ("GR",),
        (20.0,),
        (0.05,),
    )
    approved(str(found["note"]))


def test_price_chart_of_maximized_fairness_reverses_bounds() -> None:
    found = map_of(
        [(0.9, 0.04, 0.04, 0.95, "optimal"), (None, 0.02, 0.02, 0.3, "optimal")],
        fairness="within_tolerance",
    )
    assert found["found"].x == (0.95, 0.3)
    assert found["proved"].x == (0.1, 0.9, 0.95)


def test_price_chart_of_metric_without_sense_uses_order_of_points() -> None:
    points = tuple(PricePoint(x, x / 10, x / 10, x, Status.OPTIMAL) for x in (30.0, 20.0, 10.0))
    metrics = {metric.name: metric for metric in analysis_of("numa").metric_table}
    drawn = price_chart(PriceFrontier("link_power", "served_rate", points), [], metrics, "m", "t")
    assert [series.x for series in drawn.series] == [
        (10.0, 20.0, 30.0),
        (30.0, 20.0, 10.0),
        (30.0, 20.0, 10.0),
    ]


def test_price_chart_merges_coinciding_methods_into_one_point() -> None:
    rows = [
        row(name, metrics={"penalty": 0.05, "blocking_pairs": 2.0})
        for name in ("GR", "CO", "SR", "SMR")
    ]
    drawn = price_chart(
        PriceFrontier("penalty", "blocking_pairs", ()),
        Comparison(rows).summary(),
        METRICS,
        "m",
        "t",
    )
    assert drawn.series[0].labels == ("GR, CO, SR,\nSMR",)


def test_price_chart_omits_dominated_answers_and_notes_infeasible_limits() -> None:
    found = map_of(
        [
            (0.0, None, None, None, "infeasible"),
            (2.0, 0.03, None, 2.0, "feasible"),
            (5.0, 0.035, None, 4.0, "feasible"),
        ]
    )
    assert (found["found"].x, found["found"].y) == ((2.0,), (0.03,))
    assert "proved" not in found
    approved(str(found["note"]))


# What the page says


def fake_pictures(monkeypatch: pytest.MonkeyPatch, pictures: Any) -> None:
    module = ModuleType("cotenant.analysis.colocation.pictures")
    module.pictures = pictures  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "cotenant.analysis.colocation.pictures", module)


def one_bar(rows: list[dict[str, Any]]) -> list[Chart]:
    values = tuple(each["record"]["value"] for each in rows)
    names = tuple(each["method"] for each in rows)
    return [
        Chart(
            "bars",
            f"Bars of {rows[0]['instance']}",
            "method",
            "value",
            (Series("value", names, values, "bars"),),
            "bars",
        )
    ]


def test_page_groups_pictures_by_instance(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_pictures(monkeypatch, one_bar)
    made = build_page(
        [
            row("GR", record={"value": 3}),
            row("SMR", record={"error": "Boom: <b>"}),
            row("CO", "two"),
        ]
    )
    one, two, _ = made.parts[0].parts
    approved([shown.title for shown in one.pictures])
    approved(one.notes)
    assert two.pictures == ()
    approved(one.pictures[0].command)


def test_page_notes_pictures_that_fail_and_keeps_the_rest(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def broken(rows: Any) -> Any:
        raise KeyError("value")

    fake_pictures(monkeypatch, broken)
    made = build_page([row("GR", record={"value": 3})])
    approved(made.parts[0].parts[0].notes)
    fake_pictures(
        monkeypatch,
        lambda rows: [Chart("c", "c", "x", "y", (Series("s", (object(),), (1,)),), "alt")],
    )
    text = write_report([row("GR", record={})], tmp_path / "p.html")[0].read_text()
    assert "This picture cannot be drawn: TypeError" in text


def test_page_of_many_instances_draws_the_first_and_tabulates_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fake_pictures(monkeypatch, one_bar)
    rows = [
        row("GR", f"i{number}", record={"value": number}) for number in range(MOST_PICTURED + 5)
    ]
    problem = build_page(rows).parts[0]
    assert [bool(each.pictures) for each in problem.parts[:-1]] == [True] * MOST_PICTURED + [
        False
    ] * 5
    assert all(each.tables for each in problem.parts)
    approved("\n".join(problem.sentences))


def test_page_shows_frontier_only_with_runs_of_equal_options() -> None:
    rows = [
        row("GR"),
        row("GR", options={"alpha": 0.05}),
        frontier(options={"alpha": 0.05}),
        frontier("three"),
    ]
    plain, other, alone, _ = build_page(rows).parts[0].parts
    assert plain.pictures == ()
    approved([series.name for series in other.pictures[0].series][-1])  # type: ignore[union-attr]
    assert alone.tables == ()
    assert "Only a frontier" in alone.notes[0]
    approved(other.pictures[0].command)


# The page


def page(tmp_path: Path, rows: list[dict[str, Any]]) -> str:
    return write_report(
        rows, tmp_path / "page.html", command="cotenant report 'my runs.jsonl' --out page.html"
    )[0].read_text()


def test_page_is_complete_ordered_html_without_external_links(tmp_path: Path) -> None:
    text = page(
        tmp_path,
        [
            *two_instances(),
            frontier(),
            failed("CO"),
            row("fisher", problem="market", metrics={"regret": 0.1}),
        ],
    )
    found = Tags(text)
    assert found.all("html")[0]["lang"] == "en"
    levels = [int(tag[1]) for tag, _ in found.tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(later <= earlier + 1 for earlier, later in pairwise(levels))
    assert {"header", "nav", "main", "footer", "h1"} <= {tag for tag, _ in found.tags}
    ids = [attributes["id"] for _, attributes in found.tags if attributes.get("id")]
    assert len(ids) == len(set(ids))
    named = [attributes["href"] for attributes in found.all("a")]
    assert all(href and href[1:] in ids for href in named)
    addresses = [
        value
        for _, attributes in found.tags
        for name, value in attributes.items()
        if name in ("href", "src", "xlink:href")
    ]
    assert all(value and value.startswith(("#", "data:")) for value in addresses)
    assert not re.search(r"@import|url\((?!#)", text)
    for attributes in found.all("svg"):
        assert all(name in ids for name in str(attributes["aria-labelledby"]).split())
    assert all(
        attributes.get("tabindex") == "0" and attributes.get("aria-label")
        for attributes in found.all("div")
        if attributes.get("class") == "scroll"
    )
    assert len(text) < 2_000_000


def test_content_policy_of_page_allows_only_its_own_script(tmp_path: Path) -> None:
    text = page(tmp_path, [row()])
    script = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    assert len(script) == 1
    policy = next(
        a["content"]
        for a in Tags(text).all("meta")
        if a.get("http-equiv") == "Content-Security-Policy"
    )
    digest = base64.b64encode(sha256(script[0].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in str(policy)
    assert "default-src 'none'" in str(policy)


@pytest.mark.slow
def test_page_escapes_names_and_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    series = Series(NASTY, (1, 2), (1, 2), "points", (NASTY, "b"), (NASTY, ""))
    fake_pictures(
        monkeypatch, lambda rows: [Chart("c", NASTY, NASTY, NASTY, (series,), NASTY, note=NASTY)]
    )
    rows = [
        row("GR", NASTY, record={}, file=NASTY),
        failed("CO", NASTY, error=NASTY),
        row(NASTY, NASTY),
        frontier(NASTY),
    ]
    rows += [row("GR", "half \ud800", record={"error": NASTY})]
    text = page(tmp_path, rows)
    assert text.count("<script>") == 1
    assert "alert(&#34;x&#34;)" in text
    assert r"half \ud800" in text


@pytest.mark.slow
def test_report_page_contains_every_number_error_and_command(tmp_path: Path) -> None:
    rows = [*two_instances(), failed("CO", error="why not")]
    text = page(tmp_path, rows)
    for made in (run_command(each) for each in rows):
        assert made in text
    assert "cotenant report &#39;my runs.jsonl&#39; --out page.html" in text
    assert "why not" in text
    assert "<td class=number>0.0400</td>" in text
    assert re.search(r'data-value="0\.061\d+">6.14 %', text)
    assert text.count("<svg") == len(build_page(rows).pictures())


@pytest.mark.slow
def test_report_writes_figures_and_tables_as_files(tmp_path: Path) -> None:
    rows = [
        each | {"metrics": {"penalty": each["metrics"]["penalty"]}} for each in two_instances()
    ] + [frontier()]
    made = build_page(rows)
    found = write_report(rows, tmp_path / "p.html", figures=tmp_path / "f", tables=tmp_path / "t")
    assert len(found) == len(set(found)) <= 12
    assert (tmp_path / "f" / "colocation.pdf").read_bytes().startswith(b"%PDF")
    figures = (tmp_path / "f" / "colocation.tex").read_text()
    assert figures.count("\\includegraphics[page=") == len(made.pictures())
    both = (tmp_path / "t" / "colocation-instances.csv").read_text().splitlines()
    assert both[0].startswith("table,method,")
    assert {line.partition(",")[0] for line in both[1:]} == {
        table.title for each in made.parts[0].parts[:-1] for table in each.tables
    }
    assert (
        (tmp_path / "t" / "colocation-mean-gaps.csv")
        .read_text()
        .startswith("method,answered,proved")
    )
    text = (tmp_path / "t" / "colocation-mean-gaps.tex").read_text()
    assert text.startswith("% \\usepackage{booktabs,array,graphicx}\n\\begin{table}")


# On the command line


@pytest.mark.slow
@pytest.mark.usefixtures("in_this_process")
def test_compare_resumes_rows_and_frontiers_of_output_file(tmp_path: Path) -> None:
    out, page = str(tmp_path / "runs.jsonl"), str(tmp_path / "page.html")
    words = ("compare", "colocation/tiny", "-m", "optimal", "-m", "GR", "--frontier", "--out", out)
    for _ in range(2):
        found = CliRunner().invoke(app, words)
        assert found.exit_code == 0, found.exception
    rows = gather([Path(out)])
    assert [each["kind"] for each in rows] == ["run", "run", "frontier"]
    assert {each["file"] for each in rows} == {"colocation/tiny"}
    assert CliRunner().invoke(app, ["report", out, "--out", page]).exit_code == 0
    assert "cotenant solve colocation/tiny -m GR --time-limit 5" in Path(page).read_text()


@pytest.mark.parametrize("library", ["jinja2", "matplotlib"])
def test_report_without_plot_libraries_is_refused(
    library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    (tmp_path / "runs.jsonl").write_text(json.dumps(row()) + "\n")
    words = ["report", str(tmp_path / "runs.jsonl"), "--out", str(tmp_path / "p.html")]
    found = CliRunner().invoke(app, words)
    assert isinstance(found.exception, InvalidOption)
    approved(str(found.exception))


LINE = Chart("a", "A", "x", "y", (Series("s", (0, 1), (1.0, 2.0)),), "Lines. Least: s with 1.")


def test_finding_under_report_picture_is_shortened_end_of_its_alternative_text() -> None:
    assert finding(LINE) == "Least: s with 1."
    approved(finding(replace(LINE, alt="only words. And more.")))
    long = finding(replace(LINE, alt=f"Means: {'a long list, ' * 40}."))
    assert len(long) <= 180
    assert long.endswith("list ...")


def test_pictures_with_equal_numbers_are_shown_once() -> None:
    other = replace(LINE, name="b", title="B")
    moved = replace(LINE, name="c", series=(Series("s", (0, 1), (1.0, 3.0)),))
    kept = once([LINE, other, moved])
    assert [each.name for each in kept] == ["a", "c"]
    approved(kept[0].note)
    cells = HeatMap("m", "M", "x", "y", ("a",), ("b",), ((1.0,),), "v", "map")
    assert len(once([cells, replace(cells, name="n"), replace(cells, values=((2.0,),))])) == 2


def test_chart_of_many_lines_has_one_frame_per_line() -> None:
    lines = [Series(f"line {k}", (0, 1, 2), (float(k), 1.5, 2.0)) for k in range(MOST_LINES + 1)]
    few = chart_figure(replace(LINE, series=tuple(lines[:-1])))
    assert len(few.axes) == 1
    many = chart_figure(replace(LINE, series=tuple(lines)))
    shown = [axes for axes in many.axes if axes.get_visible()]
    assert [axes.get_title("left") for axes in shown] == [line.name for line in lines]
    gray = [axes.lines[0] for axes in shown]
    assert all(len(axes.lines) == 2 for axes in shown), "the others gray behind it, in one line"
    assert [np.isnan(line.get_xdata()).sum() for line in gray] == [len(lines)] * len(lines)


def test_axis_of_integers_has_integer_ticks() -> None:
    counts = chart_figure(replace(LINE, series=(Series("s", (0, 1, 2), (0.0, 1.0, 1.0)),)))
    for axis in (counts.axes[0].xaxis, counts.axes[0].yaxis):
        assert all(tick == round(tick) for tick in axis.get_ticklocs())
    parts = chart_figure(replace(LINE, series=(Series("s", (0, 1, 2), (0.0, 0.5, 1.0)),)))
    assert any(tick % 1 for tick in parts.axes[0].yaxis.get_ticklocs())


METRIC_TABLE = analysis_of("colocation").metric_table


def penalty_row(method: str, penalty: float, **changes: Any) -> Any:
    metrics = {"penalty": penalty, "blocking_pairs": 3.0}
    told = {"answer": "put web beside batch", "metrics": metrics, **changes}
    return report_rows.row(method, **told)


def sentence(rows: list[Any]) -> str:
    return decision(rows, METRIC_TABLE)[0]


def test_decision_sentence_names_gap_to_bound_and_best_policy() -> None:
    proved, policy = (
        penalty_row("optimal", 0.02, bound=0.02, status="optimal"),
        penalty_row("GR", 0.02),
    )
    several = [
        penalty_row("SMR", 0.04, objective_name="blocking_pairs"),
        penalty_row("GR", 0.025, answer="put web beside db"),
    ]
    approved(sentence([proved, *several]))
    approved(sentence([proved, policy]))
    for bound in (0.02, 0.0):
        approved(sentence([penalty_row("optimal", 0.022, bound=bound)]))


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [penalty_row("GR", 0.02)],
        [penalty_row("optimal", 0.02, bound=0.02, answer=None)],
        [penalty_row("optimal", 0.02, bound=0.02, predict=0.5)],
        [report_rows.failed("optimal")],
    ],
)
def test_decision_sentence_without_bound_or_answer_is_empty(rows: list[Any]) -> None:
    assert decision(rows, METRIC_TABLE) == ("", None)


def test_decision_sentence_for_bound_and_one_policy_names_no_best_method() -> None:
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
        [penalty_row("optimal", 0.02, bound=0.02, status="optimal", answer_table=table)],
        METRIC_TABLE,
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
        require_good([penalty_row("optimal", 0.02, answer_table=table)], "rows.jsonl")
