"""Advice in words: what a person reads, in lines of at most 80 letters."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from ..instances.problem.text import sanitize_for_terminal
from .draining import Draining
from .plan import Advice
from .scheduler_filters import Scheduler
from .state import GATES, NOMINATED, ClusterState, Pod, Role

WIDTH = 80
GIVEN = ("usage", "assumed-requests")
"""Assumptions that the user gave: they stand before the answer."""
NAMED = 5
"""Names in a list before the rest is a number."""


def advice_lines(advice: Advice) -> list[str]:
    """What is known of a state, and what to do."""
    state = advice.state
    lines = [_first(advice)]
    if advice.freed:
        lines.append(f"  {_freeing(advice)}")
        lines += _ordering(advice)
        if advice.left_pending:
            lines.append(f"  {_default_scheduler(advice)}")
    if advice.frontier:
        lines.append(f"  {_trade(advice)}")
    lines += _cut(advice)
    lines.append(f"  {_counted(advice)}")
    if advice.repaired_rules:
        lines.append(f"  mended by the plan: {_some(advice.repaired_rules)} (broken now)")
    elif advice.translation.violated_rules:
        lines.append(f"  broken now, and left so: {_some(advice.translation.violated_rules)}")
    if not advice.proved and advice.dropped:
        lines.append(f"  not in the bound: {_some(advice.dropped)}")
    lines += [f"  not counted: {words}" for words in _not_counted(advice)]
    if soft := _soft(state):
        lines.append(f"  not enforced: {soft}")
    if state.ignored:
        kinds = [f"{number} {kind}" for kind, number in state.ignored.items()]
        lines.append(f"  not read: {_some(kinds)}")
    lines += [f"  note: {each.sentence}" for each in state.assumptions if each.code not in GIVEN]
    if advice.freed:
        means = {"kubernetes": "kubectl", "proxmox": "proxmox", "openstack": "openstack"}
        lines.append(f"  how to do it: --emit {means.get(state.platform, 'csv')}")
    return warned(state, lines)


def decision_sentences(advice: Advice) -> list[str]:
    """What to do, and how sure it is, in whole sentences."""
    found = [_first(advice)]
    if advice.freed:
        found += [_freeing(advice), *_ordering(advice)]
    found += _cut(advice)
    words = [qualified(advice.state, line.strip()) for line in found]
    return [line[:1].upper() + line[1:] for line in words]


def _first(advice: Advice) -> str:
    state = advice.state
    place = f"{'worker ' * (state.platform == 'kubernetes')}{state.host_noun}"
    used = len(advice.in_use)
    begin = f"{used} {place}{'s' * (used != 1)} {'is' if used == 1 else 'are'} in use; "
    what = (
        f"{advice.nodes_found} {'is' if advice.nodes_found == 1 else 'are'} enough"
        if advice.freed
        else "none can go"
    )
    if advice.order.stuck:
        what = f"{advice.nodes_found} would hold all, but no order of moves was found for some"
        if advice.order.cut:
            what = f"{advice.nodes_found} would hold all, but the order of moves is not finished"
    if advice.proved:
        return f"{begin}{what} and no fewer can do (proved: {advice.reason})."
    if advice.nodes_found == advice.nodes_lower_bound_pinned:
        return (
            f"{begin}{what}; no fewer while the pinned {state.workload_noun}s stay and every rule "
            f"below is kept (proved); at least {advice.nodes_lower_bound} in any case (proved)."
        )
    return (
        f"{begin}{what}; at least {advice.nodes_lower_bound} are needed in any case, and at least "
        f"{advice.nodes_lower_bound_pinned} while the pinned {state.workload_noun}s stay (both "
        "proved)."
    )


def _freeing(advice: Advice) -> str:
    moves = len(advice.targets)
    one = advice.state.workload_noun
    if moves == advice.moves_lower_bound:
        sure = "fewest, proved"
    elif moves == advice.moves_lower_bound_pinned:
        sure = "fewest"
        if advice.pinned:
            sure += f" while the pinned {one}s stay"
        sure += f", proved; at least {advice.moves_lower_bound} in any case"
    else:
        least = max(advice.moves_lower_bound, advice.moves_lower_bound_pinned)
        sure = f"at least {least}, proved"
    waves = len(advice.order.waves)
    budgets = ", no disruption budget broken" * bool(advice.state.budgets)
    return (
        f"free {_some(advice.freed)}: {moves} {one}{'s' * (moves != 1)} "
        f"{'move' if moves != 1 else 'moves'} ({sure}) in {waves} "
        f"wave{'s' * (waves != 1)}{budgets}."
    )


def _ordering(advice: Advice) -> list[str]:
    state, order = advice.state, advice.order
    found = []
    aside = [m for wave in order.waves for m in wave if m.temporary]
    if aside:
        names = [state.pods[move.pod].title for move in aside]
        found.append(f"  moved aside for a time, or nothing else fits: {_some(names)}")
    if order.stuck and not order.cut:
        names = [f"{state.pods[n].title} ({', '.join(why)})" for n, why in order.stuck.items()]
        found.append(f"  no order was found for: {_some(names)}")
    return found


def _cut(advice: Advice) -> list[str]:
    if not advice.cut:
        return []
    by = "an interrupt" if advice.interrupted else "the time limit (--time-limit)"
    return [f"  cut short by {by}: {', '.join(advice.cut)}; what is shown is checked."]


def _trade(advice: Advice) -> str:
    """Pods that move by nodes left in use."""
    parts = []
    for point in advice.frontier:
        if point.value is None:
            moves = "no plan was found"
        elif point.value == point.bound:
            moves = f"{point.value:.0f} (proved)"
        else:
            moves = f"{point.value:.0f} (at least {point.bound or 0:.0f})"
        parts.append(f"{point.limit:.0f} {advice.state.host_noun}s: {moves}")
    stay = f" while the pinned {advice.state.workload_noun}s stay" * bool(advice.pinned)
    one, place = advice.state.workload_noun, advice.state.host_noun
    return f"fewest {one}s that move, by {place}s in use{stay}: {'; '.join(parts)}."


def _default_scheduler(advice: Advice) -> str:
    words = [f"{scoring} {len(left)}" for scoring, left in advice.left_pending.items()]
    return f"left to the default scheduler, of the evicted pods stay pending: {', '.join(words)}."


def _counted(advice: Advice) -> str:
    state = advice.state
    movable = sum(pod.role is Role.MOVABLE for pod in state.pods) - len(advice.pinned)
    parts = [f"counted: {movable} movable {state.workload_noun}{'s' * (movable != 1)}"]
    if advice.pinned:
        parts.append(f"pinned: {len(advice.pinned)} ({_by_reason(state, advice)})")
    fixed = {n: (pod.reason,) for n, pod in enumerate(state.pods) if pod.role is Role.FIXED}
    if fixed:
        parts.append(f"staying: {len(fixed)} ({_grouped(state.pods, fixed)})")
    return "; ".join(parts)


def _by_reason(state: ClusterState, advice: Advice) -> str:
    reasons = {n: tuple(words for _, words in why) for n, why in advice.pinned.items()}
    return _grouped(state.pods, reasons)


def _grouped(pods: Sequence[Pod], reasons: Mapping[int, tuple[str, ...]]) -> str:
    """Names by reason."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for number, words in reasons.items():
        groups.setdefault(words, []).append(pods[number].title)
    return "; ".join(f"{_some(names)}: {', '.join(words)}" for words, names in groups.items())


