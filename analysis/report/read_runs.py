"""Rows of several files read as one comparison, and shell commands that repeat them.

The last row of a key counts, and different methods or instances of one name are renamed.
"""

from __future__ import annotations

import json
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

from ...instances.problem.emitted import operand, quoted
from ...instances.problem.errors import InvalidFile, InvalidOption
from ..run.documents import require_good
from ..run.gaps import reading
from ..run.own_functions import UNKNOWN as CODE_UNKNOWN
from ..run.rows import Row, read_rows


def gather(paths: Sequence[str | os.PathLike[str]]) -> list[Row]:
    """Rows of JSONL files that `cotenant compare --out` wrote; of rows with one key the last is
    taken, also where code of the user or its metrics differ.

    Raises
    ------
    InvalidFile
        A file cannot be read or is no file of rows, they hold no row, or every run failed.
    """
    if not paths:
        raise InvalidOption(
            "no file of rows was given; make one with cotenant compare ... --out RUNS.jsonl"
        )
    rows: dict[str, Row] = {}
    for path in paths:
        read = read_rows(path)
        require_good(read, os.fspath(path))
        for row in read:
            key = row["key"].replace(f" {row['code']}", "") if row.get("code") else row["key"]
            key = key.replace(f", {json.dumps(' '.join(row.get('measures') or []))}]", "]")
            rows.pop(key, None)
            rows[key] = row
    names = ", ".join(os.fspath(path) for path in paths)
    require_answers(list(rows.values()), names)
    return list(rows.values())


def require_answers(rows: Sequence[Row], where: str) -> None:
    """Refuse rows without any answer."""
    if not rows:
        raise InvalidFile(f"{where}: no rows; make some with cotenant compare ... --out RUNS.jsonl")
    if not any(row["metrics"] or row.get("frontiers") for row in rows):
        why = next((row["error"] for row in rows if row.get("error")), "no method found an answer")
        raise InvalidFile(
            f"{where}: none of {len(rows)} runs gave an answer, there is nothing to show; the "
            f"first said: {why}"
        )


def distinguish(rows: Iterable[Row]) -> list[Row]:
    """Copies of the rows whose names of instances and methods state what tells runs apart. Facts
    are stated that differ between runs which must not be averaged or compared.

    An instance judged under several readings of its metrics (alpha 0 and 0.05) becomes several,
    such as "tiny (alpha=0.05)"; so do two instances of one name. A method run with several options,
    time limits, versions or code becomes several; its own name is kept as `named`, the instance's
    as `instance_named`.
    """
    listed: list[Row] = [
        {**row, "named": row["method"], "instance_named": row["instance"]} for row in rows
    ]
    for row in listed:
        # it runs without a metric's options that it does not take
        if row.get("kind", "run") == "frontier":
            continue
        row["reading"] = reading(row)
    _name(listed, "instance", lambda row: (row["problem"], row["instance"]), _instance_facts)
    _name(
        listed,
        "method",
        lambda row: (row["problem"], row["instance"], row["method"]),
        _method_facts,
    )
    return listed


Facts = dict[str, Any]


def _instance_facts(row: Row) -> Facts:
    return {"fingerprint": row["fingerprint"], **row.get("reading", {})}


def _method_facts(row: Row) -> Facts:
    own = {
        name: value
        for name, value in (row.get("options") or {}).items()
        if name not in row.get("reading", {})
    }
    limit = row.get("time_limit")
    version = (row.get("versions") or {}).get("cotenant")
    return {"limit": limit, **own, "version": version, "code": row.get("code")}


def _name(
    rows: Sequence[Row],
    part: Literal["instance", "method"],
    group: Callable[[Row], tuple[Any, ...]],
    facts: Callable[[Row], Facts],
) -> None:
    """Append to names of instances or methods the facts in which rows of a group differ."""
    groups: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in rows:
        if row.get("kind", "run") == "run":
            groups[group(row)].append(row)
    for members in groups.values():
        known = [facts(row) for row in members]
        names = dict.fromkeys(name for each in known for name in each)
        differing = [name for name in names if len({repr(each.get(name)) for each in known}) > 1]
        for row, each in zip(members, known, strict=True):
            if differing:
                row[part] = (
                    f"{row[part]} ({', '.join(_fact(name, each.get(name)) for name in differing)})"
                )


def _fact(name: str, value: Any) -> str:
    if name == "fingerprint":
        return str(value)
    if name == "limit":
        return "no limit" if value is None else f"{value:g} s"
    return f"{name}={value}" if value is not None else f"no {name}"


def format_counts(values: Iterable[str]) -> str:
    """Values with their frequencies, such as "optimal 3, feasible 2"."""
    return ", ".join(f"{name} {count}" for name, count in Counter(values).most_common())


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
    """Shell commands that run the comparisons of rows again and make their page; "" where no
    command can name any method.
    """
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
    """Paths of instance files for a command that repeats rows. A folder that holds exactly these
    files takes their place.
    """
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
