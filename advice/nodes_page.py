"""The page of `advise nodes`, and of a plan in any other answer."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..analysis.report.content import PageFigure
from ..analysis.report.picture import Chart, Series
from ..analysis.report.table import Column, Table
from ..instances.problem.option_types import validate_options
from . import text_report as text
from .answer_page import AnswerPage, Fill, NodeBars, NodeGroup, PagePart, PlanPart, WaveStep
from .draining import Draining
from .plan import Advice
from .state import ClusterState, Role

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
def nodes_page(advice: Advice) -> AnswerPage:
    """The page of a plan for fewer nodes."""
    state = advice.state
    host = state.host_noun
    go = f"{host.capitalize()}s that {'would' if advice.order.stuck else 'can'} go"
    said = [(kind, text.as_sentence(state, words)) for kind, words in text.decision(advice)]
    numbers = _numbers(advice)
    lists = {
        f"Idle {host}s, with nothing but their own {state.workload_noun}s": text.still_idle(advice),
        go: advice.freed,
    }
    return AnswerPage(
        f"{host.capitalize()}s of {Path(state.name).name}",
        f"How many {host}s hold everything in this file, which can go, with which moves, and what "
        "is proved of it.",
        tuple(words for kind, words in said if kind not in {*numbers, "frontier"}),
        _warnings(state),
        tuple((numbers[kind], words) for kind, words in said if kind in numbers),
        {title: names for title, names in lists.items() if names},
        plan_part(advice),
        (
            *_pending_parts(advice),
            *_frontier_parts(advice),
            PagePart("What is proved", (), (_certificate(advice),), folded=True),
            *_staying_parts(advice),
            _details_part(advice),
        ),
        host,
        state.workload_noun,
    )


def drain_page(state: ClusterState, found: Draining) -> AnswerPage:
    """The page of what stands in the way of emptying a node, and of the moves that do it."""
    host, one = state.host_noun, state.workload_noun
    columns = (Column(one, bold=True), Column("what happens to it"))
    pods = Table("pods", "", columns, tuple(text.drain_remarks(state, found)))
    return moves_page(
        state, f"Drain {found.node}",
        f"Whether the {host} can be emptied, what blocks it, and the fewest moves that do it.",
        text.drain_sentences(state, found), found.advice,
        PagePart(f"On {found.node}", tables=(pods,)),
    )  # fmt: skip


def moves_page(
    state: ClusterState,
    title: str,
    about: str,
    sentences: Sequence[str],
    advice: Advice | None = None,
    *parts: PagePart,
) -> AnswerPage:
    """The page of any other answer: its sentences, its plan where it has one, and parts of its own.

    Parameters
    ----------
    state : what it is of; its warnings stand first.
    title, about : what was asked.
    sentences : the answer, without warnings; the first decides, and may begin with a name.
    advice : the moves of the answer. Where pending pods go is not asked.
    parts : what the answer has besides.
    """
    first, *rest = sentences
    plan = None if advice is None else replace(advice, arrivals={}, waiting=())
    besides = () if plan is None else (*_staying_parts(plan), _details_part(plan))
    return AnswerPage(
        title, about,
        (text.qualified(state, first), *(text.as_sentence(state, words) for words in rest)),
        _warnings(state),
        plan=plan_part(plan) if plan is not None and plan.targets else None,
        parts=(*parts, *besides),
        host_noun=state.host_noun, workload_noun=state.workload_noun,
    )  # fmt: skip


def _warnings(state: ClusterState) -> tuple[tuple[str, str], ...]:
    """What stands before an answer, each with its cure."""
    given = [
        (text.as_sentence(state, each.sentence), "")
        for each in state.assumptions
        if each.code in text.GIVEN
    ]
    return (*((text.as_sentence(state, each.text), each.cure) for each in state.warnings), *given)


def _details_part(advice: Advice) -> PagePart:
    words = (text.as_sentence(advice.state, each) for each in text.detail_sentences(advice))
    return PagePart("Counted, and reported only", tuple(words), folded=True)


def _numbers(advice: Advice) -> dict[str, str]:
    """The numbers that decide, by what they are about."""
    found = {"nodes": f"{len(advice.in_use)} \u2192 {advice.nodes_found} {advice.state.host_noun}s"}
    if advice.cost is not None and advice.cost_now is not None:
        found["money"] = f"{text.amount(advice.cost_now)} \u2192 {text.amount(advice.cost)}"
    moves = len(advice.targets)
    found["moves"] = f"{moves} move{'s' * (moves != 1)}"
    pending = len(advice.arrivals) + len(advice.waiting)
    found["pending"] = f"{len(advice.arrivals)} of {pending} pending"
    return found


def plan_part(advice: Advice) -> PlanPart:
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
    for node in state.nodes:
        name = node.name
        words = [f"{number[name]} {how}" for how, number in changes.items() if number[name]]
        details = [node.labels[key] for key in (_TYPE, _ZONE) if key in node.labels]
        details += [] if node.price is None else [text.amount(node.price)]
        details += ["reserved"] * node.committed
        kind = "changed" if words else "idle" if name in advice.idle else "same"
        kind = "freed" if name in advice.freed else kind
        empty = (None,) * (len(resources) + 1)
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
        tuple(_wave_steps(advice)),
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
    advice: Advice, where: Mapping[int, str], resources: list[str]
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


def _part_of_bar(advice: Advice, number: int) -> int:
    """What a pod is to the plan, as a part of its node's bar."""
    role = advice.state.pods[number].role
    if role is Role.PENDING:
        return ARRIVES
    if role in (Role.RESIDENT, Role.LEAVING):
        return OWN
    if number in advice.targets:
        return MOVES
    return PINNED if role is Role.FIXED or number in advice.pinned else STAYS


