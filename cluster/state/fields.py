"""Typed access to the fields of a JSON object, with errors that give the position in the file."""

from __future__ import annotations

import re
from typing import Any

from ...instances.problem.documents import shortened
from ...instances.problem.errors import InvalidFile, explain

_KINDS = {
    dict: "an object",
    list: "a list",
    str: "text",
    int: "a whole number",
    bool: "true or false",
}


_LABEL = "[A-Za-z0-9](?:[A-Za-z0-9_:-]*[A-Za-z0-9])?"
_NAME = re.compile(rf"(?=.{{1,253}}\Z){_LABEL}(?:\.{_LABEL})*")


class Fields:
    """Fields of a JSON object, and its position ("state.json: pod shop/pg-0: spec").

    A field that is missing or null is empty: of the API's fields nearly all are optional.

    Raises
    ------
    InvalidFile
        From every method: the field is of another kind than is asked for.
    """

    def __init__(self, content: dict[str, Any], place: str) -> None:
        self.content = content
        self.place = place

    def __contains__(self, name: str) -> bool:
        return self.content.get(name) is not None

    def _get(self, name: str, kind: type, empty: Any) -> Any:
        value = self.content.get(name)
        if value is None:
            return empty
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise self.wrong(name, value, _KINDS[kind])
        return value

    def _entries(self, name: str, kind: type) -> list[Any]:
        found: list[Any] = self._get(name, list, [])
        for index, entry in enumerate(found):
            if not isinstance(entry, kind):
                raise self.wrong(f"{name}[{index}]", entry, _KINDS[kind])
        return found

    def wrong(self, name: str, seen: object, expected: str, cure: str = "") -> InvalidFile:
        """Error for a field that does not have the expected type or value."""
        return InvalidFile(explain(f"{self.place}: {name}", shortened(seen), expected, cure))

    def of(self, name: str) -> Fields:
        """Return the field of a name, which must be an object."""
        return Fields(self._get(name, dict, {}), f"{self.place}: {name}")

    def many(self, name: str) -> list[Fields]:
        """Return the field of a name, which must be a list of objects."""
        entries = self._entries(name, dict)
        return [Fields(entry, f"{self.place}: {name}[{n}]") for n, entry in enumerate(entries)]

    def text(self, name: str, empty: str = "") -> str:
        """Return the field of a name, which must be a string."""
        found: str = self._get(name, str, empty)
        return found

    def name(self, name: str) -> str:
        """Return a field that is a name used in commands: labels joined by dots, each of which
        begins and ends with a letter or a digit (RFC 1123; capitals, "_" and ":" inside them too);
        "" if absent.
        """
        found = self.text(name)
        if found and not _NAME.fullmatch(found):
            expected = "letters, digits, dots and hyphens, a letter or a digit first and last"
            raise self.wrong(name, found, expected)
        return found

    def whole(self, name: str, empty: int = 0) -> int:
        """Return the field of a name, which must be an integer."""
        found: int = self._get(name, int, empty)
        return found

    def flag(self, name: str) -> bool:
        """Return a Boolean field; False if absent."""
        found: bool = self._get(name, bool, False)
        return found

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a field that is a list of strings."""
        return tuple(self._entries(name, str))

    def mapping(self, name: str) -> dict[str, str]:
        """Return a field that maps strings to strings, such as labels."""
        found = self._get(name, dict, {})
        for key, entry in found.items():
            if not isinstance(entry, str):
                raise self.wrong(f"{name}.{key}", entry, "text")
        return dict(found)


def name_of(item: Fields) -> tuple[str, str]:
    """Namespace ("" for none) and name of an object."""
    about = item.of("metadata")
    return about.text("namespace"), about.text("name")
