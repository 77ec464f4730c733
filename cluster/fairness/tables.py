"""Tables of debts by account and by window."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ...analysis.report.table import Column, Table
from ...analysis.scheduling.fairness import HOUR, Fairness, moment
from ..report.text_report import some
from .words import amount, known_to, span

MOST_COLUMNS = 6
"""Accounts of the table window by window, those of the largest debts; the page and CSV have all."""


def _signed(value: float) -> str:
    return amount(value) if value < 0 else f"+{amount(value)}"


BY_SITE = {
    "Level FS": "fair tree forgets use by half-lives, and ranks accounts within their parent",
    "weightedShare": "dominant resource share (DRS) is what is borrowed at one moment, no past",
}
"""The site's own number -> why it can differ from a debt. It says that an account has too much
where Level FS is below 1, weightedShare above 0.
"""


def debts_table(judged: Fairness) -> Table:
    """Table of debts, the largest positive debt first."""

    def hours(name: str, text: Callable[[float], str] = amount) -> Column:
        return Column(f"{name}, {judged.unit.hours}", text, numeric=True)

    columns = (
        Column(judged.found.kind, bold=True),
        Column(judged.unit.nouns, "{:,.4g}".format, numeric=True),
        hours("work"),
        hours("owed", _signed),
        hours("sure to"),
        Column("its work came", _late, wrap=False),
        *(Column(name, numeric=True) for name in judged.found.said),
    )
    rows = tuple(
        (
            judged.names[u],
            float(judged.machines[u] * judged.unit.size),
            float(judged.work[u]),
            float(judged.owed[u]),
            known_to(judged, u),
            float(judged.delay[u]),
            *(said.get(judged.names[u], "-") for said in judged.found.said.values()),
        )
        for u in np.argsort(-judged.owed, kind="stable").tolist()
    )
    return Table(
        "debts", "Who is owed what", columns, rows,
        "Above 0 it is owed, below 0 it owes. A debt smaller than what it is sure to counts as "
        "even.",
        notes=tuple(_otherwise(judged)),
    )  # fmt: skip


def _otherwise(judged: Fairness) -> Iterator[str]:
    """Sentences on accounts whose debt and Slurm or Kueue usage figures disagree in sign."""
    for what, why in BY_SITE.items():
        said = judged.found.said.get(what, {})
        over = {n: float(v) < 1 if what == "Level FS" else float(v) > 0 for n, v in said.items()}
        who = [
            f"{name} ({_signed(float(judged.owed[u]))}, {what} {said[name]})"
            for u, name in enumerate(judged.names)
            if name in said and abs(judged.owed[u]) > known_to(judged, u)
            and over[name] == (judged.owed[u] > 0)
        ]  # fmt: skip
        if who:
            yield f"{what} says otherwise of {some(who, 4)}: {why}"


def _late(hours: float) -> str:
    """Format a delay."""
    return f"{span(abs(hours) * HOUR)} {'late' if hours > 0 else 'early'}" if hours else "-"


def windows_table(judged: Fairness) -> Table:
    """Table of the debts that each window adds, with their sum."""
    chosen = np.argsort(-np.abs(judged.owed), kind="stable")
    columns = (
        Column("from"),
        *(
            Column(judged.names[u], _signed, numeric=True, rank=max(0, n - MOST_COLUMNS + 1))
            for n, u in enumerate(chosen.tolist())
        ),
    )
    added = np.diff(judged.course, axis=0, prepend=0.0)[:, chosen].tolist()
    hourly = any(each.judged.begin % 86_400 for each in judged.audits[1:])
    letters = 16 if hourly or not judged.found.log.dated else 10
    begins = [moment(judged.found.log, each.judged.begin)[:letters] for each in judged.audits]
    rows = [*zip(begins, added, strict=True), ("in all", judged.owed[chosen].tolist())]
    return Table(
        "windows", f"Owed, window by window, in {judged.unit.hours}", columns,
        tuple((name, *values) for name, values in rows),
    )  # fmt: skip
