"""Arguments and options that several commands share; `command.SHARED` has their meanings."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

from ..analysis.report.console import Form
from ..instances.problem.errors import InvalidOption, suggest
from ..instances.problem.option_types import AtLeast
from .completion import formats, instances, methods, options

InstanceFile = Annotated[str, instances]
MethodName = Annotated[str, "-m --method", methods]
Options = Annotated[list[str] | None, "-o --option KEY=VALUE", options]
From = Annotated[str | None, "--from FORMAT", formats]
Rules = Annotated[list[str] | None, "--rule MODULE:FUNCTION"]
TimeLimit = Annotated[float | None, "--time-limit S"]
Width = Annotated[float | None, "--width CM"]
SettingsFile = Annotated[Path | None, "--settings FILE.toml"]
InstancesShown = Annotated[int | None, "N", AtLeast(0)]
Columns = Annotated[list[str] | None, "HEADER,..."]
Json = Annotated[bool, "--json"]
As = Annotated[Form, "--format"]


def listed(given: list[str] | None) -> list[str]:
    """Names separated by commas, or given one by one, as a list."""
    return [name for each in given or [] for part in each.split(",") if (name := part.strip())]


def require_latex(width: float | None, form: Form) -> None:
    """Raise an error if a width is given for tables that are not in LaTeX, before any work."""
    if width is not None and form is not Form.LATEX:
        raise InvalidOption("--width is for tables in LaTeX; add --format latex")


def read_settings(path: Path | None, *kinds: type[Any]) -> list[Any]:
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