def _not_counted(advice: Advice) -> list[str]:
    state = advice.state
    found = []
    over = "finished" if state.platform == "kubernetes" else "not running"
    for role, words in ((Role.FINISHED, over), (Role.LEAVING, "being deleted")):
        if number := sum(pod.role is role for pod in state.pods):
            found.append(f"{number} {words}")
    if pending := len(advice.arrivals) + len(advice.waiting):
        found.append(f"{pending} pending ({'; '.join(_pending(advice))})")
    return found


def _pending(advice: Advice) -> list[str]:
    """What pending pods fit together now and after the plan, where, and why others do not."""
    state, number = advice.state, len(advice.arrivals)
    sure = ", proved" * (advice.fit_now == advice.fit_now_upper_bound)
    parts = [f"{advice.fit_now} fit together now{sure}"]
    if advice.arrivals:
        places = [f"{state.pods[n].title} on {name}" for n, name in advice.arrivals.items()]
        parts.append(
            f"{number} {'once the plan is done' if advice.targets else 'as it is'}: {_some(places)}"
        )
    final = Scheduler(
        state,
        {n: advice.targets.get(n, pod.node) for n, pod in enumerate(state.pods) if pod.placed}
        | (dict(advice.arrivals) if not advice.order.stuck else {}),
    )
    freed = set(advice.freed)
    kept = [node.name for node in state.nodes if node.name not in freed]
    for n in advice.waiting[:NAMED]:
        pod = state.pods[n]
        kinds = (GATES, NOMINATED)
        why = ", ".join(w for kind, w in pod.unsupported_constraints if kind in kinds)
        parts.append(f"{pod.title} waits: {why or _why_not(final, n, kept)}")
    if len(advice.waiting) > NAMED:
        parts.append(f"and {len(advice.waiting) - NAMED} more wait")
    if advice.waiting and len(advice.waiting) == advice.waiting_lower_bound:
        parts.append("no plan places more, proved")
    return parts


def _why_not(scheduler: Scheduler, number: int, names: Iterable[str] | None = None) -> str:
    """Reasons of all nodes, as the scheduler's events count them."""
    tally: Counter[str] = Counter()
    for name in scheduler.nodes if names is None else names:
        tally.update(set(scheduler.refusals(number, name)))
    return ", ".join(f"{count} {why}" for why, count in tally.most_common())


