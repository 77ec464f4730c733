"""Text report of an answer about a cluster: the decision in ten lines, the details of a plan, the
phrases that all reports share, and the data model of text and page.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from ...analysis.report.page import Part
from ...instances.problem.text import sanitize_for_terminal
from ..judge.scheduler_filters import Scheduler
from ..plan.answer import Answer, Proved
from ..plan.pending import tally
from ..state.constraints import GATES, NOMINATED
from ..state.state import EMPTY_DIR, HOST_PATH, ClusterState, Role

GIVEN = ("unbound-claims",)
"""Assumptions that places rest on: they stand before the answer."""
LINES, LEAST_LINES = 10, 8
"""Lines of an answer with its warnings, and after them, without details: of longer lists some items
are left out, of which no more than `WIDEST` are tried.
"""
WIDEST = 100


def answer_lines(answer: Shown, details: bool = False) -> list[str]:
    """Lines of an answer, at most 80 characters wide, preceded by its warnings; all names and
    assumptions if `details`.
    """
    before, after = warning_lines(answer.state), []
    plan, sentences = answer.advice, detail_sentences(answer.state, answer.advice)
    if details:
        after = sentences
    elif sentences:
        after = ["what it rests on: --details"]
    if plan is not None and plan.targets and not answer.no_plan and not plan.order.stuck:
        kubernetes = answer.state.platform == "kubernetes"
        how = f"how to do it: --emit {'kubectl' if kubernetes else 'csv'}"
        after = [*after, how] if details else ["; ".join([*after, how])]
    shown = [len(line.names or line.rows) for line in answer.lines]

    def whole() -> list[str]:
        pairs = zip(answer.lines, shown, strict=True)
        first, *rest = (text for line, number in pairs for text in _texts(line, number))
        lines = [first, *(f"  {words}" for words in (*rest, *after))]
        return wrapped(qualified(answer.state, words) for words in lines)

    if not details:
        shown = [min(number, WIDEST) for number in shown]
        room = max(LEAST_LINES, LINES - len(before))
        rows = [k for k, line in enumerate(answer.lines) if line.rows]
        names = [k for k, line in enumerate(answer.lines) if line.names]
        for lists, least, most in ((rows, 1, room), (names, 0, room), (rows, 0, LINES)):
            while len(whole()) > most and any(shown[k] > least for k in lists):
                shown[max(lists, key=shown.__getitem__)] -= 1
    return before + whole()


def _texts(line: Line, shown: int) -> Iterator[str]:
    """Text of a report's line as printed, with a limited number of items of its list."""
    rest = len(line.names or line.rows) - shown
    if line.names:
        names = some(line.names, shown) if shown else ""
        yield f"{line.words}: {names}{': ' * (bool(names and rest))}{'--details' * bool(rest)}"
    elif line.rows:
        yield from (f"{name}: {what}" for name, what in line.rows[:shown])
        if rest:
            more = plural(rest, f"more {line.words}" if shown else line.words)
            more = f"{'and ' * bool(shown)}{more}"
            yield f"{more}: --details"
    else:
        yield line.words


def warning_lines(state: ClusterState) -> list[str]:
    """Lines before an answer: warnings about the state, and assumptions about its pending pods."""
    lines = [f"warning: {each.sentence} [{each.code}]" for each in state.warnings]
    lines += [f"note: {each.sentence}" for each in state.assumptions if each.code in GIVEN]
    return wrapped(lines)


