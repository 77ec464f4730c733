"""Advice in words: what a person reads, in lines of at most 80 letters."""

from __future__ import annotations

import math
import re
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from fractions import Fraction
from typing import Any

from ..analysis.frontier import PricePoint
from ..instances.problem.text import sanitize_for_terminal
from .draining import Draining
from .plan import Advice
from .scheduler_filters import Scheduler
from .state import GATES, NOMINATED, ClusterState, Pod, Role

WIDTH = 80
GIVEN = ("usage", "assumed-requests", "kept-free")
"""Assumptions that the user gave: they stand before the answer."""
NAMED = 5
"""Names in a list before the rest is a number."""
LINES = 10
"""Lines of an answer after its warnings, without details: of many nodes that can go some names are
left out.
"""


def advice_lines(advice: Advice, details: bool = False) -> list[str]:
    """What to do and how sure it is; `details`: and what it rests on, what is reported only."""
    state = advice.state
    first, *rest = decision(advice)
    before, after = [first[1]], [f"  {words}" for kind, words in rest if kind != "money"]
    before += [f"  {words}" for kind, words in rest if kind == "money"]
    idle, freed, host = still_idle(advice), advice.freed, state.host_noun
    if idle:
        own = f"  {len(idle)} idle, with nothing but {'its' if len(idle) == 1 else 'their'} own"
        before.append(_named(f"{own} {state.workload_noun}s", idle, 0 if details else 1))
    means = {"kubernetes": "kubectl", "proxmox": "proxmox", "openstack": "openstack"}
    how = f"how to do it: --emit {means.get(state.platform, 'csv')}"
    if details:
        after += [f"  {words}" for words in (*detail_sentences(advice), *[how] * bool(freed))]
    else:
        after.append(f"  what it rests on: --details{f'; {how}' if freed else ''}")
    if freed:
        lines = [qualified(state, line) for line in (*before, *after)]
        room = max(1, LINES - len(wrapped(lines)))
        free = f"  {'would free' if advice.order.stuck else 'free'} {len(freed)} {host}"
        free += "s" * (len(freed) != 1)
        before.append(_named(free, freed, 0 if details else room))
    return warned(state, [*before, *after])


def decision(advice: Advice) -> list[tuple[str, str]]:
    """What to do, and how sure it is: what each sentence is about, and the sentence, without the
    names of nodes.
    """
    found = [("nodes", _first(advice))]
    if advice.cost is not None:
        found.append(("money", _saving(advice)))
    if advice.total is not None:
        found.append(("money", _sum(advice)))
    if advice.freed or advice.targets:
        found.append(("moves", _moving(advice)))
        found += [("order", words) for words in _ordering(advice)]
    if any(advice.left_pending.values()):
        found.append(("scheduler", _default_scheduler(advice)))
    if advice.arrivals or advice.waiting:
        found.append(("pending", _pending(advice)))
    if advice.frontier:
        found.append(("frontier", _trade(advice)))
    return found + [("time", words) for words in _cut(advice)]


def detail_sentences(advice: Advice) -> list[str]:
    """What a decision rests on, and what is reported only."""
    state = advice.state
    found = []
    if advice.freed and advice.left_pending and not any(advice.left_pending.values()):
        found.append(_default_scheduler(advice))
    found.append(_counted(advice))
    found += [f"{title} {words}" for title, words in pending_places(advice, NAMED)]
    if advice.repaired_rules:
        found.append(f"mended by the plan: {_some(advice.repaired_rules)} (broken now)")
    elif advice.translation.violated_rules:
        found.append(f"broken now, and left so: {_some(advice.translation.violated_rules)}")
    if not advice.proved and advice.dropped:
        found.append(f"not in the bound: {_some(advice.dropped)}")
    found += [f"not counted: {words}" for words in _not_counted(state)]
    if soft := _soft(state):
        found.append(f"not enforced: {soft}")
    if state.ignored:
        kinds = [f"{number} {kind}" for kind, number in state.ignored.items()]
        found.append(f"not read: {_some(kinds)}")
    return found + [
        f"note: {each.sentence}" for each in state.assumptions if each.code not in GIVEN
    ]


