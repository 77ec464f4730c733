"""The page of `advise nodes`, and of a plan in any other answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from ..analysis.report.content import PageFigure
from ..analysis.report.picture import Chart, Series
from ..analysis.report.table import Column, Table
from .answer_page import AnswerPage, Fill, NodeBars, NodeGroup, PagePart, PlanPart, WaveStep
from .plan import Advice
from .state import ClusterState, Role
from .text_report import GIVEN, decision_sentences, qualified

PARTS_OF_BAR = 5
OWN, PINNED, STAYS, MOVES, ARRIVES = range(PARTS_OF_BAR)
"""Parts of a bar from its beginning: what pods are to the plan."""

TIGHTEST = "tightest of each"
"""The choice of bars that is shown first: of each node the resource it has least left of."""

MAX_RESOURCES = 4
"""Resources with bars of their own: those of which the cluster has least left."""

_TYPE = "node.kubernetes.io/instance-type"
_ZONE = "topology.kubernetes.io/zone"

_TITLES = {
    "freed": "Freed by the plan",
    "idle": "Idle already: nothing but their own pods",
    "changed": "Pods leave or come",
    "same": "As they are",
}


def nodes_page(advice: Advice) -> AnswerPage:
    """The page of a plan for fewer nodes."""
    state = advice.state
    host, one = state.host_noun, state.workload_noun
    title = f"{host.capitalize()}s that {'would' if advice.order.stuck else 'can'} go"
    return AnswerPage(
        f"{host.capitalize()}s of {Path(state.name).name}",
        f"How many {host}s hold everything in this file, which can go, with which moves, and what "
        "is proved of it.",
        tuple(decision_sentences(advice)),
        warnings=(
            *((each.text, each.cure) for each in state.warnings),
            *((each.sentence, "") for each in state.assumptions if each.code in GIVEN),
        ),
        numbers=tuple(
            (number, what, qualified(state, proved)) for number, what, proved in _numbers(advice)
        ),
        lists={title: advice.freed} if advice.freed else {},
        plan=plan_part(advice),
        parts=(
            *_frontier_parts(advice),
            PagePart("What is proved", (), (_certificate(advice),), folded=True),
            *_staying_parts(advice),
        ),
        host_noun=host,
        workload_noun=one,
    )


def _numbers(advice: Advice) -> Iterator[tuple[str, str, str]]:
    """The numbers that decide, each with what it counts and what is proved of it."""
    host, one = advice.state.host_noun, advice.state.workload_noun
    stay = f" while the pinned {one}s stay" if advice.pinned else ""
    bound, pinned = advice.nodes_lower_bound, advice.nodes_lower_bound_pinned
    proved = f"proved: no plan needs fewer than {bound}"
    yield (
        f"{len(advice.in_use)} \u2192 {advice.nodes_found}",
        f"{host}s in use" + ", without an order of moves" * bool(advice.order.stuck),
        proved + f"; {pinned}{stay}" * (pinned > bound),
    )
    moves, waves = len(advice.targets), len(advice.order.waves)
    least = max(advice.moves_lower_bound, advice.moves_lower_bound_pinned)
    proved = f"proved: at least {least}"
    if moves == least:
        proved = f"proved: no plan with {advice.nodes_found} {host}s moves fewer{stay}"
    yield str(moves), f"{one}s move" if moves != 1 else f"{one} moves", proved * (moves > 0)
    kept = "no disruption budget is broken" if advice.state.budgets and waves else ""
    yield str(waves), f"wave{'s' * (waves != 1)}", kept


def plan_part(advice: Advice) -> PlanPart:
    """The nodes of a plan by what happens to them, and its moves."""
    state = advice.state
    now = {n: pod.node for n, pod in enumerate(state.pods) if pod.placed}
    after = now | dict(advice.targets)
    resources = _scarcest(state)
    before, later = _fills(advice, now, resources), _fills(advice, after, resources)
    leave = Counter(now[n] for n in advice.targets)
    come = Counter(advice.targets.values())
    groups: dict[str, list[NodeBars]] = {kind: [] for kind in _TITLES}
    for node in state.nodes:
        name = node.name
        numbers = {"leave": leave[name], "come": come[name]}
        changes = [f"{number} {how}" for how, number in numbers.items() if number]
        details = [node.labels[key] for key in (_TYPE, _ZONE) if key in node.labels]
        kind = "same"
        if name in advice.freed:
            kind = "freed"
        elif changes:
            kind = "changed"
        elif node.can_be_drained and name not in advice.in_use:
            kind = "idle"
        empty = (None,) * (len(resources) + 1)
        groups[kind].append(
            NodeBars(
                name, ", ".join(details), ", ".join(changes),
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
        for resource, amount in state.pods[number].requests.items():
            taken.setdefault((name, resource), [0] * PARTS_OF_BAR)[part] += amount

    def fill(name: str, resource: str, there: int) -> Fill:
        amounts = taken.get((name, resource), [0] * PARTS_OF_BAR)
        ends = (100 * sum(amounts[: part + 1]) / there for part in range(PARTS_OF_BAR))
        return Fill(resource, tuple(ends))

    found: dict[str, tuple[Fill | None, ...]] = {}
    for node in state.nodes:
        there = node.allocatable.items()
        fills = {resource: fill(node.name, resource, n) for resource, n in there if n > 0}
        tightest = max(fills.values(), key=lambda each: each.percent, default=None)
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
    rows: list[tuple[tuple[str, str, str, str], ...]] = []
    for number, wave in enumerate(waves):
        last |= {place[move.pod]: number for move in wave}
        rows.append(
            tuple(
                (pods[m.pod].title, place[m.pod], m.node, "for a time" if m.temporary else "")
                for m in wave
            )
        )
        place |= {move.pod: move.node for move in wave}
    aside = any(move.temporary for wave in waves for move in wave)
    columns = (
        Column(advice.state.workload_noun, bold=True),
        Column("from"),
        Column("to"),
        Column(""),
    )
    for number, moves in enumerate(rows):
        shown = columns if aside else columns[:3]
        table = Table(
            f"wave-{number + 1}", f"Wave {number + 1}", shown,
            tuple(row[: len(shown)] for row in moves),
        )  # fmt: skip
        emptied = () if advice.order.stuck else advice.freed
        yield WaveStep(table, tuple(name for name in emptied if last.get(name) == number))


def _frontier_parts(advice: Advice) -> Iterator[PagePart]:
    """What freeing fewer nodes costs, as a picture."""
    host, one = advice.state.host_noun, advice.state.workload_noun
    points = [
        (int(point.limit), int(point.value), int(point.bound or 0))
        for point in advice.frontier
        if point.limit is not None and point.value is not None
    ]
    if not points:
        return
    limits, moves, bounds = zip(*points, strict=True)
    series = [Series("found", limits, moves, "line+points")]
    if moves != bounds:
        series.append(Series("proved: not fewer", limits, bounds, "points", strong=True))
    words = "; ".join(f"{limit} {host}s: {number}" for limit, number, _ in points)
    chart = Chart(
        "moves-by-nodes", f"{one.capitalize()}s that move, by {host}s left in use",
        f"{host}s in use", f"{one}s that move", tuple(series),
        f"The fewest {one}s that move for each number of {host}s: {words}.",
        note=f"While the pinned {one}s stay." if advice.pinned else "",
    )  # fmt: skip
    shown = PageFigure(chart, chart.table(), "")
    yield PagePart(f"More {host}s, fewer moves", pictures=(shown,))


def _certificate(advice: Advice) -> Table:
    """What the plan reaches beside what is proved."""
    state = advice.state
    host, one = state.host_noun, state.workload_noun
    rows: list[tuple[str, int, int, int]] = [
        (
            f"{host}s in use after the plan", advice.nodes_found,
            advice.nodes_lower_bound, advice.nodes_lower_bound_pinned,
        ),
        (
            f"{one}s that move to so few", len(advice.targets),
            advice.moves_lower_bound, advice.moves_lower_bound_pinned,
        ),
    ]  # fmt: skip
    columns = (
        Column("what", bold=True), Column("the plan", numeric=True),
        Column("at least, in any case", numeric=True),
        Column(f"at least, while the pinned {one}s stay", numeric=True),
    )  # fmt: skip
    notes = [f"Of the {one}s in this file alone: {warning.text}." for warning in state.warnings]
    if advice.reason:
        notes.append(f"Why no fewer {host}s can do: {advice.reason}.")
    notes += [f"Not in the bound: {words}." for words in advice.dropped]
    notes += [f"Broken now, repaired by the plan: {words}." for words in advice.repaired_rules]
    if not advice.repaired_rules:
        notes += [
            f"Broken now, and left so: {words}." for words in advice.translation.violated_rules
        ]
    notes += [f"Assumed: {each.sentence}." for each in state.assumptions if each.code not in GIVEN]
    notes.append(
        "Every move of every wave was judged by the default scheduler's filters, with all others "
        "of the wave in its way, by code that never saw the solver's instance."
        if state.platform == "kubernetes"
        else "Every move of every wave was judged by code that never saw the solver's instance."
    )
    return Table("certificate", "", columns, tuple(rows), notes=tuple(notes))


def _staying_parts(advice: Advice) -> Iterator[PagePart]:
    """Pods that stay where they are, by reason."""
    pods = advice.state.pods
    reasons: dict[tuple[str, str], list[str]] = {}
    for number, why in advice.pinned.items():
        reasons.setdefault(("pinned", ", ".join(words for _, words in why)), []).append(
            pods[number].title
        )
    for pod in pods:
        if pod.role is Role.FIXED:
            reasons.setdefault(("stays", pod.reason), []).append(pod.title)
    if not reasons:
        return
    rows = tuple(
        (why, len(names), kind, ", ".join(names)) for (kind, why), names in reasons.items()
    )
    columns = (
        Column("reason", bold=True),
        Column("number", numeric=True),
        Column("how"),
        Column("which"),
    )
    yield PagePart("What stays, and why", (), (Table("staying", "", columns, rows),), folded=True)
