"""Mistakes in commands, calls and public functions: each is refused with field, value seen and cure;
and public types as mypy sees them.
"""

from __future__ import annotations

import gzip
import inspect

# mypy: disable-error-code="call-arg"
import io
import json
import os
import pickle
import random
import re
import subprocess
import sys
import typing
import zlib
from collections.abc import Callable, Iterator
from contextlib import chdir
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, assert_type

import numpy as np
import pandas
import pytest
from support.messages import approved, refused
from support.public_names import public
from support.terminal import run
from typer.testing import CliRunner

import cotenant
from cotenant.analysis.run.result import Result
from cotenant.catalog import methods
from cotenant.cli.commands import app, command_tree
from cotenant.cluster.state import reading
from cotenant.instances.admission import Admission, Assignment
from cotenant.instances.colocation import Colocation, Pairing
from cotenant.instances.colocation.formats import penalty_csv
from cotenant.instances.market import Allocation, Market
from cotenant.instances.numa import Flow, Simulation
from cotenant.instances.packing import Packing
from cotenant.instances.problem import (
    PROBLEM_NAMES,
    CotenantError,
    Instance,
    InvalidFile,
    InvalidInstance,
    InvalidOption,
    Solution,
)
from cotenant.instances.problem.option_types import OptionType, option_types_of
from cotenant.instances.problem.reading import LIMIT_VARIABLE
from cotenant.solvers.roommates import irving, ranks_from_lists

