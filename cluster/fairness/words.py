"""Sentences, tables and HTML page of a fairness analysis: debts, causes, and assumptions."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from ...analysis.report.page import Page, Part, write_page
from ...analysis.report.table import Column, Table
from ...analysis.report.tables import facts_table
from ...analysis.scheduling.audit import window_notes
from ...analysis.scheduling.causes import Cause
from ...analysis.scheduling.fairness import HOUR, Fairness, moment
from ...instances.scheduling.accounts import waits
from ...instances.scheduling.units import Unit
from ..report.page import how_made
from ..report.text_report import NAMED, some, wrapped

EVEN = 0.001
"""Debts below this part of all work are called even."""

EXPLAINED = 8
"""Accounts whose causes are printed, those of the largest debts; --json has all."""

FLOWS = (
    "what ran on whose share is a bookkeeping of hours, the largest three of each account, and no "
    "division of its debt: they need not add up to it"
)

GAME = {
    "REF": "what coalitions would have done is REF, recursively fair, each of them played",
    "FIFO": "coalitions are taken to serve first in, first out (all are played; recursively fair "
    "ones would take too long)",
    "RAND": "coalitions are taken to serve first in, first out, and only a sample is played",
}


def fairness_head(judged: Fairness) -> list[str]:
    """First lines of a fairness analysis: accounts, period, and total debt; the debts themselves
    are in a table.
    """
    return wrapped([headline(judged), f"  {period(judged)}"])


def verdict(judged: Fairness) -> str:
    """Sentence on the largest debts and claims; "" if all accounts are even."""
    parts = []
    for sign, verb in ((1, "is owed"), (-1, "owes")):
        debts = [
            (judged.names[u], amount(abs(float(judged.owed[u]))))
            for u in np.argsort(-sign * judged.owed, kind="stable").tolist()
            if sign * judged.owed[u] > known_to(judged, u)
        ]
        if debts:
            (first, most), *others = debts
            begin = f"{first} {verb} {most} {judged.unit.hours}"
            parts.append(some([begin, *(f"{name} {hours}" for name, hours in others)], 4))
    return f"{'; '.join(parts)}." if parts else ""


def fairness_lines(judged: Fairness) -> list[str]:
    """Lines for each account (debt, causes, schedule on its own CPUs), and the assumptions."""
    lines: list[str] = []
    even = []
    if not judged.work.any():
        return wrapped([f"  {words}" for words in rests_on(judged)])
    largest = np.argsort(-np.abs(judged.owed), kind="stable")[:EXPLAINED]
    for u in np.argsort(-judged.owed, kind="stable").tolist():
        if abs(judged.owed[u]) <= known_to(judged, u):
            even.append(judged.names[u])
            continue
        lines.append(f"  {_debt(judged, u)}")
        if u not in largest:
            continue
        lines += [f"    {because(judged, u, cause)}" for cause in judged.causes(u)]
        lines.append(f"    {alone_words(judged, u)}")
    if lines:
        lines.append(f"  {FLOWS}")
    if even:
        lines.append(f"  even: {some(even)}")
    lines += [f"  {words}" for words in rests_on(judged)]
    return wrapped(lines)


def amount(hours: float) -> str:
    """Format a number of unit-hours with three significant digits."""
    if abs(hours) >= 100:
        return f"{hours:,.0f}"
    return f"{hours:.3g}"


def span(seconds: float) -> str:
    """Format a duration in a suitable unit."""
    for unit, size in (("days", 86_400), ("h", HOUR), ("min", 60)):
        if abs(seconds) >= 2 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} s"


def headline(judged: Fairness) -> str:
    """Line that names the accounts, the number of CPUs, and the shares."""
    accounts, names = judged.found, judged.names
    many = judged.unit.count(_number(judged, int(judged.machines.sum())))
    begin = f"{len(names)} {_who(judged)} on {many} ({accounts.machines_from}), "
    if accounts.shares_from == "equal shares":
        return f"{begin}in equal shares: no shares were given (--shares)."
    parts = [
        f"{name} {100 * share:.4g} %"
        for name, share in zip(names, judged.shares.tolist(), strict=True)
    ]
    if accounts.shares_from == "quotas":
        return f"{begin}each brings its own: {some(parts, 12)}."
    origin = accounts.shares_from if accounts.shares_from == "sshare" else "as given"
    return f"{begin}shares ({origin}): {some(parts, 12)}."


def _who(judged: Fairness) -> str:
    return f"{judged.found.kind}{'s' * (len(judged.names) != 1)}"


def period(judged: Fairness) -> str:
    """Sentence on a period: begin, end, work done, and the share of it owed among accounts."""
    log = judged.found.log
    first, last = judged.audits[0], judged.audits[-1]
    begin, end = first.judged.begin, last.judged.begin + last.instance.horizon
    count = len(judged.audits)
    cut = f" in {count} windows" if count > 1 else ""
    empty = f" ({judged.empty} more without jobs)" if judged.empty else ""
    span_of_time = f"{moment(log, begin)} to {moment(log, end)}{cut}{empty}"
    if not judged.work.any():
        return f"{span_of_time}: no work was done, so there are no debts."
    return (
        f"{span_of_time}, {amount(judged.work.sum())} {judged.unit.hours} of work; "
        f"{100 * judged.share_owed:.2g} % of it is owed by some to others."
    )


def known_to(judged: Fairness, u: int) -> float:
    """Smallest absolute debt of an account that is not counted as even."""
    spread = 0.0 if judged.spread is None else float(judged.spread[u])
    even = EVEN * float(judged.work.sum())
    return max(spread, float(judged.error[u]), judged.rounding, even)


def _debt(judged: Fairness, u: int) -> str:
    owed, work = float(judged.owed[u]), float(judged.work[u])
    sure = []
    if judged.spread is not None:
        moved = amount(float(judged.spread[u]))
        sure.append(
            f"the order of ties moves it by up to {moved}"
            if judged.spread[u] > 1e-9 * max(1.0, abs(owed))
            else "whatever the order of ties"
        )
    if judged.error[u] > 0:
        sure.append(
            f"sampled: give or take {amount(float(judged.error[u]))}, surely within "
            f"{amount(float(judged.bound[u]))}, each with 95 %"
        )
    text = (
        f"{judged.names[u]} {'is owed' if owed > 0 else 'owes'} {amount(abs(owed))} "
        f"{judged.unit.hours}"
        f"{f' ({chr(59).join(sure)})' if sure else ''}"
    )
    delay = float(judged.delay[u]) * HOUR
    if not work:
        lent = any(cause.kind == "lent" and cause.loser == u for cause in judged.causes(u))
        served = f", and its {judged.unit.nouns} served the others" * lent
        return f"{text}: it had no work done{served}."
    if abs(delay) > max(each.instance.horizon for each in judged.audits):
        return f"{text}, {amount(abs(owed) / work)} times its work of {amount(work)}."
    return (
        f"{text}, as if its work, {amount(work)} {judged.unit.hours}, had come {span(abs(delay))} "
        f"{'late' if delay > 0 else 'early'}."
    )


def because(judged: Fairness, u: int, cause: Cause) -> str:
    """Sentence on one of the largest causes of an account's debt, with the jobs most concerned."""
    hours = f"{amount(judged.hours(cause.amount))} {judged.unit.hours}: "
    loser, gainer = judged.names[cause.loser], judged.names[cause.gainer]
    ran, waited = _jobs(judged, cause.ran), _jobs(judged, cause.waited)
    if cause.kind == "waited":
        if cause.loser == u:
            return f"{hours}its {waited} waited while {gainer} ran {ran} above its share"
        return f"{hours}it ran {ran} above its share while {waited} of {loser} waited"
    if cause.loser == u:
        return f"{hours}{judged.unit.nouns} of its share it had no job for ran {ran} of {gainer}"
    return f"{hours}it ran {ran} on {judged.unit.nouns} that {loser} had no job for"