def _wave_steps(advice: Advice) -> Iterator[WaveStep]:
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
        title = f"Wave {number + 1}"
        tables.append(Table(f"wave-{number + 1}", title, columns, tuple(rows)))
        place |= {move.pod: move.node for move in wave}
    emptied = () if advice.order.stuck else advice.freed
    for number, table in enumerate(tables):
        yield WaveStep(table, tuple(name for name in emptied if last.get(name) == number))


def _pending_parts(advice: Advice) -> Iterator[PagePart]:
    """Pending pods, and where they fit."""
    columns = (Column(advice.state.workload_noun, bold=True), Column("what happens to it"))
    if rows := tuple(text.pending_places(advice, MAX_PENDING)):
        title = f"Pending {advice.state.workload_noun}s"
        yield PagePart(title, tables=(Table("pending", "", columns, rows),))


def _frontier_parts(advice: Advice) -> Iterator[PagePart]:
    """What freeing fewer nodes costs, as a picture."""
    host, one = advice.state.host_noun, advice.state.workload_noun
    points = [
        (
            advice.limit_of(point)[1],
            int(point.value),
            int(point.bound or 0),
            text.limit_words(advice, point),
        )
        for point in advice.frontier
        if point.limit is not None and point.value is not None
    ]
    if not points:
        return
    limits, moves, bounds, names = zip(*points, strict=True)
    series = [Series("found", limits, moves, "line+points")]
    if moves != bounds:
        series.append(Series("proved: not fewer", limits, bounds, "points", strong=True))
    what = f"{host}s in use" if advice.cost is None else f"price of the {host}s in use"
    words = "; ".join(f"{name}: {number}" for name, number in zip(names, moves, strict=True))
    chart = Chart(
        "moves-by-nodes", f"Moves, by {what}",
        what, f"{one}s that move", tuple(series),
        f"The fewest {one}s that move: {words}.",
        note=f"While the pinned {one}s stay." if advice.pinned else "",
    )  # fmt: skip
    title = f"More {host}s, fewer moves" if advice.cost is None else "More money, fewer moves"
    yield PagePart(title, pictures=(PageFigure(chart, chart.table(), ""),))


def _certificate(advice: Advice) -> Table:
    """What the plan reaches beside what is proved."""
    state = advice.state
    host, one = state.host_noun, state.workload_noun
    rows: list[tuple[Any, ...]] = [
        (
            f"{one}s that move to that", len(advice.targets),
            advice.moves_lower_bound, advice.moves_lower_bound_pinned,
        )
    ]  # fmt: skip
    if advice.cost is None:
        least = advice.nodes_lower_bound, advice.nodes_lower_bound_pinned
        rows.insert(0, (f"{host}s in use after the plan", advice.nodes_found, *least))
    else:
        bounds = advice.cost_lower_bound, advice.cost_lower_bound_pinned
        floors = (None if bound is None else text.amount(bound, math.floor) for bound in bounds)
        rows.insert(0, (f"paid for {host}s", text.amount(advice.cost), *floors))
    if advice.arrivals or advice.waiting:
        least = advice.waiting_lower_bound, advice.waiting_lower_bound_pinned
        rows.append((f"pending {one}s that wait", len(advice.waiting), *least))
    headings = ("the plan", "at least, in any case", f"at least, while the pinned {one}s stay")
    notes = [f"Of the {one}s in this file alone: {warning.text}." for warning in state.warnings]
    lists = {
        "Not in the bound": advice.dropped,
        "Broken now, repaired by the plan": advice.repaired_rules,
        "Broken now": () if advice.repaired_rules else advice.translation.violated_rules,
        f"Why no fewer {host}s can do": [advice.reason] * bool(advice.reason),
        "Assumed": [each.sentence for each in state.assumptions],
    }
    notes += [f"{title}: {'; '.join(words)}." for title, words in lists.items() if words]
    notes.append(
        "Every move was judged, with all others of its wave in its way, by code that never saw the "
        "solver's instance."
    )
    columns = (Column("what", bold=True), *map(Column, headings))
    return Table("certificate", "", columns, tuple(rows), notes=tuple(notes))


def _staying_parts(advice: Advice) -> Iterator[PagePart]:
    """Pods that stay where they are, by reason."""
    pods = advice.state.pods
    stays = [("pinned", n, ", ".join(w for _, w in why)) for n, why in advice.pinned.items()]
    stays += [("fixed", n, pod.reason) for n, pod in enumerate(pods) if pod.role is Role.FIXED]
    reasons: dict[tuple[str, str], list[str]] = {}
    for kind, number, why in stays:
        reasons.setdefault((why, kind), []).append(pods[number].title)
    if reasons:
        rows = [(*key, len(names), ", ".join(names)) for key, names in reasons.items()]
        columns = (
            Column("reason", bold=True), Column("how"), Column("number", numeric=True),
            Column("which"),
        )  # fmt: skip
        table = Table("staying", "", columns, tuple(rows))
        yield PagePart("What stays, and why", tables=(table,), folded=True)
