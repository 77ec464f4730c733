"""The command line: `cotenant COMMAND`, and how it ends."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from ..analysis.report.console import open_missing_streams, quiet_stdout, say
from ..instances.problem.errors import (
    CotenantError,
    InfeasibleSolution,
    NoSolution,
    NotAdded,
    at_command_line,
)
from ..solvers.stopwatch import Starting
from . import (
    analyzing,
    bounds,
    comparing,
    installing,
    instances,
    listing,
    measuring,
    papers,
    proofs,
    reporting,
    running,
    solving,
)
from .codes import BAD_INPUT, DONE, INTERRUPTED, NO_ANSWER, kept
from .command import command as as_command
from .completion import prepare
from .help import Listing, Sections, examples_of, option_hint, usage_lines

app = typer.Typer(
    name="cotenant",
    cls=Sections,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Exact optimization models for sharing a datacentre, beside the policies that "
    "clusters use.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _say_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"cotenant {version('cotenant')}")
        raise typer.Exit(DONE)


@app.callback()
def whole(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_say_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Handle the options that stand before a command."""
    mark = at_command_line.set(True)
    context.call_on_close(lambda: at_command_line.reset(mark))


def _named(*functions: Callable[..., None]) -> dict[str, Callable[..., None]]:
    return {each.__name__: each for each in functions}


COMMANDS = _named(
    solving.solve, comparing.compare, reporting.report, reporting.merge, listing.methods,
    instances.show, instances.generate, instances.convert, listing.fetch, listing.schema,
    proofs.check, proofs.prove, proofs.verify, measuring.measure, measuring.profiles,
    papers.reproduce, installing.completion, installing.warm,
)  # fmt: skip
"""The commands, which `help.SECTIONS` puts in order."""


def advise() -> dict[str, Callable[..., None]]:
    """Load the commands of `advise`; their options come from modules about logs and clusters."""
    from . import advice, fairness

    return _named(
        advice.nodes, advice.drain, advice.safe, advice.fit, advice.buy, advice.repair,
        advice.gpus, fairness.fairness,
    )  # fmt: skip


GROUPS: dict[str, tuple[str, Callable[[], dict[str, Callable[..., None]]]]] = {
    "analyze": (
        "Find stable pairings, the core, and gains by misreports.",
        lambda: _named(analyzing.matchings, analyzing.core, analyzing.misreports),
    ),
    "run": (
        "Run a queue of jobs on machines, and advise its jobs.",
        lambda: _named(running.queue, running.advice),
    ),
    "advise": (
        "Advise on a whole cluster from files of its state. Nothing connects to the cluster.",
        advise,
    ),
    "bounds": (
        "Keep a table of instances, best answers and proved bounds.",
        lambda: _named(bounds.add, bounds.show, bounds.check),
    ),
    "new": (
        "Write the files of something new into a checkout.",
        lambda: _named(installing.problem),
    ),
}
"""Commands of commands, with their help."""


class _Group(TyperGroup):
    """Command with subcommands, which are loaded when it is called."""

    @property
    def commands(self) -> Any:
        return _commands_of(self.name or "")

    @commands.setter
    def commands(self, _: object) -> None:
        """Commands of the group that are known before it is loaded: none."""


@cache
def _commands_of(group: str) -> Any:
    inner = typer.Typer(rich_markup_mode=None)
    for name, command in GROUPS[group][1]().items():
        inner.command(name, epilog=examples_of(f"{group} {name}"))(as_command(command))
    return typer.main.get_group(inner).commands


for name, command in COMMANDS.items():
    kind = Listing if name in ("generate", "convert") else None
    app.command(name, epilog=examples_of(name), cls=kind)(as_command(command))
for group, (words, _) in GROUPS.items():
    app.add_typer(typer.Typer(cls=_Group, help=words, no_args_is_help=True), name=group)


@cache
def command_tree() -> Any:
    """All commands as click's objects, which take 40 ms to build."""
    return typer.main.get_command(app)


def run() -> int:
    """Run the command that the arguments name; returns its exit code."""
    kept.clear()
    open_missing_streams()
    prepare()
    Starting.announce("loading libraries and compiling kernels")
    code: object = DONE
    try:
        with quiet_stdout():
            code = command_tree()(standalone_mode=False, prog_name="cotenant")
    except SystemExit as leaving:
        code = leaving.code
    except _UsageError as error:
        for line in usage_lines(error, sys.argv[1:], command_tree()):
            say(line)
        return BAD_INPUT
    except (NoSolution, InfeasibleSolution, NotAdded) as error:
        return _fail(error, NO_ANSWER)
    except CotenantError as error:
        return _fail(error, BAD_INPUT)
    except OSError as error:  # a stream, or a folder of the system such as /tmp
        return _fail(error, BAD_INPUT)
    # a command's own Ctrl-C, before there was anything to keep
    if code == INTERRUPTED and not kept:
        raise KeyboardInterrupt
    if (seconds := Starting.spent) > LONG_START:  # what is in no method's seconds
        from ..solvers.compiled import why_uncached

        why = why_uncached()
        anew = f"; kernels are compiled again in every run: {why}" if why else ""
        parts = "libraries, kernels, processes"
        say(f"+ {seconds:.1f} s to start ({parts}), not in the seconds of runs{anew}")
    return code if isinstance(code, int) else DONE


LONG_START = 3.0
"""Seconds of loading and compiling that are worth a line."""


_UsageError: Any = typer.BadParameter.__mro__[1]
"""click's; typer may have a click of its own, which it does not hand out."""


_LONGEST = 1200
"""Letters of an error that are said."""


def _fail(error: Exception, code: int) -> int:
    words = str(error)
    if len(words) > _LONGEST:  # a name of a file may have millions of letters
        words = f"{words[: _LONGEST // 2]} ... {words[-_LONGEST // 2 :]}"
    say(f"error: {words}")
    for word in sys.argv[1:]:
        if words.startswith(f"{word} does not exist") and (hint := option_hint(word)):
            say(hint)
    return code
