"""The commands `run` and `advise job`: a queue done on machines, and advice to its jobs."""

from __future__ import annotations

import sys
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..analysis.report.console import clock_text, console, print_json, print_tables, say, waiting
from ..cluster.run.settings import Settings
from ..solvers.interrupts import exit_code
from .arguments import Json, Options
from .codes import NO_ANSWER
from .completion import methods as method_names
from .functions import given_method
from .settings_file import SettingsFile, read_settings

if TYPE_CHECKING:
    from ..cluster.run.status import QueueStatus, Summary


class Emit(StrEnum):
    """Who runs the jobs instead."""

    SBATCH = "sbatch"


def run(
    queue: Annotated[
        Path,
        typer.Argument(
            metavar="QUEUE.toml", help="The jobs, as [[job]] tables: name, type, command."
        ),
    ],
    store: Annotated[
        Path,
        typer.Option(metavar="LAB.db", help="The file that `measure` wrote; every run is added."),
    ],
    local: Annotated[
        int, typer.Option(metavar="N", help="Divide this computer into so many machines.")
    ] = 1,
    method: Annotated[
        str,
        typer.Option(
            "-m",
            "--method",
            help="Pairs each epoch's jobs; or your module:function.",
            autocompletion=method_names,
        ),
    ] = "stable",
    option: Options = None,
    time_limit: Annotated[
        float, typer.Option("--time-limit", metavar="S", help="Seconds for each decision.")
    ] = 2.0,
    settings: SettingsFile = None,
    other_machine: Annotated[
        bool,
        typer.Option("--other-machine", help="Use what was measured on another kind of machine."),
    ] = False,
    report: Annotated[
        Path | None, typer.Option(metavar="RUN.html", help="Write the page of the queue here.")
    ] = None,
    emit: Annotated[
        Emit | None, typer.Option(help="Print a script that submits all jobs, and run nothing.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Run the jobs of a queue, put together by what was measured.

    The same command continues where it stopped. Ctrl-C begins no new job and waits for those that
    run; a second Ctrl-C kills them. Exit 1 when a job failed or is lost.
    """
    from ..analysis.report.page import require_report
    from ..catalog import find
    from ..cluster.run.run import agent_options
    from ..cluster.run.run import run as running
    from ..cluster.run.sbatch import sbatch_script
    from ..instances.colocation.instance import Colocation
    from ..instances.problem.options import parse_options

    chosen = given_method(method)
    function = chosen if callable(chosen) else find(Colocation.problem, chosen).resolve()
    options = parse_options((function, agent_options), option or [], f"method {method!r}")
    given: dict[str, Any] = {
        "method": chosen, "options": options, "time_limit": time_limit,
        "settings": read_settings(Settings, settings),
    }  # fmt: skip
    if emit is not None:
        typer.echo(sbatch_script(queue, store, **given), nl=False)
        return
    require_report(report, queue, store)
    with waiting("running") as show:
        summary = running(
            queue,
            store,
            local=local,
            other_machine=other_machine,
            progress=lambda status: show(status_words(status)),
            tell=say,
            **given,
        )
    if report is not None:
        from ..cluster.run.report import write_queue_report

        say(f"{write_queue_report(store, report, ['cotenant', *sys.argv[1:]])} written")
    if as_json:
        print_json(asdict(summary))
    else:
        _print_summary(summary, store)
    if summary.stop == "interrupted":
        raise typer.Exit(exit_code())
    if summary.unfinished:
        raise typer.Exit(NO_ANSWER)


def status_words(status: QueueStatus) -> str:
    """A queue's standing, in lines for a terminal of 80 columns."""
    words = (
        f"epoch {status.epoch}  queue {status.waiting}  machines {status.running}/{status.machines}"
        f"  done {status.done}"
    )
    if status.failed:
        words += f"  failed {status.failed}"
    lines = [words]
    predicted, half, measured = status.means()
    if measured is not None and predicted is not None and half is not None:
        lines.append(
            f"penalty {100 * measured:.1f} (predicted {100 * predicted:.1f} +-{100 * half:.1f})"
        )
    lines.append(f"advised to leave: {status.certain} (certain), {status.possible} (possible)")
    if status.void:
        lines.append(f"void {status.void} ({status.why})")
    return "\n  ".join(lines)


def _print_summary(summary: Summary, store: Path) -> None:
    """The end of a queue in a table of facts."""
    from ..analysis.report.tables import facts_table

    states = summary.states
    idle = summary.stop == "finished" and not summary.seconds
    facts: dict[str, object] = {
        "stopped": f"{summary.stop}{': nothing was left to run' * idle}",
        "jobs": ", ".join(f"{number} {state}" for state, number in sorted(states.items())),
        "epochs": summary.epochs,
        "groups that do not count": summary.void,
        "time": clock_text(summary.seconds),
    }
    if summary.measured is not None and summary.predicted is not None and summary.half is not None:
        facts["penalty, measured"] = f"{100 * summary.measured:.1f} points"
        facts["penalty, predicted"] = f"{100 * summary.predicted:.1f} +-{100 * summary.half:.1f}"
    if summary.gain is not None:
        facts["penalty, if first come, first served"] = summary.gain.words
    print_tables([facts_table(facts, str(store))])
    for name, why in summary.unfinished:
        say(f"{name} {why}")


def advise_job(
    store: Annotated[Path, typer.Argument(metavar="LAB.db", help="What `run` keeps its queue in.")],
    job: Annotated[str, typer.Argument(metavar="JOB", help="The job's number or name.")],
    alpha: Annotated[
        float | None, typer.Option(metavar="GAIN", help="Least gain that counts; else the queue's.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Tell one job of a `run` queue to take part or to break away.

    Says with whom, and what the job gains.
    """
    from ..cluster.run.job_advice import job_advice

    found = job_advice(store, job, alpha=alpha)
    if as_json:
        print_json(found.document())
    else:
        screen = console()
        for line in found.lines():
            screen.print(line, highlight=False, soft_wrap=True)
