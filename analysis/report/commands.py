"""Shell commands that repeat a run, a comparison or a page."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...instances.problem.emitted import operand, quoted
from ..run.own_functions import UNKNOWN as CODE_UNKNOWN
from ..run.rows import Row

UNKNOWN = "FILE"
"""Stands for an instance's file when nobody said where it was read from."""


def run_command(row: Row) -> str:
    """Command that repeats one row; "" for a function that no command can name.

    An instance whose file is unknown is called FILE. A run on predicted penalties and a frontier
    are cells of `compare`.
    """
    if not named(row):
        return ""
    if row.get("kind", "run") == "frontier":
        return _join(
            ["compare", _file(row), "--frontier"],
            limit=row.get("time_limit"),
            options=row.get("options"),
        )
    if row.get("predict") is not None:
        words = ["compare", _file(row), "-m", named(row), *_seeds([row])]
        settings = {"predict": row["predict"]}
        return _join(words, row.get("time_limit"), row.get("options"), settings)
    words = ["solve", _file(row), "-m", named(row)]
    words += ["--seed", str(row["seed"])] if row.get("seed") else []
    return _join(words, row.get("time_limit"), row.get("options"))


def compare_commands(rows: Iterable[Row]) -> list[str]:
    """Commands that repeat rows: one for each problem, time limit, set of options and share.

    Functions that no command can name are left out.
    """
    groups: dict[str, list[Row]] = {}
    for row in rows:
        if named(row):
            mark = json.dumps(
                [row["problem"], row.get("time_limit"), row.get("predict")], default=str
            )
            groups.setdefault(mark, []).append(row)
    return [_compare_command(group) for group in groups.values()]


def report_command(rows: Iterable[Row]) -> str:
    """Commands that repeat rows and their page; "" where no command can name any method."""
    commands = compare_commands(rows)
    if not commands:
        return ""
    runs = [f"{each} --out RUNS.jsonl" for each in commands]
    return " && ".join([*runs, "cotenant report RUNS.jsonl --out REPORT.html"])


def named(row: Row) -> str:
    """Name of a row's method in commands, "module:function" for the user's own; "" where it is in
    no file. Tables may add what distinguishes runs of one method.
    """
    try:
        key = json.loads(row["key"])
        where = key[5] if isinstance(key, list) else None
    except (ValueError, LookupError, TypeError):
        where = None
    if not where or not isinstance(where, str):
        return str(row.get("named", row["method"]))
    function, _, code = where.partition(" ")
    module, dot, name = function.rpartition(".")
    unnamed = not dot or "<" in function or module == "__main__" or code.startswith(CODE_UNKNOWN)
    return "" if unnamed else f"{module}:{name}"


def _compare_command(rows: Sequence[Row]) -> str:
    runs = [row for row in rows if row.get("kind", "run") == "run"]
    words = ["compare", *_files(rows)]
    for method in dict.fromkeys(map(named, runs)):
        words += ["-m", method]
    words += ["--frontier"] if len(runs) < len(rows) else []
    options: dict[str, Any] = {}
    settings: dict[str, Any] = {}
    for row in rows:
        options |= row.get("options") or {}
    for measure in dict.fromkeys(name for row in runs for name in row.get("measures", ())):
        kind, _, function = measure.partition(" ")
        settings.setdefault(f"{kind}s", []).append(function)
    if rows[0].get("predict") is not None:
        settings["predict"] = rows[0]["predict"]
    return _join([*words, *_seeds(runs)], rows[0].get("time_limit"), options, settings)


def _seeds(runs: Iterable[Row]) -> list[str]:
    most = max((row.get("seed", 0) for row in runs), default=0) + 1
    return ["--seeds", str(most)] if most > 1 else []


def _files(rows: Sequence[Row]) -> list[str]:
    """Files of rows as words of a command, or their folder if it has these files and no others."""
    names = list(dict.fromkeys(map(_file, rows)))
    folder = os.path.dirname(names[0])
    if len(names) < 2 or not os.path.isdir(folder):
        return names
    there = {name for name in os.listdir(folder) if name.endswith((".json", ".json.gz"))}
    return [folder] if set(names) == {os.path.join(folder, name) for name in there} else names


def _file(row: Row) -> str:
    return operand(str(row.get("file") or UNKNOWN))


def _join(
    words: Sequence[str],
    limit: float | None = None,
    options: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
) -> str:
    """Command quoted for a shell, preceded by one that writes its settings file."""
    every = ["cotenant", *words]
    every += ["--time-limit", f"{limit:.15g}"] if limit is not None else []
    for name, value in (options or {}).items():
        every += ["-o", f"{name}={_text(value)}"]
    every += ["--settings", "settings.toml"] if settings else []
    command = " ".join(word if word == UNKNOWN else quoted(word) for word in every)
    # a number, a text and a list of texts are written in JSON as in TOML
    lines = [quoted(f"{name} = {json.dumps(value)}") for name, value in (settings or {}).items()]
    return f"printf '%s\\n' {' '.join(lines)} > settings.toml && {command}" if lines else command


def _text(value: Any) -> str:
    """Value of an option in the form that `-o` reads."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return ",".join(map(_text, value))
    return "none" if value is None else str(value)