def _jobs(judged: Fairness, jobs: Sequence[tuple[int, float]]) -> str:
    names = ", ".join(judged.job(place) for place, _ in jobs)
    return f"job{'s' * (len(jobs) != 1)} {names}"


def alone_words(judged: Fairness, u: int) -> str:
    """Sentence on the schedule of an account's jobs on its own CPUs."""
    each, machines = judged.alone[u], int(judged.machines[u])
    if not machines:
        return f"alone, without {judged.unit.nouns} of its own, it would have run nothing"
    own = judged.unit.count(_number(judged, machines))
    if not each.work and not each.work_alone:
        return f"alone its {own} would have been idle"
    text = (
        f"alone on its {own} it would have waited {span(each.wait_alone)} on average, not "
        f"{span(each.wait)}"
    )
    if amount(each.work) == amount(each.work_alone):
        return f"{text}, and done as much in this time"
    return (
        f"{text}, and done {amount(judged.hours(each.work_alone))} {judged.unit.hours} in this "
        f"time, not {amount(judged.hours(each.work))}"
    )


def rests_on(judged: Fairness) -> Iterator[str]:
    """Sentences on the assumptions of a fairness analysis, and on what it does not model."""
    accounts = judged.found
    if accounts.deferred:
        yield (
            "waiting counts from when a job was eligible (holds, begin times and dependencies are "
            'its user\'s); the setting release = "submit" counts it from its submission'
        )
    elif accounts.log.eligible is None:
        yield "waiting counts from submission: the log does not say when jobs became eligible"
    waiting = waits(accounts)
    if waiting:
        parts = [
            f"{name} {jobs} job{'s' * (jobs != 1)} ({judged.unit.count(_number(judged, cpus))}, "
            f"{amount(judged.hours(waited))} {judged.unit.hours} waited so far)"
            for name, (jobs, cpus, waited) in sorted(waiting.items())
        ]
        yield f"still waiting at the end, shown, not judged: {some(parts)}"
    if judged.rounding:
        yield (
            f"shares are played in parts of {_number(judged, 1)} {judged.unit.noun}: no debt is "
            f"sure to less than {amount(judged.rounding)} {judged.unit.hours}"
        )
    references = sorted({each.reference for each in judged.audits})
    yield "; ".join(GAME[name] for name in references)
    if judged.spread is None:
        yield "how much the order of ties moves this was not tried: it would take too long"
    if not judged.audits[0].judged.title:
        yield _not_seen(judged.unit)
    notes = [*accounts.notes, *window_notes([each.judged for each in judged.audits])]
    most = 3 * NAMED
    yield from (f"note: {note}" for note in notes[:most])
    if len(notes) > most:
        yield f"note: {len(notes) - most} more notes are in --json"


