"""Fields of instances and answers: turned into read-only arrays, numbers and names, and refused
with the place that is wrong.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from .base import frozen_array, repeated, set_field
from .errors import InvalidInstance


def set_array(
    record: object, name: str, dtype: Any, ndim: int = 1, length: int | None = None, per: str = ""
) -> Any:
    """Turn a field into a read-only array of a type and number of dimensions, and return it.

    Parameters
    ----------
    length : how many entries it must have; `per` says of what, as in "one per job".
    """
    values = frozen_array(name, getattr(record, name), dtype, ndim)
    if length is not None:
        require_length(name, values, length, per)
    set_field(record, name, values)
    return values


def require_length(name: str, values: Any, length: int, per: str) -> None:
    """Raise InvalidInstance unless there are so many values."""
    if len(values) != length:
        raise InvalidInstance(
            name, f"of length {len(values)}", f"{length} entries{per and f', {per}'}"
        )


def shaped(name: str, values: Any, *shape: int) -> npt.NDArray[Any]:
    """The values as an array, uncopied when they are one; raises InvalidInstance unless they have
    the shape.
    """
    found: npt.NDArray[Any] = np.asarray(values)
    if found.shape != shape:
        raise InvalidInstance(name, f"an array of shape {found.shape}", f"the shape {shape}")
    return found


def raise_first_invalid(
    name: str, values: npt.NDArray[Any], wrong: npt.NDArray[np.bool_], expected: str, cure: str = ""
) -> None:
    """Raise InvalidInstance for the first of the values that is wrong, if any is."""
    if wrong.any():
        place = tuple(int(i) for i in np.argwhere(wrong)[0])
        raise InvalidInstance(
            f"{name}[{', '.join(map(str, place))}]", values[place], expected, cure
        )


def names_of(name: str, names: Any, length: int, of: str) -> tuple[str, ...]:
    """Distinct names, one for each of so many things; "0", "1", ... when none are given."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise InvalidInstance(name, repr(names), f"a list of strings, one per {of}")
    values = tuple(names) or tuple(map(str, range(length)))
    require_length(name, values, length, f"one per {of}")
    for place, value in enumerate(values):
        if not isinstance(value, str):
            raise InvalidInstance(f"{name}[{place}]", repr(value), "a string")
    if (twice := repeated(values)) is not None:
        raise InvalidInstance(name, f"{twice!r} given twice", f"a name of its own for every {of}")
    return values


def set_names(instance: object, name: str, length: int, of: str) -> None:
    """Set a field of optional names: distinct ones, one for each of so many things, or none."""
    given = getattr(instance, name)
    nothing = isinstance(given, tuple | list) and not given
    set_field(instance, name, () if nothing else names_of(name, given, length, of))


def given_names(instance: object, *names: str) -> dict[str, list[str]]:
    """The fields of optional names that were given, as JSON values."""
    return {name: list(getattr(instance, name)) for name in names if getattr(instance, name)}


def as_number(name: str, value: Any, expected: str = "a number", cure: str = "") -> float:
    """A number (infinite ones too) as a float."""
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float | np.integer | np.floating)
        or value != value
    ):
        raise InvalidInstance(name, repr(value), expected, cure)
    try:
        return float(value)
    except OverflowError:
        raise InvalidInstance(name, "a number beyond every float", expected, cure) from None
