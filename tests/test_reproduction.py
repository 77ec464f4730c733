"""`cotenant reproduce`: listing, one, several, all, rows that are kept, files, and the page that
stays in step.
"""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path
from typing import Any

import pytest
from support.messages import approved, refused
from typer.testing import CliRunner, Result

from cotenant import cli
from cotenant.analysis.report.picture import Chart, Picture, Series
from cotenant.analysis.run.rows import read_rows
from cotenant.instances.problem import InvalidFile, InvalidOption
from cotenant.instances.problem.errors import UnknownName
from cotenant.instances.problem.options import accepts
from cotenant.papers import registry as papers
from cotenant.papers.causes import cause, explained, span
from cotenant.papers.experiment import Experiment, Finding, Paper, Task, compare, decided
from cotenant.papers.page import findings, latest, reproduction_pages
from cotenant.papers.registry import (
    EXPERIMENTS,
    NOT_DETERMINED,
    TITLES,
    experiment_named,
    experiments_named,
)
from cotenant.papers.run import run_tasks, tasks

ROOT = Path(__file__).resolve().parents[1]
STORED = ROOT / "docs" / "reproduction.jsonl"
PAGE = ROOT / "docs" / "reproduction.md"

ran: list[str] = []
"""Which of the toy experiments ran, in order."""


def good(*, seed: int = 0, size: int = 3) -> list[Finding | Picture]:
    ran.append("good")
    line = Series("line", (1, 2), (1.0, float(size)))
    return [
        compare("size", "3", str(size), size == 3, "drawn"),
        Chart("toy-good", "A toy", "x", "y", (line,), alt="A line that rises."),
    ]


def other(*, seed: int = 0) -> list[Finding | Picture]:
    ran.append("other")
    return [
        compare("claim", "always", "never", False),
        Finding("beside it", "", "1", "not in the paper"),
    ]


def broken(*, seed: int = 0) -> list[Finding | Picture]:
    ran.append("broken")
    raise ZeroDivisionError("division by zero")


def interrupted(*, seed: int = 0) -> list[Finding | Picture]:
    raise KeyboardInterrupt


def reader(*, seed: int = 0, log: str | None = None) -> list[Finding | Picture]:
    ran.append("reader")
    text = Path(log or "").read_text() if log else "nothing"
    return [compare("what the file holds", "five", text, text == "five")]


TOYS = Paper("cooper", TITLES["cooper"], "Cooper", "numa")
"""The paper that the experiments of this file are of."""


def make(name: str, **more: Any) -> Experiment:
    what = f"the toy called {name}"
    return Experiment(TOYS, f"toy-{name}", f"fig. {name}", globals()[name], what, **more)


GOOD, OTHER, BROKEN, INTERRUPTED = make("good"), make("other"), make("broken"), make("interrupted")
READER = make("reader", data=(("log", "traces/log.txt"),))
SUBSTITUTED = Experiment(
    TOYS, "toy-sub", "fig. 9", reader, "with a substitute", READER.data, "nothing"
)


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> Any:
    ran.clear()

    def use(*chosen: Experiment) -> None:
        monkeypatch.setattr(papers, "EXPERIMENTS", chosen)

    return use


def call(*arguments: object) -> Result:
    return CliRunner().invoke(cli.app, ["reproduce", *map(str, arguments)])


def test_without_a_name_the_experiments_and_what_is_not_determined_are_listed() -> None:
    done = call("--format", "csv")
    assert done.exit_code == 0
    assert done.stdout == call("--list", "--format", "csv").stdout
    for one in EXPERIMENTS:
        assert one.name in done.stdout
    for place, _ in NOT_DETERMINED:
        assert place in done.stdout
    listed = json.loads(call("--list", "--json").stdout)
    assert [one["name"] for one in listed["experiments"]] == [one.name for one in EXPERIMENTS]
    assert listed["not_determined"] == [list(row) for row in NOT_DETERMINED]


