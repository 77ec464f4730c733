"""The command line, as a person or a script meets it: exit codes, clean streams, one-line errors,
whole files.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from support.messages import approved
from support.terminal import run, settings_file

import cotenant
import cotenant.cli
from cotenant.analysis.run.result import Result
from cotenant.cli.commands import app
from cotenant.instances.packing import Packing


def test_solve_prints_status_objective_bound_and_metrics() -> None:
    done = run("solve", "colocation/tiny", "-m", "optimal")
    assert done.returncode == 0, done.stderr
    for words in ("optimal: proved", "mean penalty 0.0425", "gap 0 %", "blocking pairs"):
        assert words in done.stdout


def test_json_output_is_one_document_and_nothing_else(tmp_path: Path) -> None:
    done = run(
        "solve", "colocation/tiny", "-m", "stable", "--json", "--out", str(tmp_path / "result.json")
    )
    document = json.loads(done.stdout)
    assert document == json.loads((tmp_path / "result.json").read_text())
    result = Result.from_document(document)
    cotenant.check(cotenant.read("colocation/tiny"), result.solution)
    assert (result.objective, result.bound, result.status.value) == (0.0, 0.0, "optimal")


def test_check_accepts_what_solve_wrote_and_names_what_was_tampered_with(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    assert run("solve", "colocation/tiny", "-m", "optimal", "--out", str(path)).returncode == 0
    good = run("check", "colocation/tiny", str(path))
    assert good.returncode == 0
    approved(good.stdout)
    told = json.loads(run("check", "colocation/tiny", str(path), "--json").stdout)
    assert (told["ok"], told["broken"], told["bound"]) == (True, [], "proved")
    assert "seed" in told["not_looked_at"]
    document = json.loads(path.read_text())
    document["solution"]["pairs"][0] += 1
    path.write_text(json.dumps(document))
    done = run("check", "colocation/tiny", str(path))
    assert done.returncode == 1
    approved(done.stdout)
    document["solution"]["pairs"][0] -= 1
    document["result"]["metrics"]["penalty"] = 0.01
    path.write_text(json.dumps(document))
    done = run("check", "colocation/tiny", str(path))
    assert "penalty is 0.0425" in done.stdout
    assert done.returncode == 1


@pytest.mark.slow
def test_bound_stronger_than_proof_is_reported_with_both(
    tmp_path: Path,
) -> None:
    given, path = ("scheduling/figure-2", "-m", "max-utility"), tmp_path / "result.json"
    assert run("solve", *given, "--out", str(path)).returncode == 0
    words = "bound 312 claimed, 313 proved"
    done = run("check", given[0], str(path))
    assert (done.returncode, f"claimed, not proved: {words}" in done.stdout) == (3, True)
    told = json.loads(run("check", given[0], str(path), "--json").stdout)
    assert told["claimed"] == [words]
    done = run("prove", *given, "--from", str(path), "--out", str(tmp_path / "proof.json"))
    assert (done.returncode, f"NOT PROVED: {words}" in done.stdout) == (3, True)
    done = run("compare", *given, "--prove", str(tmp_path / "proofs"), COLUMNS="200")
    assert words in done.stdout


METRICS = ("result", "metrics")
FILES = [
    ("colocation -o agents=8", "GR", "mean penalty", (*METRICS, "penalty")),
    ("colocation --kind preferences -o agents=10", "SMR", "blocking", (*METRICS, "penalty")),
    ("admission -o comparison=III", "DA1 -o serving=ranking", "speed", (*METRICS, "assigned")),
    ("packing", "first-fit", "utilization", (*METRICS, "servers")),
    ("market -o users=8 -o servers=6 -o jobs=3", "fisher", "an equilibrium within 1e-08",
     ("solution", "price", 0)),
    ("scheduling -o jobs=40 -o machines=6", "FAIRSHARE", "unfairness", (*METRICS, "unfairness")),
    ("groups -o jobs=12", "hierarchical", "mean penalty", (*METRICS, "penalty")),
    ("numa -o benchmark=S6,M10 -o refusal-limit=none", "Local -o tasks=2000", "p95 [s]",
     (*METRICS, "p95")),
]  # fmt: skip


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("instance", "method", "words", "place"), FILES, ids=[row[0] for row in FILES]
)
def test_an_instance_is_generated_shown_solved_and_its_answer_checked(
    instance: str, method: str, words: str, place: tuple[Any, ...], tmp_path: Path
) -> None:
    given, again, answer = (str(tmp_path / name) for name in ("a.json", "b.json", "answer.json"))
    for path in (given, again):
        made = run("generate", *instance.split(), "--seed", "7", "--out", path)
        assert made.returncode == 0, made.stderr
    assert Path(again).read_bytes() == Path(given).read_bytes()
    shown = run("show", given).stdout
    assert all(name in shown for name in cotenant.read(given).summary())
    solved = run("solve", given, "-m", *method.split(), "--out", answer)
    assert solved.returncode == 0, solved.stderr
    assert words in solved.stdout
    assert run("check", given, answer).returncode == 0
    changed = document = json.loads(Path(answer).read_text())
    for step in place[:-1]:
        changed = changed[step]
    changed[place[-1]] = 1.5 * changed[place[-1]] + 1
    Path(answer).write_text(json.dumps(document))
    broken = run("check", given, answer)
    assert (broken.returncode, "broken: " in broken.stdout) == (1, True)


def test_a_result_of_another_version_is_refused_and_half_a_certificate_is_broken(
    tmp_path: Path,
) -> None:
    path = tmp_path / "result.json"
    whole = cotenant.solve(cotenant.read("colocation/tiny"), "stable").document()
    for change, code, words in (
        ({"cotenant": 2}, 2, "cotenant is 2"),
        ({"certificate": {}}, 1, "alpha is missing"),
    ):
        path.write_text(json.dumps({**whole, **change}))
        done = run("check", "colocation/tiny", str(path))
        assert done.returncode == code
        assert words in (done.stdout if code == 1 else done.stderr)
        assert "Traceback" not in done.stderr


LONG = "x" * 300
BAD = {
    "an unknown method": "solve colocation/tiny -m stabel",
    "an unknown option": "solve colocation/tiny -m stable -o alfa=1",
    "an option without value": "solve colocation/tiny -m stable -o alpha",
    "an option of the wrong type": "solve colocation/tiny -m stable -o alpha=x",
    "alpha below zero": "solve colocation/tiny -m stable -o alpha=-1",
    "alpha NaN": "solve colocation/tiny -m GR -o alpha=nan",
    "a time limit of zero": "solve colocation/tiny -m stable --time-limit 0",
    "a time limit below zero": "compare colocation/tiny --time-limit -3",
    "a missing file": "solve none.json -m stable",
    "an unknown bundled instance": "show colocation/tinny",
    "an unwritable output": "solve colocation/tiny -m GR --out /nowhere/x.json",
    "an unknown problem": "methods colocatoin",
    "an unknown method, listed": "methods stabel",
    "an unknown generator": "generate colocation --kind x --out x.json",
    "an unknown format": "convert x.csv --from penalties-csv --out x.json",
    "a format that needs an option": "convert x.csv --from alibaba-openb --out x.json",
    "a device for a file": "show /dev/zero",
    "a device for rows": "report /dev/zero --out x.html",
    "a device for a result": "check colocation/tiny /dev/zero",
    "a device for a log": "advise fairness /dev/zero",
    "a device for a table": "convert /dev/zero --from swf --out x.json",
    "a device for a store": "profiles /dev/zero",
    "a device for a proof": "verify colocation/tiny /dev/zero",
    "a device for an instance that is proved": "verify /dev/zero /dev/zero",
    "an output with too long a name": f"solve colocation/tiny -m GR --out {LONG}",
    "a file with too long a name": f"show {LONG}",
    "a result with too long a name": f"check colocation/tiny {LONG}",
    "rows with too long a name": f"report {LONG} --out x.html",
    "a folder with too long a name": f"reproduce all --data {LONG}",
    "a problem of very many letters": f"methods {'x' * 100000}",
    "an unknown data set": "fetch fairco2",
    "an unknown experiment": "reproduce colocation-figure-6",
    "an output of no experiment": "reproduce --page x.md",
    "a name like no experiment's": "reproduce xyz",
    "a name like no bundled instance's": "show zzz",
    "rows that do not exist": "report none.jsonl --out x.html",
    "a folder for rows": "report docs --out x.html",
    "a result that is none": "check colocation/tiny pyproject.toml",
    "an option nobody takes": "compare colocation/tiny -m GR -o engine=highs",
    "an option nobody has": "compare colocation/tiny -m GR -o nonsense=1",
}
"""What is wrong -> the command; what it says is approved."""


@pytest.mark.parametrize("command", BAD.values(), ids=BAD)
def test_bad_input_is_one_line_with_cause_and_cure(command: str) -> None:
    done = run(*command.split())
    assert (done.returncode, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) <= 2
    assert len(done.stderr) < 2000
    approved(done.stderr)


@pytest.mark.parametrize("settings", [{"shard": "1/2"}, {"hard_limit": 0}, {"predict": 2}])
def test_settings_of_a_comparison_are_refused(settings: dict[str, Any], tmp_path: Path) -> None:
    done = run("compare", "colocation/tiny", "-m", "GR", *settings_file(tmp_path, **settings))
    assert (done.returncode, done.stdout) == (2, "")
    approved(done.stderr.replace(str(tmp_path), ""))


def test_every_command_has_at_most_twelve_options() -> None:
    def commands(command: Any) -> Iterator[Any]:
        for inner in getattr(command, "commands", {"": None}).values():
            yield from [command] if inner is None else commands(inner)

    numbers = {
        each.name: sum(one.param_type_name == "option" for one in each.params)
        for each in commands(typer.main.get_command(app))
    }
    assert len(numbers) > 30
    assert {name: number for name, number in numbers.items() if number > 12} == {}


def test_an_instance_without_any_pairing_exits_with_one(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    penalty = [[None, None, None, 0], [None, None, None, 0], [None, None, None, 0], [0, 0, 0, None]]
    path.write_text(
        json.dumps(
            {"cotenant": 1, "problem": "colocation", "penalty": penalty, "count": [1, 1, 1, 1]}
        )
    )
    for method in ("optimal", "stable", "fair", "GR", "SR"):
        done = run("solve", str(path), "-m", method)
        assert done.returncode == (2 if method == "fair" else 1), (method, done.stderr)
        assert "Traceback" not in done.stderr


def test_generate_convert_show_and_schema_work_on_files(tmp_path: Path) -> None:
    made = tmp_path / "population.json.gz"
    words = "generate colocation -o agents=50 -o mix=beta-high --seed 3 --out"
    done = run(*words.split(), str(made))
    assert done.returncode == 0, done.stderr
    assert "agents: 50" in done.stdout
    assert "synthetic" in run("show", str(made)).stdout
    matrix = tmp_path / "m.csv"
    matrix.write_text("job,a,b\na,0.1,0.2\nb,forbidden,0.3\n")
    words = "--from penalty-csv -o copies=2 --out"
    done = run("convert", str(matrix), *words.split(), str(tmp_path / "m.json"))
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "m.json").read_text())["penalty"][1] == [None, 0.3]
    approved(json.loads(run("schema", "colocation").stdout)["title"])
    assert "colocation/tiny" in run("show").stdout
    assert "SMR" in run("methods", "colocation").stdout
    page = run("methods", COLUMNS="100").stdout
    assert len(page.splitlines()) <= 40
    assert "SMR" in page
    approved(run("methods", "zzz").stderr)
    one = run("methods", "stable").stdout  # of any problem; its options with what they mean
    approved(one)
    assert "SMR" not in one
    both = json.loads(run("methods", "optimal", "--json").stdout)
    assert [entry["problem"] for entry in both] == [
        "colocation", "admission", "groups", "elastic",
    ]  # fmt: skip
    (stable,) = json.loads(run("methods", "colocation", "stable", "--json").stdout)
    mode = {option["name"]: option for option in stable["options"]}["alpha_mode"]
    assert (mode["default"], mode["choices"][0]) == ("penalty-points", "penalty-points")
    assert {entry["name"] for entry in json.loads(run("methods", "--json").stdout)} >= {
        "optimal",
        "stable",
        "fair",
        "GR",
    }


@pytest.mark.usefixtures("in_this_process")
def test_many_seeds_make_a_folder_that_compare_takes(tmp_path: Path) -> None:
    folder = tmp_path / "drawn"
    make = ("generate", "colocation", "-o", "agents=8", "--seed", "5", "--seeds", "3", "--out")
    done = run(*make, str(folder))
    approved(done.stdout)
    assert len(list(folder.glob("*-seed-*.json"))) == 3
    single = tmp_path / "one.json"
    run("generate", "colocation", "-o", "agents=8", "--seed", "6", "--out", str(single))
    assert single.read_bytes() in {path.read_bytes() for path in folder.iterdir()}
    rows = json.loads(run("compare", str(folder), "-m", "GR", "--json").stdout)
    assert len({row["instance"] for row in rows}) == 3
    approved(run(*make, str(single)).stderr)


@pytest.mark.usefixtures("in_this_process")
def test_methods_that_need_what_an_instance_lacks_are_left_out_and_named(tmp_path: Path) -> None:
    instance = cotenant.read("colocation/tiny").replace(bandwidth=None)
    cotenant.write(instance, tmp_path / "x.json")
    done = run("compare", str(tmp_path / "x.json"), "--json")
    approved(done.stderr)
    rows = json.loads(done.stdout)
    assert not [row for row in rows if row.get("error")]
    assert "optimal" in {row["method"] for row in rows}
    owned = Packing(capacity=[[8], [4]], demand=[[2], [1]], request=[3, 4], servers=[2, 1])
    rows = cotenant.compare([owned], time_limit=600).rows
    assert [row["error"] for row in rows if row.get("error")] == [], "as hosts.csv counts them"
    assert {"FFD", "random-fit"} <= {row["method"] for row in rows}
    open_end = cotenant.read("packing/tiny")
    open_end = open_end.replace(
        servers=[float("inf")] * open_end.classes, request=[float("inf")] * open_end.types
    )
    cotenant.write(open_end, tmp_path / "x.json")
    done = run("compare", str(tmp_path / "x.json"))
    assert done.returncode == 2
    approved(done.stderr)


def test_methods_csv_contains_only_the_table() -> None:
    shown = run("methods", "market")
    assert "fisher for:" in shown.stdout
    for form in ("csv", "latex", "markdown"):
        done = run("methods", "market", "--format", form)
        assert "no proof" not in done.stdout
        approved(done.stderr)


def test_compare_prints_gaps_and_appends_whole_rows_that_are_not_run_again(tmp_path: Path) -> None:
    out = tmp_path / "runs.jsonl"
    words = "compare colocation/tiny -m optimal -m stable -m SMR --seeds 3 --out"
    arguments = [*words.split(), str(out)]
    done = run(*arguments)
    assert done.returncode == 0, done.stderr
    assert "0.0525" in done.stdout
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    once = [("optimal", 0), ("stable", 0)]
    assert [(row["method"], row["seed"]) for row in rows] == [
        *once,
        *(("SMR", n) for n in range(3)),
    ]
    assert all(row["versions"]["cotenant"] for row in rows)
    out.write_text(
        "\n".join(out.read_text().splitlines()[:2]) + '\n{"problem": "colocation", "instance": "ti'
    )
    assert run(*arguments).returncode == 0
    again = [json.loads(line) for line in out.read_text().splitlines()]
    assert again[:2] == rows[:2]
    assert len(again) == 5


def test_compare_never_touches_a_file_that_is_not_its_own(tmp_path: Path) -> None:
    for text in ("some notes\n", "some notes", '{"cotenant": 1}', '{"problem": "colocation"}\n'):
        path = tmp_path / "notes.txt"
        path.write_text(text)
        done = run("compare", "colocation/tiny", "-m", "GR", "--out", str(path))
        assert done.returncode == 2
        assert path.read_text() == text


def test_an_output_that_is_the_input_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "same.json"
    cotenant.write(cotenant.read("colocation/tiny"), path)
    before = path.read_text()
    for command in (["solve", str(path), "-m", "GR"], ["compare", str(path), "-m", "GR"]):
        done = run(*command, "--out", str(path))
        assert done.returncode == 2
        approved(done.stderr)
    assert path.read_text() == before


def test_help_names_every_command_and_what_it_does_in_a_whole_sentence() -> None:
    done = run("--help", COLUMNS="80")
    names = "solve compare check methods show generate convert fetch schema reproduce warm".split()
    assert all(name in done.stdout for name in names)
    for words in (["--help"], ["advise", "-h"], ["new", "--help"]):
        listed = run(*words, COLUMNS="80").stdout.partition("exit.\n\n")[2]
        lines = [line for line in listed.splitlines() if line.startswith("  ")]
        assert [line for line in lines if not line.endswith(".") or line.endswith("...")] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "first"), [("methods --json", "["), ("solve colocation/tiny -m GR", "")]
)
def test_closed_output_pipe_is_not_an_error(command: str, first: str) -> None:
    process = subprocess.run(
        f"{{ {sys.executable} -m cotenant.cli {command}; echo code $? >&2; }} | head -n 1",
        shell=True,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in process.stderr
    assert "code 0" in process.stderr
    assert process.stdout.strip().endswith(first)


SHOWN, SOLVED = "show colocation/tiny --json", "solve colocation/tiny -m GR"


@pytest.mark.sampled(10)
@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="there is no /dev/full")
@pytest.mark.parametrize(
    ("streams", "good", "bad", "code", "words"),
    [
        (">/dev/full", SHOWN, "show none.json", 2, "written: No space left on device"),
        (">&-", SHOWN, "solve", 2, "written: Bad file descriptor"),
        pytest.param("2>/dev/full", SOLVED, "solve", 0, "", marks=pytest.mark.slow),
        ("2>&-", SOLVED, "show none.json", 0, ""),
        ("<&- >&- 2>&-", SHOWN, "show none.json", 2, ""),
    ],
)
def test_closed_or_full_streams_give_message_and_exit_code(
    streams: str, good: str, bad: str, code: int, words: str
) -> None:
    script = f"""
{sys.executable} -m cotenant.cli {good} {streams}; echo $? >&3
{sys.executable} -m cotenant.cli {bad} {streams}; echo $? >&3
"""
    done = subprocess.run(
        ["sh", "-c", f"exec 3>&1\n{script}"], capture_output=True, text=True, check=False
    )
    codes = [line for line in done.stdout.splitlines() if line in ("0", "1", "2", "120")]
    assert codes == [str(code), "2"], done.stderr
    assert not words or f"standard output cannot be {words}" in done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


def test_full_disk_of_log_keeps_the_answer(tmp_path: Path) -> None:
    out, full = tmp_path / "result.json", tmp_path / "full"
    full.symlink_to("/dev/full")
    done = run("solve", "colocation/tiny", "-m", "optimal", "--out", str(out), "--log", str(full))
    assert done.returncode == 2
    approved(done.stderr)
    assert Result.read(out).solution is not None


def test_a_log_file_holds_progress_lines(tmp_path: Path) -> None:
    log = tmp_path / "progress.log"
    assert run("solve", "colocation/no-stable-4", "-m", "stable", "--log", str(log)).returncode == 0
    assert "value 1" in log.read_text()


def test_matchings_lists_the_stable_pairings_of_an_instance_and_refuses_other_problems() -> None:
    listed = json.loads(run("analyze", "matchings", "colocation/tiny", "--json").stdout)
    (pairing,) = listed["pairings"]
    assert (listed["count"], listed["exact"]) == (1, True)
    assert pairing["partners"]["x264"] == "fluidanimate"
    refused = run("analyze", "matchings", "market/tiny")
    assert (refused.returncode, "expected one of colocation" in refused.stderr) == (2, True)


@pytest.mark.slow
def test_compare_says_which_methods_are_left_out_unless_they_are_chosen() -> None:
    assert "left out: fewest-moves" in run("compare", "packing/tiny", "--time-limit", "0.1").stderr
    assert "left out" not in run("compare", "packing/tiny", "-m", "FFD").stderr


def test_every_command_has_examples_whose_options_it_takes() -> None:
    from cotenant.cli import commands
    from cotenant.cli.help import EXAMPLES, SECTIONS

    root = commands.command_tree()
    assert sorted(root.commands) == sorted(" ".join(SECTIONS.values()).split())
    known: dict[str, Any] = {}
    for name, command in root.commands.items():
        inner = getattr(command, "commands", None)
        known |= {name: command} if inner is None else {f"{name} {k}": c for k, c in inner.items()}
    assert set(EXAMPLES) == set(known)
    for name, command in known.items():
        for line in EXAMPLES[name].splitlines():
            words = line.removeprefix(name).split()
            taken = {option for each in command.params for option in each.opts}
            assert {word for word in words if word.startswith("-")} <= taken, line
            assert line.startswith(name)