def nodes_answer(advice: Answer) -> Shown:
    """Report on a plan by which the pods need fewer nodes."""
    state, order, moves = advice.state, advice.order, len(advice.targets)
    host, one = state.host_noun, state.workload_noun
    enough = f"{len(advice.in_use)} \u2192 {plural(advice.nodes.value, host)}"
    lines = [Line(_enough(advice), number=enough)]
    if advice.cost is not None and advice.cost_now is not None:
        paid = f"{amount(advice.cost_now)} \u2192 {amount(advice.cost.value)}"
        lines.append(Line(_saving(advice, advice.cost, advice.cost_now), number=paid))
    if idle := still_idle(advice):
        words = f"{len(idle)} idle, with nothing but {'its' if len(idle) == 1 else 'their'} own"
        title = f"Idle {host}s, with nothing but their own {one}s"
        lines.append(Line(f"{words} {one}s", idle, title=title))
    if advice.freed:
        words = f"{'would free' if order.stuck else 'free'} {plural(len(advice.freed), host)}"
        title = f"{host.capitalize()}s that {'would' if order.stuck else 'can'} go"
        lines.append(Line(words, advice.freed, title=title))
    if advice.freed or moves:
        move = f"{one}s move" if moves != 1 else f"{one} moves"
        budgets = ", no disruption budget broken" * bool(state.budgets)
        words = f"{moves} {move} {sure_of_moves(advice)}{budgets}."
        lines += [Line(words, number=plural(moves, "move"))]
        lines += map(Line, (*ordering(advice), *not_by_default(advice)))
    if any(advice.left_pending.values()):
        lines.append(Line(left_to_default(advice)))
    if pending := len(advice.arrivals) + len(advice.waiting):
        number = f"{len(advice.arrivals)} of {pending} pending"
        lines.append(Line(_pending(advice), number=number))
        lines += map(Line, preemption(state, advice.waiting))
    lines += map(Line, cut_short(advice))
    about = f"How many {host}s hold everything in this file, which can go, with which moves, and "
    about += "what is proved of it."
    title = f"{host.capitalize()}s of {Path(state.name).name}"
    return Shown(state, title, about, tuple(lines), advice=advice, fewer_nodes=True)


def sure_of_moves(advice: Answer) -> str:
    """Phrase on whether a plan's number of moves is proved minimal, and the number of waves."""
    stay = f" while the pinned {advice.state.workload_noun}s stay" * bool(advice.pinned)
    bounds = advice.moves.bound, advice.moves.pinned
    sure = fewest(len(advice.targets), *bounds, stay)
    return f"({sure}) in {plural(len(advice.order.waves), 'wave')}"


def detail_sentences(state: ClusterState, advice: Answer | None) -> list[str]:
    """Sentences on what an answer and its plan assume, and on what was not counted or enforced."""
    texts = [] if advice is None else list(_plan_details(advice))
    for role, words in ((Role.FINISHED, "finished"), (Role.LEAVING, "being deleted")):
        if number := sum(pod.role is role for pod in state.pods):
            texts.append(f"not counted: {number} {words}")
    soft = grouped(
        (words, pod.title)
        for pod in state.pods
        if pod.placed and pod.role is not Role.RESIDENT
        for words in pod.soft
    )
    if soft:
        parts = (f"{words}: {some(names)}" for words, names in soft.items())
        texts.append(f"not enforced: {'; '.join(parts)}")
    if state.ignored:
        texts.append(f"not read: {some([f'{n} {kind}' for kind, n in state.ignored.items()])}")
    return [
        *texts,
        *(f"note: {one.sentence}" for one in state.assumptions if one.code not in GIVEN),
    ]


def _plan_details(advice: Answer) -> Iterator[str]:
    """Sentences on the assumptions under which a plan of moves holds."""
    state, stays = advice.state, reasons_to_stay(advice)
    if advice.freed and advice.left_pending and not any(advice.left_pending.values()):
        yield left_to_default(advice)
    movable = sum(pod.role is Role.MOVABLE for pod in state.pods) - len(advice.pinned)
    counted = f"counted: {movable} movable {state.workload_noun}{'s' * (movable != 1)}"
    for title, reasons in stays.items():
        names = (f"{some(names)}: {why}" for why, names in reasons.items())
        counted += f"; {title}: {sum(map(len, reasons.values()))} ({'; '.join(names)})"
    yield counted
    yield from (f"{title} {words}" for title, words in pending_places(advice, NAMED))
    if advice.repaired:
        yield f"mended by the plan: {some(advice.repaired)} (broken now)"
    elif broken := advice.broken:
        yield f"broken now, and left so: {some(broken)}"
    if not advice.proved and advice.dropped:
        yield f"not in the bound: {some(advice.dropped)}"


