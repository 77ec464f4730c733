"""The commands `report` and `merge`: what is made of the runs of comparisons."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

from ..analysis.report.console import require_writable, say, waiting
from .arguments import Columns, InstancesShown, listed


def report(
    runs: Annotated[list[Path], "RUNS.jsonl"],
    *,
    out: Annotated[Path, "REPORT.html"],
    figures: Annotated[Path | None, "FOLDER"] = None,
    tables: Annotated[Path | None, "FOLDER"] = None,
    instances_shown: InstancesShown = None,
    summary_only: bool = False,
    width: Annotated[float | None, "CM"] = None,
    columns: Columns = None,
) -> None:
    """Write one HTML page about comparisons, with pictures.

    It holds gaps, profiles and maps of what fairness costs, and loads nothing from the network.

    Parameters
    ----------
    runs : rows that `cotenant compare --out` wrote
    out : write the page here
    figures : write the pictures here, a PDF a problem with a page a picture, and its LaTeX
    tables : write the tables here, as CSV and LaTeX, those of a kind in one file
    width : width of your paper's column, which figures and LaTeX tables fit
    """
    from ..analysis.report.comparison_page import MOST_PICTURED, write_report
    from ..analysis.report.page import require_report
    from ..analysis.report.read_runs import gather
    from ..instances.problem.emitted import command_line, operand
    from ..instances.problem.files import require_folder

    require_report(out, *runs)
    require_folder(figures)
    require_folder(tables)
    rows = gather(runs)
    words = ["cotenant", "report", *(operand(str(path)) for path in runs), "--out", str(out)]
    shown = MOST_PICTURED if instances_shown is None else instances_shown
    words += [] if instances_shown is None else ["--instances-shown", str(shown)]
    words += ["--summary-only"] if summary_only else []
    with waiting("writing the page") as show:
        written = write_report(
            rows, out, figures=figures, tables=tables, command=command_line(words), shown=shown,
            summary_only=summary_only, width=width, columns=listed(columns), progress=show,
        )  # fmt: skip
        say_written(written)


def merge(
    files: Annotated[list[Path], "SHARDS.jsonl"], *, out: Annotated[Path, "RUNS.jsonl"]
) -> None:
    """Make one file of the shards of a comparison, each run once.

    What is missing, of other versions or of another comparison is refused.

    Parameters
    ----------
    files : files of the shards of one `cotenant compare`
    out : write the rows here
    """
    from ..analysis.run.lock import locked
    from ..analysis.run.shards import merge
    from ..instances.problem.files import write_text

    require_writable(out, *files)
    with locked(out):
        rows = merge(files)
        write_text(out, "".join(json.dumps(row, allow_nan=False) + "\n" for row in rows))
    say(f"{out}: {len(rows)} runs of {len(files)} files")


def say_written(paths: list[Path]) -> None:
    """Say on stderr which page was written, its size, and the number of files beside it."""
    others = f", and {len(paths) - 1} files of its pictures and tables" if len(paths) > 1 else ""
    size = paths[0].stat().st_size
    say(f"{paths[0]}: {f'{size / 1e6:.1f} MB' if size >= 1e6 else f'{size / 1e3:.0f} kB'}{others}")
