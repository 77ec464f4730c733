"""Instances from labeled pandas objects: values reordered by label, wrong labels named in
errors.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from .documents import shortened
from .errors import InvalidInstance, suggest
from .fields import field_types, repeated

if TYPE_CHECKING:
    import pandas

Record = TypeVar("Record")

MOST_LABELS = 5
"""Labels of a list that an error tells."""


def labels_of(index: Any, owner: str) -> list[Any]:
    """Labels of a pandas index; raises InvalidInstance for a label that occurs twice."""
    if not isinstance(index, Iterable):
        raise InvalidInstance(owner, shortened(index), "a Series or a dict, with a value by label")
    found = list(index)
    if unnamed := [place for place, label in enumerate(found) if label != label or label is None]:
        expected = "a name for every row" if owner.endswith("index") else "every one named"
        raise InvalidInstance(f"{owner}[{unnamed[0]}]", "empty", expected)
    if (twice := repeated(found)) is not None:
        raise InvalidInstance(owner, f"with the label {twice!r} twice", "every label once")
    return found


def aligned(values: Any, labels: Sequence[Any], owner: str) -> list[Any]:
    """Align values with labels, from a Series or mapping by label, or one number for all; raises
    InvalidInstance for a missing or an unknown label.
    """
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
    """Values of a pandas frame with rows and columns in the order of the given labels."""
    require_frame(frame, owner)
    first = frame.columns[0] if len(frame.columns) else None
    numbered = list(frame.index) == list(range(len(frame)))
    if numbered and len(frame) and all(isinstance(name, str) for name in frame.iloc[:, 0]):
        raise InvalidInstance(
            f"{owner}.index",
            f"0 to {len(frame) - 1}",
            f"the names, which stand in the column {first!r}",
            f"Read it with pandas.read_csv(..., index_col=0), or take {owner}.set_index({first!r})",
        )
    _same(labels_of(frame.index, f"{owner}.index"), rows, f"{owner}.index")
    _same(labels_of(frame.columns, f"{owner}.columns"), columns, f"{owner}.columns")
    return frame.loc[list(rows), list(columns)].to_numpy(dtype=object)


def axis_labels(kind: type, frames: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Labels of the axes of some fields, each from the first pandas frame that has the axis."""
    found: dict[str, list[Any]] = {}
    axes = {field.name: field.axes.names.split() for field in field_types(kind) if field.axes}
    for name, frame in frames.items():
        require_frame(frame, name)
        for axis, index in zip(axes[name], ("index", "columns"), strict=True):
            if axis not in found:
                found[axis] = labels_of(getattr(frame, index), f"{name}.{index}")
    return found


def from_labels(
    kind: type[Record],
    labels: Mapping[str, Sequence[Any]],
    values: Mapping[str, Any],
    fields: Mapping[str, Any],
) -> Record:
    """Build an instance with array values in the order of their axes' labels.

    Parameters
    ----------
    labels : of axes; they become the names of what the axes have.
    values : of fields, by label: a frame, a Series or a mapping, a list in order, a number for all.
    fields : the others, as the class takes them, or frames.

    Raises
    ------
    InvalidInstance
        A label is missing or unknown, or a value is wrong: by its labels.
    """
    given = {**values, **fields}
    places: dict[str, list[Sequence[Any]]] = {}
    types = {field.name: field for field in field_types(kind)}
    for name in dict.fromkeys((*values, *types)):
        field, value = types[name], given.get(name)
        # what need not be distinct, as zones and models of cards, is no label
        if field.names is not None and field.names.distinct and field.names.axis in labels:
            given.setdefault(name, tuple(map(str, labels[field.names.axis])))
        axes = field.axes.names.split() if field.axes is not None else []
        if not axes or not labels.keys() >= set(axes):
            continue
        places[name] = [labels[axis] for axis in axes]
        if value is not None and hasattr(value, "columns"):
            rows, columns = places[name]
            given[name] = table(value, rows, columns, name)
        elif name in values and value is not None and len(axes) == 1:
            given[name] = aligned(value, places[name][0], name)
    try:
        return kind(**given)
    except InvalidInstance as error:  # it names penalty[0, 1], not penalty['web', 'batch']
        name, _, rest = error.field.partition("[")
        entries = [int(entry) for entry in re.findall(r"\d+", rest)]
        along = places.get(name, [])
        if not entries or len(entries) > len(along):
            raise
        inside = ", ".join(repr(axis[entry]) for axis, entry in zip(along, entries, strict=False))
        raise error.of(f"{name}[{inside}]") from None


def columns_of(frame: pandas.DataFrame, names: Sequence[str], owner: str) -> list[Any]:
    """Columns of a pandas frame by name, each as a list."""
    require_frame(frame, owner)
    if missing := [name for name in names if name not in frame.columns]:
        raise InvalidInstance(
            owner, f"without the column {missing[0]!r}", f"columns {', '.join(names)}"
        )
    return [frame[name].tolist() for name in names]


def require_frame(frame: Any, owner: str) -> None:
    """Raise InvalidInstance for a value that is not a pandas.DataFrame."""
    if not hasattr(frame, "columns") or not hasattr(frame, "index"):
        raise InvalidInstance(owner, f"a {type(frame).__name__}", "a pandas.DataFrame")


def places(values: Sequence[Any], labels: Sequence[Any], owner: str) -> list[int]:
    """Index of each value in a list of labels."""
    place = {label: number for number, label in enumerate(labels)}
    if unknown := [value for value in values if value not in place]:
        raise InvalidInstance(owner, f"{unknown[0]!r}", f"one of {first_labels(labels)}")
    return [place[value] for value in values]


def _same(found: Sequence[Any], labels: Sequence[Any], owner: str) -> None:
    known, wanted = set(found), set(labels)
    if missing := [label for label in labels if label not in known]:
        expected = f"a value for each of {first_labels(labels)}"
        strange = [str(label) for label in found if label not in wanted]
        near = suggest(str(missing[0]), strange) if strange else ""
        cure = f"It has {near.removeprefix('did you mean ').rstrip('?')}" if "?" in near else ""
        raise InvalidInstance(owner, f"without {missing[0]!r}", expected, cure)
    if unknown := [label for label in found if label not in wanted]:
        raise InvalidInstance(owner, f"with {unknown[0]!r}", f"only {first_labels(labels)}")


def first_labels(labels: Sequence[Any]) -> str:
    """First labels of a list, as error messages show them."""
    first = ", ".join(repr(label) for label in labels[:MOST_LABELS])
    return first if len(labels) <= MOST_LABELS else f"{first}, ..."