def test_a_paper_by_its_short_name_is_all_its_experiments_and_names_come_once() -> None:
    cooper = [one for one in EXPERIMENTS if one.paper.name == "cooper"]
    assert experiments_named(["cooper"]) == cooper
    assert len(cooper) > 5
    twice = experiments_named([cooper[1].name, "cooper"])
    assert twice == [cooper[1], cooper[0], *cooper[2:]]
    assert experiments_named(["all"]) == list(EXPERIMENTS)


def test_the_options_of_named_experiments_are_listed_with_their_meanings() -> None:
    done = call("--list", "colocation-figure-8", "numa-figure-4.2", "--format", "csv")
    assert done.exit_code == 0
    rows = {row["option"]: row for row in csv.DictReader(done.stdout.splitlines())}
    assert {"agents", "draws", "gpu"} <= set(rows)
    assert all("see `" not in row["meaning"] for row in rows.values()), "followed to its meaning"


def test_one_experiment_puts_the_paper_beside_ours(registry: Any) -> None:
    registry(GOOD, OTHER)
    done = call("toy-good", "-o", "size=4", "--format", "csv")
    assert done.exit_code == 0
    assert "size,3,4,differs,drawn" in done.stdout
    row = json.loads(call("toy-good", "--json").stdout)
    assert (row["findings"][0]["ours"], row["command"]) == ("3", "cotenant reproduce toy-good")


def test_an_unknown_name_names_the_near_ones(registry: Any) -> None:
    registry(GOOD, OTHER)
    with refused(UnknownName):
        CliRunner().invoke(cli.app, ["reproduce", "toy-god"], catch_exceptions=False)


def test_all_runs_every_experiment_and_keeps_a_failure_with_its_reason(
    registry: Any, tmp_path: Path
) -> None:
    registry(GOOD, BROKEN, OTHER)
    out = tmp_path / "rows.jsonl"
    done = call("all", "--out", out, "--format", "csv")
    assert done.exit_code == 1
    assert ran == ["good", "broken", "other"]
    rows = {row["experiment"]: row for row in read_rows(out)}
    approved(rows["toy-broken"]["error"])
    assert rows["toy-other"]["findings"][0]["verdict"] == "differs"
    assert "toy-broken failed: ZeroDivisionError" in done.stdout + done.stderr


def test_one_experiment_that_fails_says_why_and_exits_1(registry: Any, tmp_path: Path) -> None:
    registry(BROKEN)
    done = call("toy-broken", "--out", tmp_path / "rows.jsonl")
    assert (done.exit_code, done.stdout) == (cli.NO_ANSWER, "")
    approved(done.stderr)
    assert read_rows(tmp_path / "rows.jsonl")[0]["status"] == "failed"


def test_what_the_rows_hold_is_not_run_again_and_a_failure_is(
    registry: Any, tmp_path: Path
) -> None:
    registry(GOOD, BROKEN, OTHER)
    out = tmp_path / "rows.jsonl"
    call("all", "--out", out)
    ran.clear()
    assert call("all", "--out", out).exit_code == 1
    assert ran == ["broken"]
    ran.clear()
    call("all", "--out", out, "-o", "size=4")
    assert ran == ["good", "broken"]
    assert latest(read_rows(out))[0]["options"] == {"size": 4}


def test_a_row_cut_short_by_a_crash_is_run_again(registry: Any, tmp_path: Path) -> None:
    registry(GOOD, OTHER)
    out = tmp_path / "rows.jsonl"
    call("all", "--out", out)
    out.write_text(out.read_text()[:-40])
    ran.clear()
    assert call("all", "--out", out).exit_code == 0
    assert ran == ["other"]
    assert [row["experiment"] for row in read_rows(out)] == ["toy-good", "toy-other"]


def test_an_interrupt_keeps_what_is_done(registry: Any, tmp_path: Path) -> None:
    registry(GOOD, INTERRUPTED, OTHER)
    out = tmp_path / "rows.jsonl"
    done = call("all", "--out", out)
    assert done.exit_code == cli.INTERRUPTED
    approved(done.stderr)
    assert [row["experiment"] for row in read_rows(out)] == ["toy-good"]


