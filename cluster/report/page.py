"""The page of an answer about a cluster, as data: its decision and what stands before it, the nodes
of its plan before and after as bars, the moves, and what is proved.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from pathlib import Path
from typing import Any

from ...analysis.report.content import PageFigure
from ...analysis.report.page import render_page, require_report
from ...analysis.report.picture import Chart, Series
from ...analysis.report.table import Column, Table
from ...analysis.report.tables import facts_table, slug
from ...analysis.run.result import versions
from ...instances.problem.emitted import command_line
from ...instances.problem.files import write_text
from ...instances.problem.option_types import validate_options
from ..plan.answer import Answer
from ..state.state import ClusterState, Role
from .model import Fill, NodeBars, NodeGroup, PagePart, PlanPart, Shown, WaveStep
from .text_report import (
    GIVEN,
    amount,
    as_sentence,
    detail_sentences,
    limit_words,
    pending_places,
    qualified,
    reasons_to_stay,
)

PARTS_OF_BAR = 5
OWN, PINNED, STAYS, MOVES, ARRIVES = range(PARTS_OF_BAR)
"""Parts of a bar from its beginning: what pods are to the plan."""

TIGHTEST = "tightest of each"
"""The choice of bars that is shown first: of each node the resource it has least left of."""

MAX_PENDING = 200
"""Pending pods that are named: of those with a place, and of those without."""

MAX_RESOURCES = 4
"""Resources with bars of their own: those of which the cluster has least left."""

_TYPE = "node.kubernetes.io/instance-type"
_ZONE = "topology.kubernetes.io/zone"

_TITLES = {
    "freed": "Freed by the plan",
    "idle": "Idle already",
    "changed": "Others that change",
    "same": "As they are",
}


@validate_options
def answer_page(answer: Shown) -> AnswerPage:
    """The page of an answer: what a terminal shows of it with nothing left out, its plan, parts of
    its own, and what it rests on.
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
    parts += answer.parts
    if advice is not None:
        if answer.fewer_nodes:
            parts += [*_pending_parts(advice), *_frontier_parts(advice), _certificate(advice)]
        if rows := [(why, kind, len(names), ", ".join(names))
                    for kind, reasons in reasons_to_stay(advice).items()
                    for why, names in reasons.items()]:  # fmt: skip
            headings = "reason", "how", "number", "which"
            parts.append(rows_part("What stays, and why", headings, rows, folded=True))
    if words := [as_sentence(state, each) for each in detail_sentences(state, advice)]:
        parts.append(PagePart("Counted, and reported only", tuple(words), folded=True))
    return AnswerPage(
        answer.title, answer.about,
        tuple(words for number, words in lines if not number),
        (*warnings, *((as_sentence(state, each), "") for each in given)),
        tuple((number, words) for number, words in lines if number),
        {line.title: tuple(line.names) for line in answer.lines if line.names},
        plan_part(advice) if advice and (advice.targets or answer.fewer_nodes) else answer.plan,
        tuple(parts), state.host_noun, state.workload_noun,
    )  # fmt: skip


def rows_part(
    title: str, headings: Iterable[str], rows: Iterable[Iterable[Any]], folded: bool = False
) -> PagePart:
    """A section of a page with one table, the first column of which names its rows."""
    columns = (Column(name, bold=not place, numeric=name == "number")
               for place, name in enumerate(headings))  # fmt: skip
    table = Table(slug(title), "", tuple(columns), tuple(map(tuple, rows)))
    return PagePart(title, tables=(table,), folded=folded)


