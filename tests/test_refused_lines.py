"""Command lines that are refused: what is said, and what is not loaded for it."""

from __future__ import annotations

import gzip
import os
import re
import subprocess
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from support.terminal import run

from cotenant.cli.commands import app

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


COMMANDS = dict(_commands(typer.main.get_command(app)))
"""Every command, by its words."""


def _ids(path: tuple[str, ...]) -> str:
    return " ".join(path)


@pytest.mark.parametrize("path", COMMANDS, ids=_ids)
def test_an_option_without_its_value_is_named_with_what_it_takes(path: tuple[str, ...]) -> None:
    options = [
        name
        for each in COMMANDS[path].params
        if each.opts[0].startswith("-") and not each.is_flag
        for name in each.opts
    ]
    for name in options:
        done = run(*path, name)
        assert done.returncode == 2, (name, done.stdout)
        assert done.stderr.startswith(f"Error: {name} has no value;"), done.stderr
        assert len(done.stderr.splitlines()) == 1


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


_NEEDED: dict[tuple[str, ...], tuple[str, ...]] = {
    ("solve",): ("-m", "optimal"),
    ("prove",): ("-m", "optimal", "--out", "{out}"),
    ("convert",): ("--from", "csv", "--out", "{out}"),
}
"""What a command needs beside its file."""

_READERS = [
    ("solve",), ("compare",), ("report",), ("check",), ("manipulate",), ("matchings",), ("show",),
    ("convert",), ("audit",), ("core",), ("prove",), ("verify",), ("advise", "nodes"),
    ("advise", "drain"), ("advise", "safe"), ("advise", "fit"), ("advise", "fairness"),
    ("advise", "gpus"), ("advise", "pairs"), ("bounds", "check"),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("path", _READERS, ids=_ids)
def test_a_wrong_file_is_refused_in_words_of_ours(path: tuple[str, ...], tmp_path: Path) -> None:
    assert path in COMMANDS
    for wrong in _wrong_files(tmp_path):
        needed = [each.format(out=tmp_path / "out") for each in _NEEDED.get(path, ())]
        done = run(*path, str(wrong), *needed)
        assert done.returncode, (wrong.name, done.stdout)
        assert not (found := _FOREIGN.search(done.stderr)), (wrong.name, found, done.stderr)


def test_a_method_of_another_problem_is_named_as_such() -> None:
    done = run("solve", "colocation/tiny", "-m", "fisher")
    assert done.returncode == 2
    said = "error: 'fisher' is a method of market, this is colocation; methods of colocation: opti"
    assert done.stderr.startswith(said)


@pytest.mark.parametrize("words", [("solve", "-m", "optimal"), ("compare",)], ids=_ids)
def test_an_option_of_a_method_without_o_is_told_how_to_write(words: tuple[str, ...]) -> None:
    done = run(words[0], "colocation/tiny", *words[1:], "machines=3")
    assert done.returncode == 2
    assert done.stderr.endswith("an option of a method is written -o machines=3\n")


_LOADED = """
import atexit, sys
heavy = {"highspy", "ortools", "cvxpy", "pandas", "numba", "scipy"}
atexit.register(lambda: print(sorted(heavy & set(sys.modules))))
from cotenant.cli.commands import run
sys.exit(run())
"""


@pytest.mark.parametrize(
    "line",
    [
        "solve colocation/tiny -m fisher",
        pytest.param("solve colocation/absent -m optimal", marks=pytest.mark.slow),
        pytest.param("compare colocation/tiny -m fisher", marks=pytest.mark.slow),
        pytest.param("generate market --kind nothing --out x.json", marks=pytest.mark.slow),
        pytest.param("prove colocation/tiny -m fisher --out x", marks=pytest.mark.slow),
    ],
)
def test_a_refusal_loads_no_solver(line: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _LOADED, *line.split()],
        capture_output=True, text=True, check=False, env=dict(os.environ),
    )  # fmt: skip
    assert (done.returncode, done.stdout.splitlines()[-1:]) == (2, ["[]"]), done.stderr