@pytest.mark.slow
def test_figures_and_tables_are_written_in_every_form(registry: Any, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    registry(GOOD, OTHER)
    figures, tables = tmp_path / "new" / "figures", tmp_path / "tables"
    out = tmp_path / "rows.jsonl"
    assert call("all", "--figures", figures, "--tables", tables, "--out", out).exit_code == 0
    assert sorted(path.name for path in figures.iterdir()) == ["toy-good.pdf", "toy-good.png"]
    assert (figures / "toy-good.pdf").read_bytes().startswith(b"%PDF")
    assert {path.name for path in tables.iterdir()} == {
        f"{name}.{form}"
        for name in ("toy-good", "toy-good-numbers", "toy-other")
        for form in ("csv", "tex")
    }
    assert (tables / "toy-good-numbers.csv").read_text() == "series,x,y\nline,1,1.0\nline,2,3.0\n"
    assert "claim,always,never,differs," in (tables / "toy-other.csv").read_text()
    (figures / "toy-good.png").unlink()
    ran.clear()
    call("all", "--figures", figures, "--out", out)
    assert ran == ["good"]
    assert (figures / "toy-good.png").exists()


@pytest.mark.parametrize("option", ["--figures", "--tables", "--out", "--page"])
def test_report_refuses_unwritable_output_before_work(
    option: str, registry: Any, tmp_path: Path
) -> None:
    registry(GOOD, OTHER)
    (tmp_path / "file").write_text("")
    more = ["--out", str(tmp_path / "rows.jsonl")] if option == "--page" else []
    with refused(InvalidFile):
        CliRunner().invoke(
            cli.app,
            ["reproduce", "all", option, str(tmp_path / "file" / "within"), *more],
            catch_exceptions=False,
        )
    assert ran == []


def test_a_page_needs_rows_and_shows_the_latest(registry: Any, tmp_path: Path) -> None:
    registry(GOOD, OTHER, BROKEN, READER)
    assert "give --out" in str(call("all", "--page", tmp_path / "page.md").exception)
    out, page = tmp_path / "rows.jsonl", tmp_path / "page.md"
    call("all", "--out", out, "-o", "size=4")
    call("all", "--out", out, "--page", page)
    pages = reproduction_pages(read_rows(out), "page")
    assert pages.pop("") == page.read_text()
    ((name, text),) = pages.items()  # the toys are of one paper
    assert name == "page/cooper.md"
    assert (tmp_path / name).read_text() == text
    assert f"]({name}) | 4 |" in page.read_text()
    assert "| size | 3 | 3 | reproduced (1) |\n\n1. drawn\n" in text
    assert "| claim | always | never | differs (1) |\n\n1. no cause was tested\n" in text
    approved(text)
    seconds = sum(row["seconds"] for row in latest(read_rows(out)))
    assert f"| all | 4 | 1 | 1 | 0 | 1 | {seconds:.1f} |" in page.read_text()
    for place, _ in NOT_DETERMINED:
        assert (place in text) == place.startswith("Cooper")


def test_measured_files_are_read_where_they_are_and_skipped_with_a_word_where_not(
    registry: Any, tmp_path: Path
) -> None:
    registry(READER, SUBSTITUTED)
    out = tmp_path / "rows.jsonl"
    assert call("all", "--out", out).exit_code == 0
    skipped, substituted = read_rows(out)
    assert (skipped["status"], skipped["findings"]) == ("skipped", [])
    approved(skipped["skipped"])
    assert substituted["findings"][0]["ours"] == "nothing"
    (tmp_path / "traces").mkdir()
    (tmp_path / "traces" / "log.txt").write_text("five")
    assert call("all", "--out", out, "--data", tmp_path).exit_code == 0
    read, also = latest(read_rows(out))
    assert (read["findings"][0]["verdict"], also["findings"][0]["ours"]) == ("reproduced", "five")
    approved(read["command"])
    assert read["data"]["log"]["file"] == "traces/log.txt"
    assert str(tmp_path) not in out.read_text()
    ran.clear()
    call("all", "--out", out, "--data", tmp_path)
    assert ran == []
    (tmp_path / "traces" / "log.txt").write_text("six")  # other data, another run
    call("all", "--out", out, "--data", tmp_path)
    assert ran == ["reader", "reader"]


def test_a_folder_without_the_files_is_refused(registry: Any, tmp_path: Path) -> None:
    with refused(InvalidFile):
        tasks([READER], data=tmp_path)
    with refused(InvalidFile):
        tasks([READER], data=tmp_path / "nowhere")


def test_rows_of_a_comparison_are_no_experiments(tmp_path: Path) -> None:
    out = tmp_path / "runs.jsonl"
    out.write_text('{"problem": "numa", "method": "IB", "key": "x"}\n')
    with refused(InvalidFile):
        run_tasks([Task(GOOD)], out=out)


def test_every_experiment_has_a_name_of_its_own_and_takes_what_its_data_and_variations_set() -> (
    None
):
    assert len({one.name for one in EXPERIMENTS}) == len(EXPERIMENTS)
    for one in EXPERIMENTS:
        assert (one.place == "") == (one.paper.name == "beyond")
        assert not any(os.path.isabs(file) for _, file in one.data)
        runs = [changes for ways in one.variations.values() for changes in ways.values()]
        options = [name for changes in runs for name in changes]
        assert all(accepts(one.function, name) for name in (*options, *dict(one.data)))


AGENTS = {"agents": 120, "draws": 2}
SIMULATED = {"tasks": 40_000, "tolerance": 0.02}
SMALL: dict[str, dict[str, Any]] = {
    "colocation-figure-7": AGENTS,
    "colocation-figure-8": AGENTS,
    "colocation-figure-9": AGENTS,
    "colocation-figure-10": AGENTS,
    "colocation-figure-11": AGENTS,
    "colocation-figure-12": AGENTS | {"repeats": 3},
    "colocation-figure-13": {"largest": 100, "draws": 6, "proved": 2},
    "market-section-3.3.2": {"largest": 5, "draws": 1},
    "market-figure-3.11": {"largest": 20, "draws": 1},
    "market-figure-3.12": {"users": 40, "groups": 4},
    "market-figure-3.13": {"largest": 20, "draws": 1},
    "numa-figure-4.7": SIMULATED | {"runs": 1, "points": 2},
    "numa-figure-4.8": SIMULATED | {"benchmarks": "S6,M10"},
    "numa-figure-4.9": {"tasks": 20_000, "benchmarks": "S6,M10"},
    "numa-figure-4.13": {"tasks": 20_000},
    "numa-figure-4.14": {"tasks": 20_000},
    "numa-queues": {"tasks": 20_000},
    "numa-hot-data": SIMULATED,
    "admission-table-ii": {"simulations": 2, "optima": 0},
    "admission-table-iii": {"simulations": 2, "optima": 0},
    "admission-table-iv": {"simulations": 2, "optima": 0},
    "admission-claims": {"instances": 20},
    "scheduling-theorem-6.2": {"instances": 4},
    "packing-figure-6": {"largest": 50, "eta": 3},
    "packing-figure-7": {"slots": 3, "servers": 20},
    "packing-theorems-8-10": {"games": 5, "servers": 3, "eta": 3},
}
"""Options with which an experiment takes a second or two."""
LONG = {"numa-figure-4.7", "numa-figure-4.8", "numa-hot-data"}


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "experiment",
    [
        pytest.param(one, id=one.name, marks=[pytest.mark.slow] * (one.name in LONG))
        for one in EXPERIMENTS
        if not one.data or one.substitute
    ],
)
def test_an_experiment_gives_findings_with_verdicts_and_pictures_in_words(
    experiment: Experiment,
) -> None:
    done = experiment.run(**SMALL.get(experiment.name, {}))
    assert done.findings
    for one in done.findings:
        assert one.ours
        assert one.paper or one.verdict == "not in the paper"
    for picture in done.pictures:
        assert picture.name.startswith(experiment.name)
        assert len(picture.alt) > 40
        assert picture.command.startswith(f"cotenant reproduce {experiment.name}")
        if isinstance(picture, Chart):
            assert all(len(series.x) == len(series.y) for series in picture.series)


