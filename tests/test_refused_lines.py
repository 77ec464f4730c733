"""Command lines that are refused: what is said, and what is not loaded for it."""

from __future__ import annotations

import gzip
import os
import re
import subprocess
import sys
import zlib
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest
from support.terminal import run

from cotenant.cli.commands import command_tree

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


def test_method_of_another_problem_is_refused_by_problem() -> None:
    done = run("solve", "colocation/tiny", "-m", "fisher")
    assert done.returncode == 2
    said = "error: 'fisher' is a method of market, this is colocation; methods of colocation: opti"
    assert done.stderr.startswith(said)


@pytest.mark.parametrize("words", [("solve", "-m", "optimal"), ("compare",)], ids=_ids)
def test_error_for_method_option_without_dash_o_names_cure(words: tuple[str, ...]) -> None:
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


def _loaded_by(*line: str) -> tuple[int, str]:
    """The exit code of a command line, and the heavy libraries that it loaded."""
    done = subprocess.run(
        [sys.executable, "-c", _LOADED, *line],
        capture_output=True, text=True, check=False, env=dict(os.environ),
    )  # fmt: skip
    return done.returncode, done.stdout.splitlines()[-1]


@pytest.mark.slow
@pytest.mark.parametrize(("path", "place"), [each for each in _TRIED if not each.values[1]])
def test_wrong_first_file_is_refused_before_a_solver_is_loaded(
    path: tuple[str, ...], place: int, tmp_path: Path
) -> None:
    (wrong := tmp_path / "picture.json").write_bytes(b"\x89PNG")
    assert _loaded_by(*_line(path, wrong, place)) == (2, "[]")
