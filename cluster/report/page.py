"""HTML page of an answer about a cluster: decision, warnings, nodes before and after, moves, and
what is proved.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple
from typing import Any

from ...analysis.report.page import Page, Part
from ...analysis.report.table import Column, Table, slug
from ...analysis.report.tables import facts_table
from ...analysis.run.result import versions
from ...instances.problem.emitted import command_line
from ...instances.problem.option_types import validate_options
from ..judge.scheduler_filters import Scheduler
from ..plan.answer import Answer
from ..state.node_types import TYPES, ZONE
from .text_report import (
    GIVEN,
    Shown,
    amount,
    as_sentence,
    detail_sentences,
    pending_places,
    qualified,
    reasons_to_stay,
)

MAX_PENDING = 200
"""Pending pods that are named: of those with a place, and of those without."""


@validate_options
def answer_page(answer: Shown, command: Sequence[str] = ()) -> Page:
    """Build the page of an answer: the complete text of the terminal, the plan, sections of its
    question, and the assumptions; `command` are the words that a person types to get it again.
    """
    state, advice = answer.state, answer.advice
    lines = [(one.number, as_sentence(state, one.words)) for one in answer.lines
             if not one.names and not one.rows]  # fmt: skip
    warnings = [(as_sentence(state, each.text), each.cure) for each in state.warnings]
    given = [each.sentence for each in state.assumptions if each.code in GIVEN]
    parts = [
        rows_part(line.title, (line.words, "what is known of it"),
                  ([qualified(state, cell) for cell in row] for row in line.rows))
        for line in answer.lines if line.rows
    ]  # fmt: skip
    if advice is not None and (advice.targets or answer.fewer_nodes):
        parts += [nodes_part(advice), *_moves_parts(advice)]
    parts += answer.parts
    if advice is not None:
        one = state.workload_noun
        if answer.fewer_nodes:
            if rows := pending_places(advice, MAX_PENDING):
                parts.append(rows_part(f"Pending {one}s", (one, "what happens to it"), rows))
            parts.append(_certificate(advice))
        if stays := [(why, kind, len(names), ", ".join(names))
                     for kind, reasons in reasons_to_stay(advice).items()
                     for why, names in reasons.items()]:  # fmt: skip
            headings = "reason", "how", "number", "which"
            parts.append(rows_part("What stays, and why", headings, stays, folded=True))
    if words := [as_sentence(state, each) for each in detail_sentences(state, advice)]:
        parts.append(Part("Counted, and reported only", tuple(words), folded=True))
    return Page(
        answer.title, answer.about, tuple(parts),
        warnings=(*warnings, *((as_sentence(state, each), "") for each in given)),
        numbers=tuple((number, words) for number, words in lines if number),
        decision=tuple(words for number, words in lines if not number),
        lists={line.title: tuple(line.names) for line in answer.lines if line.names},
        **how_made(command),
    )  # fmt: skip


def how_made(command: Sequence[str]) -> dict[str, Any]:
    """Fields of a page that say how it was made: the command line, if known, and the versions."""
    lines = (command_line(command),) if command else ()
    return {"commands": lines, "versions": facts_table(dict(versions()), "Versions")}


def rows_part(
    title: str, headings: Iterable[str], rows: Iterable[Iterable[Any]], folded: bool = False
) -> Part:
    """Section with one table whose first column names the rows."""
    columns = (Column(name, bold=not index, numeric=name == "number")
               for index, name in enumerate(headings))  # fmt: skip
    table = Table(slug(title), "", tuple(columns), tuple(map(tuple, rows)))
    return Part(title, tables=(table,), folded=folded)


def nodes_part(advice: Answer) -> Part:
    """Section with the state of every node before and after the plan: freed nodes first, then other
    changed ones; utilization is that of the most used resource.
    """
    state, now = advice.state, advice.state.where
    after = now | dict(advice.targets) | dict(advice.arrivals)
    changes = {
        "leave": Counter(now[n] for n in advice.targets),
        "come": Counter(advice.targets.values()),
        "from pending": Counter(advice.arrivals.values()),
    }

    before, then = Scheduler(state, now).used, Scheduler(state, after).used

    def fullest(taken: Mapping[str, int], room: Mapping[str, int]) -> str:
        shares = {resource: taken[resource] / there for resource, there in room.items() if there}
        most = max(shares, key=lambda resource: shares[resource], default="")
        return f"{100 * shares[most]:.0f} % {most}" if most else ""

    groups: dict[str, list[tuple[str, ...]]] = {"freed": [], "idle": [], "changes": [], "": []}
    for node in state.nodes:
        name = node.name
        words = [f"{number[name]} {how}" for how, number in changes.items() if number[name]]
        details = [node.labels[key] for key in (TYPES[0], ZONE) if key in node.labels]
        details += [] if node.price is None else [amount(node.price)]
        kind = "freed" if name in advice.freed else "changes" if words else ""
        kind = "idle" if not kind and name in advice.idle else kind
        later = "" if kind == "freed" else fullest(then[name], node.allocatable)
        row = name, fullest(before[name], node.allocatable), later, kind, ", ".join(words)
        groups[kind].append((*row, ", ".join(details)))
    rows = [row for group in groups.values() for row in group]
    headings = (state.host_noun, "now", "after", "what happens", f"{state.workload_noun}s",
                "type, zone, price")  # fmt: skip
    return rows_part(f"{state.host_noun.capitalize()}s before and after", headings, rows)


def _moves_parts(advice: Answer) -> Iterator[Part]:
    """Sections with the moves by wave, each from the node where the pod is at that time, and with
    the nodes that are empty after each wave.
    """
    pods, one, rows = advice.state.pods, advice.state.workload_noun, list[tuple[Any, ...]]()
    place, last = dict(advice.state.where), dict[str, int]()
    for number, wave in enumerate(advice.order.waves, 1):
        for move in wave:
            last[place[move.pod]] = number
            node = move.node + " (for a time)" * move.temporary
            rows.append((pods[move.pod].title, number, place[move.pod], node))
            place[move.pod] = move.node
    if not rows:
        return
    words = [f"All moves of a wave fit at the same time. Wait until its {one}s run again before "
             "the next one."]  # fmt: skip
    empty: dict[int, list[str]] = {}
    for name in () if advice.order.stuck else advice.freed:
        empty.setdefault(last.get(name, 0), []).append(name)
    words += [f"Empty after wave {number}: {', '.join(empty[number])}." for number in sorted(empty)]
    part = rows_part("Moves, in waves", (one, "wave", "from", "to"), rows)
    yield Part(part.title, tuple(words), part.tables)


def _certificate(advice: Answer) -> Part:
    """Section with the objective of the plan beside its proved bound."""
    state = advice.state
    host, one = state.host_noun, state.workload_noun
    rows: list[tuple[Any, ...]] = [(f"{host}s in use after the plan", *astuple(advice.nodes))]
    if advice.cost is not None:
        least = advice.cost.bound, advice.cost.pinned
        floors = (None if bound is None else amount(bound, math.floor) for bound in least)
        rows = [(f"paid for {host}s", amount(advice.cost.value), *floors)]
    rows.append((f"{one}s that move to that", *astuple(advice.moves)))
    if advice.arrivals or advice.waiting:
        rows.append((f"pending {one}s that wait", *astuple(advice.waits)))
    notes = [f"Of the {one}s in this file alone: {warning.text}." for warning in state.warnings]
    notes += [f"Why no fewer {host}s can do: {advice.reason}."] * bool(advice.reason)
    notes.append(
        "Every move was judged, with all others of its wave in its way, by code that never saw the "
        "solver's instance."
    )
    headings = "the plan", "at least, in any case", f"at least, while the pinned {one}s stay"
    columns = (Column("what", bold=True), *map(Column, headings))
    table = Table("certificate", "", columns, tuple(rows), notes=tuple(notes))
    return Part("What is proved", tables=(table,), folded=True)