QUICK = 1.0
"""Experiments that took fewer seconds when they were stored are run again."""


ROWS = latest(read_rows(STORED))


def test_the_pages_are_what_the_stored_rows_give() -> None:
    pages = reproduction_pages(ROWS)
    assert pages.pop("") == PAGE.read_text()
    there = {f"reproduction/{path.name}" for path in (PAGE.parent / "reproduction").iterdir()}
    assert there == set(pages)
    assert {name: (PAGE.parent / name).read_text() for name in pages} == pages
    assert all(any(place in text for text in pages.values()) for place, _ in NOT_DETERMINED)


def test_the_stored_rows_are_those_of_the_experiments_and_no_two_pictures_share_a_file() -> None:
    assert [row["experiment"] for row in ROWS] == [one.name for one in EXPERIMENTS]
    for row in ROWS:
        one = experiment_named(row["experiment"])
        assert row["problem"] == one.paper.problem, one.name
        assert row["status"] == "done", f"{one.name}: {row.get('error') or row.get('skipped')}"
        for name in row["pictures"]:
            assert name[:-1] == one.name or f"{name}-".startswith(f"{one.name}-")
    names = [name for row in ROWS for name in row["pictures"]]
    assert len(set(names)) == len(names)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "row",
    [row for row in ROWS if row["seconds"] < QUICK and not row["data"]],
    ids=lambda row: row["experiment"],
)
def test_quick_experiments_give_the_stored_findings_again(row: dict[str, Any]) -> None:
    again = experiment_named(row["experiment"]).run(seed=row["seed"], **row["options"])
    again = explained(again)
    assert again.findings == tuple(findings(row))
    assert [picture.name for picture in again.pictures] == row["pictures"]
    assert all(picture.alt and picture.title and picture.command for picture in again.pictures)


