"""Helpers for the tables passed to questions: numbers by label, and columns common to two
tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..instances.problem.errors import InvalidInstance
from ..instances.problem.frames import first_labels
from .answer import given

if TYPE_CHECKING:
    import pandas


def numbers(values: Any, column: str, owner: str) -> pandas.Series[Any]:
    """Read one number for each label from a Series, a dict, a flat list or array, or from a column
    of a table.
    """
    import pandas

    rows = values.values() if isinstance(values, Mapping) else values
    flat = isinstance(values, Mapping | Sequence) and not any(isinstance(r, Mapping) for r in rows)
    if flat or getattr(values, "ndim", 0) == 1:
        return pandas.Series(values)
    return required(given(values, owner).frame, column, owner)


def required(frame: pandas.DataFrame, name: str, owner: str) -> pandas.Series[Any]:
    """Return a column of a table; raises InvalidInstance if it is missing."""
    if name not in frame.columns:
        expected = f"one beside {first_labels(list(frame.columns))}"
        raise InvalidInstance(owner, f"without the column {name!r}", expected)
    return frame[name]


def optional(frame: pandas.DataFrame, name: str, default: Any = None) -> Any:
    """Return a column of a table as a list, or the default if it is missing."""
    return frame[name].tolist() if name in frame.columns else default


def shared(
    first: pandas.DataFrame, second: pandas.DataFrame, owners: tuple[str, str],
    apart: Sequence[str], chosen: Sequence[Any] | None, option: str,
) -> list[Any]:  # fmt: skip
    """Numeric columns that two tables have in common; raises InvalidInstance if either has others.

    Parameters
    ----------
    owners : what messages call the tables.
    apart : columns that mean something else.
    chosen, option : the columns that were chosen by that option; None for all.
    """
    if chosen is not None:
        for frame, owner in zip((first, second), owners, strict=True):
            for name in chosen:
                required(frame, name, owner)
        return list(chosen)
    of_each = [
        [name for name in frame.select_dtypes("number").columns if name not in apart]
        for frame in (first, second)
    ]
    both = [name for name in of_each[1] if name in of_each[0]]
    for lacking, names in zip(owners, reversed(of_each), strict=True):
        other = owners[1 - owners.index(lacking)]
        if unknown := [name for name in names if name not in both]:
            cure = f"Rename it, or name those that count: {option}={both}"
            expected = f"the columns of numbers that {other} has"
            raise InvalidInstance(lacking, f"without numbers {unknown[0]!r}", expected, cure)
    return both
