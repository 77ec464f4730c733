"""The command `advise series`, and the options of `advise nodes` for answers over time."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..analysis.report.console import print_json, print_tables, say
from .advice_options import write_report
from .arguments import As, Form, Json

if TYPE_CHECKING:
    from ..advice.plan import Advice


@dataclass(frozen=True)
class SeriesOptions:
    """Where the numbers of an answer go that are looked at over time.

    Attributes
    ----------
    series : add a line to this file for `advise series`
    prometheus : write metrics for a textfile collector here
    name : what both call the state in place of its file's name
    """

    series: Annotated[Path | None, "FILE"] = None
    prometheus: Annotated[Path | None, "FILE.prom"] = None
    name: Annotated[str | None, "NAME"] = None

    def require(self) -> None:
        """Refuse, before any work, a series that is something else, or that another one writes."""
        if self.series is not None:
            from ..advice.series import read_series
            from ..analysis.run.lock import locked

            with locked(self.series, "--series"):
                if self.series.exists():
                    read_series(self.series)

    def write(self, advice: Advice) -> None:
        """Write the numbers of an answer."""
        from ..advice.series import append_entry, entry_of, line_of, prometheus_text
        from ..instances.problem.errors import InvalidFile
        from ..instances.problem.files import write_text

        entry = entry_of(advice, self.name)
        if self.series is not None:
            try:
                append_entry(self.series, entry)
            except InvalidFile:
                say(f"not added to {self.series}; add this line by hand: {line_of(entry)}")
                raise
        if self.prometheus is not None:
            write_text(self.prometheus, prometheus_text(entry))


def series(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `nodes --series` wrote.")],
    report: Annotated[
        Path | None, typer.Option(metavar="PAGE.html", help="Draw it on a page of its own here.")
    ] = None,
    form: As = Form.TABLE,
    as_json: Json = False,
) -> None:
    """Show the answers of `advise nodes --series` over time."""
    from ..advice.series import read_series, series_page, series_table
    from ..analysis.report.page import require_report
    from ..instances.problem.errors import InvalidFile

    require_report(report, file)
    entries, _ = read_series(file)
    if not entries:
        raise InvalidFile(f"{file} has no entry yet; `advise nodes STATE --series` adds one")
    if report is not None:
        write_report(series_page(entries), report)
    if as_json:
        print_json(entries)
    else:
        print_tables([series_table(entries)], form)
