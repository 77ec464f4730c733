"""The records of a comparison's rows, gathered by method, and what several seeds of one method say together."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .runs import Row

Record = Mapping[str, Any]


def records_by_method(rows: Iterable[Row], needs: str) -> dict[str, list[Record]]:
    """Each method's records, one per seed, in the order of the rows; rows without one (failed, no answer) are left out.

    A method that was run on predicted values, or with several sets of options, counts as several; its name says so.

    Parameters
    ----------
    needs : a key that a record must hold; one that failed or is of an older version does not.
    """
    listed = [row for row in rows if _has_record(row, needs)]
    sets: dict[str, set[str]] = {}
    for row in listed:
        sets.setdefault(row["method"], set()).add(_options(row))
    found: dict[str, list[Record]] = {}
    for row in listed:
        name = row["method"]
        if len(sets[name]) > 1 and row.get("options"):
            name += f" ({', '.join(f'{key}={value}' for key, value in row['options'].items())})"
        if row.get("predict") is not None:
            name += f" on {100 * row['predict']:g} % sampled"
        found.setdefault(name, []).append(row["record"])
    return found


def over_seeds(values: Sequence[Sequence[float]]) -> tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...]]:
    """Mean, least and most of equally long lists, place by place; the last two empty when there is one list."""
    columns = list(zip(*values, strict=True))
    mean = tuple(sum(column) / len(column) for column in columns)
    if len(values) == 1:
        return mean, (), ()
    return mean, tuple(map(min, columns)), tuple(map(max, columns))


def extremes(values: Mapping[str, float], form: str = "g") -> str:
    """Who has the least and who has the most, in words, for a picture's alternative text."""
    least, most = min(values, key=values.__getitem__), max(values, key=values.__getitem__)
    if values[least] == values[most]:
        return f"all the same, {values[least]:{form}}" if len(values) > 1 else f"{least} has {values[least]:{form}}"
    return f"least {least} with {values[least]:{form}}, most {most} with {values[most]:{form}}"


def rounded(values: Iterable[float], digits: int = 4) -> list[float]:
    """Floats to so many significant digits, for a record that stays small."""
    return [float(f"{value:.{digits}g}") for value in values]


def _has_record(row: Row, needs: str) -> bool:
    record = row.get("record")
    if row.get("error") or row.get("kind", "run") != "run" or not isinstance(record, Mapping):
        return False
    return needs in record


def _options(row: Row) -> str:
    return json.dumps(row.get("options") or {}, sort_keys=True, default=str)
