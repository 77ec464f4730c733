"""Report on the GPUs of a cluster: what admits the pending gangs, and where GPUs are free."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from ...instances.problem.emitted import quoted
from ..judge.scheduler_filters import Scheduler
from ..plan.answer import RELEASED, Answer, CardUse
from ..plan.gpus import MIG, cards_together
from ..plan.pending import why_refused
from .page import rows_part
from .text_report import Line, PagePart, Shown, cut_short, ordering, plural, some, sure_of_moves

PIECES, PINS = 4, 2
"""Sizes of pieces, and reasons of pods that stay, that are named in a terminal."""


def gpus_answer(found: Answer) -> Shown:
    """Report on the GPUs of a cluster, the pending gangs first."""
    state, those = found.state, found.steps
    planned = [one for one in those if one.status and one.plan and one.plan.targets]
    advice = planned[0].plan if len(planned) == 1 else None
    lines, no_plan = [], ""
    if len(those) == 1:
        lines += [Line(f"{_title(those[0])} {_admitted(those[0])}.", number=_number(those[0]))]
        lines += [Line(words) for words in _reasons(those[0])]
    elif those:
        now = sum(bool(one.status) for one in those) - len(planned)
        words = f"{len(those)} gangs or pods wait for cards: {now} fit now, {len(planned)} after "
        words += f"moves, {len(those) - now - len(planned)} do not; each is asked alone."
        rows = [(_title(one), _admitted(one)) for one in those]
        lines += [Line(words), Line("gang", rows=rows, title="Gangs that wait")]
    if found.unasked:
        title = "Others that wait, which were not asked about"
        lines.append(Line("wait too, and are asked about with --gang", found.unasked, title=title))
    if advice is not None:
        lines += map(Line, (*ordering(advice), *cut_short(advice)))
    elif planned:
        no_plan = "several gangs fit after moves: choose one with --gang"
    else:
        no_plan = "there is no plan of moves: "
        no_plan += "none are needed" if found.status else "none help"
    lines += [Line(_use(one), number=f"{one.free} of {one.total} free") for one in found.room]
    if not those:
        lines.append(Line("no pod that waits asks for cards"))
    domains = those[0].domains if len(those) == 1 and those[0].topology else {}
    return Shown(
        state, f"Cards of {state.name.rpartition('/')[2]}",
        "Where cards are free, and the fewest moves that admit the gangs that wait: all pods of "
        "one, or none.",
        tuple(lines), found.status, advice, no_plan,
        parts=tuple(_parts(found, domains, those[0].topology if domains else "")),
    )  # fmt: skip


def _title(one: Answer) -> str:
    """Name of a gang with the number of its pods and GPUs."""
    of = cards_together(one.state.pods[n] for n in one.pods)
    cards = " and ".join(_number_of(name, number) for name, number in of.items())
    if len(one.pods) == 1:
        return f"pod {one.name} ({cards})"
    return f"gang {one.name} ({plural(len(one.pods), one.state.workload_noun)}, {cards})"


def _number_of(resource: str, number: int) -> str:
    """Format a number of GPUs, or of slices of a MIG profile."""
    if resource.startswith(MIG):
        return f"{number} {resource.rpartition('/')[2]}"
    return plural(number, "card")


def _number(one: Answer) -> str:
    if not one.status:
        return "no room"
    return plural(one.plan.moves.value, "move") if one.plan else ""


def _admitted(one: Answer) -> str:
    """Sentence on whether a gang fits, and what is proved of it."""
    where = f" in {one.topology} {one.domain}" * bool(one.domain)
    if one.status and one.plan is not None:
        advice = one.plan
        if not advice.targets:
            return f"fits now{where}, while nothing moves"
        proved = bool(one.topology) and len(advice.targets) <= advice.moves.pinned
        best = f"; no other {one.topology} needs fewer" * proved
        return (
            f"fits{where} after {plural(len(advice.targets), 'move')} {sure_of_moves(advice)}{best}"
        )
    if one.plan is not None:
        moves = plural(one.plan.moves.value, "move")
        return f"would fit{where} after {moves}, but no order of them was found"
    among = f" in any {one.topology}" * bool(one.topology)
    if one.impossible:
        return f"does not fit: no moves admit it{among}, {one.impossible} (proved)"
    if one.why_not:
        words = [*dict.fromkeys(each for why in one.why_not.values() for each in why)]
        return f"is in no plan, for what is not modelled: {some(words)}"
    return f"does not fit now; no moves were found that admit it{among}, nor a proof of none"


def _reasons(one: Answer) -> Iterator[str]:
    """Sentences on why nodes refuse the first pod of a gang that does not fit, and which pods are
    pinned.
    """
    if one.status:
        return
    [why] = why_refused(Scheduler(one.state), one.pods[:1]).values()
    refused = [f"{number} {words}" for words, number in why.items()]
    if refused:
        yield f"nodes refuse its first pod: {', '.join(refused)}"
    first = Counter(each for why in one.pinned.values() for each in why).most_common(PINS)
    for (kind, words), number in first:
        cure = f" (--release {quoted(kind)} lets them move, if you know that they can)"
        yield f"{plural(number, 'pod')} stay: {words}{cure * (kind in RELEASED)}"


def _use(one: CardUse) -> str:
    """Sentence on the number of GPUs of a resource, and in which pieces they are free."""
    pieces = sorted(((free, nodes) for free, nodes in one.pieces.items() if free), reverse=True)
    words = [f"{free} on {plural(nodes, 'node')}" for free, nodes in pieces]
    text = f"{_number_of(one.resource, one.total)} ({one.resource}): {one.used} in use, {one.free}"
    text += f" free ({some(words, PIECES)})" if words else " free"
    return text + f"; {one.closed} more on nodes that take no pods" * bool(one.closed) + "."


def _parts(found: Answer, domains: Mapping[str, int | None], topology: str) -> Iterator[PagePart]:
    """Tables on GPUs: free pieces, topology domains, and the nodes of a gang's pods."""
    rows = [
        (one.resource, f"{free} free", nodes) for one in found.room
        for free, nodes in sorted(one.pieces.items(), reverse=True)
    ]  # fmt: skip
    yield rows_part("Where cards are free", ("resource", "cards on a node", "number"), rows)
    if domains:
        known = [
            (name, "no moves admit it" if least is None else f"at least {least} moves")
            for name, least in domains.items()
        ]
        yield rows_part(f"By {topology}", (topology, "proved"), known, folded=len(known) > 20)
    for one in found.steps:
        if one.status and one.plan is not None:
            on = Counter(one.plan.arrivals.values()).most_common()
            yield rows_part(f"Nodes of {one.name}", ("node", "pods"), on, folded=len(on) > 20)
