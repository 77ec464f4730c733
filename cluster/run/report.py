"""The page of a queue: predicted and measured, over the epochs, and how jobs ended."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...analysis.report.content import Content, InstancePart, PageFigure, ProblemPart
from ...analysis.report.page import write_content
from ...analysis.report.picture import Chart, Series
from ...analysis.report.table import Column, Table
from ...analysis.report.tables import facts_table
from ...analysis.run.result import versions
from ...instances.problem.emitted import command_line
from ..measure.predictor import Predictor
from ..measure.profiles import profile_of
from ..measure.store import opened
from .first_come import gain_over_first_come
from .queue_store import QueueStore

EPOCHS = (
    "SELECT epoch.id, 100 * penalty, 100 * low, 100 * high, 100 * AVG(measured), note "
    "FROM epoch LEFT JOIN placed ON placed.epoch = epoch.id "
    "LEFT JOIN seat ON seat.placed = placed.id GROUP BY epoch.id ORDER BY epoch.id"
)
"""Of each epoch: penalty predicted, low, high, and measured, in points, and its note."""

TYPES = (
    "SELECT type, COUNT(DISTINCT queued.id), COUNT(DISTINCT CASE state WHEN 'done' THEN queued.id "
    "END), COUNT(DISTINCT CASE WHEN state IN ('failed', 'lost') THEN queued.id END), "
    "100 * AVG(CASE WHEN measured IS NOT NULL THEN predicted END), 100 * AVG(measured), "
    "COUNT(measured) FROM queued LEFT JOIN seat ON queued.id = seat.queued GROUP BY type"
)
"""Of each type: jobs, done, failed, penalty predicted and measured [points], runs measured."""

_VOID = (
    "SELECT COUNT(*) || ' groups', 'void (' || state || ')', reason FROM visit WHERE round < 0 AND "
    "state != 'ok' GROUP BY state, reason ORDER BY COUNT(*) DESC LIMIT 20"
)


def write_queue_report(
    store: str | os.PathLike[str], path: str | os.PathLike[str], command: Sequence[str] = ()
) -> Path:
    """Write the page of the queue of a store; returns its path.

    Raises
    ------
    InvalidFile
        The store is none, no queue was run on it, or the page cannot be written.
    InvalidOption
        jinja2 or matplotlib is missing.
    """
    with opened(store) as rows:
        queue_store = QueueStore(rows)
        queue_store.require()
        epochs, types = rows.rows(EPOCHS), rows.rows(TYPES)
        unfinished = queue_store.entries("state IN ('failed', 'lost')")
        failed = [(one.name, one.state, one.reason) for one in unfinished] + rows.rows(_VOID)
        settings = queue_store.run_settings()
        whole = Predictor(profile_of(rows), settings.get("voids")).instance()
        gain = gain_over_first_come(queue_store, whole)
    ran = {
        "method": settings.get("method", "-"),
        "options": ", ".join(f"{k}={v}" for k, v in settings.get("options", {}).items()),
        "epochs": len(epochs),
        "jobs": sum(row[1] for row in types),
    }
    over_epochs = InstancePart(
        "Over the epochs", "", None, None, (_figure(epochs),),
        tuple(f"epoch {row[0]}: {row[5]}" for row in epochs if row[5]),
    )  # fmt: skip
    part = ProblemPart(
        name="queue",
        sentences=(f"First come, first served would cost {gain.words}.",) if gain else (),
        tables=(_by_type(types),),
        pictures=(),
        instances=(over_epochs,),
        failures=_failures(failed),
        runs=None,
    )
    page = Content(
        title=f"The queue of {Path(store).name}",
        about="The penalties predicted for jobs that ran together, those that were measured, and "
        "how the jobs ended.",
        ran=facts_table(ran, "What was run"),
        versions=facts_table(dict(versions()), "Versions"),
        commands=(command_line(command),) if command else (),
        problems=(part,),
    )
    return write_content(page, path)


def _by_type(types: Sequence[tuple[Any, ...]]) -> Table:
    names = ("jobs", "done", "failed", "predicted, points", "measured, points", "runs measured")
    columns = (
        Column("type", bold=True),
        *(Column(name, numeric=True, text=_number) for name in names),
    )
    return Table("jobs-by-type", "Jobs by type", columns, tuple(types))


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}" if isinstance(value, float) else f"{value}"


def _figure(epochs: Sequence[tuple[Any, ...]]) -> PageFigure:
    def series(name: str, values: int, kind: Any, ends: bool = False) -> Series:
        there = [row for row in epochs if row[values] is not None]
        columns = [tuple(row[at] for row in there) for at in (0, values, 2, 3)]
        if not ends:
            return Series(name, columns[0], columns[1], kind, strong=True)
        return Series(name, columns[0], columns[1], kind, low=columns[2], high=columns[3])

    chart = Chart(
        "penalty-over-epochs", "Penalty, predicted and measured", "epoch", "mean penalty [points]",
        (series("predicted, of the jobs placed", 1, "line+points", True),
         series("measured", 4, "points")),
        "The mean penalty that was predicted of the jobs placed in each epoch, with its interval, "
        "and the mean that was measured of those of which it could be.",
    )  # fmt: skip
    return PageFigure(chart, chart.table(), "")


def _failures(failed: Sequence[tuple[Any, ...]]) -> Table | None:
    columns = (Column("what"), Column("state"), Column("reason"))
    title = "What failed, and what did not count"
    return Table("failures", title, columns, tuple(failed)) if failed else None
