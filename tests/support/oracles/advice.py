"""Enumeration of a small cluster state: all single moves that the scheduler's filters allow, and
all placements that break no rule.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product

from cotenant.cluster.judge.scheduler_filters import Scheduler
from cotenant.cluster.state.state import ClusterState, Role


def workers(state: ClusterState, where: dict[int, str]) -> int:
    """Number of drainable nodes with a movable or fixed pod."""
    roles = (Role.MOVABLE, Role.FIXED)
    held = {name for n, name in where.items() if state.pods[n].role in roles}
    return sum(node.can_be_drained and node.name in held for node in state.nodes)


def present(state: ClusterState) -> dict[int, str]:
    """Name of the node of each placed pod, by index of the pod."""
    return {n: pod.node for n, pod in enumerate(state.pods) if pod.placed}


def fewest_reached(state: ClusterState) -> int:
    """Fewest nodes in use in any state that a sequence of moves of single pods can reach."""
    movable = [n for n, pod in enumerate(state.pods) if pod.role is Role.MOVABLE]
    start = present(state)
    best = workers(state, start)
    seen = {tuple(start[n] for n in movable)}
    queue = [start]
    while queue:
        where = queue.pop()
        scheduler = Scheduler(state, where)
        for n in movable:
            for node in state.nodes:
                after = {**where, n: node.name}
                key = tuple(after[m] for m in movable)
                if key in seen or scheduler.refusals(n, node.name):
                    continue
                seen.add(key)
                best = min(best, workers(state, after))
                queue.append(after)
    return best


Goals = tuple[int, Fraction, int]
"""Pods that wait, what the nodes in use cost, and pods that move."""


def best_placement(
    state: ClusterState,
    stay: set[int],
    *,
    whole: bool = False,
    reached: bool = False,
    within: int | None = None,
    emptied: tuple[str, ...] = (),
) -> tuple[int, int] | None:
    """The fewest workers, and the fewest moves to that, of all placements of what runs, with some
    pods where they are; see `joint_placements`. With `within` so many workers may be in use, and
    the moves decide. None where that cannot be.
    """
    every = joint_placements(
        state, stay, set(range(len(state.pods))), reached=reached, strict=True, whole=whole,
        emptied=emptied,
    )  # fmt: skip
    found = [(int(workers), moves) for _, workers, moves in every]
    if within is not None:
        found = [one for one in found if one[0] <= within]
    return min(found, key=lambda one: one if within is None else one[::-1], default=None)


def joint_placements(
    state: ClusterState,
    stay: set[int],
    wait: set[int],
    *,
    reached: bool = False,
    strict: bool = False,
    whole: bool = False,
    emptied: tuple[str, ...] = (),
) -> list[Goals]:
    """Goals of every placement of movable and pending pods that breaks no rule kept before, while
    the pods of `stay` stay and those of `wait` remain pending. With `reached` no pod that came to a
    node may be in what is broken; with `strict` no spread either by pods that do not carry it; with
    `whole` nothing at all; of some nodes all that move must leave.
    """
    start = present(state)
    movable = [n for n, pod in enumerate(state.pods) if pod.role is Role.MOVABLE and n not in stay]
    coming = [n for n, pod in enumerate(state.pods) if pod.schedulable and n not in wait]
    outside = sum(pod.role is Role.PENDING for pod in state.pods) - len(coming)
    names = [node.name for node in state.nodes]
    empty = Scheduler(state, {n: name for n, name in start.items() if n not in movable})
    before = Scheduler(state, start).broken()
    choices = []
    for n in (*movable, *coming):
        open_to = [
            name
            for name in names
            if name not in emptied
            and (
                name == start.get(n)
                or (
                    not any(
                        why in ("node affinity", "volume", "not ready") or why.startswith("taint")
                        for why in empty.refusals(n, name)
                    )
                    and all(
                        each.topology in empty.nodes[name].labels for each in state.pods[n].spread
                    )
                )
            )
        ]
        choices.append(open_to if n in start else [*open_to, ""])
    price = {
        node.name: Fraction(node.can_be_drained)
        if not state.priced
        else Fraction(0)
        if not node.can_be_drained
        else node.price or Fraction(0)
        for node in state.nodes
    }
    own = (Role.RESIDENT, Role.LEAVING, Role.FINISHED)
    goals = []
    for chosen in product(*choices):
        where = start | {
            n: name for n, name in zip((*movable, *coming), chosen, strict=True) if name
        }
        after = Scheduler(state, where)
        came = [n for n in (*movable, *coming) if where.get(n) not in (None, start.get(n))]
        broken = after.broken().items()
        worse = [what for what, by in broken if by > before.get(what, 0) * (not whole)]
        # spreads and affinity forbid nothing to pods that do not carry them
        loose = () if strict else ("spread of", "affinity of")
        if any(not what.startswith(loose) for what in worse) or (
            worse and any({"spread", "affinity"} & {*after.refusals(n, where[n])} for n in came)
        ):
            continue
        if reached and any(
            why in ("anti-affinity", "host port") or why.startswith("too little")
            for n in came
            for why in after.refusals(n, where[n])
        ):
            continue
        used = {name for n, name in where.items() if state.pods[n].role not in own}
        moves = sum(where[n] != start[n] for n in movable)
        waiting = outside + sum(n not in where for n in coming)
        goals.append((waiting, sum((price[name] for name in used), Fraction(0)), moves))
    return goals
