"""What the commands of `advise` share: how a state is read, and how an answer is shown."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..analysis.report.console import console, print_json, require_writable, say
from ..instances.problem.errors import InvalidOption
from .arguments import Json
from .state_options import StateOptions, States

if TYPE_CHECKING:
    from ..advice.answer_page import AnswerPage
    from ..advice.plan import Advice
    from ..advice.state import ClusterState

__all__ = [
    "PageOptions", "PlanOptions", "ShowOptions", "StateOptions", "States", "read", "show",
]  # fmt: skip


@dataclass(frozen=True)
class PlanOptions:
    """Where a plan goes, and what to run for it."""

    plan: Annotated[
        Path | None,
        typer.Option(metavar="PLAN.json", help="Write the plan and its certificate here."),
    ] = None
    emit: Annotated[
        str | None,
        typer.Option(
            metavar="FORM",
            help="Print what to run, and run nothing: kubectl, patches, descheduler, proxmox, "
            "openstack, csv.",
        ),
    ] = None


@dataclass(frozen=True)
class ShowOptions:
    """How an answer is shown."""

    as_json: Json = False


@dataclass(frozen=True)
class PageOptions:
    """Where the page of an answer goes, and how much is printed."""

    report: Annotated[
        Path | None,
        typer.Option(metavar="PAGE.html", help="Write everything as a page of its own here."),
    ] = None
    details: Annotated[
        bool, typer.Option("--details", help="Print what the answer rests on, and every name.")
    ] = False


def read(
    states: list[str],
    source: StateOptions,
    plan: PlanOptions | None = None,
    outputs: Iterable[Path | None] = (),
    page: PageOptions | None = None,
) -> ClusterState:
    """The state in some files, once what else is asked for is known to be right.

    Parameters
    ----------
    states : names of the files, of bundled states, or "-".
    source : how they are read.
    plan : where a plan goes, for commands that have one.
    outputs : other files that the command will write.
    page : where its page goes, for commands that have one.
    """
    from ..advice.emit import require_form
    from ..advice.plan import require_kinds
    from ..advice.text_report import warned
    from ..solvers.outcome import validate_time_limit

    plan = plan or PlanOptions()
    require_form(plan.emit)
    if plan.emit is not None and source.usage is not None and source.count == "used":
        raise InvalidOption(
            "emit is given with --count used; expected a plan by requests, which are what the "
            "scheduler counts. Change the requests and export again, or leave out --count"
        )
    require_kinds(source.released)
    validate_time_limit(source.time_limit)
    for path in (plan.plan, *outputs):
        require_writable(path, *states)
    if page is not None and page.report is not None:
        from ..analysis.report.page import require_report

        require_report(page.report, *states)
    state = source.read(states)
    require_form(plan.emit, state.platform)
    if plan.emit == "csv":  # a table has no comments
        for line in warned(state, ()):
            say(line)
    return state


def show(
    options: ShowOptions,
    document: Callable[[], Any],
    lines: Callable[[], Iterable[str]],
    *,
    plan: PlanOptions | None = None,
    advice: Advice | None = None,
    page: PageOptions | None = None,
    content: Callable[[], AnswerPage] | None = None,
) -> None:
    """Print an answer in the form that is asked for, after its plan is written.

    Parameters
    ----------
    options : how it is shown.
    document, lines : the answer as plain JSON values, and for people.
    plan, advice : where the plan goes, and the plan, where the answer has one. What an interrupt
        left of it is said at the end, and the command leaves.
    page, content : where the page goes, and what it shows, for commands that have one.
    """
    from ..advice.emit import emit as emitted
    from ..instances.problem.files import write_text
    from ..solvers.interrupts import exit_code

    text = None
    if plan is not None and advice is not None:
        text = None if plan.emit is None else emitted(advice, plan.emit)
        if plan.plan is not None:
            words = json.dumps(advice.document(), allow_nan=False, indent=2)
            write_text(plan.plan, words + "\n")
    if page is not None and content is not None and page.report is not None:
        from ..advice.answer_page import write_page

        say(f"{write_page(content(), page.report, ['cotenant', *sys.argv[1:]])} written")
    if text is not None:
        typer.echo(text, nl=False)
    elif options.as_json:
        print_json(document())
    else:
        screen = console()
        for line in lines():
            screen.print(line, highlight=False, soft_wrap=True)
    if advice is not None and advice.interrupted:
        say("interrupted: the best plan so far is kept, checked")
        raise typer.Exit(exit_code())