def test_what_differs_in_the_stored_rows_has_a_cause_that_was_tested() -> None:
    differs = [one for row in ROWS for one in findings(row) if one.verdict == "differs"]
    assert [one.what for one in differs if not one.cause] == []


def test_a_difference_names_its_cause_or_says_that_none_was_tested() -> None:
    approved(compare("x", "1", "2", False, "counted twice", "1 counts nobody").why)
    approved(compare("x", "1", "2", False).why)
    assert compare("x", "1", "1", True, "exact", "never shown").why == "exact"


def leaning(*, seed: int = 0, order: str = "given", size: float = 1.0) -> list[Finding | Picture]:
    ran.append(f"leaning {seed} {order} {size:g}")
    return [
        compare("hangs on the draw", "yes", f"{seed}", seed == 2),
        compare("hangs on the order", "yes", order, order == "other"),
        compare("about 4", "about 4", f"{3 * size:g} of 9", False),
        compare("hangs on nothing", "9", f"{0.5 + seed / 100:.2f} and {size:g}", False),
        compare("moves by nothing", "9", "5; best 7" if size == 1 else "5", False),
        compare("known", "9", "8", False, "", "counted twice"),
        Finding("no claim", "", str(seed), "not in the paper"),
    ]


LEANING = make(
    "leaning",
    variations={
        "the draw": {f"seed {seed}": {"seed": seed} for seed in (1, 2)},
        "the order": {"order=other": {"order": "other"}},
        "the size": {"double": {"size": 2.0}},
    },
)
CAUSES = {
    "hangs on the draw": "the draw: reproduced with seed 2, not with seed 1",
    "hangs on the order": "the order: reproduced with order=other",
    "about 4": "the size: the paper's value lies within ours, 3 to 6 of 9",
    "hangs on nothing": "ruled out: the draw (0.51 to 0.52 and 1), the size (0.50 and 2)",
    "moves by nothing": "ruled out: the draw, the order and the size (unchanged)",
    "known": "counted twice",
    "no claim": "",
}


def test_a_difference_is_run_again_under_each_variation_and_its_cause_is_what_they_show(
    registry: Any, tmp_path: Path
) -> None:
    registry(LEANING)
    out = tmp_path / "rows.jsonl"
    call("all", "--out", out)
    [row] = read_rows(out)
    assert {one.what: one.cause for one in findings(row)} == CAUSES
    assert [run.partition(" ")[2] for run in ran] == [
        "0 given 1", "1 given 1", "2 given 1", "0 other 1", "0 given 2",
    ]  # fmt: skip
    ran.clear()
    call("all", "--out", out)
    assert ran == []


