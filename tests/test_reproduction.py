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

from cotenant.analysis.report.picture import Chart, Picture, Series
from cotenant.analysis.run.rows import read_rows
from cotenant.cli import codes
from cotenant.cli.commands import app
from cotenant.instances.problem import InvalidFile
from cotenant.instances.problem.errors import UnknownName
from cotenant.instances.problem.options import accepts
from cotenant.papers import registry as papers
from cotenant.papers.experiment import Experiment, Finding, Paper, Task, compare, span
from cotenant.papers.page import findings, latest, reproduction_pages
from cotenant.papers.registry import (
    EXPERIMENTS,
    NOT_DETERMINED,
    TITLES,
    experiment_named,
    experiments_named,
)
from cotenant.papers.run import cause, explained, run_tasks, tasks

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
    return CliRunner().invoke(app, ["reproduce", *map(str, arguments)])


def test_reproduce_without_names_lists_experiments_and_undetermined_figures() -> None:
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


def test_experiments_are_selected_once_by_paper_name_or_all() -> None:
    cooper = [one for one in EXPERIMENTS if one.paper.name == "cooper"]
    assert experiments_named(["cooper"]) == cooper
    assert len(cooper) > 5
    twice = experiments_named([cooper[1].name, "cooper"])
    assert twice == [cooper[1], cooper[0], *cooper[2:]]
    assert experiments_named(["all"]) == list(EXPERIMENTS)
    with refused(UnknownName):
        experiments_named(["colocation-figure-77"])


def test_list_with_names_shows_experiment_options() -> None:
    done = call("--list", "colocation-figure-8", "numa-figure-4.2", "--format", "csv")
    assert done.exit_code == 0
    rows = {row["option"]: row for row in csv.DictReader(done.stdout.splitlines())}
    assert {"agents", "draws", "model_seed"} <= set(rows)
    assert all("see `" not in row["meaning"] for row in rows.values()), "followed to its meaning"


def test_reproduce_all_continues_after_failed_experiment(registry: Any, tmp_path: Path) -> None:
    registry(GOOD, BROKEN, OTHER)
    out = tmp_path / "rows.jsonl"
    done = call("all", "--out", out, "--format", "csv")
    assert done.exit_code == 1
    assert ran == ["good", "broken", "other"]
    rows = {row["experiment"]: row for row in read_rows(out)}
    approved(rows["toy-broken"]["error"])
    assert rows["toy-other"]["findings"][0]["verdict"] == "differs"
    assert "toy-broken failed: ZeroDivisionError" in done.stdout + done.stderr


def test_single_experiment_prints_findings_or_its_error(registry: Any) -> None:
    registry(GOOD, BROKEN)
    done = call("toy-good", "-o", "size=4", "--format", "csv")
    assert done.exit_code == 0
    assert "size,3,4,differs,drawn" in done.stdout
    row = json.loads(call("toy-good", "--json").stdout)
    assert (row["findings"][0]["ours"], row["command"]) == ("3", "cotenant reproduce toy-good")
    done = call("toy-broken")
    assert (done.exit_code, done.stdout) == (codes.NO_ANSWER, "")
    approved(done.stderr)


