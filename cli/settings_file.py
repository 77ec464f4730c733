"""Rarely used settings of a command, from a TOML file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

from ..instances.problem.errors import InvalidOption

Settings = TypeVar("Settings")


def read_settings(kind: type[Settings], path: Path | None) -> Settings:
    """Read the settings in a TOML file whose keys are a dataclass's fields; see `read_several`."""
    found: Settings = read_several((kind,), path)[0]
    return found


def read_several(kinds: Sequence[type[Any]], path: Path | None) -> list[Any]:
    """Read the settings in a TOML file, whose keys are fields of several dataclasses, one object of
    each; defaults without a file.

    Parameters
    ----------
    kinds : dataclasses under `validate_options`, which refuses values of another type; a field that
        takes several values is a tuple.

    Raises
    ------
    InvalidFile
        The file cannot be read, or is no TOML.
    InvalidOption
        Naming the file, the key, the value seen, and what was expected.
    """
    from ..instances.problem.errors import suggest
    from ..instances.problem.reading import read_toml

    if path is None:
        return [kind() for kind in kinds]
    content = read_toml(path)
    known = {field.name: kind for kind in kinds for field in fields(kind)}
    given: dict[type[Any], dict[str, Any]] = {kind: {} for kind in kinds}
    for name, value in content.items():
        if name not in known:
            raise InvalidOption(f"{path} has no setting {name!r}; {suggest(name, known)}")
        given[known[name]][name] = tuple(value) if isinstance(value, list) else value
    try:
        return [kind(**given[kind]) for kind in kinds]
    except InvalidOption as error:
        raise InvalidOption(f"{path}: {error}") from None