def test_a_variation_never_undoes_what_the_user_chose(registry: Any) -> None:
    registry(LEANING)
    done = call("toy-leaning", "--seed", "1", "-o", "order=mine", "--json")
    told = json.loads(done.stdout)["findings"]
    assert ran == ["leaning 1 mine 1", "leaning 2 mine 1", "leaning 1 mine 2"]
    cause = {one["what"]: one["cause"] for one in told}
    approved(cause["hangs on the draw"])
    approved(cause["hangs on the order"])


def test_what_nothing_differs_in_or_has_no_variations_is_run_once(registry: Any) -> None:
    registry(make("good", variations=LEANING.variations), OTHER)
    call("all")
    assert ran == ["good", "other"]


def test_a_variation_that_cannot_be_run_is_left_out(registry: Any) -> None:
    refused = {
        "the size": {"none": {"size": None}},
        "the file": {"theirs": {"log": Path("traces/log.txt")}},
    }
    registry(make("refusing", variations=refused))
    assert json.loads(call("toy-refusing", "--json").stdout)["findings"][0]["cause"] == ""
    assert ran == ["refusing 1", "refusing None"]


def refusing(*, seed: int = 0, size: int | None = 1, log: str = "") -> list[Finding | Picture]:
    ran.append(f"refusing {size}")
    if size is None:
        raise InvalidOption("size is None")
    return [compare("claim", "yes", "no", False)]


def test_a_variation_reads_the_users_copy_and_the_row_says_so(
    registry: Any, tmp_path: Path
) -> None:
    registry(make("reader", variations={"the file": {"theirs": {"log": Path("traces/log.txt")}}}))
    (tmp_path / "traces").mkdir()
    (tmp_path / "traces" / "log.txt").write_text("five")
    row = json.loads(call("toy-reader", "--data", tmp_path, "--json").stdout)
    approved(row["findings"][0]["cause"])
    assert row["data"]["traces/log.txt"]["file"] == "traces/log.txt"
    approved(row["command"])


def test_an_undecided_run_is_no_cure_but_is_told() -> None:
    base = Finding("x", "yes", "0.1", "differs")
    tried = {"the draw": {"seed 1": Finding("x", "yes", "0.0", "undecided"), "seed 2": base}}
    approved(cause(base, tried))
    assert cause(base, {}) == ""


@pytest.mark.parametrize(
    "paper", ["as much as 41 %", "41", "50", "the same when known and at 41 %", "41 to 42"]
)
def test_a_range_holds_the_paper_s_value_only_where_it_prints_one(paper: str) -> None:
    told = cause(
        Finding("x", paper, "40 %", "differs"),
        {"the draw": {"seed 1": Finding("x", paper, "45 %", "differs")}},
    )
    approved(told)


@pytest.mark.parametrize(
    ("texts", "merged"),
    [
        (["4 of 9", "4 of 9"], "4 of 9"),
        (["P12 -0.5, IP-2 +3 %", "P12 1.5, IP-2 -2 %"], "P12 -0.5 to 1.5, IP-2 -2 to +3 %"),
        (["3 of 9; best A", "5 of 9; best B"], "3 to 5 of 9"),
        (
            ["in 3 of 9, at worst 0.9 (A)", "in 4 of 9, at worst 0.8 (B/C)"],
            "in 3 to 4 of 9, at worst 0.8 to 0.9",
        ),
        (["SMR does: 1 %", "GR does: 2 %"], ""),
        (["within 0.5 to 0.6", "within 0.4 to 0.7"], "within 0.4-0.5 to 0.6-0.7"),
    ],
)
def test_several_texts_become_one_with_ranges(texts: list[str], merged: str) -> None:
    assert span(texts) == merged


def test_the_sign_of_a_mean_is_undecided_while_its_interval_holds_zero() -> None:
    assert decided(True, 0.1, 0.3) == "reproduced"
    assert decided(False, 0.1, 0.3) == "differs"
    assert decided(True, -0.1, 0.3) == decided(False, -0.3, 0.0) == "undecided"