def _soft(state: ClusterState) -> str:
    groups: dict[str, list[str]] = {}
    for pod in state.pods:
        if pod.placed and pod.role is not Role.RESIDENT:
            for words in pod.soft:
                groups.setdefault(words, []).append(pod.title)
    return "; ".join(f"{words}: {_some(names)}" for words, names in groups.items())


def drain_lines(state: ClusterState, found: Draining) -> list[str]:
    """What stands in the way of emptying a node, pod by pod, and the moves that do it."""
    pods = [n for n in found.pods if state.pods[n].role in (Role.MOVABLE, Role.FIXED)]
    own = " besides its own" if state.platform == "kubernetes" else ""
    begin = f"{found.node} holds {len(pods)} {state.workload_noun}{'s' * (len(pods) != 1)}{own}; "
    advice = found.advice
    if found.empties and advice is not None:
        moves = len(advice.targets)
        fewest = moves == advice.moves_lower_bound_pinned
        sure = "fewest, proved" if fewest else f"at least {advice.moves_lower_bound_pinned}, proved"
        lines = [f"{begin}it can be emptied: {moves} move{'s' * (moves != 1)} ({sure})."]
    elif found.blocked:
        number = len(found.blocked)
        lines = [f"{begin}{number} {'blocks' if number == 1 else 'block'} it."]
        if found.impossible:
            lines.append(f"  nor can all the others leave {found.impossible}.")
    elif advice is not None:
        lines = [f"{begin}no order of moves was found."]
    elif found.impossible:
        lines = [f"{begin}they cannot all leave {found.impossible}."]
    else:
        lines = [f"{begin}no way to empty it was found in time, but there may be one."]
    targets = {} if advice is None else advice.targets
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
            remark = f"could go to {_some(found.open_to[number])}, if it were alone"
        else:
            why = Counter(w for all_ in found.refused[number].values() for w in set(all_))
            remark = ", ".join(f"{count} {words}" for words, count in why.most_common())
            remark = f"no {state.host_noun} takes it now: {remark}"
        lines.append(f"  {pod.title}: {remark}")
    if advice is not None:
        others = [n for n in targets if n not in found.pods]
        if others:
            names = [
                f"{state.pods[n].title} ({state.pods[n].node} to {targets[n]})" for n in others
            ]
            lines.append(f"  to make room: {_some(names)}")
        lines += _ordering(advice)
        lines += _cut(advice)
        if advice.repaired_rules:
            lines.append(f"  mended by the plan: {_some(advice.repaired_rules)} (broken now)")
    return warned(state, lines)


def drain_document(state: ClusterState, found: Draining) -> dict[str, Any]:
    """What `drain_lines` says, as plain JSON values."""
    pods = state.pods
    return {
        "node": found.node,
        "empties": found.empties,
        "impossible": found.impossible,
        "blocked": {pods[n].title: list(why) for n, why in found.blocked.items()},
        "open_to": {pods[n].title: list(names) for n, names in found.open_to.items()},
        "refused": {
            pods[n].title: {name: list(why) for name, why in by.items() if why}
            for n, by in found.refused.items()
        },
        "plan": None if found.advice is None else found.advice.document(),
        "warnings": [asdict(each) for each in state.warnings],
    }


_PROVED = re.compile(r"(?<![\w/.-])proved(?![\w/.-])(?! of )")


def warned(state: ClusterState, lines: Iterable[str]) -> list[str]:
    """Printable lines about a state, after its warnings and what was given beside it; what is
    proved says of what.
    """
    before = [f"warning: {each.sentence} [{each.code}]" for each in state.warnings]
    before += [f"note: {each.sentence}" for each in state.assumptions if each.code in GIVEN]
    return wrapped(before + [qualified(state, line) for line in lines])


def qualified(state: ClusterState, words: str) -> str:
    """A sentence about a state: what is proved says of what."""
    of = f" of the {state.workload_noun}s in this file" if state.warnings else ""
    of += f", {state.counted}" if state.counted else ""
    return _PROVED.sub(f"proved{of}", words, count=1)


def _some(names: Sequence[str]) -> str:
    """The first few of some names, and how many there are besides."""
    text = ", ".join(names[:NAMED])
    return text if len(names) <= NAMED else f"{text} and {len(names) - NAMED} more"


def wrapped(lines: Iterable[str]) -> list[str]:
    """Printable lines of at most 80 letters, what does not fit indented below."""
    found = []
    for line in lines:
        line = sanitize_for_terminal(line)
        indent = len(line) - len(line.lstrip())
        found += textwrap.wrap(
            line, WIDTH, initial_indent="", subsequent_indent=" " * (indent + 2),
            break_on_hyphens=False, break_long_words=False,
        )  # fmt: skip
    return found