def reasons_to_stay(advice: Answer) -> dict[str, dict[str, list[str]]]:
    """Pinned pods, and pods that stay in any case, listed by reason; without empty entries."""
    pods = advice.state.pods
    kinds = {
        "pinned": grouped(
            (", ".join(words for _, words in why), pods[n].title)
            for n, why in advice.pinned.items()
        ),
        "staying": grouped((pod.reason, pod.title) for pod in pods if pod.role is Role.FIXED),
    }
    return {title: reasons for title, reasons in kinds.items() if reasons}


def still_idle(advice: Answer) -> tuple[str, ...]:
    """Names of the idle nodes on which no step of an answer's plan puts a pod."""
    used = {move.node for wave in advice.order.waves for move in wave}
    used |= {*advice.arrivals.values(), *advice.targets.values()}
    return tuple(name for name in advice.idle if name not in used)


def _enough(advice: Answer) -> str:
    """Sentence on how many nodes are enough, and whether fewer are ruled out."""
    state, order, number = advice.state, advice.order, advice.nodes.value
    used, place = len(advice.in_use), f"{'worker ' * (state.platform == 'kubernetes')}"
    if not used and not number:
        idle = f"; {len(advice.idle)} idle, which can go at once" * bool(advice.idle)
        return f"no {place}{state.host_noun} is in use{idle}."
    begin = f"{plural(used, f'{place}{state.host_noun}')} {'is' if used == 1 else 'are'} in use; "
    if order.stuck:
        begin += f"{number} would hold all, but "
        begin += "the order of moves is not finished" if order.cut else "no order of moves was "
        begin += "found for some" * (not order.cut)
    elif number > used:
        begin += f"{number} hold all and the pending {state.workload_noun}s"
    elif advice.freed:
        begin += f"{number} {'is' if number == 1 else 'are'} enough"
    else:
        begin += "none can go"
    if advice.cost is not None:
        return f"{begin}."
    if advice.proved:
        return f"{begin} and no fewer can do (proved: {advice.reason})."
    stay = f"while the pinned {state.workload_noun}s stay"
    if number == advice.nodes.pinned:
        return (
            f"{begin}; no fewer {stay} and every rule is kept (proved); at least "
            f"{advice.nodes.bound} in any case (proved)."
        )
    return (
        f"{begin}; at least {advice.nodes.bound} are needed in any case, and at least "
        f"{advice.nodes.pinned} {stay} (both proved)."
    )


def _saving(advice: Answer, paid_then: Proved, now: Fraction) -> str:
    """Sentence on the cost that the plan saves, and on the maximum that any plan saves."""
    state, cost = advice.state, paid_then.value
    least, pinned = paid_then.bound, paid_then.pinned
    saves = f"{'would save' if advice.order.stuck else 'saves'} {amount(now - cost)} of "
    saves += f"{amount(now)}, the price of all {state.host_noun}s"
    if cost == least:
        return f"{saves}; no plan saves more (proved)."
    if least is None:
        return f"{saves}."
    most = f"more than {amount(now - least, math.ceil)}"
    if pinned is None or pinned <= least:
        return f"{saves}; no plan saves {most} (proved)."
    more = "more" if cost == pinned else f"more than {amount(now - pinned, math.ceil)}"
    stay = f"while the pinned {state.workload_noun}s stay"
    return f"{saves}; no plan saves {more} {stay}, nor {most} in any case (proved)."


def _pending(advice: Answer) -> str:
    """Sentence on how many pending pods fit together now, and how many after the plan."""
    arrive, wait, now = len(advice.arrivals), len(advice.waiting), advice.fits.value
    number, one = arrive + wait, advice.state.workload_noun
    planned = bool(advice.targets) and not advice.order.stuck
    begin = plural(number, f"pending {one}")
    if number == now == arrive:
        return f"{begin}: room now{', and after the plan' * planned}."
    sure = " (no more do, proved)" * (now == advice.fits.bound < number)
    text = f"{begin}: {now} fit now{sure}" + f", {arrive} after the plan" * planned
    if wait:
        text += f", {wait} wait{'s' * (wait == 1)}"
        if wait == advice.waits.bound:
            text += " (no plan places more, proved)"
        elif least := advice.waits.pinned:
            text += f" (at least {least} while the pinned {one}s stay, proved)"
    return f"{text}."


