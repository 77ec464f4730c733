"""Reports on pending pods: whether they fit, and which nodes to buy for them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from ..plan.answer import Answer, Proved
from ..state.state import ClusterState
from .page import MAX_PENDING, rows_part
from .text_report import (
    Line,
    PagePart,
    Shown,
    amount,
    on_nodes,
    plural,
    preemption,
    some,
    sure_of_moves,
)

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
    lines = [Line(_bought(found), number=amount(_cost(found).value)), *_not_read(state)]
    lines += _waits(found)
    parts = _places(state, found.arrivals)
    if found.bought:
        parts = (rows_part("What to buy", ("type", "number"), found.bought.items()), *parts)
    about = f"The cheapest {state.host_noun}s for the {one}s that wait, and what no answer costs "
    title = f"{state.host_noun.capitalize()}s to buy"
    return Shown(state, title, f"{about}less than.", tuple(lines), found.status, parts=parts)


def _cost(found: Answer) -> Proved:
    """Sentence on the cost of the nodes to buy, and its proved lower bound."""
    assert found.cost is not None
    return found.cost


def _bought(found: Answer) -> str:
    """Sentence on which nodes to buy, and whether a cheaper choice is ruled out."""
    cost = _cost(found)
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


def _places(state: ClusterState, arrivals: Mapping[int, str]) -> tuple[PagePart, ...]:
    """Section of the page with the nodes on which pending pods are placed."""
    rows = [(state.pods[n].title, name) for n, name in [*arrivals.items()][:MAX_PENDING]]
    headings = state.workload_noun, state.host_noun
    return (rows_part("Where they go", headings, rows),) if rows else ()
