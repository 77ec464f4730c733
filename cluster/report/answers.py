"""Report on the answer to each question: sentences, tables, and sections of the page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from ...analysis.report.page import Part
from ...instances.problem.emitted import quoted
from ...instances.problem.option_types import validate_options
from ..judge.scheduler_filters import Scheduler
from ..plan.answer import RELEASED, Answer, CardUse
from ..plan.gpus import MIG, cards_together
from ..plan.pending import why_refused
from ..plan.safe import starts_again
from ..state.state import ClusterState, Role
from .page import MAX_PENDING, rows_part
from .text_report import (
    Line,
    Shown,
    amount,
    cut_short,
    fewest,
    grouped,
    nodes_answer,
    not_by_default,
    on_nodes,
    ordering,
    plural,
    preemption,
    some,
    sure_of_moves,
)


def drain_answer(found: Answer) -> Shown:
    """Report on whether nodes can be emptied, which pods block that, and the moves."""
    # 1. The decision, in one sentence.
    state, advice, single = found.state, found.plan, len(found.hosts) == 1
    one = state.workload_noun
    pods = [n for n in found.pods if state.pods[n].role in (Role.MOVABLE, Role.FIXED)]
    own = f" besides {'its' if single else 'their'} own" if state.platform == "kubernetes" else ""
    begin = f"{found.name} hold{'s' * single} {plural(len(pods), one)}{own}; "
    lines: list[Line] = []
    if not pods:
        begin = f"{found.name} {'is' if single else 'are'} empty{own and f': nothing runs{own}'}."
    elif found.status and advice is not None:
        moves, least = advice.moves.value, advice.moves.pinned
        begin += f"{'it' if single else 'they'} can be emptied: {plural(moves, 'move')} "
        begin += f"({fewest(moves, least, least)})."
    elif found.why_not:
        verb = "blocks" if len(found.why_not) == 1 else "block"
        begin += f"{len(found.why_not)} {verb} {'it' if single else 'that'}."
        if found.impossible:
            lines.append(Line(f"nor can all the others leave {found.impossible}."))
    elif advice is not None:
        begin += "no order of moves was found."
    elif found.impossible:
        begin += f"they cannot all leave {found.impossible}."
    else:
        begin += "no way to do that was found in time, but there may be one."
    # 2. Moves of other pods that make room, and the order of the moves.
    if advice is not None:
        room = [
            f"{state.pods[n].title} ({state.pods[n].node} to {target})"
            for n, target in advice.targets.items()
            if n not in found.pods
        ]
        lines += [Line(f"to make room: {some(room)}")] * bool(room)
        lines += map(Line, (*ordering(advice), *cut_short(advice), *not_by_default(advice)))
        advice = replace(advice, arrivals={}, waiting=())
    # 3. Pod by pod, those that block first.
    rows = sorted(_remarks(found), key=lambda row: not row[1].startswith("blocks: "))
    lines.append(Line(one, rows=rows, title=f"On {found.name}"))
    about = (
        f"Whether the {state.host_noun}{'s' * (not single)} can be emptied, what blocks it, and "
    )
    return Shown(
        state, f"Drain {found.name}", f"{about}the fewest moves that do it.",
        (Line(begin), *lines), found.status, advice,
        "" if found.status else f"{found.name} cannot be emptied",
    )  # fmt: skip


def _remarks(found: Answer) -> Iterator[tuple[str, str]]:
    """Remark on each pod of an emptied node: its name and its new node, or what blocks it."""
    state, targets = found.state, {} if found.plan is None else found.plan.targets
    for number in found.pods:
        pod = state.pods[number]
        if number in found.why_not:
            remark = f"blocks: {', '.join(found.why_not[number])}"
        elif pod.role is Role.RESIDENT:
            remark = f"belongs to the {state.host_noun}: {pod.reason}"
        elif pod.role is Role.LEAVING:
            remark = "is being deleted"
        elif number in targets:
            remark = f"to {targets[number]}"
        elif found.open_to.get(number):
            remark = f"could go to {some(found.open_to[number])}, if it were alone"
        else:
            why = on_nodes(found.refused[number], state.host_noun)
            remark = f"no {state.host_noun} takes it now: {why}"
        yield pod.title, remark


def safe_answer(found: Answer) -> Shown:
    """Report on which nodes or domains can be lost, and which pods do not fit after the other
    losses.
    """
    state, one, lines = found.state, found.state.workload_noun, []
    for kind in dict.fromkeys(loss.kind for loss in found.steps):
        losses = [loss for loss in found.steps if loss.kind == kind]
        what = f"{state.host_noun if kind == 'node' else kind.rpartition('/')[2]}s"
        number = sum(loss.status is True for loss in losses)
        words = f"safe: any one of {number} {what} can be lost; all its {one}s that start again "
        words += "have places on the others (each checked)."
        if number < len(losses):
            what_is = "safe" if any(loss.status is False for loss in losses) else "known"
            words = f"not {what_is}: {number} of {len(losses)} {what} can be lost{_others(losses)}."
        lines.append(Line(words, number=f"{number} of {len(losses)} {what}"))
    own = sum(pod.role is Role.RESIDENT for pod in state.pods)
    lost = [p.title for p in state.pods if p.role is Role.FIXED and not starts_again(p)]
    words = f"lost with their {state.host_noun}: {plural(own, one)} of its own"
    lines.append(Line(words + f", and what nothing starts again: {some(lost, 2)}" * bool(lost)))
    worst = [case for case in found.steps if not case.status]
    worst.sort(key=lambda case: case.status is None)
    if rows := [(f"without {case.name}", _without(case)) for case in worst]:
        lines.append(Line("case", rows=rows, title="What is not safe, or is not known"))
    places = [
        (f"without {case.name}", len(case.pods), case.fits.value, case.fits.bound)
        for case in found.steps
    ]  # fmt: skip
    headings = "case", f"its {one}s", "have a place", "at most, proved"
    return Shown(
        state, f"What can be lost of {state.name.rpartition('/')[2]}",
        f"Whether the {one}s of a {state.host_noun} or a group that is lost have places on the "
        "others while nothing else moves.",
        tuple(lines), found.status,
        parts=(rows_part("Every case", headings, places, folded=True),),
    )  # fmt: skip


def _others(losses: Iterable[Answer]) -> str:
    """Sentence on the losses of nodes that are not safe, and on those that are not known."""
    names = grouped((str(loss.status), loss.name) for loss in losses)
    never, unknown = names.get("False", ()), names.get("None", ())
    words = f"; {len(never)} cannot (proved): {some(never, 3)}" * bool(never)
    return words + f"; not known of {some(unknown, 3)}" * bool(unknown)


def _without(loss: Answer) -> str:
    """Sentence on the pods of a lost node or domain that fit nowhere, and why."""
    state, fits = loss.state, loss.fits
    titles = [state.pods[n].title for n in loss.pods if n not in loss.arrivals]
    sure = f"{'no more' if fits.value == fits.bound else f'at most {fits.bound}'} fit, proved"
    words = f"{len(titles)} of {plural(len(loss.pods), state.workload_noun)} "
    words += f"{'has' if len(titles) == 1 else 'have'} no place ({sure}): {some(titles, 3)}"
    whys = list(dict.fromkeys(", ".join(why) for why in loss.why_not.values() if why))
    return words + f" ({some(whys, 1)})" * bool(whys)


def repair_answer(found: Answer) -> Shown:
    """Report on the broken rules and the moves that repair them."""
    state, advice, number, lines = found.state, found.plan, len(found.broken), []
    first = f"{plural(number, 'rule')} {'is' if number == 1 else 'are'} broken now; "
    if not found.broken:
        first = "nothing to do: no rule is broken now (proved: room, anti-affinity, affinity, host "
        first += f"ports and spreads of every {state.workload_noun} that runs)."
    elif advice is None and found.impossible:
        first += f"they cannot all be repaired {found.impossible}."
    elif advice is None:
        first += "no repair was found in time, but there may be one."
    elif not advice.targets:
        first += "no plan repairs them, as no such rule is modelled."
    else:
        verb = "repairs" if len(advice.targets) == 1 else "repair"
        what = "some of them" if found.left_broken else "all" if number > 1 else "it"
        first += f"{plural(len(advice.targets), 'move')} {verb} {what} {sure_of_moves(advice)}."
        steps = [f"{state.pods[n].title} to {name}" for n, name in advice.targets.items()]
        lines.append(Line("moves", steps, title="Moves"))
        lines += map(Line, ordering(advice))
    if found.broken:
        lines.append(Line("broken now", found.broken, title="Broken now"))
    if found.left_broken and advice is not None:
        words = "left broken, not modelled or pinned"
        lines.append(Line(words, found.left_broken, title="Left broken"))
    why = "no repair of it all was found" if found.broken else "nothing is broken"
    return Shown(
        state, f"Repair {state.name.rpartition('/')[2]}",
        f"Which rules are broken as it stands, and the fewest moves that repair them; no "
        f"{state.host_noun} is emptied.",
        (Line(first, number=f"{number} broken" if number else ""), *lines), found.status, advice,
        "" if advice is not None else f"there is no plan, as {why}",
    )  # fmt: skip


EXPLAINED = 10
"""Pods that wait of which the reasons are looked for."""


def fit_answer(found: Answer) -> Shown:
    """Report on whether pending pods fit, and which constraints prevent it."""
    state, number, plan = found.state, len(found.pods), found.plan
    one, fit_now, most_now = state.workload_noun, found.fits.value, found.fits.bound
    asked, lines, most = plural(number, f"pending {one}"), [], number - found.waits.bound
    why = "none are needed" if found.status else "none help"
    if fit_now == number:
        first = f"yes: {asked} fit now, while nothing moves."
        on = [f"{name} ({pods})" for name, pods in Counter(found.arrivals.values()).most_common()]
        lines.append(Line("on", on, title=f"On these {state.host_noun}s"))
    else:
        more = "no more" if fit_now == most_now else f"at most {most_now}"
        no = "no" if most < number else "not now"
        first = {True: "yes, after moves", None: "not known", False: no}[found.status]
        first += f": {fit_now} of {asked} fit now, and {more} do (proved)."
        after = f"at most {most} do after any moves (proved)"
        if plan is not None:
            words = f"{number - len(plan.waiting)} fit after {plural(plan.moves.value, 'move')}"
            words += f" {sure_of_moves(plan)}{f'; {after}' * (not found.status)}."
        elif most <= most_now == fit_now:
            words = "no moves make room for more (proved)."
        else:
            words = f"no moves were found that make room for more; {after}."
        lines.append(Line(words))
    for bought in found.steps:
        lines.append(Line(f"with new {state.host_noun}s: {_bought(bought)}"))
    lines += map(Line, preemption(state, found.waiting))
    lines += _waits(found)
    arrivals = found.arrivals if plan is None else plan.arrivals
    return Shown(
        state, f"Room in {state.name.rpartition('/')[2]}",
        f"Whether {one}s that run nowhere fit together: now, after moves, or with new "
        f"{state.host_noun}s.",
        (Line(first, number=f"{fit_now} of {number} now"), *_not_read(state), *lines),
        found.status, plan, "" if plan else f"there is no plan of moves: {why}",
        parts=_places(state, arrivals),
    )  # fmt: skip


def buy_answer(found: Answer) -> Shown:
    """Report on the nodes to buy, and the bound on their cost."""
    state, one = found.state, found.state.workload_noun
    assert found.cost is not None
    lines = [Line(_bought(found), number=amount(found.cost.value)), *_not_read(state)]
    lines += _waits(found)
    parts = _places(state, found.arrivals)
    if found.bought:
        parts = (rows_part("What to buy", ("type", "number"), found.bought.items()), *parts)
    about = f"The cheapest {state.host_noun}s for the {one}s that wait, and what no answer costs "
    title = f"{state.host_noun.capitalize()}s to buy"
    return Shown(state, title, f"{about}less than.", tuple(lines), found.status, parts=parts)


def _bought(found: Answer) -> str:
    """Sentence on which nodes to buy, and whether a cheaper choice is ruled out."""
    cost = found.cost
    assert cost is not None
    number, fit = sum(found.bought.values()), plural(len(found.arrivals), found.state.workload_noun)
    wait = ""
    if rest := len(found.waiting):
        sure = f"at least {found.waits.bound}, proved"
        if not found.waits.bound:
            sure = "not known whether they have to"
        wait = f"; {rest} wait{'s' * (rest == 1)} ({sure})"
    if not number:
        return f"nothing to buy: {fit} fit on what there is{wait}."
    what = ", ".join(f"{number} {name}" for name, number in found.bought.items())
    # where each costs 1, only their number is asked
    counted = cost.value == number
    sure = f"no {'fewer do' if counted else 'less does'}"
    if cost.value != cost.bound:
        sure = f"at least {amount(cost.bound)}"
    price = "" if counted else f" for {amount(cost.value)}"
    return f"{what}{price} hold {fit} ({sure}, proved){wait}."


def _waits(found: Answer) -> Iterator[Line]:
    """Lines on the pods without a node, the first of them with the reasons of all nodes."""
    state, pods, rows = found.state, found.waiting, []
    for n in pods[:EXPLAINED]:
        why = on_nodes(found.refused[n], state.host_noun)
        rows.append((state.pods[n].title, f"waits: {why}"))
    if len(pods) > EXPLAINED:
        rows.append((f"{len(pods) - EXPLAINED} more pending {state.workload_noun}s", "wait"))
    if rows:
        yield Line(state.workload_noun, rows=rows, title="What waits, and why")


def _not_read(state: ClusterState) -> list[Line]:
    """Lines on objects in the files that may contain pods and are not read."""
    kinds = some([f"{number} {kind}" for kind, number in state.ignored.items()])
    return [Line(f"not read: {kinds}")] * bool(kinds)


def _places(state: ClusterState, arrivals: Mapping[int, str]) -> tuple[Part, ...]:
    """Section of the page with the nodes on which pending pods are placed."""
    rows = [(state.pods[n].title, name) for n, name in [*arrivals.items()][:MAX_PENDING]]
    headings = state.workload_noun, state.host_noun
    return (rows_part("Where they go", headings, rows),) if rows else ()


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


def _parts(found: Answer, domains: Mapping[str, int | None], topology: str) -> Iterator[Part]:
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


_WORDS = {
    "nodes": nodes_answer, "drain": drain_answer, "safe": safe_answer,
    "fit": fit_answer, "buy": buy_answer, "repair": repair_answer, "gpus": gpus_answer,
}  # fmt: skip


@validate_options
def shown(answer: Answer) -> Shown:
    """Convert an answer to sentences and tables, for the terminal and the page."""
    return _WORDS[answer.kind](answer)
