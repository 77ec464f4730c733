"""Options that the commands of `advise` share: how a state is read, and how an answer is shown."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..analysis.report.console import console, print_json, require_writable, say, waiting
from ..instances.problem.errors import InvalidOption, NoSolution
from ..instances.problem.option_types import AtLeast, Between, validate_options
from .arguments import Json, SettingsFile, read_settings
from .codes import NO_ANSWER, NOT_KNOWN

if TYPE_CHECKING:
    from ..cluster.plan.answer import Answer
    from ..cluster.report.text_report import Shown
    from ..cluster.state.state import ClusterState

States = Annotated[list[str], "STATE..."]


@validate_options
@dataclass(frozen=True)
class AdviceSettings:
    """Settings of every question about a cluster, from the file of `--settings`.

    Attributes
    ----------
    strict : answer nothing and exit 1 when a warning says that a file is not whole
    accept : codes of warnings that are left out, such as no-pdb
    pending : of `nodes`: whether nodes are kept for pending pods
    fail_above : of `nodes`: exit 1 when more than this share of the nodes can go
    """

    strict: bool = False
    accept: tuple[str, ...] = ()
    pending: bool = True
    fail_above: Annotated[float | None, Between(0, 1, "a share")] = None


@dataclass(frozen=True)
class StateOptions:
    """Options on how a cluster's state is read, and which constraints of it are released.

    A field without a name of its value is an option of the commands whose class gives it one.

    Attributes
    ----------
    release : let pods move that are held in place for this reason (check that they can): volumes,
        budget, scheduler, owner, 'resource claims'; repeat for more
    time_limit : seconds for all after reading
    prices : prices of nodes: type,price or node,price
    add : add the pods of workloads, in YAML or JSON: Deployment, StatefulSet, Job, DaemonSet, Pod
    replicas : pods of each workload, or of that shape
    shape : add pods of one size: cpu=4,memory=16Gi,gpu=1
    """

    release: Annotated[list[str] | None, "KIND"] = None
    time_limit: Annotated[float, "S"] = 60.0
    settings: SettingsFile = None
    prices: str | None = None
    add: str | None = None
    replicas: int | None = None
    shape: str | None = None

    @cached_property
    def rare(self) -> AdviceSettings:
        """Rarely needed settings of a question, from the file of `--settings`."""
        found: AdviceSettings = read_settings(self.settings, AdviceSettings)[0]
        return found

    def read(self, states: list[str]) -> ClusterState:
        """Read a cluster's state from files, and add the pods that the options name. With the
        setting `strict`, a state with warnings is refused.

        Raises
        ------
        NoSolution
            There are warnings, and the reading is strict.
        """
        from ..cluster.report.text_report import warning_lines
        from ..cluster.state.completeness import accepted
        from ..cluster.state.new_pods import with_shape
        from ..cluster.state.reading import read_state

        if self.add is None and self.shape is None and self.replicas is not None:
            raise InvalidOption("replicas is given alone; expected --add or --shape beside it")
        with waiting("reading"):
            state = read_state(states, prices=self.prices, added=self.add, replicas=self.replicas)
        state = replace(state, warnings=accepted(state, self.rare.accept))
        if self.rare.strict and state.warnings:
            for line in warning_lines(state):
                say(line)
            codes = [each.code for each in state.warnings]
            raise NoSolution(
                "not answered, as the file is not whole (strict = true); or set accept = "
                f"{json.dumps(list(dict.fromkeys(codes)))}"
            )
        return with_shape(state, self.shape, self.replicas or 1) if self.shape else state


@dataclass(frozen=True)
class NodesOptions(StateOptions):
    """Options on how a cluster's state is read, with the prices of its nodes."""

    prices: Annotated[str | None, "TYPES.csv"] = None


@dataclass(frozen=True)
class AddOptions(StateOptions):
    """Options on how a cluster's state is read, and the workloads that are added to it."""

    add: Annotated[str | None, "PODS"] = None


@dataclass(frozen=True)
class NewOptions(AddOptions):
    """Options on how a cluster's state is read, and the pods that are added to it."""

    replicas: Annotated[int | None, "N", AtLeast(1)] = None
    shape: Annotated[str | None, "AMOUNTS"] = None


@dataclass(frozen=True)
class ShowOptions:
    """Options on how an answer about a cluster is shown.

    Attributes
    ----------
    report : write everything as a page of its own here
    details : print what the answer rests on, and every name
    plan : write the plan and its certificate here
    emit : print what to run, and run nothing: kubectl, csv
    """

    report: Annotated[Path | None, "PAGE.html"] = None
    details: Annotated[bool, "--details"] = False
    as_json: Json = False
    plan: Path | None = None
    emit: str | None = None

    def read(self, states: list[str], source: StateOptions) -> ClusterState:
        """Read the state in some files, once the other options are known to be right.

        Parameters
        ----------
        states : names of the files, of bundled states, or "-".
        source : how they are read.
        """
        from ..analysis.report.page import require_report
        from ..cluster.plan.answer import require_kinds
        from ..cluster.report.emit import require_form
        from ..solvers.outcome import validate_time_limit

        require_form(self.emit)
        require_kinds(source.release or ())
        validate_time_limit(source.time_limit)
        require_writable(self.plan, *states)
        require_report(self.report, *states)
        state = source.read(states)
        require_form(self.emit, state.platform)
        return state

    def ask(
        self,
        message: str,
        question: Callable[..., Answer],
        state: ClusterState,
        source: StateOptions,
        *given: Any,
        **more: Any,
    ) -> Answer:
        """Compute the answer to a question about a cluster's state, show it, and return it; stderr
        says meanwhile what is done.

        Exits where the answer is not what was hoped for, or an interrupt cut its plan short.
        """
        from ..cluster.report.answers import shown
        from ..cluster.report.text_report import answer_lines
        from ..solvers.interrupts import exit_code

        released = tuple(source.release or ())
        with waiting(message) as tell:
            answer = question(
                state, *given, say=tell, released=released, time_limit=source.time_limit, **more
            )
        found = shown(answer)
        text = self._write_plan(found)
        if self.report is not None:
            from ..analysis.report.page import write_page
            from ..cluster.report.page import answer_page

            write_page(answer_page(found, ["cotenant", *sys.argv[1:]]), self.report)
            say(f"{self.report} written")
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
        return answer

    def _write_plan(self, found: Shown) -> str | None:
        """Write the plan to the file of `--plan`, if given; return the commands that `--emit` asks
        for, if given.

        Raises
        ------
        NoSolution
            One of them is given, and the answer has no plan.
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
            document = json.dumps(found.advice.document(), allow_nan=False, indent=2)
            write_text(self.plan, document + "\n")
        return text


@dataclass(frozen=True)
class PlanOptions(ShowOptions):
    """Options on how an answer is shown, where its plan is written, and how it is printed."""

    plan: Annotated[Path | None, "PLAN.json"] = None
    emit: Annotated[str | None, "FORM"] = None
