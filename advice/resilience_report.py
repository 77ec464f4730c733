"""Losses of nodes and repairs in words and as JSON: the decision first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from .repairing import Repair
from .state import ClusterState
from .text_report import warned

NAMED = 3
"""Names in a line before the rest is a number."""


def some(names: Sequence[str], most: int = NAMED) -> str:
    """The first of some names, and how many there are besides."""
    rest = len(names) - most
    return ", ".join(names[:most]) + f" and {rest} more" * (rest > 0)


def counted(number: int, noun: str) -> str:
    """A number of things."""
    return f"{number} {noun}{'s' * (number != 1)}"


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


def _warnings(state: ClusterState) -> dict[str, Any]:
    return {"warnings": [asdict(each) for each in state.warnings]}
