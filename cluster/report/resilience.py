"""Reports on emptying nodes, on losing nodes, and on repairing broken rules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from ..plan.answer import Answer
from ..plan.safe import starts_again
from ..state.state import Role
from .page import rows_part
from .text_report import (
    Line,
    Shown,
    cut_short,
    fewest,
    grouped,
    not_by_default,
    on_nodes,
    ordering,
    plural,
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
