"""What the documents of files share (pydantic lives only at this edge)."""

from __future__ import annotations

import reprlib
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

if TYPE_CHECKING:
    import pydantic


class _FirstOnly:
    """pydantic's own FailFast, which `X | None` of a union cannot hold (it has no hash)."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        return {**handler(source), "fail_fast": True}


Entry = TypeVar("Entry")
Entries = Annotated[list[Entry], _FirstOnly()]
"""A list of which the first wrong entry is told and no other: a file may hold millions of them."""


def wrong_field(error: pydantic.ValidationError) -> tuple[list[str | int], str, str]:
    """Where the first wrong field of a document stands (keys and indices), what is there, and what
    was expected, in words.
    """
    first = error.errors(include_url=False)[0]
    place = [part for part in first["loc"] if not (isinstance(part, str) and part.endswith("]"))]
    seen = "missing" if first["type"] == "missing" else shortened(first["input"])
    words = (
        first["msg"]
        .removeprefix("Input should be ")
        .removeprefix("Value error, ")
        .removeprefix("Field required")
    )
    return place, seen, words or "a value"


def in_words(place: list[str | int]) -> str:
    """A place in a document as people write it, such as "penalty[0][1]"."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place).lstrip(
        "."
    )


def shortened(value: object) -> str:
    """A value as Python writes it, cut where it is long."""
    text = _REPR.repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


_REPR = reprlib.Repr()
_REPR.maxstring = _REPR.maxother = _REPR.maxlong = 60
