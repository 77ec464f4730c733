"""An order of moves in which each step fits: waves, and moves for a time where nothing helps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from .state import ClusterState
from .statecheck import Move, Scheduler, Wave, budgets_of


@dataclass(frozen=True)
class Ordered:
    """Waves, and the moves for which there was no place in one.

    Attributes
    ----------
    waves : one after the other; the moves of a wave in any order, or all at once.
    stuck : places of pods whose move never fits, with the reasons.
    """

    waves: tuple[Wave, ...]
    stuck: Mapping[int, tuple[str, ...]]


def ordered(
    state: ClusterState, targets: Mapping[int, str], released: Collection[str] = ()
) -> Ordered:
    """Waves that bring each pod to its node.

    A pod that moves takes room on both nodes until its wave is over. Of one budget no more pods are
    in a wave than it allows; of one owner without a budget one. Where no move fits, one pod is
    moved out of the way for a time, each at most once.

    Parameters
    ----------
    targets : node by place of the pod.
    """
    scheduler = Scheduler(state)
    left = dict(targets)
    # large pods first: they find room while there is some
    size = {n: max(state.pods[n].requests.values(), default=0) for n in left}
    order = sorted(left, key=lambda n: (-size[n], n))
    budgets = {n: [(b.namespace, b.name, b.allowed) for b in budgets_of(state, n)] for n in left}
    waves: list[Wave] = []
    aside: set[int] = set()
    while left:
        wave: list[Move] = []
        taken: Counter[tuple[str, ...]] = Counter()
        for number in order:
            if number not in left or not _allowed(state, number, budgets[number], taken, released):
                continue
            if _joins(scheduler, wave, Move(number, left[number])):
                wave.append(Move(number, left[number]))
                taken.update(_groups(state, number, budgets[number]))
        if not wave:
            found = _out_of_the_way(state, scheduler, left, aside)
            if found is None:
                break
            aside.add(found.pod)
            wave = [found]
            scheduler.come(found.pod, found.node)
        for move in wave:
            scheduler.leave(move.pod)
            if not move.temporary:
                del left[move.pod]
        waves.append(tuple(wave))
    stuck = {n: tuple(scheduler.refusals(n, node)) for n, node in left.items()}
    return Ordered(tuple(waves), stuck)


def _groups(
    state: ClusterState, number: int, budgets: list[tuple[str, str, int]]
) -> list[tuple[str, ...]]:
    """What is counted of a pod within a wave: its budgets, or its owner without one."""
    if budgets:
        return [(namespace, name) for namespace, name, _ in budgets]
    pod = state.pods[number]
    return [(pod.namespace, *pod.owner)] if pod.owner[1] else []


def _allowed(
    state: ClusterState,
    number: int,
    budgets: list[tuple[str, str, int]],
    taken: Counter[tuple[str, ...]],
    released: Collection[str],
) -> bool:
    most = min((max(allowed, int("budget" in released)) for _, _, allowed in budgets), default=1)
    return all(taken[group] < most for group in _groups(state, number, budgets))


def _joins(scheduler: Scheduler, wave: list[Move], move: Move) -> bool:
    """Whether a move fits beside the others of a wave, which stay possible; it is coming then."""
    if scheduler.refusals(move.pod, move.node):
        return False
    scheduler.come(move.pod, move.node)
    pods = scheduler.state.pods
    if all(
        not scheduler.refusals(other.pod, other.node)
        for other in [*wave, move]
        if pods[other.pod].spread or pods[other.pod].near
    ):
        return True
    scheduler.go_back(move.pod)
    return False


def _out_of_the_way(
    state: ClusterState, scheduler: Scheduler, left: Mapping[int, str], aside: Collection[int]
) -> Move | None:
    """A move of a pod, still to go, that lets another one go where it is to."""
    for number in left:
        if number in aside:
            continue
        for node in state.nodes:
            if node.name == scheduler.where[number] or scheduler.refusals(number, node.name):
                continue
            old = scheduler.where[number]
            scheduler.come(number, node.name)
            scheduler.leave(number)
            helps = any(
                not scheduler.refusals(other, target)
                for other, target in left.items()
                if other != number
            )
            scheduler.come(number, old)
            scheduler.leave(number)
            if helps:
                return Move(number, node.name, temporary=True)
    return None