def is_carried_out(advice: Advice) -> bool:
    """Whether there are moves, in an order: what is said of pending pods is about their end."""
    return bool(advice.targets) and not advice.order.stuck


def still_idle(advice: Advice) -> tuple[str, ...]:
    """Nodes that hold nothing but their own pods, and that no step of the plan uses."""
    used = {move.node for wave in advice.order.waves for move in wave}
    used |= {*advice.arrivals.values(), *advice.targets.values()}
    return tuple(name for name in advice.idle if name not in used)


def amount(money: Fraction, rounded: Callable[[Fraction], int] = round) -> str:
    """An amount of money in the unit of its prices, with at most four digits after the point."""
    digits = 2 if abs(money) >= 100 else 4
    number = rounded(money * 10**digits)
    whole, part = divmod(abs(number), 10**digits)
    return f"{'-' * (number < 0)}{whole}.{part:0{digits}d}".rstrip("0").rstrip(".")


def _named(begin: str, names: Sequence[str], lines: int) -> str:
    """Names after some words: as many as so many lines hold, all of them with 0."""
    whole = f"{begin}: {', '.join(names)}"
    if not lines or len(wrapped([whole])) <= lines:
        return whole
    for number in range(len(names) - 1, 0, -1):
        text = f"{begin}: {', '.join(names[:number])} and {len(names) - number} more: --details"
        if len(wrapped([text])) <= lines:
            return text
    return f"{begin}: --details"


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
    if advice.nodes_found > used:
        what = f"{advice.nodes_found} hold all and the pending {state.workload_noun}s"
    if advice.order.stuck:
        what = f"{advice.nodes_found} would hold all, but no order of moves was found for some"
        if advice.order.cut:
            what = f"{advice.nodes_found} would hold all, but the order of moves is not finished"
    if advice.cost is not None:
        return f"{begin}{what}."
    if advice.proved:
        return f"{begin}{what} and no fewer can do (proved: {advice.reason})."
    if advice.nodes_found == advice.nodes_lower_bound_pinned:
        return (
            f"{begin}{what}; no fewer while the pinned {state.workload_noun}s stay and every rule "
            f"is kept (proved); at least {advice.nodes_lower_bound} in any case (proved)."
        )
    return (
        f"{begin}{what}; at least {advice.nodes_lower_bound} are needed in any case, and at least "
        f"{advice.nodes_lower_bound_pinned} while the pinned {state.workload_noun}s stay (both "
        "proved)."
    )


def _saving(advice: Advice) -> str:
    """What the plan saves of what all nodes cost, and the most that any plan does."""
    cost, now, least = advice.cost, advice.cost_now, advice.cost_lower_bound
    pinned = advice.cost_lower_bound_pinned
    assert cost is not None
    assert now is not None
    gone = {*advice.freed, *still_idle(advice)}
    paid = sum(node.committed and node.name in gone for node in advice.state.nodes)
    saves = f"{'would save' if advice.order.stuck else 'saves'} {amount(now - cost)} of "
    saves += f"{amount(now)}, the price of all {advice.state.host_noun}s"
    if paid:
        saves += f" ({paid} of those that can go {'is' if paid == 1 else 'are'} paid anyway)"
    if cost == least:
        return f"{saves}; no plan saves more (proved)."
    if least is None:
        return f"{saves}."
    most = f"more than {amount(now - least, math.ceil)}"
    if pinned is None or pinned <= least:
        return f"{saves}; no plan saves {most} (proved)."
    more = "more" if cost == pinned else f"more than {amount(now - pinned, math.ceil)}"
    return (
        f"{saves}; no plan saves {more} while the pinned {advice.state.workload_noun}s stay, nor "
        f"{most} in any case (proved)."
    )