OWN = "def boom(instance):\n    raise ValueError('oops')\n"
VMS = "name,cpu,mem\nv1,1,2\nv2,1,2\n"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that the mistakes are made with."""
    folder = tmp_path_factory.mktemp("mistakes")
    shop = json.loads((Path(reading.__file__).parent / "data" / "shop.json").read_text())
    tiny = cotenant.read("colocation/tiny")
    cotenant.write(tiny, folder / "inst.json")
    cotenant.solve(tiny, "GR").write(folder / "result.json")
    cotenant.compare([tiny], ["GR", "CO"], out=folder / "rows.jsonl", progress=False)
    (folder / "row.jsonl").write_text((folder / "rows.jsonl").read_text().partition("\n")[0] + "\n")
    texts = {
        "shop.json": json.dumps(shop),
        "lines.json": "\n".join(json.dumps(item) for item in shop["items"]),
        "pen.csv": ",a,b\na,0.1,0.2\nb,0.3,0.1\n",
        "percent.csv": ",a,b\na,12.5,20\nb,3,1\n",
        "one-percent.csv": ",a,b\na,5%,0.2\nb,0.3,0.1\n",
        "missing.csv": ",a,b\na,0.1,nan\nb,0.3,0.1\n",
        "labels.csv": ",a,b\na,0.1,0.2\nc,0.3,0.1\n",
        "open-tie.csv": "agent,list\nann,[bob,cat\n",
        "preferences.csv": "agent,first\nann,bob\nbob,ann\n",
        "ties.json": json.dumps({"ann": [["bob", ["cat"]]], "bob": ["ann"], "cat": ["ann"]}),
        "vms.csv": VMS,
        "milli.csv": VMS.replace("v1,1", "v1,500m"),
        "giga.csv": VMS.replace("v1,1,2", "v1,1,8G"),
        "no-count.csv": "name,cpu,mem,count\nh,4,16,\n",
        "price.csv": "name,cpu,mem,price\nh,4,16,0.384\n",
        "cost.csv": "name,cpu,mem,cost\nh,4,16,0.384\n",
        "once.csv": "name,cpu,mem\nh,1,2\n",
        "game.csv": "coalition,value\na,1\n",
        "own_mistake.py": OWN,
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    return folder


FROM_VMS = "--from vms-csv --out x.json -o"
TINY_NAME = "colocation/tiny"

MISTAKES: list[tuple[str, tuple[str, ...]]] = [
    ("convert pen.csv --out x.json", ("'--from'", "FORMAT", "penalty-csv", "temporal-bin-packing")),
    (f"solve {TINY_NAME}", ("'--method'", "optimal, stable, fair")),
    ("solve none.json", ("'--method'", "module:function")),
    (f"prove {TINY_NAME} --out p.json", ("'--method'", "one of optimal")),
    ("compare pen.csv", ("pen.csv is not JSON", "cotenant convert pen.csv --from", "penalty-csv")),
    ("compare game.csv", ("looks like a table", "`cotenant analyze core game.csv` divides")),
    ("solve preferences.csv -m SR", ("looks like a table", "cotenant convert preferences.csv")),
    ("convert open-tie.csv --from preferences --out x.json", ("line 2", "no closing bracket")),
    ("convert pen.csv --from gavel --out x.json", ("Gavel's throughputs", "penalty-csv")),
    ("check inst.json rows.jsonl", ("several JSON values", "a row of `cotenant compare --out`")),
    ("check inst.json row.jsonl", ("is not a result but a row of", "cotenant solve --out")),
    ("check inst.json inst.json", ("is not a result but an instance", "cotenant solve --out")),
    ("check result.json inst.json", ("is a result, not an instance", "instance file first")),
    ("solve row.jsonl -m GR", ("is not an instance but a row of", "cotenant report")),
    ("verify inst.json inst.json", ("is an instance; expected a proof", "cotenant prove")),
    ("verify inst.json result.json", ("is a result", "expected a proof", "cotenant prove")),
    ("verify result.json inst.json", ("result.json is a result", "expected an instance")),
    ("advise nodes lines.json", ("one after the other", "kubectl get ... -o json", "one List")),
    ("advise shop.json", ("No such command 'shop.json'", "nodes, drain")),
    ("advise drain shop.json", ("no node is named", "drain shop.json NODE")),
    ("advise drain shop.json n-1 shop.json", ("n-1 stands before a file", "drain shop.json")),
    ("advise drain n-1 shop.json", ("n-1 does not exist", "drain shop.json n-1")),
    ("advise drain n-1 n-2", ("n-1 does not exist", "files of a state and then nodes")),
    ("advise fairness log --bogus 3", ("No such option: --bogus", "--partition")),
    ("profiles --store lab.db", ("first argument", "cotenant profiles LAB.db")),
    ("measure jobs.toml", ("'--store'", "LAB.db", "Add every run to this file")),
    ("run queue jobs.toml", ("'--store'", "LAB.db")),
    ("report rows.jsonl", ("'--out'", "REPORT.html", "Write the page here")),
    ("generate colocation", ("'--out'", "FILE", ".json.gz")),
    ("convert ties.json --from preferences --out x.json", ("lists['ann'][0]", "['cat']", "a name")),
    ("convert percent.csv --from penalty-csv --out x.json", ("from 1 to 20", "percent by 100")),
    ("convert one-percent.csv --from penalty-csv --out x.json", ("'5%'", "unit: 0.05")),
    ("convert missing.csv --from penalty-csv --out x.json", ("'a'", "'b'", "missing")),
    ("convert labels.csv --from penalty-csv --out x.json", ("not square", "unmatched: b, c")),
    (f"convert vms.csv {FROM_VMS} hosts=no-count.csv", ("line 2", "'count' is ''", "inf for")),
    (f"convert vms.csv {FROM_VMS} hosts=price.csv", ("'price' is no resource", "name it cost")),
    (f"convert vms.csv {FROM_VMS} hosts=cost.csv", ("'0.384'", "whole column by 1000: 384")),
    (f"convert milli.csv {FROM_VMS} hosts=once.csv", ("'500m'", "without unit: 0.5")),
    (f"convert giga.csv {FROM_VMS} hosts=once.csv", ("'8G'", "without unit: 8", "one unit")),
    (f"solve {TINY_NAME} -m optimal --time-limit 5s", ("'5s'", "(seconds)", "without unit: 5")),
    (f"solve {TINY_NAME} -m optimal --time-limit=2min", ("'2min'", "(seconds)", "without unit: 120")),
    (f"solve {TINY_NAME} -m optimal --time-limit two", ("--time-limit is 'two'", "(seconds)")),
    (f"compare {TINY_NAME} -m GR --seeds two", ("--seeds is 'two'", "a whole number")),
    (f"solve {TINY_NAME} -m GR --format latex --width 8.5cm", ("centimeters", "without unit: 8.5")),
    ("measure jobs.toml --store lab.db --half-width 5%", ("'5%'", "a share", "unit: 0.05")),
    (f"solve {TINY_NAME} -m GR -o alpha=5%", ("alpha is '5%'", "without unit: 0.05")),
    (f"solve {TINY_NAME} -m GR,CO", ("'GR,CO'", "Repeat -m: -m GR -m CO")),
    (f"compare {TINY_NAME} -m GR,CO", ("'GR,CO'", "Repeat -m: -m GR -m CO")),
    (f"solve {TINY_NAME} -m own_mistake.py:boom", ("is a file", "write own_mistake:boom")),
    (f"compare {TINY_NAME} -m own_mistake.boom", ("module:function", "own_mistake:boom")),
    ("reproduce accelerators-policies", ("throughputs=PATH", "--data FOLDER", "--list")),
    (f"solve {TINY_NAME} -m fisher", ("error: 'fisher' is a method of market, this is colocation; methods of colocation: opti",)),
    (f"solve {TINY_NAME} -m optimal machines=3", ("an option of a method is written -o machines=3\n",)),
    (f"compare {TINY_NAME} machines=3", ("an option of a method is written -o machines=3\n",)),
]  # fmt: skip


@pytest.mark.parametrize(("command", "words"), MISTAKES, ids=[command for command, _ in MISTAKES])
def test_errors_of_wrong_input_name_value_seen_and_cure(
    command: str, words: tuple[str, ...], files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(files)
    done = run(*command.split(" "))
    assert done.returncode == 2
    assert [word for word in words if word not in done.stderr] == [], done.stderr
    assert "Traceback" not in done.stderr


def test_error_for_too_long_file_names_limit_and_variable(
    files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(files)
    done = run("advise", "nodes", "shop.json", **{LIMIT_VARIABLE: "10kB"})
    assert done.returncode == 2
    approved(done.stderr)
    size = max(1, -(-(files / "shop.json").stat().st_size // 10**6))
    assert f"{LIMIT_VARIABLE}={size}MB" in done.stderr


def test_error_for_too_few_hosts_explains_missing_count_column(
    files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(files)
    command = "convert vms.csv --from vms-csv -o hosts=once.csv --out few.json"
    approved(run(*command.split()).stderr)
    done = run("solve", "few.json", "-m", "min-servers")
    assert done.returncode == 1
    approved(done.stderr)


def test_convert_command_describes_the_converted_instance(
    files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(files)
    done = run("convert", "pen.csv", "--from", "penalty-csv", "--out", "pen.json")
    approved(done.stdout)
    (files / "chain.json").write_text(json.dumps({"a": ["b"], "b": ["a", "c"], "c": ["b"]}))
    done = run("convert", "chain.json", "--from", "preferences", "--out", "c.json")
    approved(done.stdout)


TINY = cotenant.read("colocation/tiny", cotenant.Colocation)
GREEDY = cotenant.solve(TINY, "GR")


def frame(text: str, **options: Any) -> pandas.DataFrame:
    return pandas.read_csv(io.StringIO(text), **options)


def pairs(text: str) -> Colocation:
    return Colocation.from_frame(frame(text, index_col=0))


HOST = frame("host,cpu\nh,8\n", index_col=0)

IN_PYTHON: list[Callable[[], object]] = [
    lambda: cotenant.solve(TINY, "stable", timelimit=3),
    lambda: cotenant.solve(TINY),
    lambda: cotenant.solve(7, "GR"),
    lambda: cotenant.solve(TINY, "stable", 3),
    lambda: cotenant.compare([TINY], ["GR"], seed=1),
    lambda: Colocation(penalty=[[0, 1], [1, 0]], counts=[1, 1]),
    lambda: Colocation.from_frame(frame("job,a,b\na,0,.1\nb,.2,0\n")),
    lambda: Packing.from_frame(frame("vm,cpu\nweb,2\n"), capacity=HOST),
    lambda: Packing.from_frame(frame("vm,cpu\nweb,500m\n", index_col=0), capacity=HOST),
    lambda: pairs("job,a,b\na,0,10 %\nb,.2,0\n"),
    lambda: pairs("job,a,b\na,0,25\nb,.2,0\n"),
    lambda: pairs("job,a,b\na,0,.1\n,.2,0\n"),
    lambda: pairs("job,a,bb\na,0,.1\nb,.2,0\n"),
    lambda: Colocation.from_frame(pandas.DataFrame([[0.0]], ["a"], ["a"]), count={"a": "two"}),
    lambda: Market.from_frame(frame("user,server,parallel_fraction,work\nann,s,90%,1\n"), capacity=pandas.Series({"s": 4})),
    lambda: Market.from_frame(frame("user,server,parallel_fraction,work\nann,s,.9,1\n"), capacity=4),
    lambda: Admission.from_frame(frame("job,fast\nj,2 GHz\n", index_col=0), cores=frame("vm,fast\nv,2\n", index_col=0), threads=1),
    lambda: cotenant.write(GREEDY, "f.json"),
    lambda: cotenant.check(TINY, GREEDY),
    lambda: cotenant.plot(GREEDY, TINY),
    lambda: cotenant.read("colocation/tiny", "colocation"),  # type: ignore[call-overload]
    lambda: cotenant.read("pen.csv"),
    lambda: cotenant.read("rows.jsonl"),
    lambda: cotenant.read("pods.json"),
    lambda: cotenant.read_all("colocation/tiny"),
    lambda: ranks_from_lists({"ann": [["bob", "cat"]], "bob": [], "cat": []}),
    lambda: ranks_from_lists([["bob"], ["ann"]]),
    lambda: ranks_from_lists({"ann": ["bob"]}),
    lambda: cotenant.solve(cotenant.read("colocation/error-100"), "stable", objective="agents", uncertainty="certain"),
    lambda: irving([[1], [1, 2]]),
]  # fmt: skip


@pytest.fixture
def first_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Files of other kinds than those that are asked for, in the current folder."""
    monkeypatch.chdir(tmp_path)
    Path("pen.csv").write_text("job,a,b\na,0,.1\nb,.2,0\n")
    row = json.dumps({"key": "k", "method": "GR", "metrics": {}}) + "\n"
    Path("rows.jsonl").write_text(row * 2)
    Path("pods.json").write_text('{"kind": "Pod", "apiVersion": "v1"}\n' * 2)
    return tmp_path


