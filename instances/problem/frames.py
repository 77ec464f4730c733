"""Instances from labeled pandas: values are put in the order of their labels, and a label that is
missing or unknown is told.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .errors import InvalidInstance

if TYPE_CHECKING:
    import pandas

MOST_TOLD = 5
"""Labels of a list that an error tells."""


def labels_of(index: Any, owner: str) -> list[Any]:
    """The labels of an index, each of them once."""
    found = list(index)
    if len(set(found)) < len(found):
        twice = next(label for label in found if found.count(label) > 1)
        raise InvalidInstance(owner, f"with the label {twice!r} twice", "every label once")
    return found


def aligned(values: Any, labels: Sequence[Any], owner: str, default: Any = None) -> list[Any]:
    """One value for each label: of a Series or a mapping by label, of a plain number for all.

    Raises
    ------
    InvalidInstance
        A label has no value, or a value has no such label.
    """
    if values is None:
        values = default
    if hasattr(values, "to_dict"):
        labels_of(values.index, owner)
        values = values.to_dict()
    if isinstance(values, Mapping):
        _same(list(values), labels, owner)
        return [values[label] for label in labels]
    if hasattr(values, "__len__") and not isinstance(values, str):
        if len(values) != len(labels):
            raise InvalidInstance(owner, f"of length {len(values)}", f"{len(labels)} values")
        return list(values)
    return [values] * len(labels)


def table(frame: pandas.DataFrame, rows: Sequence[Any], columns: Sequence[Any], owner: str) -> Any:
    """The values of a frame with its rows and columns in the order of the labels given."""
    require_frame(frame, owner)
    _same(labels_of(frame.index, f"{owner}.index"), rows, f"{owner}.index")
    _same(labels_of(frame.columns, f"{owner}.columns"), columns, f"{owner}.columns")
    return frame.loc[list(rows), list(columns)].to_numpy(dtype=float)


def columns_of(frame: pandas.DataFrame, names: Sequence[str], owner: str) -> list[Any]:
    """The columns of these names, each as a list."""
    require_frame(frame, owner)
    if missing := [name for name in names if name not in frame.columns]:
        raise InvalidInstance(
            owner, f"without the column {missing[0]!r}", f"columns {', '.join(names)}"
        )
    return [frame[name].tolist() for name in names]


def require_frame(frame: Any, owner: str) -> None:
    """Refuse what is no pandas.DataFrame."""
    if not hasattr(frame, "columns") or not hasattr(frame, "index"):
        raise InvalidInstance(owner, f"a {type(frame).__name__}", "a pandas.DataFrame")


def places(values: Sequence[Any], labels: Sequence[Any], owner: str) -> list[int]:
    """The place of each value among the labels."""
    place = {label: number for number, label in enumerate(labels)}
    if unknown := [value for value in values if value not in place]:
        raise InvalidInstance(owner, f"{unknown[0]!r}", f"one of {_told(labels)}")
    return [place[value] for value in values]


def names(labels: Sequence[Any]) -> tuple[str, ...]:
    """Labels as the names of an instance."""
    return tuple(map(str, labels))


def _same(found: Sequence[Any], labels: Sequence[Any], owner: str) -> None:
    known, wanted = set(found), set(labels)
    if missing := [label for label in labels if label not in known]:
        expected = f"a value for each of {_told(labels)}"
        raise InvalidInstance(owner, f"without {missing[0]!r}", expected)
    if unknown := [label for label in found if label not in wanted]:
        raise InvalidInstance(owner, f"with {unknown[0]!r}", f"only {_told(labels)}")


def _told(labels: Sequence[Any]) -> str:
    first = ", ".join(repr(label) for label in labels[:MOST_TOLD])
    return first if len(labels) <= MOST_TOLD else f"{first}, ..."