def _sum(advice: Advice) -> str:
    """What nodes and moves cost together."""
    total, least = advice.total, advice.total_lower_bound
    assert total is not None
    assert advice.disruption is not None
    words = f"with {amount(advice.disruption)} for each move it sums up to {amount(total)}"
    if not least:
        return f"{words}."
    stay = f" while the pinned {advice.state.workload_noun}s stay" * bool(advice.pinned)
    less = "less" if least == total else f"less than {amount(least, math.floor)}"
    return f"{words}; no plan sums up to {less}{stay} (proved)."


def _moving(advice: Advice) -> str:
    moves, waves = len(advice.targets), len(advice.order.waves)
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
    move = f"{one}s move" if moves != 1 else f"{one} moves"
    budgets = ", no disruption budget broken" * bool(advice.state.budgets)
    return f"{moves} {move} ({sure}) in {waves} wave{'s' * (waves != 1)}{budgets}."


def _pending(advice: Advice) -> str:
    """How many pending pods fit together now and after the plan."""
    arrive, wait = len(advice.arrivals), len(advice.waiting)
    number, now, one = arrive + wait, advice.fit_now, advice.state.workload_noun
    planned = is_carried_out(advice)
    begin = f"{number} pending {one}{'s' * (number != 1)}"
    if number == now == arrive:
        return f"{begin}: room now{', and after the plan' * planned}."
    sure = " (no more do, proved)" * (now == advice.fit_now_upper_bound < number)
    text = f"{begin}: {now} fit now{sure}" + f", {arrive} after the plan" * planned
    if not wait:
        return f"{text}."
    text += f", {wait} wait{'s' * (wait == 1)}"
    least = advice.waiting_lower_bound_pinned
    if wait == advice.waiting_lower_bound:
        return f"{text} (no plan places more, proved)."
    return (
        f"{text} (at least {least} while the pinned {one}s stay, proved)." if least else f"{text}."
    )


def pending_places(advice: Advice, most: int) -> list[tuple[str, str]]:
    """Of each pending pod its name, and the node it has after the plan, or why it waits; of each
    kind so many, and how many there are besides.
    """
    state = advice.state
    found = [
        (state.pods[n].title, f"has room on {name}{' after the plan' * is_carried_out(advice)}")
        for n, name in advice.arrivals.items()
    ]
    if len(found) > most:
        found = [
            *found[:most],
            (f"{len(found) - most} more pending {state.workload_noun}s", "have room"),
        ]
    final = Scheduler(
        state,
        {n: advice.targets.get(n, pod.node) for n, pod in enumerate(state.pods) if pod.placed}
        | (dict(advice.arrivals) if not advice.order.stuck else {}),
    )
    freed = set(advice.freed)
    kept = [node.name for node in state.nodes if node.name not in freed]
    for n in advice.waiting[:most]:
        pod = state.pods[n]
        kinds = (GATES, NOMINATED)
        why = ", ".join(w for kind, w in pod.unsupported_constraints if kind in kinds)
        found.append((pod.title, f"waits: {why or _why_not(final, n, kept)}"))
    if len(advice.waiting) > most:
        found.append((f"{len(advice.waiting) - most} more pending {state.workload_noun}s", "wait"))
    return found


def _ordering(advice: Advice) -> list[str]:
    state, order = advice.state, advice.order
    found = []
    aside = [m for wave in order.waves for m in wave if m.temporary]
    if aside:
        names = [state.pods[move.pod].title for move in aside]
        found.append(f"moved aside for a time, or nothing else fits: {_some(names)}")
    if order.stuck and not order.cut:
        names = [f"{state.pods[n].title} ({', '.join(why)})" for n, why in order.stuck.items()]
        found.append(f"no order was found for: {_some(names)}")
    return found


def _cut(advice: Advice) -> list[str]:
    if not advice.cut:
        return []
    by = "an interrupt" if advice.interrupted else "--time-limit"
    return [f"cut short by {by}: {', '.join(advice.cut)}; the plan is checked."]


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
        parts.append(f"{limit_words(advice, point)}: {moves}")
    stay = f" while the pinned {advice.state.workload_noun}s stay" * bool(advice.pinned)
    one = advice.state.workload_noun
    by = f"{advice.state.host_noun}s in use" if advice.cost is None else "what is paid"
    return f"fewest {one}s that move, by {by}{stay}: {'; '.join(parts)}."