@pytest.mark.parametrize("call", IN_PYTHON, ids=range(len(IN_PYTHON)))
def test_errors_of_wrong_calls_name_argument_and_cure(
    call: Callable[[], object], first_files: Path
) -> None:
    with refused(CotenantError) as caught:
        call()
    assert len(str(caught.value)) < 400


def test_plot_is_saved_in_the_format_of_the_file_name(tmp_path: Path) -> None:
    shown = cotenant.plot(TINY, GREEDY)
    for name, start in (("x.png", b"\x89PNG"), ("x.pdf", b"%PDF"), ("x.svg", b"<?xml")):
        (file,) = shown.save(tmp_path / name)
        assert (file, file.read_bytes()[: len(start)]) == (tmp_path / name, start)
    assert [path.suffix for path in shown.save(tmp_path / "folder")] == [".pdf", ".png"]
    with refused(InvalidOption):
        shown.save(tmp_path / "x.jpg")
    assert not (tmp_path / "x.jpg").exists()


def test_colocation_from_frame_reads_slowdowns_and_refuses_missing_pairs() -> None:
    frame = pandas.DataFrame([[2.0, 1.25], [np.nan, 4.0]], index=["a", "b"], columns=["a", "b"])
    found = Colocation.from_frame(frame, count=2, slowdown=True, missing="forbid")
    assert found.penalty.tolist() == [[0.5, 0.2], [np.inf, 0.75]]
    negative = frame.replace(4.0, -4.0)
    for given, slowdown in ((frame, False), (frame, True), (negative, True)):
        with refused(InvalidInstance):
            Colocation.from_frame(given, count=2, slowdown=slowdown)