def test_stored_rows_are_reused_failed_ones_run_again_and_finished_ones_kept_on_ctrl_c(
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
    registry(OTHER, INTERRUPTED, GOOD)
    done = call("all", "--out", tmp_path / "interrupted.jsonl")
    assert done.exit_code == codes.INTERRUPTED
    approved(done.stderr)
    assert [row["experiment"] for row in read_rows(tmp_path / "interrupted.jsonl")] == ["toy-other"]


@pytest.mark.slow
def test_reproduce_writes_figures_and_tables_in_every_format(registry: Any, tmp_path: Path) -> None:
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
def test_unwritable_output_is_refused_before_experiments_run(
    option: str, registry: Any, tmp_path: Path
) -> None:
    registry(GOOD, OTHER)
    (tmp_path / "file").write_text("")
    more = ["--out", str(tmp_path / "rows.jsonl")] if option == "--page" else []
    with refused(InvalidFile):
        CliRunner().invoke(
            app,
            ["reproduce", "all", option, str(tmp_path / "file" / "within"), *more],
            catch_exceptions=False,
        )
    assert ran == []


def test_reproduction_page_shows_latest_row_of_each_experiment(
    registry: Any, tmp_path: Path
) -> None:
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
    assert "| size | 3 | 3 | reproduced (1) |\n\n||note|\n|---|---|\n|1|drawn|\n" in text
    assert "| claim | always | never | differs (1) |\n\n||note|\n" in text
    approved(text.partition("## What the text")[0])
    seconds = sum(row["seconds"] for row in latest(read_rows(out)))
    assert f"| all | 4 | 1 | 1 | 0 | 1 | {seconds:.1f} |" in page.read_text()
    for place, _ in NOT_DETERMINED:
        assert (place in text) == place.startswith("Cooper")


def test_experiment_reads_data_folder_or_is_skipped_with_reason(
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


def test_data_without_files_and_rows_of_a_comparison_are_refused(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "nowhere"):
        with refused(InvalidFile):
            tasks([READER], data=folder)
    out = tmp_path / "runs.jsonl"
    out.write_text('{"problem": "numa", "method": "IB", "key": "x"}\n')
    with refused(InvalidFile):
        next(run_tasks([Task(GOOD)], out=out))


def test_experiment_names_are_unique_and_options_of_variations_exist() -> None:
    assert len({one.name for one in EXPERIMENTS}) == len(EXPERIMENTS)
    for one in EXPERIMENTS:
        assert (one.place == "") == (one.paper.name == "beyond")
        assert not any(os.path.isabs(file) for _, file in one.data)
        runs = [changes for ways in one.variations.values() for changes in ways.values()]
        options = [name for changes in runs for name in changes]
        assert all(accepts(one.function, name) for name in (*options, *dict(one.data)))


ROWS = latest(read_rows(STORED))
AGAIN = {row["experiment"]: row for row in ROWS if row["seconds"] < 1 and not row["data"]}
"""Stored rows of the experiments that are run again with the stored options."""

AGENTS = {"agents": 120, "draws": 2}
SIMULATED = {"tasks": 40_000, "tolerance": 0.02}
SMALL: dict[str, dict[str, Any]] = {
    "colocation-figure-7": AGENTS,
    "colocation-figure-8": AGENTS,
    "colocation-figure-9": AGENTS,
    "colocation-figure-10": AGENTS,
    "colocation-figure-11": AGENTS,
    "colocation-figure-12": AGENTS | {"repeats": 3},
    "colocation-figure-13": {"agents": 100, "draws": 6, "proved": 2},
    "market-section-3.3.2": {"largest": 5},
    "market-figure-3.11": {"largest": 20, "draws": 1},
    "market-figure-3.12": {"users": 40, "groups": 4},
    "market-figure-3.13": {"largest": 20, "draws": 1},
    "numa-figure-4.7": SIMULATED,
    "numa-figure-4.8": SIMULATED | {"benchmarks": "S6,M10"},
    "numa-figure-4.9": {"tasks": 20_000, "benchmarks": "S6,M10"},
    "numa-figure-4.13": {"tasks": 20_000},
    "numa-figure-4.14": {"tasks": 20_000},
    "numa-queues": {"tasks": 20_000},
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
LONG = {"colocation-figure-7", "numa-figure-4.7", "numa-figure-4.8"}


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "experiment",
    [
        pytest.param(one, id=one.name, marks=[pytest.mark.slow] * (one.name in LONG))
        for one in EXPERIMENTS
        if (not one.data or one.substitute) and one.name not in AGAIN
    ],
)
def test_small_experiment_yields_findings_and_described_pictures(experiment: Experiment) -> None:
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


def test_stored_pages_equal_pages_of_stored_rows() -> None:
    pages = reproduction_pages(ROWS)
    assert pages.pop("") == PAGE.read_text()
    there = {f"reproduction/{path.name}" for path in (PAGE.parent / "reproduction").iterdir()}
    assert there == set(pages)
    assert {name: (PAGE.parent / name).read_text() for name in pages} == pages
    assert all(any(place in text for text in pages.values()) for place, _ in NOT_DETERMINED)


def test_stored_rows_cover_all_experiments_with_unique_picture_names() -> None:
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
@pytest.mark.parametrize("row", AGAIN.values(), ids=lambda row: row["experiment"])
def test_quick_experiments_equal_stored_findings(row: dict[str, Any]) -> None:
    again = experiment_named(row["experiment"]).run(seed=row["seed"], **row["options"])
    again = explained(again)
    assert again.findings == tuple(findings(row))
    assert [picture.name for picture in again.pictures] == row["pictures"]
    assert all(picture.alt and picture.title and picture.command for picture in again.pictures)


def test_stored_findings_that_differ_state_a_cause() -> None:
    differs = [one for row in ROWS for one in findings(row) if one.verdict == "differs"]
    assert [one.what for one in differs if not one.cause] == []


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
    "hangs on the draw": "the draw, since the paper's result comes out with seed 2, not with seed 1",
    "hangs on the order": "the order, since the paper's result comes out with order=other",
    "about 4": "the size: the paper's value lies within ours, 3 to 6 of 9",
    "hangs on nothing": "the difference remains after changing the draw (0.51 to 0.52 and 1), the size (0.50 and 2)",
    "moves by nothing": "the difference remains after changing the draw, the order and the size (unchanged)",
    "known": "counted twice",
    "no claim": "",
}


def test_causes_of_differences_from_paper_are_found_by_rerunning_all_variations(
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


def test_variations_of_experiment_keep_options_given_by_user(registry: Any) -> None:
    registry(LEANING)
    done = call("toy-leaning", "--seed", "1", "-o", "order=mine", "--json")
    told = json.loads(done.stdout)["findings"]
    assert ran == ["leaning 1 mine 1", "leaning 2 mine 1", "leaning 1 mine 2"]
    cause = {one["what"]: one["cause"] for one in told}
    approved(cause["hangs on the draw"])
    approved(cause["hangs on the order"])


def test_experiment_row_names_file_that_a_variation_read_from_data_folder(
    registry: Any, tmp_path: Path
) -> None:
    registry(make("reader", variations={"the file": {"theirs": {"log": Path("traces/log.txt")}}}))
    (tmp_path / "traces").mkdir()
    (tmp_path / "traces" / "log.txt").write_text("five")
    row = json.loads(call("toy-reader", "--data", tmp_path, "--json").stdout)
    approved(row["findings"][0]["cause"])
    assert row["data"]["traces/log.txt"]["file"] == "traces/log.txt"
    approved(row["command"])


@pytest.mark.parametrize(
    ("paper", "ours", "verdict", "expected"),
    [
        ("yes", "0.0", "undecided", "the draw: undecided with seed 1, not with seed 2"),
        ("as much as 41 %", "45 %", "differs", "the draw: the paper's value lies within ours, 40 to 45 %"),
        ("50", "45 %", "differs", "the difference remains after changing the draw (40 to 45 %)"),
        ("same when known and at 41 %", "45 %", "differs", "the difference remains after changing the draw (40 to 45 %)"),
        ("41 to 42", "45 %", "differs", "the difference remains after changing the draw (40 to 45 %)"),
    ],
)  # fmt: skip
def test_cause_of_difference_names_the_variation_that_removes_it(
    paper: str, ours: str, verdict: Any, expected: str
) -> None:
    base, changed = Finding("x", paper, "40 %", "differs"), Finding("x", paper, ours, verdict)
    assert cause(base, {"the draw": {"seed 1": changed, "seed 2": base}}) == expected
    assert cause(base, {}) == ""


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
def test_findings_of_several_runs_are_merged_into_ranges(texts: list[str], merged: str) -> None:
    assert span(texts) == merged
