"""The commands `measure` and `profiles`: from commands to penalties, and to an instance."""

from __future__ import annotations

import math
import re
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ..analysis.report.console import (
    Form,
    clock_text,
    print_json,
    print_tables,
    require_writable,
    say,
    waiting,
)
from ..cluster.measure.settings import RareSettings, Settings
from ..instances.problem.errors import InvalidOption
from ..solvers.interrupts import exit_code
from .arguments import As, Json, SettingsFile, read_settings
from .codes import NO_ANSWER

if TYPE_CHECKING:
    from ..cluster.measure.measure import MeasurementStatus, Summary

_UNITS = {"": 1.0, "s": 1.0, "min": 60.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def _seconds(text: str) -> float:
    """Parse a duration such as "90s", "20min" or "2h" to seconds."""
    found = re.fullmatch(r"([0-9]*\.?[0-9]+) *([a-z]*)", text.strip())
    if found is None or found[2] not in _UNITS or float(found[1]) <= 0:
        raise InvalidOption(
            f"budget is {text!r}; expected a time above 0, such as 90s, 20min or 2h"
        )
    return float(found[1]) * _UNITS[found[2]]


def measure(
    file: Annotated[str, "JOBS.toml"],
    *,
    store: Annotated[Path, "LAB.db"],
    shown: Annotated[dict[str, Any], Settings],
    budget: Annotated[str | None, "TIME"] = None,
    cpus: Annotated[str | None, "LIST"] = None,
    other_machine: Annotated[bool, "--other-machine"] = False,
    settings: SettingsFile = None,
    as_json: Json = False,
) -> None:
    """Measure what your own commands lose beside each other.

    Measures in random rounds, and gives intervals. The same command continues where it stopped:
    Ctrl-C or a crash loses only the run in progress.

    Parameters
    ----------
    file : the commands, as [[job]] tables
    store : add every run to this file; it may exist already
    budget : begin no new run after this time: 90s, 20min, 2h
    cpus : CPUs of the two seats, such as 0-3,8; those of one cache else
    other_machine : begin a matrix of another machine in the same file
    """
    from ..cluster.measure.jobs import read_jobs
    from ..cluster.measure.measure import measure as run

    jobs = read_jobs(file)
    require_writable(store, file)
    with waiting("measuring") as show:
        summary = run(
            jobs,
            store,
            cpus=cpus,
            other_machine=other_machine,
            progress=lambda status: show(_status_words(status)),
            budget=None if budget is None else _seconds(budget),
            **asdict(*read_settings(settings, RareSettings)),
            **shown,
        )
    if as_json:
        finite = math.isfinite(summary.widest)
        print_json(asdict(summary) | {"widest": summary.widest if finite else None})
    else:
        _print_summary(summary, store)
    if summary.stop == "interrupted":
        raise typer.Exit(exit_code())
    if summary.stop in ("hopeless", "busy"):
        raise typer.Exit(NO_ANSWER)


def profiles(
    store: Annotated[Path, "LAB.db"],
    *,
    out: Annotated[Path | None, "JOBS.json"] = None,
    voids: Literal["forbid", "predict"] | None = None,
    time: Literal["cpu", "wall"] | None = None,
    confidence: Annotated[float | None, "P"] = None,
    as_json: Json = False,
    form: As = Form.TABLE,
) -> None:
    """Show the measured penalties with their intervals.

    Shows also what failed; with --out, writes the instance.

    Parameters
    ----------
    store : what `measure` wrote
    out : write the instance, with its intervals, here
    voids : what pairs that failed twice mean, for --out
    time : other seconds than those measured by
    confidence : another one than was measured for
    """
    from ..cluster.measure.profiles import profiles as read
    from ..instances.problem import write
    from ..instances.problem.emitted import file_word

    require_writable(out, store)
    found = read(store, time=time, confidence=confidence)
    if as_json:
        print_json(found.document())
    else:
        print_tables(found.tables(), form)
    if out is not None:
        made = found.instance(voids, out.name.partition(".")[0])
        write(made, out)
        say(f"{out}: {made.types} jobs, {made.certainty}")
        say(
            f"next: cotenant solve {file_word(out)} -m stable -o alpha=0.03 -o uncertainty=possible"
        )


def _print_summary(summary: Summary, store: Path) -> None:
    """Print the end of a measurement campaign as a table of facts."""
    from ..analysis.report.tables import facts_table
    from ..instances.problem.emitted import file_word

    visits = max(1, summary.visits)
    facts: dict[str, object] = {
        "stopped": f"{summary.stop}: {summary.why}",
        "cells done": f"{summary.done} of {summary.cells}",
        "widest": _points(summary.widest),
        "rounds": summary.rounds,
        "runs": f"{summary.visits}, {summary.busy / visits:.0%} busy, {summary.failed} failed",
        "time": clock_text(summary.seconds),
    }
    print_tables([facts_table(facts, str(store))])
    for note in summary.notes:
        say(note)
    say(f"next: cotenant profiles {file_word(store)}")


def _status_words(status: MeasurementStatus) -> str:
    left = "" if status.left is None else f", {clock_text(status.left)} left"
    return (
        f"{status.now}; {status.done} of {status.cells} done, widest {_points(status.widest)}, "
        f"{status.busy:.0%} busy{left}"
    )


def _points(half: float) -> str:
    return f"+-{100 * half:.1f} points" if half < 1 else "unknown"
