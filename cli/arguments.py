"""Arguments and options that several commands share; `command.SHARED` has their meanings."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from ..analysis.report.console import Form
from ..instances.problem.errors import InvalidOption
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