def pending_places(advice: Answer, most: int) -> list[tuple[str, str]]:
    """For each kind of pending pods, its number, name, and node after the plan or the reason why it
    stays pending.
    """
    state, order = advice.state, advice.order
    after = " after the plan" * (bool(advice.targets) and not order.stuck)
    where = {n: advice.targets.get(n, pod.node) for n, pod in enumerate(state.pods) if pod.placed}
    final = Scheduler(state, where | ({} if order.stuck else dict(advice.arrivals)))
    staying = [node.name for node in state.nodes if node.name not in set(advice.freed)]
    rooms = [
        (state.pods[n].title, f"has room on {name}{after}")
        for n, name in [*advice.arrivals.items()][:most]
    ]
    waits = []
    for n in advice.waiting[:most]:
        kinds, pod = (GATES, NOMINATED), state.pods[n]
        why = ", ".join(w for kind, w in pod.unsupported_constraints if kind in kinds)
        why = why or on_nodes(tally(final.refusals(n, name) for name in staying), state.host_noun)
        waits.append((pod.title, f"waits: {why}"))
    for rows, number, verb in (
        (rooms, advice.arrivals, "have room"),
        (waits, advice.waiting, "wait"),
    ):
        if len(number) > most:
            rows.append((f"{len(number) - most} more pending {state.workload_noun}s", verb))
    return rooms + waits


def ordering(advice: Answer) -> Iterator[str]:
    """Sentences on the order of a plan's moves."""
    state, order = advice.state, advice.order
    aside = [state.pods[m.pod].title for wave in order.waves for m in wave if m.temporary]
    if aside:
        yield f"moved aside for a time, or nothing else fits: {some(aside)}"
    if order.stuck and not order.cut:
        names = [f"{state.pods[n].title} ({', '.join(why)})" for n, why in order.stuck.items()]
        yield f"no order was found for: {some(names)}"


def not_by_default(advice: Answer) -> Iterator[str]:
    """Sentences on moved pods that cluster-autoscaler would not evict by default, and on the data
    they lose.
    """
    state, scheduler = advice.state, Scheduler(advice.state)
    moved = [(n, state.pods[n]) for n in advice.targets]
    system = [n for n, p in moved if p.namespace == "kube-system" and not scheduler.budgets(n)]
    parts = {
        "with emptyDir (what is in it is lost)": sum(EMPTY_DIR in pod.soft for _, pod in moved),
        "with hostPath": sum(HOST_PATH in pod.soft for _, pod in moved),
        "of kube-system without a disruption budget": len(system),
    }
    if words := [f"{number} {what}" for what, number in parts.items() if number]:
        yield f"cluster-autoscaler would not evict by default: {', '.join(words)}."


def preemption(state: ClusterState, waiting: Sequence[int]) -> Iterator[str]:
    """Sentences on pending pods that could preempt pods of lower priority."""
    stay = (pod.priority for pod in state.pods if pod.placed and pod.role is not Role.LEAVING)
    least = min(stay, default=math.inf)
    if number := sum(state.pods[n].priority > least for n in waiting):
        yield f"{number} of higher priority may evict others instead (preemption is not modelled)."


def cut_short(advice: Answer) -> Iterator[str]:
    """Sentences on searches that the time limit or an interrupt ended early."""
    if advice.cut:
        by = "an interrupt" if advice.interrupted else "--time-limit"
        yield f"cut short by {by}: {', '.join(advice.cut)}; the plan is checked."


def left_to_default(advice: Answer) -> str:
    """Sentence on how many evicted pods stay pending if the default scheduler places them."""
    words = [f"{scoring} {len(left)}" for scoring, left in advice.left_pending.items()]
    return f"left to the default scheduler, of the evicted pods stay pending: {', '.join(words)}."


