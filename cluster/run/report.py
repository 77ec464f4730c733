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
from .placement import group_estimates
from .queue_store import QueueStore

_MEASURED = (
    "SELECT epoch, AVG(predicted), AVG(measured), COUNT(measured) FROM seat JOIN placed "
    "ON placed = placed.id WHERE measured IS NOT NULL GROUP BY epoch ORDER BY epoch"
)
_KINDS = (
    "SELECT type, COUNT(*), SUM(state = 'done'), SUM(state = 'waiting' OR state = 'running'), "
    "SUM(state = 'failed'), SUM(state = 'lost'), SUM(attempts) FROM queued GROUP BY type "
    "ORDER BY type"
)
_SEATS = (
    "SELECT type, AVG(predicted), AVG(measured), COUNT(measured) FROM seat JOIN queued "
    "ON queued.id = seat.queued WHERE measured IS NOT NULL GROUP BY type"
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
        epochs = rows.rows(
            "SELECT id, waiting, free, placed, penalty, low, high, certain, possible, decided, "
            "note FROM epoch ORDER BY id"
        )
        measured = rows.rows(_MEASURED)
        kinds = rows.rows(_KINDS)
        seen = {row[0]: row[1:] for row in rows.rows(_SEATS)}
        groups = dict(rows.rows("SELECT state, COUNT(*) FROM placed GROUP BY state"))
        void = rows.rows(
            "SELECT visit.state, reason, COUNT(*) FROM visit WHERE round < 0 AND "
            "visit.state != 'ok' GROUP BY visit.state, reason ORDER BY COUNT(*) DESC LIMIT 20"
        )
        unfinished = queue_store.entries("state IN ('failed', 'lost')")
        settings = queue_store.run_settings()
        model = Predictor(profile_of(rows), settings.get("voids"))
        gain = gain_over_first_come(queue_store, group_estimates(model, settings.get("seats", 2)))
    page = Content(
        title=f"The queue of {Path(store).name}",
        about="The penalties predicted for jobs that ran together, those that were measured, and "
        "how the jobs ended.",
        ran=facts_table(
            {
                "method": settings.get("method", "-"),
                "seats of a machine": settings.get("seats", 2),
                "options": ", ".join(f"{k}={v}" for k, v in settings.get("options", {}).items()),
                "epochs": len(epochs),
                "groups": ", ".join(f"{number} {state}" for state, number in groups.items()),
                "jobs": sum(row[1] for row in kinds),
            },
            "What was run",
        ),
        versions=facts_table(dict(versions()), "Versions"),
        commands=(command_line(command),) if command else (),
        problems=(
            ProblemPart(
                name="queue",
                sentences=(
                    *_sentences(measured, epochs),
                    *([f"First come, first served would cost {gain.words}."] if gain else []),
                ),
                tables=(_by_type(kinds, seen),),
                pictures=(),
                instances=(
                    InstancePart(
                        "Over the epochs", "", None, None, _pictures(epochs, measured),
                        tuple(f"epoch {row[0]}: {row[10]}" for row in epochs if row[10]),
                    ),
                ),
                failures=_failures(unfinished, void),
                runs=None,
            ),
        ),
    )  # fmt: skip
    return write_content(page, path)


def _sentences(measured: list[tuple[Any, ...]], epochs: list[tuple[Any, ...]]) -> tuple[str, ...]:
    number = sum(row[3] for row in measured)
    if not number:
        return ("No penalty could be measured: no run had a run alone of its hour beside it.",)
    predicted, seen = (
        100 * sum(row[place] * row[3] for row in measured) / number for place in (1, 2)
    )
    slowest = max((row[9] for row in epochs), default=0.0)
    return (
        f"Over {number} runs the measured penalty is {seen:.1f} points in the mean, predicted "
        f"{predicted:.1f}.",
        f"The slowest of {len(epochs)} decisions took {slowest:.2f} s.",
    )


def _by_type(kinds: list[tuple[Any, ...]], seen: dict[str, tuple[Any, ...]]) -> Table:
    names = ("jobs", "done", "open", "failed", "lost", "begun")
    points = ("predicted, points", "measured, points", "runs measured")
    columns = (
        Column("type", bold=True),
        *(Column(name, numeric=True) for name in names),
        *(
            Column(name, numeric=True, text=lambda v: "-" if v is None else f"{v:.1f}")
            for name in points[:2]
        ),
        Column(points[2], numeric=True),
    )
    rows = []
    for row in kinds:
        predicted, measured, number = seen.get(row[0], (None, None, 0))
        values = (value if value is None else 100 * value for value in (predicted, measured))
        rows.append((*row, *values, number))
    return Table("jobs-by-type", "Jobs by type", columns, tuple(rows))


def _pictures(
    epochs: list[tuple[Any, ...]], measured: list[tuple[Any, ...]]
) -> tuple[PageFigure, ...]:
    paired = [row for row in epochs if row[4] is not None]
    ends = all(row[5] is not None for row in paired)
    predicted = Series(
        "predicted, of the jobs placed",
        tuple(row[0] for row in paired),
        tuple(100 * row[4] for row in paired),
        "line+points",
        low=tuple(100 * row[5] for row in paired) if ends else (),
        high=tuple(100 * row[6] for row in paired) if ends else (),
    )
    numbers = tuple(row[0] for row in measured)
    values = tuple(100 * row[2] for row in measured)
    seen = Series("measured", numbers, values, "points", strong=True)
    words = (
        "The mean penalty that was predicted of the jobs placed in each epoch, with its interval, "
        "and the mean that was measured of those of which it could be."
    )
    chart = Chart(
        "penalty-over-epochs", "Penalty, predicted and measured", "epoch",
        "mean penalty [points]", (predicted, seen), words,
    )  # fmt: skip
    return (PageFigure(chart, chart.table(), ""),)


def _failures(unfinished: Sequence[Any], void: list[tuple[Any, ...]]) -> Table | None:
    rows = [(entry.name, entry.state, entry.reason) for entry in unfinished]
    rows += [(f"{number} groups", f"void ({state})", why) for state, why, number in void]
    columns = (Column("what"), Column("state"), Column("reason"))
    return (
        Table("failures", "What failed, and what did not count", columns, tuple(rows))
        if rows
        else None
    )
