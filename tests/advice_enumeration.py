"""What is really possible in a small state, by trying everything: single moves that the scheduler's
filters allow, and every placement that breaks nothing.
"""

from __future__ import annotations

from itertools import product

from cotenant.advice.state import ClusterState, Role
from cotenant.advice.statecheck import Scheduler


def workers(state: ClusterState, where: dict[int, str]) -> int:
    """Workers that hold something besides what belongs to their node."""
    roles = (Role.MOVABLE, Role.FIXED)
    held = {name for n, name in where.items() if state.pods[n].role in roles}
    return sum(node.worker and node.name in held for node in state.nodes)


def present(state: ClusterState) -> dict[int, str]:
    """Where every pod is."""
    return {n: pod.node for n, pod in enumerate(state.pods) if pod.placed}


def fewest_reached(state: ClusterState) -> int:
    """The fewest workers in use of all states that single moves of movable pods lead to."""
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


def best_placement(
    state: ClusterState, stay: set[int], *, whole: bool = False
) -> tuple[int, int] | None:
    """The fewest workers, and the fewest moves to that, of all placements in which nothing is
    broken that was not before, nor by more, with some pods where they are. With `whole` nothing at
    all may be broken; None where that cannot be.
    """
    start = present(state)
    movable = [n for n, pod in enumerate(state.pods) if pod.role is Role.MOVABLE and n not in stay]
    names = [node.name for node in state.nodes]
    empty = Scheduler(state, {n: name for n, name in start.items() if n not in movable})
    # taints, affinity and closed nodes do not depend on where other pods are
    takes = {
        (n, name): name == start[n]
        or not any(
            why in ("node affinity", "volume", "not ready") or why.startswith("taint")
            for why in empty.refusals(n, name)
        )
        for n in movable
        for name in names
    }
    before = Scheduler(state, start).broken()
    best = None if whole and before else (workers(state, start), 0)
    for chosen in product(names, repeat=len(movable)):
        pairs = list(zip(movable, chosen, strict=True))
        if not all(takes[pair] for pair in pairs):
            continue
        where = {**start, **dict(pairs)}
        value = (workers(state, where), sum(start[n] != name for n, name in pairs))
        if best is None or value < best:
            after = Scheduler(state, where).broken()
            if all(by <= before.get(what, 0) * (not whole) for what, by in after.items()):
                best = value
    return best