WIDTH = 80
NAMED = 5
"""Names in a list before the rest is a number."""

_PROVED = re.compile(r"(?<![\w/.-])proved(?![\w/.-])(?! of )")


def plural(number: int, noun: str) -> str:
    """Format a number with its noun in singular or plural."""
    return f"{number} {noun}{'s' * (number != 1)}"


def some(names: Sequence[str], most: int = NAMED) -> str:
    """Join the first `most` names, with the number of the others."""
    rest = len(names) - most
    return ", ".join(names[:most]) + f" and {rest} more" * (rest > 0)


def on_nodes(counts: Mapping[str, int], host: str) -> str:
    """Format reasons with their numbers of nodes: "on 3 nodes: spread; on 1 node: volume"."""
    by_number = grouped((plural(count, host), why) for why, count in counts.items())
    return "; ".join(f"on {number}: {', '.join(whys)}" for number, whys in by_number.items())


def grouped(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Group pairs by their first element: the second elements of each."""
    groups: dict[str, list[str]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups


def fewest(number: int, least: int, pinned: int, stay: str = "") -> str:
    """Phrase on how far a minimum is proved: in any case, or while the pinned pods stay."""
    if number == least:
        return "fewest, proved"
    if number == pinned:
        return f"fewest{stay}, proved" + f"; at least {least} in any case" * bool(least)
    return f"at least {max(least, pinned)}, proved"


def amount(money: Fraction, rounded: Callable[[Fraction], int] = round) -> str:
    """Format money in the unit of its prices, with at most four decimals."""
    digits = 2 if abs(money) >= 100 else 4
    number = rounded(money * 10**digits)
    whole, part = divmod(abs(number), 10**digits)
    return f"{'-' * (number < 0)}{whole}.{part:0{digits}d}".rstrip("0").rstrip(".")


def qualified(state: ClusterState, words: str) -> str:
    """Restrict "proved" in a sentence to the pods in the file, if the state has warnings."""
    of = f" of the {state.workload_noun}s in this file" if state.warnings else ""
    return _PROVED.sub(f"proved{of}", words, count=1)


def as_sentence(state: ClusterState, words: str) -> str:
    """Text with a capital first letter, as a sentence of a page, unless it begins with a name."""
    words = qualified(state, words)
    if words.partition(" ")[0].rstrip(",") in {node.name for node in state.nodes}:
        return words
    return words[:1].upper() + words[1:]


def wrapped(lines: Iterable[str]) -> list[str]:
    """Wrap printable lines at 80 characters, with continuation lines indented."""
    texts = []
    for line in map(sanitize_for_terminal, lines):
        indent = len(line) - len(line.lstrip())
        texts += textwrap.wrap(
            line, WIDTH, initial_indent="", subsequent_indent=" " * (indent + 2),
            break_on_hyphens=False, break_long_words=False,
        )  # fmt: skip
    return texts


@dataclass(frozen=True)
class Line:
    """Sentence or list of items in a report on an answer.

    Attributes
    ----------
    words : the sentence; of names what they are, of rows what one is called.
    names, rows : the list: names, or each with what is said of it. Both are cut in a terminal.
    title : of the list on a page.
    number : the number that the sentence is about, on a page.
    """

    words: str
    names: Sequence[str] = ()
    rows: Sequence[tuple[str, str]] = ()
    title: str = ""
    number: str = ""


@dataclass(frozen=True)
class Shown:
    """Report on an answer, for the terminal and the page.

    Attributes
    ----------
    state, title, about : what was asked, and of what.
    lines : the answer; the first decides.
    complete : whether it is what was hoped for; None where that is not known.
    advice : the answer whose moves it shows, if any.
    no_plan : why nothing of it can be carried out; "" where it can.
    fewer_nodes : whether that plan is for fewer nodes: what is proved of them is on the page then.
    parts : what the page has besides.
    """

    state: ClusterState
    title: str
    about: str
    lines: tuple[Line, ...]
    complete: bool | None = True
    advice: Answer | None = None
    no_plan: str = ""
    fewer_nodes: bool = False
    parts: tuple[Part, ...] = ()
