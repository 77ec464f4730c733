"""What each reason that holds pods in place costs: what would be saved if it alone were gone."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from ...instances.problem.option_types import validate_options
from ...solvers.outcome import Clock
from ..judge.scheduler_filters import Scheduler
from ..state.state import ClusterState, Role
from .answer import Answer
from .nodes import advise
from .optimum import Say

SHOWN = 10
"""Reasons that are shown; twice as many are tried, those of the most pods first."""

_RULES = {
    "affinity": ("pod_affinity", "required pod affinity"),
    "spread": ("spread", "spreads"),
    "anti-affinity": ("pod_anti_affinity", "anti-affinity"),
}
"""By kind of a rule between pods: its field of a pod, and its words."""


@validate_options
def dearest_pins(
    answer: Answer,
    *,
    time_limit: float | None,
    released: Collection[str] = (),
    say: Say = lambda words: None,
    **asked: Any,
) -> tuple[Mapping[str, Any], ...]:
    """Of each reason that holds pods in place how many nodes more (or how much money more) could be
    saved without it, all others kept; the most first.

    Parameters
    ----------
    time_limit : seconds for all reasons together.
    asked : what else `advise` was asked with.

    Returns
    -------
    tuple
        By reason "kind", "reason", "pods", "nodes" and, with prices, "cost" that are saved, and
        whether these are "proved" to be what it saves: neither plan can be better while what holds
        the other pods stays.
    """
    clock, found = Clock(time_limit), []
    groups = sorted(_groups(answer).items(), key=lambda group: -len(group[1]))[: 2 * SHOWN]
    for place, ((kind, words), pods) in enumerate(groups):
        if clock.expired:
            break
        say(f"without {words}")
        state = _without(answer.state, kind, words, set(pods))
        share = clock.time_slice(len(groups) - place)
        after = advise(state, time_limit=share, released=released, **asked)
        saved: dict[str, Any] = {"nodes": answer.nodes.value - after.nodes.value}
        if answer.cost is not None and after.cost is not None:
            saved["cost"] = float(answer.cost.value - after.cost.value)
        titles = [state.pods[n].title for n in pods]
        sure = _best(answer) and _best(after) and len(after.waiting) == len(answer.waiting)
        found.append({"kind": kind, "reason": words, "pods": titles, **saved, "proved": sure})
        if after.interrupted:
            break
    found.sort(key=lambda pin: -pin.get("cost", pin["nodes"]))
    return tuple(found[:SHOWN])


def _best(answer: Answer) -> bool:
    """Whether no plan is better while the pinned pods stay."""
    if answer.order.stuck:
        return False
    least = answer.nodes if answer.cost is None else answer.cost
    return bool(least.value == least.pinned)


def _groups(answer: Answer) -> dict[tuple[str, str], list[int]]:
    """The pods that each reason holds in place, by its kind and words."""
    state, groups = answer.state, dict[tuple[str, str], list[int]]()
    scheduler = Scheduler(state)
    for n, why in answer.pinned.items():
        for kind, words in why:
            if kind == "budget":
                for one in scheduler.budgets(n):
                    groups.setdefault((kind, f"{one.namespace}/{one.name}"), []).append(n)
            elif (kind, words) in state.pods[n].unsupported_constraints:
                groups.setdefault((kind, words), []).append(n)
            elif kind in _RULES:
                groups.setdefault((kind, _RULES[kind][1]), []).append(n)
    for n, pod in enumerate(state.pods):
        if pod.role is Role.FIXED:
            groups.setdefault(("owner", pod.reason), []).append(n)
    return {reason: list(dict.fromkeys(pods)) for reason, pods in groups.items()}


def _without(state: ClusterState, kind: str, words: str, which: set[int]) -> ClusterState:
    """The state where a reason holds none of some pods."""
    pods, (field, rule) = list(state.pods), _RULES.get(kind, ("", ""))
    changed: dict[str, Any] = {"role": Role.MOVABLE, "reason": ""} if kind == "owner" else {}
    changed |= {field: ()} if words == rule else {}
    for n in which:
        left = tuple(each for each in pods[n].unsupported_constraints if each != (kind, words))
        pods[n] = replace(pods[n], unsupported_constraints=left, **changed)
    budgets = tuple(
        replace(one, allowed=max(one.allowed, 1))
        if (kind, words) == ("budget", f"{one.namespace}/{one.name}")
        else one
        for one in state.budgets
    )
    return replace(state, pods=tuple(pods), budgets=budgets)
