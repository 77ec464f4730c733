"""What the commands of `advise` share: how a state is read, and how an answer is shown."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..analysis.report.console import console, print_json, require_writable, say
from ..instances.problem.errors import NoSolution
from .arguments import Json
from .codes import NO_ANSWER, NOT_KNOWN
from .state_options import StateOptions

if TYPE_CHECKING:
    from ..cluster.plan.answer import Answer
    from ..cluster.report.model import Shown
    from ..cluster.report.page import AnswerPage
    from ..cluster.state.state import ClusterState


@dataclass(frozen=True)
class ShowOptions:
    """How an answer is shown.

    Attributes
    ----------
    report : write everything as a page of its own here
    details : print what the answer rests on, and every name
    """

    report: Annotated[Path | None, "PAGE.html"] = None
    details: Annotated[bool, "--details"] = False
    as_json: Json = False

    @property
    def outputs(self) -> tuple[Path | None, ...]:
        """Files that are written beside the page."""
        return ()

    @property
    def form(self) -> str | None:
        """The form of what to run, where it is asked for."""
        return None

    def read(self, states: list[str], source: StateOptions) -> ClusterState:
        """The state in some files, once what else is asked for is known to be right.

        Parameters
        ----------
        states : names of the files, of bundled states, or "-".
        source : how they are read.
        """
        from ..cluster.plan.answer import require_kinds
        from ..cluster.report.emit import require_form
        from ..solvers.outcome import validate_time_limit

        require_form(self.form)
        require_kinds(source.released)
        validate_time_limit(source.time_limit)
        for path in self.outputs:
            require_writable(path, *states)
        if self.report is not None:
            from ..analysis.report.page import require_report

            require_report(self.report, *states)
        state = source.read(states)
        require_form(self.form, state.platform)
        return state

    def show(self, answer: Answer) -> None:
        """Print an answer in the form that is asked for, after its plan and page are written.

        Exits where the answer is not what was hoped for, or an interrupt cut its plan short.
        """
        from ..cluster.report.answers import shown
        from ..cluster.report.text_report import answer_lines
        from ..solvers.interrupts import exit_code

        found = shown(answer)
        text = self.write_plan(found)
        if self.report is not None:
            from ..cluster.report.page import answer_page

            write_report(answer_page(found), self.report)
        if text is not None:
            typer.echo(text, nl=False)
        elif self.as_json:
            print_json(answer.document())
        else:
            screen = console()
            for line in answer_lines(found, self.details):
                screen.print(line, highlight=False, soft_wrap=True)
        if found.advice is not None and found.advice.interrupted:
            say("interrupted: the best plan so far is kept, checked")
            raise typer.Exit(exit_code())
        if not found.complete:
            raise typer.Exit(NOT_KNOWN if found.complete is None else NO_ANSWER)

    def write_plan(self, found: Shown) -> str | None:
        """What to run for the answer, where it is asked for."""
        return None


@dataclass(frozen=True)
class PlanOptions(ShowOptions):
    """How an answer with a plan is shown, where the plan goes, and what to run for it.

    Attributes
    ----------
    plan : write the plan and its certificate here
    emit : print what to run, and run nothing: kubectl, csv
    """

    plan: Annotated[Path | None, "PLAN.json"] = None
    emit: Annotated[str | None, "FORM"] = None

    @property
    def outputs(self) -> tuple[Path | None, ...]:
        """The file of the plan."""
        return (self.plan,)

    @property
    def form(self) -> str | None:
        """The form of what to run, where it is asked for."""
        return self.emit

    def write_plan(self, found: Shown) -> str | None:
        """What to run for the answer, where it is asked for, once its plan is written.

        Raises
        ------
        NoSolution
            A plan is asked for, and nothing can be carried out.
        """
        from ..cluster.report.emit import emit, head
        from ..cluster.report.text_report import wrapped
        from ..instances.problem.files import write_text

        if self.plan is None and self.emit is None:
            return None
        if found.advice is None or found.no_plan:
            raise NoSolution(f"{found.no_plan}; leave out --emit and --plan")
        text = None if self.emit is None else emit(found.advice, self.emit)
        if self.emit == "csv":  # a table has no comments
            for line in wrapped(head(found.advice)):
                say(line)
        if self.plan is not None:
            words = json.dumps(found.advice.document(), allow_nan=False, indent=2)
            write_text(self.plan, words + "\n")
        return text


def write_report(page: AnswerPage, path: Path) -> None:
    """Write the page of an answer, with the command that is running, and say so."""
    from ..cluster.report.page import write_page

    say(f"{write_page(page, path, ['cotenant', *sys.argv[1:]])} written")