@pytest.mark.parametrize("slowdown", [1.1, 0.98])
def test_error_for_slowdowns_given_as_penalties_names_right_reader(
    slowdown: float, tmp_path: Path
) -> None:
    path = tmp_path / "s.csv"
    path.write_text(f"job,a,b\na,1.5,1.25\nb,{slowdown},1.5\n")
    arguments = ["convert", str(path), "--from", "penalty-csv", "--out", str(tmp_path / "x.json")]
    typed = str(CliRunner().invoke(app, arguments).exception)
    with refused(InvalidFile) as caught:
        penalty_csv(path)
    assert ("--from slowdown-csv" in typed, "slowdown_csv" in typed) == (True, False)
    assert ("slowdown_csv" in str(caught.value), "slowdown-csv" in str(caught.value)) == (
        True,
        False,
    )


_FOREIGN = re.compile(
    r"Traceback|click|pydantic|numpy|pandas|orjson|yaml\.|Warning|NoneType|codec|utf-8'|site-packages"
)
"""Words of libraries and of Python that no user should read."""


def _commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    inner = getattr(command, "commands", None)
    if not inner:
        yield path, command
    for name, each in (inner or {}).items():
        yield from _commands(each, (*path, name))


COMMANDS = dict(_commands(command_tree()))
"""Every command, by its words."""


