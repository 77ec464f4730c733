"""Losses of nodes and repairs in words and as JSON: the decision first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from .draining import Rolling
from .repairing import Repair
from .safety import Loss, starts_again
from .state import ClusterState, Role
from .text_report import drain_document, drain_lines, warned

NAMED = 3
"""Names in a line before the rest is a number."""


def some(names: Sequence[str], most: int = NAMED) -> str:
    """The first of some names, and how many there are besides."""
    rest = len(names) - most
    return ", ".join(names[:most]) + f" and {rest} more" * (rest > 0)


def counted(number: int, noun: str) -> str:
    """A number of things."""
    return f"{number} {noun}{'s' * (number != 1)}"


def safe_lines(state: ClusterState, found: Sequence[Loss]) -> list[str]:
    """What can be lost, and of the rest which pods have no place and what would be enough."""
    noun, lines = state.workload_noun, []
    for kind in dict.fromkeys(loss.kind for loss in found):
        losses = [loss for loss in found if loss.kind == kind]
        what = f"{state.host_noun if kind == 'node' else kind.rpartition('/')[2]}s"
        yes = [loss.name for loss in losses if loss.safe]
        no = [loss.name for loss in losses if loss.safe is False]
        open_ones = [loss.name for loss in losses if loss.safe is None]
        if len(yes) == len(losses):
            lines.append(f"safe: any one of {len(losses)} {what} can be lost; all its {noun}s that "
                         "start again have places on the others (each checked).")  # fmt: skip
            continue
        begin = "not safe" if no else "not known"
        line = f"{begin}: {len(yes)} of {len(losses)} {what} can be lost"
        line += f"; {len(no)} cannot (proved): {some(no)}" * bool(no)
        line += f"; not known of {some(open_ones)}" * bool(open_ones)
        lines.append(f"{line}.")
    worst = sorted((one for one in found if not one.safe), key=lambda one: one.safe is None)
    for loss in worst[:NAMED]:
        titles = [state.pods[n].title for n in loss.left]
        exact = len(loss.arrivals) == loss.upper_bound
        sure = "no more fit, proved" if exact else f"at most {loss.upper_bound} fit, proved"
        text = f"  without {loss.name}: {len(titles)} of {counted(len(loss.pods), noun)} "
        text += f"{'has' if len(titles) == 1 else 'have'} no "
        text += f"place ({sure}): {some(titles)}"
        whys = list(dict.fromkeys(why for why in loss.reasons.values() if why))
        text += f" ({some(whys, 1)})" * bool(whys)
        if loss.spare:
            fewest = " (fewest, proved)" if loss.spare == 1 and loss.safe is False else ""
            text += f"; enough: {counted(loss.spare, state.host_noun)} more like {loss.like}"
            text += fewest
        lines.append(text)
    fixed = _lost(state)
    own = sum(pod.role is Role.RESIDENT for pod in state.pods)
    lost = f"  lost with their {state.host_noun}: {counted(own, noun)} of its own"
    lines.append(lost + f", and what nothing starts again: {some(fixed)}" * bool(fixed))
    return warned(state, lines)


def safe_document(state: ClusterState, found: Sequence[Loss]) -> dict[str, Any]:
    """What `safe_lines` says, as plain JSON values, and every place."""
    pods = state.pods
    return {
        "losses": [
            {
                "of": loss.kind,
                "name": loss.name,
                "nodes": list(loss.nodes),
                "safe": loss.safe,
                "pods": len(loss.pods),
                "fit": len(loss.arrivals),
                "fit_at_most": loss.upper_bound,
                "places": {pods[n].title: name for n, name in loss.arrivals.items()},
                "without_place": [pods[n].title for n in loss.left],
                "reasons": {pods[n].title: why for n, why in loss.reasons.items()},
                "enough": {"nodes": loss.spare, "like": loss.like} if loss.spare else None,
            }
            for loss in found
        ],
        "lost_with_their_node": _lost(state),
        **_warnings(state),
    }


def rolling_lines(state: ClusterState, found: Rolling) -> list[str]:
    """The order in which nodes are emptied, or the first that stays."""
    plans = {step.node: step.advice for _, step in found.steps if step.advice is not None}
    moves = sum(len(advice.targets) for advice in plans.values())
    waves = sum(len(advice.order.waves) for advice in plans.values())
    like = f", with {counted(len(found.spares), state.host_noun)} more" if found.spares else ""
    order = some([f"{name} ({len(plans[name].targets)})" for name in plans], 12)
    if found.failed is None:
        lines = [f"emptied one after the other, each back empty before the next{like}: "
                 f"{counted(moves, 'move')} in {counted(waves, 'wave')}.",
                 f"  order (moves): {order}"]  # fmt: skip
        return warned(state, lines)
    lines = [f"no order was found in which {some(found.left)} can be emptied{like}."]
    lines += [f"  before that (moves): {order}"] * bool(plans)
    first, *rest = drain_lines(*found.failed)[len(warned(state, ())) :]
    return warned(state, [*lines, f"  {first}", *(f"  {line}" for line in rest)][:9])


def rolling_document(found: Rolling) -> dict[str, Any]:
    """What `rolling_lines` says, as plain JSON values, with every move."""
    return {
        "steps": [{"node": step.node, "waves": step.advice.document()["waves"]}
                  for _, step in found.steps if step.advice is not None],
        "spares": list(found.spares),
        "left": list(found.left),
        "failed": found.failed and drain_document(*found.failed),
    }  # fmt: skip


def repair_lines(found: Repair) -> list[str]:
    """What is broken, and the moves that repair it."""
    state, advice = found.state, found.advice
    noun = state.workload_noun
    if not found.broken:
        return warned(
            state,
            [f"nothing to do: no rule is broken now (proved: room, anti-affinity, affinity, host "
             f"ports and spreads of every {noun} that runs)."],
        )  # fmt: skip
    begin = f"{counted(len(found.broken), 'rule')} {'is' if len(found.broken) == 1 else 'are'}"
    begin += " broken now; "
    if advice is None and found.impossible:
        lines = [f"{begin}they cannot all be repaired {found.impossible}."]
    elif advice is None:
        lines = [f"{begin}no repair was found in time, but there may be one."]
    elif not advice.targets:
        lines = [f"{begin}no plan repairs them, as no such rule is modelled."]
    else:
        moves, least = len(advice.targets), advice.moves_lower_bound_pinned
        sure = "fewest, proved" if moves == advice.moves_lower_bound else "fewest while the "
        if moves != advice.moves_lower_bound:
            sure += f"pinned {noun}s stay, proved; at least {advice.moves_lower_bound} in any case"
        if moves > least:
            sure = f"at least {least}, proved"
        verb = "repairs" if moves == 1 else "repair"
        what = "some of them" if found.left else "all" if len(found.broken) > 1 else "it"
        lines = [f"{begin}{counted(moves, 'move')} {verb} {what} ({sure}) in "
                 f"{counted(len(advice.order.waves), 'wave')}."]  # fmt: skip
        steps = [f"{state.pods[n].title} to {name}" for n, name in advice.targets.items()]
        lines.append(f"  moves: {some(steps)}")
        if advice.order.stuck:
            titles = [state.pods[n].title for n in advice.order.stuck]
            lines.append(f"  no order of moves was found for: {some(titles)}")
    lines.append(f"  broken now: {some(found.broken)}")
    if found.left and advice is not None:
        lines.append(f"  left broken: {some(found.left)} (not modelled, or pinned)")
    if advice is not None and advice.targets and not advice.order.stuck:
        means = {"kubernetes": "kubectl", "proxmox": "proxmox", "openstack": "openstack"}
        lines.append(f"  how to do it: --emit {means.get(state.platform, 'csv')}")
    return warned(state, lines)


def repair_document(found: Repair) -> dict[str, Any]:
    """What `repair_lines` says, as plain JSON values."""
    return {
        "broken": list(found.broken),
        "left_broken": list(found.left),
        "impossible": found.impossible,
        "plan": None if found.advice is None else found.advice.document(),
        **_warnings(found.state),
    }


def _lost(state: ClusterState) -> list[str]:
    """The pods that nothing starts again."""
    return [pod.title for pod in state.pods if pod.role is Role.FIXED and not starts_again(pod)]


def _warnings(state: ClusterState) -> dict[str, Any]:
    return {"warnings": [asdict(each) for each in state.warnings]}
