"""The commands `advise nodes` and `drain`: a cluster's own state in, advice out."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Annotated

import typer

from ..analysis.report.console import waiting
from ..instances.problem.errors import InvalidOption
from .advice_options import PageOptions, PlanOptions, ShowOptions, StateOptions, States, read, show
from .arguments import share_of
from .codes import NO_ANSWER
from .derived import options_of
from .series import SeriesOptions


@options_of(StateOptions)
@options_of(PlanOptions, without_pending=None, disruption=None, frontier=None)
@options_of(PageOptions)
@options_of(SeriesOptions)
@options_of(ShowOptions, instance=None, fail_above=None)
def nodes(
    states: States,
    source: StateOptions,
    planned: PlanOptions,
    paged: PageOptions,
    tracked: SeriesOptions,
    shown: ShowOptions,
    without_pending: Annotated[
        bool,
        typer.Option(
            "--without-pending", help="Keep no nodes for pending pods: plan for what runs."
        ),
    ] = False,
    disruption: Annotated[
        str | None,
        typer.Option(
            metavar="PRICE",
            help="Of one move, beside the prices of nodes (or in nodes): the least sum of both.",
        ),
    ] = None,
    frontier: Annotated[
        int,
        typer.Option(
            metavar="POINTS",
            help="Also show this many steps from the nodes of now to the fewest, with the moves.",
        ),
    ] = 0,
    instance: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the packing instance here, for solve, compare."),
    ] = None,
    fail_above: Annotated[
        str | None,
        typer.Option(metavar="SHARE", help="Exit 1 when more of the nodes can go, such as 10%."),
    ] = None,
) -> None:
    """Say how many nodes are enough, and which can go.

    Prints the moves too, and what is proved of each answer.
    """
    from ..advice.nodes_page import nodes_page
    from ..advice.plan import advise
    from ..advice.text_report import advice_lines
    from ..instances.problem import write

    most = None if fail_above is None else share_of(fail_above)
    tracked.require()
    outputs = [instance, tracked.series, tracked.prometheus]
    state = read(states, source, planned, outputs, paged)
    with waiting("finding the fewest nodes and moves") as say:
        advice = advise(
            state, time_limit=source.time_limit, released=source.released,
            pending=not without_pending,
            disruption=None if disruption is None else price_of_move(disruption),
            frontier=frontier, say=say,
        )  # fmt: skip
    tracked.write(advice)
    if instance is not None:
        write(advice.translation.instance, instance)
    show(
        shown, advice.document, lambda: advice_lines(advice, paged.details), plan=planned,
        advice=advice, page=paged, content=lambda: nodes_page(advice),
    )  # fmt: skip
    if most is not None and advice.waste > most:
        raise typer.Exit(NO_ANSWER)


@options_of(StateOptions)
@options_of(PlanOptions)
@options_of(PageOptions)
@options_of(ShowOptions)
def drain(
    states: States,
    node: Annotated[str, typer.Argument(metavar="NODE", help="The node to be emptied.")],
    source: StateOptions,
    planned: PlanOptions,
    paged: PageOptions,
    shown: ShowOptions,
) -> None:
    """Say what blocks the emptying of a node, pod by pod.

    Where nothing does, the fewest moves that empty it. Exit 1 when it is blocked.
    """
    from ..advice.draining import drain as draining
    from ..advice.nodes_page import drain_page
    from ..advice.text_report import drain_document, drain_lines
    from ..instances.problem.errors import NoSolution

    _require_states(states, node)
    state = read(states, source, planned, page=paged)
    with waiting(f"looking for places for the pods of {node}") as say:
        found = draining(
            state, node, time_limit=source.time_limit, released=source.released, say=say
        )
    if (planned.emit or planned.plan) and not found.empties:
        raise NoSolution(
            f"{node} cannot be emptied; leave out --emit and --plan to see the reasons"
        )
    show(
        shown, lambda: drain_document(state, found),
        lambda: drain_lines(state, found, paged.details),
        plan=planned, advice=found.advice, page=paged, content=lambda: drain_page(state, found),
    )  # fmt: skip
    if not found.empties:
        raise typer.Exit(NO_ANSWER)


def price_of_move(text: str) -> Fraction:
    """A price of 0 or more, exactly as it is written."""
    try:
        price = Fraction(text)
    except (ValueError, ZeroDivisionError):
        price = Fraction(-1)
    if price < 0 or len(text) > 30:
        raise InvalidOption(f"disruption is {text!r}; expected a price of 0 or more, such as 0.05")
    return price


def _require_states(states: list[str], node: str) -> None:
    """Refuse nodes in the place of files, and say the order."""
    from ..instances.problem.errors import InvalidFile
    from ..instances.problem.reading import is_standard_input

    def is_state(name: str) -> bool:
        return name.startswith("state/") or is_standard_input(name) or Path(name).exists()

    for name in states:
        if not is_state(name):
            right = [each for each in (*states, node) if is_state(each)] or ["STATE"]
            raise InvalidFile(
                f"{name} does not exist; expected files of a state and then one node, as in "
                f"cotenant advise drain {' '.join(right)} {name}"
            )
