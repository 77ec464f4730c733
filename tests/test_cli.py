"""The command line: exit codes, clean streams, one-line errors, whole files, completion."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.messages import approved
from support.terminal import run, settings_file

import cotenant
from cotenant.analysis.run.result import Result
from cotenant.cli import commands
from cotenant.cli.help import EXAMPLES, SECTIONS
from cotenant.instances.colocation import Colocation


def test_json_output_is_one_document_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    done = run("solve", "colocation/tiny", "-m", "stable", "--json", "--out", str(path))
    assert json.loads(done.stdout) == json.loads(path.read_text())
    result = Result.read(path)
    cotenant.check(cotenant.read("colocation/tiny"), result.solution)
    assert (result.objective, result.bound, result.status.value) == (0.0, 0.0, "optimal")


def test_check_accepts_written_result_and_names_changed_parts(tmp_path: Path) -> None:
    path, words = tmp_path / "result.json", ("check", "colocation/tiny")
    assert run("solve", words[1], "-m", "stable", "--out", str(path)).returncode == 0
    good = run(*words, str(path))
    assert good.returncode == 0
    approved(good.stdout)
    told = json.loads(run(*words, str(path), "--json").stdout)
    assert (told["ok"], told["broken"], told["bound"]) == (True, [], "proved")
    assert "seed" in told["not_looked_at"]
    right = path.read_text()
    for keys, value in (
        (("solution", "pairs", 0), 2),
        (("result", "metrics", "penalty"), 0.01),
        (("certificate",), {}),
        (("cotenant",), 2),
    ):
        holder = document = json.loads(right)
        for key in keys[:-1]:
            holder = holder[key]
        assert holder[keys[-1]] != value
        holder[keys[-1]] = value
        path.write_text(json.dumps(document))
        done = run(*words, str(path))
        assert done.returncode == (2 if keys == ("cotenant",) else 1)
        approved(done.stdout or done.stderr)


@pytest.mark.slow
def test_bound_stronger_than_proof_is_reported_with_both(tmp_path: Path) -> None:
    given, path = ("scheduling/figure-2", "-m", "max-utility"), str(tmp_path / "result.json")
    assert run("solve", *given, "--out", path).returncode == 0
    words = "bound 312 claimed, 313 proved"
    done = run("check", given[0], path)
    assert (done.returncode, f"claimed, not proved: {words}" in done.stdout) == (3, True)
    told = json.loads(run("check", given[0], path, "--json").stdout)
    assert told["claimed"] == [words]
    done = run("prove", *given, "--from", path, "--out", str(tmp_path / "proof.json"))
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
def test_generated_instance_is_shown_solved_and_checked(
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


LONG = "x" * 300
BAD = {
    "an unknown method": "solve colocation/tiny -m stabel",
    "an unknown option": "solve colocation/tiny -m stable -o alfa=1",
    "an option without value": "solve colocation/tiny -m stable -o alpha",
    "a time limit of zero": "solve colocation/tiny -m stable --time-limit 0",
    "a missing file": "solve none.json -m stable",
    "an unknown bundled instance": "show colocation/tinny",
    "an unknown problem": "methods colocatoin",
    "an unknown method, listed": "methods stabel",
    "an unknown generator": "generate colocation --kind x --out x.json",
    "an unknown format": "convert x.csv --from penalties-csv --out x.json",
    "a format that needs an option": "convert x.csv --from alibaba-openb --out x.json",
    "a device for a file": "show /dev/zero",
    "a device for a proof": "verify colocation/tiny /dev/zero",
    "an output with too long a name": f"solve colocation/tiny -m GR --out {LONG}",
    "rows with too long a name": f"report {LONG} --out x.html",
    "a problem of very many letters": f"methods {'x' * 100000}",
    "an unknown data set": "fetch fairco2",
    "an unknown experiment": "reproduce colocation-figure-6",
    "a folder for rows": "report docs --out x.html",
    "a result that is none": "check colocation/tiny pyproject.toml",
    "an option nobody takes": "compare colocation/tiny -m GR -o engine=highs",
    "an option nobody has": "compare colocation/tiny -m GR -o nonsense=1",
}
"""What is wrong -> the command; what it says is approved."""


@pytest.mark.parametrize("command", BAD.values(), ids=BAD)
def test_invalid_input_is_one_message_with_cause_and_cure(command: str) -> None:
    done = run(*command.split())
    assert (done.returncode, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) <= 2
    assert len(done.stderr) < 2000
    approved(done.stderr)


@pytest.mark.parametrize("settings", [{"shard": "1/2"}, {"hard_limit": 0}, {"predict": 2}])
def test_invalid_settings_of_compare_are_refused(settings: dict[str, Any], tmp_path: Path) -> None:
    done = run("compare", "colocation/tiny", "-m", "GR", *settings_file(tmp_path, **settings))
    assert (done.returncode, done.stdout) == (2, "")
    approved(done.stderr.replace(str(tmp_path), ""))


def test_solve_of_infeasible_instance_exits_with_one(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    penalty = [[np.inf] * 3 + [0], [np.inf] * 3 + [0], [np.inf] * 3 + [0], [0, 0, 0, np.inf]]
    cotenant.write(Colocation(penalty=penalty, count=[1] * 4), path)  # type: ignore[arg-type]
    for method in ("optimal", "stable", "fair", "GR", "SR"):
        done = run("solve", str(path), "-m", method)
        assert done.returncode == (2 if method == "fair" else 1), (method, done.stderr)


def test_convert_reads_a_table_and_schema_describes_it(tmp_path: Path) -> None:
    matrix, out = tmp_path / "m.csv", tmp_path / "m.json"
    matrix.write_text("job,a,b\na,0.1,0.2\nb,forbidden,0.3\n")
    words = ("--from", "penalty-csv", "-o", "copies=2", "--out", str(out))
    assert run("convert", str(matrix), *words).returncode == 0
    assert json.loads(out.read_text())["penalty"][1] == [None, 0.3]
    approved(json.loads(run("schema", "colocation").stdout)["title"])
    assert "colocation/tiny" in run("show").stdout


def test_methods_lists_one_problem_one_method_or_all() -> None:
    assert "SMR" in run("methods", "colocation").stdout
    assert len(run("methods", COLUMNS="100").stdout.splitlines()) <= 40
    one = run("methods", "stable").stdout  # of any problem; its options with what they mean
    approved(one[: one.index("uncertainty")])
    assert one.count("routes of stable, in order, for ") == 2
    approved(one[one.index("a proof as a file") :])
    both = json.loads(run("methods", "optimal", "--json").stdout)
    problems = [entry["problem"] for entry in both]
    assert problems == ["colocation", "admission", "groups", "elastic"]
    (stable,) = json.loads(run("methods", "colocation", "stable", "--json").stdout)
    mode = {option["name"]: option for option in stable["options"]}["alpha_mode"]
    assert (mode["default"], mode["choices"][0]) == ("penalty-points", "penalty-points")
    everything = {entry["name"] for entry in json.loads(run("methods", "--json").stdout)}
    assert everything >= {"optimal", "stable", "fair", "GR"}
    for form in ("csv", "latex", "markdown"):
        done = run("methods", "market", "--format", form)
        assert "no proof" not in done.stdout
        approved(done.stderr)


@pytest.mark.usefixtures("in_this_process")
def test_generate_with_seeds_makes_a_folder_for_compare(tmp_path: Path) -> None:
    folder, single = tmp_path / "drawn", tmp_path / "one.json"
    make = ("generate", "colocation", "-o", "agents=8")
    approved(run(*make, "--seed", "5", "--seeds", "3", "--out", str(folder)).stdout)
    assert len(list(folder.glob("*-seed-*.json"))) == 3
    run(*make, "--seed", "6", "--out", str(single))
    assert single.read_bytes() in {path.read_bytes() for path in folder.iterdir()}
    rows = json.loads(run("compare", str(folder), "-m", "GR", "--json").stdout)
    assert len({row["instance"] for row in rows}) == 3
    approved(run(*make, "--seeds", "3", "--out", str(single)).stderr)


@pytest.mark.usefixtures("in_this_process")
def test_compare_leaves_out_methods_that_do_not_apply(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    cotenant.write(cotenant.read("colocation/tiny").replace(bandwidth=None), path)
    done = run("compare", str(path), "--json")
    approved(done.stderr)
    rows = json.loads(done.stdout)
    assert not [row for row in rows if row.get("error")]
    assert "optimal" in {row["method"] for row in rows}
    endless = cotenant.read("packing/tiny").replace(servers=[np.inf] * 2, request=[np.inf] * 4)
    cotenant.write(endless, path)
    done = run("compare", str(path))
    assert done.returncode == 2
    approved(done.stderr)


@pytest.mark.usefixtures("in_this_process")
def test_compare_appends_rows_and_repeats_only_missing_ones(tmp_path: Path) -> None:
    out = tmp_path / "runs.jsonl"
    words = "compare colocation/tiny -m optimal -m stable -m SMR --seeds 3 --out"
    done = run(*words.split(), str(out))
    assert done.returncode == 0, done.stderr
    assert "0.0525" in done.stdout
    lines = out.read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    cells = [("optimal", 0), ("stable", 0), *(("SMR", n) for n in range(3))]
    assert [(row["method"], row["seed"]) for row in rows] == cells
    assert all(row["versions"]["cotenant"] for row in rows)
    out.write_text("\n".join(lines[:2]) + '\n{"problem": "colocation", "instance": "ti')
    assert run(*words.split(), str(out)).returncode == 0
    again = out.read_text().splitlines()
    assert (again[:2], len(again)) == (lines[:2], 5)


def test_compare_keeps_a_file_that_holds_no_rows(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    for text in ("some notes\n", "some notes", '{"cotenant": 1}', '{"problem": "colocation"}\n'):
        path.write_text(text)
        assert run("compare", "colocation/tiny", "-m", "GR", "--out", str(path)).returncode == 2
        assert path.read_text() == text


def test_output_equal_to_input_is_refused(tmp_path: Path) -> None:
    path = cotenant.write(cotenant.read("colocation/tiny"), tmp_path / "same.json")
    before = path.read_text()
    for command in ("solve", "compare"):
        done = run(command, str(path), "-m", "GR", "--out", str(path))
        assert done.returncode == 2
        approved(done.stderr)
    assert path.read_text() == before


def test_help_describes_every_command_in_a_sentence() -> None:
    for words in (["--help"], ["advise", "-h"], ["new", "--help"]):
        listed = run(*words, COLUMNS="80").stdout.partition("exit.\n\n")[2]
        lines = [line for line in listed.splitlines() if line.startswith("  ")]
        assert lines
        assert [line for line in lines if not line.endswith(".") or line.endswith("...")] == []


@pytest.mark.slow
def test_closed_output_pipe_is_not_an_error() -> None:
    piped = f"{{ {sys.executable} -m cotenant.cli methods --json; echo $? >&2; }} | head -n 1"
    done = subprocess.run(["sh", "-c", piped], capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr.splitlines()[-1]) == ("[", "0")


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


def test_log_file_holds_progress_and_full_disk_keeps_the_answer(tmp_path: Path) -> None:
    log, out, full = (tmp_path / name for name in ("progress.log", "result.json", "full"))
    assert run("solve", "colocation/no-stable-4", "-m", "stable", "--log", str(log)).returncode == 0
    assert "value 1" in log.read_text()
    full.symlink_to("/dev/full")
    done = run("solve", "colocation/tiny", "-m", "optimal", "--out", str(out), "--log", str(full))
    assert done.returncode == 2
    approved(done.stderr)
    assert Result.read(out).solution is not None


def test_analyze_matchings_lists_stable_pairings() -> None:
    listed = json.loads(run("analyze", "matchings", "colocation/tiny", "--json").stdout)
    (pairing,) = listed["pairings"]
    assert (listed["count"], listed["exact"]) == (1, True)
    assert pairing["partners"]["x264"] == "fluidanimate"
    other = run("analyze", "matchings", "market/tiny")
    assert other.returncode == 2
    approved(other.stderr)


def test_every_command_has_examples_and_at_most_twelve_options() -> None:
    root = commands.command_tree()
    assert sorted(root.commands) == sorted(" ".join(SECTIONS.values()).split())
    known: dict[str, Any] = {}
    for name, command in root.commands.items():
        inner = getattr(command, "commands", None)
        known |= {name: command} if inner is None else {f"{name} {k}": c for k, c in inner.items()}
    assert set(EXAMPLES) == set(known)
    assert len(known) > 30
    for name, command in known.items():
        assert sum(one.param_type_name == "option" for one in command.params) <= 12, name
        taken = {option for each in command.params for option in each.opts}
        for line in EXAMPLES[name].splitlines():
            assert line.startswith(name)
            assert {word for word in line.split() if word.startswith("-")} <= taken, line


def completed(*words: str) -> list[str]:
    """What comes next after these words, the last of them begun, as a shell is told it."""
    done = subprocess.run(
        [sys.executable, "-m", "cotenant"],
        env={**os.environ, "_COTENANT_COMPLETE": "complete_bash",
             "COMP_WORDS": " ".join(["cotenant", *words]), "COMP_CWORD": str(len(words))},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.stdout.split()


@pytest.mark.sampled(7)
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("so",), ["solve"]),
        (("solve", "colocation/ti"), ["colocation/tiny"]),
        (("solve", "market/tiny", "-m", "nash"), ["nash-welfare"]),
        (("solve", "colocation/tiny", "-m", "fis"), []),
        (("solve", "colocation/tiny", "-m", "fair", "-o", "eng"), ["engine="]),
        (("generate", "colocation", "--kind", "pop"), ["population"]),
        (("generate", "groups", "--kind", "table", "-o", "noi"), ["noise="]),
        (("convert", "x.csv", "--from", "penalty"), ["penalty-csv"]),
        (("solve", "x", "--from", "quanta-csv", "-o", "sha"), ["share="]),
        (("reproduce", "coop"), ["cooper"]),
        (("methods", "coloc"), ["colocation"]),
        (("solve", "colocation/tiny", "--time"), ["--time-limit"]),
    ],
)
def test_shell_completes_commands_options_and_names(
    words: tuple[str, ...], expected: list[str]
) -> None:
    assert completed(*words) == expected


def test_shell_completes_file_names_beside_bundled_instances(tmp_path: Path) -> None:
    (tmp_path / "mine.json").write_text("{}")
    (tmp_path / "more").mkdir()
    begun = str(tmp_path / "m")
    assert completed("compare", begun) == [f"{begun}ine.json", f"{begun}ore/"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_script_is_valid_in_every_shell(shell: str) -> None:
    done = run("completion", shell)
    assert done.returncode == 0
    assert "_COTENANT_COMPLETE=complete_" in done.stdout
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=done.stdout, text=True, check=True)
    other = run("completion", "tcsh")
    assert other.returncode == 2
    assert "tcsh" in other.stderr


def test_version_is_printed_by_command_and_module() -> None:
    assert run("--version").stdout == f"cotenant {version('cotenant')}\n"
    command = [sys.executable, "-m", "cotenant", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == f"cotenant {version('cotenant')}\n"
