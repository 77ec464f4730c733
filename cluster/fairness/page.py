"""HTML page of a fairness analysis: debts, causes and debts over time, by partition."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from ...analysis.report.table import Column, Table
from ...analysis.report.tables import facts_table
from ...analysis.scheduling.fairness import Fairness
from ..report.page import AnswerPage, write_page
from ..report.text_report import PagePart
from .words import (
    FLOWS,
    alone_words,
    because,
    debts_table,
    headline,
    known_to,
    period,
    rests_on,
    verdict,
    windows_table,
)


def write_fairness_report(
    judged: Sequence[tuple[str | None, Fairness]],
    path: str | os.PathLike[str],
    command: Sequence[str] = (),
) -> Path:
    """Write the page of a fairness analysis, with one part for each partition (None: the whole
    log), and return its path.

    Raises
    ------
    InvalidFile
        The page cannot be written.
    InvalidOption
        jinja2 or matplotlib is missing.
    """
    about = "What each account contributed by the Shapley value less what it got: who is owed, "
    about += "who owes, whose jobs ran while whose waited, and the debts over time."
    parts = [part for each in judged for part in _parts(*each)]
    log = judged[0][1].found.log.name
    run = {
        "log": log,
        "jobs": sum(each.instance.jobs for _, one in judged for each in one.audits),
        "windows": sum(len(one.audits) for _, one in judged),
        "coalitions play": ", ".join(
            sorted({each.reference for _, one in judged for each in one.audits})
        ),
    }
    parts.append(PagePart("What was run", tables=(facts_table(run, "What was run"),), folded=True))
    decision = [
        f"{name}: " * (name is not None) + sentence
        for name, one in judged
        for sentence in filter(None, (verdict(one), headline(one)))
    ]
    page = AnswerPage(f"Who is owed what: {log}", about, tuple(decision), parts=tuple(parts))
    return write_page(page, path, command)


def _parts(partition: str | None, judged: Fairness) -> Iterator[PagePart]:
    """Sections of one partition: its tables, their assumptions, and the debts over time."""
    windows = [windows_table(judged)] if len(judged.audits) > 1 else []
    tables = [debts_table(judged), *windows, _causes(judged), _alone(judged)]
    name = f"{judged.found.kind}s" if partition is None else f"partition {partition}"
    tables = tables if judged.work.any() else []
    yield PagePart(name, (period(judged), *rests_on(judged)), tuple(tables), (judged.picture(),))


def _causes(judged: Fairness) -> Table:
    rows = tuple(
        (judged.names[u], because(judged, u, cause))
        for u in np.argsort(-judged.owed, kind="stable").tolist()
        if abs(judged.owed[u]) > known_to(judged, u)
        for cause in judged.causes(u)
    )
    return Table(
        "causes", "Whose jobs ran while whose waited",
        (Column(judged.found.kind, bold=True), Column("what happened")), rows,
        f"{FLOWS[:1].upper()}{FLOWS[1:]}.",
    )  # fmt: skip


def _alone(judged: Fairness) -> Table:
    rows = tuple((name, alone_words(judged, u)) for u, name in enumerate(judged.names))
    columns = (Column(judged.found.kind, bold=True), Column("what would have happened"))
    return Table("alone", f"Alone on its own {judged.unit.nouns}", columns, rows)