def _ids(path: tuple[str, ...]) -> str:
    return " ".join(path)


@pytest.mark.parametrize("path", COMMANDS, ids=_ids)
def test_error_for_option_without_value_names_its_values(path: tuple[str, ...]) -> None:
    options = [
        name
        for each in COMMANDS[path].params
        if each.opts[0].startswith("-") and not each.is_flag
        for name in each.opts
    ]
    for name in options:
        done = run(*path, name)
        assert done.returncode == 2, (name, done.stdout)
        (line,) = (each for each in done.stderr.splitlines() if not each.startswith("loading"))
        assert line.startswith(f"Error: {name} has no value;"), line


def _wrong_files(folder: Path) -> list[Path]:
    """One of each kind: picture, folder, nothing, other JSON, YAML, CSV, binary, compressed."""
    picture = b"\x89PNG\r\n\x1a\n" + zlib.compress(bytes(range(256)))
    contents = {
        "picture.png": picture,
        "picture.json": picture,
        "empty.json": b"",
        "other.json": b'{"a": [1, {"b": null}]}',
        "list.json": b"[[1, 2], [3]]",
        "number.json": b"NaN",
        "page.yaml": b"a:\n  - b: c\n - d\n",
        "table.csv": b"x,y\n1,2\n3,\n",
        "binary.bin": bytes(range(256)) * 4,
        "whole.json.gz": gzip.compress(b'{"kind": "List"}'),
        "cut.json.gz": gzip.compress(b'{"kind": "List"}' * 50)[:30],
        "no.json.gz": b"not compressed",
    }
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    (folder / "folder").mkdir()
    return [*(folder / name for name in contents), folder / "folder"]


_GOOD = {
    "file": "colocation/tiny", "files": "colocation/tiny", "instance": "colocation/tiny",
    "method": "optimal", "states": "state/shop", "problem": "market", "form": "csv", "job": "1",
    "shell": "bash", "out": "{folder}/out",
}  # fmt: skip
"""What a command gets for what it needs beside the wrong file, by the parameter's name; a file that
is not there for any other.
"""

_MAKERS = {("new", "problem"), ("warm",)}
"""They write into the checkout, or compile for minutes; neither reads a file."""

_OF_OPTIONS = ("picture.json", "folder")
"""Wrong files that options are tried with: many of them name what is written."""


def _line(path: tuple[str, ...], wrong: Path, place: int) -> list[str]:
    """The command with a wrong file as its parameter at a place, and what else it needs."""
    line = [*path]
    for number, each in enumerate(COMMANDS[path].params):
        value = _GOOD.get(each.name, "{folder}/absent").format(folder=wrong.parent)
        if number == place or each.required:
            option = [each.opts[0]] if each.opts[0].startswith("-") else []
            line += [*option, str(wrong) if number == place else value]
    return [*line, "-m", "GR"] if path == ("compare",) else line  # one method is quick


_TRIED = [
    pytest.param(path, place, id=f"{_ids(path)} {each.opts[0]}")
    for path, command in COMMANDS.items()
    for place, each in enumerate(command.params)
    if path not in _MAKERS and not (each.opts[0].startswith("-") and each.is_flag)
]
"""Every argument and every option with a value, of every command."""


