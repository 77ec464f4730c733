"""The answers about single nodes in words: emptying them, losing them, and repairs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from typing import Any

from ..plan.draining import Draining, Rolling
from ..plan.peaks import TOGETHER, Peaks
from ..plan.repairing import Repair
from ..plan.safety import Loss, starts_again
from ..plan.wording import fewest, grouped, on_nodes, plural, some, tally
from ..state.kubernetes import AUTOSCALER
from ..state.state import ClusterState, Role
from .answer_page import PlanPart
from .nodes_page import rows_part, wave_steps
from .text_report import Answer, Line, cut_short, not_by_default, ordering, sure_of_moves


def drain_answer(state: ClusterState, found: Draining) -> Answer:
    """Whether nodes can be emptied, what stands in the way pod by pod, and the moves that do it."""
    one, advice, single = state.workload_noun, found.advice, len(found.nodes) == 1
    pods = [n for n in found.pods if state.pods[n].role in (Role.MOVABLE, Role.FIXED)]
    own = f" besides {'its' if single else 'their'} own" if state.platform == "kubernetes" else ""
    begin = f"{found.node} hold{'s' * single} {plural(len(pods), one)}{own}; "
    lines: list[Line] = []
    if not pods:
        begin = f"{found.node} {'is' if single else 'are'} empty{own and f': nothing runs{own}'}."
    elif found.empties and advice is not None:
        moves, least = len(advice.targets), advice.moves_lower_bound_pinned
        begin += f"{'it' if single else 'they'} can be emptied: {plural(moves, 'move')} "
        begin += f"({fewest(moves, least, least)})."
    elif found.blocked:
        verb = "blocks" if len(found.blocked) == 1 else "block"
        begin += f"{len(found.blocked)} {verb} {'it' if single else 'that'}."
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
    rows = sorted(_remarks(state, found), key=lambda row: not row[1].startswith("blocks: "))
    lines.append(Line(one, rows=rows, title=f"On {found.node}"))
    about = (
        f"Whether the {state.host_noun}{'s' * (not single)} can be emptied, what blocks it, and "
    )
    return Answer(
        state, f"Drain {found.node}", f"{about}the fewest moves that do it.",
        (Line(begin), *lines), found.empties, advice,
        "" if found.empties else f"{found.node} cannot be emptied",
    )  # fmt: skip


def _remarks(state: ClusterState, found: Draining) -> Iterator[tuple[str, str]]:
    """Of each pod on a node its name, and where it goes or what stands in its way."""
    targets = {} if found.advice is None else found.advice.targets
    for number in found.pods:
        pod = state.pods[number]
        if number in found.blocked:
            remark = f"blocks: {', '.join(found.blocked[number])}"
        elif pod.role is Role.RESIDENT:
            remark = f"belongs to the {state.host_noun}: {pod.reason}"
        elif pod.role is Role.LEAVING:
            remark = "is being deleted"
        elif number in targets:
            remark = f"to {targets[number]}"
        elif found.open_to.get(number):
            remark = f"could go to {some(found.open_to[number])}, if it were alone"
        else:
            why = on_nodes(tally(found.refused[number].values()), state.host_noun)
            remark = f"no {state.host_noun} takes it now: {why}"
        yield pod.title, remark


def drain_document(state: ClusterState, found: Draining) -> dict[str, Any]:
    """What is known of emptying nodes, as plain JSON values."""
    titles = [pod.title for pod in state.pods]
    return {
        "node": found.node,
        "empties": found.empties,
        "impossible": found.impossible,
        "blocked": {titles[n]: list(why) for n, why in found.blocked.items()},
        "open_to": {titles[n]: list(names) for n, names in found.open_to.items()},
        "refused": {
            titles[n]: {name: list(why) for name, why in by.items() if why}
            for n, by in found.refused.items()
        },
        "plan": found.advice and found.advice.document(),
        "warnings": [asdict(each) for each in state.warnings],
    }


def rolling_answer(state: ClusterState, found: Rolling) -> Answer:
    """The order in which nodes are emptied, or the first that stays."""
    plans = {step.node: step.advice for _, step in found.steps if step.advice is not None}
    moves = sum(len(advice.targets) for advice in plans.values())
    waves = sum(len(advice.order.waves) for advice in plans.values())
    like = f", with {plural(len(found.spares), state.host_noun)} more" if found.spares else ""
    order = [f"{name} ({len(plan.targets)})" for name, plan in plans.items()]
    title = "In this order, with their moves"
    lines = [Line("order (moves)", order, title=title)] * bool(order)
    first = f"emptied one after the other, each back empty before the next{like}: "
    first += f"{plural(moves, 'move')} in {plural(waves, 'wave')}."
    if found.failed is not None:
        first = f"no order was found in which {some(found.left)} can be emptied{like}."
        lines = [replace(line, words="before that (moves)") for line in lines]
        lines += drain_answer(*found.failed).lines
    steps = [step for name, plan in plans.items() for step in wave_steps(plan, f"{name}: ")]
    return Answer(
        state, f"Empty {', '.join([*plans, *found.left])}",
        f"An order in which each {state.host_noun} can be emptied, and is back before the next.",
        (Line(first), *lines), not found.left, plan=PlanPart((), (), tuple(steps)),
        no_plan="nodes emptied one after the other have a plan each: give the first alone, and the "
        "next with a new state",
    )  # fmt: skip


def rolling_document(found: Rolling) -> dict[str, Any]:
    """What `rolling_answer` says, as plain JSON values, with every move."""
    return {
        "steps": [{"node": step.node, "waves": step.advice.document()["waves"]}
                  for _, step in found.steps if step.advice is not None],
        "spares": list(found.spares),
        "left": list(found.left),
        "failed": found.failed and drain_document(*found.failed),
    }  # fmt: skip


def safe_answer(state: ClusterState, found: Sequence[Loss], peaks: Peaks | None = None) -> Answer:
    """What can be lost, which workloads can grow, and of the rest which pods have no place and what
    would be enough.
    """
    one, lines = state.workload_noun, []
    for kind in dict.fromkeys(loss.kind for loss in found):
        losses = [loss for loss in found if loss.kind == kind]
        what = f"{state.host_noun if kind == 'node' else kind.rpartition('/')[2]}s"
        number = sum(loss.safe is True for loss in losses)
        words = f"safe: any one of {number} {what} can be lost; all its {one}s that start again "
        words += "have places on the others (each checked)."
        if number < len(losses):
            what_is = "safe" if any(loss.safe is False for loss in losses) else "known"
            words = f"not {what_is}: {number} of {len(losses)} {what} can be lost{_others(losses)}."
        lines.append(Line(words, number=f"{number} of {len(losses)} {what}"))
    grown, more = (peaks.state, peaks.found) if peaks else (state, ())
    if peaks:
        lines += _growing(peaks)
    lost, own = _lost(state), sum(pod.role is Role.RESIDENT for pod in state.pods)
    words = f"lost with their {state.host_noun}: {plural(own, one)} of its own"
    words += f", and what nothing starts again: {some(lost, 2)}" * bool(lost)
    lines.append(Line(words + (_not_asked(peaks) if peaks else "")))
    cases = [*((state, loss) for loss in found), *((grown, loss) for loss in more)]
    worst = sorted(
        (case for case in cases if not case[1].safe), key=lambda case: case[1].safe is None
    )
    rows = [(_called(loss), _without(of, loss)) for of, loss in worst]
    rows += [(name, f"not judged: {why}") for name, why in _not_judged(peaks).items()]
    if rows:
        lines.append(Line("case", rows=rows, title="What is not safe, or is not known"))
    places = [
        (_called(loss), len(loss.pods) + loss.more, len(loss.arrivals), loss.upper_bound)
        for _, loss in cases
    ]  # fmt: skip
    headings = "case", f"its {one}s", "have a place", "at most, proved"
    return Answer(
        state, f"What can be lost of {state.name.rpartition('/')[2]}",
        f"Whether the {one}s of a {state.host_noun} or a group that is lost have places on the "
        "others while nothing else moves.",
        tuple(lines), not rows,
        parts=(rows_part("Every case", headings, places, folded=True),),
    )  # fmt: skip


def _others(losses: Iterable[Loss]) -> str:
    """The cases that are not safe, and those that are not known."""
    names = grouped((str(loss.safe), loss.name) for loss in losses)
    never, unknown = names.get("False", ()), names.get("None", ())
    words = f"; {len(never)} cannot (proved): {some(never, 3)}" * bool(never)
    return words + f"; not known of {some(unknown, 3)}" * bool(unknown)


def _growing(peaks: Peaks) -> Iterator[Line]:
    """Whether autoscalers can reach their maximum, and Deployments be updated."""
    kinds = {growth.kind for growth in peaks.state.growths}
    for kind, what, deed in (
        (AUTOSCALER, "HPA", "be at the maximum"),
        ("Deployment", "Deployment", "start a surge, one at a time"),
    ):
        losses = {loss.name: loss for loss in peaks.found if loss.kind == kind}
        together = losses.pop(TOGETHER, None)
        unjudged = [growth.title for growth in peaks.not_judged if growth.kind == kind]
        if kind in kinds:
            number = sum(loss.safe is True for loss in losses.values())
            number_of = f"{number} of {plural(len(losses) + len(unjudged), what)}"
            words = f"{number_of} can {deed}{_others(losses.values())}"
            words += f"; not judged: {some(unjudged, 3)}" * bool(unjudged)
            if together is not None:
                means = {True: "they can", False: "they cannot (proved)", None: "not known"}
                which = TOGETHER + " that are judged" * bool(unjudged)
                words += f"; {which}: {means[together.safe]}"
            yield Line(f"{words}.", number=number_of)


def _not_asked(peaks: Peaks) -> str:
    """What the file does not tell of growth, and how it would."""
    kinds = {growth.kind for growth in peaks.state.growths}
    words = {"hpa": ("HPAs", AUTOSCALER), "deploy": ("surges", "Deployment")}
    absent = {word: what for word, (what, kind) in words.items() if kind not in kinds}
    what = f"; not asked: {' and '.join(absent.values())} (get {','.join(absent)} too)"
    return what * bool(absent)


def _not_judged(peaks: Peaks | None) -> dict[str, str]:
    """The names of what is not judged, and why."""
    items = () if peaks is None else peaks.not_judged.items()
    return {f"{growth.kind} {growth.title}": why for growth, why in items}


def _called(loss: Loss) -> str:
    """What a case is called."""
    words = {AUTOSCALER: "at the maximum of", "Deployment": "in the surge of"}
    return f"{words.get(loss.kind, 'without')} {loss.name}"


def _without(state: ClusterState, loss: Loss) -> str:
    """Which pods of a loss have no place, and what would be enough."""
    titles, exact = [state.pods[n].title for n in loss.left], len(loss.arrivals) == loss.upper_bound
    sure = "no more fit, proved" if exact else f"at most {loss.upper_bound} fit, proved"
    number = len(titles) + loss.more
    words = f"{number} of {plural(len(loss.pods) + loss.more, state.workload_noun)} "
    words += f"{'has' if number == 1 else 'have'} no place ({sure})"
    words += f": {some(titles, 3)}" * bool(loss.nodes)
    if whys := list(dict.fromkeys(why for why in loss.reasons.values() if why)):
        words += f" ({some(whys, 1)})"
    if loss.spare:
        words += f"; enough: {plural(loss.spare, state.host_noun)} more like {loss.like}"
        words += " (fewest, proved)" * (loss.spare == 1 and loss.safe is False)
    return words


def safe_document(
    state: ClusterState, found: Sequence[Loss], peaks: Peaks | None = None
) -> dict[str, Any]:
    """What `safe_answer` says, as plain JSON values, and every place."""
    grown, more = (peaks.state, peaks.found) if peaks else (state, ())
    return {
        "losses": [_case(state, loss) for loss in found],
        "autoscalers": [_case(grown, loss) for loss in more if loss.kind == AUTOSCALER],
        "surges": [_case(grown, loss) for loss in more if loss.kind != AUTOSCALER],
        "not_judged": _not_judged(peaks),
        "lost_with_their_node": _lost(state),
        "warnings": [asdict(each) for each in state.warnings],
    }


def _case(state: ClusterState, loss: Loss) -> dict[str, Any]:
    """One loss, or one growth, as plain JSON values."""
    pods = state.pods
    return {
        "of": loss.kind,
        "name": loss.name,
        "nodes": list(loss.nodes),
        "safe": loss.safe,
        "pods": len(loss.pods) + loss.more,
        "fit": len(loss.arrivals),
        "fit_at_most": loss.upper_bound,
        "places": {pods[n].title: name for n, name in loss.arrivals.items()},
        "without_place": [pods[n].title for n in loss.left],
        "reasons": {pods[n].title: why for n, why in loss.reasons.items()},
        "enough": {"nodes": loss.spare, "like": loss.like} if loss.spare else None,
    }


def _lost(state: ClusterState) -> list[str]:
    """The pods that nothing starts again."""
    return [pod.title for pod in state.pods if pod.role is Role.FIXED and not starts_again(pod)]


def repair_answer(found: Repair) -> Answer:
    """What is broken, and the moves that repair it."""
    state, advice, number, lines = found.state, found.advice, len(found.broken), []
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
        what = "some of them" if found.left else "all" if number > 1 else "it"
        first += f"{plural(len(advice.targets), 'move')} {verb} {what} {sure_of_moves(advice)}."
        steps = [f"{state.pods[n].title} to {name}" for n, name in advice.targets.items()]
        lines.append(Line("moves", steps, title="Moves"))
        lines += map(Line, ordering(advice))
    if found.broken:
        lines.append(Line("broken now", found.broken, title="Broken now"))
    if found.left and advice is not None:
        lines.append(Line("left broken, not modelled or pinned", found.left, title="Left broken"))
    why = "no repair of it all was found" if found.broken else "nothing is broken"
    return Answer(
        state, f"Repair {state.name.rpartition('/')[2]}",
        f"Which rules are broken as it stands, and the fewest moves that repair them; no "
        f"{state.host_noun} is emptied.",
        (Line(first, number=f"{number} broken" if number else ""), *lines), found.complete, advice,
        "" if advice is not None else f"there is no plan, as {why}",
    )  # fmt: skip


def repair_document(found: Repair) -> dict[str, Any]:
    """What `repair_answer` says, as plain JSON values."""
    return {
        "broken": list(found.broken),
        "left_broken": list(found.left),
        "impossible": found.impossible,
        "plan": found.advice and found.advice.document(),
        "warnings": [asdict(each) for each in found.state.warnings],
    }