def plan_part(advice: Answer) -> PlanPart:
    """The nodes of a plan by what happens to them, and its moves."""
    state = advice.state
    now = {n: pod.node for n, pod in enumerate(state.pods) if pod.placed}
    after = now | dict(advice.targets) | dict(advice.arrivals)
    resources = _scarcest(state)
    before, later = _fills(advice, now, resources), _fills(advice, after, resources)
    changes = {
        "leave": Counter(now[n] for n in advice.targets),
        "come": Counter(advice.targets.values()),
        "from pending": Counter(advice.arrivals.values()),
    }
    groups: dict[str, list[NodeBars]] = {kind: [] for kind in _TITLES}
    empty = (None,) * (len(resources) + 1)
    for node in state.nodes:
        name = node.name
        words = [f"{number[name]} {how}" for how, number in changes.items() if number[name]]
        details = [node.labels[key] for key in (_TYPE, _ZONE) if key in node.labels]
        details += [] if node.price is None else [amount(node.price)]
        details += ["reserved"] * node.committed
        kind = "changed" if words else "idle" if name in advice.idle else "same"
        kind = "freed" if name in advice.freed else kind
        groups[kind].append(
            NodeBars(
                name, ", ".join(details), ", ".join(words),
                before[name], empty if kind == "freed" else later[name],
            )
        )  # fmt: skip
    return PlanPart(
        (TIGHTEST, *resources),
        tuple(
            NodeGroup(kind, _TITLES[kind], tuple(nodes)) for kind, nodes in groups.items() if nodes
        ),
        tuple(wave_steps(advice)),
    )


def _scarcest(state: ClusterState) -> list[str]:
    """The resources of which the largest shares of the cluster are taken."""
    there: Counter[str] = Counter()
    taken: Counter[str] = Counter()
    for node in state.nodes:
        there.update(node.allocatable)
    for pod in state.pods:
        if pod.placed:
            taken.update(pod.requests)
    share = {name: taken[name] / number for name, number in there.items() if number and taken[name]}
    return sorted(share, key=lambda name: (-share[name], name))[:MAX_RESOURCES]


def _fills(
    advice: Answer, where: Mapping[int, str], resources: list[str]
) -> dict[str, tuple[Fill | None, ...]]:
    """By node how full it is: of what it has least left of, and of each of the resources."""
    state = advice.state
    taken: dict[tuple[str, str], list[int]] = {}
    for number, name in where.items():
        part = _part_of_bar(advice, number)
        for resource, taken_of in state.pods[number].requests.items():
            taken.setdefault((name, resource), [0] * PARTS_OF_BAR)[part] += taken_of

    def fill(name: str, resource: str, there: int) -> Fill:
        amounts = taken.get((name, resource), [0] * PARTS_OF_BAR)
        ends = (100 * sum(amounts[: part + 1]) / there for part in range(PARTS_OF_BAR))
        return Fill(resource, tuple(ends))

    found: dict[str, tuple[Fill | None, ...]] = {}
    for node in state.nodes:
        there = node.allocatable.items()
        fills = {resource: fill(node.name, resource, n) for resource, n in there if n > 0}
        tightest = max(fills.values(), key=lambda each: each.ends[-1], default=None)
        found[node.name] = (tightest, *map(fills.get, resources))
    return found


def _part_of_bar(advice: Answer, number: int) -> int:
    """What a pod is to the plan, as a part of its node's bar."""
    role = advice.state.pods[number].role
    if role is Role.PENDING:
        return ARRIVES
    if role in (Role.RESIDENT, Role.LEAVING):
        return OWN
    if number in advice.targets:
        return MOVES
    return PINNED if role is Role.FIXED or number in advice.pinned else STAYS


def wave_steps(advice: Answer, of: str = "") -> Iterator[WaveStep]:
    """The waves with where each pod is before, and the freed nodes that are empty after."""
    pods, waves = advice.state.pods, advice.order.waves
    place = {move.pod: pods[move.pod].node for wave in waves for move in wave}
    last: dict[str, int] = {}
    tables = []
    columns = (Column(advice.state.workload_noun, bold=True), Column("from"), Column("to"))
    for number, wave in enumerate(waves):
        last |= {place[move.pod]: number for move in wave}
        rows = (
            (pods[m.pod].title, place[m.pod], m.node + " (for a time)" * m.temporary) for m in wave
        )
        title = f"{of}Wave {number + 1}"
        tables.append(Table(slug(title), title, columns, tuple(rows)))
        place |= {move.pod: move.node for move in wave}
    emptied = () if advice.order.stuck else advice.freed
    for number, table in enumerate(tables):
        yield WaveStep(table, tuple(name for name in emptied if last.get(name) == number))