@pytest.mark.slow
@pytest.mark.parametrize(("path", "place"), _TRIED)
def test_wrong_file_in_any_argument_is_refused_with_message(
    path: tuple[str, ...], place: int, tmp_path: Path
) -> None:
    option = COMMANDS[path].params[place].opts[0].startswith("-")
    for wrong in _wrong_files(tmp_path):
        if option and wrong.name not in _OF_OPTIONS:
            continue
        with chdir(tmp_path):
            done = run(*_line(path, wrong, place))
        assert option or done.returncode, (wrong.name, done.stdout)
        assert not (found := _FOREIGN.search(done.stderr)), (wrong.name, found, done.stderr)


_LOADED = """
import atexit, sys
heavy = {"highspy", "ortools", "cvxpy", "pandas", "numba", "scipy"}
atexit.register(lambda: print(sorted(heavy & set(sys.modules))))
from cotenant.cli.commands import run
sys.exit(run())
"""


def _loaded_by(*line: str) -> tuple[int, str]:
    """The exit code of a command line, and the heavy libraries that it loaded."""
    done = subprocess.run(
        [sys.executable, "-c", _LOADED, *line],
        capture_output=True, text=True, check=False, env=dict(os.environ),
    )  # fmt: skip
    return done.returncode, done.stdout.splitlines()[-1]


@pytest.mark.slow
@pytest.mark.parametrize(("path", "place"), [each for each in _TRIED if not each.values[1]])
def test_command_refuses_unreadable_input_file_before_loading_a_solver(
    path: tuple[str, ...], place: int, tmp_path: Path
) -> None:
    (wrong := tmp_path / "picture.json").write_bytes(b"\x89PNG")
    assert _loaded_by(*_line(path, wrong, place)) == (2, "[]")


_STARTS_PROCESSES = {"jobs", "executor", "workers", "hard_limit"}


@cache
def wrong_values() -> dict[str, Any]:
    """Values of many kinds, by what they are."""
    jobs = cotenant.read("colocation/tiny")
    return {
        "None": None, "a text": "colocation/tiny", "bytes": b"x", "7": 7, "-1": -1, "half": 0.5,
        "NaN": np.nan, "inf": np.inf, "True": True, "an empty list": [], "[1]": [1],
        "texts": ["a", "b"], "ragged": [[1], [1, 2]], "nested": [[["a"]]], "a dict": {"a": 1},
        "an object": object(), "a matrix": np.zeros((2, 2)), "many": np.arange(1000.0),
        "text array": np.array(["x"]), "complex": np.array([1j]), "empty": np.zeros((0, 3)),
        "a path": Path("nowhere"), "a function": lambda *_, **__: None, "a class": dict,
        "colocation": jobs, "market": cotenant.read("market/tiny"),
        "a result": cotenant.solve(jobs, "GR"), "a pairing": cotenant.solve(jobs, "GR").solution,
        "a set": {1, 2}, "an iterator": iter([1, 2]),
        "letters": "\x00\n'", "a generator": np.random.default_rng(0),
    }  # fmt: skip


EXAMPLES = {name: cotenant.read(f"{name}/tiny") for name in PROBLEM_NAMES}


@cache
def answers() -> list[Solution]:
    """One of each kind of answer."""
    found = []
    for name, instance in EXAMPLES.items():
        quick = [
            entry for entry in methods(name) if entry.kind != "exact" and entry.applies_to(instance)
        ]
        solution = cotenant.solve(instance, quick[0].name).solution
        assert solution is not None
        found.append(solution)
    flow = cotenant.solve(EXAMPLES["numa"], "fluid").solution
    assert flow is not None
    return [*found, flow]


@cache
def by_name() -> dict[str, Any]:
    """Values that parameters of these names take."""
    return {
        "rank": [[2**30, 0], [0, 2**30]], "cost": [[0.0, 1.0], [1.0, 0.0]], "partner": [1, 0],
        "lists": [[1], [0]], "successor": [1, 0], "method": "GR", "methods": ["GR"],
        "instances": [EXAMPLES["colocation"]], "source": "colocation/tiny", "problem": "colocation",
        "name": "colocation", "old": 0.2, "new": 0.1, "time_limit": 1.0, "user": 0,
        "policy": "Local", "objective": "penalty", "progress": False,
        "result": wrong_values()["a result"], "answer": answers()[0], "path": "nowhere.csv",
        "folder": "nowhere", "seed": 0, "rng": np.random.default_rng(0),
    }  # fmt: skip


