"""Conversions and checks shared by all JSON documents; only these modules import pydantic."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import numpy as np

from .text import shortened as shortened

if TYPE_CHECKING:
    import pydantic


class _FirstOnly:
    """Annotation that stops validation at the first wrong entry; hashable, unlike pydantic's
    FailFast.
    """

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        return {**handler(source), "fail_fast": True}


Entry = TypeVar("Entry")
Entries = Annotated[list[Entry], _FirstOnly()]
"""A list of which the first wrong entry is named and no other: a file may hold millions of them."""


def to_json_value(value: Any) -> Any:
    """Convert numpy arrays and scalars to JSON values; infinity becomes None, NaN raises."""
    if isinstance(value, np.ndarray):
        if value.dtype.kind == "f":
            if np.isnan(value).any():
                raise ValueError("NaN has no JSON form")
            if np.isinf(value).any():
                return to_json_value(value.tolist())
        return value.tolist()
    if isinstance(value, np.generic):
        return to_json_value(value.item())
    if isinstance(value, float):
        if math.isfinite(value):
            return value
        if math.isnan(value) or value < 0:
            raise ValueError(f"{value} has no JSON form")
        return None
    if isinstance(value, dict):
        return {str(key): to_json_value(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        if _PLAIN.issuperset(map(type, value)):  # millions of numbers, at once
            return list(value)
        return [to_json_value(entry) for entry in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: to_json_value(getattr(value, f.name)) for f in dataclasses.fields(value)}
    return value


_PLAIN = frozenset((int, str, bool, type(None)))


def whole_json_numbers(value: Any) -> Any:
    """Convert every number without fraction in a JSON value to an int."""
    if isinstance(value, dict):
        return {name: whole_json_numbers(entry) for name, entry in value.items()}
    if isinstance(value, list):
        return [whole_json_numbers(entry) for entry in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def from_json_value(value: Any) -> Any:
    """Value of a field from JSON, in which None in a list becomes infinity."""
    if not isinstance(value, list):
        return value
    if any(isinstance(entry, list) for entry in value):
        return [np.inf if entry is None else from_json_value(entry) for entry in value]
    return [np.inf if entry is None else entry for entry in value]


def wrong_field(error: pydantic.ValidationError) -> tuple[list[str | int], str, str]:
    """Path of a document's first invalid field, its value, and what was expected."""
    first = error.errors(include_url=False)[0]
    place = [part for part in first["loc"] if not (isinstance(part, str) and part.endswith("]"))]
    seen = "missing" if first["type"] == "missing" else shortened(first["input"])
    message = first["msg"].replace(" or an instance of ", " or instance of ")
    message = message.partition(" or instance of ")[0].removeprefix("Input should be ")
    message = message.removeprefix("Value error, ").removeprefix("Field required")
    return place, seen, message or "a value"


def in_words(place: list[str | int]) -> str:
    """Format the path of a field in a document as a text such as "penalty[0][1]"."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place).lstrip(
        "."
    )
