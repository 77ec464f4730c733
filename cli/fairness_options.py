"""What `advise fairness` can be asked beside who is owed what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer


@dataclass(frozen=True)
class Beside:
    """What is asked for beside debts."""

    rules: Annotated[
        bool,
        typer.Option("--rules", help="Beside it, debts by DRS, fair tree and dominant share."),
    ] = False
    half_life: Annotated[
        str, typer.Option(metavar="SPAN", help="In which fair tree forgets half: 12h, 7d, 2w.")
    ] = "7d"
    without: Annotated[
        str | None, typer.Option(metavar="ACCOUNT", help="What if it were not there: debts again.")
    ] = None
    add_nodes: Annotated[
        int, typer.Option(metavar="N", min=0, help="What if there were N nodes more: debts again.")
    ] = 0
