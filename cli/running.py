"""The commands of `run`: a queue done on machines, and advice to its jobs."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ..analysis.report.console import clock_text, console, print_json, print_tables, say, waiting
from ..cluster.run.settings import Settings
from ..solvers.interrupts import exit_code
from .arguments import Json, Options, SettingsFile, read_settings
from .codes import NO_ANSWER
from .completion import methods as method_names
from .functions import given_method

if TYPE_CHECKING:
    from ..cluster.run.coordinator import QueueStatus, Summary


def queue(
    jobs: Annotated[Path, "QUEUE.toml"],
    *,
    store: Annotated[Path, "LAB.db"],
    local: Annotated[int, "N"] = 1,
    method: Annotated[str, "-m --method", method_names] = "stable",
    option: Options = None,
    time_limit: Annotated[float, "--time-limit S"] = 2.0,
    settings: SettingsFile = None,
    other_machine: Annotated[bool, "--other-machine"] = False,
    emit: Literal["sbatch"] | None = None,
    as_json: Json = False,
) -> None:
    """Run the jobs of a queue, paired by measured penalties.

    The same command continues where it stopped. Ctrl-C begins no new job and waits for those that
    run; a second Ctrl-C kills them. Exit 1 when a job failed or is lost.

    Parameters
    ----------
    jobs : the jobs, as [[job]] tables: name, type, command
    store : the file that `measure` wrote; every run is added
    local : divide this computer into so many machines
    method : pairs each epoch's jobs; or your module:function
    time_limit : seconds for each decision
    other_machine : use what was measured on another kind of machine
    emit : print a script that submits all jobs, and run nothing
    """
    from ..catalog import find
    from ..cluster.run.run import agent_options, sbatch_script
    from ..cluster.run.run import run as running
    from ..instances.colocation.instance import Colocation
    from ..instances.problem.options import parse_options

    chosen = given_method(method)
    function = chosen if callable(chosen) else find(Colocation.problem, chosen).resolve()
    options = parse_options((function, agent_options), option or [], f"method {method!r}")
    given: dict[str, Any] = {
        "method": chosen, "options": options, "time_limit": time_limit,
        "settings": read_settings(settings, Settings)[0],
    }  # fmt: skip
    if emit is not None:
        typer.echo(sbatch_script(jobs, store, **given), nl=False)
        return
    with waiting("running") as show:
        summary = running(
            jobs,
            store,
            local=local,
            other_machine=other_machine,
            progress=lambda status: show(status_words(status)),
            tell=say,
            **given,
        )
    if as_json:
        print_json(asdict(summary))
    else:
        _print_summary(summary, store)
    if summary.stop == "interrupted":
        raise typer.Exit(exit_code())
    if summary.unfinished:
        raise typer.Exit(NO_ANSWER)


def status_words(status: QueueStatus) -> str:
    """Progress of a queue, in lines for a terminal of 80 columns."""
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
    """Print the end of a queue as a table of facts."""
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
    print_tables([facts_table(facts, str(store))])
    for name, why in summary.unfinished:
        say(f"{name} {why}")


def advice(
    store: Annotated[Path, "LAB.db"],
    job: Annotated[str, "JOB"],
    *,
    alpha: Annotated[float | None, "GAIN"] = None,
    as_json: Json = False,
) -> None:
    """Tell one job of a `run` queue to take part or to break away.

    Says with whom, and what the job gains.

    Parameters
    ----------
    store : what `run` keeps its queue in
    job : the job's number or name
    alpha : least gain that counts; else the queue's
    """
    from ..cluster.run.job_advice import job_advice

    found = job_advice(store, job, alpha=alpha)
    if as_json:
        print_json(asdict(found))
    else:
        screen = console()
        for line in found.lines():
            screen.print(line, highlight=False, soft_wrap=True)