def limit_words(advice: Advice, point: PricePoint) -> str:
    """What a point of the frontier allows: nodes in use, or money."""
    limit = int(point.limit or 0)
    if advice.cost is None:
        return f"{limit} {advice.state.host_noun}s"
    return amount(advice.translation.costs.money(limit))


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


def _not_counted(state: ClusterState) -> list[str]:
    over = "finished" if state.platform == "kubernetes" else "not running"
    numbers = {
        words: sum(pod.role is role for pod in state.pods)
        for role, words in ((Role.FINISHED, over), (Role.LEAVING, "being deleted"))
    }
    return [f"{number} {words}" for words, number in numbers.items() if number]


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


def drain_lines(state: ClusterState, found: Draining, details: bool = False) -> list[str]:
    """What stands in the way of emptying a node, pod by pod, and the moves that do it; `details`:
    every pod, however many there are.
    """
    first, *rest = drain_sentences(state, found)
    remarks = [f"  {title}: {remark}" for title, remark in drain_remarks(state, found)]
    after = [f"  {words}" for words in rest]
    lines = warned(state, [first, *remarks, *after])
    if details or len(lines) <= LINES:
        return lines
    # what blocks it first
    remarks.sort(key=lambda line: ": blocks: " not in line)
    for number in range(len(remarks), 0, -1):
        more = f"  and {len(remarks) - number} more pods: --details"
        lines = warned(state, [first, *remarks[:number], more, *after])
        if len(lines) <= LINES:
            break
    return lines


def drain_sentences(state: ClusterState, found: Draining) -> list[str]:
    """Whether a node can be emptied, and how sure it is."""
    pods = [n for n in found.pods if state.pods[n].role in (Role.MOVABLE, Role.FIXED)]
    one = len(found.nodes) == 1
    it = "it" if one else "they"
    own = f" besides {'its' if one else 'their'} own" if state.platform == "kubernetes" else ""
    begin = f"{found.node} hold{'s' * one} {len(pods)} {state.workload_noun}"
    begin += f"{'s' * (len(pods) != 1)}{own}; "
    advice = found.advice
    if found.empties and advice is not None:
        moves = len(advice.targets)
        fewest = moves == advice.moves_lower_bound_pinned
        sure = "fewest, proved" if fewest else f"at least {advice.moves_lower_bound_pinned}, proved"
        lines = [f"{begin}{it} can be emptied: {moves} move{'s' * (moves != 1)} ({sure})."]
    elif found.blocked:
        number = len(found.blocked)
        lines = [
            f"{begin}{number} {'blocks' if number == 1 else 'block'} {'it' if one else 'that'}."
        ]
        if found.impossible:
            lines.append(f"nor can all the others leave {found.impossible}.")
    elif advice is not None:
        lines = [f"{begin}no order of moves was found."]
    elif found.impossible:
        lines = [f"{begin}they cannot all leave {found.impossible}."]
    else:
        lines = [f"{begin}no way to do that was found in time, but there may be one."]
    if advice is not None:
        names = [
            f"{state.pods[n].title} ({state.pods[n].node} to {target})"
            for n, target in advice.targets.items()
            if n not in found.pods
        ]
        if names:
            lines.append(f"to make room: {_some(names)}")
        lines += [*_ordering(advice), *_cut(advice)]
        if advice.repaired_rules:
            lines.append(f"mended by the plan: {_some(advice.repaired_rules)} (broken now)")
    return lines


def drain_remarks(state: ClusterState, found: Draining) -> list[tuple[str, str]]:
    """Of each pod on a node its name, and where it goes or what stands in its way."""
    targets = {} if found.advice is None else found.advice.targets
    remarks = []
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
        remarks.append((pod.title, remark))
    return remarks


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


def as_sentence(state: ClusterState, words: str) -> str:
    """Words about a state as a sentence of a page."""
    words = qualified(state, words)
    return words[:1].upper() + words[1:]


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
