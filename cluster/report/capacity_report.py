"""Room for new pods in words: whether they fit, and what to buy for them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from ..plan.buying import Purchase
from ..plan.capacity import Fit, refusals, refusals_in, waiting_now
from ..plan.wording import amount, on_nodes, plural, some
from ..state.state import ClusterState
from .answer_page import PagePart
from .nodes_page import MAX_PENDING, rows_part
from .text_report import Answer, Line, cut_short, ordering, preemption, sure_of_moves

EXPLAINED = 10
"""Pods that wait of which the reasons are looked for."""


def fit_answer(found: Fit) -> Answer:
    """Whether the pods fit, and what stops them."""
    state, now, number, advice = found.state, found.fitting, len(found.pods), found.advice
    one, fit_now = state.workload_noun, len(now.arrivals)
    asked, lines, waiting = plural(number, f"pending {one}"), [], waiting_now(found)
    why = "none are needed" if found.fits else "none help"
    if fit_now == number:
        first = f"yes: {asked} fit now, while nothing moves."
        on = [f"{name} ({pods})" for name, pods in Counter(now.arrivals.values()).most_common()]
        lines.append(Line("on", on, title=f"On these {state.host_noun}s"))
    else:
        more = "no more" if fit_now == now.upper_bound else f"at most {now.upper_bound}"
        no = "no" if found.most_after < number else "not now"
        first = {True: "yes, after moves", None: "not known", False: no}[found.fits]
        first += f": {fit_now} of {asked} fit now, and {more} do (proved)."
        after = f"at most {found.most_after} do after any moves (proved)"
        if advice is not None:
            words = (
                f"{number - len(advice.waiting)} fit after {plural(len(advice.targets), 'move')}"
            )
            words += f" {sure_of_moves(advice)}{f'; {after}' * (not found.fits)}."
        elif found.most_after <= now.upper_bound == fit_now:
            words = "no moves make room for more (proved)."
        else:
            words = f"no moves were found that make room for more; {after}."
        lines.append(Line(words))
    if found.purchase is not None:
        lines.append(Line(f"with new {state.host_noun}s: {_bought(found.purchase)}"))
    lines += map(Line, preemption(state, waiting))
    lines += _waits(state, waiting, lambda n: refusals(found, n))
    arrivals = now.arrivals if advice is None else advice.arrivals
    return Answer(
        state, f"Room in {state.name.rpartition('/')[2]}",
        f"Whether {one}s that run nowhere fit together: now, after moves, or with new "
        f"{state.host_noun}s.",
        (Line(first, number=f"{fit_now} of {number} now"), *_not_read(state), *lines),
        found.fits, advice,
        "" if advice else f"there is no plan of moves: {why}",
        parts=_places(state, arrivals),
    )  # fmt: skip


def buy_answer(found: Purchase) -> Answer:
    """What to buy, and what is known of cheaper answers."""
    state, one, plan = found.state, found.state.workload_noun, found.plan
    lines = [Line(_bought(found), number=amount(found.cost)), *_not_read(state)]
    if staying := [
        f"{name} ({', '.join(f'{title}: {why}' for title, why in those.items())})"
        for name, those in found.nodes_that_stay.items()
    ]:
        title = f"{state.host_noun.capitalize()}s that have to stay"
        lines.append(Line("have to stay, with all that they hold", staying, title=title))
    if plan is not None:
        lines += map(Line, (*ordering(plan), *cut_short(plan)))
        moves = [
            f"{state.pods[move.pod].title} to {move.node} ({number})"
            for number, wave in enumerate(plan.order.waves, 1) for move in wave
        ]  # fmt: skip
        lines += [Line("moves (wave)", moves, title="Moves, with their waves")] * bool(moves)
    lines += _waits(state, found.waiting, lambda n: refusals_in(state, found.arrivals, n))
    parts = _places(state, found.arrivals)
    if found.bought:
        parts = (rows_part("What to buy", ("type", "number"), found.bought.items()), *parts)
    about = f"The cheapest {state.host_noun}s for the {one}s that wait, and what no answer costs "
    title = f"{state.host_noun.capitalize()}s to buy"
    return Answer(
        state if plan is None else plan.state, title, f"{about}less than.", tuple(lines),
        None if found.waiting and not found.waiting_lower_bound
        else not (found.waiting or (plan and plan.order.stuck)), plan,
        f"the new {state.host_noun}s have no names yet", parts=parts,
    )  # fmt: skip


def buy_document(found: Purchase) -> dict[str, Any]:
    """What `buy_answer` says, as plain JSON values."""
    return found.document() | {"warnings": [asdict(each) for each in found.state.warnings]}


def _bought(found: Purchase) -> str:
    """What to buy, and how sure it is that nothing is cheaper."""
    number, fit = sum(found.bought.values()), plural(len(found.arrivals), found.state.workload_noun)
    wait = ""
    if rest := len(found.waiting):
        sure = f"at least {found.waiting_lower_bound}, proved"
        if not found.waiting_lower_bound:
            sure = "not known whether they have to"
        wait = f"; {rest} wait{'s' * (rest == 1)} ({sure})"
    waves = found.plan.order.waves if found.plan else ()
    moved = f", after moves in {plural(len(waves), 'wave')}" * bool(waves)
    if not number:
        where = "stays" if found.plan else "there is"
        return f"nothing to buy: {fit} fit on what {where}{moved}{wait}."
    what = ", ".join(f"{number} {name}" for name, number in found.bought.items())
    # where each costs 1, only their number is asked
    counted = found.cost == number
    sure = f"no {'fewer do' if counted else 'less does'}"
    if found.cost != found.cost_lower_bound:
        sure = f"at least {amount(found.cost_lower_bound)}"
    price = "" if counted else f" for {amount(found.cost)}"
    if stay := len(found.nodes_that_stay):
        sure += f" while {plural(stay, found.state.host_noun)} stay{'s' * (stay == 1)}"
    hold = "would hold" if found.plan and found.plan.order.stuck else "hold"
    return f"{what}{price} {hold} {fit}{moved} ({sure}, proved){wait}."


def _waits(
    state: ClusterState, pods: Sequence[int], reasons: Callable[[int], Mapping[str, int]]
) -> Iterator[Line]:
    """Pods without a node, the first of them with the reasons of all nodes."""
    rows = []
    for n in pods[:EXPLAINED]:
        why = on_nodes(reasons(n), state.host_noun)
        rows.append((state.pods[n].title, f"waits: {why}"))
    if len(pods) > EXPLAINED:
        rows.append((f"{len(pods) - EXPLAINED} more pending {state.workload_noun}s", "wait"))
    if rows:
        yield Line(state.workload_noun, rows=rows, title="What waits, and why")


def _not_read(state: ClusterState) -> list[Line]:
    """What of the files may hold pods and is left out."""
    kinds = some([f"{number} {kind}" for kind, number in state.ignored.items()])
    return [Line(f"not read: {kinds}")] * bool(kinds)


def _places(state: ClusterState, arrivals: Mapping[int, str]) -> tuple[PagePart, ...]:
    """Where pods that waited go."""
    rows = [(state.pods[n].title, name) for n, name in [*arrivals.items()][:MAX_PENDING]]
    headings = state.workload_noun, state.host_noun
    return (rows_part("Where they go", headings, rows),) if rows else ()