def _pending_parts(advice: Answer) -> Iterator[PagePart]:
    """Pending pods, and where they fit."""
    one = advice.state.workload_noun
    if rows := pending_places(advice, MAX_PENDING):
        yield rows_part(f"Pending {one}s", (one, "what happens to it"), rows)


def _frontier_parts(advice: Answer) -> Iterator[PagePart]:
    """What freeing fewer nodes costs, as a picture."""
    host, one = advice.state.host_noun, advice.state.workload_noun
    points = [
        (float(point.limit), int(point.value), int(point.bound or 0),
         limit_words(advice, point))
        for point in advice.frontier
        if point.limit is not None and point.value is not None
    ]  # fmt: skip
    if not points:
        return
    limits, moves, bounds, names = zip(*points, strict=True)
    series = [Series("found", limits, moves, "line+points")]
    if moves != bounds:
        series.append(Series("proved: not fewer", limits, bounds, "points", strong=True))
    what = f"{host}s in use" if advice.cost is None else f"price of the {host}s in use"
    words = "; ".join(f"{name}: {number}" for name, number in zip(names, moves, strict=True))
    chart = Chart(
        "moves-by-nodes", f"Moves, by {what}", what, f"{one}s that move", tuple(series),
        f"The fewest {one}s that move: {words}.",
        note=f"While the pinned {one}s stay." if advice.pinned else "",
    )  # fmt: skip
    title = f"More {host}s, fewer moves" if advice.cost is None else "More money, fewer moves"
    yield PagePart(title, pictures=(PageFigure(chart, chart.table(), ""),))


def _certificate(advice: Answer) -> PagePart:
    """What the plan reaches beside what is proved."""
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
    lists = {
        "Not in the bound": advice.dropped,
        "Broken now, repaired by the plan": advice.repaired,
        "Broken now": () if advice.repaired else advice.broken,
        f"Why no fewer {host}s can do": [advice.reason] * bool(advice.reason),
        "Assumed": [each.sentence for each in state.assumptions],
    }
    notes += [f"{title}: {'; '.join(words)}." for title, words in lists.items() if words]
    notes.append(
        "Every move was judged, with all others of its wave in its way, by code that never saw the "
        "solver's instance."
    )
    headings = "the plan", "at least, in any case", f"at least, while the pinned {one}s stay"
    columns = (Column("what", bold=True), *map(Column, headings))
    table = Table("certificate", "", columns, tuple(rows), notes=tuple(notes))
    return PagePart("What is proved", tables=(table,), folded=True)


@dataclass(frozen=True)
class AnswerPage:
    """The page of an answer.

    Attributes
    ----------
    title, about : what was asked, and of what.
    decision : sentences that have no number.
    warnings : text and cure ("" for none) of whatever makes the answer one about something else
        than the user's cluster.
    numbers : the few that decide, each with the sentence that says what it is and what is proved.
    lists : names that decide (nodes that are freed, or idle), by what they are.
    plan : nodes and moves, where the answer has some.
    parts : further sections.
    host_noun, workload_noun : what the platform calls nodes and pods.
    """

    title: str
    about: str
    decision: tuple[str, ...]
    warnings: tuple[tuple[str, str], ...] = ()
    numbers: tuple[tuple[str, str], ...] = ()
    lists: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    plan: PlanPart | None = None
    parts: tuple[PagePart, ...] = ()
    host_noun: str = "node"
    workload_noun: str = "pod"


@validate_options
def write_page(page: AnswerPage, path: str | os.PathLike[str], command: Sequence[str] = ()) -> Path:
    """Write the page of an answer as one HTML file that needs no network; returns its path.

    Parameters
    ----------
    page : what it shows.
    path : of the file.
    command : the words that a person types to get the page again; () for none.

    Raises
    ------
    InvalidFile
        The page cannot be written.
    InvalidOption
        jinja2 or matplotlib is missing.
    """
    require_report(Path(path))
    html = render_page(
        "answer.html", page, [shown for part in page.parts for shown in part.pictures],
        command=command_line(command), versions=facts_table(dict(versions()), "Versions"),
    )  # fmt: skip
    return write_text(path, html)