def right_value(name: str, rule: OptionType | None, default: Any) -> Any:
    """A value that a parameter takes, as far as its annotation and name tell."""
    kinds = [typing.get_origin(hint) or hint for hint, _ in (rule.branches if rule else ())]
    for value in (*EXAMPLES.values(), *answers()):
        if type(value) in kinds:
            return value
    if default is not inspect.Parameter.empty:
        return default
    return by_name().get(name, EXAMPLES["colocation"] if Instance in kinds else 1)


def calls(function: Callable[..., Any]) -> Iterator[tuple[str, tuple[Any, ...], dict[str, Any]]]:
    """Calls with one thing wrong in each, and what it is."""
    entries = inspect.signature(function).parameters.values()
    rules = {} if inspect.isclass(function) else option_types_of(function)
    named = [e for e in entries if e.kind in (e.POSITIONAL_OR_KEYWORD, e.KEYWORD_ONLY)]
    functions = {name for name, rule in rules.items() if "a function" in rule.values}
    right = {e.name: right_value(e.name, rules.get(e.name), e.default) for e in named}
    yield "no values", (), {}
    yield "a keyword that is none", (), {**right, "no_such_name": 1}
    yield "too many values", tuple([None] * 40), {}
    for entry in named:
        for what, value in wrong_values().items():
            called = callable(value) and entry.name in functions  # what it does is the caller's
            if entry.name not in _STARTS_PROCESSES and not called:
                yield f"{entry.name} is {what}", (), {**right, entry.name: value}


def faults(place: str, draw: random.Random, most: int) -> list[str]:
    """What came out of calls of a function that was no error of ours."""
    function = public()[place]
    found, all_calls = [], list(calls(function))
    for what, values, named in draw.sample(all_calls, min(most, len(all_calls))):
        try:
            made = function(*values, **named)
            if inspect.isgenerator(made):
                next(made, None)
        except CotenantError:
            continue
        except Exception as error:
            found.append(f"{place}: {what}: {type(error).__name__}: {str(error)[:120]}")
    return found


PARTS = 20


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("part", "most"),
    [(0, 1), *(pytest.param(part, 10**6, marks=pytest.mark.slow) for part in range(PARTS))],
)
def test_public_functions_raise_only_own_errors(
    part: int, most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One call of every function each time; every call among the slow tests, a twentieth in each."""
    monkeypatch.chdir(tmp_path)
    chosen = list(public()) if most == 1 else list(public())[part::PARTS]
    assert len(chosen) > 10
    assert [fault for place in chosen for fault in faults(place, random.Random(place), most)] == []


def test_read_with_class_has_type_of_that_class() -> None:
    by_class = assert_type(cotenant.read("colocation/tiny", Colocation), Colocation)
    assert by_class == assert_type(cotenant.read("colocation/tiny"), Instance)


def test_result_type_has_solution_type_of_its_instance(tmp_path: Path) -> None:
    jobs = cotenant.read("colocation/tiny", cotenant.Colocation)
    result = assert_type(cotenant.solve(jobs, "GR"), Result[Pairing])
    assert_type(result.solution, Pairing | None)
    assert result.solution is not None
    assert isinstance(result.solution, Pairing)
    cotenant.check(jobs, result.solution)
    again = Result.read(result.write(tmp_path / "r.json"))
    assert assert_type(again.solution, Solution | None) == result.solution
    assert pickle.loads(pickle.dumps(result)).solution == result.solution
    assert pickle.loads(pickle.dumps(jobs)) == jobs


if TYPE_CHECKING:
    assert_type(
        cotenant.solve(cotenant.read("x", cotenant.Admission), "SM").solution, Assignment | None
    )
    assert_type(
        cotenant.solve(cotenant.read("x", cotenant.Market), "PS").solution, Allocation | None
    )
    assert_type(
        cotenant.solve(cotenant.read("x", cotenant.Numa), "fluid").solution,
        Simulation | Flow | None,
    )
    assert_type(cotenant.read("x", Admission), Admission)
