"""The command `report`: the page of runs that were compared."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..analysis.report.console import require_folder, say, waiting
from .arguments import Columns, InstancesShown, SummaryOnly, listed


def report(
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUNS.jsonl", help="Rows that `cotenant compare --out` wrote."),
    ],
    out: Annotated[Path, typer.Option(metavar="REPORT.html", help="Write the page here.")],
    figures: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Write every picture here, as PDF and PNG."),
    ] = None,
    tables: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Write every table here, as CSV and LaTeX."),
    ] = None,
    instances_shown: InstancesShown = None,
    summary_only: SummaryOnly = False,
    width: Annotated[
        float | None,
        typer.Option(
            metavar="CM", help="Width of your paper's column, which figures and LaTeX tables fit."
        ),
    ] = None,
    columns: Columns = None,
) -> None:
    """Write one HTML page about comparisons, with pictures.

    It holds gaps, profiles and maps of what fairness costs, and loads nothing from the network.
    """
    from ..analysis.report.content import MOST_PICTURED
    from ..analysis.report.page import require_report, write_report
    from ..analysis.report.read_runs import gather
    from ..instances.problem.emitted import command_line, operand

    require_report(out, *runs)
    require_folder(figures)
    require_folder(tables)
    rows = gather(runs)
    words = ["cotenant", "report", *(operand(str(path)) for path in runs), "--out", str(out)]
    shown = MOST_PICTURED if instances_shown is None else instances_shown
    words += [] if instances_shown is None else ["--instances-shown", str(shown)]
    words += ["--summary-only"] if summary_only else []
    with waiting("writing the page") as show:
        say_written(
            write_report(
                rows,
                out,
                figures=figures,
                tables=tables,
                command=command_line(words),
                shown=shown,
                summary_only=summary_only,
                width=width,
                columns=listed(columns),
                progress=show,
            )
        )


def say_written(paths: list[Path]) -> None:
    """Say which page was written, how large it is, and what stands beside it."""
    others = f", and {len(paths) - 1} files of its pictures and tables" if len(paths) > 1 else ""
    size = paths[0].stat().st_size
    say(f"{paths[0]}: {f'{size / 1e6:.1f} MB' if size >= 1e6 else f'{size / 1e3:.0f} kB'}{others}")


def say_reused(number: int, what: str, out: Path | None) -> None:
    """On stderr: how many rows were not made anew."""
    if number:
        say(f"{number} {what}{'s' * (number > 1)} taken from {out}")
