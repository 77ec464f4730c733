"""Options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

from ..analysis.report.console import Form
from ..instances.problem.errors import InvalidOption
from .completion import instances, methods, options

__all__ = [
    "As",
    "Columns",
    "Form",
    "InstanceFile",
    "InstancesShown",
    "Json",
    "MethodName",
    "Options",
    "Rules",
    "SummaryOnly",
    "TimeLimit",
    "Width",
    "listed",
    "require_latex",
    "share_of",
]

InstanceFile = Annotated[
    str,
    typer.Argument(
        help="Instance file, or a bundled instance such as colocation/tiny.",
        autocompletion=instances,
    ),
]
MethodName = Annotated[
    str,
    typer.Option(
        "-m",
        "--method",
        help="A method, see `cotenant methods`; or your own, module:function.",
        autocompletion=methods,
    ),
]
Options = Annotated[
    list[str] | None,
    typer.Option(
        "-o",
        "--option",
        metavar="KEY=VALUE",
        help="An option of the method or reader; repeat it for more.",
        autocompletion=options,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
Rules = Annotated[
    list[str] | None,
    typer.Option(
        "--rule",
        metavar="MODULE:FUNCTION",
        help="A rule of your own that answers must obey. Repeat for more.",
    ),
]
As = Annotated[
    Form, typer.Option("--format", help="How tables are printed; 'wide' shows every column.")
]
TimeLimit = Annotated[
    float | None, typer.Option("--time-limit", metavar="S", help="Seconds for each run.")
]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--columns",
        metavar="HEADING,...",
        help="The columns that tables show, by heading, with commas between them or repeated. "
        "Without it, all that fit.",
    ),
]
InstancesShown = Annotated[
    int | None,
    typer.Option(
        "--instances-shown",
        min=0,
        metavar="N",
        help="How many instances of a problem have their pictures on the page (4 if not given).",
    ),
]
Width = Annotated[
    float | None,
    typer.Option(
        "--width", metavar="CM", help="Width of the line that tables of --format latex must fit."
    ),
]
SummaryOnly = Annotated[
    bool,
    typer.Option(
        "--summary-only", help="Leave the instances and the list of every run out of the page."
    ),
]


def listed(given: list[str] | None) -> list[str]:
    """Names with commas between them, or given one by one."""
    return [name for each in given or [] for part in each.split(",") if (name := part.strip())]


def require_latex(width: float | None, form: Form) -> None:
    """Refuse a width for tables that are not in LaTeX, before any work."""
    if width is not None and form is not Form.LATEX:
        raise InvalidOption("--width is for tables in LaTeX; add --format latex")


def share_of(text: str, option: str = "fail-above") -> float:
    """A share such as 10% or 0.1."""
    try:
        value = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise InvalidOption(f"{option} is {text!r}; expected a share such as 10% or 0.1")
    return value
