"""Rows of several files read as one comparison: the last row of a key counts, and different methods
or instances of one name are renamed.
"""

from __future__ import annotations

import json
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

from ...instances.problem.errors import InvalidFile, InvalidOption
from ..run.documents import require_good
from ..run.gaps import reading
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
    """Rows whose method names state the facts in which runs differ that must not be averaged or
    compared; facts equal in all rows are not stated.

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
    """Add to a method's name the facts in which the rows of its group differ."""
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
