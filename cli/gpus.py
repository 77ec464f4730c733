"""The command `advise gpus`: where cards are free, and what admits the gangs that wait."""

from __future__ import annotations

from typing import Annotated

import typer

from ..analysis.report.console import waiting
from .advice_options import PlanOptions
from .capacity import AddOptions
from .derived import options_of
from .state_options import States


@options_of(AddOptions)
@options_of(PlanOptions)
def gpus(
    states: States,
    source: AddOptions,
    shown: PlanOptions,
    gang: Annotated[
        str | None,
        typer.Option(
            metavar="GANG",
            help="Only this gang that waits: namespace/name, or LABEL=VALUE of its pods.",
        ),
    ] = None,
    topology: Annotated[
        str,
        typer.Option(metavar="LABEL", help="All nodes of a gang have one value of this label."),
    ] = "",
    sizes: Annotated[
        list[str] | None,
        typer.Option(
            "--shape",
            metavar="AMOUNTS",
            help="Count room for pods of this size, such as gpu=8,cpu=64; repeat for more.",
        ),
    ] = None,
) -> None:
    """Say where GPUs are free, and which moves admit a gang.

    All pods of it, or none: the fewest moves, or a proof that no moves do. Exit 1 when a gang that
    waits has no room, even after moves.
    """
    from ..cluster.plan.gpus import gpus as cards_of
    from ..cluster.state.new_pods import shape_requests

    state = shown.read(states, source)
    shapes = [shape_requests(state, text) for text in sizes or ()]
    with waiting("looking for room") as say:
        found = cards_of(
            state, gang=gang, topology=topology, shapes=shapes, moves=source.rare.moves, say=say,
            **source.limits,
        )  # fmt: skip
    shown.show(found)
