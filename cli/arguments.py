"""Options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

from ..analysis.report.console import Form

__all__ = ["As", "Form", "Json", "Options", "TimeLimit"]

Options = Annotated[
    list[str] | None,
    typer.Option("-o", "--option", metavar="KEY=VALUE", help="An option; repeat for more."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
As = Annotated[Form, typer.Option("--format", help="How tables are printed; wide: every column.")]
TimeLimit = Annotated[
    float | None, typer.Option("--time-limit", metavar="S", help="Seconds for each run.")
]
Parts = Annotated[
    int | None,
    typer.Option("--parts", min=1, metavar="N", help="Write a market in N parts, in a new folder."),
]