def _number(judged: Fairness, machines: int) -> str:
    """Convert a number of machines of the scheduling game to the counted unit, such as CPUs, as
    text.
    """
    number = machines * judged.unit.size
    return f"{int(number):,}" if number.denominator == 1 else f"{float(number):,.4g}"


def _not_seen(unit: Unit) -> str:
    """Sentence on the resources that a fairness analysis ignores, as it counts one unit such as
    CPUs.
    """
    if unit.resource == "cpu":
        return "memory, GPUs, licenses and reservations are not seen"
    others = {"mem": "CPUs, GPUs", "billing": "CPUs, GPUs and memory by themselves"}
    return (
        f"{others.get(unit.resource, 'CPUs, memory')}, licenses, reservations, where in the "
        "network a job runs, and what a preemption costs are not seen: one unit is judged at a time"
    )


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
    """Sentences on accounts whose debt and whose Slurm or Kueue usage disagree in sign."""
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
    """Format the hours by which an account's work is late, or early where they are negative."""
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
    parts.append(Part("What was run", tables=(facts_table(run, "What was run"),), folded=True))
    decision = [
        f"{name}: " * (name is not None) + sentence
        for name, one in judged
        for sentence in filter(None, (verdict(one), headline(one)))
    ]
    title = f"Who is owed what: {log}"
    page = Page(title, about, tuple(parts), decision=tuple(decision), **how_made(command))
    return write_page(page, path)


def _parts(partition: str | None, judged: Fairness) -> Iterator[Part]:
    """Report's part on a partition of the batch system: debts of accounts, and assumptions."""
    windows = [windows_table(judged)] if len(judged.audits) > 1 else []
    tables = [debts_table(judged), *windows, _causes(judged), _alone(judged)]
    name = f"{judged.found.kind}s" if partition is None else f"partition {partition}"
    tables = tables if judged.work.any() else []
    yield Part(name, (period(judged), *rests_on(judged)), tuple(tables), (judged.picture(),))


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
