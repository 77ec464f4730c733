"""Settings that a command takes from a TOML file, for what is asked for rarely."""

from __future__ import annotations

import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from ..instances.problem.errors import InvalidFile, InvalidOption

Settings = TypeVar("Settings")

SettingsFile = Annotated[
    Path | None,
    typer.Option(
        "--settings", metavar="FILE.toml", help="Take the rarer settings from this TOML file."
    ),
]


def read_settings(kind: type[Settings], path: Path | None) -> Settings:
    """The settings in a TOML file, whose keys are fields of a dataclass; its defaults without one.

    Parameters
    ----------
    kind : a dataclass under `validate_options`, which refuses unknown names and values of another
        type; a field that takes several values is a tuple.

    Raises
    ------
    InvalidFile
        The file cannot be read, or is no TOML.
    InvalidOption
        Naming the file, the key, the value seen, and what was expected.
    """
    from ..instances.problem.errors import suggest
    from ..instances.problem.reading import read_text

    if path is None:
        return kind()
    try:
        content = tomllib.loads(read_text(path))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InvalidFile(f"{path} is not TOML: {error}") from None
    known = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    for name in content:
        if name not in known:
            raise InvalidOption(f"{path} has no setting {name!r}; {suggest(name, known)}")
    given = {
        name: tuple(value) if isinstance(value, list) else value for name, value in content.items()
    }
    try:
        return kind(**given)
    except InvalidOption as error:
        raise InvalidOption(f"{path}: {error}") from None
