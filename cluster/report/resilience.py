"""The answers about single nodes in words: emptying them, losing them, and repairs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ..plan.answer import Answer
from ..plan.safe import TOGETHER, left_of, starts_again
from ..state.kubernetes import AUTOSCALER
from ..state.state import ClusterState, Role
from .model import Line, PlanPart, Shown
from .page import rows_part, wave_steps
from .text_report import (
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

GROWS = (AUTOSCALER, "Deployment")
"""Kinds of cases of further pods; the others lose nodes."""


def drain_answer(found: Answer) -> Shown:
    """Whether nodes can be emptied, what stands in the way pod by pod, and the moves that do it."""
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
    if advice is not None:
        room = [
            f"{state.pods[n].title} ({state.pods[n].node} to {target})"
            for n, target in advice.targets.items()
            if n not in found.pods
        ]
        lines += [Line(f"to make room: {some(room)}")] * bool(room)
        lines += map(Line, (*ordering(advice), *cut_short(advice), *not_by_default(advice)))
        advice = replace(advice, arrivals={}, waiting=())
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
    """Of each pod on a node its name, and where it goes or what stands in its way."""
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


def rolling_answer(found: Answer) -> Shown:
    """The order in which nodes are emptied, or the first that stays."""
    state, left = found.state, [*found.hosts]
    done = [step for step in found.steps if step.status]
    plans = {step.name: step.plan for step in done if step.plan is not None}
    del left[: len(done)]
    moves = sum(plan.moves.value for plan in plans.values())
    waves = sum(len(plan.order.waves) for plan in plans.values())
    spares = sum(found.bought.values())
    like = f", with {plural(spares, state.host_noun)} more" if spares else ""
    order = [f"{name} ({plan.moves.value})" for name, plan in plans.items()]
    title = "In this order, with their moves"
    lines = [Line("order (moves)", order, title=title)] * bool(order)
    first = f"emptied one after the other, each back empty before the next{like}: "
    first += f"{plural(moves, 'move')} in {plural(waves, 'wave')}."
    if left:
        first = f"no order was found in which {some(left)} can be emptied{like}."
        lines = [replace(line, words="before that (moves)") for line in lines]
        lines += drain_answer(found.steps[-1]).lines
    steps = [step for name, plan in plans.items() for step in wave_steps(plan, f"{name}: ")]
    return Shown(
        state, f"Empty {', '.join([*plans, *left])}",
        f"An order in which each {state.host_noun} can be emptied, and is back before the next.",
        (Line(first), *lines), found.status, plan=PlanPart((), (), tuple(steps)),
        no_plan="nodes emptied one after the other have a plan each: give the first alone, and the "
        "next with a new state",
    )  # fmt: skip


def safe_answer(found: Answer) -> Shown:
    """What can be lost, which workloads can grow, and of the rest which pods have no place and what
    would be enough.
    """
    state, one, lines = found.state, found.state.workload_noun, []
    grows = [case for case in found.steps if case.kind in GROWS]
    lost_of = [case for case in found.steps if case.kind not in GROWS]
    for kind in dict.fromkeys(loss.kind for loss in lost_of):
        losses = [loss for loss in lost_of if loss.kind == kind]
        what = f"{state.host_noun if kind == 'node' else kind.rpartition('/')[2]}s"
        number = sum(loss.status is True for loss in losses)
        words = f"safe: any one of {number} {what} can be lost; all its {one}s that start again "
        words += "have places on the others (each checked)."
        if number < len(losses):
            what_is = "safe" if any(loss.status is False for loss in losses) else "known"
            words = f"not {what_is}: {number} of {len(losses)} {what} can be lost{_others(losses)}."
        lines.append(Line(words, number=f"{number} of {len(losses)} {what}"))
    lines += _growing(state, grows)
    lost, own = _lost(state), sum(pod.role is Role.RESIDENT for pod in state.pods)
    words = f"lost with their {state.host_noun}: {plural(own, one)} of its own"
    words += f", and what nothing starts again: {some(lost, 2)}" * bool(lost)
    lines.append(Line(words + _not_asked(state)))
    cases = [case for case in found.steps if not case.reason]
    worst = sorted(
        (case for case in cases if not case.status), key=lambda case: case.status is None
    )
    rows = [(_called(case), _without(case)) for case in worst]
    unjudged = {f"{case.kind} {case.name}": case.reason for case in grows if case.reason}
    rows += [(name, f"not judged: {why}") for name, why in unjudged.items()]
    if rows:
        lines.append(Line("case", rows=rows, title="What is not safe, or is not known"))
    places = [
        (_called(case), len(case.pods) + case.more, case.fits.value, case.fits.bound)
        for case in cases
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
    """The cases that are not safe, and those that are not known."""
    names = grouped((str(loss.status), loss.name) for loss in losses)
    never, unknown = names.get("False", ()), names.get("None", ())
    words = f"; {len(never)} cannot (proved): {some(never, 3)}" * bool(never)
    return words + f"; not known of {some(unknown, 3)}" * bool(unknown)


def _growing(state: ClusterState, cases: Sequence[Answer]) -> Iterator[Line]:
    """Whether autoscalers can reach their maximum, and Deployments be updated."""
    kinds = {growth.kind for growth in state.growths}
    for kind, what, deed in (
        (AUTOSCALER, "HPA", "be at the maximum"),
        ("Deployment", "Deployment", "start a surge, one at a time"),
    ):
        losses = {case.name: case for case in cases if case.kind == kind and not case.reason}
        together = losses.pop(TOGETHER, None)
        unjudged = [case.name for case in cases if case.kind == kind and case.reason]
        if kind in kinds:
            number = sum(case.status is True for case in losses.values())
            number_of = f"{number} of {plural(len(losses) + len(unjudged), what)}"
            words = f"{number_of} can {deed}{_others(losses.values())}"
            words += f"; not judged: {some(unjudged, 3)}" * bool(unjudged)
            if together is not None:
                means = {True: "they can", False: "they cannot (proved)", None: "not known"}
                which = TOGETHER + " that are judged" * bool(unjudged)
                words += f"; {which}: {means[together.status]}"
            yield Line(f"{words}.", number=number_of)


def _not_asked(state: ClusterState) -> str:
    """What a file of Kubernetes does not tell of growth, and how it would."""
    kinds = {growth.kind for growth in state.growths}
    words = {"hpa": ("HPAs", AUTOSCALER), "deploy": ("surges", "Deployment")}
    absent = {word: what for word, (what, kind) in words.items() if kind not in kinds}
    what = f"; not asked: {' and '.join(absent.values())} (get {','.join(absent)} too)"
    return what * (bool(absent) and state.platform == "kubernetes")


def _called(loss: Answer) -> str:
    """What a case is called."""
    words = {AUTOSCALER: "at the maximum of", "Deployment": "in the surge of"}
    return f"{words.get(loss.kind, 'without')} {loss.name}"


def _without(loss: Answer) -> str:
    """Which pods of a loss have no place, and what would be enough."""
    state, fits = loss.state, loss.fits
    titles = [state.pods[n].title for n in left_of(loss)]
    sure = f"{'no more' if fits.value == fits.bound else f'at most {fits.bound}'} fit, proved"
    number = len(titles) + loss.more
    words = f"{number} of {plural(len(loss.pods) + loss.more, state.workload_noun)} "
    words += f"{'has' if number == 1 else 'have'} no place ({sure})"
    words += f": {some(titles, 3)}" * bool(loss.hosts)
    if whys := list(dict.fromkeys(", ".join(why) for why in loss.why_not.values() if why)):
        words += f" ({some(whys, 1)})"
    for like, spare in loss.bought.items():
        words += f"; enough: {plural(spare, state.host_noun)} more like {like}"
        words += " (fewest, proved)" * (spare == 1 and loss.status is False)
    return words


def _lost(state: ClusterState) -> list[str]:
    """The pods that nothing starts again."""
    return [pod.title for pod in state.pods if pod.role is Role.FIXED and not starts_again(pod)]


def repair_answer(found: Answer) -> Shown:
    """What is broken, and the moves that repair it."""
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
